//! A job: where its requests come from and when they are issued.

use super::pace::Threads;
use super::{Arrival, JobSpec, Request, RequestSource};
use crate::drive::{Op, Storage};
use crate::sim::Ring;
use crate::units::{Duration, Instant, Lba};

/// Requests drawn ahead of their time, so that their maps can be asked for early (addresses do not
/// depend on timing).
const AHEAD: usize = 32;

/// The requests drawn ahead, oldest first: a ring, since one is taken and one is added each time.
#[derive(Clone, Debug)]
struct Ahead {
    ring: [Request; AHEAD],
    first: usize,
    len: usize,
}

impl Ahead {
    fn new() -> Self {
        let nothing = Request {
            at: Instant::START,
            op: Op::Read,
            lba: Lba(0),
            sectors: 0,
            fua: false,
            stream: 0,
        };
        Self { ring: [nothing; AHEAD], first: 0, len: 0 }
    }

    #[inline]
    fn front(&self) -> Option<&Request> {
        (self.len > 0).then(|| &self.ring[self.first % AHEAD])
    }

    #[inline]
    fn pop(&mut self) -> Option<Request> {
        let request = *self.front()?;
        (self.first, self.len) = (self.first + 1, self.len - 1);
        Some(request)
    }

    #[inline]
    fn push(&mut self, request: Request) {
        debug_assert!(self.len < AHEAD);
        self.ring[(self.first + self.len) % AHEAD] = request;
        self.len += 1;
    }
}

/// The host's time for each request of a closed loop: a delay that requests share, and work of
/// the job's one thread, one request after the other.
#[derive(Clone, Copy, Debug, Default)]
pub struct Host {
    /// From the drive's completion to the thread.
    pub delay: Duration,
    /// Work of the thread for each request.
    pub busy: Duration,
}

/// When a job's requests are issued.
#[derive(Clone, Debug)]
pub enum Pacing {
    /// At their own times, whatever the drive does.
    Open,
    /// So many outstanding; a slot pauses for `think` after each completion; none is issued at
    /// `until` or later.
    Closed {
        /// Requests kept outstanding.
        depth: u32,
        /// Pause of a slot between a completion and its next request.
        think: Duration,
        /// When its slots issue first.
        start: Instant,
        /// The host's time for each request.
        host: Host,
        /// End of issuing.
        until: Instant,
    },
    /// Threads that issue at a steady rate, each one request at a time; none is issued at `until`
    /// or later.
    Paced {
        /// How many threads.
        threads: u32,
        /// Requests per second of all of them.
        rate: f64,
        /// Their starts are spread over one period; else they fire together.
        smooth: bool,
        /// End of issuing.
        until: Instant,
    },
}

impl Pacing {
    /// The pacing that a job's settings ask for.
    pub fn of(spec: &JobSpec) -> Self {
        let until = if spec.time.is_zero() { Instant::NEVER } else { Instant::START + spec.time };
        match spec.arrival {
            Arrival::Poisson
            | Arrival::Fixed
            | Arrival::Bursty
            | Arrival::Phases
            | Arrival::Trace => Self::Open,
            Arrival::Closed => {
                let host = Host { delay: spec.host_delay, busy: spec.host_busy };
                let start = Instant::START + spec.start;
                Self::Closed { depth: spec.queue_depth, think: spec.think, start, host, until }
            }
            Arrival::Paced | Arrival::PacedSmooth => {
                let smooth = spec.arrival == Arrival::PacedSmooth;
                Self::Paced { threads: spec.queue_depth, rate: spec.rate, smooth, until }
            }
        }
    }
}

/// A source and its pacing, with a look-ahead.
pub struct Job {
    source: Box<dyn RequestSource>,
    pacing: Pacing,
    ahead: Ahead,
    /// Closed loop: when each free slot may issue, in order.
    slots: Ring<Instant>,
    /// Paced: the threads.
    threads: Option<Threads>,
    /// The host's time for each request, if it takes any; when its thread is free again.
    host: Option<(Host, Instant)>,
    next_at: Instant,
}

