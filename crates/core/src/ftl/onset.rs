//! When garbage collection begins, by a rule that a program brings along: the soft mark of each
//! pool, decided anew for each GC run in place of `gc.soft`.
//!
//! The rule is asked at the start, and when a victim was chosen: below which free space the next
//! one is due. Everything else (the hard mark, the last block, turns, windows) is as the scenario
//! has it, so that a rule that always answers `gc.soft` changes nothing.

use super::{GcSpec, PoolState};
use crate::flash::Layout;
use crate::units::Pool;
use std::fmt::Debug;

/// A rule of the program's own for when GC runs begin ([`GcSpec::onset`]).
pub trait Onset: Debug + Send + Sync {
    /// Free map units of the pool below which its next GC run is due. It is at most the pool, and
    /// at least one above the hard mark, whatever the answer.
    fn next(&mut self, pool: &PoolSeen) -> u32;

    /// Another one in the same state: drives are copied.
    fn twin(&self) -> Box<dyn Onset>;
}

/// A pool, as a rule sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolSeen {
    /// Which it is.
    pub pool: Pool,
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
    /// Map units of a pool: all, and at the scenario's mark.
    units: u32,
    soft: u32,
    /// Map units of a victim.
    victim: u32,
}

impl Clone for Brought {
    fn clone(&self) -> Self {
        let Self { units, soft, victim, .. } = *self;
        Self { rule: self.rule.twin(), units, soft, victim }
    }
}

impl Brought {
    /// A new rule of `gc` over pools of so many lanes, if there is one.
    pub fn new(gc: &GcSpec, layout: &Layout, lanes: u32) -> Option<Box<Self>> {
        let (units, victim) = (layout.units_per_lane() * lanes, layout.units_per_block * lanes);
        let of = |rule| Box::new(Self { rule, units, soft: gc.soft.units(units), victim });
        gc.onset.make().map(of)
    }

    /// The mark of the next GC run of `pool`: one begins now with so many `valid` map units, or the
    /// run of the drive does. Free map units at the hard mark, and the clock, are the map's.
    pub fn decide(
        &mut self,
        (pool, state): (Pool, &mut PoolState),
        valid: Option<u32>,
        (hard, programmed): (u32, u64),
    ) {
        let Self { units, soft, victim, .. } = *self;
        let free = state.free_units;
        let seen = PoolSeen { pool, units, free, soft, hard, victim, valid, programmed };
        state.soft_units = self.rule.next(&seen).min(units).max(hard + 1);
    }
}
