//! Writes: pages gather by row, parity is computed from old pages, and the row is written.
//!
//! Without a cache a write completes when all its rows are written. With one (protected memory) it
//! completes when its pages are in it; rows are written out in the order of their first page, so
//! many at a time, and gather meanwhile.
//!
//! Which pages are read for parity is Linux md's choice: read-modify-write (the old pages that are
//! written and the old parity) when that is fewer than reconstruct-write (the pages that are not
//! written). Where a member cannot be read, or failed a read fast, the choice falls on what need
//! not wait: any k pages of the row will do.

use super::link::{Matter, MemberLink};
use super::rows::{Phase, Row, RowId};
use super::under_way::RequestId;
use super::{Array, ArrayLayout, ArraySpec, Owner, Timer, parity};
use crate::drive::{Command, CommandId, Completion, Op, PredictableLatency, Stamp, Status};
use crate::units::{Duration, Instant, Member, SECTOR};
use std::collections::VecDeque;

/// The cache of writes.
#[derive(Clone, Debug)]
pub(super) struct WriteBack {
    /// Pages that it holds at most; 0: there is none.
    pub room: u64,
    pub held: u64,
    /// Of those, the ones that no member took.
    pub kept: u64,
    /// Rows that wait to be written out, and how many are being.
    pub queue: VecDeque<RowId>,
    pub active: u32,
    pub depth: u32,
    /// [`Array::write_out`] begins rows.
    pub begins: bool,
    /// Requests that wait for room.
    stalled: VecDeque<RequestId>,
    /// A new member: the row that is restored next, and those that are being.
    pub next_restore: u32,
    pub restoring: Vec<u32>,
    /// Requests that are being told that their row is written: a place that is used again.
    told: Vec<RequestId>,
}

impl WriteBack {
    pub fn new(spec: &ArraySpec, layout: &ArrayLayout) -> Self {
        let room = spec.cache.get() / (u64::from(layout.page_sectors) * SECTOR);
        Self {
            room,
            held: 0,
            kept: 0,
            queue: VecDeque::new(),
            active: 0,
            depth: spec.destage_depth.max(1),
            begins: false,
            stalled: VecDeque::new(),
            next_restore: 0,
            restoring: Vec::new(),
            told: Vec::new(),
        }
    }

    /// Pages that no member took.
    pub fn kept(&self) -> u64 {
        self.kept
    }
}

impl Row {
    /// True when the update writes page `index`: a data page that is dirty or restored, or a
    /// parity.
    pub fn written(&self, index: u32, layout: &ArrayLayout) -> bool {
        let pages = self.now.dirty() & !self.baseless;
        index >= layout.data && pages != 0 || (pages | self.restore) >> index & 1 == 1
    }
}

impl<L: MemberLink> Array<L> {
    pub(super) fn begin_write(&mut self, now: Instant, request: RequestId) {
        if self.writes.room == 0 {
            self.take_pages(now, request, true);
            return;
        }
        if !self.writes.stalled.is_empty() || !self.fits(request) {
            return self.writes.stalled.push_back(request);
        }
        self.take_pages(now, request, false);
        self.answer(now, request, Duration::ZERO);
    }

    /// A request fits when the cache has room for its pages, or is empty.
    fn fits(&self, request: RequestId) -> bool {
        let command = &self.requests[request].command;
        let pages = u64::from(command.sectors / self.layout.page_sectors) + 2;
        self.writes.held == self.writes.kept || self.writes.held + pages <= self.writes.room
    }

    /// Puts the request's pages into their rows. With `waits` it completes when they are written.
    /// Pages that no member would keep are refused.
    fn take_pages(&mut self, now: Instant, request: RequestId, waits: bool) {
        let (lba, sectors) = (
            self.requests[request].command.lba.0,
            u64::from(self.requests[request].command.sectors),
        );
        let per_page = u64::from(self.layout.page_sectors);
        let pages = lba / per_page..(lba + sectors).div_ceil(per_page);
        for page in pages.clone() {
            let place = self.layout.place(page);
            if !self.keeps(place.row, place.index) {
                self.counters.refused_pages += 1;
                self.note_status(request, Status::NamespaceWriteProtected);
                continue;
            }
            let whole = page * per_page >= lba && (page + 1) * per_page <= lba + sectors;
            let stamp = self.requests[request]
                .command
                .payload
                .as_ref()
                .map(|all| all[(page - pages.start) as usize]);
            let slot = self.rows.enter(place.row);
            let row = &mut self.rows[slot];
            let gathers = matches!(row.phase, Phase::Idle | Phase::Gathering);
            let set = if gathers { &mut row.now } else { &mut row.next };
            self.writes.held += u64::from(set.dirty() >> place.index & 1 == 0);
            set.put(&mut self.matter, place.index, whole, stamp, self.layout.data);
            if waits && set.waiters.last() != Some(&request) {
                set.waiters.push(request);
                self.requests[request].left += 1;
            }
            if gathers {
                row.phase = Phase::Gathering;
            }
        }
        if waits && self.requests[request].left == 0 {
            return self.answer(now, request, Duration::ZERO);
        }
        for page in pages {
            if let Some(slot) = self.rows.find(self.layout.place(page).row) {
                self.wants_update(now, slot);
            }
        }
    }

