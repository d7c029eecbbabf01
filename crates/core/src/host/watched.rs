//! Requests of which more is wanted than their latency: the oracle's check, causes, records, the
//! load of the Aerospike Certification Tool, a host that resets its drive.

use super::driver::Issued;
use super::{Driver, Job, Record};
use crate::drive::{Command, CommandId, Completion, Status, Storage};
use crate::units::{Instant, Lba};

impl<S: Storage> Driver<S> {
    /// Submits a command of which more is wanted.
    #[inline(never)]
    pub(super) fn submit_watched(&mut self, now: Instant, command: Command) {
        if self.wants_causes_alone {
            self.note_begin(&command);
            return self.storage.submit(now, command);
        }
        if self.explains() {
            self.note_begin(&command);
        }
        if let Some(resets) = &mut self.resets {
            resets.note(&command, now);
        }
        let command = match &mut self.oracle {
            Some(oracle) => oracle.submit(command),
            None => command,
        };
        self.storage.submit(now, command);
    }

    /// Where a request begins, for who explains it.
    #[inline(always)]
    pub(super) fn note_begin(&mut self, command: &Command) {
        match self.begins.get_mut(command.id.index()) {
            Some(place) => *place = command.lba,
            None => self.note_first_begin(command.id, command.lba),
        }
    }

    #[cold]
    fn note_first_begin(&mut self, id: CommandId, lba: Lba) {
        self.begins.resize(self.issued.len(), Lba(0));
        self.begins[id.index()] = lba;
    }

    /// Tells of a completion who wants more of it than its latency. By value: in a run without
    /// watchers it then lies nowhere in memory.
    #[inline(never)]
    pub(super) fn tell_watchers(&mut self, completion: Completion, seen: Instant) {
        if !self.wants_causes_alone {
            return self.tell_all(&completion, seen);
        }
        self.note_causes(&completion);
        let Issued { job, thread, .. } = self.issued[completion.id.index()];
        self.jobs[job as usize].completed(seen, thread);
    }

    #[inline(never)]
    fn tell_all(&mut self, completion: &Completion, seen: Instant) {
        let Issued { at, op, job, thread, .. } = self.issued[completion.id.index()];
        if self.explains() {
            self.explain(completion);
        }
        if let Some(oracle) = &mut self.oracle {
            oracle.complete(completion);
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

    /// Adds up the causes of a request's latency, where no more is wanted of it.
    #[inline]
    fn note_causes(&mut self, completion: &Completion) {
        let Completion { id, at, status, gc_blocked, .. } = *completion;
        let issued = &self.issued[id.index()];
        let (Some(causes), Some(attributed)) =
            (&mut self.measured.causes, self.storage.attributed())
        else {
            return;
        };
        if issued.counted && status.is_served() {
            let record = || issued.record(self.begins[id.index()], (at, status, gc_blocked));
            let what = (issued.op, at.since(issued.at));
            causes.record(what, record, attributed, self.storage.steps());
        }
    }

    /// Keeps what is wanted of a request beyond its latency.
    pub(super) fn explain(&mut self, completion: &Completion) {
        let Completion { id, at, status, gc_blocked, .. } = *completion;
        let issued = &self.issued[id.index()];
        let record = issued.record(self.begins[id.index()], (at, status, gc_blocked));
        let with_resets = match self.resets.is_some() {
            true => self.parts_with_resets(self.storage.attributed(), record.latency),
            false => None,
        };
        let attributed = with_resets.as_ref().or(self.storage.attributed());
        if let (Some(causes), Some(attributed), true) =
            (&mut self.measured.causes, attributed, record.counted)
        {
            let what = (record.op, record.latency);
            causes.record(what, || record, attributed, self.storage.steps());
        }
        if let Some(records) = &mut self.records {
            records.push(record, attributed);
        }
    }
}

impl Issued {
    /// Its record, when it completed.
    fn record(&self, lba: Lba, (done, status, gc_blocked): (Instant, Status, bool)) -> Record {
        let Self { at, op, sectors, job, counted, .. } = *self;
        let (latency, counted) = (done.since(at), counted && status.is_served());
        Record { at, latency, op, lba, sectors, job, status, gc_blocked, counted }
    }
}
