//! Steady random reads, and writes to a fresh drive: the scenario that stands for a measurement,
//! and what it comes to.

use super::TwinError;
use super::space::Space;
use crate::load::Request;
use crate::measure::{DriveState, FAST, Latencies, Measurement, PERCENTILES};
use crate::prepare::{host_sectors, make};
use crate::run::RunError;
use manx_config::{Override, Scenario, Source};
use manx_core::ftl::PageMap;
use manx_core::host::generate::Generator;
use manx_core::host::{Driver, Job, Pacing};
use std::fmt::Write;

/// The figures of a load: the percentiles of `PERCENTILES` in microseconds, the requests a second,
/// then the percentile `FAST`, which is no number where it was not measured.
pub type Figures = [f64; 6];

/// Requests of a load that are played before those that count, beside a few of each slot.
const WARMUP: u64 = 400;
/// Blocks of a plane, and rows of word lines of a block: of the drive that is simulated. Reads do
/// not depend on how large a drive is. Writes get a drive that they fill to no more than half, so
/// that nothing is collected.
const BLOCKS: u32 = 24;
const WORD_LINES: u32 = 16;
const MARGIN: u64 = 2;
/// Bytes of writes that count, at most.
const WRITTEN: u64 = 256 << 20;
/// Rows of each lane that a write buffer has room for, at least (`drive.buffer`).
const LEAST_ROWS: u64 = 2;
/// Warm-ups of writes, each so many times as long as the one before, until the buffer was full
/// when the requests began to count: what fills it is only faster than what empties it, and may be
/// so by little. Behind the last one it counts as one that never fills.
const LONGER: u64 = 4;
const LONGEST: u64 = 64;
/// Keys that reads do not feel.
const OF_WRITES: [&str; 3] = ["device.timing.program", "drive.buffer", "drive.buffer_hit"];
/// The write buffer where none is known.
const BUFFER: u64 = 64 << 20;

/// Requests under way, and bytes of one, of the largest load that is simulated.
const MOST_SLOTS: u32 = 4096;
const MOST_BYTES: u64 = 4 << 20;

/// How a drive is built, as far as random reads tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Structure {
    /// Channels.
    pub channels: u32,
    /// Dies on each.
    pub ways: u32,
    /// Planes of a die over which consecutive mapping units go, one read after the other.
    pub planes: u32,
    /// Behind the planes they go over the dies of a channel, not over the channels.
    pub ways_first: bool,
}

impl Structure {
    /// Dies.
    pub fn dies(self) -> u32 {
        self.channels * self.ways
    }

    /// Planes of all dies.
    fn planes_of_all(self) -> u64 {
        u64::from(self.dies()) * u64::from(self.planes)
    }

    /// Over what consecutive units go, the planes of a die first, as `ftl.order` has it.
    pub fn order(self) -> &'static str {
        match self.ways_first {
            true => "[\"plane\", \"way\", \"channel\", \"die\"]",
            false => "[\"plane\", \"channel\", \"way\", \"die\"]",
        }
    }

    /// The keys that say it.
    pub fn keys(self) -> Vec<(&'static str, String)> {
        vec![
            ("device.geometry.channels", self.channels.to_string()),
            ("device.geometry.ways", self.ways.to_string()),
            ("device.geometry.dies", "1".to_string()),
            ("device.geometry.planes", self.planes.to_string()),
            ("device.feature.program_planes", "1".to_string()),
            ("device.feature.cache_read", "false".to_string()),
            ("ftl.order", self.order().to_string()),
        ]
    }
}

/// Why a measurement is not among the runs of a fit, if it is not.
pub fn left_out(measurement: &Measurement) -> Option<&'static str> {
    let of = measurement.latencies()?;
    let is_fresh = measurement.state == DriveState::Fresh;
    match of {
        _ if of.drives > 1 => Some("measured over several drives at once: not simulated yet"),
        _ if of.is_read && of.is_sequential => Some("sequential reads: read-ahead is not modelled"),
        _ if of.is_read && is_fresh => {
            Some("reads of a fresh drive: where nothing was written they take no flash")
        }
        _ if !of.is_read && !is_fresh => Some(
            "writes to a drive that was written before: its GC is in them. Those of a fresh one \
             are fitted (FILE@fresh), and a long write from fresh",
        ),
        _ if of.processes > 256 => Some("more than 256 processes"),
        _ if of.depth.saturating_mul(of.processes) > MOST_SLOTS => {
            Some("more than 4,096 requests under way: not simulated")
        }
        _ if of.block > MOST_BYTES => Some("requests of more than 4 MiB: not simulated"),
        _ => None,
    }
}

