//! `manx policy`: the policies, what they change and where they are from.

use super::{Failure, print};
use crate::args::PolicyCommand;
use manx_config::{ALIASES, POLICIES, resolve_policy};
use std::fmt::Write;

/// Does what was asked about policies.
pub fn run(command: &PolicyCommand) -> Result<(), Failure> {
    match command {
        PolicyCommand::List => print(&list()),
        PolicyCommand::Show { name } => show(name),
    }
}

fn list() -> String {
    let mut text = String::new();
    for policy in POLICIES {
        let _ =
            writeln!(text, "{:<16} {:<6} {}", policy.name, policy.axis.to_string(), policy.summary);
    }
    for alias in ALIASES {
        let _ = writeln!(text, "{:<16} {:<6} another name for {}", alias.name, "", alias.path);
    }
    text
}

fn show(name: &str) -> Result<(), Failure> {
    let mut text = String::new();
    for policy in resolve_policy(name)? {
        let (name, axis, about) = (policy.name, policy.policy.axis, policy.policy);
        let _ = writeln!(
            text,
            "{name} (decides {axis}): {}\nfrom: {}\n\n{}",
            about.summary, about.source, policy.overlay
        );
    }
    print(&text)
}
