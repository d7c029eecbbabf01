//! The timeline of a drive: GC runs and slow requests, beside the slices of its dies and channels
//! that the flash logs ([`crate::flash::Slice`]).
//!
//! A collection is recorded when its last block is erased, a request when it completes; both share
//! the flash's room. `nogc` reclaims at zero cost, so it has no collections here. Aborted commands
//! are not recorded. Kept only where asked for; nothing of it changes what the drive does.

use crate::drive::{Attributed, CommandId, Drive, Op, RequestId};
use crate::flash::{Block, Room, Slice};
use crate::units::{Channel, Duration, Instant, Lba, Pool};

/// By this factor a request is slower than a read that meets nobody, to be on the timeline where
/// nothing else was said.
pub const SLOW_FACTOR: u64 = 20;

/// Limits of a timeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimelineSpec {
    /// Begin: events that end at or before it are not kept.
    pub from: Instant,
    /// End: events that start at or after it are not kept.
    pub to: Instant,
    /// Requests of this latency or more are kept; [`SLOW_FACTOR`] unloaded reads when `None`.
    pub slow: Option<Duration>,
    /// Records at most.
    pub limit: u64,
}

/// The reclaiming of one victim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Collection {
    /// Whose victim it was.
    pub pool: Pool,
    /// The victim's block in the pool's first lane.
    pub block: Block,
    /// Since when the host was kept from the channels, where the mode does that; else as `copying`.
    pub draining: Instant,
    /// The victim was chosen, its copying began.
    pub copying: Instant,
    /// Everything was copied, its erases began or were held back; `end` if they never did.
    pub erasing: Instant,
    /// The last of its blocks was erased.
    pub end: Instant,
    /// Valid pages when it was chosen.
    pub valid: u32,
    /// Pages copied; fewer than valid where writes of the host came first.
    pub copied: u32,
    /// It ran at or below the hard mark.
    pub forced: bool,
    /// Channels that it held from `copying` to `erasing`: the first, and how many.
    pub held: (Channel, u32),
    /// The run ended before it did.
    pub unfinished: bool,
}

/// A request that took long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlowCommand {
    /// Since when the drive had it.
    pub start: Instant,
    /// When its completion reached the host.
    pub end: Instant,
    /// The kind of the command.
    pub op: Op,
    /// First sector.
    pub lba: Lba,
    /// Sectors.
    pub sectors: u32,
    /// Where its time went, where that is known.
    pub attributed: Option<Attributed>,
}

/// Everything that a timeline shows of a drive.
#[derive(Clone, Debug)]
pub struct Recorded<'a> {
    /// The window, the limit, and what that left out.
    pub room: Room,
    /// Requests of this latency or more were kept.
    pub slow: Duration,
    /// Of dies and channels.
    pub slices: &'a [Slice],
    /// Collections in the order of their ends, those under way at the end of the run by pool.
    pub collections: Vec<Collection>,
    /// Slow requests in the order of their completions.
    pub requests: &'a [SlowCommand],
}

/// The log of a drive.
#[derive(Clone, Debug)]
pub(in crate::drive) struct Timeline {
    slow: Duration,
    /// When each command was submitted, by its identifier.
    submitted: Vec<Instant>,
    /// By pool: since when its domain drains, and its collections under way (several where erases
    /// are held back).
    draining: Vec<Option<Instant>>,
    under_way: Vec<Vec<Collection>>,
    collections: Vec<Collection>,
    requests: Vec<SlowCommand>,
}

impl Timeline {
    #[inline]
    pub fn submitted(&mut self, now: Instant, id: CommandId) {
        let id = id.index();
        if id >= self.submitted.len() {
            self.submitted.resize(id + 1, now);
        }
        self.submitted[id] = now;
    }

    /// The host is kept from the pool's channels from now on.
    pub fn drains(&mut self, now: Instant, pool: Pool) {
        self.draining[pool.index()] = Some(now);
    }

    /// Nothing was gained: the draining was for nothing.
    pub fn gave_up(&mut self, pool: Pool) {
        self.draining[pool.index()] = None;
    }

    pub fn copied(&mut self, pool: Pool, pages: u32) {
        if let Some(collection) = self.under_way[pool.index()].last_mut() {
            collection.copied += pages;
        }
    }

    pub fn erases(&mut self, now: Instant, pool: Pool) {
        if let Some(collection) = self.under_way[pool.index()].last_mut() {
            collection.erasing = now;
        }
    }
}

