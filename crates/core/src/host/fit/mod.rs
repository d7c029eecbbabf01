//! A workload profile fitted to a trace: figures from which requests of the same kind can be
//! generated.
//!
//! ```text
//! requests ─ sizes: how large       heat: how unevenly pages are asked for       bursts: when
//!          │ rhythm: phases, runs, gaps      returns: how writes come back
//!          └ Fitter → Fit (a job's settings) → profile: its text
//! ```
//!
//! A profile holds shares, sizes and rates: no address, no name, no time of day. So it can be given
//! away where the trace cannot. Memory is bounded, however long the trace is.
//!
//! Two are made of it. [`Fitter::fit`] keeps the order of things: phases, runs of reads and of
//! writes, gaps, at what depth and with what neighbours writes come back, beside the mix, sizes,
//! the footprint, how hot its pages are, alignment. [`Fitter::stationary`] keeps figures alone:
//! rate and dispersion in 10 ms and 1 s in place of phases, tiers in place of an order of writes.
//! Neither keeps the sizes of trims (they get those of writes) nor which sizes reads have where.

mod bursts;
mod heat;
mod profile;
mod returns;
mod rhythm;
mod sizes;
#[cfg(test)]
mod tests;

pub use bursts::Bursts;

use super::{Arrival, JobSpec, Pattern};
use crate::drive::Op;
use crate::units::{Bytes, Duration, SECTOR};
use bursts::Bins;
use heat::{Class, Heat, PAGE};
use manx_trace::Record;
use returns::Returns;
use rhythm::Rhythm;
use sizes::SizeCounts;
use std::collections::BTreeMap;

/// So many requests of 4 KiB pages must be aligned to them for the profile to say that all are.
const ALIGNED: f64 = 0.9;
/// A mean run below so many mean requests is chance.
const RUNS: f64 = 1.05;
/// Tiers of writes that differ less than so many percent from those of reads are the same.
const SAME_PERCENT: f64 = 2.0;

/// Figures of a trace, of a generated one as well.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figures {
    /// Requests of every kind.
    pub requests: u64,
    /// From the first to the last, in nanoseconds.
    pub span_ns: u64,
    /// Reads.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
    /// Trims.
    pub trims: u64,
    /// Flushes.
    pub flushes: u64,
    /// Writes with FUA.
    pub fua: u64,
    /// Mean size of a read, in bytes.
    pub read_bytes: f64,
    /// Mean size of a write, in bytes.
    pub write_bytes: f64,
    /// Mean length of a run of requests that follow one another, in bytes.
    pub run_bytes: f64,
    /// Distinct pages of 4 KiB that are read or written.
    pub footprint_pages: u64,
    /// Variance over mean of the counts in 10 ms.
    pub idc_10ms: Option<f64>,
    /// Variance over mean of the counts in 1 s.
    pub idc_1s: Option<f64>,
}

impl Figures {
    /// Requests per second; 0 without a span.
    pub fn rate(&self) -> f64 {
        if self.span_ns == 0 { 0.0 } else { self.requests as f64 * 1e9 / self.span_ns as f64 }
    }

    /// Reads, percent of all but flushes.
    pub fn read_percent(&self) -> f64 {
        percent(self.reads, self.reads + self.writes + self.trims)
    }
}

/// Takes the requests of a trace one by one.
#[derive(Clone, Debug)]
pub struct Fitter {
    requests: u64,
    span_ns: u64,
    counts: [u64; 4],
    fua: u64,
    aligned: u64,
    reads: SizeCounts,
    writes: SizeCounts,
    heat: Heat,
    bins: [Bins; 2],
    /// Where the last read or write of each device ended.
    ends: BTreeMap<u32, u64>,
    runs: u64,
    run_sectors: u64,
    rhythm: Rhythm,
    returns: Returns,
    written: Heat,
}

impl Default for Fitter {
    fn default() -> Self {
        let bins = [Bins::new(10_000_000), Bins::new(1_000_000_000)];
        Self {
            requests: 0,
            span_ns: 0,
            counts: [0; 4],
            fua: 0,
            aligned: 0,
            reads: SizeCounts::default(),
            writes: SizeCounts::default(),
            heat: Heat::default(),
            bins,
            ends: BTreeMap::new(),
            runs: 0,
            run_sectors: 0,
            rhythm: Rhythm::default(),
            returns: Returns::default(),
            written: Heat::default(),
        }
    }
}

