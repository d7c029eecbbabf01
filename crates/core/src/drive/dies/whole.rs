//! Fused copies: a read and a program that are one operation of a die, and many of them one event.
//!
//! Where GC operations take the die and no feature looks at single operations, a chain goes on
//! without lists (`is_straight`; `gc/ended.rs`). Where nothing comes between the read and the
//! program of a copy either, and a page has one lane for ever, a copy is one operation
//! (`flash/whole.rs`, `ftl/whole.rs`): a GC run has its channel for itself (`base`, `controller`),
//! or its die, and copies inside it (`plane-blocking`). So it is until an event could look inside:
//! then copies in flight are split, and no others are fused ([`Drive::split_copies`]). Copies on a
//! channel of their own that follow one another are even one event (`flash/train.rs`): the FTL is
//! told of them when a page of that die is looked up ([`Drive::settled`]), or at the end.

use crate::drive::dies::queues::Owner;
use crate::drive::{Drive, OpId, Reconstruct, UpdateReads};
use crate::ftl::Step;
use crate::units::{Die, Instant, Lane, Ppn};

/// Which way copies go.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::drive) struct Way {
    /// Nobody but the collector looks at the operations of chains.
    pub is_straight: bool,
    /// They copy page by page.
    pub(in crate::drive) is_single: bool,
    /// A copy is one operation.
    pub(in crate::drive) is_whole: bool,
    /// Copies that follow one another are one event.
    is_train: bool,
    /// A copy never is one operation any more.
    is_parted: bool,
    /// Others act between the drive's events.
    has_shared_clock: bool,
}

impl Drive {
    /// Before the copies of a victim begin.
    pub(in crate::drive) fn choose_way(&mut self) {
        let is_straight = !self.looks_at_copies();
        let Way { is_parted, has_shared_clock, .. } = self.collector.way;
        // Nobody can come between the read and the program of a copy, nor see that they are one.
        let alone = self.collector.lease.holds_channels() || self.collector.is_undisturbed();
        let is_whole = is_straight
            && alone
            && !is_parted
            && self.flash.may_copy_whole()
            && self.ftl.may_copy_whole();
        if is_whole && !self.collector.lease.holds_channels() {
            self.flash.set_copyback_on_shared_channel();
        }
        // Reconstruction looks at the copies of many dies at once.
        let computes = self.rain.as_ref().is_some_and(|rain| {
            rain.spec.reconstruct != Reconstruct::Never
                || rain.spec.update_reads == UpdateReads::Reconstruct
        });
        let is_train = is_whole && !computes && !has_shared_clock && self.flash.copies_alike();
        let is_single = self.ftl.copies_singly();
        self.collector.way =
            Way { is_straight, is_single, is_whole, is_train, is_parted, has_shared_clock };
    }

    /// The drive is one of several, and at one instant the others do what they do between its own
    /// events: what is due is an event, so that it has its place among theirs. Call it before the
    /// first command.
    pub fn set_shared_clock(&mut self) {
        self.collector.way.has_shared_clock = true;
    }

    /// True when others act between the drive's events.
    pub(crate) fn has_shared_clock(&self) -> bool {
        self.collector.way.has_shared_clock
    }

    /// Commits the copies that are over on the die of `page`, and returns where the logical page
    /// found there is now.
    #[inline]
    pub(in crate::drive) fn settled(&mut self, now: Instant, page: Ppn) -> Ppn {
        if !self.flash.has_trains() {
            return page;
        }
        let layout = &self.flash.layout;
        let die = layout.die_of(layout.lane_of(layout.block_of(page)));
        if !self.flash.has_train(die) {
            return page;
        }
        self.settle_copies(now, die);
        self.ftl.mapping().physical(self.ftl.mapping().logical_of(page))
    }

