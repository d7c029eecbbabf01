//! Garbage collection at work: when a pool's collection starts, what it blocks, and its chain of
//! flash operations.
//!
//! The mode's lease decides ([`super::mode`]). Runs in turn wait for their *domain*, a channel or
//! all of them. A domain collects one victim at a time. Where the lease covers it, it first
//! *drains*: no new host operation starts, and reads under way bring their data out; then it is
//! *held* until the victim is copied; the erase keeps only its die. A lease on dies is `plane`'s.

use crate::drive::Drive;
use crate::drive::dies::queues::{Class, FlashOp, Owner};
use crate::drive::gc::mode::{Admission, Lease, Rank, Scope};
use crate::drive::gc::plane::Planes;
use crate::drive::gc::straight::Way;
use crate::flash::{Block, Flash};
use crate::ftl::timeless::Work;
use crate::ftl::{GcSpec, GcWhen, PageMap};
use crate::sim::NIL;
use crate::units::Instant;
use std::collections::VecDeque;
use std::ops::Range;

/// Which collections wait, and what is held.
#[derive(Clone, Debug)]
pub(in crate::drive) struct Collector {
    pub lease: Lease,
    when: GcWhen,
    copyback: bool,
    reads_first: bool,
    domains: Vec<Domain>,
    domain_of_die: Vec<u16>,
    domain_of_pool: Vec<u16>,
    /// Pools in a domain's `waiting` and in its `urgent` list.
    listed: Vec<(bool, bool)>,
    /// Dies on which no host operation may start.
    pub closed: Vec<bool>,
    /// `plane-blocking` only.
    pub planes: Option<Box<Planes>>,
    /// Since when each pool's collection copies.
    copying_since: Vec<Instant>,
    /// The operation of each lane's chain: it has one at a time, and keeps its place.
    pub chain_ops: Vec<u32>,
    /// Which way copies go.
    pub way: Way,
}

/// Channels that are held together.
#[derive(Clone, Debug)]
struct Domain {
    channels: Range<u32>,
    phase: Phase,
    /// Host operations that wait for or work on the domain's dies.
    user_pending: u32,
    /// Host reads that still need the channel.
    user_reads: u32,
    waiting: VecDeque<u32>,
    urgent: VecDeque<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Open,
    Draining {
        pool: u32,
    },
    Holding {
        pool: u32,
    },
    /// One run at a time, and nothing is closed to the host.
    Copying {
        pool: u32,
    },
}

impl Collector {
    pub fn new(gc: &GcSpec, flash: &Flash, ftl: &PageMap) -> Self {
        let layout = &flash.layout;
        let lease = Lease::of(gc.mode);
        let per_channel = lease.scope != Scope::Drive
            && (0..ftl.pools()).all(|pool| {
                let channel = |lane| layout.channel_of(layout.die_of(lane));
                let lanes = ftl.lanes_of(pool);
                channel(lanes.start) == channel(lanes.end - 1)
            });
        let (domains, width) =
            if per_channel { (layout.channels, 1) } else { (1, layout.channels) };
        let domain = |die: u32| if per_channel { layout.channel_of(die) as u16 } else { 0 };
        Self {
            lease,
            // Runs that yield to the host need not wait for a pause of it.
            when: if lease.yields_in_turn() { GcWhen::Foreground } else { gc.when },
            copyback: gc.copyback,
            reads_first: gc.reads_first,
            domains: (0..domains).map(|domain| Domain::new(domain..domain + width)).collect(),
            domain_of_die: (0..layout.dies).map(domain).collect(),
            domain_of_pool: (0..ftl.pools())
                .map(|pool| domain(layout.die_of(ftl.lanes_of(pool).start)))
                .collect(),
            listed: vec![(false, false); ftl.pools() as usize],
            closed: vec![false; layout.dies as usize],
            planes: (lease.scope == Scope::Die).then(|| Box::new(Planes::new(gc, flash, ftl))),
            copying_since: vec![Instant::START; ftl.pools() as usize],
            chain_ops: vec![NIL; layout.lanes as usize],
            way: Way::default(),
        }
    }

