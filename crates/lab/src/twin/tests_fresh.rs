//! Writes to a fresh drive: by arithmetic, and a made drive that comes back.

use super::latency::{Base, Structure, figures_of, play, prepared, scenario};
use super::space::{Parameter, Place, Space, Unit};
use super::*;
use crate::measure::{DriveState, Latencies};
use manx_core::sim::Rng;

const STRUCTURE: Structure = Structure { channels: 4, ways: 2, planes: 2, ways_first: false };

fn base(seed: u64) -> Base<'static> {
    Base { name: "tlc-enterprise", word_line: 3, page: 16_384, seed }
}

/// A program, what the buffer adds to a request, and how large it is.
#[derive(Clone, Copy, Debug)]
struct Made {
    program_us: f64,
    hit_us: f64,
    buffer_mib: f64,
}

impl Made {
    fn drawn(number: u64) -> Self {
        let mut rng = Rng::stream(number, "fresh");
        let mut of = |low: f64, high: f64| low * (high / low).powf(rng.unit());
        Self { program_us: of(300.0, 3000.0), hit_us: of(2.0, 20.0), buffer_mib: of(1.0, 32.0) }
    }

    fn space(self) -> Space {
        let fixed = |place, unit, value: f64| Parameter {
            place,
            unit,
            low: value,
            high: value * 1.000_001,
            start: value,
            base: None,
            from: String::new(),
        };
        let parameters = vec![
            fixed(Place::Read(0), Unit::Micros, 50.0),
            fixed(Place::Key("drive.controller"), Unit::Micros, 8.0),
            fixed(Place::Key("drive.link"), Unit::MegaBytes, 4000.0),
            fixed(Place::Key("device.channel.rate"), Unit::MegaBytes, 1200.0),
            fixed(Place::Key("drive.buffer_hit"), Unit::Micros, self.hit_us),
            fixed(Place::Program, Unit::Micros, self.program_us),
        ];
        let buffer = format!("drive.buffer={:.0}KiB", self.buffer_mib * 1024.0);
        Space { parameters, known: vec![buffer.parse().unwrap()] }
    }

    /// A long run of it: percentiles 50, 90, 99, 99.9, requests a second and percentile 10.
    fn run(self, of: &Latencies, seed: u64) -> [f64; 6] {
        let space = self.space();
        let scenario =
            scenario(&base(seed), STRUCTURE, &space, &space.start(), of, (20_000, 64)).unwrap();
        play(&scenario, prepared(&scenario).unwrap()).unwrap().0
    }

    /// As fio would have measured it, with 2 % of noise.
    fn measured(self, number: u64) -> Vec<Measurement> {
        let mut rng = Rng::stream(number, "noise");
        let mut noisy = || 1.0 + 0.04 * (rng.unit() + rng.unit() + rng.unit() - 1.5);
        let loads = [
            (true, 4096, 1),
            (true, 4096, 64),
            (true, 65_536, 1),
            (true, 65_536, 16),
            (false, 4096, 1),
            (false, 4096, 64),
            (false, 131_072, 16),
        ];
        let run = |(is_read, block, depth)| {
            let mut of = load(is_read, block, depth);
            let [a, b, c, d, iops, fast] = self.run(&of, 100 + number).map(|of| of * noisy());
            (of.percentiles_us, of.iops, of.fast_us) = ([a, b, c, d], iops, Some(fast));
            let state = if is_read { DriveState::Filled } else { DriveState::Fresh };
            let name = format!("{is_read}-{block}-{depth}");
            Measurement { name, state, what: Measured::Latencies(of) }
        };
        loads.into_iter().map(run).collect()
    }
}

/// A load of one process on one drive, not measured yet.
pub(super) fn load(is_read: bool, block: u64, depth: u32) -> Latencies {
    Latencies {
        engine: "made".to_string(),
        is_read,
        is_sequential: false,
        is_map: false,
        block,
        depth,
        processes: 1,
        drives: 1,
        iops: 0.0,
        mean_us: 0.0,
        percentiles_us: [0.0; 4],
        fast_us: None,
    }
}

/// The buffer answers one write at a time; behind a full buffer eight dies program a row of three
/// pages each.
#[test]
fn fresh_writes_take_the_buffer_s_time_alone_and_that_of_programs_at_depth() {
    let made = Made { program_us: 1200.0, hit_us: 7.0, buffer_mib: 16.0 };
    let alone = made.run(&load(false, 4096, 1), 1);
    let link = 4096.0 / 4000.0;
    assert!((alone[0] - (8.0 + 7.0 + link)).abs() < 0.1, "{alone:?}");
    let deep = made.run(&load(false, 4096, 64), 1);
    let programmed = 8.0 * 3.0 * 16_384.0 / 1200e-6;
    assert!((deep[4] * 4096.0 / programmed - 1.0).abs() < 0.1, "{deep:?}, {programmed}");
}

