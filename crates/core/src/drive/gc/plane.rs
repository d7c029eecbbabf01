//! Plane-blocking collection: what a collection keeps from the host is its die, not its channel.
//!
//! ttFlash (Yan et al., FAST '17), section 4.1; when one starts and what it may overlap is from the
//! authors' code (tinyTailFlash, pagemap.c, `gc_for_channel`). Copies stay inside the plane, so the
//! channel carries commands only; the host's transfers make room for them (`flash/cut.rs`). A
//! channel has so many collections that copy (`gc.per_channel`), and the next one may begin when
//! the erase does.
//!
//! A collection that may start *drains* its die: no new host operation starts there, what is under
//! way ends. Then it copies, and nobody else has the die. The erase follows at the same instant and
//! keeps the die as any operation does: where erases can be suspended, reads come in. Only where a
//! read of the victim's block still waits does the die serve the host between the copy and the
//! erase. Planes of a group may have to take turns (`rotate`).
//!
//! A channel whose planes all have to wait is asked again only when something changed that may end
//! their wait ([`Planes::note_change`]): operations end far more often.

use crate::drive::Drive;
use crate::drive::gc::mode::Admission;
use crate::drive::gc::rotate::Rotation;
use crate::flash::{Flash, Layout};
use crate::ftl::{GcSpec, PageMap};
use crate::units::{Channel, Die, Instant, Lane, Pool};

/// Which planes wait for their collection, and which have it.
#[derive(Clone, Debug)]
pub(in crate::drive) struct Planes {
    /// Collections of a channel that may copy at once.
    per_channel: u32,
    /// Two collections of a die never copy at once; the one whose die is not yet free.
    draining: Vec<Option<Pool>>,
    channels: Vec<ChannelPlanes>,
    /// Planes in a channel's `waiting`.
    listed: Vec<bool>,
    /// Planes that were urgent when they were looked at last.
    seen_urgent: Vec<bool>,
    pub rotation: Option<Rotation>,
}

#[derive(Clone, Debug, Default)]
struct ChannelPlanes {
    /// Collections that copy, or wait for their die.
    copying: u32,
    /// Planes that want to collect, in the order of asking.
    waiting: Vec<Pool>,
    /// They were looked at in vain since something changed that may end a wait; then the channel
    /// was quiet, or not.
    in_vain: Option<bool>,
}

impl Planes {
    pub fn new(gc: &GcSpec, flash: &Flash, ftl: &PageMap) -> Self {
        let layout = &flash.layout;
        debug_assert_eq!(ftl.pools(), layout.lanes, "planes are reclaimed one by one");
        Self {
            per_channel: if gc.per_channel == 0 { u32::MAX } else { gc.per_channel },
            draining: vec![None; layout.dies as usize],
            channels: vec![ChannelPlanes::default(); layout.channels as usize],
            listed: vec![false; ftl.pools() as usize],
            seen_urgent: vec![false; ftl.pools() as usize],
            rotation: Rotation::new(gc, flash, ftl),
        }
    }

    /// A die of the channel was closed or opened, an operation of garbage collection other than a
    /// copy ended there, or one of its planes was listed, became urgent, has its victim, or may
    /// have its turn: a waiting plane may begin, or is no longer to wait.
    #[inline]
    pub fn note_change(&mut self, channel: Channel) {
        self.channels[channel.index()].in_vain = None;
    }

    /// Turns are switched off, or on again.
    fn turns_change(&mut self) {
        self.channels.iter_mut().for_each(|channel| channel.in_vain = None);
    }

    /// True when a look at the channel's planes would find what the last one found: nothing to
    /// begin.
    #[inline]
    fn is_looked_at_in_vain(&self, channel: Channel, quiet: bool) -> bool {
        self.channels[channel.index()].in_vain.is_some_and(|was_quiet| was_quiet || !quiet)
    }

    #[inline]
    pub fn is_listed(&self, pool: Pool) -> bool {
        self.listed[pool.index()]
    }

    /// The plane of a die whose collection waits for the die to be free.
    pub fn drains(&self, die: Die) -> Option<Pool> {
        self.draining[die.index()]
    }

    /// True when one collection of a channel copies at a time.
    pub fn copy_one_by_one(&self) -> bool {
        self.per_channel == 1
    }

    /// True when planes should take turns and do not now.
    pub fn turns_are_off(&self) -> bool {
        self.rotation.as_ref().is_some_and(Rotation::is_off)
    }

    /// Space of the plane of `lane` was taken: it may be urgent now.
    #[inline]
    pub fn fills(&mut self, ftl: &PageMap, layout: &Layout, lane: Lane) {
        let pool = ftl.pool_of(lane);
        if self.is_listed(pool) && !self.seen_urgent[pool.index()] && ftl.is_urgent(pool) {
            self.note_change(layout.channel_of(layout.die_of(ftl.lanes_of(pool).first())));
        }
    }

