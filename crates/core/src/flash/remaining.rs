//! The rest of garbage collection's operation on a die, as its controller knows: it gave the
//! command, and it has the device table. It changes nothing.

use super::Flash;
use super::channel::ChannelState;
use super::die::{OpId, Operation, Phase, What};
use crate::units::{Channel, Die, Duration, Instant, Ppn};

impl Flash {
    /// The token of the collection's operation that the die works on, and what is left of it. The
    /// transfer that ends a read, or that repeats a program's data, waits for those that have the
    /// channel now. An operation that may be suspended is taken not to be suspended again.
    pub fn gc_operation_left(&self, now: Instant, die: Die) -> Option<(OpId, Duration)> {
        if self.dies[die.index()].issued().0.gc { self.operation_left(now, die) } else { None }
    }

    /// When the array read ends that the die does now.
    pub fn senses_until(&self, die: Die) -> Option<Instant> {
        let phase = self.dies[die.index()].phase;
        let senses = matches!(phase, Phase::Sensing | Phase::SensingInside);
        self.timers.due(die.index()).filter(|_| senses)
    }

    /// The rest of any operation that the die works on.
    pub fn operation_left(&self, now: Instant, die: Die) -> Option<(OpId, Duration)> {
        let d = &self.dies[die.index()];
        let (operation, issued, _) = d.issued();
        if d.phase == Phase::Idle {
            return None;
        }
        let due = || self.timers.due(die.index()).map_or(Duration::ZERO, |at| at.since(now));
        let left = match (d.phase, operation.what) {
            (Phase::Sensing, What::Read { sectors, .. }) if sectors > 0 => {
                due().max(self.channel_busy_for(now, die)) + self.timing.transfer(sectors)
            }
            (Phase::TransferringIn, What::Program { row, .. }) => {
                due()
                    + self.timing.coarse_of(&self.layout, row)
                    + self.timing.program(&self.layout, row)
            }
            (Phase::Foggy, What::Program { row, sectors }) => {
                due().max(self.channel_busy_for(now, die))
                    + self.timing.command
                    + self.timing.transfer(sectors)
                    + self.timing.program(&self.layout, row)
            }
            (Phase::TransferringAgain, What::Program { row, .. }) => {
                due() + self.timing.program(&self.layout, row)
            }
            (Phase::Copying | Phase::CopyReading, _) => self.whole_copy_left(now, die),
            (Phase::Erasing { steps_left }, _) => {
                due() + self.timing.erase_step * u64::from(steps_left)
            }
            (
                Phase::Sensing | Phase::SensingInside | Phase::TransferringOut | Phase::Programming,
                _,
            ) => due(),
            _ => self.suspendable_left(now, die.index()).unwrap_or_else(|| {
                let whole = self.alone(&operation).as_ns();
                Duration::from_ns(whole.saturating_sub(now.since(issued).as_ns()))
            }),
        };
        Some((operation.token, left))
    }

    /// Garbage collection's operation that the die works on; one that reads have replaced is not
    /// it, nor one that ends at this instant.
    pub fn gc_operation(&self, now: Instant, die: Die) -> Option<OpId> {
        let d = &self.dies[die.index()];
        let operation = d.issued().0;
        let is_last = match (d.phase, operation.what) {
            (Phase::Idle, _) => return None,
            (
                Phase::Programming
                | Phase::SensingInside
                | Phase::TransferringOut
                | Phase::Erasing { steps_left: 0 },
                _,
            ) => true,
            (Phase::Sensing, What::Read { sectors, .. }) => sectors == 0,
            _ => false,
        };
        let ends_now = is_last && self.timers.due(die.index()) == Some(now);
        (operation.gc && !ends_now).then_some(operation.token)
    }

    /// For how long transfers that have their place keep the die's channel.
    pub fn channel_busy_for(&self, now: Instant, die: Die) -> Duration {
        self.channel_of(die).free_at().max(now).since(now)
    }

    /// For how long transfers of garbage collection keep the die's channel, with what goes before
    /// them.
    pub fn gc_keeps_channel_for(&self, now: Instant, die: Die) -> Duration {
        self.channel_of(die).gc_until().max(now).since(now)
    }

    fn channel_of(&self, die: Die) -> &ChannelState {
        &self.channels[self.layout.channel_of(die).index()]
    }

    /// Until all reads of the host that are under way on a channel have brought their data, if
    /// nothing else joins.
    pub fn host_reads_left(&self, now: Instant, channel: Channel) -> Duration {
        let count = self.layout.dies_per_channel();
        let mut free = self.channels[channel.index()].free_at().max(now);
        let mut last = now;
        let (mut at, mut served) = ((Instant::START, 0), 0);
        while served < count {
            // The next of them whose array read ends, by its time and its number.
            let next = self.layout.dies_on(channel).filter_map(|die| {
                let d = &self.dies[die.index()];
                let due = self.timers.due(die.index())?;
                let is_read = !d.operation().gc && matches!(d.operation().what, What::Read { .. });
                let waits = matches!(
                    d.phase,
                    Phase::Sensing | Phase::SensingInside | Phase::TransferringOut
                );
                (is_read && waits && (due, die.0 + 1) > at).then_some((due, die.0 + 1))
            });
            let Some((due, number)) = next.min() else { break };
            let d = &self.dies[number as usize - 1];
            last = last.max(due);
            if let (Phase::Sensing, What::Read { sectors, .. }) = (d.phase, d.operation().what)
                && sectors > 0
            {
                free = free.max(due) + self.timing.transfer(sectors);
                last = last.max(free);
            }
            (at, served) = ((due, number), served + 1);
        }
        last.since(now)
    }

    /// An operation's time with the die and the channel to itself.
    fn alone(&self, operation: &Operation) -> Duration {
        let timing = &self.timing;
        match operation.what {
            What::Read { page, sectors } => {
                timing.command + timing.read(&self.layout, page) + timing.transfer(sectors)
            }
            What::System { sectors } => {
                timing.command + timing.transfer(sectors) + timing.program(&self.layout, Ppn(0))
            }
            What::Program { row, sectors } => {
                let coarse = timing.coarse_of(&self.layout, row);
                let array = coarse + timing.program(&self.layout, row);
                timing.command + timing.transfer(sectors) + array
            }
            What::Erase { .. } => timing.erase(),
            What::Copy { from, to } => {
                let across = timing.command + timing.transfer(self.copy_sectors);
                timing.read(&self.layout, from) + across * 2 + timing.program(&self.layout, to)
            }
            What::Copies { nanoseconds, .. } => Duration::from_ns(u64::from(nanoseconds)),
        }
    }
}
