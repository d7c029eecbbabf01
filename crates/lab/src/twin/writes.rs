//! The fit of a long write: spare space and victims from the WAF of its windows, the time of a
//! program and the link from its rate.
//!
//! WAF is scale free: it depends on shares, not on terabytes. So a small drive is simulated, of 256
//! superblocks; rates are those of all its dies together, of which a real drive may have more and
//! slower ones.

use super::doubt::{Doubt, doubts};
use super::journal::Journal;
use super::search::{Effort, descend};
use super::space::{Parameter, Place, Space, Unit};
use super::windows::{Done, play};
use super::{Moment, Settings, Stage, TwinError};
use crate::load::Request;
use crate::measure::{DriveState, Measured, Window};
use crate::threads::on_threads;
use manx_core::config::{Override, Scenario, Source};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Evaluations of each victim policy.
const FIRST: usize = 14;
/// Those of the chosen one.
const SECOND: usize = 60;
/// The rate counts so much beside the WAF.
const RATE: f64 = 0.5;

/// Ways of collecting: the key values of `gc.unit` and `gc.victim`.
pub const WAYS: [(&str, &str); 4] = [
    ("superblock", "greedy"),
    ("superblock", "cost-benefit"),
    ("superblock", "fifo"),
    ("block", "greedy"),
];

/// A window, measured and modelled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WindowFit {
    /// The measured window.
    pub measured: Window,
    /// The model's figures.
    pub modelled: Done,
    /// It was not fitted, but predicted.
    pub is_held_out: bool,
}

/// Mean relative errors over windows.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Fits {
    /// Windows.
    pub windows: usize,
    /// Of the WAF.
    pub waf: f64,
    /// Of the rate.
    pub rate: f64,
}

impl Fits {
    /// Over these windows.
    pub fn of<'a>(windows: impl Iterator<Item = &'a WindowFit>) -> Self {
        let (mut count, mut waf, mut rate) = (0usize, 0.0, 0.0);
        for WindowFit { measured, modelled, .. } in windows {
            count += 1;
            waf += (modelled.waf / measured.waf - 1.0).abs();
            rate += (modelled.bytes_per_s / measured.bytes_per_s - 1.0).abs();
        }
        let n = count.max(1) as f64;
        Self { windows: count, waf: waf / n, rate: rate / n }
    }
}

/// The fit of a long write.
#[derive(Clone, Debug)]
pub struct Writes {
    /// Its number among the measurements.
    pub measurement: usize,
    /// The windows.
    pub windows: Vec<WindowFit>,
    /// `gc.unit` and `gc.victim`.
    pub way: (&'static str, &'static str),
    /// The ways with their mean distance, the best first.
    pub ways: Vec<((&'static str, &'static str), f64)>,
    /// The parameters.
    pub space: Space,
    /// Where the fit lies.
    pub point: Vec<f64>,
    /// The ranges of the parameters, and the pairs that trade off.
    pub doubt: Doubt,
    /// Simulated points.
    pub evaluations: usize,
}

struct Fit<'a> {
    settings: &'a Settings<'a>,
    journal: &'a Journal,
    space: Space,
    fitted: Vec<Window>,
    evaluations: AtomicUsize,
}

/// Fits the long write; `None` where there is none.
pub(super) fn fit(settings: &Settings<'_>, journal: &Journal) -> Result<Option<Writes>, TwinError> {
    let found =
        settings.measurements.iter().enumerate().find_map(
            |(number, measurement)| match &measurement.what {
                Measured::Windows(windows) => Some((number, measurement, windows)),
                Measured::Latencies(_) => None,
            },
        );
    let Some((number, measurement, windows)) = found else { return Ok(None) };
    if measurement.state != DriveState::Fresh {
        let (name, state) = (&measurement.name, measurement.state);
        let message = format!(
            "{name}: a long write is fitted from a fresh drive, where it is known what was \
             written before; it was {state}"
        );
        return Err(TwinError::Asked(message));
    }
    let until = settings.after();
    let fitted: Vec<Window> = windows.iter().copied().filter(|of| of.to <= until).collect();
    if fitted.len() < 3 || fitted.iter().all(|window| window.waf < 1.05) {
        let (name, fitted) = (&measurement.name, fitted.len());
        let message = format!(
            "{name}: {fitted} windows are left to be fitted, and nothing was collected in them: \
             WAF is 1 until the drive is full; hold out less, or write longer"
        );
        return Err(TwinError::Asked(message));
    }
    let space = space_of(&fitted);
    let fit = Fit { settings, journal, space, fitted, evaluations: AtomicUsize::new(0) };
    fit.run(number, windows).map(Some)
}