/// The figures of a load, with `requests` that count; `state` makes the drive that it is played on.
pub(super) fn figures_of(
    scenario: &dyn Fn(u64) -> Result<Scenario, TwinError>,
    is_read: bool,
    state: &dyn Fn(&Scenario) -> Result<PageMap, TwinError>,
) -> Result<Figures, TwinError> {
    let mut longer = 1;
    loop {
        let of = scenario(longer)?;
        let (figures, was_full) = play(&of, state(&of)?)?;
        if is_read || was_full || longer >= LONGEST {
            return Ok(figures);
        }
        longer *= LONGER;
    }
}

/// Bytes of a row of word lines, over all planes.
fn row_of(word_line: u32, page: u64, structure: Structure) -> u64 {
    u64::from(word_line) * page * structure.planes_of_all()
}

/// Bytes of the least write buffer that a drive of that structure is simulated with.
pub(super) fn least_buffer(word_line: u32, page: u64, structure: Structure) -> u64 {
    LEAST_ROWS * row_of(word_line, page, structure)
}

/// The scenario of a load on a drive of that structure, with `requests` that count behind a
/// warm-up that is `longer` by so many times.
pub fn scenario(
    base: &Base<'_>,
    structure: Structure,
    space: &Space,
    point: &[f64],
    of: &Latencies,
    (requests, longer): (u64, u64),
) -> Result<Scenario, TwinError> {
    let mut text = format!(
        "name = \"twin\"\nseed = {}\n[device]\nname = {:?}\n[gc]\nmode = \"preemptive\"\n",
        base.seed, base.name
    );
    let slots = u64::from(of.depth) * u64::from(of.processes);
    let mut warmup = WARMUP + 2 * slots;
    let (mut requests, mut buffer, mut blocks) = (requests, BUFFER, BLOCKS);
    let mut state = ("100", "fill");
    if !of.is_read {
        let row = row_of(base.word_line, base.page, structure);
        buffer = space.buffer().unwrap_or(BUFFER).max(LEAST_ROWS * row);
        requests = requests.min(WRITTEN / of.block).max(1);
        // As many as fill the buffer, were nothing to leave it.
        warmup += longer * (buffer / of.block);
        let block = u64::from(WORD_LINES) * row;
        blocks += (MARGIN * (requests + warmup) * of.block).div_ceil(block) as u32;
        state = ("0", "empty");
    }
    let each = (requests + warmup).div_ceil(u64::from(of.processes));
    let _ = write!(
        text,
        "[precondition]\nstate = {:?}\n[workload]\nread_percent = {}\n",
        state.1, state.0
    );
    let pattern = match (of.is_sequential, of.is_map) {
        (true, _) => "sequential",
        (false, true) => "shuffle",
        (false, false) => "random",
    };
    let _ = write!(
        text,
        "pattern = \"{pattern}\"\nblock_sizes = [[\"{}B\", 1]]\nqueue_depth = {}\n\
         requests = {each}\n",
        of.block, of.depth
    );
    (0..of.processes.min(256)).for_each(|_| text.push_str("[[workload.jobs]]\n"));
    let _ = write!(text, "[measure]\nwarmup_requests = {warmup}\n");
    let set = |(key, value): (&str, String)| Override::new(key, value, "manx fit");
    let small = [
        ("device.geometry.blocks", blocks.to_string()),
        ("device.geometry.pages", (WORD_LINES * base.word_line).to_string()),
        ("device.op", "0.3".to_string()),
    ];
    let mut overrides: Vec<Override> = small.into_iter().map(set).collect();
    overrides.extend(structure.keys().into_iter().map(set));
    // Without what this side does not feel: a step of it would be simulated for nothing.
    let felt = |of_it: &Override| match of.is_read {
        true => !OF_WRITES.contains(&of_it.key()),
        false => of_it.key() != "device.timing.read",
    };
    overrides.extend(space.overrides(point, &of.engine).into_iter().filter(felt));
    overrides.push(set(("drive.buffer", format!("{buffer}B"))));
    let source = Source { file: "manx fit".to_string(), text };
    Ok(Request::of(source, overrides)?.plain()?)
}