    pub(super) fn begin_update(&mut self, now: Instant, slot: RowId) {
        let ticket = self.ticket();
        let row = &mut self.rows[slot];
        (row.phase, row.ticket) = (Phase::Reading, ticket);
        self.led_by_nothing(|array| array.look_at_update(now, slot, true));
    }

    /// Asks for the old pages that the update still needs; goes on when there are none.
    fn look_at_update(&mut self, now: Instant, slot: RowId, first: bool) {
        self.fail_who_cannot_read(now, slot);
        let row = &self.rows[slot];
        if row.restore != 0 && self.obtainable(slot).count_ones() < self.layout.data {
            return self.give_up_restoring(now, slot);
        }
        let (needed, method) = self.plan(now, slot);
        let row = &self.rows[slot];
        if needed & !row.known == 0 {
            match method {
                Method::Nothing => self.counters.full_rows += 1,
                Method::ReadModifyWrite => self.counters.read_modify_writes += 1,
                Method::ReconstructWrite | Method::Any => self.counters.reconstruct_writes += 1,
            }
            self.counters.reconstructs += u64::from(method == Method::Any && row.restore == 0);
            return self.update_ready(now, slot);
        }
        let (missing, refused) = (needed & !row.known & !row.asked, row.refused);
        for index in (0..self.layout.members).filter(|index| missing >> index & 1 == 1) {
            let flag = match refused >> index & 1 == 1 {
                true => PredictableLatency::MustWait,
                false => self.strategy.flag_of_pre_reads(),
            };
            self.counters.must_waits += u64::from(flag == PredictableLatency::MustWait);
            let (number, ticket) = (self.rows[slot].row, self.rows[slot].ticket);
            self.rows[slot].asked |= 1 << index;
            let (lba, member) = (self.layout.lba(number), self.layout.member(number, index));
            let command = Self::read_command(lba, self.layout.page_sectors, flag);
            self.submit_io(now, member, Owner::Old { slot, index, ticket }, command);
        }
        if !first && missing != 0 && missing & refused == missing {
            self.counters.double_fails += 1;
        }
    }

    /// The old pages that the update is to read, as a mask by index, and what for.
    fn plan(&self, now: Instant, slot: RowId) -> (u32, Method) {
        let row = &self.rows[slot];
        let (k, n) = (self.layout.data, self.layout.members);
        let (data, parity) = ((1u32 << k) - 1, ((1u64 << n) - 1) as u32 & !((1u32 << k) - 1));
        let readable = self.obtainable(slot);
        let dirty = row.now.dirty();
        let kept = parity & self.alive(row.row);
        let modify = Plan { set: dirty | kept, method: Method::ReadModifyWrite };
        let rest = Plan { set: data & !row.now.full, method: Method::ReconstructWrite };
        let nothing = Plan { set: row.now.partial, method: Method::Nothing };
        if row.restore == 0 && (row.now.full == data || kept == 0) && nothing.set & !readable == 0 {
            return (nothing.set, Method::Nothing);
        }
        // Of equals reconstruct-write, as md does.
        let plans: &[Plan] = if row.restore == 0 { &[rest, modify] } else { &[] };
        let wait_of = |set: u32| {
            let refusals = row.refusals.iter().filter(|(index, _)| set >> index & 1 == 1);
            let refusals = refusals.map(|(_, free_at)| free_at.saturating_sub(now.as_ns()));
            let avoided = (0..n)
                .filter(|index| set & !row.known & !row.asked & !row.refused & 1 << index != 0);
            let avoided = avoided
                .filter_map(|index| self.strategy.avoids(now, self.layout.member(row.row, index)));
            refusals.chain(avoided.map(Duration::as_ns)).max().unwrap_or(0)
        };
        let better = |best: Option<(u64, u32, Plan)>, plan: &Plan| {
            let (wait, reads) =
                (wait_of(plan.set & !row.known), (plan.set & !row.known).count_ones());
            let is_better = best.is_none_or(|(w, r, _)| (wait, reads) < (w, r));
            if plan.set & !readable == 0 && is_better { Some((wait, reads, *plan)) } else { best }
        };
        let mut best = plans.iter().fold(None, better);
        if best.is_none_or(|(wait, ..)| wait > 0) {
            best =
                better(best, &Plan { set: self.any_of(now, slot, readable), method: Method::Any });
        }
        best.map_or((0, Method::Any), |(_, _, plan)| (plan.set, plan.method))
    }

