//! Fits of drives that Manx itself measured: what is known comes back, or is told as undetermined.

use super::latency::{Base, Structure, distance, measured, play, prepared, scenario};
use super::tests_fresh::load;
use super::*;
use crate::measure::DriveState;
use manx_core::sim::Rng;
use std::collections::BTreeMap;

/// A drive that is made up, and the parameters that it has by name.
struct Made {
    structure: Structure,
    values: Vec<(&'static str, f64)>,
}

/// Figures are off by this much, as measurements are.
const NOISE: f64 = 0.02;

fn between(rng: &mut Rng, low: f64, high: f64) -> f64 {
    low * (high / low).powf(rng.unit())
}

fn made(number: u64) -> Made {
    let mut rng = Rng::stream(number, "twin");
    let pick = |rng: &mut Rng, of: &[u32]| of[rng.below(of.len() as u64) as usize];
    let structure = Structure {
        channels: 8,
        ways: pick(&mut rng, &[2, 4, 8]),
        planes: pick(&mut rng, &[1, 2, 4]),
        ways_first: false,
    };
    let values = vec![
        ("read", between(&mut rng, 25.0, 70.0)),
        ("drive.controller", between(&mut rng, 5.0, 20.0)),
        ("device.channel.rate", between(&mut rng, 400.0, 2000.0)),
        ("drive.link", between(&mut rng, 2000.0, 7000.0)),
        ("busy", between(&mut rng, 0.8, 3.0)),
        ("drive.firmware.look_up", between(&mut rng, 0.1, 1.5)),
        ("page", between(&mut rng, 0.05, 1.0)),
    ];
    Made { structure, values }
}

impl Made {
    fn get(&self, name: &str) -> f64 {
        self.values.iter().find(|(known, _)| *known == name).map_or(0.0, |(_, value)| *value)
    }

    /// Its own values as a space of one point each.
    fn space(&self) -> Space {
        let fixed = |place, unit, value: f64| Parameter {
            place,
            unit,
            low: value,
            high: value * 1.000_001 + 1e-9,
            start: value,
            base: None,
            from: String::new(),
        };
        let key = |name| fixed(Place::Key(name), unit_of(name), self.get(name));
        let parameters = vec![
            fixed(Place::Read(0), Unit::Micros, self.get("read")),
            fixed(Place::Read(1), Unit::Share, 0.1),
            fixed(Place::Read(2), Unit::Share, 0.2),
            key("drive.controller"),
            key("device.channel.rate"),
            key("drive.link"),
            key("drive.firmware.look_up"),
            fixed(Place::Busy("made".to_string()), Unit::Micros, self.get("busy")),
            fixed(Place::Page("made".to_string()), Unit::Micros, self.get("page")),
        ];
        Space { parameters, known: Vec::new() }
    }

