//! The options of `manx torture`.

use super::whole;
use clap::{Args as ClapArgs, value_parser};

/// `manx torture`.
#[derive(Debug, ClapArgs)]
pub struct TortureArgs {
    /// A built-in scenario or the path of a scenario file [default: small drives of many kinds,
    /// drawn from the seed]
    #[arg(value_name = "SCENARIO")]
    pub scenario: Option<String>,
    /// Override a key of the scenario, or of every drawn drive (repeatable)
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub sets: Vec<String>,
    /// So many runs, each with the next seed
    #[arg(long, value_name = "N", default_value_t = 100, allow_negative_numbers = true,
        value_parser = value_parser!(u32).range(1..))]
    pub seeds: u32,
    /// The seed of the first run
    #[arg(long, value_name = "N", default_value_t = 1, allow_negative_numbers = true,
        value_parser = whole)]
    pub seed: u64,
    /// Power losses in each run
    #[arg(long, value_name = "N", default_value_t = 8, allow_negative_numbers = true,
        value_parser = value_parser!(u32).range(1..))]
    pub cuts: u32,
    /// Runs side by side [default: one for each core]
    #[arg(long, value_name = "N", allow_negative_numbers = true,
        value_parser = value_parser!(u32).range(1..=1024))]
    pub jobs: Option<u32>,
}
