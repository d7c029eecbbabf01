//! Twins: a model fitted to what a drive was measured to do, and how far it is off.
//!
//! ```text
//! measure ─ what was measured    space ─ parameters    known ─ what needs no search
//!    bounds, cliff ─ arithmetic    latency, windows, small ─ it is simulated    search ─ the
//! best point    reads, writes ─ stages    rivals, reason ─ other explanations    doubt ─ ranges,
//! pairs    settle ─ limits left open    beyond ─ predictions outside the fit
//!    device ─ a table with sources    show ─ the report
//! ```
//!
//! Manx itself is fitted: each point of the search is a scenario, played as `manx run` plays
//! it. What the measurements do not determine is said, and keeps the base device's number.

mod ask;
mod beyond;
mod bounds;
mod cliff;
mod contradict;
mod device;
mod doubt;
mod error;
mod jobs;
mod journal;
mod known;
pub mod latency;
mod newton;
mod reads;
mod reason;
mod ridge;
mod rivals;
mod search;
mod settle;
mod shipped;
mod show;
mod small;
mod space;
mod structures;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_cache;
#[cfg(test)]
mod tests_fresh;
pub mod windows;
mod writes;

pub use ask::named;
pub use contradict::contradictions;
pub use device::{Files, capacity_is_allowed, files};
pub use doubt::{Doubt, Range};
pub use error::TwinError;
pub use jobs::{JobFile, jobs};
pub use journal::Journal;
pub use known::Known;
pub use latency::left_out;
pub use reads::{EXPLAINED, ReadRun, Reads};
pub use shipped::shipped;
pub use show::{document, text};
pub use small::Way;
pub use space::{Parameter, Place, Space, Unit};
pub use windows::{Fits, WindowFit};
pub use writes::Writes;

use crate::load::read_device;
use crate::measure::{Measured, Measurement, consistent};
use manx_core::flash::Device;
use std::sync::atomic::AtomicBool;

/// A rule for what is kept away from the fit, and predicted.
#[derive(Clone, Debug, PartialEq)]
pub enum HoldOut {
    /// Nothing.
    Nothing,
    /// Each run in turn, and of a long write what lies behind 2.5 capacities.
    Each,
    /// Windows that end behind so many capacities; no run.
    After(f64),
    /// Runs of these names, all at once.
    Named(Vec<String>),
}

/// Parts of a fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// How the drive is built.
    Structure,
    /// All parameters.
    Together,
    /// How far each can move.
    Doubt,
    /// Without a run.
    Without(usize),
    /// A long write.
    Writes,
}

/// How far a fit is.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// Its part.
    pub stage: Stage,
    /// Points simulated so far.
    pub evaluations: usize,
    /// The mean distance of the last one.
    pub distance: f64,
}

/// A fit as it is asked for.
#[derive(Clone, Copy)]
pub struct Settings<'a> {
    /// The measurements.
    pub measurements: &'a [Measurement],
    /// The name of the new device.
    pub name: &'a str,
    /// The device that it starts from, a name or a path.
    pub base: &'a str,
    /// The root seed of the search and of the simulations.
    pub seed: u64,
    /// Requests that count in each simulation of a load.
    pub requests: u64,
    /// Points of the last stage.
    pub evaluations: usize,
    /// The part that is predicted.
    pub hold_out: &'a HoldOut,
    /// Numbers that are known, from a data sheet.
    pub known: &'a [Known],
    /// Simulations at a time.
    pub threads: usize,
    /// Set to end soon, with the best so far.
    pub stop: &'a AtomicBool,
    /// Callback for the progress.
    pub tell: &'a (dyn Fn(&Moment) + Sync),
}

/// Windows behind this are predicted, where nothing else is said.
const AFTER: f64 = 2.5;

impl Settings<'_> {
    pub(super) fn leaves_out_each(&self) -> bool {
        *self.hold_out == HoldOut::Each
    }

    /// A run of this name is held out.
    pub(super) fn is_tested(&self, name: &str) -> bool {
        matches!(self.hold_out, HoldOut::Named(names) if names.iter().any(|known| known == name))
    }

    /// Each name that is held out is that of a run that can be fitted, and others remain.
    fn check_hold_out(&self) -> Result<(), TwinError> {
        let HoldOut::Named(names) = self.hold_out else { return Ok(()) };
        let fits = |of: &&Measurement| of.latencies().is_some() && left_out(of).is_none();
        let known: Vec<&str> =
            self.measurements.iter().filter(fits).map(|of| of.name.as_str()).collect();
        let allowed = known.join(", ");
        if let Some(name) = names.iter().find(|name| !known.contains(&name.as_str())) {
            let message = format!("--hold-out {name}: there is no such run; allowed: {allowed}");
            return Err(TwinError::Asked(message));
        }
        if known.iter().all(|known| self.is_tested(known)) {
            let message = "--hold-out names every run: at least one is needed for the fit";
            return Err(TwinError::Asked(message.to_string()));
        }
        Ok(())
    }

    /// Windows that end behind this are not fitted.
    pub(super) fn after(&self) -> f64 {
        match self.hold_out {
            HoldOut::Nothing | HoldOut::Named(_) => f64::INFINITY,
            HoldOut::Each => AFTER,
            HoldOut::After(capacities) => *capacities,
        }
    }
}

/// A fit: what the measurements tell.
#[derive(Clone, Debug)]
pub struct Twin {
    /// The name of the new device.
    pub name: String,
    /// The device that it starts from.
    pub base: Device,
    /// The fit of the reads, where there are some.
    pub reads: Option<Reads>,
    /// The fit of a long write.
    pub writes: Option<Writes>,
    /// It was stopped: the best so far.
    pub is_partial: bool,
}

/// Fits a device to the measurements.
pub fn fit(settings: &Settings<'_>, journal: &Journal) -> Result<Twin, TwinError> {
    consistent(settings.measurements)?;
    settings.check_hold_out()?;
    settings.check_known()?;
    let base = read_device(settings.base)?;
    let long = |measurement: &&Measurement| matches!(measurement.what, Measured::Windows(_));
    if settings.measurements.iter().filter(long).count() > 1 {
        let message = "more than one long write (CSV of windows): a fit takes one";
        return Err(TwinError::Asked(message.to_string()));
    }
    let reads = reads::fit(settings, &base, journal)?;
    let writes = writes::fit(settings, &base, journal)?;
    if reads.is_none() && writes.is_none() {
        let why = settings.measurements.iter().find_map(left_out);
        let why = why.unwrap_or("there is no measurement");
        return Err(TwinError::Asked(format!("nothing can be fitted: {why}")));
    }
    let is_partial = settings.stop.load(std::sync::atomic::Ordering::Relaxed);
    Ok(Twin { name: settings.name.to_string(), base, reads, writes, is_partial })
}