    /// The measurements that fio would have made of it.
    fn measure(&self, number: u64) -> Vec<Measurement> {
        let mut rng = Rng::stream(number, "noise");
        let base =
            Base { name: "tlc-enterprise", word_line: 3, page: 16_384, seed: 1_000 + number };
        let space = self.space();
        let mut all = Vec::new();
        for (block, depth) in [
            (4096, 1),
            (4096, 16),
            (4096, 64),
            (16_384, 1),
            (16_384, 32),
            (65_536, 1),
            (65_536, 16),
        ] {
            let mut of = load(true, block, depth);
            let scenario =
                scenario(&base, self.structure, &space, &space.start(), &of, (30_000, 1)).unwrap();
            let (figures, _) = play(&scenario, prepared(&scenario).unwrap()).unwrap();
            // Three even draws are near enough to a normal one.
            let mut noisy = || 1.0 + NOISE * 2.0 * (rng.unit() + rng.unit() + rng.unit() - 1.5);
            let [a, b, c, d, iops, fast] = figures.map(|value| value * noisy());
            (of.percentiles_us, of.iops, of.fast_us) = ([a, b, c, d], iops, Some(fast));
            let what = Measured::Latencies(of);
            let (name, state) = (format!("{block}-{depth}"), DriveState::Filled);
            all.push(Measurement { name, state, what });
        }
        all
    }
}

fn unit_of(name: &str) -> Unit {
    match name {
        "drive.controller" | "drive.firmware.look_up" => Unit::Micros,
        _ => Unit::MegaBytes,
    }
}

/// The fit of a made drive: few requests, few evaluations.
pub(super) fn settings<'a>(measurements: &'a [Measurement], stop: &'a AtomicBool) -> Settings<'a> {
    Settings {
        measurements,
        name: "made",
        base: "tlc-enterprise",
        seed: 1,
        requests: 1_000,
        evaluations: 2,
        hold_out: &HoldOut::Nothing,
        known: &[],
        threads: 2,
        stop,
        tell: &|_| {},
    }
}

fn fit_of(made: &Made, number: u64, evaluations: usize) -> Twin {
    let measurements = made.measure(number);
    let stop = AtomicBool::new(false);
    let settings = Settings { requests: 6_000, evaluations, ..settings(&measurements, &stop) };
    fit(&settings, &Journal::default()).unwrap_or_else(|error| panic!("{error}"))
}

/// The fate of one parameter in all drives.
#[derive(Default)]
struct Came {
    inside: u32,
    outside: u32,
    undetermined: u32,
    /// Half the width of each range, of what was true.
    sides: Vec<f64>,
    /// How far the fit lay from what was true.
    off: Vec<f64>,
}

fn median(of: &mut [f64]) -> f64 {
    of.sort_by(f64::total_cmp);
    of.get(of.len() / 2).copied().unwrap_or(f64::NAN)
}

/// A number of the environment, or another.
fn asked<T: std::str::FromStr>(name: &str, or: T) -> T {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(or)
}

/// Fits a drive that is made up, and counts its parameters.
fn recover(number: u64, came: &mut BTreeMap<&'static str, Came>) -> bool {
    let made = made(number);
    let reads = fit_of(&made, number, asked("MANX_EVALUATIONS", 120)).reads.unwrap();
    println!("{number}: {:?} as {:?}", made.structure, reads.structure);
    for (structure, cost) in &reads.structures[..4] {
        println!("  {cost:.4} {structure:?}");
    }
    for (at, parameter) in reads.space.parameters.iter().enumerate() {
        let name = match &parameter.place {
            Place::Read(0) => "read",
            Place::Key(key) => *key,
            Place::Busy(_) => "busy",
            Place::Page(_) => "page",
            _ => continue,
        };
        let (truth, range) = (made.get(name), reads.range(at).unwrap());
        let [low, high, found] = [range.low, range.high, reads.point[at]].map(|x| parameter.at(x));
        let came = came.entry(name).or_default();
        let told = match (range.is_flat(), (low..=high).contains(&truth)) {
            (true, _) => (&mut came.undetermined, "undetermined"),
            (false, true) => (&mut came.inside, "inside"),
            (false, false) => (&mut came.outside, "OUTSIDE"),
        };
        *told.0 += 1;
        if !range.is_flat() {
            came.sides.push(0.5 * (high - low) / truth);
            came.off.push((found / truth - 1.0).abs());
        }
        println!("  {name}: {truth:.2} as {found:.2} in {low:.2} .. {high:.2}: {}", told.1);
    }
    reads.structure == made.structure
}

/// Acceptance 4 of the twins, and the table of docs/twins.md:
/// `cargo test --release -p manx-lab recovery -- --ignored --nocapture`; `MANX_FIRST=10
/// MANX_DRIVES=5` for some of the drives, `MANX_EVALUATIONS=600` for a search as long as that of
/// users.
#[test]
#[ignore = "a campaign of minutes for each drive, no part of make test: its command is above"]
fn recovery_of_drives_drawn_at_random() {
    let (first, drives) = (asked("MANX_FIRST", 0u64), asked("MANX_DRIVES", 30));
    let mut came = BTreeMap::new();
    let same = (first..first + drives).filter(|number| recover(*number, &mut came)).count();
    let (mut asked, mut good) = (0, 0);
    println!("| parameter | in its range | undetermined | outside | half a range | off |");
    for (name, of) in &mut came {
        let Came { inside, outside, undetermined, .. } = *of;
        let [side, off] = [&mut of.sides, &mut of.off].map(|of| 100.0 * median(of));
        println!("| {name} | {inside} | {undetermined} | {outside} | {side:.1} % | {off:.1} % |");
        asked += inside + outside + undetermined;
        good += inside + undetermined;
    }
    println!("{good} of {asked} parameters of {drives} drives, {same} structures");
    assert!(f64::from(good) >= 0.9 * f64::from(asked));
}

#[test]
fn what_a_fit_writes_can_be_read_again_and_every_number_has_a_source() {
    let made = made(1);
    let measurements = made.measure(1);
    let stop = AtomicBool::new(true);
    let settings = Settings { hold_out: &HoldOut::Each, ..settings(&measurements, &stop) };
    // Stopped before it begins: the start of the search, and no ranges.
    let twin = fit(&settings, &Journal::default()).unwrap();
    assert!(twin.is_partial);
    let capacity = Some("100GB".parse().unwrap());
    let files = files(&twin, capacity, &["a.json".to_string()]).unwrap();
    let table: toml::Table = files.device.parse().unwrap();
    let sources = table["source"].as_table().unwrap();
    for section in ["geometry", "feature", "timing", "channel"] {
        for key in table[section].as_table().unwrap().keys() {
            assert!(sources.contains_key(&format!("{section}.{key}")), "{section}.{key}");
        }
    }
    assert!(sources["timing.read"].as_str().unwrap().contains("range unknown"));
    assert!(files.scenario.parse::<toml::Table>().is_ok(), "{}", files.scenario);
    assert!(text(&twin, &measurements).contains("stopped: the best so far"));
    assert!(document(&twin, &measurements).contains("\"determined\": false"));
}

#[test]
fn a_fit_that_is_stopped_keeps_the_best_so_far_and_goes_on_to_the_same_end() {
    let mut measurements = made(1).measure(1);
    measurements.truncate(2);
    let go = |journal: &Journal, most: usize| {
        let stop = AtomicBool::new(false);
        let tell = |moment: &Moment| {
            if moment.evaluations >= most {
                stop.store(true, std::sync::atomic::Ordering::Relaxed);
            }
        };
        let settings = Settings { requests: 300, tell: &tell, ..settings(&measurements, &stop) };
        fit(&settings, journal).unwrap()
    };
    let whole = go(&Journal::default(), usize::MAX);
    let journal = Journal::default();
    let first = go(&journal, 200);
    assert!(first.is_partial && !whole.is_partial);
    let (all, before) = (whole.reads.unwrap(), journal.fresh());
    let start = measured(measurements[0].latencies().unwrap());
    assert!(distance(&start, &first.reads.unwrap().runs[0].modelled) < 0.5);
    let second = go(&journal, usize::MAX).reads.unwrap();
    assert_eq!((second.structure, &second.point), (all.structure, &all.point));
    assert!(before > 200, "{before}");
}

#[test]
fn runs_held_out_by_name_are_predicted_and_a_wrong_name_is_told() {
    let measurements = made(3).measure(3);
    let stop = AtomicBool::new(true);
    let held = |names: &[&str]| {
        let hold_out = HoldOut::Named(names.iter().map(|name| (*name).to_string()).collect());
        let settings = Settings { hold_out: &hold_out, ..settings(&measurements, &stop) };
        fit(&settings, &Journal::default())
    };
    let twin = held(&["4096-64", "65536-16"]).unwrap();
    let reads = twin.reads.as_ref().unwrap();
    assert_eq!((reads.runs.len(), reads.tested.len()), (5, 2));
    let text = text(&twin, &measurements);
    assert!(text.contains("mean error of 2 runs held out by name"), "{text}");
    assert!(document(&twin, &measurements).contains("\"tested\""));
    let error = held(&["4096-63"]).unwrap_err().to_string();
    assert!(
        error.contains("--hold-out 4096-63: there is no such run; allowed: 4096-1,"),
        "{error}"
    );
    let all: Vec<&str> = measurements.iter().map(|of| of.name.as_str()).collect();
    let error = held(&all).unwrap_err().to_string();
    assert!(error.contains("--hold-out names every run"), "{error}");
}

/// Depth 16 does not come near what the thread can do: all but the most that its rate allows does
/// as well, and a limit fitted there, where the search begins, would bind the prediction.
#[test]
fn a_limit_that_no_run_comes_near_is_fitted_in_the_middle_and_a_prediction_beyond_says_so() {
    let mut measurements = made(1).measure(1);
    measurements.truncate(3);
    let stop = AtomicBool::new(false);
    let hold_out = HoldOut::Named(vec!["4096-64".to_string()]);
    let settings =
        Settings { hold_out: &hold_out, requests: 300, ..settings(&measurements, &stop) };
    let twin = fit(&settings, &Journal::default()).unwrap();
    let reads = twin.reads.as_ref().unwrap();
    let busy = reads.space.at(&Place::Busy("made".to_string())).unwrap();
    let range = reads.range(busy).unwrap();
    assert!(range.is_flat(), "{range:?}");
    assert!((reads.point[busy] - range.middle()).abs() < 0.05, "{:?}", reads.point[busy]);
    let tested = &reads.tested[0];
    assert_eq!(tested.beyond, ["64 under way, fitted up to 16 under way"]);
    let [low, high] = tested.between.unwrap();
    let iops = tested.modelled[4];
    assert!(low[4] <= iops && iops <= high[4] && low[4] < high[4], "{low:?} {high:?}");
    let text = text(&twin, &measurements);
    assert!(text.contains("(beyond the fit: 64 under way") && text.contains("as well:"), "{text}");
    assert!(!text.contains("not explained"), "{text}");
}

#[test]
fn a_fit_without_what_it_can_fit_says_so() {
    let mut measurements = made(2).measure(2);
    measurements.truncate(1);
    let Measured::Latencies(of) = &mut measurements[0].what else { panic!() };
    of.drives = 8;
    let stop = AtomicBool::new(false);
    let settings = settings(&measurements, &stop);
    let error = fit(&settings, &Journal::default()).unwrap_err().to_string();
    assert!(error.contains("nothing can be fitted: measured over several drives"), "{error}");
}