    /// True when host operations must not start on the die: it, or its domain, drains or is held.
    #[inline]
    pub fn is_closed(&self, die: u32) -> bool {
        self.closed[die as usize]
    }

    /// True when a collection of a channel need not wait for the host's operations there.
    pub fn is_quiet(&self, channel: u32) -> bool {
        self.when == GcWhen::Foreground || self.domains[channel as usize].user_pending == 0
    }

    /// True while host reads need the die's domain.
    pub fn serves_reads(&self, die: u32) -> bool {
        self.domains[self.domain_of_die[die as usize] as usize].user_reads > 0
    }

    /// True when space is reclaimed at no cost.
    pub fn takes_no_time(&self) -> bool {
        self.lease.admission == Admission::ZeroCost
    }

    /// True when nothing can come between the read and the program of a copy inside a plane: the
    /// die is the collection's own, and no other one of its channel may begin to copy.
    pub fn is_undisturbed(&self) -> bool {
        self.copyback && self.planes.as_ref().is_some_and(|planes| planes.copy_one_by_one())
    }

    /// True when copies stay in their plane and do not cross the channel.
    pub fn copies_inside(&self) -> bool {
        self.copyback
    }

    /// The pool for whose copies the die's domain is held or drains, if it does, and whether it is
    /// held already.
    pub fn keeper_of(&self, die: u32) -> Option<(u32, bool)> {
        match self.domains[self.domain_of_die[die as usize] as usize].phase {
            Phase::Open | Phase::Copying { .. } => None,
            Phase::Draining { pool } => Some((pool, false)),
            Phase::Holding { pool } => Some((pool, true)),
        }
    }

    /// Since when the pool's collection copies.
    pub fn copying_since(&self, pool: u32) -> Instant {
        self.copying_since[pool as usize]
    }

    /// The channels that a collection of the pool drains and holds.
    pub fn channels_of(&self, pool: u32) -> Range<u32> {
        self.domains[self.domain_of_pool[pool as usize] as usize].channels.clone()
    }

    /// Pools whose collection follows in the die's domain before the host's operations.
    pub fn follow_after(&self, die: u32) -> impl Iterator<Item = u32> + '_ {
        let Domain { urgent, waiting, .. } =
            &self.domains[self.domain_of_die[die as usize] as usize];
        let at_once = if self.when == GcWhen::Foreground { waiting.len() } else { 0 };
        urgent
            .iter()
            .chain(waiting.iter().take(at_once).filter(|pool| !urgent.contains(pool)))
            .copied()
    }

    /// True when GC operations always go before the host's on their die.
    #[inline]
    pub fn takes_the_die(&self) -> bool {
        self.lease.rank == Rank::First
    }

    /// True when an urgent collection lets the reads that wait for its die go first.
    #[inline]
    pub fn yields_to_reads(&self, reads_wait: bool) -> bool {
        self.reads_first && reads_wait
    }

    /// The channels that a collection of the pool holds: the first, and how many.
    fn held_by(&self, pool: u32) -> (u32, u32) {
        if !self.lease.holds_channels() {
            return (0, 0);
        }
        let channels = &self.domains[self.domain_of_pool[pool as usize] as usize].channels;
        (channels.start, channels.end - channels.start)
    }

    #[inline]
    fn domain_mut(&mut self, die: u32) -> &mut Domain {
        &mut self.domains[self.domain_of_die[die as usize] as usize]
    }

    #[inline]
    pub fn user_arrived(&mut self, die: u32) {
        self.domain_mut(die).user_pending += 1;
    }

    /// A host read arrives and starts.
    #[inline]
    pub fn direct_read_started(&mut self, die: u32) {
        let domain = self.domain_mut(die);
        domain.user_pending += 1;
        domain.user_reads += 1;
    }

    #[inline]
    pub fn user_ended(&mut self, die: u32) {
        self.domain_mut(die).user_pending -= 1;
    }

    #[inline]
    pub fn user_read_started(&mut self, die: u32) {
        self.domain_mut(die).user_reads += 1;
    }

    #[inline]
    pub fn user_read_ended(&mut self, die: u32) {
        self.domain_mut(die).user_reads -= 1;
    }

    /// Lists a pool that wants to collect, once, and once more when it becomes urgent.
    fn list(&mut self, pool: u32, urgent: bool) {
        let domain = &mut self.domains[self.domain_of_pool[pool as usize] as usize];
        let (waiting, hurrying) = &mut self.listed[pool as usize];
        if !*waiting {
            *waiting = true;
            domain.waiting.push_back(pool);
        }
        if urgent && !*hurrying {
            *hurrying = true;
            domain.urgent.push_back(pool);
        }
    }

    /// False when no collection may start in an open domain now.
    #[inline]
    fn may_start(&self, domain: usize) -> bool {
        let d = &self.domains[domain];
        let quiet = self.when == GcWhen::Foreground || d.user_pending == 0;
        !d.urgent.is_empty() || (quiet && !d.waiting.is_empty())
    }

    /// The pool whose collection may start in an open domain now.
    fn next_pool(&mut self, domain: usize) -> Option<u32> {
        let d = &mut self.domains[domain];
        if let Some(pool) = d.urgent.pop_front() {
            self.listed[pool as usize].1 = false;
            return Some(pool);
        }
        if self.when == GcWhen::Foreground || d.user_pending == 0 {
            let pool = d.waiting.pop_front()?;
            self.listed[pool as usize].0 = false;
            return Some(pool);
        }
        None
    }
}

