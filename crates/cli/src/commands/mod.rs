//! One file for each family of commands.

mod act;
mod advise;
mod completions;
mod convert;
mod ctl;
mod dask;
mod device;
mod execute;
mod explain;
mod fit;
mod knobs;
mod lab;
mod linux;
mod outputs;
mod plan;
mod plot;
mod policy;
mod progress;
pub mod read_result;
mod report;
mod requests_file;
mod run;
mod scenario;
mod schema;
mod serve;
mod store;
mod sweep;
mod torture;
mod trace;
mod trace_get;
mod twin;
mod why;
mod workload;

use crate::args::{Args, Command};
use manx_config::ConfigError;
use manx_lab::convert::ConvertError;
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
    /// The user stopped it, and what became of it: exit code 130, as a shell says of Ctrl-C.
    Interrupted(&'static str),
    /// The same, with what there is and how to go on.
    Stopped(String),
    /// A guest's command ended with this exit code, which is ours.
    Command(u8),
}

impl Failure {
    /// 2 for a bad input, 130 for Ctrl-C, 1 for everything else.
    pub fn exit_code(&self) -> u8 {
        match self {
            Failure::Input(_) => 2,
            Failure::Work(_) => 1,
            Failure::Interrupted(_) | Failure::Stopped(_) => 130,
            Failure::Command(code) => *code,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Input(error) => error.fmt(f),
            Failure::Work(message) | Failure::Stopped(message) => f.write_str(message),
            Failure::Interrupted(what) => write!(f, "interrupted; {what}"),
            Failure::Command(code) => write!(f, "the command's exit code is {code}"),
        }
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Write(why) | RunError::Elsewhere(why) | RunError::Model(why) => {
                Failure::Work(why)
            }
            error => Failure::Input(ConfigError::new(error.to_string())),
        }
    }
}

impl From<ConvertError> for Failure {
    fn from(error: ConvertError) -> Self {
        match error {
            ConvertError::Stopped => Failure::Interrupted("nothing was written"),
            ConvertError::Write(why) => Failure::Work(why),
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
pub fn run(Args { command, screen }: Args) -> Result<(), Failure> {
    let screen = &screen;
    match command {
        Command::Run(args) => run::run(&args, screen),
        Command::Compare(args) => run::compare(&args, screen),
        Command::Advise(args) => advise::run(&args, screen),
        Command::Why(args) => why::run(&args, screen),
        Command::Explain(args) => explain::run(&args),
        Command::Plot(_) => plot::run(),
        Command::Sweep(args) => sweep::run(&args, screen),
        Command::Torture(args) => torture::run(&args, screen),
        Command::Serve(args) => serve::run(&args, screen),
        Command::Ctl(args) => ctl::run(&args),
        Command::Linux(args) => linux::run(&args, screen),
        Command::Store(command) => store::run(&command),
        Command::Fit(args) => fit::run(&args, screen),
        Command::Twin(command) => twin::run(&command),
        Command::Lab(command) => lab::run(&command, screen),
        Command::Act(command) => act::run(&command, screen),
        Command::Trace(command) => trace::run(&command, screen),
        Command::Workload(command) => workload::run(&command, screen),
        Command::Scenario(command) => scenario::run(&command),
        Command::Plan(command) => plan::run(&command),
        Command::Device(command) => device::run(&command),
        Command::Policy(command) => policy::run(&command),
        Command::Schema { of } => schema::schema(of),
        Command::Completions { shell } => completions::script(shell),
        Command::Man { folder } => completions::manual(&folder),
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
