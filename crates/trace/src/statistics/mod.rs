//! Demands of a trace on a drive, in numbers: sizes, rate and bursts, locality, footprint, write
//! intervals, latencies.
//!
//! Only *data requests* (reads and writes) are measured: a flush has no address, and one trim may
//! cover a whole device. Everything is kept in integers and in bounded memory, whatever the length
//! of the trace:
//! * [`sizes`]: how often each size was asked for; exact, up to very many different ones.
//! * [`arrivals`]: gaps, and counts in bins of a second and of 10 ms.
//! * [`locality`]: sequential and unaligned requests, the span of each device.
//! * [`footprint`]: the distinct 4 KiB pages; exact as long as they fit, a sample by hash beyond.
//! * [`intervals`]: how long until a page is written again, from a sample of the pages.
//!
//! Pages are of 4 KiB whatever the drive's. [`report`] is what is printed; only there are floats.

mod arrivals;
mod footprint;
mod intervals;
mod locality;
pub mod report;
mod sizes;

pub use report::StatisticsReport;

use super::Record;
use arrivals::Arrivals;
use footprint::Footprint;
use intervals::WriteIntervals;
use locality::Locality;
use manx_base::latency::Histogram;
use manx_base::units::{Op, SECTOR};
use sizes::Sizes;

/// Sectors in a page.
const PAGE_SECTORS: u64 = 4096 / SECTOR;
/// Bits of a page's number within its device: 2^47 sectors are 2^44 pages.
const PAGE_BITS: u32 = 44;

/// Takes the requests of a trace one by one, in the order of time.
#[derive(Clone, Debug, Default)]
pub struct TraceStatistics {
    read_sizes: Sizes,
    write_sizes: Sizes,
    arrivals: Arrivals,
    locality: Locality,
    footprint: Footprint,
    intervals: WriteIntervals,
    read_latency: Histogram,
    write_latency: Histogram,
}

/// The pages that a request touches: of one device, the last one included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Pages {
    first: u64,
    last: u64,
}

impl TraceStatistics {
    /// Nothing seen yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// One more request; what is no data request is passed over.
    pub fn record(&mut self, record: &Record) {
        let (sizes, latencies) = match record.op {
            Op::Read => (&mut self.read_sizes, &mut self.read_latency),
            Op::Write => (&mut self.write_sizes, &mut self.write_latency),
            Op::Flush | Op::Trim => return,
        };
        if record.sectors == 0 {
            return;
        }
        sizes.record(record.sectors);
        if let Some(latency) = record.latency {
            latencies.record(latency.as_ns());
        }
        let at = self.arrivals.record(record.at.as_ns());
        self.locality.record(record);
        let pages = Pages::of(record);
        match record.op {
            Op::Write => {
                self.footprint.written(pages);
                self.intervals.record(pages, at);
            }
            _ => self.footprint.read(pages),
        }
    }

    /// The report, to print. `names` are the devices', by number.
    pub fn report(&self, names: &[&str]) -> StatisticsReport {
        let all = self.read_sizes.merged(&self.write_sizes);
        StatisticsReport {
            data_requests: all.count(),
            span_ns: self.arrivals.span(),
            mean_rate_per_s: self.arrivals.mean_rate(),
            read_sizes: self.read_sizes.report(),
            write_sizes: self.write_sizes.report(),
            top_sizes: all.top(),
            sizes_are_exact: all.is_exact(),
            arrivals: self.arrivals.report(),
            locality: self.locality.report(),
            footprint: self.footprint.report(),
            write_intervals: self.intervals.report(),
            read_latency: report::LatencyReport::of(&self.read_latency),
            write_latency: report::LatencyReport::of(&self.write_latency),
            devices: self.locality.devices(names),
        }
    }
}

impl Pages {
    fn of(record: &Record) -> Self {
        let device = u64::from(record.device) << PAGE_BITS;
        let end = record.lba.0 + u64::from(record.sectors);
        Self {
            first: device | (record.lba.0 / PAGE_SECTORS),
            last: device | ((end - 1) / PAGE_SECTORS),
        }
    }

    /// How many they are.
    fn count(self) -> u64 {
        self.last - self.first + 1
    }
}

/// A sample in space (Waldspurger et al., SHARDS, FAST 2015): a page belongs to it if the hash of
/// its number lies below a threshold, so that either all uses of a page are seen or none, and each
/// halving of the threshold keeps a part of the sample before. `halvings` of 0 take every page.
#[inline]
fn is_sampled(page: u64, halvings: u32) -> bool {
    halvings == 0 || mixed(page) >> (u64::BITS - halvings) == 0
}

/// The finalizer of MurmurHash3 (Appleby): every bit of the page's number changes the upper bits.
#[inline]
fn mixed(page: u64) -> u64 {
    let mut z = page ^ 0x9e37_79b9_7f4a_7c15;
    z = (z ^ (z >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    z = (z ^ (z >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    z ^ (z >> 33)
}

/// A share in percent, to print.
fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { 100.0 * part as f64 / whole as f64 }
}

#[cfg(test)]
mod tests;
