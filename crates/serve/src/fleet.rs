//! Machines beside each other, one for each drive that is served.

use crate::desk::Served;
use crate::machine::{Finished, Machine};
use manx_core::nvme::AdminCompletion;
use manx_core::units::Instant;

/// At least one machine; a request names its drive by number.
pub(crate) struct Fleet<S: Served> {
    machines: Vec<Machine<S>>,
}

impl<S: Served> Fleet<S> {
    pub fn new(machines: Vec<Machine<S>>) -> Self {
        assert!(!machines.is_empty(), "a server has a drive");
        Self { machines }
    }

    pub fn all(&self) -> &[Machine<S>] {
        &self.machines
    }

    /// The machine of a drive.
    pub fn of(&self, drive: u32) -> &Machine<S> {
        &self.machines[drive as usize]
    }

    pub fn of_mut(&mut self, drive: u32) -> &mut Machine<S> {
        &mut self.machines[drive as usize]
    }

    /// Does what is due before `limit`, up to the first request that is done, drive by drive.
    pub fn advance_before(&mut self, limit: Instant) -> Option<Finished> {
        self.machines.iter_mut().find_map(|machine| machine.advance_before(limit))
    }

    /// Stores keep what leads to answers that are due before `now`; a reason why not is told once.
    pub fn commit(&mut self, now: Instant) -> Option<String> {
        self.machines.iter_mut().filter_map(|machine| machine.commit(now)).next_back()
    }

    /// A machine has one.
    pub fn has_stores(&self) -> bool {
        self.machines.iter().any(|machine| machine.store().is_some())
    }

    /// The log of a store is as long as it may be.
    pub fn is_log_full(&self) -> bool {
        self.machines.iter().any(Machine::is_log_full)
    }

    /// Logs become bases, when nothing is under way; the machines go on, or end.
    pub fn settle(&mut self, now: Instant, goes_on: bool) -> Result<(), String> {
        self.machines.iter_mut().try_for_each(|machine| match goes_on {
            true => machine.start_again(now),
            false => machine.settle(now),
        })
    }

    /// Appends the bytes of a read that was the last to be handed out.
    pub fn data(&self, finished: &Finished, out: &mut Vec<u8>) {
        self.of(finished.done.ask.drive).data(finished, out);
    }

    /// Everything before this instant has been done.
    pub fn done_until(&self) -> Instant {
        self.machines.iter().map(Machine::done_until).min().unwrap_or(Instant::START)
    }

    pub fn under_way(&self) -> usize {
        self.machines.iter().map(Machine::under_way).sum()
    }

    pub fn next_event_at(&self) -> Instant {
        self.machines.iter().map(Machine::next_event_at).min().unwrap_or(Instant::NEVER)
    }

    pub fn first_mismatch(&self) -> Option<&str> {
        self.machines.iter().find_map(Machine::first_mismatch)
    }

    /// A controller has answered an admin command later.
    pub fn has_news(&self) -> bool {
        self.machines.iter().any(|machine| machine.storage().has_news())
    }

    pub fn take_admin_completion(&mut self) -> Option<AdminCompletion> {
        self.machines.iter_mut().find_map(|machine| {
            machine.storage_mut().controller().and_then(|held| held.take_admin_completion())
        })
    }
}
