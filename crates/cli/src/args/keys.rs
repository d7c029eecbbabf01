//! Options that override keys of a scenario.

use super::whole;
use clap::Args as ClapArgs;
use manx_config::{ConfigError, Override};

/// `--set` and `--seed`.
#[derive(Debug, ClapArgs)]
pub struct KeyArgs {
    /// Override a key of the scenario: gc.soft=0.1, workload.jobs.0.rate=500 (repeatable)
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub sets: Vec<String>,
    /// The root seed of every random stream [default: the scenario's]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole)]
    pub seed: Option<u64>,
}

impl KeyArgs {
    /// The keys and their values, `--set` over `--seed`.
    pub fn overrides(&self) -> Result<Vec<Override>, ConfigError> {
        let seed =
            self.seed.map(|seed| Override::new("seed", seed.to_string(), format!("--seed {seed}")));
        let sets = self.sets.iter().map(|set| Override::from_set(set));
        seed.map(Ok).into_iter().chain(sets).collect()
    }
}