/// The host is 15 % faster than the programs: what it writes goes up the buffer for seven times its
/// size before it is full.
#[test]
fn fresh_writes_count_from_where_the_buffer_is_full() {
    let made = Made { program_us: 1200.0, hit_us: 7.0, buffer_mib: 16.0 };
    let programmed = 8.0 * 3.0 * 16_384.0 / 1200e-6;
    let mut space = made.space();
    let link = &mut space.parameters[2];
    (link.low, link.high, link.start) =
        (programmed * 1.15e-6, programmed * 1.1501e-6, programmed * 1.15e-6);
    let of = load(false, 4096, 32);
    let asked =
        |longer| scenario(&base(1), STRUCTURE, &space, &space.start(), &of, (12_000, longer));
    let iops = figures_of(&asked, false, &|scenario| Ok(prepared(scenario)?)).unwrap()[4];
    assert!((iops * 4096.0 / programmed - 1.0).abs() < 0.05, "{}", iops * 4096.0 / programmed);
    // At first the link is all that bounds it.
    let first = asked(1).unwrap();
    let (figures, was_full) = play(&first, prepared(&first).unwrap()).unwrap();
    assert!(!was_full && figures[4] * 4096.0 > 1.07 * programmed, "{figures:?}");
}

#[test]
fn writes_are_fitted_of_a_fresh_drive_alone() {
    let mut measurements = Made::drawn(1).measured(1);
    let is_left_out = |of: &Measurement| left_out(of).is_some();
    assert!(!measurements.iter().any(is_left_out));
    measurements.iter_mut().for_each(|of| of.state = DriveState::Filled);
    assert_eq!(measurements.iter().filter(|of| is_left_out(of)).count(), 3);
    let writes: Vec<Measurement> = measurements.split_off(4);
    let stop = AtomicBool::new(true);
    let settings = super::tests::settings(&writes, &stop);
    let error = fit(&settings, &Journal::default()).unwrap_err().to_string();
    assert!(error.contains("nothing can be fitted: writes to a drive that was"), "{error}");
    let fresh = |mut of: Measurement| {
        of.state = DriveState::Fresh;
        of
    };
    let writes: Vec<Measurement> = writes.into_iter().map(fresh).collect();
    let settings = super::tests::settings(&writes, &stop);
    let twin = fit(&settings, &Journal::default()).unwrap();
    let files = files(&twin, None, &["w.json".to_string()]).unwrap();
    for said in ["\"timing.program\" = \"fitted", "\"geometry.ways\" = \"assumed: the base"] {
        assert!(files.device.contains(said), "{said}: {}", files.device);
    }
    assert!(files.device.contains("\"timing.read\" = \"undetermined"), "{}", files.device);
    assert!(files.scenario.contains("\nbuffer_hit = "), "{}", files.scenario);
    assert!(text(&twin, &writes).contains("writes to a fresh drive, measured"));
    let asked = jobs(&twin, None);
    let write = asked.iter().find(|of| of.name == "write-4096-qd1.fio").unwrap();
    assert!(write.text.contains("DESTROYS ALL DATA"), "{}", write.text);
}

/// `cargo test --release -p manx-lab fresh_drives -- --ignored --nocapture`; `MANX_DRIVES=3` for
/// some.
#[test]
#[ignore = "a campaign of a minute for each drive, no part of make test: its command is above"]
fn fresh_drives_drawn_at_random_come_back() {
    let drives =
        std::env::var("MANX_DRIVES").ok().and_then(|text| text.parse().ok()).unwrap_or(10u64);
    let (mut good, mut all) = (0, 0);
    for number in 0..drives {
        let made = Made::drawn(number);
        let measurements = made.measured(number);
        let stop = AtomicBool::new(false);
        let settings = Settings {
            requests: 6_000,
            evaluations: 120,
            ..super::tests::settings(&measurements, &stop)
        };
        let reads = fit(&settings, &Journal::default()).unwrap().reads.unwrap();
        println!("{number}: {:?}", reads.structure);
        // All dies program together: with another number of them each takes as much longer.
        let dies = f64::from(reads.structure.dies()) / f64::from(STRUCTURE.dies());
        for (at, parameter) in reads.space.parameters.iter().enumerate() {
            let truth = match parameter.place {
                Place::Program => made.program_us * dies,
                Place::Key("drive.buffer_hit") => made.hit_us,
                _ => continue,
            };
            let range = reads.range(at).unwrap();
            let [low, high, found] =
                [range.low, range.high, reads.point[at]].map(|x| parameter.at(x));
            let is_good = range.is_flat() || (low..=high).contains(&truth);
            (good, all) = (good + u32::from(is_good), all + 1);
            let (name, flat) = (parameter.name(), range.is_flat());
            println!("  {name}: {truth:.2} as {found:.2} in {low:.2} .. {high:.2}, flat {flat}");
        }
    }
    println!("{good} of {all} in their range, or undetermined");
    assert!(f64::from(good) >= 0.9 * f64::from(all));
}