    /// k pages of the row from which all others follow: known ones first, then those that come
    /// soonest.
    fn any_of(&self, now: Instant, slot: RowId, readable: u32) -> u32 {
        let row = &self.rows[slot];
        let mut order: Vec<(u64, u32)> = (0..self.layout.members)
            .filter(|index| readable >> index & 1 == 1)
            .map(|index| {
                let bit = 1 << index;
                let avoided = self.strategy.avoids(now, self.layout.member(row.row, index));
                let refusal = row.refusals.iter().find(|(other, _)| *other == index);
                let wait = match (row.known & bit != 0, refusal, avoided) {
                    (true, ..) => 0,
                    (_, Some((_, free_at)), _) => {
                        free_at.saturating_sub(now.as_ns()).saturating_add(2)
                    }
                    (_, None, _) if row.asked & bit != 0 => 1,
                    (_, None, avoided) => avoided.map_or(1, |left| left.as_ns() + 2),
                };
                (wait, index)
            })
            .collect();
        order.sort_unstable();
        order.iter().take(self.layout.data as usize).fold(0, |set, (_, index)| set | 1 << index)
    }

    /// Pages of the row whose members are written.
    fn alive(&self, row: u32) -> u32 {
        let is_alive = |index: &u32| self.is_written(self.layout.member(row, *index));
        (0..self.layout.members).filter(is_alive).fold(0, |set, index| set | 1 << index)
    }

    /// An old page came, or did not.
    pub(super) fn old_done(
        &mut self,
        now: Instant,
        slot: RowId,
        index: u32,
        ticket: u32,
        completion: Completion,
    ) {
        let n = self.layout.members as usize;
        let row = &mut self.rows[slot];
        if row.ticket != ticket || row.phase != Phase::Reading {
            return;
        }
        row.asked &= !(1 << index);
        if completion.status == Status::Success {
            row.known |= 1 << index;
            if let Some(version) = completion.payload.as_deref().and_then(|payload| payload.first())
            {
                row.old.resize(n, 0);
                row.old[index as usize] = *version;
            }
        } else {
            row.refused |= 1 << index;
            match completion.status {
                Status::PredictableLatencyNotMet => {
                    row.refusals.push((index, now.as_ns().saturating_add(completion.result64)));
                }
                // Nobody asks a member that failed again.
                Status::Aborted => {}
                _ => row.unread |= 1 << index,
            }
        }
        self.look_at_update(now, slot, false);
    }

    /// Everything is known: the row is written as soon as nobody reads it whole.
    fn update_ready(&mut self, now: Instant, slot: RowId) {
        self.rows[slot].phase = Phase::Ready;
        match self.rows[slot].readers {
            0 => self.write_row(now, slot),
            _ => self.book_ready(slot),
        }
    }

    /// A reader of the whole row has left.
    pub(super) fn reader_left(&mut self, now: Instant, slot: RowId) {
        if self.rows[slot].readers == 0 && self.rows[slot].phase == Phase::Ready {
            self.led_by_readers(slot, |array| array.write_row(now, slot));
        }
        self.rows.leave(slot);
    }

    fn write_row(&mut self, now: Instant, slot: RowId) {
        let row = &mut self.rows[slot];
        if row.known.count_ones() < self.layout.data {
            row.baseless = row.now.partial & !row.known;
        }
        self.compute_row(slot);
        let number = self.rows[slot].row;
        self.rows.writing_turns(number);
        let (alive, layout) = (self.alive(number), &self.layout);
        let row = &mut self.rows[slot];
        row.phase = Phase::Writing;
        let written = (0..layout.members)
            .filter(|index| alive >> index & 1 == 1 && row.written(*index, layout));
        let written = written.fold(0u32, |set, index| set | 1 << index);
        row.pending = written.count_ones();
        let blocked = std::mem::take(&mut row.blocked);
        for index in (0..self.layout.members).filter(|index| written >> index & 1 == 1) {
            let at = self.strategy.writes_at(now, self.layout.member(number, index));
            if at == now {
                self.submit_write(now, slot, index)
            } else {
                self.set_timer(at, Timer::Write { slot, index })
            }
        }
        for rebuild in blocked {
            self.led_by_rows(rebuild, |array| array.enter_rows(now, rebuild));
        }
        if written == 0 {
            self.update_done(now, slot);
        }
    }

