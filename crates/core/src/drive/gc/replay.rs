//! A dry run of the rest of a held collection, step by step: when its last page is copied.
//!
//! While a domain is held nothing of the host's starts there, so what the chains of a victim of
//! several lanes will do is known: they meet on dies, where copies go round, and on channels, in
//! the order of time and, at one instant, of dies. The replay keeps each chain's cursor, each die's
//! list and each channel's next free time, and does what `schedule.rs`, `collect.rs` and the flash
//! would, up to the first step that a window refuses. It changes nothing of the drive; its places
//! are kept and used again.
//!
//! Not known: host programs that are under way and make pages of the victim stale. When one ends,
//! or pages are deallocated, the next question starts a new dry run. Page types that differ in
//! tPROG are taken by their mean.

use crate::drive::dies::queues::Owner;
use crate::drive::gc::release::Kept;
use crate::drive::gc::windows::WindowSchedule;
use crate::drive::{Drive, OpId};
use crate::ftl::ChainLeft;
use crate::sim::{NIL, Timers};
use crate::units::{Die, Duration, Instant, Lane, Pool, Ppn};

/// No lane: the end of a list.
const NOBODY: Lane = Lane(NIL);

/// A replay and its places.
#[derive(Clone, Debug, Default)]
pub(in crate::drive) struct Replay {
    /// The collection whose end the places say.
    key: Option<Key>,
    /// When the last page is copied, or a step was refused.
    end: Instant,
    /// A step was refused: nothing is erased.
    paused: bool,
    chains: Vec<Chain>,
    dies: Vec<DieReplay>,
    /// By channel: when it is free.
    free: Vec<Instant>,
    timers: Option<Timers>,
    copying: u32,
    next_copy_lane: Lane,
}

/// The outcome of a replay.
#[derive(Clone, Copy, Debug)]
pub(in crate::drive) struct Outcome {
    /// When the last page is copied, or a window refuses a step.
    pub copied: Instant,
    /// When the die that was asked for is free after that.
    pub free: Instant,
    /// A window refuses a step: nothing follows.
    pub paused: bool,
}

/// A replay stays true while these do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Key {
    pool: Pool,
    since: Instant,
    host_units: u64,
    forced: bool,
    windows: Option<WindowSchedule>,
}

#[derive(Clone, Copy, Debug)]
struct Chain {
    left: ChainLeft,
    /// Its operation: a read of so many units from the page on, or a program of a row, on a die.
    units: u32,
    page: u32,
    /// The next one on the list of its die.
    next: Lane,
    done: bool,
}

#[derive(Clone, Copy, Debug)]
struct DieReplay {
    doing: Doing,
    /// Its operation is this chain's.
    lane: Lane,
    /// Chains whose operations wait: the first and the last.
    first: Lane,
    last: Lane,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Doing {
    Nothing,
    /// An array read whose data will cross the channel.
    Senses,
    /// A read of the host, or a program, ends.
    Reads,
    Programs,
}

impl Drive {
    /// The end of the pool's GC run, whose domain is held, and of a die that it keeps from a read.
    /// `None` where the chains cannot be foreseen.
    pub(in crate::drive) fn replayed(
        &self,
        now: Instant,
        pool: Pool,
        kept: Kept,
    ) -> Option<Outcome> {
        let predictable = self.predictable.as_ref()?;
        let mut replay = predictable.replay.borrow_mut();
        let windows = self.schedule().copied();
        let forced = self.is_forced(pool);
        let since = self.collector.copying_since(pool);
        let key = Key { pool, since, host_units: self.counters.host_units, forced, windows };
        if replay.key != Some(key) || now >= replay.end {
            replay.key = None;
            self.play_ahead(&mut replay, now, pool, windows.filter(|_| !forced))?;
            replay.key = Some(key);
        }
        Some(Outcome {
            copied: replay.end,
            free: replay.free_after(self, pool, kept),
            paused: replay.paused,
        })
    }

