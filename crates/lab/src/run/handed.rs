//! A run whose requests are a client's own, and not a workload's: a Linux in virtual time.
//!
//! The lab prepares the drives, hands them out behind drivers that measure, and counts up what
//! comes back: the same result, with the same files beside it, as of any run.

use super::{Beside, Files, Finished, Played, Preparation, Run, RunError};
use crate::cache::Cache;
use crate::compare::Options;
use crate::machine::Stopwatch;
use crate::memory::{Need, refusal};
use crate::prepare::{About, Key, Keys, Prepared, States, member};
use crate::replay::Replays;
use crate::run::{Context, Observer};
use crate::storage;
use manx_config::Scenario;
use manx_core::array::Array;
use manx_core::drive::{Drive, Storage};
use manx_core::host::{BlockRequest, Driver};
use manx_core::stats::{MachineReport, Outcome, RunTotals, VerifyReport};
use std::cell::RefCell;
use std::sync::atomic::AtomicBool;

/// Storage for a client: drives beside each other, or an array as one. Their pages have content.
pub enum Handed {
    /// Drives.
    Drives(Vec<Driver>),
    /// An array.
    Array(Box<Driver<Array>>),
}

/// A client's return.
pub struct Back {
    /// The storage.
    pub handed: Handed,
    /// How it went.
    pub outcome: Outcome,
    /// Reads that were checked, and those that brought what they may not.
    pub verify: VerifyReport,
    /// Its own words for the result.
    pub warnings: Vec<String>,
    /// Requests of its block layer, for the timeline.
    pub asked: Vec<BlockRequest>,
}

/// The run of a client.
pub struct ClientRun<'a> {
    /// The policy that is laid over the scenario.
    pub policy: &'a str,
    /// The scenario.
    pub scenario: &'a Scenario,
    /// The client, in a word or two, for the result's title.
    pub client: &'a str,
    /// Drives beside each other; 1 where the scenario has an array.
    pub drives: u32,
    /// Where preconditioned states are kept.
    pub cache: Option<&'a Cache>,
    /// Files beside the result.
    pub beside: Beside<'a>,
    /// Set to end the run soon.
    pub stop: &'a AtomicBool,
    /// Callback for the progress of preconditioning.
    pub observer: Observer<'a>,
}

impl ClientRun<'_> {
    /// Prepares the drives, lets the client play, and counts up; `None`: it was stopped before it
    /// began.
    ///
    /// # Errors
    /// As of any run, and what `play` says.
    pub fn run(
        &self,
        play: &mut dyn FnMut(Handed) -> Result<Back, RunError>,
    ) -> Result<Option<Finished>, RunError> {
        let need = Need::of(self.scenario, true);
        let bytes = need.bytes * u64::from(self.drives);
        if let Some(why) = refusal(&Need { bytes, ..need }) {
            return Err(RunError::Memory(why));
        }
        let keys = self.keys()?;
        let states = States::new(&keys, self.cache.cloned());
        let options = Options::plain(None, self.stop);
        let context = Context {
            states: &states,
            verify: true,
            stop: options.stop,
            observer: self.observer,
            limits: None,
        };
        let run = Run {
            number: 0,
            policy: self.policy,
            scenario: self.scenario,
            keys: &keys,
            beside: (self.beside, 1),
            context: &context,
            counted: RefCell::default(),
        };
        run.of_client(self, play)
    }

    fn keys(&self) -> Result<Vec<Key>, RunError> {
        let mut keys = Keys::default();
        match self.scenario.array.is_on() {
            true => keys.of_drives(self.scenario),
            false => (0..self.drives).map(|number| keys.of(&self.member(number))).collect(),
        }
    }

    /// The scenario of one of several drives: its own random streams.
    fn member(&self, number: u32) -> Scenario {
        match self.drives {
            1 => self.scenario.clone(),
            _ => member(self.scenario, number),
        }
    }
}

