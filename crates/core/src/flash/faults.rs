//! Bad blocks: which are bad from the start, and which programs and erases fail.
//!
//! NAND leaves the factory with bad blocks and grows more: a datasheet guarantees 2008 of 2048
//! blocks over its life (Micron MT29F2G08, "Error Management": the number of valid blocks), so at
//! most 2 % are bad, whenever they became so. A program or an erase that fails says so in its
//! status byte, after tPROG or tBERS, and the block is not to be used again (same section). How
//! probable that is no datasheet says: the probabilities are the user's, and grow linearly with the
//! block's erases where asked for (assumed).
//!
//! **Wear-out** (`wear_out`) draws nothing: the erase of a block that has had its rated cycles
//! fails ([`Rating`]). A drive that is read-only erases worn blocks all the same: with those it
//! writes out what it still holds.
//!
//! Every draw is from a stream of its own: factory bad blocks from one of their lane, programs and
//! erases in the order in which they end. Trap: a draw is taken only where its probability is above
//! 0, so a drive that fails erases only has the same erase failures whatever is programmed.
//!
//! Not modelled: failures in preconditioning and in what takes no time (`nogc`), whole dies that
//! fail, reads disturbed by a bad block.

use super::{Block, Layout, Rating};
use crate::sim::Rng;
use crate::units::Lane;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Bad blocks: factory bad ones, and programs and erases that fail.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FaultSpec {
    /// Share of the blocks that are bad from the start.
    pub factory_bad: f64,
    /// Probability that a program fails.
    pub program_fail: f64,
    /// Probability that an erase fails.
    pub erase_fail: f64,
    /// Both probabilities grow by this share of themselves with every 1000 erases of the block.
    pub growth_per_1000: f64,
    /// The erase of a block that has had its rated cycles (`device.endurance`) fails.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub wear_out: bool,
}

impl FaultSpec {
    /// True when anything of it is modelled.
    pub fn is_on(&self) -> bool {
        self.factory_bad > 0.0 || self.fails()
    }

    /// True when operations may fail.
    pub fn fails(&self) -> bool {
        self.program_fail > 0.0 || self.erase_fail > 0.0 || self.wear_out
    }

    /// The blocks of `lane` that are bad from the start, by their numbers in it.
    pub fn factory_bad_blocks(&self, layout: &Layout, lane: Lane, seed: u64) -> Vec<u32> {
        if self.factory_bad <= 0.0 {
            return Vec::new();
        }
        let mut rng = Rng::stream(seed, &format!("factory bad blocks of lane {lane}"));
        (0..layout.blocks).filter(|_| rng.unit() < self.factory_bad).collect()
    }
}

/// Decides which operations fail.
#[derive(Clone, Debug)]
pub struct FaultDraws {
    spec: FaultSpec,
    programs: Rng,
    erases: Rng,
    /// Erases that a block bears; none is the last where nothing wears out.
    bears: u32,
}

impl FaultDraws {
    /// The draws of a run on blocks of this rating.
    pub fn new(spec: &FaultSpec, rating: Option<Rating>, seed: u64) -> Self {
        let stream = |name| Rng::stream(seed, name);
        Self {
            spec: spec.clone(),
            programs: stream("programs that fail"),
            erases: stream("erases that fail"),
            bears: rating.filter(|_| spec.wear_out).map_or(u32::MAX, |rating| rating.bears()),
        }
    }

    /// True when the program that ends now, in a block of so many erases, has failed.
    #[inline]
    pub fn program_fails(&mut self, erases: u32) -> bool {
        let probability = self.spec.program_fail;
        probability > 0.0 && self.programs.unit() < self.grown(probability, erases)
    }

    /// True when the erase that ends now, of a block of so many earlier ones, has failed.
    pub fn erase_fails(&mut self, erases: u32) -> bool {
        let probability = self.spec.erase_fail;
        probability > 0.0 && self.erases.unit() < self.grown(probability, erases)
    }

    /// True when a block of so many erases has had all that it bears: the next one fails.
    pub fn is_worn(&self, erases: u32) -> bool {
        erases >= self.bears
    }

    fn grown(&self, probability: f64, erases: u32) -> f64 {
        probability * (1.0 + self.spec.growth_per_1000 * f64::from(erases) / 1000.0)
    }
}

impl super::Flash {
    /// A block takes the place of one that failed: it is erased.
    pub fn replace(&mut self, block: Block) {
        self.adopt(block, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(draws: &mut FaultDraws, erases: u32) -> f64 {
        (0..100_000).filter(|_| draws.program_fails(erases)).count() as f64 / 100_000.0
    }

    #[test]
    fn as_many_programs_fail_as_asked_and_more_with_every_erase() {
        let spec = FaultSpec { program_fail: 0.01, growth_per_1000: 2.0, ..FaultSpec::default() };
        let mut draws = FaultDraws::new(&spec, None, 1);
        // The standard deviations are 0.0003 and 0.0007.
        assert!((share(&mut draws, 0) - 0.01).abs() < 0.0015);
        assert!((share(&mut draws, 2_000) - 0.05).abs() < 0.0035, "0.01 x (1 + 2 x 2)");
        assert!(!draws.erase_fails(1_000_000));
    }

    #[test]
    fn a_block_is_worn_behind_the_last_erase_that_it_bears_and_never_without_wear_out() {
        let rating = Some(Rating { cycles: 50, before: 20 });
        let spec = FaultSpec { wear_out: true, ..FaultSpec::default() };
        let draws = FaultDraws::new(&spec, rating, 1);
        assert_eq!((draws.is_worn(29), draws.is_worn(30)), (false, true));
        let draws = FaultDraws::new(&FaultSpec::default(), rating, 1);
        assert!(!draws.is_worn(1_000_000));
        assert!(spec.is_on() && spec.fails());
    }

    #[test]
    fn what_is_never_drawn_leaves_the_other_stream_alone() {
        let both = FaultSpec { program_fail: 0.1, erase_fail: 0.1, ..FaultSpec::default() };
        let (mut both, mut one) = (
            FaultDraws::new(&both, None, 7),
            FaultDraws::new(&FaultSpec { program_fail: 0.0, ..both.clone() }, None, 7),
        );
        for _ in 0..1_000 {
            both.program_fails(0);
            assert!(!one.program_fails(0));
            assert_eq!(both.erase_fails(0), one.erase_fails(0));
        }
    }

    #[test]
    fn factory_bad_blocks_are_a_share_of_every_lane_and_differ_by_lane() {
        let layout = Layout::new(&crate::flash::tests::device());
        let spec = FaultSpec { factory_bad: 0.3, ..FaultSpec::default() };
        let bad = |lane, seed| spec.factory_bad_blocks(&layout, lane, seed);
        let first = Lane(0);
        assert_eq!(bad(first, 1), bad(first, 1));
        assert!(
            layout.each_lane().any(|lane| bad(lane, 1) != bad(first, 1))
                && (1..9).any(|seed| bad(first, seed) != bad(first, 1))
        );
        let all: usize = (0..200).map(|seed| bad(first, seed).len()).sum();
        let share = all as f64 / (200.0 * f64::from(layout.blocks));
        assert!((share - 0.3).abs() < 0.06, "{share}");
        assert!(FaultSpec::default().factory_bad_blocks(&layout, first, 1).is_empty());
    }
}