    /// An operation that was not the host's ended on `die`: a plane may have waited for that.
    #[inline]
    pub fn on_gc_op_end(&mut self, layout: &Layout, die: Die) {
        self.note_change(layout.channel_of(die));
    }

    /// False when no collection of the channel may start now.
    #[inline]
    pub(super) fn may_start(&self, channel: Channel) -> bool {
        let ChannelPlanes { copying, waiting, .. } = &self.channels[channel.index()];
        *copying < self.per_channel && !waiting.is_empty()
    }
}

impl Drive {
    /// The plane wants to collect: it waits with its channel's others.
    pub(in crate::drive) fn list_plane(&mut self, now: Instant, pool: Pool) {
        let channel = self.channel_of_pool(pool);
        if !self.collector.way.is_straight {
            self.choose_way();
        }
        let Some(planes) = &mut self.collector.planes else { return };
        if !std::mem::replace(&mut planes.listed[pool.index()], true) {
            planes.channels[channel.index()].waiting.push(pool);
            planes.note_change(channel);
        }
        self.scan_channel(now, channel);
    }

    /// True when it would change nothing if the plane wanted to collect: it is listed, and none of
    /// its channel begins.
    pub(in crate::drive) fn is_plane_known_to_want(&self, pool: Pool) -> bool {
        let channel = self.channel_of_pool(pool);
        let Some(planes) = &self.collector.planes else { return false };
        planes.is_listed(pool)
            && self.gate.is_none()
            && (!planes.may_start(channel) || self.looks_in_vain(channel))
    }

    /// True when a look at the planes of a channel is known to be in vain. Who is told of other
    /// things than [`Planes::note_change`] is (faults, suspension, windows, ...) looks every time.
    #[inline]
    fn looks_in_vain(&self, channel: Channel) -> bool {
        let Some(planes) = &self.collector.planes else { return false };
        let in_vain = self.collector.way.is_straight
            && !self.watches
            && self.takes_shortcuts()
            && planes.is_looked_at_in_vain(channel, self.collector.is_quiet(channel));
        debug_assert!(
            !in_vain || !self.would_begin(channel),
            "a plane of channel {channel} may begin"
        );
        in_vain
    }

    /// True when a plane that waits in the channel may begin, or is no longer to wait.
    fn would_begin(&self, channel: Channel) -> bool {
        let Some(planes) = &self.collector.planes else { return false };
        let quiet = self.collector.is_quiet(channel);
        planes.channels[channel.index()]
            .waiting
            .iter()
            .any(|pool| self.plane_would_begin(*pool, quiet))
    }

    /// True when a plane that waits may begin as far as the others of its channel are concerned, or
    /// is no longer to wait.
    fn plane_would_begin(&self, pool: Pool, quiet: bool) -> bool {
        let (urgent, die) = (self.ftl.is_urgent(pool), self.die_of_pool(pool));
        let is_kept = !(urgent || quiet) || self.is_closed(die) || self.flash.is_collecting(die);
        let rotation = self.collector.planes.as_ref().and_then(|planes| planes.rotation.as_ref());
        let is_postponed = || rotation.is_some_and(|rotation| rotation.is_postponed(pool, urgent));
        !(is_kept || is_postponed()) || !self.ftl.would_collect(pool)
    }

    fn channel_of_pool(&self, pool: Pool) -> Channel {
        self.flash.layout.channel_of(self.die_of_pool(pool))
    }

    /// True when the plane's collection copies, and its die is closed for that.
    pub(in crate::drive) fn is_copying_plane(&self, pool: Pool) -> bool {
        let copies = self.ftl.lanes_of(pool).any(|lane| self.ftl.is_copying(lane));
        copies && self.is_closed(self.die_of_pool(pool))
    }

    fn die_of_pool(&self, pool: Pool) -> Die {
        self.flash.layout.die_of(self.ftl.lanes_of(pool).first())
    }

    /// After an operation ended on `die`.
    pub(in crate::drive) fn poll_planes(&mut self, now: Instant, die: Die) {
        self.copy_if_drained(now, die);
        let channel = self.flash.layout.channel_of(die);
        if self.collector.planes.as_ref().is_some_and(|planes| planes.may_start(channel)) {
            self.scan_channel(now, channel);
        }
    }