impl Domain {
    fn new(channels: Range<u32>) -> Self {
        let (waiting, urgent) = (VecDeque::new(), VecDeque::new());
        Self { channels, phase: Phase::Open, user_pending: 0, user_reads: 0, waiting, urgent }
    }
}

impl Drive {
    /// Space of the pool was used or regained: perhaps it should collect.
    #[inline]
    pub(in crate::drive) fn space_used(&mut self, now: Instant, pool: u32) {
        if self.holds.is_some() {
            self.hurry_erases(now, pool);
        }
        if self.gate.is_some() {
            self.hurry_steps(now, pool);
        }
        if !self.is_known_to_want(pool)
            && self.ftl.wants_collection(pool)
            && self.ftl.may_collect(pool)
        {
            self.want_collection(now, pool);
        }
    }

    /// True when it would change nothing if the pool wanted to collect: its domain knows, and
    /// begins nothing now.
    #[inline]
    fn is_known_to_want(&self, pool: u32) -> bool {
        if self.collector.planes.is_some() {
            return self.takes_shortcuts() && self.is_plane_known_to_want(pool);
        }
        let (waiting, hurrying) = self.collector.listed[pool as usize];
        waiting
            && self.takes_shortcuts()
            && (hurrying || !self.ftl.is_urgent(pool))
            && !self.collector.may_start(self.collector.domain_of_pool[pool as usize] as usize)
    }

    /// A pool whose collection was paused wants to go on.
    pub(in crate::drive) fn requeue(&mut self, now: Instant, pool: u32) {
        if self.collector.planes.is_some() {
            return self.list_plane(now, pool);
        }
        self.collector.list(pool, self.ftl.is_urgent(pool));
        self.poll_open_domain(now, self.collector.domain_of_pool[pool as usize] as usize);
    }

    /// True when a collection of the pool copies and keeps more than the dies it works on.
    pub(in crate::drive) fn gives_back(&self, pool: u32) -> bool {
        let domain = self.collector.domain_of_pool[pool as usize] as usize;
        let holds = self.collector.domains[domain].phase == (Phase::Holding { pool });
        holds || (self.collector.planes.is_some() && self.is_copying_plane(pool))
    }

