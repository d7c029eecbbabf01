//! A job: where its requests come from and when they are issued.

use super::pace::Threads;
use super::{Arrival, JobSpec, Request, RequestSource};
use crate::drive::{Op, Storage};
use crate::sim::Line;
use crate::units::{Duration, Instant, Lba};

/// Requests drawn ahead of their time, so that their maps can be asked for early (addresses do not
/// depend on timing).
const AHEAD: usize = 32;

/// The requests drawn ahead, oldest first: a ring, half of which is drawn at a time.
#[derive(Clone, Debug)]
struct Ahead {
    ring: [Request; AHEAD],
    /// Counts of what was taken and drawn; both are cut to the ring where they are used.
    first: usize,
    end: usize,
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
        Self { ring: [nothing; AHEAD], first: 0, end: 0 }
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.first == self.end
    }

    #[inline]
    fn front(&self) -> Option<&Request> {
        (!self.is_empty()).then(|| &self.ring[self.first % AHEAD])
    }

    #[inline]
    fn pop(&mut self) -> Option<Request> {
        let request = *self.front()?;
        self.first += 1;
        Some(request)
    }

    /// Draws the next requests, if half of the ring is free and there are any; those are told.
    #[inline]
    fn draw(&mut self, source: &mut dyn RequestSource) -> &[Request] {
        if self.end - self.first > AHEAD / 2 {
            return &[];
        }
        self.draw_half(source)
    }

    #[inline(never)]
    fn draw_half(&mut self, source: &mut dyn RequestSource) -> &[Request] {
        let at = self.end.next_multiple_of(AHEAD / 2) % AHEAD;
        let half = &mut self.ring[at..at + AHEAD / 2];
        let drawn = source.next_requests(half);
        self.end += drawn;
        &half[..drawn]
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
    /// Work of the thread for each page of a request behind its first.
    pub page: Duration,
}

/// A page of the host's memory, in sectors: what its thread maps or copies at a time.
const PAGE_SECTORS: u32 = 8;

impl Host {
    fn is_none(&self) -> bool {
        (self.delay + self.busy + self.page).is_zero()
    }

    /// Work of the thread for a request of so many sectors.
    #[inline]
    fn work(&self, sectors: u32) -> Duration {
        self.busy + self.page * u64::from(sectors.saturating_sub(1) / PAGE_SECTORS)
    }
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
                let (delay, busy, page) = (spec.host_delay, spec.host_busy, spec.host_page);
                let host = Host { delay, busy, page };
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
    slots: Line<Instant>,
    /// When the last of these may be issued.
    latest: Instant,
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
            Pacing::Open | Pacing::Paced { .. } => Line::default(),
            Pacing::Closed { depth, start, .. } => (0..depth).map(|_| start).collect(),
        };
        let threads = match pacing {
            Pacing::Paced { threads, rate, smooth, .. } => {
                Some(Threads::new(threads, rate, smooth))
            }
            Pacing::Open | Pacing::Closed { .. } => None,
        };
        let host = match pacing {
            Pacing::Closed { host, .. } if !host.is_none() => Some((host, Instant::START)),
            _ => None,
        };
        let (ahead, next_at) = (Ahead::new(), Instant::START);
        let latest = Instant::START;
        let mut job = Self { source, pacing, ahead, slots, latest, threads, host, next_at };
        for _ in 0..2 {
            job.ahead.draw(&mut *job.source);
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
        // A write meets the maps only when it leaves the buffer; it is the drive that asks for them
        // then.
        for next in self.ahead.draw(&mut *self.source) {
            if next.op == Op::Read {
                storage.hint(next.lba);
            }
        }
        self.slots.pop_front();
        let thread = self.threads.as_mut().map_or(0, Threads::take);
        self.schedule();
        (request, thread)
    }

    /// When the host has dealt with a request of so many sectors that the drive completed at `now`.
    #[inline]
    pub(super) fn seen(&mut self, now: Instant, sectors: u32) -> Instant {
        let Some((host, free)) = &mut self.host else { return now };
        *free = (now + host.delay).max(*free) + host.work(sectors);
        *free
    }

    /// A request of the job's thread `thread` completed.
    #[inline]
    pub(super) fn completed(&mut self, now: Instant, thread: u32) {
        match self.pacing {
            Pacing::Open => {}
            Pacing::Closed { think, .. } => {
                let is_first = self.slots.is_empty();
                // A host that deals with errors may be late for what completes meanwhile.
                self.latest = self.latest.max(now + think);
                self.slots.push_back(self.latest);
                if is_first {
                    self.schedule();
                }
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
        self.ahead.first = self.ahead.end;
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
