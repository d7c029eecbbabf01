//! The command line of Manx. It reads arguments, asks the lab, prints; nothing is decided here.
//!
//! Reading order: [`args`] is what can be said, [`help`] how it is told, [`screen`] what the
//! terminal can show; [`commands`] has one file for each family of commands. Two programs share it:
//! `manx`, and `manx-plot` (`crates/plot`), to which `manx plot` hands over.

#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

// A group of arguments is documented where it is defined, not where it is taken up.
#[allow(missing_docs)]
pub mod args;
pub mod commands;
pub mod help;
pub mod say;
pub mod screen;
mod signals;

use clap::error::ErrorKind;
use commands::Failure;
use say::say_line;
use std::process::ExitCode;

/// Does the work with the arguments, and answers as every program of Manx does: one line for an
/// error.
pub fn answer<Args>(
    args: Result<Args, clap::Error>,
    work: impl FnOnce(Args) -> Result<(), Failure>,
) -> ExitCode {
    let args = match args {
        Ok(args) => args,
        Err(error) => return refuse_arguments(&error),
    };
    match work(args) {
        Ok(()) => ExitCode::SUCCESS,
        // The command has said why.
        Err(Failure::Command(code)) => ExitCode::from(code),
        Err(failure) => {
            say_line(&format!("error: {failure}"));
            ExitCode::from(failure.exit_code())
        }
    }
}

/// Help and version go to stdout; a mistake is one line on stderr and exit code 2.
fn refuse_arguments(error: &clap::Error) -> ExitCode {
    match error.kind() {
        // The last: `manx`, `manx device`: help, as for someone who does not know the words yet.
        ErrorKind::DisplayHelp
        | ErrorKind::DisplayVersion
        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            match commands::print(&error.to_string()) {
                Ok(()) => ExitCode::SUCCESS,
                Err(failure) => {
                    say_line(&format!("error: {failure}"));
                    ExitCode::from(failure.exit_code())
                }
            }
        }
        ErrorKind::InvalidUtf8 => {
            let args = std::env::args_os().skip(1);
            let named = args
                .filter(|word| word.to_str().is_none())
                .map(|word| word.to_string_lossy().into_owned());
            let named = named.collect::<Vec<_>>().join(", ");
            say_line(&format!(
                "error: {named}: this is not UTF-8: a file needs another name, or a link to it"
            ));
            ExitCode::from(2)
        }
        _ => {
            say_line(&format!("error: {}", one_line(&error.to_string())));
            ExitCode::from(2)
        }
    }
}

/// Clap's message, its tips included, its usage lines left out.
fn one_line(message: &str) -> String {
    let before_usage = message.split("\nUsage:").next().unwrap_or(message);
    let before_usage = before_usage.split("\nFor more information").next().unwrap_or(before_usage);
    // Where a value was meant, "use '-- -1'" leads nowhere.
    let is_told = |line: &&str| !line.is_empty() && !line.starts_with("tip: to pass");
    let lines = before_usage.trim_start_matches("error: ").lines().map(str::trim).filter(is_told);
    lines.collect::<Vec<_>>().join("; ").replace(":; ", ": ")
}
