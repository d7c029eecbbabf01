//! Cache program: the data of the next program goes ahead into the cache register while the array
//! still programs.

use super::activity::Act;
use super::blame::Whose;
use super::channel::Crossing;
use super::channel::Reserved;
use super::die::Phase;
use super::{Flash, Operation, What};
use crate::sim::NIL;
use crate::units::Die;
use crate::units::Instant;

impl Flash {
    /// True when a program runs whose successor may be preloaded now.
    #[inline]
    pub fn accepts_preload(&self, die: Die) -> bool {
        let d = &self.dies[die.index()];
        // Behind a page of the system area nothing goes ahead.
        let is_program = matches!(d.operation.what, What::Program { .. });
        self.cache_program && d.phase == Phase::Programming && d.preloaded.is_none() && is_program
    }

    /// Sends the data of the next program into the cache register while the array still programs
    /// ([`Fired::preload`]).
    pub fn preload(&mut self, now: Instant, die: Die, operation: Operation) {
        let What::Program { row, sectors } = operation.what else {
            unreachable!("only a program is preloaded")
        };
        let d = &mut self.dies[die.index()];
        debug_assert!(d.phase == Phase::Programming && d.preloaded.is_none());
        self.take_row(row);
        if let Some(blame) = &mut self.blame {
            blame.preloads(die.index());
        }
        let at = (die.index(), self.dies[die.index()].channel);
        let load = self.reserve(now, at, Whose::Preloaded, Crossing::In(sectors), &operation);
        self.log(die.index(), (load.start, load.end), Act::DataIn, &operation);
        self.dies[die.index()].preloaded = Some((operation, load));
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