impl Run<'_> {
    fn of_client(
        &self,
        client: &ClientRun<'_>,
        play: &mut dyn FnMut(Handed) -> Result<Back, RunError>,
    ) -> Result<Option<Finished>, RunError> {
        let (beside, runs) = &self.beside;
        let mut files = Files::create(beside, (self.number, self.policy), *runs, self.scenario)?;
        let mut preparation = Preparation { cpu_s: 0.0, from_cache: true, trouble: None };
        let (mut about, mut is_whole) = (About { settled: true, ..About::default() }, true);
        let mut taken = |prepared: &Prepared| {
            is_whole &= prepared.whole;
            preparation.add(prepared);
            about.add(&prepared.about);
        };
        let handed = self.hand_out(client, &files, &mut taken)?;
        if !is_whole {
            return Ok(None);
        }
        let watch = Stopwatch::start();
        let Back { handed, outcome, verify, warnings, asked } = play(handed)?;
        let cpu_s = watch.cpu_s();
        let mut played = match handed {
            Handed::Drives(drives) => self.count_drives(drives, outcome, &mut files)?,
            Handed::Array(array) => self.count_array(*array, outcome, &mut files)?,
        };
        files.end_client(&asked);
        (played.about, played.cpu_s) = (about, cpu_s);
        played.totals.verify = Some(verify);
        played.totals.warnings = [warnings, played.totals.warnings].concat();
        let device = &self.scenario.device.name;
        let count = client.drives.max(self.scenario.array.members);
        played.totals.title = match count {
            0 | 1 => format!("{} on {device}", client.client),
            count => format!("{} on {count} x {device}", client.client),
        };
        let (result, preparation) = self.finish(played, preparation, &Replays::default());
        Ok(Some(Finished { result, preparation, timeline: files.finish()?, counted: None }))
    }

    fn hand_out(
        &self,
        client: &ClientRun<'_>,
        files: &Files,
        taken: &mut dyn FnMut(&Prepared),
    ) -> Result<Handed, RunError> {
        let mut progress = |done| {
            self.tell(super::Phase::Preconditioning, done, None, None);
            !self.stopped()
        };
        if self.scenario.array.is_on() {
            let states = (self.context.states, true);
            let array = storage::array(self.scenario, self.keys, states, &mut progress, taken)?;
            return Ok(Handed::Array(Box::new(self.measured(array, files))));
        }
        let mut drives = Vec::new();
        for (number, key) in (0..).zip(self.keys) {
            let scenario = client.member(number);
            let prepared = self.context.states.take(key, &scenario, &mut progress)?;
            taken(&prepared);
            let drive: Drive = scenario.drive_config().build(prepared.map, true);
            drives.push(self.measured(drive, files));
        }
        Ok(Handed::Drives(drives))
    }

    /// A storage behind a driver that measures as the scenario asks.
    fn measured<S: Storage>(&self, mut storage: S, files: &Files) -> Driver<S> {
        if let Some(spec) = files.timeline() {
            storage.keep_timeline(spec);
        }
        let measure = &self.scenario.measure;
        let driver = Driver::of_client(storage, measure.warmup, measure.warmup_requests);
        let driver = if measure.attribution { driver.with_attribution() } else { driver };
        if files.wants_requests() { driver.with_records() } else { driver }
    }

    fn count_drives(
        &self,
        drives: Vec<Driver>,
        outcome: Outcome,
        files: &mut Files,
    ) -> Result<Played, RunError> {
        let (mut all, count) = (None::<RunTotals>, drives.len());
        let (mut completed, mut flash_ops) = (0, 0);
        let mut memory = MachineReport::default();
        for (number, mut driver) in drives.into_iter().enumerate() {
            completed += driver.progress().completed;
            flash_ops += driver.drive().flash().operations().total();
            memory = self.with_memory(memory, &driver);
            let mut totals = self.totals(&driver, outcome)?;
            let name = (count > 1).then(|| number.to_string());
            files.end_drive(&mut driver, outcome, name.as_ref())?;
            if let Some(name) = name {
                let of = |warning: &mut String| *warning = format!("drive {name}: {warning}");
                totals.warnings.iter_mut().for_each(of);
            }
            match &mut all {
                Some(all) => all.add_drive(totals),
                None => all = Some(totals),
            }
        }
        let (totals, about) = (all.unwrap_or_default(), About::default());
        Ok(Played { totals, about, memory, cpu_s: 0.0, completed, flash_ops })
    }
}

#[cfg(test)]
mod tests;
