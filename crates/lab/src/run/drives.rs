//! Drives played one after the other, and added up: one, or one for each device of a trace.
//!
//! Where each device of a trace has a drive of its own (`layout = "separate"`), the drives share
//! nothing but their time, so the order does not matter. Each starts from the same state.

use super::workload::{Sources, Workload};
use super::{Files, Played, Preparation, Run, RunError};
use crate::machine::Stopwatch;
use crate::prepare::Prepared;
use crate::replay::Replays;
use manx_config::Scenario;
use manx_core::ftl::PageMap;
use manx_core::host::act::ActRecorder;
use manx_core::host::{Driver, Job, Oracle};
use manx_core::stats::{MachineReport, Outcome, RunResult, RunTotals};

impl Run<'_> {
    /// Plays each drive and adds up what they measured.
    pub(super) fn play_drives(
        &self,
        workload: Workload,
        prepared: Prepared,
        replays: &Replays,
        files: &mut Files<'_>,
    ) -> Result<(RunResult, Preparation), RunError> {
        let Prepared { map, about, cpu_s, from_cache, trouble, .. } = prepared;
        let preparation = Preparation { cpu_s, from_cache, trouble };
        let Workload { drives, names, end } = workload;
        let (count, mut map) = (drives.len(), Some(map));
        let mut all: Option<RunTotals> = None;
        let (mut play_cpu_s, mut completed, mut flash_ops) = (0.0, 0, 0);
        let mut memory = MachineReport::default();
        for (number, sources) in drives.into_iter().enumerate() {
            // The last drive takes the state, so that a drive alone needs no copy of it.
            let Some(map) = (if number + 1 == count { map.take() } else { map.clone() }) else {
                break;
            };
            let mut driver = self.driver(sources, map, files)?;
            let watch = Stopwatch::start();
            let outcome = match self.play_until_power_loss(&mut driver, end, completed) {
                true => self.play(&mut driver, end, completed, files)?,
                false => Outcome::Partial,
            };
            play_cpu_s += watch.cpu_s();
            completed += driver.progress().completed;
            flash_ops += driver.drive().flash().operations().total();
            memory = self.with_memory(memory, &driver);
            let mut totals = self.totals(&driver, outcome)?;
            let name = names.get(number).filter(|_| count > 1);
            totals.act = files.end_drive(&mut driver, outcome, name)?;
            if let Some(name) = name {
                totals.warnings.iter_mut().for_each(|warning| {
                    *warning = format!("the drive of device {name}: {warning}")
                });
            }
            match &mut all {
                Some(all) => all.add_drive(totals),
                None => all = Some(totals),
            }
            if outcome == Outcome::Partial {
                break;
            }
        }
        let totals = all.unwrap_or_default();
        let played = Played { totals, about, memory, cpu_s: play_cpu_s, completed, flash_ops };
        Ok(self.finish(played, preparation, replays))
    }

    fn driver(
        &self,
        sources: Sources,
        map: PageMap,
        files: &Files<'_>,
    ) -> Result<Driver, RunError> {
        let Scenario { device, measure, .. } = self.scenario;
        let cut = self.scenario.recovery.cut_at.is_some();
        let verify = self.context.verify || cut;
        let mut drive = self.scenario.drive_config().build(map, verify);
        if let Some(spec) = files.timeline() {
            drive.keep_timeline(spec);
        }
        let mut oracle = verify.then(|| Oracle::new(&drive));
        if let Some(oracle) = oracle.as_mut().filter(|_| cut) {
            oracle.note_promises(&self.scenario.drive);
        }
        let jobs = sources.into_iter().map(|(source, pacing)| Job::new(source, pacing)).collect();
        let driver = Driver::new(drive, jobs, oracle, measure.warmup, measure.warmup_requests);
        let driver =
            if measure.timeout.is_zero() { driver } else { driver.with_timeout(measure.timeout) };
        let host = &self.scenario.host;
        let driver = if host.resets() { driver.with_resets(host) } else { driver };
        let driver = if measure.attribution { driver.with_attribution() } else { driver };
        let driver = if files.wants_requests() { driver.with_records() } else { driver };
        let Some(spec) = &self.scenario.workload.act else { return Ok(driver) };
        let user = self.scenario.capacity().user;
        let recorder = ActRecorder::new(spec, user, &device.name)?;
        Ok(driver.with_act(if files.wants_act_log() { recorder.with_log(user) } else { recorder }))
    }
}
