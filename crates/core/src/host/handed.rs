//! The driver without jobs: a client's own commands go through it to the storage, and are measured
//! as those of jobs are.
//!
//! The client numbers its commands, takes times and advances the storage itself, as of
//! [`Storage`]'s contract. Reads are checked by who gave the writes their content.

use super::Driver;
use super::driver::Issued;
use crate::drive::{Attributed, Command, Completion, Drive, Step, Storage, TimelineSpec, Walked};
use crate::flash::Room;
use crate::units::{Duration, Instant, Lba};

impl<S: Storage> Driver<S> {
    /// A driver of what a client hands in; what arrives before `warmup`, and the first
    /// `warmup_requests`, is not counted.
    pub fn of_client(storage: S, warmup: Duration, warmup_requests: u64) -> Self {
        Self::new(storage, Vec::new(), None, warmup, warmup_requests)
    }

    /// The client ends its run at `now`, whatever is under way.
    pub fn end(&mut self, now: Instant) {
        self.end_at(self.now().max(now));
    }
}

impl<S: Storage> Storage for Driver<S> {
    fn submit(&mut self, now: Instant, command: Command) {
        let Command { id, op, lba, sectors, .. } = command;
        let counted = self.counts(now);
        self.note(id, Issued { at: now, op, sectors, job: 0, thread: 0, counted }, lba, now);
        self.storage.submit(now, command);
    }

    fn advance_before(&mut self, limit: Instant) -> Option<Completion> {
        let completion = self.storage.advance_before(limit)?;
        self.count(&completion);
        if self.explains() {
            self.explain(&completion);
        }
        Some(completion)
    }

    fn next_event_at(&self) -> Instant {
        self.storage.next_event_at()
    }

    fn hint(&self, lba: Lba) {
        self.storage.hint(lba);
    }

    fn attribute(&mut self) {
        self.storage.attribute();
    }

    fn attributed(&self) -> Option<&Attributed> {
        self.storage.attributed()
    }

    fn steps(&self) -> &[Step] {
        self.storage.steps()
    }

    fn keep_timeline(&mut self, spec: &TimelineSpec) {
        self.storage.keep_timeline(spec);
    }

    fn slow_requests(&self) -> Option<(&Room, &[Walked])> {
        self.storage.slow_requests()
    }

    fn drives(&self) -> usize {
        self.storage.drives()
    }

    fn drive(&self, number: usize) -> &Drive {
        self.storage.drive(number)
    }

    fn outstanding(&self) -> usize {
        self.storage.outstanding()
    }

    fn sectors(&self) -> u64 {
        self.storage.sectors()
    }

    fn page_sectors(&self) -> u32 {
        self.storage.page_sectors()
    }

    fn holds(&self, page: u32) -> bool {
        self.storage.holds(page)
    }

    fn keeps_deallocated(&self) -> bool {
        self.storage.keeps_deallocated()
    }
}
