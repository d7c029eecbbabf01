//! Cache program: the data of the next program goes ahead into the cache register while the array
//! still programs.

use super::activity::Act;
use super::blame::Whose;
use super::channel::Crossing;
use super::channel::Reserved;
use super::die::Phase;
use super::{Flash, Operation, What};
use crate::sim::NIL;
use crate::units::Instant;

impl Flash {
    /// True when a program runs whose successor may be preloaded now.
    #[inline]
    pub fn accepts_preload(&self, die: u32) -> bool {
        let d = &self.dies[die as usize];
        // Behind a page of the system area nothing goes ahead.
        let is_program = matches!(d.operation.what, What::Program { .. });
        self.cache_program && d.phase == Phase::Programming && d.preloaded.is_none() && is_program
    }

    /// Sends the data of the next program into the cache register while the array still programs
    /// ([`Fired::preload`]).
    pub fn preload(&mut self, now: Instant, die: u32, operation: Operation) {
        let What::Program { row, sectors } = operation.what else {
            unreachable!("only a program is preloaded")
        };
        let d = &mut self.dies[die as usize];
        debug_assert!(d.phase == Phase::Programming && d.preloaded.is_none());
        self.take_row(row);
        if let Some(blame) = &mut self.blame {
            blame.preloads(die as usize);
        }
        let at = (die as usize, self.dies[die as usize].channel);
        let load = self.reserve(now, at, Whose::Preloaded, Crossing::In(sectors), &operation);
        self.log(die as usize, (load.start, load.end), Act::DataIn, &operation);
        self.dies[die as usize].preloaded = Some((operation, load));
    }

    /// Starts the program whose data is in the cache register, or on its way there.
    pub(super) fn start_preloaded(
        &mut self,
        now: Instant,
        slot: usize,
        next: Operation,
        load: Reserved,
    ) -> u32 {
        if let Some(blame) = &mut self.blame {
            blame.started(now, slot, &next, next.block(&self.layout));
            blame.preloaded_starts(now, slot, load.end);
        }
        let die = &mut self.dies[slot];
        die.operation = next;
        die.started = now;
        die.behind_gc = load.behind_gc;
        if load.end > now {
            self.log(slot, (now, load.start), Act::Wait, &next);
            let die = &mut self.dies[slot];
            die.phase = Phase::TransferringIn;
            self.timers.set(slot, load.end);
            return NIL;
        }
        self.loaded(now, slot).preload
    }
}