    pub(super) fn submit_write(&mut self, now: Instant, slot: RowId, index: u32) {
        let row = &self.rows[slot];
        let (lba, member) = (self.layout.lba(row.row), self.layout.member(row.row, index));
        if self.members[member.index()].state == super::members::State::Dead {
            return self.write_done(now, (slot, index), member, Status::Aborted);
        }
        let stamp =
            row.new.get(index as usize).map(|version| Stamp { version: *version, beneath: 0 });
        let command = Command {
            id: CommandId::default(),
            op: Op::Write,
            lba,
            sectors: self.layout.page_sectors,
            fua: false,
            predictable: PredictableLatency::Off,
            stream: 0,
            queue: 0,
            payload: stamp.map(|stamp| vec![stamp].into_boxed_slice()),
        };
        self.submit_io(now, member, Owner::Write { slot, index }, command);
    }

    /// Computes the content of the row after the update.
    fn compute_row(&mut self, slot: RowId) {
        if !self.content {
            return;
        }
        let (layout, row, matter) = (&self.layout, &self.rows[slot], &mut self.matter);
        let (k, n) = (layout.data, layout.members);
        let known: parity::Row = (0..n)
            .map(|index| (row.known >> index & 1 == 1).then(|| row.old[index as usize]))
            .collect();
        let old = |matter: &mut L::Matter, at| parity::recover(matter, layout, &known, at);
        let new = |matter: &mut L::Matter, index: u32| {
            let stamp = row.now.stamps.get(index as usize).copied().unwrap_or_default();
            match (row.now.full >> index & 1 == 1, row.now.partial >> index & 1 == 1) {
                (true, _) => Some(stamp.version),
                (_, true) => {
                    let beneath = old(matter, index).unwrap_or(Stamp::TORN);
                    Some(matter.over(stamp, beneath))
                }
                _ => old(matter, index),
            }
        };
        let mut all: parity::Row = (0..k).map(|index| new(matter, index)).collect();
        all.resize(n as usize, None);
        if all[..k as usize].iter().all(Option::is_some) {
            for index in k..n {
                all[index as usize] = parity::recover(matter, layout, &all, index);
            }
        } else {
            // Read-modify-write: what changed, on top of the old parity.
            for index in k..n {
                let mut sum = known[index as usize].unwrap_or(Stamp::TORN);
                for at in (0..k).filter(|at| row.now.dirty() >> at & 1 == 1) {
                    let old = old(matter, at).unwrap_or(Stamp::TORN);
                    let change = matter.sum(old, all[at as usize].unwrap_or(Stamp::TORN));
                    let share = parity::share(matter, layout.level, index - k, at, change);
                    sum = matter.sum(sum, share);
                }
                all[index as usize] = Some(sum);
            }
        }
        self.rows[slot].new = all.into_iter().map(Option::unwrap_or_default).collect();
    }

    /// A member has written its page of the row, or has not: then it is failed, and the row is
    /// whole without it; or it is not, and the page is not written.
    pub(super) fn write_done(
        &mut self,
        now: Instant,
        (slot, index): (RowId, u32),
        member: Member,
        status: Status,
    ) {
        self.does_without(now, member, status);
        let row = &mut self.rows[slot];
        row.landed |= u32::from(status == Status::Success) << index;
        row.pending -= 1;
        if row.pending == 0 {
            self.update_done(now, slot);
        }
    }

    fn update_done(&mut self, now: Instant, slot: RowId) {
        self.keep_what_no_member_took(slot);
        let waiters = std::mem::replace(
            &mut self.rows[slot].now.waiters,
            std::mem::take(&mut self.writes.told),
        );
        self.writes.held -= u64::from(self.rows[slot].now.dirty().count_ones());
        let (restored, landed) =
            (std::mem::take(&mut self.rows[slot].restore), self.rows[slot].landed);
        let number = self.rows[slot].row;
        self.rows.writing_turns(number);
        self.rows[slot].turn_over();
        for request in &waiters {
            self.part_done(now, *request);
        }
        self.writes.told = waiters;
        self.writes.told.clear();
        if self.writes.room > 0 && restored == 0 {
            self.writes.active -= 1;
        }
        self.wants_update(now, slot);
        self.rows.leave(slot);
        self.write_out(now);
        self.admit_stalled(now);
        if restored != 0 {
            self.row_restored(now, number, restored & !landed == 0);
        }
    }

    fn admit_stalled(&mut self, now: Instant) {
        while let Some(request) = self.writes.stalled.front().copied()
            && self.fits(request)
        {
            self.writes.stalled.pop_front();
            self.led_by_room(request, |array| {
                array.take_pages(now, request, false);
                array.answer(now, request, Duration::ZERO);
            });
        }
    }
}

/// The way to a new parity, which says which old pages are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Method {
    /// Nothing, or only the rest of pages that are written in part.
    Nothing,
    ReadModifyWrite,
    ReconstructWrite,
    /// Any k pages: the others are computed.
    Any,
}

#[derive(Clone, Copy, Debug)]
struct Plan {
    set: u32,
    method: Method,
}