    fn play_ahead(
        &self,
        r: &mut Replay,
        now: Instant,
        pool: Pool,
        windows: Option<WindowSchedule>,
    ) -> Option<()> {
        let layout = &self.flash.layout;
        let nothing = ChainLeft { cursor: 0, end: 0, staged: 0, brings: 0, reading: false };
        let chain = Chain { left: nothing, units: 0, page: 0, next: NOBODY, done: true };
        let die = DieReplay { doing: Doing::Nothing, lane: NOBODY, first: NOBODY, last: NOBODY };
        r.chains.clear();
        r.chains.resize(layout.lanes as usize, chain);
        r.dies.clear();
        r.dies.resize(layout.dies as usize, die);
        let timers = r.timers.get_or_insert_with(|| Timers::new(layout.dies as usize));
        layout.each_die().for_each(|die| timers.clear(die.index()));
        r.free.clear();
        r.free.extend(
            layout
                .each_channel()
                .map(|channel| now + self.flash.channel_busy_for(now, layout.first_die(channel))),
        );
        (r.end, r.paused, r.copying, r.next_copy_lane) =
            (now, false, 0, self.ftl.next_copy_lane(pool)?);
        for lane in self.ftl.lanes_of(pool) {
            if let Some(left) = self.ftl.chain_left(lane) {
                r.chains[lane.index()] = Chain { left, done: false, ..chain };
                r.copying += 1;
            }
        }
        let lanes = self.ftl.lanes_of(pool);
        for die in (layout.die_of(lanes.first()).0..=layout.die_of(lanes.last_lane()).0).map(Die) {
            self.takes_over(r, now, die)?;
        }
        while r.copying > 0 {
            let (at, die) = r.timers.as_ref()?.first()?;
            r.end = at;
            self.turn(r, at, Die(die as u32), pool, windows);
            if r.paused {
                break;
            }
        }
        Some(())
    }

    /// Takes over the operations under way and waiting on a die.
    fn takes_over(&self, r: &mut Replay, now: Instant, die: Die) -> Option<()> {
        let lane_of = |op: OpId| match self.ops[op].owner {
            Owner::ChainRead { lane } | Owner::ChainProgram { lane } => Some(lane),
            _ => None,
        };
        if let Some((op, left)) = self.flash.operation_left(now, die) {
            let (lane, sectors) = (lane_of(op)?, self.ops[op].sectors);
            let reads = matches!(self.ops[op].owner, Owner::ChainRead { .. });
            let sensed = self.flash.senses_until(die);
            let (doing, at) = match sensed {
                Some(sensed) if sectors > 0 => (Doing::Senses, sensed),
                _ => (if reads { Doing::Reads } else { Doing::Programs }, now + left),
            };
            let chain = &mut r.chains[lane.index()];
            if chain.done {
                return None;
            }
            chain.units = self.ops[op].units;
            (r.dies[die.index()].doing, r.dies[die.index()].lane) = (doing, lane);
            r.timers.as_mut()?.set(die.index(), at);
        }
        for op in self.queues[die.index()].gc.iter(&self.ops) {
            let lane = lane_of(op)?;
            let chain = &mut r.chains[lane.index()];
            if chain.done {
                return None;
            }
            (chain.units, chain.page) = (self.ops[op].units, self.ops[op].ppn.0);
            r.list(die, lane);
        }
        Some(())
    }

    /// A die's timer.
    fn turn(
        &self,
        r: &mut Replay,
        now: Instant,
        die: Die,
        pool: Pool,
        windows: Option<WindowSchedule>,
    ) {
        let DieReplay { doing, lane, .. } = r.dies[die.index()];
        let (timing, layout) = (self.flash.timing(), &self.flash.layout);
        let chain = &mut r.chains[lane.index()];
        match doing {
            Doing::Senses => {
                let free = &mut r.free[layout.channel_of(die).index()];
                *free = (*free).max(now) + timing.transfer(chain.units * layout.unit_sectors);
                r.dies[die.index()].doing = Doing::Reads;
                let at = *free;
                return r.set(die, at);
            }
            Doing::Reads => {
                (chain.left.staged, chain.left.brings) = (chain.left.staged + chain.left.brings, 0)
            }
            Doing::Programs | Doing::Nothing => {}
        }
        r.dies[die.index()].doing = Doing::Nothing;
        if let Some(on) = self.next_step(r, lane, pool) {
            r.list(on, lane);
            if r.dies[on.index()].doing == Doing::Nothing {
                self.plays_next(r, now, on, windows);
            }
        }
        if r.dies[die.index()].doing == Doing::Nothing {
            self.plays_next(r, now, die, windows);
        }
        if r.dies[die.index()].doing == Doing::Nothing
            && let Some(timers) = &mut r.timers
        {
            timers.clear(die.index());
        }
    }

