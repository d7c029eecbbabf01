//! Which pools wait for a GC run, and what a run in turn blocks: a *domain*, a channel or all of
//! them.

use crate::drive::OpId;
use crate::drive::dies::whole::Way;
use crate::drive::gc::mode::{Admission, Lease, Rank, Scope};
use crate::drive::gc::plane::Planes;
use crate::flash::Flash;
use crate::ftl::{GcSpec, GcWhen, PageMap};
use crate::units::{Channel, Die, Instant, Lane, Pool};
use std::collections::VecDeque;
use std::ops::Range;

/// Which collections wait, and what is held.
#[derive(Clone, Debug)]
pub(in crate::drive) struct Collector {
    pub lease: Lease,
    when: GcWhen,
    copyback: bool,
    /// Sectors of a copied page that cross the channel, each time.
    pub(super) copy_sectors: u32,
    /// Folds of a cache stay in their plane.
    folds_inside: bool,
    reads_first: bool,
    pub(super) domains: Vec<Domain>,
    pub(super) domain_of_die: Vec<u16>,
    pub(super) domain_of_pool: Vec<u16>,
    /// Pools in a domain's `waiting` and in its `urgent` list.
    pub(super) listed: Vec<(bool, bool)>,
    /// Pools wait for their turn, or may: else no domain ever has anything to do.
    pub(super) has_turns: bool,
    /// `plane-blocking` only.
    pub planes: Option<Box<Planes>>,
    /// Since when each pool's collection copies.
    pub(super) copying_since: Vec<Instant>,
    /// The operation of each lane's chain: it has one at a time, and keeps its place.
    pub chain_ops: Vec<OpId>,
    /// Which way copies go.
    pub way: Way,
}

/// Channels that are held together.
#[derive(Clone, Debug)]
pub(super) struct Domain {
    pub(super) channels: Range<u32>,
    pub(super) phase: Phase,
    /// Host operations that wait for or work on the domain's dies.
    user_pending: u32,
    /// Host reads that still need the channel.
    pub(super) user_reads: u32,
    waiting: VecDeque<Pool>,
    urgent: VecDeque<Pool>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Open,
    Draining {
        pool: Pool,
    },
    Holding {
        pool: Pool,
    },
    /// One run at a time, and nothing is closed to the host.
    Copying {
        pool: Pool,
    },
}

impl Collector {
    pub fn new(gc: &GcSpec, flash: &Flash, ftl: &PageMap) -> Self {
        let layout = &flash.layout;
        let lease = Lease::of(gc.mode);
        let per_channel = lease.scope != Scope::Drive
            && ftl.each_pool().all(|pool| {
                let channel = |lane| layout.channel_of(layout.die_of(lane));
                let lanes = ftl.lanes_of(pool);
                channel(lanes.first()) == channel(lanes.last_lane())
            });
        let (domains, width) =
            if per_channel { (layout.channels, 1) } else { (1, layout.channels) };
        let domain = |die: Die| if per_channel { layout.channel_of(die).0 as u16 } else { 0 };
        let copyback = gc.copyback;
        Self {
            lease,
            // Runs that yield to the host need not wait for a pause of it.
            when: if lease.yields_in_turn() { GcWhen::Foreground } else { gc.when },
            copyback,
            copy_sectors: if copyback { 0 } else { layout.unit_sectors },
            folds_inside: false,
            reads_first: gc.reads_first,
            domains: (0..domains).map(|domain| Domain::new(domain..domain + width)).collect(),
            domain_of_die: (0..layout.dies).map(|die| domain(Die(die))).collect(),
            domain_of_pool: ftl
                .each_pool()
                .map(|pool| domain(layout.die_of(ftl.lanes_of(pool).first())))
                .collect(),
            listed: vec![(false, false); ftl.pools() as usize],
            has_turns: lease.has_turns(),
            planes: (lease.scope == Scope::Die).then(|| Box::new(Planes::new(gc, flash, ftl))),
            copying_since: vec![Instant::START; ftl.pools() as usize],
            chain_ops: vec![OpId::NIL; layout.lanes as usize],
            way: Way::default(),
        }
    }

    /// True when a collection of a channel need not wait for the host's operations there.
    pub fn is_quiet(&self, channel: Channel) -> bool {
        self.when == GcWhen::Foreground || self.domains[channel.index()].user_pending == 0
    }