/// The device that a fit starts from.
#[derive(Clone, Copy, Debug)]
pub struct Base<'a> {
    /// A name of the library, or a path.
    pub name: &'a str,
    /// Pages of a word line.
    pub word_line: u32,
    /// Bytes of a page.
    pub page: u64,
    /// The root seed of the simulations.
    pub seed: u64,
}

/// The drive of a scenario, in its state.
pub fn prepared(scenario: &Scenario) -> Result<PageMap, RunError> {
    Ok(make(scenario, &mut |_| true)?.map)
}

/// Plays the load on a drive in that state; and whether its write buffer had been full before the
/// requests that count.
pub fn play(scenario: &Scenario, map: PageMap) -> Result<(Figures, bool), RunError> {
    let sectors = host_sectors(scenario);
    let mut jobs = Vec::with_capacity(scenario.workload.jobs.len());
    for (number, spec) in scenario.workload.jobs.iter().enumerate() {
        let source = Generator::new(spec, sectors, scenario.seed, number)?;
        jobs.push(Job::new(Box::new(source), Pacing::of(spec)));
    }
    let drive = scenario.drive_config().build(map, false);
    let measure = &scenario.measure;
    let mut driver = Driver::new(drive, jobs, None, measure.warmup, measure.warmup_requests);
    driver.play_to_the_end();
    let measured = driver.measured();
    let is_write = scenario.workload.jobs.iter().all(|job| job.read_percent <= 0.0);
    let side = if is_write { &measured.write.histogram } else { &measured.read.histogram };
    let rank = |percent: f64| ((side.count() as f64 * percent / 100.0).ceil() as u64).max(1);
    let at = |percent| side.value_at_rank(rank(percent)).map_or(f64::NAN, |at| at.as_us_f64());
    let us = PERCENTILES.map(at);
    let seconds = driver.now().since(measured.since).as_ns() as f64 / 1e9;
    let before = measured.counters_before.first();
    let was_full = before.is_some_and(|before| before.buffer.stalls > 0);
    Ok(([us[0], us[1], us[2], us[3], side.count() as f64 / seconds, at(FAST)], was_full))
}

/// The measured figures, in the same order.
pub fn measured(of: &Latencies) -> Figures {
    let [a, b, c, d] = of.percentiles_us;
    [a, b, c, d, of.iops, of.fast_us.unwrap_or(f64::NAN)]
}

/// ln(modelled / measured) of each figure that was measured; a load that could not be simulated is
/// far off.
pub(super) fn logarithms(measured: &Figures, modelled: &Figures) -> impl Iterator<Item = f64> {
    const FAR: f64 = 10.0;
    let known = measured.iter().zip(modelled).filter(|(measured, _)| measured.is_finite());
    known.map(|(a, b)| (b / a).ln()).map(|off| if off.is_finite() { off } else { FAR })
}

/// The mean of how far the logarithms are apart: a factor of 1.1 and one of 1 / 1.1 weigh the same.
pub fn distance(measured: &Figures, modelled: &Figures) -> f64 {
    let (count, sum) = logarithms(measured, modelled)
        .fold((0.0, 0.0), |(count, sum), off| (count + 1.0, sum + off.abs()));
    sum / f64::max(count, 1.0)
}

/// Mean relative error of the percentiles, and that of the requests a second.
pub fn errors(measured: &Figures, modelled: &Figures) -> (f64, f64) {
    let off = |number: usize| (modelled[number] / measured[number] - 1.0).abs();
    ((0..4).map(off).sum::<f64>() / 4.0, off(4))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distance_is_the_mean_of_the_logarithms() {
        let measured = [10.0, 20.0, 30.0, 40.0, 50.0, f64::NAN];
        let twice = measured.map(|value| value * 2.0);
        assert!((distance(&measured, &twice) - 2f64.ln()).abs() < 1e-12);
        assert!((distance(&twice, &measured) - 2f64.ln()).abs() < 1e-12);
        assert_eq!(distance(&measured, &[f64::NAN; 6]), 10.0);
        let (percentiles, iops) = errors(&measured, &[11.0, 22.0, 30.0, 40.0, 45.0, 9.0]);
        assert!((percentiles - 0.05).abs() < 1e-12 && (iops - 0.1).abs() < 1e-12);
    }
}
