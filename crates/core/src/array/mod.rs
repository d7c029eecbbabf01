//! An array of drives: RAID over members that are seen only through their commands and completions.
//!
//! [`Array`] is a [`Storage`], as a drive is. Reads are split into *pieces*, what lies together on
//! one member; writes into pages, which gather by *row* and are written with their parity, as in
//! Linux md's stripe cache. What a strategy chooses (`strategy/`) is done in `read.rs` and
//! `write.rs`. Parity is the real parity of the stamps that stand for pages (`parity.rs`), so that
//! a wrong reconstruction is a wrong read.
//!
//! Order at one instant: the host, timers of the array, members by number.
//!
//! Simplified: the host's own work takes no time but `array.xor`; writes go page by page, as in md,
//! and neighbours are not merged; deallocations are not handed on (md's default for parity levels),
//! so pages keep what they hold.

mod assemble;
mod books;
mod content;
mod destage;
mod impaired;
pub mod layout;
mod link;
mod members;
mod parity;
mod piece;
mod read;
mod rows;
mod spec;
mod storage;
pub mod strategy;
mod timeline;
mod under_way;
mod write;

#[cfg(test)]
mod tests;

pub use assemble::{Shape, member_seed};
pub use layout::{ArrayLayout, RaidLevel};
pub use link::{Matter, MemberLink, Stamps};
pub use spec::{ArraySpec, ReadStrategy};
pub use strategy::Strategy;

use crate::drive::{Command, CommandId, Completion, Op, PredictableLatency, Status};
use crate::nvme::Controller;
use crate::sim::Slab;
use crate::stats::ArrayCounters;
use crate::units::{Duration, Instant, Lba, Member};
pub use members::Failure;
use members::{MemberDrive, State};
use piece::{Piece, PieceId, Rebuild, RebuildId};
use rows::Rows;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use under_way::{Io, Owner, Request, RequestId, Timer};

/// Drives behind one address space: models, or drives elsewhere.
#[derive(Clone, Debug)]
pub struct Array<L: MemberLink = Controller> {
    layout: ArrayLayout,
    spec: ArraySpec,
    members: Vec<MemberDrive<L>>,
    /// The pages behind the stamps.
    matter: L::Matter,
    strategy: Box<dyn Strategy>,
    requests: Slab<RequestId, Request>,
    ios: Slab<CommandId, Io>,
    pieces: Slab<PieceId, Piece>,
    rebuilds: Slab<RebuildId, Rebuild>,
    rows: Rows,
    writes: write::WriteBack,
    timers: BinaryHeap<Reverse<(Instant, u64, Timer)>>,
    /// Tells timers of one instant apart, and reads of one use of a slot from those of another.
    sequence: u64,
    done: VecDeque<Completion>,
    content: bool,
    /// The empty drive that takes the place of one that fails, whose place it took, and the row
    /// that is restored next.
    spare: Option<L>,
    replaced: Member,
    /// The member that was there before, for what it counted.
    retired: Option<Box<MemberDrive<L>>>,
    restored: u32,
    /// A member failed, or takes no writes any more.
    is_impaired: bool,
    failures: Vec<Failure>,
    /// Everything before this instant was done, and what members below this one do at it.
    seen: (Instant, usize),
    counters: ArrayCounters,
    /// Where requests' time goes, and the slow ones of them, where asked for.
    books: Option<Box<books::Books>>,
    timeline: Option<Box<timeline::Timeline>>,
}

impl<L: MemberLink> Array<L> {
    /// Counters of the array's own.
    pub fn own_counters(&self) -> ArrayCounters {
        let (members, kept_pages) = (self.members() as u64, self.writes.kept());
        ArrayCounters { members, kept_pages, ..self.counters }
    }

    /// Drives that it began with, without the spare.
    pub fn members(&self) -> usize {
        self.members.len()
    }

    /// Rows and commands under way, for a report of a run that is stuck.
    pub fn describe(&self) -> String {
        let rows = self.rows.under_way().map(|row| format!("{row:?}\n"));
        let live = self
            .ios
            .places()
            .filter(|io| self.ios[*io].live)
            .map(|io| format!("{:?}\n", self.ios[io]));
        format!("{:?}\n", self.writes) + &rows.chain(live).collect::<String>()
    }

    /// Rows under way.
    pub fn rows_under_way(&self) -> usize {
        self.rows.len()
    }