    /// True while host reads need the die's domain.
    pub fn serves_reads(&self, die: Die) -> bool {
        self.domains[self.domain_of_die[die.index()] as usize].user_reads > 0
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

    /// Folds stay in their plane from now on, or do not.
    pub fn fold_inside(&mut self, inside: bool) {
        self.folds_inside = inside;
    }

    /// [`Collector::copies_inside`], of the chain of `lane`.
    #[inline]
    pub fn copies_of_lane_inside(&self, ftl: &PageMap, lane: Lane) -> bool {
        self.copyback || (self.folds_inside && ftl.is_folding(lane))
    }

    /// The pool for whose copies the die's domain is held or drains, if it does, and whether it is
    /// held already.
    pub fn keeper_of(&self, die: Die) -> Option<(Pool, bool)> {
        match self.domains[self.domain_of_die[die.index()] as usize].phase {
            Phase::Open | Phase::Copying { .. } => None,
            Phase::Draining { pool } => Some((pool, false)),
            Phase::Holding { pool } => Some((pool, true)),
        }
    }

    /// Since when the pool's collection copies.
    pub fn copying_since(&self, pool: Pool) -> Instant {
        self.copying_since[pool.index()]
    }

    /// The channels that a collection of the pool drains and holds.
    pub fn channels_of(&self, pool: Pool) -> impl Iterator<Item = Channel> + use<> {
        self.domains[self.domain_of_pool[pool.index()] as usize].each_channel()
    }

    /// Pools whose collection follows in the die's domain before the host's operations.
    pub fn follow_after(&self, die: Die) -> impl Iterator<Item = Pool> + '_ {
        let Domain { urgent, waiting, .. } =
            &self.domains[self.domain_of_die[die.index()] as usize];
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
    pub(super) fn held_by(&self, pool: Pool) -> (Channel, u32) {
        if !self.lease.holds_channels() {
            return (Channel(0), 0);
        }
        let channels = &self.domains[self.domain_of_pool[pool.index()] as usize].channels;
        (Channel(channels.start), channels.end - channels.start)
    }

    #[inline(always)]
    fn domain_mut(&mut self, die: Die) -> &mut Domain {
        &mut self.domains[self.domain_of_die[die.index()] as usize]
    }

    #[inline]
    pub fn user_arrived(&mut self, die: Die) {
        self.domain_mut(die).user_pending += 1;
    }

    /// A host read arrives and starts.
    #[inline]
    pub fn direct_read_started(&mut self, die: Die) {
        let domain = self.domain_mut(die);
        domain.user_pending += 1;
        domain.user_reads += 1;
    }

    #[inline]
    pub fn user_ended(&mut self, die: Die) {
        self.domain_mut(die).user_pending -= 1;
    }

    #[inline]
    pub fn user_read_started(&mut self, die: Die) {
        self.domain_mut(die).user_reads += 1;
    }

    #[inline]
    pub fn user_read_ended(&mut self, die: Die) {
        self.domain_mut(die).user_reads -= 1;
    }

    /// Lists a pool that wants to collect, once, and once more when it becomes urgent.
    pub(super) fn list(&mut self, pool: Pool, urgent: bool) {
        self.has_turns = true;
        let domain = &mut self.domains[self.domain_of_pool[pool.index()] as usize];
        let (waiting, hurrying) = &mut self.listed[pool.index()];
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
    pub(super) fn may_start(&self, domain: usize) -> bool {
        let d = &self.domains[domain];
        let quiet = self.when == GcWhen::Foreground || d.user_pending == 0;
        !d.urgent.is_empty() || (quiet && !d.waiting.is_empty())
    }

    /// The pool whose collection may start in an open domain now.
    pub(super) fn next_pool(&mut self, domain: usize) -> Option<Pool> {
        let d = &mut self.domains[domain];
        if let Some(pool) = d.urgent.pop_front() {
            self.listed[pool.index()].1 = false;
            return Some(pool);
        }
        if self.when == GcWhen::Foreground || d.user_pending == 0 {
            let pool = d.waiting.pop_front()?;
            self.listed[pool.index()].0 = false;
            return Some(pool);
        }
        None
    }
}

impl Domain {
    /// Its channels.
    pub(super) fn each_channel(&self) -> impl Iterator<Item = Channel> + use<> {
        self.channels.clone().map(Channel)
    }

    fn new(channels: Range<u32>) -> Self {
        let (waiting, urgent) = (VecDeque::new(), VecDeque::new());
        Self { channels, phase: Phase::Open, user_pending: 0, user_reads: 0, waiting, urgent }
    }
}
