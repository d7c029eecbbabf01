//! Fits of long writes to drives with a pseudo-SLC cache that Manx itself measured.

use super::small::COPY;
use super::windows::{Done, play};
use super::*;
use crate::load::Request;
use crate::measure::{DriveState, Window};
use manx_config::{Override, Source};
use manx_core::sim::Rng;

/// A drive that is made up: another number of blocks, rows and dies than the fit's small drive has.
struct Made {
    spare: f64,
    /// Blocks of the cache over all blocks.
    share: f64,
    fold: &'static str,
    /// The program in the cache, of one page in each die, and the other one.
    slc_us: f64,
    program_us: f64,
}

const BLOCKS: u32 = 700;
const DIES: f64 = 32.0;
const STEP: f64 = 0.05;

impl Made {
    fn drawn(number: u64) -> Self {
        let mut rng = Rng::stream(number, "cache");
        let mut between = |low: f64, high: f64| low * (high / low).powf(rng.unit());
        Self {
            spare: between(0.08, 0.2),
            share: between(0.2, 0.6),
            slc_us: between(150.0, 300.0),
            program_us: between(800.0, 1500.0),
            fold: super::small::FOLDS[(number % 3) as usize],
        }
    }

    /// The work of the drive in windows of 5 % of its capacity, up to so many capacities.
    fn done(&self, until: f64) -> Vec<Done> {
        let set = |(key, value): (&str, String)| Override::new(key, value, "the test");
        let us = |time: f64| format!("{}ns", (time * 1e3) as u64);
        let built = [
            ("device.geometry.channels", "4"),
            ("device.geometry.ways", "8"),
            ("device.geometry.dies", "1"),
            ("device.geometry.planes", "1"),
            ("device.geometry.blocks", "700"),
            ("device.geometry.pages", "36"),
            ("device.geometry.page", "32KiB"),
            ("device.geometry.map_unit", "32KiB"),
            ("device.feature.program_planes", "1"),
            ("device.feature.program_pages", "1"),
            ("device.feature.cache_program", "false"),
            ("device.timing.erase_step", "100us"),
            ("device.slc.bits", "3"),
            ("device.slc.read", "25us"),
            ("gc.unit", "superblock"),
            ("ftl.placement", "pslc"),
        ];
        let keys = [
            ("device.op", format!("{:.4}", self.spare)),
            ("device.timing.program", format!("[\"{}\"]", us(self.program_us))),
            ("device.timing.read", "[\"60us\"]".to_string()),
            ("device.slc.program", us(self.slc_us)),
            ("ftl.pslc.dynamic_blocks", format!("{:.0}", self.share * f64::from(BLOCKS))),
            ("ftl.pslc.fold", self.fold.to_string()),
        ];
        let source =
            Source { file: "the test".to_string(), text: super::small::SCENARIO.to_string() };
        let built = built.into_iter().map(|(key, value)| (key, value.to_string()));
        let overrides = built.chain(keys).map(set).collect();
        let scenario = Request::of(source, overrides).unwrap().plain().unwrap();
        let ends: Vec<f64> = (1..=(until / STEP) as u32).map(|k| f64::from(k) * STEP).collect();
        play(&scenario, &ends, &AtomicBool::new(false)).unwrap().unwrap()
    }

    /// As it would be measured, with 1 % of noise; the drive is asked for its WAF, or is not.
    fn measured(&self, number: u64, until: f64, has_waf: bool) -> Measurement {
        let mut rng = Rng::stream(number, "noise");
        let mut noisy = || 1.0 + 0.01 * 2.0 * (rng.unit() + rng.unit() + rng.unit() - 1.5);
        let of = |(number, done): (usize, Done)| {
            let from = number as f64 * STEP;
            let (waf, bytes_per_s) = (done.waf * noisy(), done.bytes_per_s * noisy());
            Window { from, to: from + STEP, waf: has_waf.then_some(waf), bytes_per_s }
        };
        let windows = self.done(until).into_iter().enumerate().map(of).collect();
        let (name, state) = ("made".to_string(), DriveState::Fresh);
        Measurement { name, state, what: Measured::Windows(windows) }
    }
}

fn settings<'a>(measurements: &'a [Measurement], stop: &'a AtomicBool) -> Settings<'a> {
    Settings { hold_out: &HoldOut::After(1.75), ..super::tests::settings(measurements, stop) }
}

/// The drive is empty, so that the cache is whole: blocks with one bit a cell, three times as many
/// as its data fill.
#[test]
fn a_cliff_lies_where_the_cache_is_full() {
    let made = Made { spare: 0.15, share: 0.3, fold: "idle", slc_us: 200.0, program_us: 1200.0 };
    let measurement = made.measured(1, 1.0, false);
    let Measured::Windows(windows) = &measurement.what else { panic!() };
    let cliff = super::cliff::Cliff::of(windows).unwrap();
    let full = 0.3 / 3.0 / 0.85;
    assert!((cliff.at - full).abs() < 0.01, "{cliff:?}, not {full}");
    assert!((cliff.share_of_blocks(3, 0.15) - 0.3).abs() < 0.025);
    let rate = DIES * f64::from(32 << 10) / 200e-6;
    assert!((cliff.fast / rate - 1.0).abs() < 0.1, "{} of {rate}", cliff.fast);
}

