//! One file for each family of commands.

mod convert;
mod device;
mod execute;
mod lab;
mod policy;
mod progress;
mod run;
mod schema;
mod trace;
mod workload;

use crate::args::Command;
use manx_core::config::ConfigError;
use manx_lab::run::RunError;
use std::fmt;
use std::io::Write;

/// Why a command did not do its work, as far as the exit code must tell.
#[derive(Debug)]
pub enum Failure {
    /// The input is wrong: exit code 2.
    Input(ConfigError),
    /// The input is right and the work failed: exit code 1.
    Work(String),
    /// The user stopped it: exit code 130, as a shell says of Ctrl-C.
    Interrupted,
    /// The same, with what is to be said about it.
    Stopped(String),
}

impl Failure {
    /// 2 for a bad input, 130 for Ctrl-C, 1 for everything else.
    pub fn exit_code(&self) -> u8 {
        match self {
            Failure::Input(_) => 2,
            Failure::Work(_) => 1,
            Failure::Interrupted | Failure::Stopped(_) => 130,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Input(error) => error.fmt(f),
            Failure::Work(message) | Failure::Stopped(message) => f.write_str(message),
            Failure::Interrupted => f.write_str("interrupted; the results are those until then, marked partial"),
        }
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Write(why) => Failure::Work(why),
            error => Failure::Input(ConfigError::new(error.to_string())),
        }
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Failure::Input(error)
    }
}

/// Does what was asked.
pub fn run(command: Command) -> Result<(), Failure> {
    match command {
        Command::Run(args) => run::run(&args),
        Command::Compare(args) => run::compare(&args),
        Command::Lab(command) => lab::run(&command),
        Command::Trace(command) => trace::run(&command),
        Command::Workload(command) => workload::run(&command),
        Command::Device(command) => device::run(&command),
        Command::Policy(command) => policy::run(&command),
        Command::Schema { of } => schema::schema(of),
        Command::Completions { shell } => schema::completions(shell),
    }
}

/// Prints to stdout; a reader that has seen enough (`| head`) is not an error.
pub fn print(text: &str) -> Result<(), Failure> {
    match std::io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Failure::Work(format!("cannot write to standard output: {error}")))
        }
        _ => Ok(()),
    }
}
