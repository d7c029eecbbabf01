//! The drive's ports: submission queues, host link in both directions, controller delay, and the
//! controller's cores and DRAM where they are limited (`limits`).
//!
//! A command is asked for towards the host, behind the data that goes there, and comes with the
//! data of a write; a completion follows its data. Bytes of all three are settings, none by
//! default. The link is a FIFO resource in each direction and the controller a fixed delay, so both
//! keep their order: rings of (time, item) and a next free time are exact, and need no timers.

use super::heat::Heat;
use super::limits::Limits;
use super::throttle::Throttle;
use super::waiting::Waiting;
use crate::drive::{Command, CommandId, Completion, Drive, DriveSpec, Op, RequestId, Status};
use crate::ftl::PageMap;
use crate::sim::Line;
use crate::units::{Bandwidth, Duration, Instant, Lba, SECTOR};
use std::collections::VecDeque;

/// Between the host and the controller.
#[derive(Clone, Debug)]
pub(in crate::drive) struct Ports {
    link: Bandwidth,
    no_link: bool,
    /// Of the last transfer without data, and with: how many bytes, and how long they take.
    known: [(u64, Duration); 2],
    /// Bytes on the link beside the data: of the request for a command, of it, of a completion.
    fetch_bytes: u64,
    command_bytes: u64,
    completion_bytes: u64,
    controller: Duration,
    /// Commands fetched at once; 0 is unlimited.
    depth: u32,
    fetched: u32,
    /// Neither a place nor a core is ever waited for.
    is_unlimited: bool,
    /// Nothing takes time between the queue and the work on the command.
    is_at_once: bool,
    /// Both.
    is_open: bool,
    waiting: Waiting,
    limits: Option<Box<Limits>>,
    arriving: VecDeque<(Instant, Command)>,
    leaving: Line<Leaving>,
    /// Results and contents, which few completions carry, in their order.
    extras: VecDeque<Extra>,
    /// When the first of `arriving` and of `leaving` is due.
    arrives_at: Instant,
    leaves_at: Instant,
    /// The earlier of the two, or when the limits are due: asked before every event of the drive.
    next_at: Instant,
    in_free_at: Instant,
    out_free_at: Instant,
}

/// A completion on its way to the host. A closed loop makes and takes one for each request, so it
/// is small.
#[derive(Clone, Copy, Debug)]
struct Leaving {
    at: Instant,
    id: CommandId,
    status: Status,
    gc_blocked: bool,
    gc_blocked_at_split: bool,
    /// An [`Extra`] belongs to it.
    has_extra: bool,
}

/// Of the controller's limits.
#[derive(Clone, Copy, Debug)]
pub(super) enum Turn {
    /// A core is idle.
    Worked,
    /// A write that was held since then goes on.
    Admitted { id: CommandId, since: Instant },
    /// Data are in the DRAM.
    Landed,
}

const _: () = assert!(size_of::<Leaving>() == 16, "a completion on its way is small");

impl Default for Leaving {
    fn default() -> Self {
        Self {
            at: Instant::NEVER,
            id: CommandId::default(),
            status: Status::Success,
            gc_blocked: false,
            gc_blocked_at_split: false,
            has_extra: false,
        }
    }
}

/// The rest of a completion, where there is any.
#[derive(Clone, Debug)]
struct Extra {
    result64: u64,
    payload: Option<Box<[u32]>>,
}

impl Ports {
    pub fn new(spec: &DriveSpec, unit_shift: u32) -> Self {
        let limits = Limits::new(&spec.firmware, unit_shift);
        let has_cores = limits.as_ref().is_some_and(|limits| limits.has_cores());
        let no_link = spec.link == Bandwidth::default();
        let is_unlimited = spec.queue_depth == 0 && !has_cores;
        let is_at_once = no_link && spec.controller.is_zero() && limits.is_none();
        Self {
            is_unlimited,
            is_at_once,
            is_open: is_unlimited && is_at_once,
            limits,
            link: spec.link,
            no_link,
            known: [(0, Duration::ZERO); 2],
            fetch_bytes: spec.link_fetch.get(),
            command_bytes: spec.link_command.get(),
            completion_bytes: spec.link_completion.get(),
            controller: spec.controller,
            depth: spec.queue_depth,
            fetched: 0,
            waiting: Waiting::new(&spec.firmware),
            arriving: VecDeque::new(),
            leaving: Line::default(),
            extras: VecDeque::new(),
            arrives_at: Instant::NEVER,
            leaves_at: Instant::NEVER,
            next_at: Instant::NEVER,
            in_free_at: Instant::START,
            out_free_at: Instant::START,
        }
    }

