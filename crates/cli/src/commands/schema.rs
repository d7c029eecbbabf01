//! `manx schema`: what other programs want to know about the files of this one.

use super::{Failure, print};
use crate::args::SchemaOf;
use manx_config::scenario_schema;
use manx_lab::json::schema_result;

/// The JSON schema of a scenario file or of a result.
pub fn schema(of: SchemaOf) -> Result<(), Failure> {
    match of {
        SchemaOf::Scenario => print(&format!("{:#}\n", scenario_schema())),
        SchemaOf::Result => print(&schema_result()),
    }
}