/// Spare space, the time of a program, and the link.
fn space_of(windows: &[Window]) -> Space {
    let rates = windows.iter().map(|window| window.bytes_per_s / 1e6);
    let most = rates.fold(1.0, f64::max);
    // The drive's dies program so much together.
    let together = windows.iter().map(|of| of.bytes_per_s * of.waf).fold(1.0, f64::max);
    let program = DIES * PAGE as f64 / together * 1e6;
    // From when on there was no room: what was written until then beyond the capacity.
    let full = windows.iter().find(|window| window.waf > 1.05).map_or(1.1, |window| window.from);
    let spare = (1.0 - 1.0 / full.max(1.02)).clamp(0.02, 0.5);
    let new = |place, unit, low, high, start, base, from: &str| Parameter {
        place,
        unit,
        low,
        high,
        start,
        base,
        from: format!("from {from}"),
    };
    let key = Place::Key;
    let parameters = vec![
        new(key("device.op"), Unit::Share, 0.02, 0.5, spare, None, "the WAF of its windows"),
        new(
            Place::Program,
            Unit::Micros,
            program * 0.1,
            program * 1.2,
            program * 0.55,
            None,
            "the rate of its windows",
        ),
        new(
            key("drive.link"),
            Unit::MegaBytes,
            most * 0.9,
            most * 1.5,
            most * 1.001,
            None,
            "the rate where nothing is collected",
        ),
    ];
    Space { parameters }
}

/// Dies of the drive that is simulated, and the bytes that each programs at a time.
const DIES: f64 = 64.0;
const PAGE: u64 = 32 << 10;

const SCENARIO: &str = r#"name = "twin"
[device]
name = "tlc-enterprise"
[ftl]
allocation = "dynamic"
stripe = "program-unit"
[gc]
mode = "preemptive"
soft = "3 blocks"
hard = "2 blocks"
[precondition]
state = "empty"
[workload]
pattern = "shuffle"
read_percent = 0
queue_depth = 128
block_sizes = [["128KiB", 1]]
time = "1000000s"
"#;

const DRIVE: [(&str, &str); 14] = [
    ("device.geometry.channels", "8"),
    ("device.geometry.ways", "8"),
    ("device.geometry.dies", "1"),
    ("device.geometry.planes", "1"),
    ("device.geometry.blocks", "256"),
    ("device.geometry.pages", "24"),
    ("device.geometry.page", "32KiB"),
    ("device.geometry.map_unit", "32KiB"),
    ("device.feature.program_planes", "1"),
    ("device.feature.program_pages", "1"),
    ("device.feature.cache_program", "false"),
    ("device.feature.cache_read", "false"),
    ("device.timing.read", "[\"60us\"]"),
    ("device.timing.erase_step", "100us"),
];

