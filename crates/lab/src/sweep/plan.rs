//! The points of a sweep: which they are, in which order, and the scenario of each.
//!
//! The order, slowest first: policy, the keys of `--grid` in the order in which they were named,
//! the draws of `--random`, the seeds. A *setting* is a point without its seed; all settings of one
//! seed see the same random numbers, and every policy and every place of the grid the same draws.

use super::axis::Axis;
use super::value::{Cell, Kind};
use crate::campaign::Point;
use crate::load::Request;
use crate::open::files_of;
use crate::run::RunError;
use crate::threads::on_threads;
use manx_config::{ConfigError, Override, Scenario, resolve_policy};
use manx_trace::Layout;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// The most rows of one sweep.
pub const ROWS_MAX: u64 = 1_000_000;

/// The sweep as it was asked for.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    /// The whole command, for a person to read.
    pub command: String,
    /// The scenario: a built-in name or a path.
    pub scenario: String,
    /// Overrides at every point.
    pub overrides: Vec<Override>,
    /// The trace is an option's: its path is relative to the current folder.
    pub trace_from_here: bool,
    /// The policies; none for the scenario as it is written.
    pub policies: Vec<String>,
    /// `KEY=V1,V2,..`, as `--grid` was said.
    pub grid: Vec<String>,
    /// `KEY=LOW..HIGH`, as `--random` was said.
    pub random: Vec<String>,
    /// So many random points.
    pub points: Option<u64>,
    /// So many seeds a point.
    pub seeds: Option<u64>,
    /// Check every completed read.
    pub verify: bool,
}

/// All points of a sweep.
#[derive(Clone, Debug)]
pub struct Plan {
    asked: Asked,
    base: Request,
    policies: Vec<Option<String>>,
    axes: Vec<Axis>,
    grid_axes: usize,
    draws: usize,
    seed: u64,
    seeds: usize,
}

impl Plan {
    /// The points of what was asked for.
    pub fn new(asked: Asked) -> Result<Self, ConfigError> {
        let base = Request::read(&asked.scenario, asked.overrides.clone())?;
        let base = if asked.trace_from_here { base.with_trace_from_here() } else { base };
        let seed = base.seed();
        let draws = draws(&asked)?;
        let grid = asked.grid.iter().map(|text| Axis::grid(text));
        let random = asked.random.iter().map(|text| Axis::random(text, draws, seed));
        let axes = grid.chain(random).collect::<Result<Vec<_>, _>>().map_err(ConfigError::new)?;
        check_keys(&axes, &asked.overrides)?;
        let mut policies: Vec<_> =
            asked.policies.iter().map(|policy| Some(policy.trim().to_string())).collect();
        for (at, policy) in policies.iter().enumerate() {
            let policy = policy.as_deref().unwrap_or_default();
            resolve_policy(policy)?;
            if policies[..at].iter().flatten().any(|other| other == policy) {
                return Err(ConfigError::new(format!("--policies: `{policy}` is named twice")));
            }
        }
        if policies.is_empty() {
            policies.push(None);
        }
        let seeds = seeds(&asked, seed)?;
        let grid_axes = asked.grid.len();
        let plan = Self { asked, base, policies, axes, grid_axes, draws, seed, seeds };
        match plan.count() {
            None | Some(0) => {
                Err(ConfigError::new(format!("too many points: {ROWS_MAX} are the most")))
            }
            Some(rows) if rows > ROWS_MAX => Err(ConfigError::new(format!(
                "{rows} points are too many: {ROWS_MAX} are the most"
            ))),
            Some(_) => Ok(plan),
        }
    }

    /// Rows of all, where that is a number that can be told.
    fn count(&self) -> Option<u64> {
        let axes = self.axes[..self.grid_axes].iter().map(|axis| axis.values.len());
        let all = axes.chain([self.policies.len(), self.draws, self.seeds]);
        all.map(|count| count as u64).try_fold(1u64, u64::checked_mul)
    }

    /// The scenario before policies and swept keys.
    pub fn base(&self) -> Result<Scenario, ConfigError> {
        self.base.plain()
    }

    /// The request before policies and swept keys.
    pub(crate) fn request(&self) -> &Request {
        &self.base
    }

    /// The question of the plan.
    pub fn asked(&self) -> &Asked {
        &self.asked
    }

    /// The swept keys.
    pub fn axes(&self) -> &[Axis] {
        &self.axes
    }

    /// Points without their seeds.
    pub fn settings(&self) -> usize {
        self.rows() / self.seeds
    }