impl std::fmt::Debug for Job {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Job")
            .field("pacing", &self.pacing)
            .field("next_at", &self.next_at)
            .finish_non_exhaustive()
    }
}

impl Job {
    /// A job of `source`, issued as `pacing` says.
    pub fn new(source: Box<dyn RequestSource>, pacing: Pacing) -> Self {
        let slots = match pacing {
            Pacing::Open | Pacing::Paced { .. } => Ring::default(),
            Pacing::Closed { depth, start, .. } => (0..depth).map(|_| start).collect(),
        };
        let threads = match pacing {
            Pacing::Paced { threads, rate, smooth, .. } => {
                Some(Threads::new(threads, rate, smooth))
            }
            Pacing::Open | Pacing::Closed { .. } => None,
        };
        let host = match pacing {
            Pacing::Closed { host, .. } if !(host.delay + host.busy).is_zero() => {
                Some((host, Instant::START))
            }
            _ => None,
        };
        let (ahead, next_at) = (Ahead::new(), Instant::START);
        let mut job = Self { source, pacing, ahead, slots, threads, host, next_at };
        for _ in 0..AHEAD {
            let Some(request) = job.source.next_request() else { break };
            job.ahead.push(request);
        }
        job.schedule();
        job
    }

    /// When the next request is due; [`Instant::NEVER`] when none is, or not before a completion.
    #[inline]
    pub(super) fn next_at(&self) -> Instant {
        self.next_at
    }

    /// Takes the request that is due and the thread that issues it, and hints at those to come.
    #[inline]
    pub(super) fn take(&mut self, storage: &impl Storage) -> (Request, u32) {
        let request = self.ahead.pop().expect("a request is due");
        if let Some(next) = self.source.next_request() {
            // A write meets the maps only when it leaves the buffer; it is the drive that asks for
            // them then.
            if next.op == Op::Read {
                storage.hint(next.lba);
            }
            self.ahead.push(next);
        }
        self.slots.pop_front();
        let thread = self.threads.as_mut().map_or(0, Threads::take);
        self.schedule();
        (request, thread)
    }

    /// When the host has dealt with what the drive completed at `now`.
    #[inline]
    pub(super) fn seen(&mut self, now: Instant) -> Instant {
        let Some((host, free)) = &mut self.host else { return now };
        *free = (now + host.delay).max(*free) + host.busy;
        *free
    }

    /// A request of the job's thread `thread` completed.
    #[inline]
    pub(super) fn completed(&mut self, now: Instant, thread: u32) {
        match self.pacing {
            Pacing::Open => {}
            Pacing::Closed { think, .. } => {
                self.slots.push_back(now + think);
                self.schedule();
            }
            Pacing::Paced { .. } => {
                if let Some(threads) = &mut self.threads {
                    threads.completed(now, thread);
                }
                self.schedule();
            }
        }
    }

    /// How far the thread that completed last is behind its schedule.
    #[inline]
    pub(super) fn lag(&self) -> Duration {
        self.threads.as_ref().map_or(Duration::ZERO, Threads::lag)
    }

    /// Nothing more is issued.
    pub(super) fn stop(&mut self) {
        self.ahead.len = 0;
        self.schedule();
    }

    #[inline]
    fn schedule(&mut self) {
        self.next_at = match (&self.pacing, self.ahead.front()) {
            (_, None) => Instant::NEVER,
            (Pacing::Open, Some(request)) => request.at,
            (Pacing::Closed { until, .. }, Some(_)) => match self.slots.front() {
                Some(at) if at < *until => at,
                _ => Instant::NEVER,
            },
            (Pacing::Paced { until, .. }, Some(_)) => {
                match self.threads.as_ref().map(Threads::next_at) {
                    Some(at) if at < *until => at,
                    _ => Instant::NEVER,
                }
            }
        };
    }
}
