//! `manx explain`: where the time of the tail went, in words.

use super::read_result::read_result;
use super::{Failure, print};
use crate::args::ExplainArgs;
use manx_config::{ConfigError, nearest};
use manx_core::stats::RunSet;
use manx_lab::explain::{Kinds, explain};

/// Reads the results and explains them.
pub fn run(args: &ExplainArgs) -> Result<(), Failure> {
    let kinds = match (args.reads, args.writes) {
        (true, _) => Kinds::Reads,
        (_, true) => Kinds::Writes,
        _ => Kinds::All,
    };
    for said in &args.results {
        let mut runs = read_result(said)?;
        if let Some(policy) = &args.policy {
            let names: Vec<String> = runs.iter().map(|run| run.policy.clone()).collect();
            runs.retain(|run| run.policy == *policy);
            if runs.is_empty() {
                let near = nearest(policy, names.iter().map(String::as_str));
                let hint = near.map_or(String::new(), |near| format!("; did you mean {near}?"));
                let message = format!("--policy {policy}: {said} holds {}{hint}", names.join(", "));
                return Err(ConfigError::new(message).into());
            }
        }
        let text = explain(&RunSet { runs }, kinds, args.top.into())
            .map_err(|why| ConfigError::new(format!("{said}: {why}")))?;
        print(&text)?;
    }
    Ok(())
}
