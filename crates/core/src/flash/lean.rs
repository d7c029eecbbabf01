//! Events of a flash at which no feature looks: the drive takes them apart itself, so that most of
//! them are a few steps in one function.

use super::Flash;
use super::die::Phase;
use super::fired::Fired;
use crate::units::Instant;

impl Flash {
    /// True where no feature looks at single operations: a caller may take events apart
    /// ([`Flash::serve`]).
    #[inline(always)]
    pub fn is_lean(&self) -> bool {
        self.is_lean
    }

    /// The turn of what is due first, at `now`, has come: of the die in this slot. The caller does
    /// [`Flash::send_lean`] or [`Flash::end_lean`] next.
    #[inline(always)]
    pub fn serve(&mut self, now: Instant) -> usize {
        self.timers.serve_at(now)
    }

    /// The data goes to the channel, or waits for it.
    #[inline(always)]
    pub fn send_lean(&mut self, now: Instant, slot: usize) {
        self.sensed_as::<true>(now, slot);
    }

    /// All other turns of a die.
    #[inline(always)]
    pub fn end_lean(&mut self, now: Instant, slot: usize) -> Fired {
        match self.dies[slot].phase {
            Phase::TransferringOut => self.finish_read_lean(now, slot),
            Phase::Sensing | Phase::Programming | Phase::Copying => {
                self.finish_as::<true>(now, slot)
            }
            Phase::CopyReading => self.copy_is_read(now, slot),
            _ => self.fire_other(now, slot),
        }
    }

    /// The die's read, whose data has crossed, is done.
    #[inline(always)]
    fn finish_read_lean(&mut self, now: Instant, slot: usize) -> Fired {
        let die = &mut self.dies[slot];
        let done = Fired::ended(die.operation.token, die.behind_gc);
        die.free(now);
        self.counters.reads += 1;
        done.and_freed(slot)
    }
}
