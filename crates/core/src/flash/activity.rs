//! The activity of dies and channels, slice by slice, for a timeline.
//!
//! A die's slices are its array operations (tR, tPROG, the whole erase) and its waits for the
//! channel; what crosses the channel (commands, data) are the channel's slices. On each of them
//! slices follow one another and never overlap. A slice is logged when its end is certain, which is
//! at its start, except where an operation can be suspended: then each pulse of an erase, and what
//! a program does without a stop, is logged when it ends or is stopped. [`Act::Suspended`] is the
//! one slice that others lie within.
//!
//! Kept only when asked for, inside a window of time, and up to a limit that all who log share.

use super::die::{Operation, What};
use super::{Block, Flash};
use crate::units::Die;
use crate::units::{Duration, Instant, Ppn};

/// The kind of a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Act {
    /// tR, on a die.
    Read,
    /// tPROG, on a die; where programs can be suspended, what of it runs without a stop.
    Program,
    /// An erase, on a die; where erases can be suspended, one pulse of it.
    Erase,
    /// The voltage recovers before a suspension, on a die.
    Suspending,
    /// An erase or a program waits while reads run, over their slices on a die.
    Suspended,
    /// After a suspension an erase's voltage ramps up, or a verify runs, or a program's data comes
    /// back, on a die.
    Resuming,
    /// A command or data waits for the channel and keeps the die, on a die.
    Wait,
    /// The command of a read, on a channel.
    ReadCommand,
    /// The command of an erase, on a channel.
    EraseCommand,
    /// The command that suspends an erase or a program, on a channel.
    SuspendCommand,
    /// The command that lets it go on, on a channel.
    ResumeCommand,
    /// Data read, on a channel.
    DataOut,
    /// The command of a program and its data, on a channel.
    DataIn,
    /// The rest of data that gave way to garbage collection, after a command, on a channel.
    DataRest,
}

impl Act {
    /// True for what lies on a channel.
    pub const fn is_on_channel(self) -> bool {
        matches!(
            self,
            Act::ReadCommand
                | Act::EraseCommand
                | Act::SuspendCommand
                | Act::ResumeCommand
                | Act::DataOut
                | Act::DataIn
                | Act::DataRest
        )
    }
}

/// A slice of a die's or a channel's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    /// From here.
    pub start: Instant,
    /// Up to here; it is later than the start.
    pub end: Instant,
    /// Its kind.
    pub act: Act,
    /// Done for garbage collection.
    pub gc: bool,
    /// The die.
    pub die: Die,
    /// The block worked on.
    pub block: Block,
    /// First page read or programmed; [`Ppn::NONE`] for an erase.
    pub page: Ppn,
    /// Sectors that cross the channel in the whole operation.
    pub sectors: u32,
}

/// The room of a recording: a window of time, and a number of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Slices that end at or before this are not kept.
    pub from: Instant,
    /// Slices that start at or after this are not kept.
    pub to: Instant,
    /// Records at most.
    pub limit: u64,
    /// Records kept.
    pub kept: u64,
    /// Records in the window that the limit left out.
    pub left_out: u64,
    /// When the first of them started.
    pub full_at: Option<Instant>,
}

impl Room {
    /// Room for `limit` records of the time between `from` and `to`.
    pub fn new(from: Instant, to: Instant, limit: u64) -> Self {
        Self { from, to, limit, kept: 0, left_out: 0, full_at: None }
    }

    /// Takes a place for a record; false when it may not be kept.
    pub fn take(&mut self, start: Instant, end: Instant) -> bool {
        if end <= self.from || start >= self.to {
            return false;
        }
        if self.kept == self.limit {
            self.left_out += 1;
            self.full_at = Some(self.full_at.map_or(start, |at| at.min(start)));
            return false;
        }
        self.kept += 1;
        true
    }
}

/// The log.
#[derive(Clone, Debug)]
pub(super) struct Activity {
    room: Room,
    slices: Vec<Slice>,
    /// When each die's last array read ends: its data waits from there.
    sensed: Vec<Instant>,
}

impl Activity {
    #[inline(never)]
    fn add(
        &mut self,
        (start, end): (Instant, Instant),
        act: Act,
        die: usize,
        operation: &Operation,
        block: Block,
    ) {
        if end > start && self.room.take(start, end) {
            let (page, sectors) = match operation.what {
                What::Read { page, sectors } => (page, sectors),
                What::Program { row, sectors } => (row, sectors),
                What::System { sectors } => (Ppn::NONE, sectors),
                What::Erase { .. } | What::Copy { .. } | What::Copies { .. } => (Ppn::NONE, 0),
            };
            self.slices.push(Slice {
                start,
                end,
                act,
                gc: operation.gc,
                die: Die(die as u32),
                block,
                page,
                sectors,
            });
        }
    }
}

