//! Out of the write buffer: which dirty pages leave when, and what they need for that.

use crate::drive::buffer::slot::{Slot, State};
use crate::drive::dies::queues::{Class, FlashOp, Owner};
use crate::drive::features::Scheme;
use crate::drive::io::write::Incoming;
use crate::drive::{Drive, SlotId};
use crate::ftl::Translation;
use crate::units::{Instant, Lane, Lpn, Ppn};

/// Pages in eviction order whose maps are asked for before their turn.
const LOOK_AHEAD: u32 = 8;

impl Drive {
    /// Sends dirty pages on their way while there are too many, or a flush or a stalled write waits
    /// for them.
    #[inline(always)]
    pub(in crate::drive) fn drain(&mut self, now: Instant) {
        if self.scheme == Scheme::CachedMap {
            self.place_homeless(now);
        }
        if self.must_drain() {
            self.evict_dirty(now);
        }
        if std::mem::take(&mut self.writes.seal_wanted) {
            self.seal_rows(now);
        }
    }

    #[inline]
    fn must_drain(&self) -> bool {
        self.buffer.dirty > self.writes.dirty_max
            || self.buffer.urgent > 0
            || self.is_flushing()
            || self.is_stuck()
    }

    /// Everything is to leave.
    #[inline]
    fn is_flushing(&self) -> bool {
        !self.writes.flushes.is_empty() || self.is_read_only()
    }

    /// Writes wait, and too little is on its way out.
    #[inline]
    fn is_stuck(&self) -> bool {
        !self.writes.waiting.is_empty() && (self.writes.leaving == 0 || self.evicts_too_little())
    }

    /// Called where some must leave.
    fn evict_dirty(&mut self, now: Instant) {
        loop {
            if self.writes.own_room && self.is_stuck() {
                let last = self.writes.waiting.back();
                self.writes.leaves_for = last.and_then(Incoming::request);
            }
            while let Some(lpn) = self.buffer.leaves_soon(LOOK_AHEAD) {
                self.hint_eviction(lpn);
            }
            let evicted = match self.buffer.oldest() {
                Some(slot) => self.evict(now, slot),
                None => false,
            };
            self.writes.leaves_for = None;
            if !evicted {
                self.writes.seal_wanted |= self.is_flushing() || self.is_stuck();
                break;
            }
            if !self.must_drain() {
                break;
            }
        }
    }

    /// A page in the buffer was written or read: where stripes leave least recently used first, its
    /// stripe is the last to go.
    #[inline(never)]
    pub(super) fn stripe_used(&mut self, lpn: Lpn) {
        let Some(stripes) = self.ftl.stripes() else { return };
        let (stripe, _) = stripes.member_of(lpn);
        for lpn in stripes.members(stripe) {
            let Some(slot) = self.buffer.find(lpn) else { continue };
            let Slot { state, urgent, .. } = *self.buffer.slot(slot);
            if state == State::Dirty && !urgent {
                self.buffer.make_newest(slot);
            }
        }
    }

    /// The maps of a page that leaves soon are asked for: their entries are scattered over memory.
    #[inline]
    fn hint_eviction(&self, lpn: Lpn) {
        self.ftl.prefetch(lpn);
        self.hint_update(lpn);
    }

    /// Without a flush in the background: fewer pages are on their way than waiting writes want
    /// room for.
    fn evicts_too_little(&self) -> bool {
        !self.writes.background && self.buffer.occupied - self.buffer.dirty < self.writes.wanted
    }

    /// Sends a dirty page that someone waits for on its way, or remembers to.
    pub(in crate::drive) fn evict_awaited(&mut self, now: Instant, slot: SlotId) {
        if !self.evict(now, slot) {
            self.buffer.make_urgent(slot);
        }
    }

    /// Sends a dirty page on its way; false when no lane can take it now.
    fn evict(&mut self, now: Instant, slot: SlotId) -> bool {
        if self.scheme == Scheme::ParityInPlace {
            return self.evict_stripe(now, slot);
        }
        if self.scheme == Scheme::CachedMap && self.awaits_entry(now, slot) {
            return true;
        }
        let lpn = self.buffer.slot(slot).lpn;
        if !self.buffer.is_whole(slot) {
            match self.ftl.translate(lpn) {
                Translation::Unwritten => self.buffer.filled(slot, 0),
                Translation::Ready(ppn) => {
                    self.leaves(slot, State::Filling);
                    self.fill(now, slot, ppn);
                    return true;
                }
            }
        }
        if self.scheme == Scheme::LogBlocks {
            self.leaves(slot, State::Staged);
            self.leave_for_log(now, slot);
            return true;
        }
        let class = self.ftl.class_of_write(lpn, self.buffer.slot(slot).stream);
        let place = match &mut self.superblock {
            None => {
                let rows = &self.writes.rows;
                self.ftl.place(lpn, class, |lane: Lane| rows[lane.index()].waiting)
            }
            Some(superblock) => superblock.place(&mut self.ftl),
        };
        let Some(lane) = place else {
            return false;
        };
        self.leaves(slot, State::Staged);
        self.ftl.prefetch(lpn);
        self.stage(now, slot, lane, class);
        true
    }

    /// Reads the other sectors of a partial page.
    fn fill(&mut self, now: Instant, slot: SlotId, ppn: Ppn) {
        self.counters.buffer.rmw_reads += 1;
        self.writes.leaving += 1;
        let ppn = self.settled(now, ppn);
        self.ftl.read_started(ppn);
        let lane = self.flash.layout.lane_of(self.flash.layout.block_of(ppn));
        let op = FlashOp::new(
            Owner::Fill { slot },
            Class::Write,
            lane,
            ppn,
            1,
            self.flash.layout.unit_sectors,
        );
        let op = self.ops.insert(op);
        self.enqueue(now, op);
    }
}