    fn set_timer(&mut self, at: Instant, timer: Timer) {
        self.sequence += 1;
        self.timers.push(Reverse((at, self.sequence, timer)));
        self.book_timer(self.sequence, timer);
    }

    fn ticket(&mut self) -> u32 {
        self.sequence += 1;
        self.sequence as u32
    }

    /// When the array itself does something next.
    #[inline]
    fn own_next(&self) -> Instant {
        let timer = self.timers.peek().map_or(Instant::NEVER, |Reverse((at, ..))| *at);
        timer.min(self.strategy.next_turn())
    }

    fn own_turn(&mut self, now: Instant) {
        if self.strategy.next_turn() == now {
            let (members, level) = (&mut self.members, self.spec.level);
            let mut change =
                |member: Member, windows| members[member.index()].set_windows(now, windows, level);
            self.strategy.turn(now, &mut change);
            return;
        }
        let Some(Reverse((_, number, timer))) = self.timers.pop() else { return };
        self.book_timer_end(now, number, timer);
        match timer {
            Timer::Computed { piece, ticket } => self.computed(now, piece, ticket),
            Timer::Hedge { piece, ticket } => self.hedge(now, piece, ticket),
            Timer::Write { slot, index } => self.submit_write(now, slot, index),
            Timer::Answer { request } => self.part_done(now, request),
            Timer::Fail => self.member_dies(now),
            Timer::Bury { member } => self.bury(now, member),
            Timer::Replace { member } => self.replace_member(now, member),
            Timer::Restore => self.restore_next(now),
        }
    }

    /// Submits a command to a member.
    fn submit_io(&mut self, now: Instant, member: Member, owner: Owner, command: Command) {
        let (is_read, pages) = (command.op == Op::Read, u64::from(command.sectors));
        let io = self.ios.insert(Io { owner, member, at: now, is_read, live: true });
        self.book_io(io);
        if is_read {
            self.counters.drive_reads += 1;
            self.strategy.submitted(now, member, io);
        } else if command.op == Op::Write {
            self.counters.drive_writes += 1;
            self.strategy.wrote(pages * crate::units::SECTOR);
        }
        self.members[member.index()].submit(now, Command { id: io, ..command });
    }

    /// A read of `sectors` from `lba` on.
    fn read_command(lba: Lba, sectors: u32, predictable: PredictableLatency) -> Command {
        Command {
            id: CommandId::default(),
            op: Op::Read,
            lba,
            sectors,
            fua: false,
            predictable,
            stream: 0,
            queue: 0,
            payload: None,
        }
    }

    /// A member's completion.
    fn io_done(&mut self, completion: Completion) {
        let Io { owner, member, at, is_read, .. } = self.ios[completion.id];
        self.ios[completion.id].live = false;
        self.ios.release(completion.id);
        if is_read {
            self.strategy.completed(member, completion.id, completion.at.since(at));
        }
        let now = completion.at;
        self.book_io_end(now, completion.id, completion.status);
        self.counters.fast_fails +=
            u64::from(completion.status == Status::PredictableLatencyNotMet);
        match owner {
            Owner::Direct { piece, ticket } => self.direct_done(now, piece, ticket, completion),
            Owner::Rest { rebuild, ticket } => {
                self.rest_done(now, rebuild, ticket, member, completion)
            }
            Owner::Old { slot, index, ticket } => {
                self.old_done(now, slot, index, ticket, completion)
            }
            Owner::Write { slot, index } => {
                self.write_done(now, (slot, index), member, completion.status)
            }
            Owner::Flush { request } => {
                if !self.does_without(now, member, completion.status) {
                    self.note_status(request, completion.status);
                }
                self.part_done(now, request);
            }
        }
    }

    fn note_status(&mut self, request: RequestId, status: Status) {
        // One part that was turned away makes the request one, whichever part comes last.
        if status != Status::Success && self.requests[request].status.is_served() {
            self.requests[request].status = status;
        }
    }

