//! Heat as a rate: bytes warm the drive, and it cools at a rate (`drive.firmware.cooling`).
//!
//! A cold drive absorbs so many bytes beyond what it cools away meanwhile
//! (`drive.firmware.heat`); then commands that move data are admitted at the rate of cooling, reads
//! too, in the order in which they came. Flushes pass. One instant says it all: when the drive
//! would be cold. Each command puts it off by the time of its bytes, and waits until it lies no
//! further ahead than the heat takes to cool.

use crate::drive::{Command, FirmwareSpec, Op};
use crate::units::{Bandwidth, Duration, Instant};
use std::collections::VecDeque;

/// How warm the drive is, and the commands that wait for it to cool.
#[derive(Clone, Debug)]
pub(in crate::drive) struct Heat {
    cooling: Bandwidth,
    /// The time in which all the heat that it absorbs cools away.
    absorbs: Duration,
    cold_at: Instant,
    /// With the time since which each waits.
    held: VecDeque<(Instant, Command)>,
    free_at: Instant,
}

impl Heat {
    /// None where nothing warms the drive.
    pub fn new(spec: &FirmwareSpec) -> Option<Self> {
        (spec.cooling != Bandwidth::default()).then(|| Self {
            cooling: spec.cooling,
            absorbs: spec.cooling.time_for(spec.heat.get()),
            cold_at: Instant::START,
            held: VecDeque::new(),
            free_at: Instant::START,
        })
    }

    /// True where such a command is held: it moves data, or else would pass one that does.
    pub fn holds(op: Op) -> bool {
        matches!(op, Op::Read | Op::Write | Op::Trim)
    }

    fn time_of(&self, command: &Command) -> Duration {
        match command.op {
            Op::Read | Op::Write => self.cooling.time_for(command.bytes()),
            Op::Trim | Op::Flush => Duration::ZERO,
        }
    }

    /// When a command that is the first in line at `now` is admitted.
    fn due(&self, now: Instant) -> Instant {
        let allowed = now + self.absorbs;
        if self.cold_at <= allowed { now } else { now + self.cold_at.since(allowed) }
    }

    /// The command waits for its turn, which may be now.
    pub fn hold(&mut self, now: Instant, command: Command) {
        if self.held.is_empty() {
            self.free_at = self.due(now);
        }
        self.held.push_back((now, command));
    }

    /// Commands that wait.
    pub fn held(&self) -> usize {
        self.held.len()
    }

    /// When the next one is admitted.
    pub fn next_at(&self) -> Instant {
        if self.held.is_empty() { Instant::NEVER } else { self.free_at }
    }

    /// The command that is admitted at `now`, and since when it was held.
    pub fn admit(&mut self, now: Instant) -> Option<(Instant, Command)> {
        if self.free_at != now {
            return None;
        }
        let (since, command) = self.held.pop_front()?;
        self.cold_at = self.cold_at.max(now) + self.time_of(&command);
        self.free_at = self.due(now);
        Some((since, command))
    }
}
