//! How long the erase of each block takes: always the worst case, or what the block needs.
//!
//! Source of the second: Cho et al., AERO: Adaptive Erase Operation for Improving Lifetime and
//! Performance of Modern NAND Flash-Based SSDs, ASPLOS '24 (arXiv 2404.10355). A table's tBERS
//! covers the worst block; most need less. A *shallow* first pulse (1 ms of 3.5 ms) leaves fail
//! bits, whose number tells how much more is needed. How the need is spread over blocks and grows
//! with wear is our assumption, as data: a new block needs `least` to `least + spread` of the worst
//! case, drawn uniformly, and linearly more from erase to erase until it needs all at `full_at`.
//!
//! Lengths are whole *fractions* of a step. What a block needs is a number of steps and a shorter
//! last one; a shallow pulse is a step of its own, its count of fail bits included, and the first
//! step is shorter by it. A group of planes that is erased at once counts as one block here.

use super::Block;
use crate::units::Duration;

/// The hardware of erases of different lengths.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EraseLengths {
    /// The least that a new block needs, as a share of all steps.
    pub least: f64,
    /// By how much new blocks differ, as such a share.
    pub spread: f64,
    /// Erases after which every block needs all steps; 0: it never needs more than when new.
    pub full_at: u32,
    /// Parts of a step that a pulse can be told apart in.
    pub fractions: u32,
    /// Fractions of the first, shallow pulse; 0: none, as if the need were known.
    pub shallow: u32,
    /// After the shallow pulse: fail bits are counted.
    pub count: Duration,
}

/// A share of all steps: this is all of them.
const ALL: u64 = 1 << 32;

/// The lengths of all erases.
#[derive(Clone, Debug)]
pub(super) struct Pulses {
    step: Duration,
    /// Fractions of a step.
    fractions: u32,
    /// Fractions of the worst case.
    worst: u32,
    shallow: u32,
    count: Duration,
    full_at: u32,
    /// The need of each block when it was new (of [`ALL`]), and its erases; empty: all need the
    /// worst case.
    blocks: Vec<(u64, u32)>,
}

impl Pulses {
    /// Every erase takes all steps.
    pub fn fixed(step: Duration, steps: u32) -> Self {
        let (shallow, full_at, count) = (0, 0, Duration::ZERO);
        Self { step, fractions: 1, worst: steps, shallow, count, full_at, blocks: Vec::new() }
    }

    /// Time that an erase may take beyond all its steps: fail bits are counted.
    pub fn beyond_the_steps(&self) -> Duration {
        if self.shallow > 0 { self.count } else { Duration::ZERO }
    }

    /// Blocks that were erased so often each; `draw` gives a number in [0, 1) for each of them.
    pub fn varied(
        step: Duration,
        steps: u32,
        of: &EraseLengths,
        erases: impl Iterator<Item = u32>,
        mut draw: impl FnMut() -> f64,
    ) -> Self {
        let EraseLengths { least, spread, full_at, fractions, shallow, count } = *of;
        let mut need = || ((least + spread * draw()) * ALL as f64) as u64;
        let blocks = erases.map(|erases| (need().min(ALL), erases)).collect();
        Self { step, fractions, worst: steps * fractions, shallow, count, full_at, blocks }
    }

    /// Fractions that the next erase of `block` takes: at least one, at most all.
    pub fn needed(&self, block: Block) -> u32 {
        let Some((new, erases)) = self.blocks.get(block.0 as usize) else { return self.worst };
        let grown = match u64::from(self.full_at) {
            0 => 0,
            full_at => (ALL - new) * u64::from(*erases).min(full_at) / full_at,
        };
        let fractions = ((new + grown) * u64::from(self.worst)).div_ceil(ALL) as u32;
        // A shallow pulse is not cut short.
        fractions.max(self.shallow).max(1)
    }

    /// `block` was erased once more.
    pub fn erased(&mut self, block: Block) {
        if let Some((_, erases)) = self.blocks.get_mut(block.0 as usize) {
            *erases += 1;
        }
    }

    /// Steps of an erase that takes so many fractions.
    pub fn steps(&self, needed: u32) -> u32 {
        match self.shallow {
            0 => needed.div_ceil(self.fractions),
            shallow if needed == shallow => 1,
            _ => 1 + needed.div_ceil(self.fractions),
        }
    }

