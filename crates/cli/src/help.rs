//! `manx --help`: the commands in the order in which one comes to need them.

use crate::args::Args;
use clap::builder::StyledStr;
use clap::{Command, CommandFactory, FromArgMatches};
use std::fmt::Write;

/// The commands by what they are for.
const GROUPS: [(&str, &[&str]); 4] = [
    (
        "Run",
        &["compare", "run", "advise", "sweep", "lab", "act", "torture", "serve", "ctl", "linux"],
    ),
    ("Read the results", &["explain", "why", "plot"]),
    (
        "Look up and prepare",
        &["scenario", "policy", "device", "fit", "twin", "workload", "trace", "plan", "store"],
    ),
    ("Tools", &["schema", "completions", "man", "help"]),
];

/// Reads the command line.
pub fn parse() -> Result<Args, clap::Error> {
    Args::from_arg_matches(&command().try_get_matches()?)
}

/// All that can be said, with its help.
pub fn command() -> Command {
    let command = Args::command();
    let template = "{about-with-newline}\n{usage-heading} {usage}\n\n\
                    {before-help}Options:\n{options}{after-help}";
    let groups = groups(&command);
    command.help_template(template).before_help(groups)
}

fn groups(command: &Command) -> StyledStr {
    let mut text = StyledStr::new();
    let heading = command.get_styles().get_header();
    let width =
        GROUPS.iter().flat_map(|(_, names)| *names).map(|name| name.len()).max().unwrap_or(0);
    for (group, names) in GROUPS {
        let _ = writeln!(text, "{heading}{group}:{heading:#}");
        for name in names {
            let about = match *name {
                "help" => "Help for a command: manx help compare".to_string(),
                name => match command.find_subcommand(name).and_then(Command::get_about) {
                    Some(about) => about.to_string(),
                    // Built without it.
                    None => continue,
                },
            };
            let literal = command.get_styles().get_literal();
            let _ = writeln!(text, "  {literal}{name:<width$}{literal:#}  {about}");
        }
        let _ = writeln!(text);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_in_one_group_and_its_line_fits_a_terminal_of_eighty_columns() {
        let grouped = || GROUPS.iter().flat_map(|(_, names)| *names).copied();
        for subcommand in Args::command().get_subcommands() {
            let name = subcommand.get_name();
            assert_eq!(grouped().filter(|grouped| *grouped == name).count(), 1, "{name}");
        }
        let help = command().term_width(80).render_help().to_string();
        for line in help.lines() {
            assert!(line.chars().count() <= 80, "{line}");
        }
        assert!(help.find("  compare").unwrap() < help.find("  explain").unwrap(), "{help}");
    }
}
