//! `manx plan`.

use super::sheets::{BufferArgs, EnduranceArgs, FleetArgs, OpArgs, RainArgs};
use super::{time, whole};
use clap::{Args as ClapArgs, Subcommand, ValueEnum};
use manx_config::{ConfigError, Override};
use manx_core::units::{Bandwidth, Bytes, Duration, QuantityError, parse_over_provisioning};
use manx_lab::plan::Question;
use manx_lab::plan::tw::GcUnit;

/// `manx plan`.
#[derive(Debug, Subcommand)]
pub enum PlanCommand {
    /// The busy window TW of drives that take turns to collect garbage (IODA, SOSP '21): how long
    /// it may be, must be
    Tw(Box<TwArgs>),
    /// The timeout N of T-ES that keeps the longest write below a bound (practical erase
    /// suspension, ATC '19)
    #[command(visible_alias = "tes")]
    Timeout(TimeoutArgs),
    /// Over-provisioning against write amplification
    Op(OpArgs),
    /// Parity inside the drive: its cost in space, writes and reads
    Rain(RainArgs),
    /// The write buffer that takes a burst, and the energy that keeps it
    Buffer(BufferArgs),
    /// Years and drive writes a day that the P/E cycles bear
    Endurance(EnduranceArgs),
    /// Failures a year, spares, data loss of a fleet of arrays
    Fleet(FleetArgs),
}

/// `manx plan timeout`.
#[derive(Debug, ClapArgs)]
pub struct TimeoutArgs {
    /// The time below which writes are to stay: 100ms
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = time)]
    pub writes_below: Duration,
    /// The longest GC run: 35ms
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = time)]
    pub gc: Duration,
    /// Put runs beside the formula: some seconds
    #[arg(long)]
    pub check: bool,
    /// One JSON document on stdout
    #[arg(long)]
    pub json: bool,
}

/// `manx plan tw`.
#[derive(Debug, ClapArgs)]
pub struct TwArgs {
    /// The drive: a name of `manx device list` or the path of a table
    #[arg(long, value_name = "NAME|FILE")]
    pub device: Option<String>,
    /// Device, marks and unit of GC, and link of this scenario: a built-in one or the path of a
    /// file
    #[arg(long, value_name = "NAME|FILE")]
    pub scenario: Option<String>,
    /// Override a key of the scenario: gc.soft=0.1 (repeatable)
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub sets: Vec<String>,
    /// Drives of the array, from 2 to 1024 [default: 4]
    #[arg(long = "n", value_name = "N", allow_negative_numbers = true, value_parser = whole)]
    pub drives: Option<u64>,
    /// Rated drive writes a day, all within 8 hours [default: 1]
    #[arg(long, value_name = "D", allow_negative_numbers = true, value_parser = number)]
    pub dwpd: Option<f64>,
    /// Over-provisioning: a share of the raw capacity, or 28% of user, as on a data sheet [default:
    /// the device's]
    #[arg(long, value_name = "R", allow_negative_numbers = true,
        value_parser = parse_over_provisioning)]
    pub op: Option<f64>,
    /// R_v, the share of valid pages in a victim [default: 0.75]
    #[arg(long, value_name = "R_V", allow_negative_numbers = true, value_parser = number)]
    pub valid: Option<f64>,
    /// Rate of the host link: 3500MB/s [default: the scenario's, else unlimited]
    #[arg(long, value_name = "RATE", allow_hyphen_values = true, value_parser = rate)]
    pub link: Option<Bandwidth>,
    /// Writes of a drive in a burst [default: what link and flash can take]
    #[arg(long, value_name = "RATE", allow_hyphen_values = true, value_parser = rate)]
    pub burst: Option<Bandwidth>,
    /// Space that a cycle may use [default: what lies between gc.soft and gc.hard]
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true, value_parser = size)]
    pub reserve: Option<Bytes>,
    /// Blocks that the drive reclaims together [default: the scenario's, else channel]
    #[arg(long, value_name = "UNIT")]
    pub gc_unit: Option<Unit>,
    /// Added to the time of a GC run for the shortest window: 50ms [default: 0s]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = time)]
    pub guard: Option<Duration>,
    /// Small writes of the user to the whole RAID-5: also the window under these
    #[arg(long, value_name = "RATE", allow_hyphen_values = true, value_parser = rate)]
    pub raid5_writes: Option<Bandwidth>,
    /// Put runs beside the formula: some seconds
    #[arg(long)]
    pub check: bool,
    /// One JSON document on stdout
    #[arg(long)]
    pub json: bool,
}

/// Unit that a drive reclaims together.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Unit {
    /// One block of every die, each for itself
    Block,
    /// One block of every channel, as the formula has it
    Channel,
    /// A block of every plane group of every die
    PlaneGroup,
    /// A block of every lane of the drive
    Superblock,
}

impl TwArgs {
    /// The options, as the calculator asks for them.
    pub fn question(&self) -> Result<Question, ConfigError> {
        Ok(Question {
            device: self.device.clone(),
            scenario: self.scenario.clone(),
            sets: self.sets.iter().map(|set| Override::from_set(set)).collect::<Result<_, _>>()?,
            // A number that does not fit is too large for an array too, and is refused there.
            drives: self.drives.map(|drives| u32::try_from(drives).unwrap_or(u32::MAX)),
            dwpd: self.dwpd,
            op: self.op,
            valid: self.valid,
            link: self.link,
            burst: self.burst,
            reserve: self.reserve,
            unit: self.gc_unit.map(|unit| match unit {
                Unit::Block => GcUnit::Block,
                Unit::Channel => GcUnit::Channel,
                Unit::PlaneGroup => GcUnit::PlaneGroup,
                Unit::Superblock => GcUnit::Superblock,
            }),
            guard: self.guard,
            raid5_writes: self.raid5_writes,
        })
    }
}

fn number(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|number: &f64| number.is_finite())
        .ok_or_else(|| "expected a number".to_string())
}

fn rate(text: &str) -> Result<Bandwidth, String> {
    text.parse().map_err(|error: QuantityError| error.to_string())
}

fn size(text: &str) -> Result<Bytes, String> {
    text.parse().map_err(|error: QuantityError| error.to_string())
}
