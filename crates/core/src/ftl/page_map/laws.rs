//! The state of a page map in words and in numbers, and the laws that must hold of it.

use super::PageMap;
use crate::flash::Block;
use crate::ftl::Stream;
use crate::units::{Lane, Lpn, Pool};
use std::cmp::Ordering;

impl PageMap {
    /// A pool's blocks and collection in words.
    pub fn describe_pool(&self, pool: Pool) -> String {
        let p = &self.pools[pool.index()];
        let lanes = || {
            (0..self.class_count())
                .flat_map(|class| self.lanes_of(pool).map(move |lane| (lane, class)))
        };
        let frontiers: Vec<_> =
            lanes().map(|(lane, class)| self.frontiers[self.frontier_at(lane, class)]).collect();
        format!(
            "pool {pool}: {} free group blocks, {} free units (soft {}, hard {}), \
             open {:?}, {:?}, open blocks {frontiers:?}\n",
            p.free.len(),
            p.free_units,
            p.soft_units,
            self.hard_units,
            p.logs,
            self.collections[pool.index()],
        )
    }

    /// Rows programmed in a block, as frontiers, open and closed blocks say: what the flash holds
    /// after preconditioning.
    pub fn rows_programmed(&self, block: Block) -> u32 {
        if let Some(log) = &self.log {
            return log.rows_programmed(self.layout.lane_of(block), self.layout.index_of(block));
        }
        if self.blocks.is_candidate(block) {
            return self.layout.rows;
        }
        let (lane, index) = (self.layout.lane_of(block), self.layout.index_of(block));
        let pool = &self.pools[self.pool_of(lane).index()];
        for (class, stream) in self.logs() {
            let log = &pool.logs[class as usize][stream as usize];
            let Some(at) = log.open.iter().position(|group| group.index == index) else { continue };
            let frontier = &self.frontiers[self.frontier_at(lane, class)][stream as usize];
            return match (log.opened_before + at as u64 + 1).cmp(&frontier.opened) {
                Ordering::Less => self.layout.rows,
                Ordering::Equal => frontier.row,
                Ordering::Greater => 0,
            };
        }
        0
    }

    /// Asserts the laws: valid + invalid + free = total, counters equal bitmaps, and every mapping
    /// is mutual. Slow; for tests.
    pub fn check_laws(&self) {
        self.check_bad_blocks();
        let layout = &self.layout;
        for block in (0..layout.total_blocks()).map(Block) {
            let first = layout.first_page(block).0;
            let counted = self.mapping.count_valid(first, first + layout.units_per_block);
            assert_eq!(self.blocks.valid(block), counted, "valid pages of {block:?}");
        }
        for lpn in (0..self.mapping.logical()).map(Lpn) {
            let ppn = self.mapping.physical(lpn);
            assert!(
                !ppn.is_some()
                    || (self.mapping.is_valid(ppn) && self.mapping.logical_of(ppn) == lpn),
                "{lpn:?}"
            );
        }
        for (number, pool) in self.each_pool().zip(&self.pools) {
            let free = pool.free.len() as u32 * pool.lanes * layout.units_per_block;
            let behind = |lane: Lane| {
                let rows_of = |(class, s): (u32, Stream)| {
                    self.frontiers[self.frontier_at(lane, class)][s as usize].row
                };
                self.logs().map(|log| layout.rows - rows_of(log)).sum::<u32>()
                    * layout.units_per_row
            };
            let ahead: u32 = self
                .logs()
                .map(|(class, stream)| self.units_not_yet_opened(pool, class, stream))
                .sum();
            let open: u32 = self.lanes_of(number).map(behind).sum();
            let erased = self.erased_of_victims(number) * layout.units_per_block;
            self.check_cache(number);
            assert_eq!(
                pool.free_units,
                free + open + ahead + erased,
                "free units of pool {number}"
            );
        }
    }
}
