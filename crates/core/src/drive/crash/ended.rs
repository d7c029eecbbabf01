//! The end of a program of the journal or of a checkpoint.

use crate::drive::crash::recovery::Kept;
use crate::drive::face::command::Status;
use crate::drive::features::Scheme;
use crate::drive::{Drive, RequestId};
use crate::flash::Block;
use crate::units::Die;
use crate::units::Instant;

impl Drive {
    /// A page of the journal is on flash.
    pub(in crate::drive) fn journal_written(&mut self, now: Instant) {
        self.counters.journal_pages += 1;
        let Some(kept) = &mut self.kept else { return };
        let journal = &mut kept.journal;
        journal.pages_flying -= 1;
        if journal.pages_flying > 0 {
            return;
        }
        journal.flying_oldest = None;
        let landed = std::mem::take(&mut journal.flying);
        journal.on_flash(&landed);
        self.tell_waiters(now);
        self.finish_flushes(now);
        self.let_erases_go(now);
        let wanted = |kept: &Kept| !kept.held.is_empty() || !kept.journal.waiters.is_empty();
        if !self.writes.is_flushed() || self.kept.as_ref().is_some_and(|kept| wanted(kept)) {
            self.write_journal(now);
        }
    }

    /// Writes that wait for a deallocation which is on flash now.
    fn tell_waiters(&mut self, now: Instant) {
        let Some(kept) = &mut self.kept else { return };
        let in_dram = kept.journal.oldest.unwrap_or(u64::MAX);
        let waiters = &mut kept.journal.waiters;
        let landed = waiters.partition_point(|(number, _)| *number < in_dram);
        for (_, request) in waiters.drain(..landed).collect::<Vec<_>>() {
            self.durable_elsewhere(now, request);
        }
    }

    /// Erases that waited for the journal go on.
    fn let_erases_go(&mut self, now: Instant) {
        let Some(kept) = &self.kept else { return };
        let blocks: Vec<Block> = kept.held.keys().map(|block| Block(*block)).collect();
        for block in blocks {
            match self.scheme {
                Scheme::LogBlocks => {
                    self.merge_read_ended(now, self.flash.layout.first_page(block))
                }
                _ => self.may_erase(now, block),
            }
        }
    }

    /// The page that a durable write waited for need not come to flash any more: something newer
    /// did.
    fn durable_elsewhere(&mut self, now: Instant, request: RequestId) {
        self.requests[request].remaining -= 1;
        if self.requests[request].remaining == 0
            && self.requests[request].next_unit == self.units(request)
        {
            self.finish_with(now, request, Status::Success);
        }
    }

    /// A page of a checkpoint is on flash.
    pub(in crate::drive) fn checkpoint_written(&mut self, now: Instant, die: Die, page: u32) {
        self.counters.checkpoint_units += u64::from(self.flash.layout.units_per_row);
        let Some(Kept { journal, checkpoints: Some(checkpoints), .. }) = self.kept.as_deref_mut()
        else {
            return;
        };
        checkpoints.pages_done += 1;
        let at = checkpoints.writing.expect("one is being written");
        let place = checkpoints.places[at].as_mut().expect("it has its place");
        place.landed[page as usize] = true;
        if place.is_whole() {
            self.counters.checkpoints += 1;
            checkpoints.writing = None;
            // So are the deallocations in it.
            journal.on_flash(&place.checkpoint.trims);
            return;
        }
        self.program_checkpoint(now, die);
    }
}