impl Flash {
    /// Logs what every die and channel does from now on, as far as there is room.
    pub fn log_activity(&mut self, room: Room) {
        let sensed = vec![Instant::START; self.dies.len()];
        self.activity = Some(Box::new(Activity { room, slices: Vec::new(), sensed }));
        self.look_for_features();
    }

    /// The slices recorded, in no order of time.
    pub fn activity(&self) -> Option<(&Room, &[Slice])> {
        self.activity.as_ref().map(|activity| (&activity.room, activity.slices.as_slice()))
    }

    /// The room of the log, for what else goes into it.
    pub fn log_room(&mut self) -> Option<&mut Room> {
        self.activity.as_mut().map(|activity| &mut activity.room)
    }

    /// An operation starts: its command (a program's with data) has its place on the channel; the
    /// array, or its first step, is done at `done`, or has yet to be started when that is the end
    /// of the command.
    #[inline]
    pub(super) fn log_start(
        &mut self,
        now: Instant,
        slot: usize,
        command: (Instant, Instant),
        done: Instant,
    ) {
        if self.activity.is_some() {
            self.log_start_on_demand(now, slot, command, done);
        }
    }

    #[inline(never)]
    fn log_start_on_demand(
        &mut self,
        now: Instant,
        slot: usize,
        command: (Instant, Instant),
        done: Instant,
    ) {
        let operation = self.dies[slot].operation();
        let (on_channel, array) = match operation.what {
            What::Read { .. } => (Act::ReadCommand, Act::Read),
            What::Program { .. }
            | What::System { .. }
            | What::Copy { .. }
            | What::Copies { .. } => (Act::DataIn, Act::Program),
            What::Erase { .. } => (Act::EraseCommand, Act::Erase),
        };
        self.log(slot, (now, command.0), Act::Wait, &operation);
        self.log(slot, command, on_channel, &operation);
        if array == Act::Erase && self.suspends_erases {
            return;
        }
        let more_steps =
            if array == Act::Erase { u64::from(self.timing.erase_steps - 1) } else { 0 };
        self.log(slot, (command.1, done + self.timing.erase_step * more_steps), array, &operation);
    }

    /// Data read leaves a die: it has its place on the channel. Where the die is kept from its next
    /// operation until `kept_until`, what it waited since tR ended is a slice.
    #[inline]
    pub(super) fn log_data_out(
        &mut self,
        slot: usize,
        crossing: Option<(Instant, Instant)>,
        kept_until: Instant,
    ) {
        if self.activity.is_some() {
            self.log_data_out_on_demand(slot, crossing, kept_until);
        }
    }

    #[inline(never)]
    fn log_data_out_on_demand(
        &mut self,
        slot: usize,
        crossing: Option<(Instant, Instant)>,
        kept_until: Instant,
    ) {
        let Some(activity) = &self.activity else { return };
        let (operation, sensed) = (self.dies[slot].operation(), activity.sensed[slot]);
        self.log(slot, (sensed, kept_until), Act::Wait, &operation);
        if let Some(crossing) = crossing {
            self.log(slot, crossing, Act::DataOut, &operation);
        }
    }

    /// How many slices were logged.
    pub(super) fn logged(&self) -> usize {
        self.activity.as_ref().map_or(0, |activity| activity.slices.len())
    }

    /// The slice of a transfer that lies around `cut` ends there; it was logged as the `from`th or
    /// later.
    pub(super) fn end_slice(&mut self, of: &[Act], die: usize, from: usize, cut: Instant) {
        let Some(activity) = &mut self.activity else { return };
        let its_own = |slice: &Slice| {
            slice.die.index() == die && of.contains(&slice.act) && slice.act.is_on_channel()
        };
        let around = |slice: &Slice| slice.start < cut && slice.end > cut;
        if let Some(slice) =
            activity.slices[from..].iter_mut().find(|slice| its_own(slice) && around(slice))
        {
            slice.end = cut;
        }
    }

    /// The slices of a transfer, and of what follows it, that start at `before` or later come
    /// `delay` later.
    pub(super) fn move_slices(
        &mut self,
        of: &[Act],
        die: usize,
        from: usize,
        before: Instant,
        delay: Duration,
    ) {
        let Some(activity) = &mut self.activity else { return };
        let its_own = |slice: &Slice| slice.die.index() == die && of.contains(&slice.act);
        for slice in activity.slices[from..]
            .iter_mut()
            .filter(|slice| its_own(slice) && slice.start >= before)
        {
            (slice.start, slice.end) = (slice.start + delay, slice.end + delay);
        }
        if of.contains(&Act::Read) {
            activity.sensed[die] += delay;
        }
    }

    /// One slice of an operation.
    #[inline]
    pub(super) fn log(
        &mut self,
        slot: usize,
        time: (Instant, Instant),
        act: Act,
        operation: &Operation,
    ) {
        if let Some(activity) = &mut self.activity {
            activity.add(time, act, slot, operation, operation.block(&self.layout));
            if act == Act::Read {
                activity.sensed[slot] = time.1;
            }
        }
    }
}
