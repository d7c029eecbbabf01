//! Garbage collection at work: when a pool's collection starts, what it blocks, and its chain of
//! flash operations.
//!
//! The mode's lease decides ([`super::mode`]). Runs in turn wait for their *domain*, a channel or
//! all of them. A domain collects one victim at a time. Where the lease covers it, it first
//! *drains*: no new host operation starts, and reads under way bring their data out; then it is
//! *held* until the victim is copied; the erase keeps only its die. A lease on dies is `plane`'s.

use crate::drive::Drive;
use crate::drive::features::Scheme;
use crate::drive::gc::domains::Phase;
use crate::drive::gc::mode::Admission;
use crate::flash::Block;
use crate::ftl::timeless::Work;
use crate::units::{Die, Instant, Pool};

impl Drive {
    /// Space of the pool was used or regained: perhaps it should collect.
    #[inline]
    pub(in crate::drive) fn space_used(&mut self, now: Instant, pool: Pool) {
        self.hurry_erases(now, pool);
        self.hurry_steps(now, pool);
        while let Some(pace) = &mut self.pace
            && let Some(lane) = pace.goes_on(&self.ftl, pool)
        {
            self.advance_chain(now, lane);
        }
        if !self.is_known_to_want(pool)
            && self.ftl.may_collect(pool)
            && self.ftl.wants_collection(pool)
        {
            self.want_collection(now, pool);
        }
    }

    /// True when it would change nothing if the pool wanted to collect: its domain knows, and
    /// begins nothing now.
    #[inline]
    fn is_known_to_want(&self, pool: Pool) -> bool {
        if self.collector.lease.admission == Admission::PlaneInTurn {
            return self.takes_shortcuts() && self.is_plane_known_to_want(pool);
        }
        let (waiting, hurrying) = self.collector.listed[pool.index()];
        waiting
            && self.takes_shortcuts()
            && (hurrying || !self.ftl.is_urgent(pool))
            && !self.collector.may_start(self.collector.domain_of_pool[pool.index()] as usize)
    }

    /// A pool whose collection was paused wants to go on.
    pub(in crate::drive) fn requeue(&mut self, now: Instant, pool: Pool) {
        match self.collector.lease.admission {
            Admission::PlaneInTurn => self.list_plane(now, pool),
            _ => self.list_in_domain(now, pool),
        }
    }

    fn list_in_domain(&mut self, now: Instant, pool: Pool) {
        self.collector.list(pool, self.ftl.is_urgent(pool));
        self.poll_open_domain(now, self.collector.domain_of_pool[pool.index()] as usize);
    }

    /// True when a collection of the pool copies and keeps more than the dies it works on.
    pub(in crate::drive) fn gives_back(&self, pool: Pool) -> bool {
        if self.collector.lease.admission == Admission::PlaneInTurn {
            return self.is_copying_plane(pool);
        }
        let domain = self.collector.domain_of_pool[pool.index()] as usize;
        self.collector.domains[domain].phase == (Phase::Holding { pool })
    }

    /// A collection is paused: what it kept is the host's again, and others'.
    pub(in crate::drive) fn stops_holding(&mut self, now: Instant, pool: Pool) {
        if self.collector.lease.admission == Admission::PlaneInTurn {
            return self.plane_copied(now, pool);
        }
        let domain = self.collector.domain_of_pool[pool.index()] as usize;
        self.release(now, domain);
        self.poll_open_domain(now, domain);
    }

    /// Pools that had nothing to reclaim, and have now: pages became invalid, or are no longer
    /// read. True when there were any.
    #[inline]
    pub(in crate::drive) fn revive_pools(&mut self, now: Instant) -> bool {
        self.ftl.has_revived() && self.revive_each(now)
    }

    #[cold]
    fn revive_each(&mut self, now: Instant) -> bool {
        let mut any = false;
        while let Some(pool) = self.ftl.take_revived() {
            any = true;
            self.space_used(now, pool);
            for lane in self.ftl.lanes_of(pool) {
                self.dispatch(now, self.flash.layout.die_of(lane));
            }
        }
        any
    }

    fn want_collection(&mut self, now: Instant, pool: Pool) {
        match self.collector.lease.admission {
            Admission::ZeroCost => {
                self.reclaim_in_no_time(pool);
                if self.ftl.is_hopeless(pool) {
                    self.nothing_gained(now, pool);
                }
            }
            Admission::AtOnce => {
                self.start_collection(now, pool);
            }
            Admission::PlaneInTurn => self.list_plane(now, pool),
            Admission::InTurn => self.list_in_domain(now, pool),
        }
    }