impl Fitter {
    /// One more request; times count from the first and never decrease.
    pub fn add(&mut self, record: &Record) {
        self.requests += 1;
        self.span_ns = record.at.as_ns();
        self.bins.iter_mut().for_each(|bins| bins.add(record.at.as_ns()));
        let kind = match record.op {
            Op::Read => 0,
            Op::Write => 1,
            Op::Trim => 2,
            Op::Flush => 3,
        };
        self.counts[kind] += 1;
        if kind < 3 {
            // A trim has no size that counts.
            let sectors = if kind == 2 { 0 } else { record.sectors };
            self.rhythm.add(record.at.as_ns(), kind == 0, sectors);
        }
        if !matches!(record.op, Op::Read | Op::Write) || record.sectors == 0 {
            return;
        }
        let is_read = record.op == Op::Read;
        self.fua += u64::from(record.fua && !is_read);
        self.aligned += u64::from(record.lba.0.is_multiple_of(PAGE));
        if is_read { &mut self.reads } else { &mut self.writes }.add(record.sectors);
        self.heat.touch(record.device, record.lba.0, record.sectors, is_read);
        if !is_read {
            self.written.touch(record.device, record.lba.0, record.sectors, false);
            self.returns.add(record.device, record.lba.0, record.sectors);
        }
        let end = record.lba.0 + u64::from(record.sectors);
        let follows = self.ends.insert(record.device, end) == Some(record.lba.0);
        self.runs += u64::from(!follows);
        self.run_sectors = self.run_sectors.saturating_add(u64::from(record.sectors));
    }

    /// The figures so far.
    pub fn figures(&self) -> Figures {
        let [reads, writes, trims, flushes] = self.counts;
        Figures {
            requests: self.requests,
            span_ns: self.span_ns,
            reads,
            writes,
            trims,
            flushes,
            fua: self.fua,
            read_bytes: self.reads.mean(),
            write_bytes: self.writes.mean(),
            run_bytes: self.run_sectors as f64 * SECTOR as f64 / self.runs.max(1) as f64,
            footprint_pages: self.heat.footprint(),
            idc_10ms: self.bins[0].dispersion(),
            idc_1s: self.bins[1].dispersion(),
        }
    }

    /// The profile that keeps the order of things; figures alone where there is no time to keep.
    pub fn fit(&self) -> Fit {
        let mut fit = self.stationary();
        let job = &mut fit.job;
        if job.rate > 0.0 {
            let split = [&job.block_sizes, own_or(&job.write_block_sizes, &job.block_sizes)];
            job.phases = self.rhythm.phases(split.map(|sizes| means(sizes)), job.flush_every);
            if let Some(phases) = &job.phases {
                // One pass, with the flushes that `flush_every` makes.
                let [seconds, requests] =
                    [0, 1].map(|field| phases.list.iter().map(|phase| phase[field]).sum::<f64>());
                job.requests = requests as u64;
                job.rate = rounded((requests / seconds).clamp(1e-3, 1e9));
                let JobSpec { peak_to_mean, burst, .. } = JobSpec::default();
                (job.arrival, job.peak_to_mean, job.burst) = (Arrival::Phases, peak_to_mean, burst);
            }
        }
        let share = self.written.footprint() as f64 / self.heat.footprint().max(1) as f64;
        job.rewrites = self.returns.rewrites(100.0 * share);
        if job.rewrites.is_some() {
            job.write_tiers = Vec::new();
        }
        fit
    }

    /// The profile that keeps figures alone.
    pub fn stationary(&self) -> Fit {
        let figures = self.figures();
        let Figures { reads, writes, trims, flushes, .. } = figures;
        let mut job =
            JobSpec { requests: self.requests, pattern: Pattern::Random, ..JobSpec::default() };
        job.read_percent = rounded(figures.read_percent());
        // Rounded down, for the two must not exceed 100.
        job.trim_percent = (percent(trims, reads + writes + trims) * 1e3).floor() / 1e3;
        if job.trim_percent + job.read_percent > 100.0 {
            job.trim_percent = (job.trim_percent - 1e-3).max(0.0);
        }
        job.fua_percent = rounded(percent(self.fua, writes));
        job.flush_every = flush_every(writes, flushes);
        arrivals(&mut job, &figures);
        let is_aligned = self.aligned as f64 >= ALIGNED * (reads + writes) as f64;
        job.align = if is_aligned { Bytes::kib(4) } else { Bytes::new(SECTOR) };
        let step = if is_aligned { PAGE } else { 1 };
        self.sizes(&mut job, step);
        let classes = self.heat.classes();
        tiers(&mut job, &classes);
        if job.pattern == Pattern::Tiers && !is_aligned {
            job.tier_block = Bytes::kib(4);
        }
        let requests = (reads + writes).max(1) as f64;
        let mean =
            (figures.read_bytes * reads as f64 + figures.write_bytes * writes as f64) / requests;
        if figures.run_bytes > RUNS * mean {
            job.run = Bytes::new((figures.run_bytes / SECTOR as f64 + 0.5) as u64 * SECTOR);
        }
        let largest =
            job.block_sizes.iter().chain(&job.write_block_sizes).map(|(size, _)| size.get()).max();
        let least = largest.unwrap_or(0).next_multiple_of(PAGE * SECTOR);
        job.size =
            Bytes::new((figures.footprint_pages * PAGE * SECTOR).max(least).max(PAGE * SECTOR));
        Fit { job, figures }
    }

