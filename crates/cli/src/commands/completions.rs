//! `manx completions` and `manx man`: the arguments for a shell and for `man`.

use super::{Failure, print};
use crate::args::Args;
use clap::builder::PossibleValuesParser;
use clap::{Arg, Command, CommandFactory};
use clap_complete::Shell;
use manx_config::{ALIASES, POLICIES, device_names, scenario_names, workload_names};
use manx_lab::experiment::experiment_names;
use std::fs;
use std::path::Path;

/// A completion script, which knows the policies, devices, scenarios, workloads and experiments.
pub fn script(shell: Shell) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut with_names(Args::command()), "manx", &mut script);
    let script = String::from_utf8_lossy(&script).into_owned();
    print(&if shell == Shell::Bash { with_files(&script) } else { script })
}

/// The manual pages: `manx.1`, `manx-compare.1` and so on.
pub fn manual(folder: &Path) -> Result<(), Failure> {
    let wrong = |error: std::io::Error| {
        Failure::Work(format!("{}: cannot write it: {error}", folder.display()))
    };
    fs::create_dir_all(folder).map_err(wrong)?;
    clap_mangen::generate_to(Args::command(), folder).map_err(wrong)
}

/// The command with the names that its arguments take. Only for completion: a path is allowed as
/// well.
fn with_names(command: Command) -> Command {
    let subcommands: Vec<String> =
        command.get_subcommands().map(|command| command.get_name().to_string()).collect();
    let command = match command.get_name() {
        of @ ("device" | "policy" | "scenario" | "workload") => {
            let of = of.to_string();
            command.mut_subcommand("show", |show| show.mut_args(|arg| shown(arg, &of)))
        }
        "lab" => {
            let command = command
                .mut_subcommand("show", |show| show.mut_args(|arg| shown(arg, "experiment")));
            command.mut_subcommand("run", |run| run.mut_args(|arg| shown(arg, "experiment")))
        }
        _ => command,
    };
    let command = command.mut_args(|arg| {
        let id = arg.get_id().to_string();
        named(arg, &id)
    });
    subcommands.iter().fold(command, |command, name| command.mut_subcommand(name, with_names))
}

/// The name that is asked for, with the names of its kind; the options beside it stay as they are.
fn shown(arg: Arg, kind: &str) -> Arg {
    if ["name", "names"].contains(&arg.get_id().as_str()) { named(arg, kind) } else { arg }
}

/// An argument of this meaning with its names.
fn named(arg: Arg, meaning: &str) -> Arg {
    let names: Vec<&'static str> = match meaning {
        "policy" | "policies" => POLICIES
            .iter()
            .map(|policy| policy.name)
            .chain(ALIASES.iter().map(|a| a.name))
            .collect(),
        "device" => device_names().collect(),
        "scenario" => scenario_names().collect(),
        "workload" => workload_names().collect(),
        "experiment" => experiment_names().collect(),
        _ => return arg,
    };
    arg.value_parser(PossibleValuesParser::new(names))
}

/// Bash completes names alone where there are names; all but a policy may be a file too.
fn with_files(script: &str) -> String {
    let of = |line: &str, names: &str| line.contains("compgen -W") && line.contains(names);
    let firsts = [
        device_names().next(),
        scenario_names().next(),
        workload_names().next(),
        experiment_names().next(),
    ];
    let line = |line: &str| match firsts.iter().flatten().any(|first| of(line, first)) {
        true => line.replace("compgen -W", "compgen -f -W"),
        false => line.to_string(),
    };
    script.lines().map(|text| line(text) + "\n").collect()
}
