//! The way of a command from its queue into the drive: it is fetched when there is a place and a
//! core for it, and begun when it has crossed what lies between.

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
        let Some(core_is_idle) = self.ports.limits_turn(now) else { return false };
        if core_is_idle {
            self.fetch_next(now);
        }
        true
    }
}