impl Drive {
    /// Keeps a timeline from now on: call it before the first command.
    pub fn keep_timeline(&mut self, spec: &TimelineSpec) {
        self.direct.close();
        self.flash.log_activity(Room::new(spec.from, spec.to, spec.limit));
        let pools = self.ftl.pools() as usize;
        self.timeline = Some(Box::new(Timeline {
            slow: spec.slow.unwrap_or_else(|| self.unloaded_read() * SLOW_FACTOR),
            submitted: Vec::new(),
            draining: vec![None; pools],
            under_way: vec![Vec::new(); pools],
            collections: Vec::new(),
            requests: Vec::new(),
        }));
    }

    /// Everything that the timeline kept; `now` is the end of the run. `None` unless asked for.
    pub fn recorded(&self, now: Instant) -> Option<Recorded<'_>> {
        let timeline = self.timeline.as_ref()?;
        let (room, slices) = self.flash.activity()?;
        let (mut room, mut collections) = (*room, timeline.collections.clone());
        for collection in timeline.under_way.iter().flatten() {
            if room.take(collection.draining, now) {
                let erasing = collection.erasing.min(now);
                collections.push(Collection { erasing, end: now, unfinished: true, ..*collection });
            }
        }
        Some(Recorded {
            room,
            slow: timeline.slow,
            slices,
            collections,
            requests: &timeline.requests,
        })
    }

    /// The time of a one-page read of the slowest kind that meets nobody: controller, command, tR,
    /// channel, link.
    pub fn unloaded_read(&self) -> Duration {
        let (timing, layout) = (self.flash.timing(), &self.flash.layout);
        let flash = timing.command + timing.longest_read() + timing.transfer(layout.unit_sectors);
        let limits = self.ports.unloaded_read(layout.unit_sectors);
        self.spec.controller
            + limits
            + flash
            + self.spec.link.time_for(u64::from(layout.unit_bytes))
    }

    /// A victim is chosen. `held` is the channels that its collection holds.
    pub(in crate::drive) fn timeline_collects(
        &mut self,
        now: Instant,
        pool: Pool,
        forced: bool,
        held: (Channel, u32),
    ) {
        let Some(timeline) = &mut self.timeline else { return };
        let block = self.ftl.victim_block(self.ftl.lanes_of(pool).first());
        let draining = timeline.draining[pool.index()].take().unwrap_or(now);
        let (copying, erasing, end) = (now, Instant::NEVER, Instant::NEVER);
        let (valid, copied, unfinished) = (self.ftl.valid_left(pool), 0, false);
        let collection = Collection {
            pool,
            block,
            draining,
            copying,
            erasing,
            end,
            valid,
            copied,
            forced,
            held,
            unfinished,
        };
        timeline.under_way[pool.index()].push(collection);
    }

    /// A victim is erased, `block` last.
    pub(in crate::drive) fn timeline_reclaimed(&mut self, now: Instant, pool: Pool, block: Block) {
        let Some(timeline) = &mut self.timeline else { return };
        let (layout, under_way) = (&self.flash.layout, &mut timeline.under_way[pool.index()]);
        let is_it = |of: &Collection| layout.index_of(of.block) == layout.index_of(block);
        let Some(at) = under_way.iter().position(is_it) else { return };
        let collection = under_way.remove(at);
        if self.flash.log_room().is_some_and(|room| room.take(collection.draining, now)) {
            timeline.collections.push(Collection { end: now, ..collection });
        }
    }

    /// A merge is done.
    pub(in crate::drive) fn timeline_adds(&mut self, collection: Collection) {
        let Some(timeline) = &mut self.timeline else { return };
        if self.flash.log_room().is_some_and(|room| room.take(collection.draining, collection.end))
        {
            timeline.collections.push(collection);
        }
    }

    /// A command is done and its completion reaches the host at `leaves`; the books of it are
    /// closed.
    #[inline]
    pub(in crate::drive) fn timeline_completes(&mut self, request: RequestId, leaves: Instant) {
        if self.timeline.is_some() {
            self.timeline_completes_on_demand(request, leaves);
        }
    }

    #[inline(never)]
    fn timeline_completes_on_demand(&mut self, request: RequestId, leaves: Instant) {
        let Some(timeline) = &mut self.timeline else { return };
        let command = &self.requests[request].command;
        let start = timeline.submitted[command.id.index()];
        if leaves.since(start) < timeline.slow {
            return;
        }
        if self.flash.log_room().is_some_and(|room| room.take(start, leaves)) {
            let attributed = self.attribution.as_ref().and_then(|attribution| attribution.latest());
            let (op, lba, sectors) = (command.op, command.lba, command.sectors);
            timeline.requests.push(SlowCommand {
                start,
                end: leaves,
                op,
                lba,
                sectors,
                attributed,
            });
        }
    }
}