/// `cargo test --release -p manx-lab cached -- --ignored --nocapture`; `MANX_DRIVES=3` for some.
#[test]
#[ignore = "a campaign of minutes for each drive, no part of make test: its command is above"]
fn cached_drives_drawn_at_random_come_back() {
    let (mut found_well, mut all) = (0, 0);
    let drives =
        std::env::var("MANX_DRIVES").ok().and_then(|text| text.parse().ok()).unwrap_or(6u32);
    for number in 0..drives {
        let made = Made::drawn(u64::from(number));
        let has_waf = number % 2 == 0;
        let measurements = [made.measured(u64::from(number), 2.5, has_waf)];
        let stop = AtomicBool::new(false);
        let twin = fit(&settings(&measurements, &stop), &Journal::default()).unwrap();
        let writes = twin.writes.as_ref().unwrap();
        let Made { spare, share, fold, slc_us, program_us } = made;
        // 64 dies in the place of 32.
        let of = [spare, program_us * 2.0, 120.0, 0.0, 0.0, slc_us * 2.0, share];
        println!("{number}, WAF {has_waf}: {fold} as {:?}", writes.way);
        for (at, parameter) in writes.space.parameters.iter().enumerate() {
            let range = writes.doubt.ranges[at];
            let [low, high, found] =
                [range.low, range.high, writes.point[at]].map(|x| parameter.at(x));
            let (name, truth, flat) = (parameter.name(), of[at], range.is_flat());
            if parameter.place == Place::Cache {
                all += 1;
                found_well += u32::from((found / truth - 1.0).abs() < 0.1);
            }
            println!("  {name}: {truth:.3} as {found:.3} in {low:.3} .. {high:.3}, flat {flat}");
        }
        for held in [false, true] {
            let fits = Fits::of(writes.windows.iter().filter(|of| of.is_held_out == held));
            println!("  held out {held}: {fits:?}");
        }
    }
    assert_eq!(found_well, drives, "caches within 10 % of the drive's, of {all} that were found");
}

#[test]
fn a_twin_with_a_cache_is_written_with_its_sources_and_can_be_read_again() {
    let made = Made { spare: 0.15, share: 0.3, fold: "idle", slc_us: 200.0, program_us: 1200.0 };
    let measurements = [made.measured(1, 2.0, true)];
    // Stopped before it begins: the start of the search, and no ranges.
    let stop = AtomicBool::new(true);
    let twin = fit(&settings(&measurements, &stop), &Journal::default()).unwrap();
    let writes = twin.writes.as_ref().unwrap();
    assert!(writes.way.fold.is_some() && writes.copy_read() > 0.0 && COPY == 2);
    let files = files(&twin, None, &["a.csv".to_string()]).unwrap();
    for key in ["\"slc.program\" = \"fitted", "\"slc.read\" = \"assumed", "[slc]"] {
        assert!(files.device.contains(key), "{key}: {}", files.device);
    }
    let scenario: toml::Table = files.scenario.parse().unwrap();
    let ftl = &scenario["ftl"];
    assert_eq!(ftl["placement"].as_str(), Some("pslc"));
    let blocks = ftl["pslc"]["dynamic_blocks"].as_integer().unwrap();
    let most = i64::from(writes.way.superblocks);
    assert!((most / 4..most / 2).contains(&blocks), "{blocks} of {most}");
    assert!(text(&twin, &measurements).contains("ftl.pslc.fold ="));
    assert!(document(&twin, &measurements).contains("pslc_fold"));
}

/// A fit that was stopped has a report of what it simulates within a moment: not of windows that
/// take a thousand capacities.
#[test]
fn a_fit_that_was_stopped_simulates_no_long_write_to_its_end() {
    let made = Made { spare: 0.15, share: 0.3, fold: "idle", slc_us: 200.0, program_us: 1200.0 };
    let mut measurements = [made.measured(1, 2.0, true)];
    let Measured::Windows(windows) = &mut measurements[0].what else { panic!() };
    let last = *windows.last().unwrap();
    let far = Window { from: last.to, to: 900.0, ..last };
    windows.push(far);
    let stop = AtomicBool::new(true);
    let twin = fit(&settings(&measurements, &stop), &Journal::default()).unwrap();
    let shown = &twin.writes.as_ref().unwrap().windows;
    assert_eq!(shown.last().map(|of| of.measured.to), Some(last.to));
    assert!(text(&twin, &measurements).contains("stopped: the best so far"));
}
