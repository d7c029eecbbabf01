//! `manx completions` and `manx man`: the arguments for a shell and for `man`.

use super::{Failure, print};
use crate::args::Args;
use clap::builder::PossibleValuesParser;
use clap::{Arg, Command, CommandFactory};
use clap_complete::Shell;
use manx_core::config::{ALIASES, POLICIES, device_names, scenario_names};
use std::fs;
use std::path::Path;

/// A completion script, which knows the policies, devices and scenarios.
pub fn script(shell: Shell) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut with_names(Args::command()), "manx", &mut script);
    let script = String::from_utf8_lossy(&script).into_owned();
    print(&if shell == Shell::Bash { with_files(&script) } else { script })
}

/// The manual pages: `manx.1`, `manx-compare.1` and so on.
pub fn manual(folder: &Path) -> Result<(), Failure> {
    let wrong = |error: std::io::Error| Failure::Work(format!("{}: cannot write it: {error}", folder.display()));
    fs::create_dir_all(folder).map_err(wrong)?;
    clap_mangen::generate_to(Args::command(), folder).map_err(wrong)
}

/// The command with the names that its arguments take. Only for completion: a path is allowed as well.
fn with_names(command: Command) -> Command {
    let subcommands: Vec<String> = command.get_subcommands().map(|command| command.get_name().to_string()).collect();
    let command = match command.get_name() {
        "device" => command.mut_subcommand("show", |show| show.mut_args(|arg| named(arg, "device"))),
        "policy" => command.mut_subcommand("show", |show| show.mut_args(|arg| named(arg, "policy"))),
        _ => command,
    };
    let command = command.mut_args(|arg| {
        let id = arg.get_id().to_string();
        named(arg, &id)
    });
    subcommands.iter().fold(command, |command, name| command.mut_subcommand(name, with_names))
}

/// An argument of this meaning with its names.
fn named(arg: Arg, meaning: &str) -> Arg {
    let names: Vec<&'static str> = match meaning {
        "policy" | "policies" => {
            POLICIES.iter().map(|policy| policy.name).chain(ALIASES.iter().map(|a| a.name)).collect()
        }
        "device" => device_names().collect(),
        "scenario" => scenario_names().collect(),
        _ => return arg,
    };
    arg.value_parser(PossibleValuesParser::new(names))
}

/// Bash completes names alone where there are names; a scenario and a device may be files too.
fn with_files(script: &str) -> String {
    let of = |line: &str, names: &str| line.contains("compgen -W") && line.contains(names);
    let (devices, scenarios) = (device_names().next().unwrap_or("\0"), scenario_names().next().unwrap_or("\0"));
    let line = |line: &str| match of(line, devices) || of(line, scenarios) {
        true => line.replace("compgen -W", "compgen -f -W"),
        false => line.to_string(),
    };
    script.lines().map(|text| line(text) + "\n").collect()
}
