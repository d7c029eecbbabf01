//! Single requests, as logs have them, become the latencies of a load.

use super::plausible::{least_under_way, load};
use super::said::Said;
use super::{FAST, Latencies, MeasureError, PERCENTILES};

/// A request that completed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    pub(super) is_read: bool,
    pub(super) bytes: u64,
    /// First byte, if it is known.
    pub(super) offset: Option<u64>,
    /// When it completed, in nanoseconds.
    pub(super) at_ns: u64,
    pub(super) latency_ns: u64,
}

/// So many requests say nothing of a tail.
const LEAST: usize = 1_000;
/// Of requests that follow one another, so many lie behind the one before.
const SEQUENTIAL: f64 = 0.9;

/// The load that these requests were; `depth` is what the log itself tells of it.
pub(super) fn latencies(
    file: &str,
    samples: &[Sample],
    depth: Option<u32>,
    said: &Said,
) -> Result<Latencies, MeasureError> {
    let error = |message: String| MeasureError::new(file, "", message);
    if samples.len() < LEAST {
        let count = samples.len();
        return Err(error(format!("{count} requests: at least {LEAST} are needed for a tail")));
    }
    let first = samples[0];
    if samples.iter().any(|of| of.is_read != first.is_read) {
        let message = "reads and writes in one log: one direction a file, so that each has its own";
        return Err(error(message.to_string()));
    }
    if let Some(other) = samples.iter().find(|of| of.bytes != first.bytes) {
        let (a, b) = (first.bytes, other.bytes);
        return Err(error(format!("requests of {a} and of {b} B: one size a file")));
    }
    let depth = said.depth.or(depth).ok_or_else(|| {
        error("the log does not say at which depth: FILE@depth=N (and processes=N)".to_string())
    })?;
    let (begin, end) = samples.iter().fold((u64::MAX, 0), |(begin, end), of| {
        (begin.min(of.at_ns.saturating_sub(of.latency_ns)), end.max(of.at_ns))
    });
    let seconds = (end.saturating_sub(begin)) as f64 / 1e9;
    if seconds <= 0.0 {
        return Err(error("all requests at one instant: the times tell no rate".to_string()));
    }
    let mut sorted: Vec<u64> = samples.iter().map(|of| of.latency_ns).collect();
    sorted.sort_unstable();
    let rank = |percent: f64| {
        let rank = (sorted.len() as f64 * percent / 100.0).ceil() as usize;
        sorted[rank.clamp(1, sorted.len()) - 1] as f64 / 1e3
    };
    let mean_us = sorted.iter().map(|ns| *ns as f64).sum::<f64>() / sorted.len() as f64 / 1e3;
    let iops = samples.len() as f64 / seconds;
    let processes = said.processes.unwrap_or(1);
    let (under_way, slots) = (iops * mean_us / 1e6, f64::from(depth) * f64::from(processes));
    if under_way < slots * least_under_way(slots) {
        return Err(error(format!(
            "its rate x mean latency are {under_way:.2} requests under way, of depth x processes = \
             {slots}: the depth is said too high, or something held the job back; as fast as it \
             can is what is read"
        )));
    }
    if under_way > slots * 1.05 {
        return Err(error(format!(
            "its rate x mean latency are {under_way:.1} requests under way, but depth x processes \
             are {slots}: they contradict each other"
        )));
    }
    let of = Latencies {
        engine: said.engine.clone().unwrap_or_else(|| "device".to_string()),
        is_read: first.is_read,
        is_sequential: is_sequential(samples),
        is_map: false,
        block: first.bytes,
        depth,
        processes,
        drives: 1,
        iops,
        mean_us,
        percentiles_us: PERCENTILES.map(rank),
        fast_us: Some(rank(FAST)),
    };
    load(&of).map_err(error)?;
    Ok(of)
}

fn is_sequential(samples: &[Sample]) -> bool {
    let behind = |pair: &&[Sample]| {
        let end = pair[0].offset.map(|offset| offset + pair[0].bytes);
        end.is_some() && end == pair[1].offset
    };
    let follow = samples.windows(2).filter(behind).count();
    follow as f64 > SEQUENTIAL * samples.len() as f64
}
