//! The way of a command from its queue into the drive: it is fetched when there is a place and a
//! core for it, and begun when it has crossed what lies between.

use super::ports::Turn;
use crate::drive::{Command, Drive};
use crate::units::Instant;

impl Drive {
    /// The command leaves its queue.
    #[inline]
    pub(in crate::drive) fn fetch(&mut self, now: Instant, command: Command) {
        if self.ports.fetches_at_once() {
            self.begin(now, command);
        } else {
            self.ports.fetch(now, command);
        }
    }

    /// A place or a core is free: the next waiting command is fetched.
    #[inline]
    pub(in crate::drive) fn fetch_next(&mut self, now: Instant) {
        if self.ports.makes_wait() {
            self.fetch_next_waiting(now);
        }
    }

    fn fetch_next_waiting(&mut self, now: Instant) {
        if let Some(command) = self.ports.take_next_queued() {
            if let Some(attribution) = &mut self.attribution {
                attribution.fetched(now, command.id);
            }
            self.fetch(now, command);
        }
    }

    /// True where a limit of the controller had something to do at `now`, which is done.
    #[inline]
    pub(in crate::drive) fn limits_turn(&mut self, now: Instant) -> bool {
        self.ports.is_limited() && self.has_limits_turn(now)
    }

    #[inline(never)]
    fn has_limits_turn(&mut self, now: Instant) -> bool {
        match self.ports.limits_turn(now, &self.ftl) {
            None => return false,
            Some(Turn::Worked) => self.fetch_next(now),
            Some(Turn::Admitted { id, since }) => {
                if let Some(attribution) = &mut self.attribution {
                    attribution.held(id, now.since(since));
                }
            }
            Some(Turn::Landed) => {}
        }
        true
    }
}