    /// Points with their seeds: the runs of the sweep.
    pub fn rows(&self) -> usize {
        self.count().unwrap_or(0) as usize
    }

    /// Seeds of each setting.
    pub fn seeds(&self) -> usize {
        self.seeds
    }

    /// The policy of a setting and the number of its value on each axis.
    pub(crate) fn place(&self, setting: usize) -> (Option<&str>, Vec<usize>) {
        let (mut rest, draw) = (setting / self.draws, setting % self.draws);
        let mut places = vec![draw; self.axes.len()];
        for (place, axis) in places[..self.grid_axes].iter_mut().zip(&self.axes).rev() {
            (rest, *place) = (rest / axis.values.len(), rest % axis.values.len());
        }
        (self.policies[rest].as_deref(), places)
    }

    /// A setting in words: `point 3 (policy base, gc.soft = 0.1)`.
    pub fn describe(&self, setting: usize) -> String {
        let (policy, places) = self.place(setting);
        let policy = policy.map(|policy| format!("policy {policy}"));
        let keys = self
            .axes
            .iter()
            .zip(places)
            .map(|(axis, place)| format!("{} = {}", axis.key, axis.values[place]));
        let words = policy.into_iter().chain(keys).collect::<Vec<_>>().join(", ");
        let point = setting + 1;
        if words.is_empty() { format!("point {point}") } else { format!("point {point} ({words})") }
    }

    /// The run of a row: the name of its policy, and its scenario.
    pub fn point(&self, row: usize) -> Result<Point, ConfigError> {
        let (policy, places) = self.place(row / self.seeds);
        let keys = self.axes.iter().zip(places).map(|(axis, place)| {
            let value = &axis.values[place];
            Override::new(&axis.key, value, format!("{} {}={value}", axis.option, axis.key))
        });
        let seed = self.asked.seeds.map(|seeds| {
            let value = (self.seed + (row % self.seeds) as u64).to_string();
            Override::new("seed", value, format!("--seeds {seeds}"))
        });
        let mut more = keys.chain(seed);
        let request = match self.axes.iter().any(|axis| axis.key == "device.name") {
            false => self.base.with(more),
            true => {
                let all = self.asked.overrides.iter().cloned().chain(more.by_ref()).collect();
                let request = Request::read(&self.asked.scenario, all)?;
                if self.asked.trace_from_here { request.with_trace_from_here() } else { request }
            }
        };
        match policy {
            Some(policy) => Ok((policy.to_string(), request.under(policy)?)),
            None => Ok(("as-written".to_string(), request.plain()?)),
        }
    }

    /// The columns before the results: `point`, `policy`, the keys.
    pub fn columns(&self) -> Vec<(String, Kind)> {
        let first = [("point".to_string(), Kind::Integer), ("policy".to_string(), Kind::Text)];
        first.into_iter().chain(self.axes.iter().flat_map(Axis::columns)).collect()
    }

    /// The cells of those columns; points count from 1.
    pub fn cells(&self, setting: usize) -> Vec<Cell> {
        let (policy, places) = self.place(setting);
        let policy = Cell::Text(policy.unwrap_or("as-written").to_string());
        let keys = self.axes.iter().zip(places).flat_map(|(axis, place)| axis.cells(place));
        [Cell::Integer(setting as i64 + 1), policy].into_iter().chain(keys).collect()
    }

    /// Why which settings cannot be run, in their order. Without `all` the first of them is enough;
    /// `stop` ends the search.
    pub fn invalid(&self, all: bool, stop: &AtomicBool) -> Vec<(usize, String)> {
        let traces = Mutex::new(BTreeMap::new());
        let (next, first) = (AtomicUsize::new(0), AtomicUsize::new(usize::MAX));
        let found = Mutex::new(Vec::new());
        let work = || {
            loop {
                let setting = next.fetch_add(1, Ordering::Relaxed);
                let beyond =
                    setting >= self.settings() || (!all && setting > first.load(Ordering::Relaxed));
                if beyond || stop.load(Ordering::Relaxed) {
                    return;
                }
                let unusable = |(_, scenario): Point| unusable(&scenario, &traces);
                let error = self
                    .point(setting * self.seeds)
                    .map(unusable)
                    .map_err(|error| Some(error.to_string()));
                if let Some(error) = error.unwrap_or_else(|error| error) {
                    first.fetch_min(setting, Ordering::Relaxed);
                    found.lock().unwrap_or_else(PoisonError::into_inner).push((setting, error));
                }
            }
        };
        let threads = std::thread::available_parallelism()
            .map_or(1, std::num::NonZero::get)
            .min(self.settings());
        on_threads(threads, work);
        let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
        found.sort();
        if !all {
            found.truncate(1);
        }
        found
    }
}

