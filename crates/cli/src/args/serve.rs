//! The options of `manx serve`.

use super::{KeyArgs, time};
use clap::{Args as ClapArgs, Subcommand, value_parser};
use manx_core::units::{Bytes, Duration};
use manx_serve::{MemberAddress, Speed};
use std::net::SocketAddr;
use std::path::PathBuf;

/// Protocols.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Protocol {
    /// Network block device
    Nbd,
    /// NVMe over TCP
    NvmeTcp,
    /// A guest's virtio block device: vhost-user-blk
    VhostUser,
}

/// Levels of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum LogLevel {
    /// Faults, and a store that takes no more
    Error,
    /// Also clients that break the protocol, and answers that are late
    Warn,
    /// Also orders, and a store's new base
    Info,
    /// Also connections and their negotiation
    Debug,
    /// Also every request with its instants
    Trace,
}

/// Clients that are served with `--tls-certificates`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum TlsMode {
    /// With TLS and in the clear, as they ask
    On,
    /// With TLS alone
    Require,
}

/// Time that is taken off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compensation {
    /// As it is measured.
    Auto,
    /// So much.
    Of(Duration),
}

/// `manx serve`.
#[derive(Debug, ClapArgs)]
pub struct ServeArgs {
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
    /// Listen on this socket in the file system
    #[arg(long, value_name = "PATH")]
    pub socket: Option<PathBuf>,
    /// The socket's mode, in octal
    #[arg(long, value_name = "MODE", default_value = "600", value_parser = mode)]
    pub mode: u32,
    /// Listen on this address of TCP; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS:PORT", conflicts_with = "socket")]
    pub listen: Option<SocketAddr>,
    /// Listen on an address that other machines reach: without --tls-verify-peer all are served
    #[arg(long)]
    pub remote: bool,
    /// The protocol of the clients: nvme-tcp needs --listen, vhost-user --socket
    #[arg(long, value_name = "NAME", value_enum, default_value_t = Protocol::Nbd)]
    pub protocol: Protocol,
    /// The NVMe Qualified Name of the subsystem, with --protocol nvme-tcp [default:
    /// nqn.2026-01.io.manx:disk]
    #[arg(long, value_name = "NQN", value_parser = nqn)]
    pub nqn: Option<String>,
    /// Drive these members over the network with the scenario's array, and serve it:
    /// nvme-tcp://HOST:PORT[/NQN[/NAMESPACE]],.. Without a value serve the array's members one by
    /// one, and not the array: each is a namespace of nvme-tcp, or an export of nbd
    #[arg(long, value_name = "URI,..", num_args = 0..=1, value_delimiter = ',')]
    pub members: Option<Vec<MemberAddress>>,
    /// Keep the drive in this folder: a server that is killed is a drive that lost its power
    #[arg(long, value_name = "DIR", conflicts_with = "members")]
    pub store: Option<PathBuf>,
    /// Put the store's log into its base at this length; requests wait meanwhile
    #[arg(long, value_name = "SIZE", default_value = "1GiB", value_parser = log,
        requires = "store")]
    pub store_log: Bytes,
    /// Encrypt with server-cert.pem and server-key.pem of this folder (TLS 1.2 and 1.3): of nbd
    #[arg(long, value_name = "DIR")]
    pub tls_certificates: Option<PathBuf>,
    /// Clients that are served, where there are certificates
    #[arg(long, value_name = "WHO", value_enum, default_value_t = TlsMode::Require,
        requires = "tls_certificates")]
    pub tls: TlsMode,
    /// A client needs a certificate that one of ca-cert.pem of that folder has signed
    #[arg(long, requires = "tls_certificates")]
    pub tls_verify_peer: bool,
    /// The name of the export of nbd, which a client may leave out, or of vhost-user's disk
    /// [default: manx]
    #[arg(long, value_name = "NAME", value_parser = export)]
    pub export: Option<String>,
    /// Take orders of `manx ctl` at this socket in the file system, of mode 600
    #[arg(long, value_name = "PATH")]
    pub control: Option<PathBuf>,
    /// Show a page of what happens, now, at this address of the loopback
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub live: Option<SocketAddr>,
    /// How fast the model's time passes: 0.1 is a drive ten times slower, from 0.0001 to 100
    #[arg(long, value_name = "FACTOR", default_value = "1", value_parser = speed,
        allow_negative_numbers = true)]
    pub speed: Speed,
    /// End after this time of the wall; without it at Ctrl-C
    #[arg(long = "for", value_name = "TIME", allow_hyphen_values = true, value_parser = time)]
    pub lasts: Option<Duration>,
    /// Connections at once; more are closed as they come
    #[arg(long, value_name = "N", default_value_t = 64, allow_negative_numbers = true,
        value_parser = value_parser!(u32).range(1..=1024))]
    pub connections: u32,
    /// Tell at once when an answer leaves later than this after its time
    #[arg(long, value_name = "TIME", default_value = "10ms", allow_hyphen_values = true,
        value_parser = time)]
    pub late: Duration,
    /// Look for the next request so long after the last before sleeping, at the cost of a core
    #[arg(long, value_name = "TIME", default_value = "100us", allow_hyphen_values = true,
        value_parser = time)]
    pub spin: Duration,
    /// Take the transport's time off what clients see: requests came so much earlier, up to 1ms;
    /// auto measures a round trip at the start
    #[arg(long, value_name = "TIME|auto", default_value = "0s", value_parser = compensation,
        allow_hyphen_values = true, conflicts_with = "store")]
    pub compensate: Compensation,
    /// Write every command with its latency into FILE as Parquet, for `manx compare --trace FILE`
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// Lines on stderr as it serves: of this level and above
    #[arg(long, value_name = "LEVEL", value_enum, default_value_t = LogLevel::Info)]
    pub log: LogLevel,
    /// At the end one JSON document on stdout; everything else goes to stderr
    #[arg(long)]
    pub json: bool,
    /// Precondition the drive anew instead of taking its state from the cache
    #[arg(long)]
    pub no_cache: bool,
}

