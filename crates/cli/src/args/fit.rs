//! `manx fit`.

use clap::Args as ClapArgs;
use manx_core::units::Bytes;
use manx_lab::measure::DriveState;
use manx_lab::twin::{HoldOut, Known, named};
use std::path::PathBuf;

const EXAMPLES: &str = "Examples:
  manx fit runs/*.json --as my-drive               fio's JSON, one job a file
  manx fit waf.csv --as my-drive --hold-out after:2.5
  manx run ./my-drive-twin/my-drive-scenario.toml  the twin, as any other drive";

/// `manx fit`.
#[derive(Debug, ClapArgs)]
#[command(after_help = EXAMPLES)]
pub struct TwinArgs {
    /// fio's JSON or json+ (random reads of one size, or writes to a fresh drive: FILE@fresh), or a
    /// CSV of windows of a long write; FILE@STATE for one of another state than --state
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<String>,
    /// The name of the new device
    #[arg(long = "as", value_name = "NAME", value_parser = named)]
    pub name: String,
    /// The device that the fit starts from, and whose numbers stand where the measurements tell
    /// nothing
    #[arg(long, value_name = "NAME|FILE", default_value = "tlc-enterprise")]
    pub base: String,
    /// The bytes that the host sees of the drive: the table gets as many blocks
    #[arg(long, value_name = "SIZE")]
    pub capacity: Option<Bytes>,
    /// The state that the drive was in: fresh, filled, overwritten:N [default: overwritten:2 of
    /// runs, fresh of a long write]
    #[arg(long, value_name = "STATE")]
    pub state: Option<DriveState>,
    /// Left out of the fit, and predicted: each (every run in turn, and a long write after 2.5
    /// capacities), after:CAPACITIES (of a long write alone), name:RUN,RUN (these runs, all at
    /// once), none
    #[arg(long, value_name = "RULE", default_value = "each")]
    pub hold_out: HoldOut,
    /// A number that is known and not looked for, or only between two, from a data sheet:
    /// drive.link=7GB/s, drive.firmware.look_up=0us..1us, drive.controller,
    /// drive.firmware.throttle, device.geometry.channels, device.channel.rate, drive.buffer,
    /// drive.buffer_hit; once for each
    #[arg(long, value_name = "KEY=VALUE|LOW..HIGH")]
    pub known: Vec<Known>,
    /// The root seed of the search and of the simulations
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Requests that count in each simulation of a run
    #[arg(long, value_name = "N", default_value_t = 12_000)]
    #[arg(value_parser = clap::value_parser!(u64).range(1_000..=10_000_000))]
    pub requests: u64,
    /// Points of the last stage of the search
    #[arg(long, value_name = "N", default_value_t = 600)]
    #[arg(value_parser = clap::value_parser!(u32).range(2..=1_000_000))]
    pub evaluations: u32,
    /// The folder of the device table, the scenario, the report as JSON and the journal
    /// [default: NAME-twin]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Replace files of these names that no fit made
    #[arg(long)]
    pub force: bool,
    /// Write fio jobs that would tell what is still open into this folder, with what they cost;
    /// Manx never runs them
    #[arg(long, value_name = "DIR")]
    pub jobs: Option<PathBuf>,
    /// Simulations side by side [default: one for each core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub threads: Option<u32>,
    /// The report as JSON on stdout
    #[arg(long)]
    pub json: bool,
}
