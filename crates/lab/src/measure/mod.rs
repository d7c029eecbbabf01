//! Measurements of real drives: what was asked of the drive, the state that it was in, and what it
//! did.
//!
//! A measurement is either the latencies of one run under a steady load ([`fio`]: fio's JSON and
//! json+; [`fio_log`]: its logs of latencies; [`blkparse`]: D and C events of a blktrace), or
//! windows of a long write ([`counters`]: WAF and rate by capacities written; [`totals`]: the
//! drive's own counters of host and media bytes; both as CSV; [`iostat`]: rates alone). A file that
//! is broken, or says what cannot be, is one error that names the file, the place, the value and
//! what is allowed; two files that contradict each other likewise ([`consistent`]).

mod blkparse;
mod consistent;
mod counters;
mod error;
mod fio;
mod fio_log;
mod iostat;
mod json;
mod plausible;
mod said;
mod samples;
mod size;
mod state;
#[cfg(test)]
mod tests;
mod totals;

pub use consistent::consistent;
pub use error::MeasureError;
pub use fio::{FAST, PERCENTILES};
pub(crate) use fio::{devices, is_synchronous};
pub use said::Said;
pub use size::fio_size;
pub use state::DriveState;

use crate::load::read_bounded;
use std::path::Path;

/// A drive that collects writes at no more than so much of its best rate.
const SLOWER: f64 = 0.8;

/// The content of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Measurement {
    /// The file's name without its folder and ending.
    pub name: String,
    /// The state that the drive was in before.
    pub state: DriveState,
    /// The measured figures.
    pub what: Measured,
}

/// The kinds of measurements.
#[derive(Clone, Debug, PartialEq)]
pub enum Measured {
    /// Latencies of a steady load.
    Latencies(Latencies),
    /// Windows of a long write.
    Windows(Vec<Window>),
}

/// Latencies of one side of a steady load, in microseconds, as the host saw them.
#[derive(Clone, Debug, PartialEq)]
pub struct Latencies {
    /// How the host issued its requests: `io_uring`, `spdk`, `libaio`.
    pub engine: String,
    /// Reads, or writes.
    pub is_read: bool,
    /// Sequential, or at random places.
    pub is_sequential: bool,
    /// Each pass visits every block once (fio's random map).
    pub is_map: bool,
    /// Bytes of a request.
    pub block: u64,
    /// Requests that each process keeps outstanding.
    pub depth: u32,
    /// Processes, or threads, with a queue each.
    pub processes: u32,
    /// Drives over which the requests were spread.
    pub drives: u32,
    /// Requests a second, of all processes.
    pub iops: f64,
    /// The mean latency.
    pub mean_us: f64,
    /// Those of [`PERCENTILES`], in their order.
    pub percentiles_us: [f64; 4],
    /// That of [`FAST`], where it was measured.
    pub fast_us: Option<f64>,
}

/// A part of a long write.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// Capacities that the host had written when it began.
    pub from: f64,
    /// Those when it ended.
    pub to: f64,
    /// Bytes that reached the flash for each byte of the host, if the drive was asked.
    pub waf: Option<f64>,
    /// Bytes of the host in a second.
    pub bytes_per_s: f64,
}

impl Window {
    /// True where the drive, fresh at first, collected: by its WAF or, where nobody asked for it,
    /// by a rate below the best of `all` when so many capacities had been written.
    pub fn collects(&self, all: &[Window], since: f64) -> bool {
        let most = all.iter().map(|window| window.bytes_per_s).fold(0.0, f64::max);
        let is_slow = self.to > since && self.bytes_per_s < SLOWER * most;
        self.waf.map_or(is_slow, |waf| waf > 1.05)
    }
}

impl Measurement {
    /// Reads a file; `said` is `FILE` or `FILE@STATE`, where the state is that of this file alone.
    pub fn read(said: &str, state: Option<DriveState>) -> Result<Self, MeasureError> {
        let (file, own) = match said.rsplit_once('@') {
            Some((file, own)) if !Path::new(said).exists() => {
                (file, Said::parse(own).map_err(|why| MeasureError::new(said, "", why))?)
            }
            _ => (said, Said::default()),
        };
        let bytes = read_bounded(Path::new(file))
            .map_err(|why| MeasureError::new(file, "", format!("cannot read it: {why}")))?;
        let text = std::str::from_utf8(&bytes).map_err(|_| {
            let message =
                "not a text: fio's JSON or log, blkparse's or iostat's text, or CSV is expected";
            MeasureError::new(file, "", message)
        })?;
        Self::of(file, text, &Said { state: own.state.or(state), ..own })
    }

    /// The measurement in a text of that name.
    pub fn of(file: &str, text: &str, said: &Said) -> Result<Self, MeasureError> {
        let name = Path::new(file).file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let trimmed = text.trim_start();
        if trimmed.is_empty() {
            return Err(MeasureError::new(file, "", "the file is empty"));
        }
        let samples =
            |all: &[_], depth| Ok(Measured::Latencies(samples::latencies(file, all, depth, said)?));
        let what = if iostat::is_json(trimmed) || iostat::is_text(trimmed) {
            said.only(file, "iostat's series", &["capacity", "interval"])?;
            Measured::Windows(iostat::read(file, text, said)?)
        } else if fio::is_json(trimmed) {
            said.only(file, "fio's JSON", &[])?;
            Measured::Latencies(fio::read(file, text)?)
        } else if fio_log::is_log(trimmed) {
            said.only(file, "fio's log", &["depth", "processes", "engine"])?;
            samples(&fio_log::read(file, text)?, None)?
        } else if blkparse::is_text(trimmed) {
            said.only(file, "blkparse's text", &["depth", "processes", "engine"])?;
            let (all, depth) = blkparse::read(file, text)?;
            samples(&all, Some(depth))?
        } else if totals::is_csv(trimmed) {
            said.only(file, "a drive's counters", &["capacity"])?;
            Measured::Windows(totals::read(file, text, said)?)
        } else {
            said.only(file, "windows", &[])?;
            Measured::Windows(counters::read(file, text, said)?)
        };
        // A window counts what was written since the drive was formatted, if nothing else is said.
        let usual = match what {
            Measured::Latencies(_) => DriveState::Overwritten(2),
            Measured::Windows(_) => DriveState::Fresh,
        };
        Ok(Self { name, state: said.state.unwrap_or(usual), what })
    }

    /// The latencies, if those were measured.
    pub fn latencies(&self) -> Option<&Latencies> {
        match &self.what {
            Measured::Latencies(latencies) => Some(latencies),
            Measured::Windows(_) => None,
        }
    }
}