    fn reclaim_in_no_time(&mut self, pool: Pool) {
        let mut work = Work::default();
        self.journal_settles();
        while self.ftl.wants_collection(pool) && self.collect_now_with_map(pool, &mut work) {}
        // The space may be room for a program that waits; the caller looks at the dies.
        self.counters.free_copies += work.copied;
        self.counters.free_erases += work.erased;
    }

    /// After an operation ended on `die`: its domain may be able to start or to go on.
    #[inline]
    pub(in crate::drive) fn poll_gc(&mut self, now: Instant, die: Die) {
        if self.collector.has_turns {
            self.poll_turns(now, die);
        }
    }

    #[inline(never)]
    fn poll_turns(&mut self, now: Instant, die: Die) {
        if self.collector.lease.admission == Admission::PlaneInTurn {
            return self.poll_planes(now, die);
        }
        let domain = self.collector.domain_of_die[die.index()] as usize;
        match self.collector.domains[domain].phase {
            Phase::Open => self.poll_open_domain(now, domain),
            Phase::Draining { pool } => self.hold_if_drained(now, domain, pool),
            _ => {}
        }
    }

    #[inline]
    fn poll_open_domain(&mut self, now: Instant, domain: usize) {
        if self.collector.may_start(domain) {
            self.domain_begins(now, domain);
        }
    }

    fn domain_begins(&mut self, now: Instant, domain: usize) {
        while self.collector.domains[domain].phase == Phase::Open {
            let Some(pool) = self.collector.next_pool(domain) else { return };
            let may = (self.ftl.would_collect(pool) || self.is_paused(pool))
                && self.admits_collection(now, pool);
            if may && self.collector.lease.yields_in_turn() {
                self.collector.domains[domain].phase = Phase::Copying { pool };
                if !self.start_collection(now, pool) {
                    self.collector.domains[domain].phase = Phase::Open;
                }
            } else if may {
                self.collector.domains[domain].phase = Phase::Draining { pool };
                self.close_dies(now, domain, true);
                if let Some(timeline) = &mut self.timeline {
                    timeline.drains(now, pool);
                }
                self.hold_if_drained(now, domain, pool);
            }
        }
    }

    /// Draining is over when no host read needs the channel and the victim's dies are free.
    fn hold_if_drained(&mut self, now: Instant, domain: usize, pool: Pool) {
        let mut lanes = self.ftl.lanes_of(pool);
        let busy = lanes.any(|lane| !self.flash.is_idle(self.flash.layout.die_of(lane)));
        if busy || self.collector.domains[domain].user_reads > 0 {
            return;
        }
        self.collector.domains[domain].phase = Phase::Holding { pool };
        for channel in self.collector.domains[domain].each_channel() {
            self.flash.hold_channel(now, channel);
        }
        if !self.start_collection(now, pool) {
            self.release(now, domain);
            self.poll_open_domain(now, domain);
        }
    }

    /// No host operation starts on the domain's dies any more, or some do again; who waits for one
    /// of them while it is idle waits for garbage collection.
    fn close_dies(&mut self, now: Instant, domain: usize, closed: bool) {
        for channel in self.collector.domains[domain].each_channel() {
            for die in self.flash.layout.dies_on(channel) {
                self.close_die(now, die, closed);
            }
        }
    }

    pub(in crate::drive) fn close_die(&mut self, now: Instant, die: Die, closed: bool) {
        self.queues[die.index()].closed = closed;
        if let Some(planes) = &mut self.collector.planes {
            planes.note_change(self.flash.layout.channel_of(die));
        }
        if let Some(predictable) = self.predictable.as_mut().filter(|_| closed) {
            predictable.gc_came(die);
        }
        self.flash.close_die(now, die, closed);
    }

