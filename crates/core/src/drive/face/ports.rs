//! The drive's ports: submission queue, host link in both directions, controller delay.
//!
//! A command is asked for towards the host, behind the data that goes there, and comes with the
//! data of a write; a completion follows its data. Bytes of all three are settings, none by
//! default. The link is a FIFO resource in each direction and the controller a fixed delay, so both
//! keep their order: rings of (time, item) and a next free time are exact, and need no timers.

use crate::drive::{Command, Completion, Drive, DriveSpec, Op, Status};
use crate::units::{Bandwidth, Duration, Instant};
use std::collections::VecDeque;

/// Between the host and the controller.
#[derive(Clone, Debug)]
pub(in crate::drive) struct Ports {
    link: Bandwidth,
    /// Bytes on the link beside the data: of the request for a command, of it, of a completion.
    fetch_bytes: u64,
    command_bytes: u64,
    completion_bytes: u64,
    controller: Duration,
    /// Commands fetched at once; 0 is unlimited.
    depth: u32,
    fetched: u32,
    waiting: VecDeque<Command>,
    arriving: VecDeque<(Instant, Command)>,
    leaving: VecDeque<Leaving>,
    /// Results and contents, which few completions carry, in their order.
    extras: VecDeque<Extra>,
    /// When the first of `arriving` or `leaving` is due: asked before every event of the drive.
    next_at: Instant,
    in_free_at: Instant,
    out_free_at: Instant,
}

/// A completion on its way to the host. A closed loop makes and takes one for each request, so it
/// is small.
#[derive(Clone, Copy, Debug)]
struct Leaving {
    at: Instant,
    id: u32,
    status: Status,
    gc_blocked: bool,
    gc_blocked_at_split: bool,
    /// An [`Extra`] belongs to it.
    has_extra: bool,
}

const _: () = assert!(size_of::<Leaving>() == 16, "a completion on its way is small");

/// The rest of a completion, where there is any.
#[derive(Clone, Debug)]
struct Extra {
    result64: u64,
    payload: Option<Box<[u32]>>,
}

impl Ports {
    pub fn new(spec: &DriveSpec) -> Self {
        Self {
            link: spec.link,
            fetch_bytes: spec.link_fetch.get(),
            command_bytes: spec.link_command.get(),
            completion_bytes: spec.link_completion.get(),
            controller: spec.controller,
            depth: spec.queue_depth,
            fetched: 0,
            waiting: VecDeque::new(),
            arriving: VecDeque::new(),
            leaving: VecDeque::new(),
            extras: VecDeque::new(),
            next_at: Instant::NEVER,
            in_free_at: Instant::START,
            out_free_at: Instant::START,
        }
    }

    /// True when another command may be fetched.
    #[inline]
    pub fn admits(&self) -> bool {
        self.depth == 0 || (self.fetched < self.depth && self.waiting.is_empty())
    }

    pub fn queue(&mut self, command: Command) {
        self.waiting.push_back(command);
    }

    pub fn queued(&self) -> usize {
        self.waiting.len() + self.arriving.len()
    }

    pub fn take_queued(&mut self, id: u32) -> Option<Command> {
        let at = self.waiting.iter().position(|command| command.id == id)?;
        self.waiting.remove(at)
    }

    /// The next waiting command, when a completion made room for it.
    #[inline]
    pub fn take_next_queued(&mut self) -> Option<Command> {
        if self.waiting.is_empty() || self.fetched >= self.depth {
            None
        } else {
            self.waiting.pop_front()
        }
    }

    /// Counts a command as fetched; true when it is in the controller at once, else
    /// [`Ports::fetch`] says when.
    #[inline]
    pub fn fetches_at_once(&mut self) -> bool {
        self.fetched += 1;
        self.link == Bandwidth::default() && self.controller.is_zero()
    }

    /// A fetched command crosses the link and the controller.
    pub fn fetch(&mut self, now: Instant, command: Command) {
        let data = if command.op == Op::Write { command.bytes() } else { 0 };
        let mut asked = now;
        if self.fetch_bytes > 0 {
            asked = self.out_free_at.max(now) + self.link.time_for(self.fetch_bytes);
            self.out_free_at = asked;
        }
        let crossing = self.link.time_for(self.command_bytes + data);
        self.in_free_at = self.in_free_at.max(asked) + crossing;
        self.arriving.push_back((self.in_free_at + self.controller, command));
        self.look_ahead();
    }

    #[inline]
    pub fn take_arrival(&mut self, now: Instant) -> Option<Command> {
        let (_, command) = self.arriving.pop_front_if(|(at, _)| *at == now)?;
        self.look_ahead();
        Some(command)
    }

    /// Sends a completion; `bytes` of read data go with it. Says when it reaches the host.
    #[inline]
    fn complete(&mut self, now: Instant, leaving: Leaving, bytes: u64) -> Instant {
        let bytes = bytes + self.completion_bytes;
        let crossing = if bytes == 0 { Duration::ZERO } else { self.link.time_for(bytes) };
        let at = self.out_free_at.max(now) + crossing;
        self.out_free_at = at;
        self.leaving.push_back(Leaving { at, ..leaving });
        self.next_at = self.next_at.min(at);
        at
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
        let leaving = *self.leaving.front()?;
        if leaving.at != now {
            return None;
        }
        self.leaving.pop_front();
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
        let arrival = self.arriving.front().map_or(Instant::NEVER, |(at, _)| *at);
        self.next_at =
            self.leaving.front().map_or(Instant::NEVER, |completion| completion.at).min(arrival);
    }
}

impl Drive {
    /// The command is done: its completion crosses the link.
    #[inline]
    pub(in crate::drive) fn finish_with(&mut self, now: Instant, request: u32, status: Status) {
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
        request: u32,
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
