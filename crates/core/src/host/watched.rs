//! Requests of which more is wanted than their latency: the oracle's check, causes, records, the
//! load of the Aerospike Certification Tool, a host that resets its drive.

use super::driver::Issued;
use super::{Driver, Job, Record};
use crate::drive::{Command, CommandId, Completion, Storage};
use crate::units::{Instant, Lba};

impl<S: Storage> Driver<S> {
    /// Submits a command of which more is wanted.
    #[inline(never)]
    pub(super) fn submit_watched(&mut self, now: Instant, command: Command) {
        if self.explains() {
            self.note_begin(command.id, command.lba);
        }
        if let Some(resets) = &mut self.resets {
            resets.note(&command, now);
        }
        match &mut self.oracle {
            Some(oracle) => {
                let command = oracle.submit(command);
                self.storage.submit(now, command);
            }
            None => self.storage.submit(now, command),
        }
    }

    /// Where a request begins, for who explains it.
    #[inline]
    pub(super) fn note_begin(&mut self, id: CommandId, lba: Lba) {
        if self.begins.len() < self.issued.len() {
            self.begins.resize(self.issued.len(), Lba(0));
        }
        self.begins[id.index()] = lba;
    }

    /// Tells of a completion who wants more of it than its latency. By value: in a run without
    /// watchers it then lies nowhere in memory.
    #[inline(never)]
    pub(super) fn tell_watchers(&mut self, completion: Completion, seen: Instant) {
        let Issued { at, op, job, thread, .. } = self.issued[completion.id.index()];
        if self.explains() {
            self.explain(&completion);
        }
        if let Some(oracle) = &mut self.oracle {
            oracle.complete(&completion);
        }
        self.jobs[job as usize].completed(seen, thread);
        if let Some(act) = &mut self.act {
            let (latency, lag) = (completion.at.since(at), self.jobs[job as usize].lag());
            if act.record(job, op, latency, completion.at, lag) {
                self.jobs.iter_mut().for_each(Job::stop);
            }
        }
    }

    /// More than its latency is kept of a request.
    #[inline]
    pub(super) fn explains(&self) -> bool {
        self.records.is_some() || self.measured.causes.is_some()
    }

    /// Keeps what is wanted of a request beyond its latency.
    #[inline]
    pub(super) fn explain(&mut self, completion: &Completion) {
        let Completion { id, at: done, status, gc_blocked, .. } = *completion;
        let Issued { at, op, sectors, job, counted, .. } = self.issued[id.index()];
        let lba = self.begins[id.index()];
        let (latency, counted) = (done.since(at), counted && status.is_served());
        let record = || Record { at, latency, op, lba, sectors, job, status, gc_blocked, counted };
        let with_resets = match self.resets.is_some() {
            true => self.parts_with_resets(self.storage.attributed(), latency),
            false => None,
        };
        let attributed = with_resets.as_ref().or(self.storage.attributed());
        if let (Some(causes), Some(attributed), true) =
            (&mut self.measured.causes, attributed, counted)
        {
            causes.record((op, latency), record, attributed, self.storage.steps());
        }
        if let Some(records) = &mut self.records {
            records.push(record(), attributed);
        }
    }
}