    /// True when a command that arrives is in the controller at once.
    #[inline]
    pub fn is_open(&self) -> bool {
        self.is_open
    }

    /// Counts a command as fetched.
    #[inline]
    pub fn count_fetched(&mut self) {
        self.fetched += 1;
    }

    /// True when another command may be fetched.
    #[inline]
    pub fn admits(&self) -> bool {
        self.is_unlimited || (self.has_place() && self.waiting.is_empty())
    }

    /// A place in the queue, and a core.
    #[inline]
    fn has_place(&self) -> bool {
        (self.depth == 0 || self.fetched < self.depth)
            && self.limits.as_ref().is_none_or(|limits| limits.has_idle_core())
    }

    pub fn queue(&mut self, command: Command) {
        self.waiting.push(command);
    }

    pub fn queued(&self) -> usize {
        let limited = self.limits.as_ref().map_or(0, |limits| limits.under_way());
        self.waiting.len() + self.arriving.len() + limited
    }

    pub fn take_queued(&mut self, id: CommandId) -> Option<Command> {
        self.waiting.remove(id)
    }

    /// True when commands may wait for a place or a core.
    #[inline]
    pub fn makes_wait(&self) -> bool {
        !self.is_unlimited
    }

    /// The next waiting command, when a completion or a core made room for it.
    #[inline]
    pub fn take_next_queued(&mut self) -> Option<Command> {
        if self.waiting.is_empty() || !self.has_place() { None } else { self.waiting.take() }
    }

    /// The time of `bytes` on the link; most requests are as large as the last one in their
    /// direction.
    #[inline]
    fn crossing(&mut self, bytes: u64) -> Duration {
        if self.no_link || bytes == 0 {
            return Duration::ZERO;
        }
        let known = &mut self.known[usize::from(bytes >= SECTOR)];
        if known.0 != bytes {
            *known = (bytes, self.link.time_for(bytes));
        }
        known.1
    }

    /// Counts a command as fetched; true when it is in the controller at once, else
    /// [`Ports::fetch`] says when.
    #[inline]
    pub fn fetches_at_once(&mut self) -> bool {
        self.count_fetched();
        self.is_at_once
    }

    /// A fetched command is worked on by a core, if there are cores, and crosses the link and the
    /// controller.
    pub fn fetch(&mut self, now: Instant, command: Command) {
        match &mut self.limits {
            Some(limits) if limits.has_cores() => {
                limits.begin(now, command);
                self.look_ahead();
            }
            _ => self.cross(now, command),
        }
    }

    /// A command crosses the link and the controller, behind the writes that are throttled.
    #[inline(always)]
    fn cross(&mut self, now: Instant, command: Command) {
        match self.limits {
            Some(_) => self.cross_limited(now, command),
            None => self.cross_link(now, command),
        }
    }

    #[inline(never)]
    fn cross_limited(&mut self, now: Instant, command: Command) {
        let limits = self.limits.as_mut();
        match limits.and_then(|limits| limits.heat()).filter(|_| Heat::holds(command.op)) {
            Some(heat) => {
                heat.hold(now, command);
                self.look_ahead();
            }
            None => self.cross_cool(now, command),
        }
    }

    /// A command that the drive is cool enough for crosses the link, behind the writes that are
    /// throttled.
    fn cross_cool(&mut self, now: Instant, command: Command) {
        match self.throttle() {
            Some(throttle) if Throttle::holds(command.op) => {
                throttle.hold(now, command);
                self.look_ahead();
            }
            _ => self.cross_link(now, command),
        }
    }