    fn sizes(&self, job: &mut JobSpec, step: u64) {
        let shares = |sizes: &SizeCounts| -> Vec<(Bytes, f64)> {
            sizes.folded(step).into_iter().map(|(size, share)| (size, rounded(share))).collect()
        };
        match (self.reads.is_empty(), self.writes.is_empty()) {
            (true, true) => {}
            (true, false) => job.block_sizes = shares(&self.writes),
            (false, true) => job.block_sizes = shares(&self.reads),
            (false, false) => {
                job.block_sizes = shares(&self.reads);
                let writes = shares(&self.writes);
                if writes != job.block_sizes {
                    job.write_block_sizes = writes;
                }
            }
        }
    }
}

fn own_or<'a>(own: &'a Vec<(Bytes, f64)>, other: &'a Vec<(Bytes, f64)>) -> &'a Vec<(Bytes, f64)> {
    if own.is_empty() { other } else { own }
}

/// Mean of the sizes up to the mean and of those above it, in sectors; twice the mean where they
/// are all one.
fn means(sizes: &[(Bytes, f64)]) -> [f64; 2] {
    let mean_of = |sizes: &[&(Bytes, f64)]| {
        let total: f64 = sizes.iter().map(|size| size.1).sum();
        let sum: f64 = sizes.iter().map(|size| size.0.get() as f64 * size.1).sum();
        if total > 0.0 { sum / total / SECTOR as f64 } else { 0.0 }
    };
    let mean = mean_of(&sizes.iter().collect::<Vec<_>>());
    let is_large = |size: &&(Bytes, f64)| size.0.get() as f64 > mean * SECTOR as f64;
    let (large, small): (Vec<_>, Vec<_>) = sizes.iter().partition(is_large);
    if large.is_empty() { [mean, mean] } else { [mean_of(&small), mean_of(&large)] }
}

/// A profile: the settings of one job, and the figures that they are from.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    /// The settings.
    pub job: JobSpec,
    /// The figures of the trace.
    pub figures: Figures,
}

fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { 100.0 * part as f64 / whole as f64 }
}

/// To five digits: what is written to a file and what is kept are the same number.
fn rounded(value: f64) -> f64 {
    let mut unit = 1e-4;
    while unit < value.abs() && unit < 1e14 {
        unit *= 10.0;
    }
    let digits = 1e5 / unit;
    (value * digits + 0.5).floor() / digits
}

/// Writes for each flush: at least one, and no flush where nothing is written.
fn flush_every(writes: u64, flushes: u64) -> u32 {
    match (writes, flushes) {
        (0, _) | (_, 0) => 0,
        _ => u32::try_from((writes + flushes / 2) / flushes).unwrap_or(u32::MAX).max(1),
    }
}

fn arrivals(job: &mut JobSpec, figures: &Figures) {
    let rate = figures.rate();
    if rate <= 0.0 {
        // Everything at one instant: a time was not kept.
        return;
    }
    job.rate = rounded(rate.clamp(1e-3, 1e9));
    let span_s = figures.span_ns as f64 / 1e9;
    job.arrival = match Bursts::fit(rate, span_s, figures.idc_10ms, figures.idc_1s) {
        Bursts::Even => Arrival::Fixed,
        Bursts::Poisson => Arrival::Poisson,
        Bursts::Bursty { peak_to_mean, burst_s } => {
            // A silence is at most a year, a burst at least a hundredth of a request.
            let burst_s =
                burst_s.min(3e7 / peak_to_mean).max(0.011 / (peak_to_mean * rate)).max(1e-6);
            job.peak_to_mean = rounded(peak_to_mean).max(1.0);
            job.burst = Duration::from_us((burst_s * 1e6 + 0.5) as u64);
            Arrival::Bursty
        }
    };
}

/// Classes of pages as tiers; what the last one has is the rest.
fn tiers(job: &mut JobSpec, classes: &[Class]) {
    let Some((_, listed)) = classes.split_last() else { return };
    if listed.is_empty() {
        return;
    }
    let of = |requests: fn(&Class) -> f64| -> Vec<(f64, f64)> {
        let total: f64 = classes.iter().map(|class| class.share * requests(class)).sum();
        let share = |class: &Class| {
            if total > 0.0 { 100.0 * class.share * requests(class) / total } else { 0.0 }
        };
        // Rounded down, so that no sum exceeds 100.
        let cut = |percent: f64| (percent * 1e4).floor() / 1e4;
        listed.iter().map(|class| (cut(100.0 * class.share).max(1e-4), cut(share(class)))).collect()
    };
    let (reads, writes) = (of(|class| class.reads), of(|class| class.writes));
    job.pattern = Pattern::Tiers;
    let differ = reads.iter().zip(&writes).any(|(a, b)| (a.1 - b.1).abs() > SAME_PERCENT);
    match job.read_percent {
        0.0 => job.tiers = writes,
        100.0 => job.tiers = reads,
        _ => {
            job.tiers = reads;
            job.write_tiers = if differ { writes } else { Vec::new() };
        }
    }
}
