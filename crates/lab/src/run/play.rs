//! The play of one driver in chunks, between which the run is told, written and can be stopped.

use super::workload::End;
use super::{Files, Phase, Run, RunError};
use crate::memory::{BACKLOG_STEP, backlog_refusal};
use manx_core::host::{Driver, Playable};
use manx_core::stats::{Outcome, Percentiles};
use manx_core::units::Instant;

/// Parts of the time until a power loss, after each of which the run is told.
const CUT_PARTS: u128 = 256;

/// Completions after which the run is told and written; the stop flag is looked at more often.
const CHUNK: u64 = 1 << 16;

impl Run<'_> {
    /// Plays a drive to its end; `before` requests are done already on others.
    pub(super) fn play<S: Playable>(
        &self,
        driver: &mut Driver<S>,
        end: End,
        before: u64,
        files: &mut Files<'_>,
    ) -> Result<Outcome, RunError> {
        let (mut grown_to, mut refused) = (BACKLOG_STEP, None);
        let chunk = self.context.limits.map_or(CHUNK, |limits| limits.step);
        loop {
            if self.stopped() {
                return Ok(Outcome::Partial);
            }
            let mut go_on = |waiting| {
                let may_grow = waiting < grown_to || {
                    grown_to = waiting + BACKLOG_STEP;
                    refused = backlog_refusal(waiting);
                    refused.is_none()
                };
                may_grow && !self.stopped()
            };
            if !driver.play_while(chunk, &mut go_on) {
                break;
            }
            if let Some(why) = refused {
                return Err(RunError::Memory(format!("{}: {why}", self.policy)));
            }
            files.write(driver)?;
            let p99_9_us = Percentiles::of(&driver.measured().read.histogram).p99_9.us;
            let done = before + driver.progress().completed;
            self.tell(Phase::Running, done, end.part(done, driver.now()), p99_9_us);
            if let Some(limits) = self.context.limits
                && !self.stopped()
                && self.counted.borrow_mut().look(driver, limits)
            {
                return Ok(Outcome::Partial);
            }
        }
        let lost = driver.progress().issued != driver.progress().completed
            || driver.storage().outstanding() > driver.late();
        Ok(match (driver.starved(), lost) {
            (Some(_), _) => Outcome::Starved,
            (None, true) => Outcome::Stuck,
            (None, false) => Outcome::Completed,
        })
    }

    /// Plays until the power fails, if it does, and through the recovery; false when the run was
    /// stopped before.
    pub(super) fn play_until_power_loss(&self, driver: &mut Driver, end: End, before: u64) -> bool {
        let Some(at) = self.scenario.recovery.cut_at.map(|at| at.as_ns()) else { return true };
        for part in 1..=CUT_PARTS {
            let until = Instant::from_ns((u128::from(at) * part / CUT_PARTS) as u64);
            if self.stopped() || !driver.play_before_while(until, &mut |_| !self.stopped()) {
                return false;
            }
            let done = before + driver.progress().completed;
            self.tell(Phase::Running, done, end.part(done, driver.now()), None);
        }
        driver.power_cut(Instant::from_ns(at));
        true
    }
}