    #[inline(always)]
    fn cross_link(&mut self, now: Instant, command: Command) {
        let data = if command.op == Op::Write { command.bytes() } else { 0 };
        let mut asked = now;
        if self.fetch_bytes > 0 {
            asked = self.out_free_at.max(now) + self.crossing(self.fetch_bytes);
            self.out_free_at = asked;
        }
        let crossing = self.crossing(self.command_bytes + data);
        self.in_free_at = self.in_free_at.max(asked) + crossing;
        match &mut self.limits {
            Some(limits) if limits.has_dram() => limits.land(self.in_free_at, command),
            _ => self.arrives(self.in_free_at + self.controller, command),
        }
        self.look_ahead();
    }

    /// A command is in the controller at `at`.
    #[inline]
    fn arrives(&mut self, at: Instant, command: Command) {
        if self.arriving.is_empty() {
            self.arrives_at = at;
        }
        self.arriving.push_back((at, command));
    }

    /// The limits bring at `now` the end of a core's work, one that is admitted, or a command
    /// that has landed.
    pub(super) fn limits_turn(&mut self, now: Instant, ftl: &PageMap) -> Option<Turn> {
        let limits = self.limits.as_mut()?;
        if let Some(command) = limits.take_worked(now) {
            self.cross(now, command);
            return Some(Turn::Worked);
        }
        if let Some((since, command)) = limits.heat().and_then(|it| it.admit(now)) {
            let id = command.id;
            self.cross_cool(now, command);
            return Some(Turn::Admitted { id, since });
        }
        if let Some((since, command)) = limits.throttle().and_then(|it| it.admit(now, ftl)) {
            let id = command.id;
            self.cross_link(now, command);
            return Some(Turn::Admitted { id, since });
        }
        let command = limits.take_landed(now)?;
        let data = if command.op == Op::Write { command.bytes() } else { 0 };
        let at = limits.cross_dram(now, data) + self.controller;
        // A command without data does not pass those that bring some: their order is kept.
        let last = self.arriving.back().map_or(at, |(last, _)| *last);
        self.arrives(at.max(last), command);
        self.look_ahead();
        Some(Turn::Landed)
    }

    /// The throttle of writes, if there is one.
    pub fn throttle(&mut self) -> Option<&mut Throttle> {
        self.limits.as_mut()?.throttle()
    }

    /// When these bytes have crossed the DRAM, in and out.
    #[inline]
    pub fn cross_dram(&mut self, now: Instant, bytes: u64) -> Instant {
        self.limits.as_mut().map_or(now, |limits| limits.cross_dram(now, bytes))
    }

    /// True where the controller's cores, its DRAM or its writes are limited.
    #[inline]
    pub fn is_limited(&self) -> bool {
        self.limits.is_some()
    }

    /// Work of a core for such a command.
    pub fn core_work(&self, op: Op, lba: Lba, sectors: u32) -> Duration {
        self.limits.as_ref().map_or(Duration::ZERO, |limits| limits.work(op, lba, sectors))
    }

    #[inline]
    pub fn take_arrival(&mut self, now: Instant) -> Option<Command> {
        if self.arrives_at != now {
            return None;
        }
        let (_, command) = self.arriving.pop_front()?;
        self.arrives_at = self.arriving.front().map_or(Instant::NEVER, |(at, _)| *at);
        self.look_ahead();
        Some(command)
    }

    /// Time of a core and of the DRAM for such a read, alone.
    pub fn unloaded_read(&self, sectors: u32) -> Duration {
        let work = |limits: &Limits| {
            limits.work(Op::Read, Lba(0), sectors) + limits.dram_time(u64::from(sectors) * SECTOR)
        };
        self.limits.as_deref().map_or(Duration::ZERO, work)
    }

    /// Sends a completion; `bytes` of read data go with it. Says when it reaches the host.
    #[inline]
    fn complete(&mut self, now: Instant, leaving: Leaving, bytes: u64) -> Instant {
        let ready = self.cross_dram(now, bytes);
        let bytes = bytes + self.completion_bytes;
        let crossing = self.crossing(bytes);
        let at = self.out_free_at.max(ready) + crossing;
        self.out_free_at = at;
        self.leaves(Leaving { at, ..leaving });
        at
    }