    /// The translation layer is told of the copies of a die that are over at `now`.
    pub(in crate::drive) fn settle_copies(&mut self, now: Instant, die: Die) {
        let over = self.flash.copies_over(now, die);
        let Owner::ChainCopy { lane } = self.ops[self.flash.token_of(die)].owner else { return };
        if let Some(next) = self.tell_copies(die, lane, over, true) {
            self.flash.copies_are_told(die, over, next);
        }
    }

    /// Tells the translation layer of `count` copies of a die from the one on that it was told
    /// last; the next one, if there were any and one `follows`.
    #[inline(always)]
    fn tell_copies(
        &mut self,
        die: Die,
        lane: Lane,
        count: u32,
        follows: bool,
    ) -> Option<(Ppn, Ppn)> {
        let first = self.flash.whole_copy(die)?;
        self.counters.units_read += u64::from(count);
        self.counters.copied_units += u64::from(count);
        if count == 0 {
            return None;
        }
        let Self { flash, ftl, .. } = self;
        Some(ftl.copied_whole(lane, first, count, follows, |from, to| {
            flash.copied(from, to, flash.load(from))
        }))
    }

    /// Copies are a read and a program from now on: a request may make a page of a victim stale, or
    /// a feature look at single operations.
    #[inline]
    pub(in crate::drive) fn split_copies(&mut self, now: Instant) {
        if !self.collector.way.is_parted {
            self.split_copies_in_flight(now);
        }
    }

    #[inline(never)]
    fn split_copies_in_flight(&mut self, now: Instant) {
        let way = &mut self.collector.way;
        (way.is_parted, way.is_whole, way.is_train) = (true, false, false);
        self.flash.layout.each_die().for_each(|die| self.split_copy(now, die));
    }

    /// Splits the fused copy that the die works on, if it is one, into its read or its program.
    pub(in crate::drive) fn split_copy(&mut self, now: Instant, die: Die) {
        let op = self.flash.token_of(die);
        if !self.flash.is_copying_whole(die) {
            return;
        }
        let Owner::ChainCopy { lane } = self.ops[op].owner else { return };
        self.settle_copies(now, die);
        if !self.flash.split_copy(now, die) {
            self.ops[op].owner = Owner::ChainRead { lane };
            return;
        }
        self.counters.units_read += 1;
        let flash = &self.flash;
        self.ftl.read_done(lane, |page| flash.load(page));
        let Step::Program { lane: to, units } = self.ftl.step(lane) else {
            unreachable!("the page is valid")
        };
        let row = self.ftl.open_copy_row(lane, to).expect("the block is open");
        let operation = &mut self.ops[op];
        (operation.owner, operation.ppn, operation.units) =
            (Owner::ChainProgram { lane }, row, units);
    }

    #[inline]
    pub(in crate::drive) fn whole_copy_done(&mut self, die: Die, lane: Lane) {
        if self.flash.has_train(die) {
            let count = self.flash.take_train(die);
            self.tell_copies(die, lane, count, false);
        } else {
            self.tell_copies(die, lane, 1, false);
        }
    }

    /// The next copy of a chain starts as one operation; false when it does not. Its collection
    /// holds the channel, or is the only one that copies there, so that the end of an operation
    /// gives the collector nothing to look at.
    #[inline]
    pub(in crate::drive) fn start_whole_copy(
        &mut self,
        now: Instant,
        op: OpId,
        die: Die,
        lane: Lane,
    ) -> bool {
        debug_assert!(self.queues[die.index()].gc.front().is_none(), "a lane has one chain");
        let Some(pages) = self.ftl.next_copy(lane) else { return false };
        let sectors =
            if self.collector.copies_inside() { 0 } else { self.flash.layout.unit_sectors };
        let operation = &mut self.ops[op];
        (operation.owner, operation.lane, operation.ppn) =
            (Owner::ChainCopy { lane }, lane, pages.0);
        (operation.units, operation.sectors) = (1, sectors);
        self.flash.start_whole_copy(now, die, op, pages, sectors);
        if self.collector.way.is_train {
            self.flash.add_copies(die, self.ftl.copies_at_once(lane));
        }
        true
    }
}