    /// A collection is paused: what it kept is the host's again, and others'.
    pub(in crate::drive) fn stops_holding(&mut self, now: Instant, pool: u32) {
        if self.collector.planes.is_some() {
            return self.plane_copied(now, pool);
        }
        let domain = self.collector.domain_of_pool[pool as usize] as usize;
        self.release(now, domain);
        self.poll_open_domain(now, domain);
    }

    /// Pools that had nothing to reclaim, and have now: pages became invalid, or are no longer
    /// read. True when there were any.
    #[inline]
    pub(in crate::drive) fn revive_pools(&mut self, now: Instant) -> bool {
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

    fn want_collection(&mut self, now: Instant, pool: u32) {
        match self.collector.lease.admission {
            Admission::ZeroCost => {
                self.reclaim_in_no_time(pool);
                if self.faults.is_some() && self.ftl.is_hopeless(pool) {
                    self.nothing_gained(now, pool);
                }
            }
            Admission::AtOnce => {
                self.start_collection(now, pool);
            }
            Admission::InTurn if self.collector.planes.is_some() => self.list_plane(now, pool),
            Admission::InTurn => {
                self.collector.list(pool, self.ftl.is_urgent(pool));
                self.poll_open_domain(now, self.collector.domain_of_pool[pool as usize] as usize);
            }
        }
    }

    fn reclaim_in_no_time(&mut self, pool: u32) {
        let mut work = Work::default();
        self.journal_settles();
        while self.ftl.wants_collection(pool) && self.collect_now_with_map(pool, &mut work) {}
        // What it freed may be room for a program that waits; the caller looks at the dies.
        self.counters.free_copies += work.copied;
        self.counters.free_erases += work.erased;
    }

    /// After an operation ended on `die`: its domain may be able to start or to go on.
    #[inline]
    pub(in crate::drive) fn poll_gc(&mut self, now: Instant, die: u32) {
        if self.collector.planes.is_some() {
            return self.poll_planes(now, die);
        }
        let domain = self.collector.domain_of_die[die as usize] as usize;
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
    fn hold_if_drained(&mut self, now: Instant, domain: usize, pool: u32) {
        let mut lanes = self.ftl.lanes_of(pool);
        let busy = lanes.any(|lane| !self.flash.is_idle(self.flash.layout.die_of(lane)));
        if busy || self.collector.domains[domain].user_reads > 0 {
            return;
        }
        self.collector.domains[domain].phase = Phase::Holding { pool };
        for channel in self.collector.domains[domain].channels.clone() {
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
        let (channels, dies) =
            (self.collector.domains[domain].channels.clone(), self.flash.layout.dies_per_channel());
        for die in channels.start * dies..channels.end * dies {
            self.close_die(now, die, closed);
        }
    }

    pub(in crate::drive) fn close_die(&mut self, now: Instant, die: u32, closed: bool) {
        self.collector.closed[die as usize] = closed;
        if let Some(planes) = &mut self.collector.planes {
            planes.note_change(self.flash.layout.channel_of(die));
        }
        if closed && self.predictable.is_some() {
            self.gc_came(die);
        }
        self.flash.close_die(now, die, closed);
    }

    /// Chooses a victim and starts to copy it; false when nothing would be gained.
    pub(in crate::drive) fn start_collection(&mut self, now: Instant, pool: u32) -> bool {
        if self.gate.is_some()
            && let Some(goes_on) = self.goes_on(now, pool)
        {
            if let Some(timeline) = self.timeline.as_mut().filter(|_| !goes_on) {
                timeline.gave_up(pool);
            }
            return goes_on;
        }
        let urgent = self.ftl.is_urgent(pool);
        // Parity over superblocks: the host opens rows before their programs start, so also while a
        // domain drains.
        let has_room = self.superblock.is_none() || self.ftl.may_collect(pool);
        if !has_room || !self.ftl.start_collection(pool, false) {
            if let Some(timeline) = &mut self.timeline {
                timeline.gave_up(pool);
            }
            if self.faults.is_some() && has_room {
                self.nothing_gained(now, pool);
            }
            return false;
        }
        self.timeline_collects(now, pool, urgent, self.collector.held_by(pool));
        self.collector.copying_since[pool as usize] = now;
        self.choose_way();
        self.counters.collections += 1;
        self.turn_is_taken(pool);
        self.counters.forced_collections += u64::from(urgent);
        for lane in self.ftl.lanes_of(pool) {
            self.advance_chain(now, lane);
        }
        true
    }

    /// The last copy of a victim is on flash: its blocks are erased.
    pub(in crate::drive) fn victim_copied(&mut self, now: Instant, pool: u32) {
        if let Some(timeline) = &mut self.timeline {
            timeline.erases(now, pool);
        }
        let copying = now.since(self.collector.copying_since[pool as usize]);
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
    pub(in crate::drive) fn copying_is_over(&mut self, now: Instant, pool: u32) {
        let domain = self.collector.domain_of_pool[pool as usize] as usize;
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
        if self.collector.planes.is_some() {
            self.plane_copied(now, pool);
        }
        if self.dftl.is_some() {
            self.owe_gathered(now, pool);
        }
        if self.holds.is_some() {
            // The next victim need not wait for an erase that is held back.
            self.space_used(now, pool);
        }
    }

    /// The copy is done: the domain's channels serve the host again.
    fn release(&mut self, now: Instant, domain: usize) {
        self.collector.domains[domain].phase = Phase::Open;
        self.close_dies(now, domain, false);
        for channel in self.collector.domains[domain].channels.clone() {
            self.flash.release_channel(now, channel);
            let dies = self.flash.layout.dies_per_channel();
            for die in channel * dies..(channel + 1) * dies {
                self.dispatch(now, die);
            }
        }
    }

    /// Nothing reads a victim's block any more: it is erased, or held back.
    pub(in crate::drive) fn may_erase(&mut self, now: Instant, block: Block) {
        // One that failed is not erased, but what it holds counts no more from then on: the journal
        // comes first.
        if self.kept.is_some() && self.journal_holds(now, block) {
            return;
        }
        if self.faults.is_some() && self.ftl.is_failed(block) {
            return self.leaves_service(now, block);
        }
        if self.holds.is_some() && self.holds_back(now, block) {
            return;
        }
        self.enqueue_erase(now, block);
    }

    /// Queues the erase of a victim's block.
    pub(in crate::drive) fn enqueue_erase(&mut self, now: Instant, block: Block) {
        let (lane, page) = (self.flash.layout.lane_of(block), self.flash.layout.first_page(block));
        // It goes before the program of a copy that is being read.
        self.split_copy(now, self.flash.layout.die_of(lane));
        let op =
            self.ops.insert(FlashOp::new(Owner::ChainErase { lane }, Class::Gc, lane, page, 0, 0));
        self.enqueue(now, op);
    }

    pub(in crate::drive) fn chain_erase_done(&mut self, now: Instant, block: Block) {
        self.counters.erases += 1;
        let is_whole = self.ftl.erased(block);
        self.held_erase_done(now, self.flash.layout.die_of(self.flash.layout.lane_of(block)));
        if is_whole {
            self.victim_reclaimed(now, block);
        }
    }

    /// The last block of a victim is erased.
    pub(in crate::drive) fn victim_reclaimed(&mut self, now: Instant, block: Block) {
        let pool = self.ftl.pool_of(self.flash.layout.lane_of(block));
        self.timeline_reclaimed(now, pool, block);
        for lane in self.ftl.lanes_of(pool) {
            self.dispatch(now, self.flash.layout.die_of(lane));
        }
        if self.collector.planes.is_some() {
            self.plane_erased(now, pool);
        }
        self.space_used(now, pool);
        // Dynamic allocation may have found no lane with room until now.
        self.take_writes(now);
    }
}
