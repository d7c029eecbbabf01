//! Books of dies that wait for a share of the power budget (`drive/dies/power.rs`).

use super::Flash;
use super::blame::{Blame, Keeper};
use crate::units::{Die, Instant};

impl Flash {
    /// An operation of an idle die waits for a share of the power budget, or no more.
    pub fn waits_for_power(&mut self, now: Instant, die: Die, waits: bool) {
        match &mut self.blame {
            Some(blame) if waits => blame.asks_for_power(now, die.index()),
            Some(blame) => blame.has_power(now, die.index()),
            None => {}
        }
    }
}

impl Blame {
    fn asks_for_power(&mut self, now: Instant, die: usize) {
        if matches!(self.keeper(die), Keeper::Nobody | Keeper::Closed) {
            self.turns(now, die, Keeper::Power);
        }
    }

    fn has_power(&mut self, now: Instant, die: usize) {
        if self.keeper(die) == Keeper::Power {
            self.freed(now, die);
        }
    }
}
