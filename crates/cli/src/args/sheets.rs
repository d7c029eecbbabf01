//! `manx plan op|rain|buffer|endurance|fleet`.

use super::time;
use clap::Args as ClapArgs;
use manx_core::units::{Bandwidth, Duration, QuantityError};

/// Options of every sheet.
#[derive(Clone, Copy, Debug, ClapArgs)]
pub struct SheetArgs {
    /// Put a run of the model beside the formula
    #[arg(long)]
    pub check: bool,
    /// One JSON document on stdout
    #[arg(long)]
    pub json: bool,
}

/// `manx plan op`.
#[derive(Debug, ClapArgs)]
pub struct OpArgs {
    /// Shares of raw: 0.07,0.28 [default: 0.07, 0.1, 0.15, 0.2, 0.28, 0.4]
    #[arg(long, value_name = "R,R", value_delimiter = ',', allow_negative_numbers = true)]
    pub op: Vec<f64>,
    /// Pages of a block
    #[arg(long, value_name = "N", default_value_t = 64)]
    pub pages: u32,
    #[command(flatten)]
    pub sheet: SheetArgs,
}

/// `manx plan rain`.
#[derive(Debug, ClapArgs)]
pub struct RainArgs {
    /// Members of a stripe, one of them parity
    #[arg(long, value_name = "W", default_value_t = 8)]
    pub width: u32,
    /// Share of raw that is neither data nor parity
    #[arg(long, value_name = "R", default_value_t = 0.2, allow_negative_numbers = true)]
    pub op: f64,
    /// Chance that a page cannot be read
    #[arg(long, value_name = "P", default_value_t = 1e-6, allow_negative_numbers = true)]
    pub failure: f64,
    #[command(flatten)]
    pub sheet: SheetArgs,
}

/// `manx plan buffer`.
#[derive(Debug, ClapArgs)]
pub struct BufferArgs {
    /// The drive: a name of `manx device list` or the path of a table
    #[arg(long, value_name = "NAME|FILE", default_value = "femu")]
    pub device: String,
    /// Writes of the burst: 2000MB/s
    #[arg(long, value_name = "RATE", allow_hyphen_values = true, value_parser = rate)]
    pub burst: Bandwidth,
    /// How long it lasts: 100ms
    #[arg(long = "for", value_name = "TIME", allow_hyphen_values = true, value_parser = time)]
    pub lasts: Duration,
    /// Programs for each write, meanwhile
    #[arg(long, value_name = "A", default_value_t = 1.0, allow_negative_numbers = true)]
    pub waf: f64,
    #[command(flatten)]
    pub sheet: SheetArgs,
}

/// `manx plan endurance`.
#[derive(Debug, ClapArgs)]
pub struct EnduranceArgs {
    /// Share of raw; without it that of --device, or 0.126
    #[arg(long, value_name = "R", allow_negative_numbers = true)]
    pub op: Option<f64>,
    /// Write amplification
    #[arg(long, value_name = "A", default_value_t = 2.0, allow_negative_numbers = true)]
    pub waf: f64,
    /// Rated P/E cycles; without it those of --device, or 3000
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub cycles: Option<f64>,
    /// The drive: a name of `manx device list` or the path of a table
    #[arg(long, value_name = "NAME|FILE")]
    pub device: Option<String>,
    /// Drive writes a day of the load
    #[arg(long, value_name = "D", default_value_t = 1.0, allow_negative_numbers = true)]
    pub dwpd: f64,
    /// Years of service
    #[arg(long, value_name = "Y", default_value_t = 5.0, allow_negative_numbers = true)]
    pub years: f64,
    #[command(flatten)]
    pub sheet: SheetArgs,
}

/// `manx plan fleet`.
#[derive(Debug, ClapArgs)]
pub struct FleetArgs {
    /// Drives of the fleet
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub drives: u32,
    /// Members of an array
    #[arg(long, value_name = "N", default_value_t = 8)]
    pub members: u32,
    /// Members that may fail: 1 (RAID-5) or 2 (RAID-6)
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub parity: u32,
    /// Percent of the drives that fail in a year
    #[arg(long, value_name = "PERCENT", default_value_t = 1.0, allow_negative_numbers = true)]
    pub afr: f64,
    /// Hours to restore a member
    #[arg(long, value_name = "HOURS", default_value_t = 8.0, allow_negative_numbers = true)]
    pub rebuild: f64,
    /// Days until a spare comes
    #[arg(long, value_name = "DAYS", default_value_t = 14.0, allow_negative_numbers = true)]
    pub delivery: f64,
    #[command(flatten)]
    pub sheet: SheetArgs,
}

fn rate(text: &str) -> Result<Bandwidth, String> {
    text.parse().map_err(|error: QuantityError| error.to_string())
}