    /// Starts the collections of a channel that may start.
    pub(in crate::drive) fn scan_channel(&mut self, now: Instant, channel: Channel) {
        if self.looks_in_vain(channel) {
            return;
        }
        while let Some(pool) = self.next_plane(now, channel) {
            let die = self.die_of_pool(pool);
            let Some(planes) = &mut self.collector.planes else { return };
            planes.channels[channel.index()].copying += 1;
            planes.draining[die.index()] = Some(pool);
            if let Some(rotation) = &mut planes.rotation {
                rotation.enters(now, pool, self.ftl.is_urgent(pool), &mut self.counters.rotation);
            }
            self.close_die(now, die, true);
            if let Some(timeline) = &mut self.timeline {
                timeline.drains(now, pool);
            }
            self.copy_if_drained(now, die);
        }
    }

    /// The plane of a channel whose collection starts now, if any may: the urgent one with the
    /// least free space, or the one that waits longest.
    fn next_plane(&mut self, now: Instant, channel: Channel) -> Option<Pool> {
        let quiet = self.collector.is_quiet(channel);
        self.find_admitted(now, channel);
        let Self { ftl, flash, collector, counters, gate, queues, .. } = self;
        let planes = collector.planes.as_mut()?;
        if !planes.may_start(channel) {
            return None;
        }
        let waiting = &mut planes.channels[channel.index()].waiting;
        let (listed, seen_urgent, rotation) =
            (&mut planes.listed, &mut planes.seen_urgent, &mut planes.rotation);
        let mut best: Option<((u32, u32), usize)> = None;
        let mut kept = 0;
        for at in 0..waiting.len() {
            let pool = waiting[at];
            let paused = gate.as_ref().is_some_and(|gate| gate.is_paused(pool));
            listed[pool.index()] = ftl.would_collect(pool) || paused;
            if !listed[pool.index()] {
                rotation.iter_mut().for_each(|rotation| rotation.forgets(pool));
                continue;
            }
            waiting[kept] = pool;
            kept += 1;
            let (urgent, die) =
                (ftl.is_urgent(pool), flash.layout.die_of(ftl.lanes_of(pool).first()));
            seen_urgent[pool.index()] = urgent;
            if !(urgent || quiet) || queues[die.index()].closed || flash.is_collecting(die) {
                continue;
            }
            if gate.as_ref().is_some_and(|gate| !gate.has_admitted(pool)) {
                continue;
            }
            if let Some(rotation) = rotation
                && !rotation.admits(pool, urgent)
            {
                rotation.postpones(now, pool, &mut counters.rotation);
                continue;
            }
            let rank = if urgent { (0, ftl.free_units(pool)) } else { (1, 0) };
            if best.is_none_or(|(least, _)| rank < least) {
                best = Some((rank, kept - 1));
            }
        }
        waiting.truncate(kept);
        planes.channels[channel.index()].in_vain = best.is_none().then_some(quiet);
        let waiting = &mut planes.channels[channel.index()].waiting;
        let (_, at) = best?;
        let pool = waiting.remove(at);
        listed[pool.index()] = false;
        Some(pool)
    }

    /// Asks of each plane of a channel that waits whether its window lets it begin.
    #[inline]
    fn find_admitted(&mut self, now: Instant, channel: Channel) {
        if let Some(gate) = &mut self.gate {
            gate.forget_admitted();
            self.admit_planes(now, channel);
        }
    }

    #[inline(never)]
    fn admit_planes(&mut self, now: Instant, channel: Channel) {
        let mut at = 0;
        let waits = |drive: &Self, at: usize| {
            drive
                .collector
                .planes
                .as_ref()
                .and_then(|planes| planes.channels[channel.index()].waiting.get(at).copied())
        };
        while let Some(pool) = waits(self, at) {
            let admits = !self.ftl.is_hopeless(pool) && self.admits_collection(now, pool);
            if let Some(gate) = self.gate.as_mut().filter(|_| admits) {
                gate.admit(pool);
            }
            at += 1;
        }
    }

    /// The collection that waits for `die` begins to copy if the die is free: an operation ended,
    /// or its data waits in the cache register.
    #[inline]
    pub(in crate::drive) fn copy_if_drained(&mut self, now: Instant, die: Die) {
        let Some(planes) = &mut self.collector.planes else { return };
        if planes.draining[die.index()].is_some() && self.flash.is_idle(die) {
            self.copy_drained(now, die);
        }
    }

    fn copy_drained(&mut self, now: Instant, die: Die) {
        let Some(planes) = &mut self.collector.planes else { return };
        let Some(pool) = planes.draining[die.index()].take() else { return };
        // It may have asked again while its die drained.
        planes.note_change(self.flash.layout.channel_of(die));
        if !self.start_collection(now, pool) {
            self.plane_copied(now, pool);
        }
    }