    /// Sends a completion of which nothing else is to be said but whether garbage collection lay in
    /// its wait, and at its die when it arrived; and the data of a read. Says when it reaches the
    /// host.
    #[inline]
    pub fn complete_plainly(
        &mut self,
        now: Instant,
        id: CommandId,
        sectors: u32,
        (gc_blocked, gc_blocked_at_split): (bool, bool),
    ) -> Instant {
        let leaving =
            Leaving { at: now, id, gc_blocked, gc_blocked_at_split, ..Leaving::default() };
        if self.is_at_once {
            // Those before it leave now, too.
            self.leaving.push_back(leaving);
            (self.leaves_at, self.next_at) = (now, now);
            return now;
        }
        self.complete(now, leaving, u64::from(sectors) * SECTOR)
    }

    /// A completion follows those that are on their way.
    #[inline]
    fn leaves(&mut self, leaving: Leaving) {
        if self.leaving.is_empty() {
            self.leaves_at = leaving.at;
            self.next_at = self.next_at.min(leaving.at);
        }
        self.leaving.push_back(leaving);
    }

    /// Sends the completion of a command that was never fetched.
    pub fn complete_aborted(&mut self, now: Instant, command: Command) -> Instant {
        self.fetched += 1;
        let leaving = Leaving {
            at: now,
            id: command.id,
            status: Status::Aborted,
            gc_blocked: false,
            gc_blocked_at_split: false,
            has_extra: false,
        };
        self.complete(now, leaving, 0)
    }

    #[inline]
    pub fn take_completion(&mut self, now: Instant) -> Option<Completion> {
        if self.leaves_at != now {
            return None;
        }
        let leaving = self.leaving.pop_front()?;
        self.leaves_at = self.leaving.front().map_or(Instant::NEVER, |next| next.at);
        self.fetched -= 1;
        self.look_ahead();
        let Leaving { at, id, status, gc_blocked, gc_blocked_at_split, has_extra } = leaving;
        let extra = if has_extra { self.extras.pop_front() } else { None };
        let (result64, payload) =
            extra.map_or((0, None), |Extra { result64, payload }| (result64, payload));
        // A command that was aborted in the queue may be sent again.
        let dnr = !matches!(status, Status::Success | Status::Aborted);
        Some(Completion { id, at, status, dnr, result64, gc_blocked, gc_blocked_at_split, payload })
    }

    /// When a completion reaches the host or a command the controller.
    #[inline]
    pub fn next_at(&self) -> Instant {
        self.next_at
    }

    #[inline]
    fn look_ahead(&mut self) {
        self.next_at = self.leaves_at.min(self.arrives_at);
        if let Some(limits) = &self.limits {
            self.next_at = self.next_at.min(limits.next_at());
        }
    }
}

impl Drive {
    /// The command is done: its completion crosses the link.
    #[inline]
    pub(in crate::drive) fn finish_with(
        &mut self,
        now: Instant,
        request: RequestId,
        status: Status,
    ) {
        if self.requests[request].failed {
            if let Some(predictable) = &mut self.predictable {
                predictable.one_is_over();
            }
        } else {
            self.complete(now, request, status, 0);
        }
        self.requests.release(request);
    }

    /// The command completes, and its request keeps its place.
    #[inline]
    pub(in crate::drive) fn complete(
        &mut self,
        now: Instant,
        request: RequestId,
        status: Status,
        result64: u64,
    ) {
        let r = &mut self.requests[request];
        let payload = r.take_read();
        let has_extra = result64 != 0 || payload.is_some();
        let leaving = Leaving {
            at: now,
            id: r.command.id,
            status,
            gc_blocked: r.gc_blocked,
            gc_blocked_at_split: r.gc_blocked_at_split,
            has_extra,
        };
        let read_bytes = if r.command.op == Op::Read && status == Status::Success {
            r.command.bytes()
        } else {
            0
        };
        if has_extra {
            self.ports.extras.push_back(Extra { result64, payload });
        }
        let leaves = self.ports.complete(now, leaving, read_bytes);
        self.book_completion(now, request, leaves);
        self.timeline_completes(request, leaves);
    }
}
