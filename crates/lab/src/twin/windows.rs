//! Long writes, window by window: what the drive programmed for what the host wrote, and how fast.

use crate::measure::Window;
use crate::prepare::{host_sectors, make};
use crate::run::RunError;
use manx_config::Scenario;
use manx_core::host::generate::Generator;
use manx_core::host::{Driver, Job, Pacing};
use manx_core::units::SECTOR;
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicBool, Ordering};

/// The work of a drive while the host wrote one window.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Done {
    /// Bytes programmed for a byte of the host.
    pub waf: f64,
    /// Bytes of the host in a second of virtual time.
    pub bytes_per_s: f64,
}

/// A rate within this of the measured one is near.
pub const NEAR: f64 = 0.15;

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
    /// Of the WAF, where it was measured.
    pub waf: Option<f64>,
    /// Of the rate.
    pub rate: f64,
    /// Windows whose rate is off by no more than `NEAR`.
    pub near: usize,
}

impl Fits {
    /// Over these windows.
    pub fn of<'a>(windows: impl Iterator<Item = &'a WindowFit>) -> Self {
        let (mut count, mut asked, mut near) = (0usize, 0usize, 0usize);
        let (mut waf, mut rate) = (0.0, 0.0);
        for WindowFit { measured, modelled, .. } in windows {
            count += 1;
            if let Some(known) = measured.waf {
                asked += 1;
                waf += (modelled.waf / known - 1.0).abs();
            }
            let off = (modelled.bytes_per_s / measured.bytes_per_s - 1.0).abs();
            rate += off;
            near += usize::from(off <= NEAR);
        }
        let waf = (asked > 0).then(|| waf / asked as f64);
        Self { windows: count, waf, rate: rate / count.max(1) as f64, near }
    }
}

/// Requests between two looks at the stop flag.
const CHUNK: u64 = 1 << 14;

/// Plays the scenario's writes up to each of `ends`, in capacities written since the start; `None`
/// when it was stopped.
pub fn play(
    scenario: &Scenario,
    ends: &[f64],
    stop: &AtomicBool,
) -> Result<Option<Vec<Done>>, RunError> {
    let mut go_on = |_| !stop.load(Ordering::Relaxed);
    let prepared = make(scenario, &mut go_on)?;
    let sectors = host_sectors(scenario);
    let unit = scenario.device.geometry.map_unit.get();
    let spec = &scenario.workload.jobs[0];
    let size = spec.block_sizes[0].0.get();
    let source = Generator::new(spec, sectors, scenario.seed, 0)?;
    let drive = scenario.drive_config().build(prepared.map, false);
    let jobs = vec![Job::new(Box::new(source), Pacing::of(spec))];
    let mut driver = Driver::new(drive, jobs, None, Default::default(), 0);
    let mut done = Vec::with_capacity(ends.len());
    let (mut completed, mut programmed, mut at_s) = (0u64, 0u64, 0.0);
    for end in ends {
        let until = (end * (sectors * SECTOR) as f64 / size as f64).round() as u64;
        let mut left = until.saturating_sub(completed);
        let host = left * size;
        while left > 0 {
            if stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
            let part = left.min(CHUNK);
            driver.play(part);
            left -= part;
        }
        completed = until;
        let (now, total) =
            (driver.now().as_ns() as f64 / 1e9, driver.drive().counters().units_programmed());
        done.push(Done {
            waf: ((total - programmed) * unit) as f64 / host as f64,
            bytes_per_s: host as f64 / (now - at_s),
        });
        (programmed, at_s) = (total, now);
    }
    Ok(Some(done))
}
