//! The options of `manx linux`.

use super::{KeyArgs, TimelineArgs, time};
use clap::{Args as ClapArgs, value_parser};
use manx_core::units::{Bytes, Duration};
use manx_serve::guest::Protocol;
use std::path::PathBuf;

/// How the guest's time is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum CalendarProtocol {
    /// In shared memory, by messages where the guest does not know it
    Shared,
    /// By messages alone
    Messages,
}

impl From<CalendarProtocol> for Protocol {
    fn from(protocol: CalendarProtocol) -> Self {
        match protocol {
            CalendarProtocol::Shared => Self::Shared,
            CalendarProtocol::Messages => Self::Messages,
        }
    }
}

/// Defects that are planted, so that a checker can be seen to find them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Defect {
    /// A FLUSH is answered at once, and makes nothing durable
    LyingFlush,
}

/// `manx linux`.
#[derive(Debug, ClapArgs)]
pub struct LinuxArgs {
    /// A built-in scenario or the path of a scenario file; its workload is not used
    #[arg(default_value = "quick", value_name = "SCENARIO")]
    pub scenario: String,
    /// The policy [default: the scenario as it is written]
    #[arg(long, value_name = "NAME")]
    pub policy: Option<String>,
    #[command(flatten)]
    pub keys: KeyArgs,
    /// Another device, whole: a name of `manx device list` or the path of a table
    #[arg(long, value_name = "NAME|FILE")]
    pub device: Option<String>,
    /// Drives beside each other, /dev/vda, /dev/vdb, ..; an array is one
    #[arg(long, value_name = "N", default_value_t = 1, allow_negative_numbers = true,
        value_parser = value_parser!(u32).range(1..=16))]
    pub drives: u32,
    /// The drives, or the array, as namespaces of an NVMe/TCP subsystem, /dev/nvme0n1, .., to which
    /// the guest's kernel is connected, in place of /dev/vda, ..
    #[arg(long, conflicts_with_all = ["cuts", "cut_at", "defect"])]
    pub nvme: bool,
    /// The guest's root: this folder beneath an overlay, so that nothing of it is changed
    #[arg(long, value_name = "DIR", default_value = "/")]
    pub root: PathBuf,
    /// The guest's root: the ext4, xfs or btrfs in this raw image, beneath an overlay
    #[arg(long, value_name = "FILE", conflicts_with = "root")]
    pub image: Option<PathBuf>,
    /// The guest's memory, in which its changes to files lie too
    #[arg(long, value_name = "SIZE", default_value = "1GiB", value_parser = memory)]
    pub mem: Bytes,
    /// The folder of the guest [default: where `make linux` left it]
    #[arg(long, value_name = "DIR")]
    pub guest: Option<PathBuf>,
    /// End a guest that goes on for this long, in its own time
    #[arg(long, value_name = "TIME", default_value = "48h", value_parser = virtual_time)]
    pub until: Duration,
    /// End a guest that goes on for this long, on the wall
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub wall: Option<Duration>,
    /// Processor time of the guest: of each system call, and of each request of a disk [default:
    /// it is free]
    #[arg(long, alias = "cpus-cost", value_name = "syscall=TIME,request=TIME",
        value_delimiter = ',', value_parser = cost)]
    pub cpu_cost: Vec<(CostOf, Duration)>,
    /// How the guest's time is kept: it changes the speed, and no result
    #[arg(long, value_name = "NAME", value_enum, default_value_t = CalendarProtocol::Shared)]
    pub calendar: CalendarProtocol,
    /// The power fails at this instant; a new guest boots on what the drive has left, and --check
    /// judges
    #[arg(long, value_name = "TIME", value_parser = time, requires = "check",
        conflicts_with_all = ["cuts", "out", "record", "file", "attribution"])]
    pub cut_at: Option<Duration>,
    /// A power loss at each of so many instants of the command, drawn from the seed; or after every
    /// event of the drive in it, for a short list of system calls
    #[arg(long, value_name = "N|all", requires = "check", allow_negative_numbers = true,
        value_parser = cuts,
        conflicts_with_all = ["out", "record", "file", "attribution"])]
    pub cuts: Option<Cuts>,
    /// A shell's command that judges after a power loss: it fails where a promise was broken; the
    /// first command's words until then are in /run/manx-before
    #[arg(long, value_name = "COMMAND")]
    pub check: Option<String>,
    /// Plant this defect in the drives
    #[arg(long, value_name = "NAME", value_enum)]
    pub defect: Option<Defect>,
    /// Write the results into this folder: result.json, report.html, the scenario
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Replace files in the folder of --out although no run of manx left them there
    #[arg(long, requires = "out")]
    pub force: bool,
    /// Split every latency into what it was spent on (measure.attribution = true)
    #[arg(long)]
    pub attribution: bool,
    /// Write every command with its latency into FILE as Parquet, for `manx compare --trace FILE`
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// Precondition the drive anew instead of taking its state from the cache
    #[arg(long)]
    pub no_cache: bool,
    /// The command in the guest, and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<String>,
    #[command(flatten)]
    pub timeline: TimelineArgs,
}

/// Instants at which the power fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cuts {
    /// So many, drawn.
    Drawn(u32),
    /// After every event of the drive.
    All,
}

/// Things that take processor time of the guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CostOf {
    /// A system call.
    Syscall,
    /// A request of a disk.
    Request,
}

fn cuts(text: &str) -> Result<Cuts, String> {
    if text == "all" {
        return Ok(Cuts::All);
    }
    let count = text.parse().ok().filter(|count| (1..=1_000_000).contains(count));
    count.map(Cuts::Drawn).ok_or_else(|| "from 1 to 1000000, or all".to_string())
}

fn cost(text: &str) -> Result<(CostOf, Duration), String> {
    let (of, cost) = text.split_once('=').ok_or("syscall=TIME or request=TIME is needed")?;
    let of = match of {
        "syscall" => CostOf::Syscall,
        "request" => CostOf::Request,
        other => return Err(format!("`{other}`: syscall or request")),
    };
    let cost = time(cost)?;
    let is_allowed = cost <= Duration::from_ns(1_000_000_000);
    is_allowed.then_some((of, cost)).ok_or_else(|| "at most 1s".to_string())
}

fn memory(text: &str) -> Result<Bytes, String> {
    let size = text.parse::<Bytes>().map_err(|error| error.to_string())?;
    let is_allowed = (64 << 20..=1 << 40).contains(&size.get());
    is_allowed.then_some(size).ok_or_else(|| "from 64MiB to 1TiB".to_string())
}

fn virtual_time(text: &str) -> Result<Duration, String> {
    let most = Duration::from_ns(100 * 365 * 24 * 3600 * 1_000_000_000);
    let time = time(text)?;
    let is_allowed = !time.is_zero() && time <= most;
    is_allowed.then_some(time).ok_or_else(|| "above 0, at most 100 years".to_string())
}