    /// The next operation of a lane's chain, and its die: as `PageMap::step`.
    fn next_step(&self, r: &mut Replay, lane: Lane, pool: Pool) -> Option<Die> {
        let layout = &self.flash.layout;
        let (row, group) = (layout.units_per_row, layout.units_per_read);
        let ChainLeft { cursor, end, staged, .. } = r.chains[lane.index()].left;
        let lanes = self.ftl.lanes_of(pool);
        let first = if staged >= row { None } else { self.ftl.next_to_copy(cursor, end) };
        if let Some(first) = first {
            let group_end = if group == 1 { first + 1 } else { (first / group + 1) * group };
            let chain = &mut r.chains[lane.index()];
            chain.left.cursor = group_end;
            chain.left.brings =
                if group == 1 { 1 } else { self.ftl.valid_between(first, group_end) };
            (chain.left.reading, chain.units, chain.page) = (true, chain.left.brings, first);
            return Some(layout.die_of(lane));
        }
        if staged < row {
            r.chains[lane.index()].left.cursor = end;
            let goes_on = |other: &Lane| *other != lane && !r.chains[other.index()].done;
            let other = if staged > 0 { lanes.clone().find(goes_on) } else { None };
            if let Some(other) = other {
                r.chains[other.index()].left.staged += staged;
            }
            if staged == 0 || other.is_some() {
                r.chains[lane.index()].done = true;
                r.copying -= 1;
                return None;
            }
        }
        let to = r.next_copy_lane;
        r.next_copy_lane = lanes.after(to);
        let chain = &mut r.chains[lane.index()];
        (chain.left.reading, chain.units) = (false, staged.min(row));
        chain.left.staged -= chain.units;
        Some(layout.die_of(to))
    }

    /// The first operation that waits for an idle die begins, if its window lets it.
    fn plays_next(&self, r: &mut Replay, now: Instant, die: Die, windows: Option<WindowSchedule>) {
        let lane = r.dies[die.index()].first;
        if lane == NOBODY {
            return;
        }
        let (timing, layout) = (self.flash.timing(), &self.flash.layout);
        let Chain { left: ChainLeft { reading, .. }, units, page, next, .. } =
            r.chains[lane.index()];
        let crosses = |units: u32| match self.collector.copies_inside() {
            true => Duration::ZERO,
            false => timing.transfer(units * layout.unit_sectors),
        };
        let data = crosses(if reading { units } else { layout.units_per_row });
        let free = r.free[layout.channel_of(die).index()].max(now);
        let array = if reading { timing.longest_read() } else { timing.longest_program() };
        let others = if reading && !data.is_zero() {
            self.others_transfers_of_group()
        } else {
            Duration::ZERO
        };
        let length = free.since(now) + timing.command + data + array + others;
        if windows.is_some_and(|windows| !windows.holds(now, length)) {
            r.paused = true;
            return;
        }
        let entry = &mut r.dies[die.index()];
        (entry.first, entry.lane) = (next, lane);
        let (command, at) = if reading {
            entry.doing = if data.is_zero() { Doing::Reads } else { Doing::Senses };
            (free + timing.command, free + timing.command + timing.read(layout, Ppn(page)))
        } else {
            entry.doing = Doing::Programs;
            (free + timing.command + data, free + timing.command + data + timing.means().1)
        };
        r.free[layout.channel_of(die).index()] = command;
        r.set(die, at);
    }
}

impl Replay {
    /// Forgets the replay: pages became stale.
    pub fn forget(&mut self) {
        self.key = None;
    }

    fn set(&mut self, die: Die, at: Instant) {
        if let Some(timers) = &mut self.timers {
            timers.set(die.index(), at);
        }
    }

    /// The chain's operation waits for the die.
    pub(super) fn list(&mut self, die: Die, lane: Lane) {
        self.chains[lane.index()].next = NOBODY;
        let entry = &mut self.dies[die.index()];
        let last = std::mem::replace(&mut entry.last, lane);
        if entry.first == NOBODY {
            entry.first = lane;
        } else {
            self.chains[last.index()].next = lane;
        }
    }

    /// From when on the die serves others.
    fn free_after(&self, drive: &Drive, pool: Pool, kept: Kept) -> Instant {
        let Kept { die, block } = kept;
        if self.paused {
            let due = self.timers.as_ref().and_then(|timers| timers.due(die.index()));
            return due
                .filter(|_| self.dies[die.index()].doing != Doing::Nothing)
                .unwrap_or(self.end)
                .max(self.end);
        }
        let layout = &drive.flash.layout;
        let is_erased = |lane: &Lane| {
            let victim = drive.ftl.victim_block(*lane);
            victim != block && !drive.ftl.is_being_read(victim)
        };
        let erases = drive
            .ftl
            .lanes_of(pool)
            .filter(|lane| layout.die_of(*lane) == die)
            .filter(is_erased)
            .count();
        // The first erase of each die has its command on the channel in the order of lanes.
        let channel = layout.channel_of(die);
        let (mut ahead, mut last) = (0, None);
        for lane in drive.ftl.lanes_of(pool).filter(is_erased) {
            let of = layout.die_of(lane);
            if of == die {
                break;
            }
            if layout.channel_of(of) == channel && last != Some(of) {
                (ahead, last) = (ahead + 1, Some(of));
            }
        }
        let forced = self.key.is_some_and(|key| key.forced);
        let commands = drive.flash.timing().erase_command * ahead;
        let end = drive.erases_in_window(
            self.free[channel.index()].max(self.end) + commands,
            erases,
            forced,
        );
        if erases == 0 { self.end } else { end.max(self.end) }
    }
}
