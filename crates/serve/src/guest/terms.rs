//! How a guest's run may go, and how it went.

use crate::vhost_user::in_band::Gone;
use manx_core::units::Instant;
use std::time;

/// How the guest's time is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// In shared memory.
    Shared,
    /// By messages alone.
    Messages,
}

/// When a guest's run ends, if its command does not end it.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// How time is kept.
    pub protocol: Protocol,
    /// The power fails at this instant.
    pub cut: Option<Instant>,
    /// It has gone on for too long.
    pub until: Instant,
    /// The same, of the wall.
    pub wall: Option<time::Duration>,
    /// A planted defect: the drives answer a FLUSH at once, and make nothing durable.
    pub lies: bool,
}

/// How a guest's run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The command, with this exit code.
    Exit(u8),
    /// The power failed.
    Cut,
    /// The guest could not be set up: an error number, and words on its console.
    Setup(u32),
    /// The guest is gone: a panic, or a signal.
    Died,
    /// Everything in it sleeps for ever.
    Asleep,
    /// Its time is up.
    Late,
    /// The wall's time is up.
    Slow,
    /// The watch said stop.
    Stopped,
}

/// The watch over a guest: it looks now and then.
pub trait Told {
    /// Where the guest is, in its own time, and what the drives have answered; an end, if it is
    /// to end.
    fn look(&mut self, now: Instant, answered: u64) -> Option<Ended>;
}

/// Why the loop ends.
pub(super) enum End {
    Ended(Ended),
    Failed(String),
}

impl From<Gone> for End {
    fn from(gone: Gone) -> Self {
        match gone {
            Gone::Closed => Self::Ended(Ended::Died),
            Gone::Wrong(why) => Self::Failed(why),
        }
    }
}
