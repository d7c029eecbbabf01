//! The end of an operation of the scrubber.

use crate::drive::dies::queues::{FlashOp, Owner};
use crate::drive::media::scrub::{Job, Rewrite, end_of_array_read};
use crate::drive::parity::repair::Beyond;
use crate::drive::{Drive, OpId};
use crate::units::{Instant, Ppn};

impl Drive {
    /// A scrub read is done: its pages are checked, and written anew if that is needed.
    pub(in crate::drive) fn scrub_read_done(&mut self, now: Instant, op: OpId) {
        let FlashOp { ppn: first, units, lane, .. } = self.ops[op];
        self.counters.units_read += u64::from(units);
        let end = end_of_array_read(first.0, self.flash.layout.units_per_read);
        let erases = self.ftl.block_erases()[self.flash.layout.block_of(first).0 as usize];
        let wanted = self.check_scrubbed(first.0, end);
        let rewrite = Rewrite { lane, first: first.0, end, erases };
        self.set_scrub_job(lane, if wanted { Job::Planned(rewrite) } else { Job::Nothing });
        self.end_of_read(now, first);
    }

    /// A rewrite is on flash: what nobody overtook lives there now.
    pub(in crate::drive) fn rewrite_done(&mut self, now: Instant, op: OpId) {
        let FlashOp { ppn: row, units, lane, .. } = self.ops[op];
        let channel = self.flash.layout.channel_of(self.flash.layout.die_of(lane)).index();
        let Some(moving) =
            self.scrub.as_mut().map(|scrub| std::mem::take(&mut scrub.moving[channel]))
        else {
            return;
        };
        let mut moved = 0;
        for (slot, (from, lpn, version)) in (0..).zip(&moving) {
            let to = Ppn(row.0 + slot);
            self.flash.store(to, *version);
            self.flash.programmed(to);
            if self.ftl.mapping().physical(*lpn) == *from {
                self.ftl.commit(*lpn, to);
                moved += 1;
            }
        }
        self.counters.padded_units += u64::from(self.flash.layout.units_per_row - units);
        let source = moving.first().map(|(from, ..)| *from);
        if let Some(scrub) = &mut self.scrub {
            scrub.moving[channel] = moving;
            scrub.counters.rewrites += u64::from(units);
            scrub.counters.overtaken_rewrites += u64::from(units - moved);
        }
        self.ftl.row_programmed(row);
        self.set_scrub_job(lane, Job::Nothing);
        if let Some(source) = source {
            self.end_of_read(now, source);
        }
        let pool = self.ftl.pool_of(lane);
        self.row_was_written(now, pool);
        self.space_used(now, pool);
        self.revive_pools(now);
        self.take_writes(now);
    }

    /// The program of a rewrite has failed: its pages stay where they are, for the next pass.
    pub(in crate::drive) fn rewrite_failed(&mut self, now: Instant, op: OpId) {
        let lane = self.ops[op].lane;
        let channel = self.flash.layout.channel_of(self.flash.layout.die_of(lane)).index();
        self.set_scrub_job(lane, Job::Nothing);
        let source = self
            .scrub
            .as_ref()
            .and_then(|scrub| scrub.moving[channel].first())
            .map(|(from, ..)| *from);
        if let Some(source) = source {
            self.end_of_read(now, source);
        }
    }

    /// Checks what the drive has read for itself: for a partial page, for parity, or to compute a
    /// page of a request, which cannot be returned then.
    pub(in crate::drive) fn check_own_read(&mut self, op: OpId) {
        let FlashOp { owner, ppn, .. } = self.ops[op];
        let (Some(scrub), Some(errors)) = (&mut self.scrub, self.flash.bit_errors()) else {
            return;
        };
        if !matches!(owner, Owner::Fill { .. } | Owner::Update { .. } | Owner::Rebuild { .. })
            || errors.is_within_reach(errors.found_in(ppn))
        {
            return;
        }
        scrub.counters.uncorrectable_internal += 1;
        if let Owner::Rebuild { rebuild, .. } = owner {
            self.member_is_beyond(rebuild, Beyond::BitErrors);
        }
    }

    /// Checks what a scrub read brought and is still valid; true when a page of it should be
    /// written anew.
    fn check_scrubbed(&mut self, first: u32, end: u32) -> bool {
        let (Some(errors), Some(scrub)) = (self.flash.bit_errors(), &mut self.scrub) else {
            return false;
        };
        let (mut at, mut wanted) = (first, false);
        while let Some(page) = self.ftl.mapping().next_valid(at, end) {
            let found = errors.found_in(Ppn(page));
            let readable = errors.is_within_reach(found);
            scrub.counters.pages_with_errors += u64::from(found.bits > 0);
            scrub.counters.uncorrectable_scrubbed += u64::from(!readable);
            wanted |= readable && found.worst >= scrub.rewrite_at;
            at = page + 1;
        }
        wanted
    }
}
