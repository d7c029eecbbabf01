//! The storage that a host plays against, a drive alone or an array of drives, in a few calls for
//! both.

use super::{Attributed, Command, Completion, Drive, SlowCommand, Story, TimelineSpec};
use crate::flash::Room;
use crate::units::{Instant, Lba, Split, Stage};

/// A step on the way of an array's request: what it waited for between two instants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The stage.
    pub stage: Stage,
    /// The drive whose command ended it; `None`: the array waited for itself.
    pub drive: Option<u32>,
    /// From here.
    pub from: Instant,
    /// Up to here.
    pub to: Instant,
    /// Where that time went.
    pub split: Split,
    /// How that command found its die.
    pub story: Option<Story>,
}

/// A slow request to an array, and the steps of it that are known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Walked {
    /// The request.
    pub request: SlowCommand,
    /// From its coming to its end; empty without attribution.
    pub steps: Vec<Step>,
}

/// Something that takes commands and completes them in virtual time.
///
/// Contract, as of [`Drive`]: commands are submitted in the order of their times, each after
/// everything before its time has been done; cutting an advance at any points changes nothing.
pub trait Storage {
    /// When it returns a completion, an advance up to that instant would change nothing: a command
    /// that is due then may be submitted at once.
    #[must_use]
    fn does_all_before() -> bool
    where
        Self: Sized,
    {
        false
    }

    /// The command arrives at `now`.
    fn submit(&mut self, now: Instant, command: Command);

    /// Does everything that is due before `limit`, until the first completion, which it returns.
    fn advance_before(&mut self, limit: Instant) -> Option<Completion>;

    /// When something is due next, completions included; [`Instant::NEVER`] when nothing is.
    fn next_event_at(&self) -> Instant;

    /// Hints that a read of `lba` comes soon.
    fn hint(&self, lba: Lba);

    /// Keeps books of where each command's time goes.
    fn attribute(&mut self);

    /// Where the time of the command went that completed last, if books are kept.
    fn attributed(&self) -> Option<&Attributed>;

    /// The steps of that command, if books are kept and there are any: of an array.
    fn steps(&self) -> &[Step] {
        &[]
    }

    /// Keeps a timeline of each drive, and of the array's own requests.
    fn keep_timeline(&mut self, spec: &TimelineSpec);

    /// The array's slow requests with their steps, and the room that they have taken.
    fn slow_requests(&self) -> Option<(&Room, &[Walked])> {
        None
    }

    /// How many drives there are.
    fn drives(&self) -> usize;

    /// One of them, for its counters and state.
    fn drive(&self, number: usize) -> &Drive;

    /// Commands that the host still waits for.
    fn outstanding(&self) -> usize;

    /// Sectors that the host sees.
    fn sectors(&self) -> u64;

    /// Sectors of a page: what the oracle keeps a version of.
    fn page_sectors(&self) -> u32;

    /// True when the page holds data at the start of a run.
    fn holds(&self, page: u32) -> bool;

    /// True when a deallocated page may go on to hold what it held.
    fn keeps_deallocated(&self) -> bool {
        false
    }
}

impl Storage for Drive {
    #[inline]
    fn does_all_before() -> bool {
        true
    }

    #[inline]
    fn submit(&mut self, now: Instant, command: Command) {
        Drive::submit(self, now, command);
    }

    #[inline]
    fn advance_before(&mut self, limit: Instant) -> Option<Completion> {
        Drive::advance_before(self, limit)
    }

    #[inline]
    fn next_event_at(&self) -> Instant {
        Drive::next_event_at(self)
    }

    #[inline]
    fn hint(&self, lba: Lba) {
        Drive::hint(self, lba);
    }

    fn attribute(&mut self) {
        Drive::attribute(self);
    }

    #[inline]
    fn attributed(&self) -> Option<&Attributed> {
        Drive::attributed(self)
    }

    fn keep_timeline(&mut self, spec: &TimelineSpec) {
        Drive::keep_timeline(self, spec);
    }

    fn drives(&self) -> usize {
        1
    }

    fn drive(&self, _: usize) -> &Drive {
        self
    }

    fn outstanding(&self) -> usize {
        Drive::outstanding(self)
    }

    fn sectors(&self) -> u64 {
        Drive::sectors(self)
    }

    fn page_sectors(&self) -> u32 {
        self.flash.layout.unit_sectors
    }

    fn holds(&self, page: u32) -> bool {
        self.holds_page(page)
    }
}