    /// A collection of a plane has its victim.
    pub(in crate::drive) fn turn_is_taken(&mut self, pool: Pool) {
        let rotation = self.collector.planes.as_mut().and_then(|planes| planes.rotation.as_mut());
        if let Some(rotation) = rotation {
            rotation.victim_is_chosen(self.ftl.valid_left(pool));
        }
    }

    /// Everything of a plane is copied, or nothing was worth it: the die is the host's again,
    /// unless the erase has it.
    pub(in crate::drive) fn plane_copied(&mut self, now: Instant, pool: Pool) {
        if self.collector.lease.admission != Admission::PlaneInTurn {
            return;
        }
        let (channel, die) = (self.channel_of_pool(pool), self.die_of_pool(pool));
        let Some(planes) = &mut self.collector.planes else { return };
        planes.channels[channel.index()].copying -= 1;
        let is_over = !self.ftl.is_collecting(pool);
        let leaves =
            planes.rotation.as_mut().is_some_and(|rotation| rotation.leaves(pool, is_over));
        self.close_die(now, die, false);
        self.dispatch(now, die);
        self.scan_channel(now, channel);
        if leaves {
            self.group_looks(now, pool);
        }
    }

    /// A plane's victim is erased: another one of its group may have its turn.
    pub(in crate::drive) fn plane_erased(&mut self, now: Instant, pool: Pool) {
        let Some(planes) = &mut self.collector.planes else { return };
        let is_over = !self.ftl.is_collecting(pool);
        if planes.rotation.as_mut().is_some_and(|rotation| rotation.leaves(pool, is_over)) {
            self.group_looks(now, pool);
        }
    }

    /// The planes of a group that wait have their turns: urgent ones by what is free, then the
    /// others in their order, after the one that was last.
    fn group_looks(&mut self, now: Instant, last: Pool) {
        let mut turn = last;
        self.turn_is_over(last);
        if let Some(urgent) = self.most_urgent_of_group(last) {
            self.scan_channel(now, self.channel_of_pool(urgent));
        }
        loop {
            let Some(planes) = &self.collector.planes else { return };
            let Some(next) = planes.rotation.as_ref().map(|rotation| rotation.next_in_group(turn))
            else {
                return;
            };
            if planes.listed[next.index()] {
                self.scan_channel(now, self.channel_of_pool(next));
            }
            if next == last {
                return;
            }
            turn = next;
        }
    }

    /// Others of the plane's group may have their turn.
    fn turn_is_over(&mut self, last: Pool) {
        let mut turn = last;
        loop {
            let Some(planes) = &self.collector.planes else { return };
            let Some(rotation) = &planes.rotation else { return };
            let next = rotation.next_in_group(turn);
            // Its channel may have been looked at while it was quiet.
            if planes.is_listed(next) && self.plane_would_begin(next, true) {
                let channel = self.channel_of_pool(next);
                self.collector.planes.iter_mut().for_each(|planes| planes.note_change(channel));
            }
            if next == last {
                return;
            }
            turn = next;
        }
    }

    fn most_urgent_of_group(&self, pool: Pool) -> Option<Pool> {
        let planes = self.collector.planes.as_ref()?;
        let members = planes.rotation.as_ref()?.group(pool).iter().copied();
        let urgent =
            members.filter(|pool| planes.listed[pool.index()] && self.ftl.is_urgent(*pool));
        urgent.min_by_key(|pool| self.ftl.free_units(*pool))
    }

    /// The host's data was programmed in a plane: does its rate leave time for turns?
    #[inline]
    pub(in crate::drive) fn row_was_written(&mut self, now: Instant, pool: Pool) {
        if self.collector.planes.is_some() {
            self.row_was_written_in_plane(now, pool);
        }
    }

    #[inline(never)]
    fn row_was_written_in_plane(&mut self, now: Instant, pool: Pool) {
        let Self { ftl, flash, collector, counters, .. } = self;
        let Some(planes) = &mut collector.planes else { return };
        let Some(rotation) = &mut planes.rotation else { return };
        // A whole copy counts what it takes at its end, and has taken it when it programs.
        let programs = |pool| {
            let die = flash.layout.die_of(ftl.lanes_of(pool).first());
            ftl.is_copying(ftl.lanes_of(pool).first())
                && flash.is_copying_whole(die)
                && flash.whole_copy_is_read(now, die)
        };
        let is_urgent = |pool| ftl.is_urgent(pool) || (ftl.would_be_urgent(pool) && programs(pool));
        let was_off = rotation.is_off();
        let looks =
            rotation.row_was_written(now, ftl.each_pool(), pool, is_urgent, &mut counters.rotation);
        if rotation.is_off() != was_off {
            planes.turns_change();
        }
        if looks {
            for channel in self.flash.layout.each_channel() {
                self.scan_channel(now, channel);
            }
        }
    }
}
