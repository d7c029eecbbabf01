//! Stress of each block by its erases: suspensions, voltage ramps, pulse time given up.
//!
//! Kim et al. (USENIX ATC '19, section 2.1): ramping the voltage down and up again stresses the
//! cells, so a policy that stops pulses pays in reliability for what its reads gain. Kept where
//! erases can be suspended, from the first operation on; what the block suffered before, in
//! preconditioning, is not in it.

use super::Block;
use super::die::{Operation, What};
use crate::units::Duration;

/// Stress of one block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockStress {
    /// Erases that ended.
    pub erases: u32,
    /// Times one was suspended, at whatever point.
    pub suspensions: u32,
    /// Ramps beyond the one of each step.
    pub extra_ramps: u32,
    /// Pulse time of the erases that ended, without what was given up.
    pub pulse: Duration,
    /// Pulse time that was given up.
    pub aborted: Duration,
}

/// The books of all blocks.
#[derive(Clone, Debug)]
pub(super) struct Stress {
    blocks: Vec<BlockStress>,
}

impl Stress {
    pub fn new(blocks: u32) -> Self {
        Self { blocks: vec![BlockStress::default(); blocks as usize] }
    }

    pub fn blocks(&self) -> &[BlockStress] {
        &self.blocks
    }

    /// The entry of the block that `erase` erases.
    pub fn of(&mut self, erase: &Operation) -> &mut BlockStress {
        let What::Erase { block: Block(block) } = erase.what else {
            unreachable!("only an erase is suspended")
        };
        &mut self.blocks[block as usize]
    }
}