    /// The time of one of them.
    pub fn length(&self, needed: u32, step: u32) -> Duration {
        let (from, to) = match (self.shallow, step) {
            (0, step) => (step * self.fractions, (step + 1) * self.fractions),
            (shallow, 0) => return self.at(shallow) + self.count,
            (shallow, step) => (((step - 1) * self.fractions).max(shallow), step * self.fractions),
        };
        self.at(to.min(needed)) - self.at(from)
    }

    /// When so many fractions are over.
    fn at(&self, fractions: u32) -> Duration {
        let (step, of) = (self.step.as_ns(), u64::from(self.fractions));
        let (whole, part) = (u64::from(fractions) / of, u64::from(fractions) % of);
        Duration::from_ns(step * whole + step * part / of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: fn(u64) -> Duration = Duration::from_us;

    fn lengths(pulses: &Pulses, block: u32) -> Vec<u64> {
        let needed = pulses.needed(Block(block));
        (0..pulses.steps(needed)).map(|step| pulses.length(needed, step).as_ns() / 1000).collect()
    }

    fn spec(shallow: u32) -> EraseLengths {
        EraseLengths {
            least: 0.5,
            spread: 0.5,
            full_at: 100,
            fractions: 7,
            shallow,
            count: US(100),
        }
    }

    #[test]
    fn a_fixed_erase_takes_all_steps() {
        assert_eq!(lengths(&Pulses::fixed(US(400), 5), 3), [400; 5]);
    }

    #[test]
    fn a_block_takes_the_steps_that_it_needs_and_part_of_the_last() {
        // Steps of 3.5 ms, fractions of 0.5 ms; draws 0, 0.5, 0.99.. need 50, 75, nearly 100 % of 5
        // steps = 35.
        let of = |shallow: u32| {
            let mut draws = [0.0, 0.5, 0.999].into_iter();
            Pulses::varied(US(3500), 5, &spec(shallow), [0, 0, 0].into_iter(), || {
                draws.next().unwrap()
            })
        };
        // 17.5 fractions are 18; 26.25 are 27.
        assert_eq!(lengths(&of(0), 0), [3500, 3500, 2000]);
        assert_eq!(lengths(&of(0), 1), [3500, 3500, 3500, 3000]);
        assert_eq!(lengths(&of(0), 2), [3500; 5]);
        // The shallow pulse of 1 ms and its count of fail bits; the first step is shorter by it.
        assert_eq!(lengths(&of(2), 0), [1100, 2500, 3500, 2000]);
        assert_eq!(lengths(&of(2), 2), [1100, 2500, 3500, 3500, 3500, 3500]);
    }

    #[test]
    fn the_need_grows_with_wear_until_it_is_all() {
        let mut pulses = Pulses::varied(US(3500), 5, &spec(0), [0, 50].into_iter(), || 0.0);
        let needed = |pulses: &Pulses, block| pulses.needed(Block(block));
        assert_eq!((needed(&pulses, 0), needed(&pulses, 1)), (18, 27));
        (0..50).for_each(|_| pulses.erased(Block(0)));
        assert_eq!(needed(&pulses, 0), 27);
        (0..50).for_each(|_| pulses.erased(Block(0)));
        assert_eq!(needed(&pulses, 0), 35);
        (0..1000).for_each(|_| pulses.erased(Block(0)));
        assert_eq!(needed(&pulses, 0), 35);
        let never = EraseLengths { full_at: 0, ..spec(0) };
        let pulses = Pulses::varied(US(3500), 5, &never, [4_000_000_000].into_iter(), || 0.0);
        assert_eq!(needed(&pulses, 0), 18);
    }

    #[test]
    fn a_block_that_the_shallow_pulse_erases_needs_nothing_more() {
        let quick = EraseLengths { least: 0.01, spread: 0.0, full_at: 0, ..spec(3) };
        let pulses = Pulses::varied(US(700), 2, &quick, [0].into_iter(), || 0.0);
        assert_eq!(lengths(&pulses, 0), [400]);
        let known = EraseLengths { shallow: 0, ..quick };
        assert_eq!(lengths(&Pulses::varied(US(700), 2, &known, [0].into_iter(), || 0.0), 0), [100]);
    }
}
