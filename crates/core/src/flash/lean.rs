//! Events of a flash at which no feature looks, or none but the books of waits: the drive takes
//! them apart itself, so that most of them are a few steps in one function.

use super::Flash;
use super::die::Phase;
use super::fired::Fired;
use crate::units::Instant;

impl Flash {
    /// Which features look at single operations: where none does, or none but books, a caller may
    /// take events apart ([`Flash::serve`]).
    #[inline(always)]
    pub fn way(&self) -> u8 {
        self.way
    }

    /// The turn of what is due first, at `now`, has come: of the die in this slot. The caller does
    /// [`Flash::send_as`] or [`Flash::end_as`] next.
    #[inline(always)]
    pub fn serve(&mut self, now: Instant) -> usize {
        self.timers.serve_at(now)
    }

    /// The data goes to the channel, or waits for it.
    #[inline(always)]
    pub fn send_as<const WAY: u8>(&mut self, now: Instant, slot: usize) {
        self.sensed_as::<WAY>(now, slot);
    }

    /// All other turns of a die.
    #[inline(always)]
    pub fn end_as<const WAY: u8>(&mut self, now: Instant, slot: usize) -> Fired {
        match self.dies[slot].phase {
            Phase::TransferringOut => self.finish_read_as::<WAY>(now, slot),
            Phase::SensingInside | Phase::Programming | Phase::Copying => {
                self.finish_as::<WAY>(now, slot)
            }
            Phase::CopyReading => self.copy_is_read(now, slot),
            _ => self.fire_other(now, slot),
        }
    }

    /// The die's read, whose data has crossed, is done.
    #[inline(always)]
    fn finish_read_as<const WAY: u8>(&mut self, now: Instant, slot: usize) -> Fired {
        let die = &mut self.dies[slot];
        let done = Fired::ended(die.operation.token, die.behind_gc);
        die.free(now);
        self.book_done::<WAY>(now, slot);
        self.counters.reads += 1;
        done.and_freed(slot)
    }
}