    /// A part of the request is done; the last one completes it.
    fn part_done(&mut self, now: Instant, request: RequestId) {
        let r = &mut self.requests[request];
        r.left -= 1;
        if r.left > 0 {
            return;
        }
        self.book_completion(now, request);
        self.timeline_completes(now, request);
        let r = &mut self.requests[request];
        let completion = Completion {
            id: r.command.id,
            at: now,
            status: r.status,
            dnr: r.status != Status::Success,
            result64: 0,
            gc_blocked: r.gc_blocked,
            gc_blocked_at_split: r.gc_blocked_at_split,
            payload: r.versions.take(),
        };
        r.command.payload = None;
        let mut piece = std::mem::replace(&mut r.pieces, PieceId::NIL);
        while piece != PieceId::NIL {
            self.pieces.release(piece);
            piece = self.pieces[piece].next;
        }
        self.requests.release(request);
        self.done.push_back(completion);
    }

    fn begin_flush(&mut self, now: Instant, request: RequestId) {
        let members = (0..self.spec.members).map(Member);
        let alive: Vec<Member> = members.filter(|member| self.is_written(*member)).collect();
        self.requests[request].left = alive.len() as u32;
        if alive.is_empty() {
            return self.answer(now, request, Duration::ZERO);
        }
        let command = self.requests[request].command.clone();
        for member in alive {
            let command = Command { payload: None, ..command.clone() };
            self.submit_io(now, member, Owner::Flush { request }, command);
        }
    }

    /// A request that needs nothing of the members.
    fn answer(&mut self, now: Instant, request: RequestId, after: Duration) {
        self.requests[request].left += 1;
        self.set_timer(now + after, Timer::Answer { request });
    }
}

/// Where an array's requests come in, and completions go out.
impl<L: MemberLink> Array<L> {
    /// The command arrives at `now`.
    pub fn submit(&mut self, now: Instant, command: Command) {
        let (op, end) = (command.op, command.lba.0.checked_add(u64::from(command.sectors)));
        let in_range = op == Op::Flush
            || (command.sectors > 0 && end.is_some_and(|end| end <= self.sectors()));
        let request = self.requests.insert(Request {
            command,
            left: 0,
            status: Status::Success,
            gc_blocked: false,
            gc_blocked_at_split: false,
            pieces: PieceId::NIL,
            versions: None,
        });
        self.book_request(now, request);
        self.timeline_begins(now, request);
        if !in_range {
            self.requests[request].status = Status::LbaOutOfRange;
            return self.answer(now, request, Duration::ZERO);
        }
        match op {
            Op::Read => self.begin_read(now, request),
            Op::Write => self.begin_write(now, request),
            Op::Flush => self.begin_flush(now, request),
            Op::Trim => self.answer(now, request, Duration::ZERO),
        }
    }

    /// Does everything that is due before `limit`, until the first completion.
    pub fn advance_before(&mut self, limit: Instant) -> Option<Completion> {
        loop {
            if let Some(completion) = self.done.pop_front() {
                self.tell_members();
                self.book_given();
                return Some(completion);
            }
            // The two members that are due first; of those due at one instant the one with the
            // lowest number.
            let (mut first, mut at, mut second, mut other) = (0, Instant::NEVER, Instant::NEVER, 0);
            for (number, member) in self.members.iter().enumerate() {
                if member.next < at {
                    (second, other, first, at) = (at, first, number, member.next);
                } else if member.next < second {
                    (second, other) = (member.next, number);
                }
            }
            let own = self.own_next();
            if own.min(at) >= limit {
                self.seen = (limit, 0);
                self.tell_members();
                return None;
            }
            if own <= at {
                self.seen = (own, 0);
                self.own_turn(own);
                continue;
            }
            // No member goes beyond what another may complete: that could submit to it. At that
            // very instant members go by number, however many events of their own led each of them
            // there.
            let behind = u64::from(first < other && second < Instant::NEVER);
            let until = limit.min(own).min(second + Duration::from_ns(behind));
            if let Some(completion) = self.members[first].advance_before(until) {
                self.seen = (completion.at, first);
                self.book_said(first);
                self.io_done(completion);
            }
        }
    }

    /// When something is due next.
    pub fn next_event_at(&self) -> Instant {
        if let Some(completion) = self.done.front() {
            return completion.at;
        }
        self.members
            .iter()
            .map(|member| member.next)
            .min()
            .unwrap_or(Instant::NEVER)
            .min(self.own_next())
    }

    /// Sectors that the host sees.
    pub fn sectors(&self) -> u64 {
        self.layout.pages() * u64::from(self.layout.page_sectors)
    }

    /// Sectors of a page.
    pub fn page_sectors(&self) -> u32 {
        self.layout.page_sectors
    }
}
