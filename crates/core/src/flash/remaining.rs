//! What is left of garbage collection's operation on a die, as its controller knows: it gave the command, and it has
//! the device table. It changes nothing.

use super::Flash;
use super::die::{Operation, Phase, What};
use crate::units::{Duration, Instant, Ppn};

impl Flash {
    /// The token of the collection's operation that the die works on, and what is left of it. The transfer that ends a
    /// read is counted as if the channel were free. An operation that may be suspended has no timer of its own for its
    /// end: it is taken to last as long as the table says, from its issue on.
    pub fn gc_operation_left(&self, now: Instant, die: u32) -> Option<(u32, Duration)> {
        let d = &self.dies[die as usize];
        let (operation, issued, _) = d.issued();
        if d.phase == Phase::Idle || !operation.gc {
            return None;
        }
        let due = || self.timers.due(die as usize).map_or(Duration::ZERO, |at| at.since(now));
        let left = match (d.phase, operation.what) {
            (Phase::Sensing, What::Read { sectors, .. }) => due() + self.timing.transfer(sectors),
            (Phase::TransferringIn, What::Program { row, .. }) => due() + self.timing.program(&self.layout, row),
            (Phase::Erasing { steps_left }, _) => due() + self.timing.erase_step * u64::from(steps_left),
            (Phase::TransferringOut | Phase::Programming, _) => due(),
            _ => {
                let whole = self.alone(&operation).as_ns();
                Duration::from_ns(whole.saturating_sub(now.since(issued).as_ns()))
            }
        };
        Some((operation.token, left))
    }

    /// An operation's time with the die and the channel to itself.
    fn alone(&self, operation: &Operation) -> Duration {
        let timing = &self.timing;
        match operation.what {
            What::Read { page, sectors } => timing.command + timing.read(&self.layout, page) + timing.transfer(sectors),
            What::System { sectors } => {
                timing.command + timing.transfer(sectors) + timing.program(&self.layout, Ppn(0))
            }
            What::Program { row, sectors } => {
                timing.command + timing.transfer(sectors) + timing.program(&self.layout, row)
            }
            What::Erase { .. } => timing.erase(),
            What::Copies { nanoseconds, .. } => Duration::from_ns(u64::from(nanoseconds)),
        }
    }
}
