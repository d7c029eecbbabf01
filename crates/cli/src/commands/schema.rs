//! `manx schema` and `manx completions`: what other programs want to know about this one.

use super::{Failure, print};
use crate::args::{Args, SchemaOf};
use clap::CommandFactory;
use clap_complete::Shell;
use manx_core::config::scenario_schema;
use manx_lab::json::schema_result;

/// The JSON schema of a scenario file or of a result.
pub fn schema(of: SchemaOf) -> Result<(), Failure> {
    match of {
        SchemaOf::Scenario => print(&format!("{:#}\n", scenario_schema())),
        SchemaOf::Result => print(&schema_result()),
    }
}

/// A completion script.
pub fn completions(shell: Shell) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "manx", &mut script);
    print(&String::from_utf8_lossy(&script))
}
