//! `manx explain`: where the time of the tail went, in words.

use super::read_result::read_result;
use super::{Failure, print};
use crate::args::ExplainArgs;
use manx_core::config::ConfigError;
use manx_core::stats::RunSet;
use manx_lab::explain::explain;

/// Reads the results and explains them.
pub fn run(args: &ExplainArgs) -> Result<(), Failure> {
    for said in &args.results {
        let mut runs = read_result(said)?;
        if let Some(policy) = &args.policy {
            let names: Vec<String> = runs.iter().map(|run| run.policy.clone()).collect();
            runs.retain(|run| run.policy == *policy);
            if runs.is_empty() {
                let message = format!("--policy {policy}: {said} holds {}", names.join(", "));
                return Err(ConfigError::new(message).into());
            }
        }
        let text = explain(&RunSet { runs }, args.top).map_err(|why| ConfigError::new(format!("{said}: {why}")))?;
        print(&text)?;
    }
    Ok(())
}