impl Fit<'_> {
    fn scenario(&self, way: (&str, &str), point: &[f64]) -> Result<Scenario, TwinError> {
        let set = |key: &str, value: String| Override::new(key, value, "manx fit");
        let mut all: Vec<Override> =
            DRIVE.into_iter().map(|(key, value)| set(key, value.to_string())).collect();
        all.push(set("seed", self.settings.seed.to_string()));
        all.push(set("gc.unit", way.0.to_string()));
        all.push(set("gc.victim", way.1.to_string()));
        all.extend(self.space.overrides(point, ""));
        let source = Source { file: "manx fit".to_string(), text: SCENARIO.to_string() };
        Ok(Request::of(source, all)?.plain()?)
    }

    fn run(self, number: usize, windows: &[Window]) -> Result<Writes, TwinError> {
        let ways = self.ways()?;
        let (way, (start, _)) = (ways[0].0, ways[0].1.clone());
        let mut near = Vec::new();
        let (point, _) = self.search(way, &start, SECOND, 0.03, &mut near)?;
        let mut failed = None;
        let doubt = doubts(&point, &near, 2 * self.fitted.len(), &mut |point| {
            self.cost(way, point).unwrap_or_else(|error| {
                failed = Some(error);
                f64::INFINITY
            })
        });
        failed.map_or(Ok(()), Err)?;
        // A fit that was stopped before has no ranges.
        let stopped = self.settings.stop.load(Ordering::Relaxed);
        let doubt = if stopped { Doubt::default() } else { doubt };
        let modelled = self.play(way, &point, windows)?;
        let until = self.settings.after();
        let windows = windows
            .iter()
            .zip(modelled)
            .map(|(measured, modelled)| WindowFit {
                measured: *measured,
                modelled,
                is_held_out: measured.to > until,
            })
            .collect();
        let ways = ways.into_iter().map(|(way, (_, cost))| (way, cost)).collect();
        let (space, evaluations) = (self.space, self.evaluations.into_inner());
        Ok(Writes { measurement: number, windows, way, ways, space, point, doubt, evaluations })
    }

    /// The ways of collecting, each with its best point and cost, the best first.
    fn ways(&self) -> Result<Vec<(Way, Best)>, TwinError> {
        type Found = Option<Result<(Vec<f64>, f64), TwinError>>;
        let found: Vec<Mutex<Found>> = WAYS.iter().map(|_| Mutex::new(None)).collect();
        let next = AtomicUsize::new(0);
        on_threads(self.settings.threads.min(WAYS.len()), || {
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(way) = WAYS.get(at) else { return };
                let best = self.search(*way, &self.space.start(), FIRST, 0.08, &mut Vec::new());
                *found[at].lock().unwrap_or_else(PoisonError::into_inner) = Some(best);
            }
        });
        let mut ways = Vec::new();
        for (way, found) in WAYS.into_iter().zip(found) {
            if let Some(found) = found.into_inner().unwrap_or_else(PoisonError::into_inner) {
                ways.push((way, found?));
            }
        }
        ways.sort_by(|a, b| a.1.1.total_cmp(&b.1.1));
        Ok(ways)
    }

    fn search(
        &self,
        way: Way,
        start: &[f64],
        evaluations: usize,
        step: f64,
        near: &mut Vec<(Vec<f64>, f64)>,
    ) -> Result<(Vec<f64>, f64), TwinError> {
        let effort = Effort { evaluations, step, seed: self.settings.seed };
        let mut failed = None;
        let best = descend(start, effort, self.settings.stop, &mut |point| {
            let cost = self.cost(way, point).unwrap_or_else(|error| {
                failed = Some(error);
                f64::INFINITY
            });
            near.push((point.to_vec(), cost));
            cost
        });
        failed.map_or(Ok(best), Err)
    }

    fn cost(&self, way: Way, point: &[f64]) -> Result<f64, TwinError> {
        let done = self.play(way, point, &self.fitted)?;
        let mut sum = 0.0;
        for (window, done) in self.fitted.iter().zip(&done) {
            sum += (done.waf / window.waf).ln().abs();
            sum += RATE * (done.bytes_per_s / window.bytes_per_s).ln().abs();
        }
        let distance = sum / self.fitted.len() as f64;
        let evaluations = self.evaluations.fetch_add(1, Ordering::Relaxed) + 1;
        (self.settings.tell)(&Moment { stage: Stage::Writes, evaluations, distance });
        Ok(if distance.is_finite() { distance } else { 10.0 })
    }

    /// The drive's work in these windows; a drive that cannot be built does nothing.
    fn play(&self, way: Way, point: &[f64], windows: &[Window]) -> Result<Vec<Done>, TwinError> {
        let scenario = match self.scenario(way, point) {
            Ok(scenario) => scenario,
            // Without room for its collections a drive is refused: far from any that was measured.
            Err(TwinError::Config(_)) => return Ok(vec![NOTHING; windows.len()]),
            Err(error) => return Err(error),
        };
        let ends: Vec<f64> = windows.iter().map(|window| window.to).collect();
        let key = Journal::key(&scenario, &format!("writes {ends:?}"));
        let known = self.journal.get(&key).filter(|known| known.len() == 2 * ends.len());
        if let Some(known) = known {
            let of = |pair: &[f64]| Done { waf: pair[0], bytes_per_s: pair[1] };
            return Ok(known.chunks_exact(2).map(of).collect());
        }
        let Some(done) = play(&scenario, &ends, self.settings.stop)? else {
            return Ok(vec![NOTHING; windows.len()]);
        };
        let flat: Vec<f64> = done.iter().flat_map(|done| [done.waf, done.bytes_per_s]).collect();
        self.journal.put(key, &flat);
        Ok(done)
    }
}

type Way = (&'static str, &'static str);
/// A point and its cost.
type Best = (Vec<f64>, f64);

/// Far from anything.
const NOTHING: Done = Done { waf: 100.0, bytes_per_s: 1.0 };

/// The keys of the device that is simulated, without `device.`.
pub(super) fn small() -> impl Iterator<Item = (&'static str, &'static str)> {
    DRIVE.into_iter().filter_map(|(key, value)| Some((key.strip_prefix("device.")?, value)))
}

/// Bytes that all its dies program at a time.
pub(super) fn row_bytes() -> f64 {
    DIES * PAGE as f64
}