/// Why a point cannot be run, where only the run itself would refuse it. `traces` remembers which
/// of them can be opened.
fn unusable(
    scenario: &Scenario,
    traces: &Mutex<BTreeMap<String, Option<String>>>,
) -> Option<String> {
    let jobs = &scenario.workload.jobs;
    let mut traces = traces.lock().unwrap_or_else(PoisonError::into_inner);
    for trace in jobs.iter().filter_map(|job| job.trace.as_ref()) {
        if trace.layout == Layout::Separate && jobs.len() > 1 {
            return Some(RunError::NotAlone(jobs.len()).to_string());
        }
        let open = || files_of(Path::new(&trace.file)).err().map(|error| error.to_string());
        if let Some(error) = traces.entry(trace.file.clone()).or_insert_with(open) {
            return Some(error.clone());
        }
    }
    None
}

fn draws(asked: &Asked) -> Result<usize, ConfigError> {
    match (asked.random.is_empty(), asked.points) {
        (true, None) => Ok(1),
        (true, Some(points)) => Err(ConfigError::new(format!(
            "--points {points}: it says how many points --random draws, and there is no --random"
        ))),
        (false, None) => {
            Err(ConfigError::new("--random needs --points N: how many points to draw"))
        }
        (false, Some(0)) => Err(ConfigError::new("--points 0: at least one point must be drawn")),
        (false, Some(points)) if points > ROWS_MAX => {
            Err(ConfigError::new(format!("--points {points}: {ROWS_MAX} points are the most")))
        }
        (false, Some(points)) => Ok(points as usize),
    }
}

fn seeds(asked: &Asked, first: u64) -> Result<usize, ConfigError> {
    match asked.seeds {
        None => Ok(1),
        Some(0) => Err(ConfigError::new("--seeds 0: at least one seed is needed")),
        Some(seeds) if seeds > ROWS_MAX => {
            Err(ConfigError::new(format!("--seeds {seeds}: {ROWS_MAX} points are the most")))
        }
        Some(seeds) if first + seeds > i64::MAX as u64 => {
            let last = i64::MAX;
            Err(ConfigError::new(format!(
                "--seeds {seeds}: the seeds from {first} on would end beyond {last}"
            )))
        }
        Some(seeds) => Ok(seeds as usize),
    }
}

/// No key may be said twice: the second would silently win.
fn check_keys(axes: &[Axis], overrides: &[Override]) -> Result<(), ConfigError> {
    for (at, axis) in axes.iter().enumerate() {
        let Axis { key, option, .. } = axis;
        let wrong = |why: String| Err(ConfigError::new(format!("{option} {key}: {why}")));
        if key == "seed" {
            return wrong(
                "--seeds N repeats each point with N seeds, and --seed says the first".to_string(),
            );
        }
        if let Some(other) = axes[..at].iter().find(|other| overlap(&other.key, key)) {
            return wrong(match other.key == *key {
                true => "the key is swept twice".to_string(),
                false => format!("{} is swept too, and each would change the other", other.key),
            });
        }
        // A workload or a trace as a whole is there to be changed.
        let whole = |said: &str| said.starts_with("--trace ") || said.starts_with("--workload ");
        if let Some(set) =
            overrides.iter().find(|set| !whole(set.said()) && overlap(set.key(), key))
        {
            return wrong(format!("`{}` sets what is swept", set.said()));
        }
    }
    Ok(())
}

