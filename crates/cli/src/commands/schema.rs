//! `manx schema` and `manx completions`: what other programs want to know about this one.

use super::{Failure, print};
use crate::args::{Args, SchemaOf};
use clap::CommandFactory;
use clap_complete::Shell;
use manx_core::config::scenario_schema;

/// The JSON schema of a scenario file or of a result.
pub fn schema(of: SchemaOf) -> Result<(), Failure> {
    let schema = match of {
        SchemaOf::Scenario => scenario_schema(),
        SchemaOf::Result => return Err(Failure::Work("the schema of a result is not wired yet".to_string())),
    };
    print(&format!("{schema:#}\n"))
}

/// A completion script.
pub fn completions(shell: Shell) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "manx", &mut script);
    print(&String::from_utf8_lossy(&script))
}
