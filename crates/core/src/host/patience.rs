//! Looking at a run now and then: whether a request has waited too long, and whether the run is to
//! go on at all.
//!
//! A look costs nothing on the path of a request: the drive is advanced up to the next look as it
//! is up to the next arrival, and cutting an advance changes nothing ([`Storage`]).

use super::Driver;
use crate::drive::{Op, Storage};
use crate::units::{Duration, Instant};

/// Virtual time between two looks. The largest drive does in it what takes a fraction of a second
/// to simulate.
pub(super) const LOOK_EVERY: Duration = Duration::from_ms(10);

/// A request that waited too long, which ended the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Starved {
    /// The kind of the oldest request.
    pub op: Op,
    /// How long it had waited.
    pub age: Duration,
    /// Requests outstanding, it among them.
    pub outstanding: u64,
}

/// How long the host waits for a request.
///
/// The oldest is looked for only when the one that was the oldest at the last look could be too
/// old.
#[derive(Clone, Debug)]
pub(super) struct Patience {
    timeout: Duration,
    /// No request is too old before this.
    pub(super) due: Instant,
    starved: Option<Starved>,
}

impl Default for Patience {
    fn default() -> Self {
        Self { timeout: Duration::ZERO, due: Instant::NEVER, starved: None }
    }
}

impl Patience {
    /// A request that is `timeout` old is too old.
    pub(super) fn of(timeout: Duration) -> Self {
        Self { timeout, due: Instant::START + timeout, starved: None }
    }

    /// So old may a request get.
    pub(super) fn timeout(&self) -> Duration {
        self.timeout
    }

    /// The request that waited too long.
    pub(super) fn starved(&self) -> Option<&Starved> {
        self.starved.as_ref()
    }
}

impl<S: Storage> Driver<S> {
    /// Looks at the run when a turn did nothing; false when the run is over.
    #[cold]
    pub(super) fn look(&mut self) -> bool {
        let (_, at) = self.next_due();
        let (now, progress) = (self.look_at, self.progress());
        if now >= at || (at == Instant::NEVER && progress.issued == progress.completed) {
            return false;
        }
        if self.patience.due <= now && !self.has_patience(now) {
            return false;
        }
        self.look_later(at);
        self.look_at = self.look_at.min(self.patience.due);
        true
    }

    /// Sets the time of the next look; the next request comes `at`. A time in which nothing happens
    /// has no looks.
    pub(super) fn look_later(&mut self, at: Instant) {
        let next = self.storage.next_event_at().min(at).max(self.look_at);
        self.look_at = Instant::from_ns(next.as_ns().saturating_add(LOOK_EVERY.as_ns()));
    }

    /// Whether the oldest request may wait on; then when to look again. A drive with nothing to do
    /// has lost its requests, which is no starvation.
    fn has_patience(&mut self, now: Instant) -> bool {
        let Patience { timeout, starved, .. } = self.patience;
        if starved.is_some() {
            return false;
        }
        let outstanding = self.progress().issued - self.progress().completed;
        if outstanding > 0 && self.storage.next_event_at() == Instant::NEVER {
            self.patience.due = Instant::NEVER;
            return true;
        }
        if self.resets.is_some() {
            self.deal_with_old(now);
            return true;
        }
        let oldest = self.under_way().min_by_key(|(at, _)| *at);
        match oldest {
            Some((at, op)) if at + timeout <= now => {
                self.patience.starved = Some(Starved { op, age: now.since(at), outstanding });
                self.end_at(now);
                false
            }
            Some((at, _)) => {
                self.patience.due = at + timeout;
                true
            }
            None => {
                // Nothing waits before the next request has come.
                let next = self.next_job().1.max(now);
                self.patience.due = Instant::from_ns(next.as_ns().saturating_add(timeout.as_ns()));
                true
            }
        }
    }
}
