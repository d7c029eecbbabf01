//! The drive's ports: submission queue, host link in both directions, controller delay.
//!
//! The link is a FIFO resource in each direction and the controller a fixed delay, so both keep
//! their order: rings of (time, item) and a next free time are exact, and need no timers.

use crate::drive::{Command, Completion, Drive, DriveSpec, Op, Status};
use crate::units::{Bandwidth, Duration, Instant};
use std::collections::VecDeque;

/// Between the host and the controller.
#[derive(Clone, Debug)]
pub(in crate::drive) struct Ports {
    link: Bandwidth,
    controller: Duration,
    /// Commands fetched at once; 0 is unlimited.
    depth: u32,
    fetched: u32,
    waiting: VecDeque<Command>,
    arriving: VecDeque<(Instant, Command)>,
    leaving: VecDeque<Completion>,
    /// When the first of `arriving` or `leaving` is due: asked before every event of the drive.
    next_at: Instant,
    in_free_at: Instant,
    out_free_at: Instant,
}

impl Ports {
    pub fn new(spec: &DriveSpec) -> Self {
        Self {
            link: spec.link,
            controller: spec.controller,
            depth: spec.queue_depth,
            fetched: 0,
            waiting: VecDeque::new(),
            arriving: VecDeque::new(),
            leaving: VecDeque::new(),
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
        let bytes = if command.op == Op::Write { command.bytes() } else { 0 };
        self.in_free_at = self.in_free_at.max(now) + self.link.time_for(bytes);
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
    pub fn complete(&mut self, now: Instant, completion: Completion, bytes: u64) -> Instant {
        let crossing = if bytes == 0 { Duration::ZERO } else { self.link.time_for(bytes) };
        self.out_free_at = self.out_free_at.max(now) + crossing;
        self.leaving.push_back(Completion { at: self.out_free_at, ..completion });
        self.look_ahead();
        self.out_free_at
    }

    /// Sends the completion of a command that was never fetched.
    pub fn complete_aborted(&mut self, now: Instant, command: Command) -> Instant {
        self.fetched += 1;
        let completion = Completion {
            id: command.id,
            at: now,
            status: Status::Aborted,
            dnr: false,
            result64: 0,
            gc_blocked: false,
            gc_blocked_at_split: false,
            payload: None,
        };
        self.complete(now, completion, 0)
    }

    #[inline]
    pub fn take_completion(&mut self, now: Instant) -> Option<Completion> {
        let completion = self.leaving.pop_front_if(|completion| completion.at == now)?;
        self.fetched -= 1;
        self.look_ahead();
        Some(completion)
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
            return self.failed_is_over(request);
        }
        self.complete(now, request, status, 0);
        self.requests.release(request);
    }

    /// The same, and the request keeps its place.
    #[inline]
    pub(in crate::drive) fn complete(
        &mut self,
        now: Instant,
        request: u32,
        status: Status,
        result64: u64,
    ) {
        let r = &mut self.requests[request];
        let completion = Completion {
            id: r.command.id,
            at: now,
            status,
            dnr: status != Status::Success,
            result64,
            gc_blocked: r.gc_blocked,
            gc_blocked_at_split: r.gc_blocked_at_split,
            payload: r.take_read(),
        };
        let read_bytes = if r.command.op == Op::Read && status == Status::Success {
            r.command.bytes()
        } else {
            0
        };
        let leaves = self.ports.complete(now, completion, read_bytes);
        self.book_completion(now, request, leaves);
        self.timeline_completes(request, leaves);
    }
}