impl ServeArgs {
    /// The subsystem's name.
    pub fn nqn(&self) -> &str {
        self.nqn.as_deref().unwrap_or("nqn.2026-01.io.manx:disk")
    }

    /// The export's name.
    pub fn export(&self) -> &str {
        self.export.as_deref().unwrap_or("manx")
    }
}

/// `manx ctl`.
#[derive(Debug, ClapArgs)]
pub struct CtlArgs {
    /// The server's control socket: `--control` of `manx serve`
    #[arg(value_name = "SOCKET")]
    pub socket: PathBuf,
    /// The order
    #[command(subcommand)]
    pub order: CtlOrder,
    /// The state afterwards as one JSON document on stdout
    #[arg(long, global = true)]
    pub json: bool,
}

/// Orders of `manx ctl`.
#[derive(Debug, Subcommand)]
pub enum CtlOrder {
    /// Tell the state and percentiles
    State,
    /// Let GC begin at the hard watermark only
    Pause,
    /// Let GC begin at the soft watermark again
    Resume,
    /// Change settings: times of the flash, the watermarks of GC
    Set {
        /// Keys with their new values; a value that names no setting of a drive at work is refused
        #[arg(value_name = "KEY=VALUE", required = true)]
        sets: Vec<String>,
    },
    /// Write the drive with its data into a new store, from which `manx serve --store` goes on
    Snapshot {
        /// The folder: empty or new
        #[arg(value_name = "DIR")]
        folder: PathBuf,
    },
    /// End the server as Ctrl-C does
    Stop,
}

/// `manx store`.
#[derive(Debug, Subcommand)]
pub enum StoreCommand {
    /// Describe a store: its drive, its base and its log
    Info {
        /// The folder
        #[arg(value_name = "DIR")]
        folder: PathBuf,
        /// One JSON document on stdout
        #[arg(long)]
        json: bool,
    },
    /// Read a store to its end, look at every checksum and replay its log, without writing
    Check {
        /// The folder
        #[arg(value_name = "DIR")]
        folder: PathBuf,
    },
}

fn log(text: &str) -> Result<Bytes, String> {
    let size = text.parse::<Bytes>().map_err(|error| error.to_string())?;
    (size.get() >= 1 << 20).then_some(size).ok_or_else(|| "at least 1MiB".to_string())
}

fn compensation(text: &str) -> Result<Compensation, String> {
    if text == "auto" {
        return Ok(Compensation::Auto);
    }
    let of = time(text).ok().filter(|of| *of <= Duration::from_ms(1));
    of.map(Compensation::Of).ok_or_else(|| "`auto`, or a time from 0s to 1ms".to_string())
}

fn speed(text: &str) -> Result<Speed, String> {
    let speed = text.parse().ok().and_then(Speed::new);
    speed.ok_or_else(|| "a factor from 0.0001 to 100".to_string())
}

fn nqn(text: &str) -> Result<String, String> {
    let is_name = text.starts_with("nqn.") && text.len() <= 223 && text.is_ascii();
    let is_own = text != manx_serve::nvme_tcp::DISCOVERY;
    (is_name && is_own && !text.contains(|c: char| c.is_whitespace() || c.is_control()))
        .then(|| text.to_string())
        .ok_or_else(|| "a name that begins with `nqn.`, of at most 223 letters".to_string())
}

/// A string of NBD has at most 4096 bytes; `--members` adds a number.
fn export(text: &str) -> Result<String, String> {
    (text.len() <= 4096 - "-31".len())
        .then(|| text.to_string())
        .ok_or_else(|| format!("a name of at most 4093 bytes, and not of {}", text.len()))
}

fn mode(text: &str) -> Result<u32, String> {
    let mode = u32::from_str_radix(text, 8).ok().filter(|mode| *mode <= 0o777);
    mode.ok_or_else(|| "an octal mode from 0 to 777, such as 660".to_string())
}
