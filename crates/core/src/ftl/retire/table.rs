//! The table of bad blocks: those that are bad from the start, and what is left of it after a power
//! loss or a snapshot.

use super::{BadBlocks, Health, Retire, State};
use crate::flash::{Block, FaultSpec};
use crate::ftl::PageMap;
use crate::units::Pool;
use std::collections::VecDeque;

/// Group blocks beside the data and the hard reserve: of the host, of copies, and one to begin the
/// next collection.
const HELD: u64 = 3;

/// The blocks that a pool needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs {
    /// Data that may be valid at once, in map units.
    pub user: u64,
    /// Free map units below which reclaiming goes first.
    pub hard: u64,
    /// Map units of data in a group block.
    pub group: u64,
    /// Map units in a row.
    pub row: u64,
    /// Operations may fail.
    pub fails: bool,
}

impl Needs {
    /// The fewest group blocks that do: beside the data they leave the hard reserve and the blocks
    /// held, and some block always holds so little that copying it frees a row.
    pub fn group_blocks(&self) -> u64 {
        let held = HELD + u64::from(self.fails);
        let space = (self.user + self.hard + held * self.group) / self.group + 1;
        let gain = held + self.user / (self.group - self.row).max(1) + 1;
        space.max(gain)
    }
}

impl PageMap {
    /// This empty map with bad blocks as `spec` says; call it last, before anything is written.
    pub fn with_bad_blocks(mut self, spec: &FaultSpec, seed: u64) -> Self {
        if !spec.is_on() {
            return self;
        }
        if self.log.is_some() {
            self.take_factory_bad_of_log(spec, seed);
            return self;
        }
        let (blocks, lanes) = (self.layout.total_blocks() as usize, self.layout.lanes as usize);
        let mut retire = Retire {
            states: vec![State::Good; blocks],
            under_way: vec![0; blocks],
            closes: vec![false; blocks],
            follow: Vec::new(),
            spares: vec![Vec::new(); lanes],
            pools: vec![Health::default(); self.pools.len()],
            needed: self.needs(spec.fails()).group_blocks() as u32,
            factory_bad: 0,
            retired: 0,
        };
        for pool in self.each_pool() {
            self.take_factory_bad(&mut retire, pool, spec, seed);
            self.pools[pool.index()].reserve += u32::from(spec.fails());
        }
        self.retire = Some(Box::new(retire));
        self
    }

    fn needs(&self, fails: bool) -> Needs {
        let (lanes, row) = (u64::from(self.pools[0].lanes), u64::from(self.layout.units_per_row));
        let (rows, data) =
            (lanes * u64::from(self.layout.rows), u64::from(self.data_rows(Pool(0))));
        Needs {
            user: (u64::from(self.mapping.logical()) * lanes)
                .div_ceil(u64::from(self.layout.lanes)),
            hard: u64::from(self.hard_units) * data / rows
                + u64::from(self.hard_blocks.saturating_sub(1)) * data * row,
            group: data * row,
            row,
            fails,
        }
    }

    /// Takes what is bad from the start out of a pool.
    fn take_factory_bad(&mut self, retire: &mut Retire, pool: Pool, spec: &FaultSpec, seed: u64) {
        let layout = self.layout.clone();
        let bad: Vec<Vec<u32>> =
            self.lanes_of(pool).map(|lane| spec.factory_bad_blocks(&layout, lane, seed)).collect();
        let most = bad.iter().map(Vec::len).max().unwrap_or(0) as u32;
        retire.factory_bad += bad.iter().map(|bad| bad.len() as u32).sum::<u32>();
        let state = &mut self.pools[pool.index()];
        let lanes = state.lanes;
        retire.pools[pool.index()].good = layout.blocks - most;
        state.free_units -= most * state.lanes * layout.units_per_block;
        while state.free.pop().is_some() {}
        let kept = layout.blocks - most;
        let is_kept =
            |index: &u32| if lanes == 1 { !bad[0].contains(index) } else { *index < kept };
        (0..layout.blocks).filter(is_kept).for_each(|index| state.free.push(index, 0));
        for (lane, bad) in state.each_lane().zip(&bad) {
            if state.lanes == 1 {
                bad.iter().for_each(|index| {
                    retire.states[layout.block(lane, *index).0 as usize] = State::Bad
                });
                continue;
            }
            let numbers = (kept..layout.blocks).map(|index| layout.block(lane, index));
            for (place, block) in numbers.enumerate() {
                match place < bad.len() {
                    true => retire.states[block.0 as usize] = State::Bad,
                    false => retire.spares[lane.index()].push(block),
                }
            }
        }
    }

    /// The table of bad blocks: it is taken to be in the system area, exact at any time.
    pub fn bad_block_table(&self) -> BadBlocks {
        let of_log = self.log.as_ref().map(|log| log.losses());
        BadBlocks { retire: self.retire.clone(), of_log }
    }

    /// This fresh map with the table of before a power loss; operations may fail if `fails`.
    pub fn with_bad_block_table(mut self, table: &BadBlocks, fails: bool) -> Self {
        if let (Some(log), Some(losses)) = (&mut self.log, &table.of_log) {
            log.take_losses(losses);
        }
        let Some(mut retire) = table.retire.clone() else { return self };
        retire.under_way.fill(0);
        retire.closes.fill(false);
        retire.follow.clear();
        for health in &mut retire.pools {
            (health.closing, health.failed, health.dead) = (Vec::new(), VecDeque::new(), false);
        }
        self.pools.iter_mut().for_each(|pool| pool.reserve += u32::from(fails));
        self.retire = Some(retire);
        self
    }

    /// By block: it is in no group any more, and what it holds is not to be looked at.
    pub fn out_of_service(&self) -> Vec<bool> {
        let blocks = (0..self.layout.total_blocks()).map(Block);
        let Some(retire) = &self.retire else { return vec![false; blocks.count()] };
        let is_doomed = |block: Block| {
            let (pool, index) =
                (self.pool_of(self.layout.lane_of(block)), self.layout.index_of(block));
            retire.pools[pool.index()].doomed.contains(&index)
        };
        blocks
            .map(|block| retire.states[block.0 as usize] == State::Bad && !is_doomed(block))
            .collect()
    }

    /// After a snapshot was restored: what is out of service is no candidate.
    pub(in crate::ftl) fn pass_over_bad_blocks(&mut self) {
        let Some(retire) = &self.retire else { return };
        let bad = (0..)
            .zip(&retire.states)
            .filter(|(_, state)| **state != State::Good)
            .map(|(block, _)| Block(block));
        let out = bad.chain(retire.spares.iter().flatten().copied());
        out.for_each(|block| self.blocks.set_candidate(block, false));
    }
}