/// One is the other, or a table around it.
fn overlap(one: &str, other: &str) -> bool {
    let (short, long) = if one.len() <= other.len() { (one, other) } else { (other, one) };
    long.strip_prefix(short).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(grid: &[&str], random: &[&str]) -> Asked {
        let text = |list: &[&str]| list.iter().map(|item| (*item).to_string()).collect();
        let points = (!random.is_empty()).then_some(3);
        Asked {
            scenario: "quick".to_string(),
            grid: text(grid),
            random: text(random),
            points,
            ..Asked::default()
        }
    }

    #[test]
    fn the_first_axis_is_the_slowest_and_the_seeds_are_the_fastest() {
        let mut asked =
            asked(&["gc.soft=0.1,0.2", "workload.rate=1000,2000"], &["gc.window=1..64"]);
        asked.policies = ["base", "nogc"].map(str::to_string).to_vec();
        asked.seeds = Some(2);
        let plan = Plan::new(asked).unwrap();
        assert_eq!((plan.rows(), plan.settings(), plan.seeds()), (48, 24, 2));
        let drawn = plan.axes()[2].values.clone();
        let expected = ["base", "nogc"].into_iter().flat_map(|policy| {
            let drawn = &drawn;
            ["0.1", "0.2"].into_iter().flat_map(move |soft| {
                ["1000", "2000"].into_iter().flat_map(move |rate| {
                    drawn.iter().map(move |window| {
                        format!(
                            "(policy {policy}, gc.soft = {soft}, \
                             workload.rate = {rate}, gc.window = {window})"
                        )
                    })
                })
            })
        });
        let numbered = expected.enumerate().map(|(at, words)| format!("point {} {words}", at + 1));
        assert!((0..24).map(|setting| plan.describe(setting)).eq(numbered));
        for row in [0, 1, 2, 47] {
            let (policy, scenario) = plan.point(row).unwrap();
            assert_eq!(policy, if row < 24 { "base" } else { "nogc" });
            assert_eq!(scenario.seed, 1 + row as u64 % 2);
            assert_eq!(scenario.workload.jobs[0].rate, if row < 24 { 1000.0 } else { 2000.0 });
            assert_eq!(scenario.gc.soft, if row < 24 { 0.1 } else { 0.2 }.into());
        }
        assert_eq!(
            plan.cells(23)[..3],
            [Cell::Integer(24), Cell::Text("nogc".to_string()), Cell::Number(0.2)]
        );
    }

    #[test]
    fn a_sweep_that_cannot_be_is_refused() {
        let refused = |asked: Asked| Plan::new(asked).unwrap_err().to_string();
        let keys: [(&[&str], &[&str], &str); 5] = [
            (&["gc.soft=0.1", "gc.soft=0.2"], &[], "the key is swept twice"),
            (&["gc.soft=0.1"], &["gc.soft=0.1..0.2"], "the key is swept twice"),
            (&["gc={}", "gc.soft=0.2"], &[], "gc is swept too"),
            (&["seed=1,2"], &[], "--seeds N"),
            (&["gc.soft=0..1+0.001", "gc.hard=0..1+0.001"], &[], "1002001 points are too many"),
        ];
        for (grid, random, reason) in keys {
            let error = refused(asked(grid, random));
            assert!(error.contains(reason), "{error}");
        }
        let set = |text: &str| Asked {
            overrides: vec![Override::from_set(text).unwrap()],
            ..asked(&["gc.soft=1"], &[])
        };
        assert_eq!(
            refused(set("gc.soft=0.1")),
            "--grid gc.soft: `--set gc.soft=0.1` sets what is swept"
        );
        assert!(refused(set("gc={}")).contains("sets what is swept"));
        assert!(
            Plan::new(set("gc.softer=1")).is_ok(),
            "another key; that it is unknown is said later"
        );
        assert!(
            refused(Asked { points: Some(0), ..asked(&[], &["gc.soft=0..1"]) })
                .contains("--points 0")
        );
        assert!(
            refused(Asked { points: None, ..asked(&[], &["gc.soft=0..1"]) })
                .contains("needs --points")
        );
        assert!(
            refused(Asked { points: Some(9), ..asked(&["gc.soft=1"], &[]) })
                .contains("no --random")
        );
        assert!(
            refused(Asked { points: Some(1_000_001), ..asked(&[], &["gc.soft=0..1"]) })
                .contains("1000000")
        );
        assert!(refused(Asked { seeds: Some(0), ..asked(&[], &[]) }).contains("--seeds 0"));
        assert!(refused(Asked { seeds: Some(u64::MAX), ..asked(&[], &[]) }).contains("the most"));
        let huge = &["a=1..70000+1", "b=1..70000+1", "c=1..70000+1", "d=1..70000+1"];
        assert!(refused(asked(huge, &[])).contains("too many"));
    }

    #[test]
    fn invalid_points_are_found_in_their_order() {
        let plan = Plan::new(asked(&["device.op=0.25,2,0.2,-1,0.3,7"], &[])).unwrap();
        let all = plan.invalid(true, &AtomicBool::new(false));
        assert_eq!(all.iter().map(|(setting, _)| *setting).collect::<Vec<_>>(), [1, 3, 5]);
        assert!(all[0].1.starts_with("--grid device.op=2: device.op = 2"), "{}", all[0].1);
        assert_eq!(plan.invalid(false, &AtomicBool::new(false)), all[..1]);
        let plan = Plan::new(asked(&["gc.softt=0.1"], &[])).unwrap();
        assert!(
            plan.invalid(false, &AtomicBool::new(false))[0].1.contains("did you mean gc.soft?")
        );
    }
}
