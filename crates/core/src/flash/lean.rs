//! Events of a flash at which no feature looks, or none but the books of waits: the drive takes
//! them apart itself, so that most of them are a few steps in one function.

use super::Flash;
use super::die::Phase;
use super::fired::Fired;
use crate::units::Instant;

impl Flash {
    /// Which features look at single operations: where none does, or none but books, a caller may
    /// take events apart ([`Flash::turn_as`]).
    #[inline(always)]
    pub fn way(&self) -> u8 {
        self.way
    }

    /// Does the turn that is due first, at `now`, where no other features look than those of this
    /// way.
    #[inline(always)]
    pub fn turn_as<const WAY: u8>(&mut self, now: Instant) -> Fired {
        let slot = self.timers.serve_at(now);
        match self.dies[slot].phase {
            // The data goes to the channel, or waits for it.
            Phase::Sensing => self.sensed_as::<WAY>(now, slot),
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