    /// Chooses a victim and starts to copy it; false when nothing would be gained.
    pub(in crate::drive) fn start_collection(&mut self, now: Instant, pool: Pool) -> bool {
        if let Some(goes_on) = self.goes_on(now, pool) {
            if let Some(timeline) = self.timeline.as_mut().filter(|_| !goes_on) {
                timeline.gave_up(pool);
            }
            return goes_on;
        }
        let urgent = self.ftl.is_urgent(pool);
        // Parity over superblocks: the host opens rows before their programs start, so also while a
        // domain drains.
        let has_room = self.scheme != Scheme::Superblock || self.ftl.may_collect(pool);
        if !has_room || !self.ftl.start_collection(pool, false) {
            if let Some(timeline) = &mut self.timeline {
                timeline.gave_up(pool);
            }
            if has_room {
                self.nothing_gained(now, pool);
            }
            return false;
        }
        self.timeline_collects(now, pool, urgent, self.collector.held_by(pool));
        self.collector.copying_since[pool.index()] = now;
        self.choose_way();
        self.counters.collections += 1;
        if self.ftl.is_folding(self.ftl.lanes_of(pool).first()) {
            self.counters.pslc.folds += 1;
            self.counters.pslc.idle_folds += u64::from(self.ftl.is_idle());
        }
        self.turn_is_taken(pool);
        self.counters.forced_collections += u64::from(urgent);
        if let Some(pace) = &mut self.pace {
            pace.begins(&self.ftl, pool);
        }
        if let Some(throttle) = self.ports.throttle() {
            throttle.has_victim(&self.ftl, pool);
        }
        for lane in self.ftl.lanes_of(pool) {
            self.advance_chain(now, lane);
        }
        true
    }

    /// The last copy of a victim is on flash: its blocks are erased.
    pub(in crate::drive) fn victim_copied(&mut self, now: Instant, pool: Pool) {
        if let Some(timeline) = &mut self.timeline {
            timeline.erases(now, pool);
        }
        let copying = now.since(self.collector.copying_since[pool.index()]);
        self.counters.copying_max = self.counters.copying_max.max(copying);
        for lane in self.ftl.lanes_of(pool) {
            let block = self.ftl.victim_block(lane);
            if self.ftl.may_erase_now(block) {
                self.may_erase(now, block);
            }
        }
        self.copying_is_over(now, pool);
    }

    /// A collection copies no more: what it kept is the host's again.
    pub(in crate::drive) fn copying_is_over(&mut self, now: Instant, pool: Pool) {
        let domain = self.collector.domain_of_pool[pool.index()] as usize;
        match self.collector.domains[domain].phase {
            Phase::Holding { pool: holder } if holder == pool => {
                self.release(now, domain);
                self.poll_open_domain(now, domain);
            }
            Phase::Copying { pool: copied } if copied == pool => {
                self.collector.domains[domain].phase = Phase::Open;
                self.poll_open_domain(now, domain);
            }
            _ => {}
        }
        self.plane_copied(now, pool);
        self.owe_gathered(now, pool);
        if self.holds.is_some() {
            // The next victim need not wait for an erase that is held back.
            self.space_used(now, pool);
        }
    }

    /// The copy is done: the domain's channels serve the host again.
    fn release(&mut self, now: Instant, domain: usize) {
        self.collector.domains[domain].phase = Phase::Open;
        self.close_dies(now, domain, false);
        for channel in self.collector.domains[domain].each_channel() {
            self.flash.release_channel(now, channel);
            for die in self.flash.layout.dies_on(channel) {
                self.dispatch(now, die);
            }
        }
    }

    /// Nothing reads a victim's block any more: it is erased, or held back.
    pub(in crate::drive) fn may_erase(&mut self, now: Instant, block: Block) {
        // One that failed is not erased, but what it holds counts no more from then on: the journal
        // comes first.
        if self.journal_holds(now, block) {
            return;
        }
        if self.ftl.is_failed(block) {
            return self.leaves_service(now, block);
        }
        if self.holds_back(now, block) {
            return;
        }
        self.enqueue_erase(now, block);
    }

    /// A pool is, perhaps, urgent now: its steps that wait for a window wait no longer.
    pub(in crate::drive) fn hurry_steps(&mut self, now: Instant, pool: Pool) {
        let Some(gate) = &self.gate else { return };
        if !self.ftl.is_urgent(pool) || !self.ftl.is_collecting(pool) {
            return;
        }
        if gate.is_paused(pool) {
            return self.requeue(now, pool);
        }
        for lane in self.ftl.lanes_of(pool) {
            let die = self.flash.layout.die_of(lane);
            if self.queues[die.index()].gc.front().is_some() {
                self.dispatch(now, die);
            }
        }
    }
}
