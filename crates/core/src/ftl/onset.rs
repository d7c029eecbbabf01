//! When garbage collection begins, by a rule that a program brings along: the soft mark of each
//! pool, decided anew for each GC run in place of `gc.soft`.
//!
//! The rule is asked at the start, and when a victim was chosen: below which free space the next
//! one is due. Everything else (the hard mark, the last block, turns, windows) is as the scenario
//! has it, so that a rule that always answers `gc.soft` changes nothing.

use super::{GcSpec, PageMap};
use crate::units::Pool;
use std::fmt::Debug;

/// A rule of the program's own for when GC runs begin ([`GcSpec::onset`]).
pub trait Onset: Debug + Send + Sync {
    /// Free map units of the pool below which its next GC run is due. It is at least one above the
    /// hard mark, whatever the answer, and at most the pool.
    fn next(&mut self, pool: &PoolSeen) -> u32;

    /// Another one in the same state: drives are copied.
    fn twin(&self) -> Box<dyn Onset>;
}

/// A pool, as a rule sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolSeen {
    /// Its number, from 0.
    pub pool: u32,
    /// Map units of all its flash.
    pub units: u32,
    /// Those that can still be programmed.
    pub free: u32,
    /// Free map units at the soft mark of the scenario.
    pub soft: u32,
    /// Free map units at the hard mark.
    pub hard: u32,
    /// Map units of a victim.
    pub victim: u32,
    /// Valid ones of the victim that was chosen now; `None` at the start.
    pub valid: Option<u32>,
    /// Map units programmed anywhere in the drive so far: a clock that stands while nothing is
    /// written.
    pub programmed: u64,
}

/// A rule at work.
#[derive(Debug)]
pub(super) struct Brought {
    rule: Box<dyn Onset>,
    /// The scenario's mark, in map units of a pool.
    soft: u32,
}

impl Clone for Brought {
    fn clone(&self) -> Self {
        Self { rule: self.rule.twin(), soft: self.soft }
    }
}

impl PageMap {
    /// A new rule of `gc`, if there is one: every pool has its first mark.
    pub(super) fn begin_onset(&mut self, gc: &GcSpec) {
        let soft = gc.soft.units(self.pool_units());
        self.onset = gc.onset.make().map(|rule| Box::new(Brought { rule, soft }));
        for pool in self.each_pool() {
            self.next_onset(pool, None);
        }
    }

    /// The next GC run of `pool` is decided: one begins now with so many valid map units, or the
    /// run does.
    #[inline]
    pub(super) fn next_onset(&mut self, pool: Pool, valid: Option<u32>) {
        if self.onset.is_some() {
            self.decide_onset(pool, valid);
        }
    }

    fn decide_onset(&mut self, pool: Pool, valid: Option<u32>) {
        let units = self.pool_units();
        let Some(Brought { rule, soft }) = self.onset.as_deref_mut() else { return };
        let state = &mut self.pools[pool.index()];
        let seen = PoolSeen {
            pool: pool.index() as u32,
            units,
            free: state.free_units,
            soft: *soft,
            hard: self.hard_units,
            victim: state.lanes * self.layout.units_per_block,
            valid,
            programmed: self.clock,
        };
        state.soft_units = rule.next(&seen).clamp(self.hard_units + 1, units);
    }

    /// Map units of a pool.
    fn pool_units(&self) -> u32 {
        self.layout.units_per_lane() * self.pools[0].lanes
    }
}
