//! Endurance: the program/erase cycles for which a block is rated.
//!
//! A datasheet rates a block for so many P/E cycles (Samsung K9WAG08U1A: 100,000); it guarantees
//! them, and says nothing of the moment of the end. Here a block bears as many erases as it is
//! rated for, with those that it had before (`ageing.pe_cycles`), and where `faults.wear_out` is
//! set the erase after the last of them fails ([`super::FaultDraws::is_worn`]). So a block that was
//! new is programmed once more often than it is rated for: it comes erased.
//!
//! Assumed: all blocks are rated alike, those with one bit a cell, too. Not modelled: blocks that
//! end before, and behind, their rating (`faults.erase_fail` with `growth_per_1000` draws them).

use super::{AgeingSpec, Device};

/// The rated P/E cycles of a block, and those that it had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rating {
    /// Rated cycles, above 0.
    pub cycles: u32,
    /// Cycles before the drive was new here (`ageing.pe_cycles`).
    pub before: u32,
}

impl Rating {
    /// The rating of a device's blocks; `None` where its table states none.
    pub fn of(device: &Device, ageing: &AgeingSpec) -> Option<Self> {
        let (cycles, before) = (device.endurance, ageing.pe_cycles);
        (cycles > 0).then_some(Self { cycles, before })
    }

    /// Erases that a block still bears when the drive is new here.
    pub fn bears(&self) -> u32 {
        self.cycles.saturating_sub(self.before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cycles_of_before_are_borne_no_more_and_a_device_that_states_none_has_no_rating() {
        let mut device = crate::flash::tests::device();
        let age = AgeingSpec { pe_cycles: 30, ..AgeingSpec::default() };
        assert_eq!(Rating::of(&device, &age), None);
        device.endurance = 50;
        assert_eq!(Rating::of(&device, &age).unwrap().bears(), 20);
        assert_eq!(Rating { cycles: 50, before: 200 }.bears(), 0);
    }
}
