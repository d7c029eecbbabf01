//! Work that is due at a time of its own, and that no flash operation announces.

use crate::drive::parity::RebuildId;
use crate::drive::{CommandId, Drive, RequestId};
use crate::sim::Ring;
use crate::units::Instant;

/// One such thing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::drive) enum Task {
    /// A request that needed no flash ends: the write buffer or DRAM served it.
    Served { request: RequestId },
    /// The data of a read is decoded.
    Decoded { request: RequestId },
    /// A write without a request ends: the write buffer has it.
    Taken { id: CommandId },
    /// The XOR of a reconstructed page ends.
    Reconstructed { rebuild: RebuildId },
    /// The scrubber's next page.
    Scrub,
    /// Failures that left something to do.
    #[default]
    Settle,
    /// Perhaps the drive has been idle for so long that it folds its cache.
    Fold,
}

/// All of it, in the order of the times; at one instant in the order in which it was put off.
#[derive(Clone, Debug)]
pub(in crate::drive) struct Later {
    queue: Ring<(Instant, Task)>,
    /// When the first of it is due: asked before every event of the drive.
    next_at: Instant,
}

impl Default for Later {
    fn default() -> Self {
        Self { queue: Ring::default(), next_at: Instant::NEVER }
    }
}

impl Later {
    /// When the first of it is due; [`Instant::NEVER`] when nothing is.
    #[inline]
    pub fn next_at(&self) -> Instant {
        self.next_at
    }

    /// `task` is due at `at`.
    #[inline]
    pub fn put(&mut self, at: Instant, task: Task) {
        self.queue.push_back((at, task));
        // Nearly all are due after those that were put off before.
        let mut place = self.queue.len() - 1;
        while place > 0 && self.queue.get(place - 1).is_some_and(|(other, _)| *other > at) {
            self.queue.swap(place - 1, place);
            place -= 1;
        }
        self.next_at = self.next_at.min(at);
    }

    /// Takes the first that is due at `now`.
    #[inline]
    pub fn take(&mut self, now: Instant) -> Option<Task> {
        if self.next_at != now {
            return None;
        }
        let (_, task) = self.queue.pop_front()?;
        self.next_at = self.queue.front().map_or(Instant::NEVER, |(at, _)| at);
        Some(task)
    }
}

impl Drive {
    /// The earlier of what is looked at: held erases, and what waits for a window.
    pub(in crate::drive) fn set_alarm(&mut self) {
        let window = self.gate.as_ref().map_or(Instant::NEVER, |gate| gate.wakes_at);
        self.wakes_at = window.min(self.next_hold_at());
    }

    /// When the next held erase is looked at.
    pub(in crate::drive) fn next_hold_at(&self) -> Instant {
        self.holds.as_ref().map_or(Instant::NEVER, |holds| holds.next_at())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_due_first_comes_first_and_at_one_instant_what_was_put_off_first() {
        let at = Instant::from_ns;
        let mut later = Later::default();
        later.put(at(20), Task::Scrub);
        later.put(at(10), Task::Served { request: RequestId(1) });
        later.put(at(10), Task::Reconstructed { rebuild: RebuildId(2) });
        assert_eq!((later.next_at(), later.take(at(9))), (at(10), None));
        assert_eq!(later.take(at(10)), Some(Task::Served { request: RequestId(1) }));
        assert_eq!(later.take(at(10)), Some(Task::Reconstructed { rebuild: RebuildId(2) }));
        assert_eq!((later.take(at(10)), later.take(at(20))), (None, Some(Task::Scrub)));
        assert_eq!(later.next_at(), Instant::NEVER);
    }

    #[test]
    fn an_entry_is_16_bytes() {
        assert_eq!(size_of::<(Instant, Task)>(), 16);
    }
}
