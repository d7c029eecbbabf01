//! A page map at the start: empty, and at the beginning of a run.

use super::{Frontier, PageMap};
use crate::flash::{Block, Device, Layout};
use crate::ftl::collection::Collection;
use crate::ftl::onset::Brought;
use crate::ftl::placement::Placement;
use crate::ftl::pool::{FreeBlocks, OpenLog, PoolState};
use crate::ftl::relocation::Relocation;
use crate::ftl::victim::VictimPolicy;
use crate::ftl::{
    Blocks, Classes, Frontiers, FtlSpec, GcMode, GcSpec, Mapping, OpenBlocks, VictimUnit,
};
use crate::sim::Divisor;
use crate::units::{Lane, Pool};
use std::collections::VecDeque;

impl PageMap {
    /// An empty drive of `logical` map units. The specs are validated.
    pub fn new(device: &Device, ftl: &FtlSpec, gc: &GcSpec, logical: u32, seed: u64) -> Self {
        let layout = Layout::new(device);
        let lanes_per_pool = match gc.unit {
            VictimUnit::Block => 1,
            VictimUnit::PlaneGroup => layout.lanes_per_plane_group,
            VictimUnit::Superblock => layout.lanes,
        };
        let pool_units = layout.units_per_lane() * lanes_per_pool;
        // Copies that take no time would overtake host rows on their way into the same block, and
        // close it before them.
        let shared = ftl.frontiers == Frontiers::Shared && gc.mode != GcMode::Nogc;
        let closed = Frontier { block: Block(0), row: layout.rows, opened: 0 };
        let frontiers = if shared { Frontiers::Shared } else { Frontiers::Separate };
        let open = OpenBlocks::of(&FtlSpec { frontiers, ..ftl.clone() });
        let classes = Classes::new(ftl, layout.total_blocks(), logical);
        let mut map = Self {
            mapping: Mapping::new(logical, layout.total_units()),
            blocks: Blocks::new(layout.total_blocks(), VictimPolicy::needs_ages(gc)),
            pools: (layout.each_lane().step_by(lanes_per_pool as usize))
                .map(|first| new_pool(first, lanes_per_pool, shared, open, ftl, &layout))
                .collect(),
            frontiers: vec![[closed; 2]; (open.classes * layout.lanes) as usize],
            host_classes: open.host,
            splits_victims: classes.as_ref().is_some_and(|classes| classes.splits_victims()),
            classes,
            placement: Placement::new(ftl, device, &layout),
            collections: vec![Collection::none(1); (layout.lanes / lanes_per_pool) as usize],
            victims_max: 1,
            relocations: vec![Relocation::new(&layout); layout.lanes as usize],
            victim: VictimPolicy::new(gc, seed),
            keeps_order: VictimPolicy::needs_order(gc),
            by_pool: Divisor::new(lanes_per_pool),
            onset: None,
            hard_units: 0,
            soft_blocks: 0,
            hard_blocks: 0,
            last_rows_soft: 0,
            last_rows_hard: 0,
            static_wear_gap: ftl.static_wear_gap,
            erases_waiting: 0,
            hopeless: vec![false; (layout.lanes / lanes_per_pool) as usize],
            hopeless_pools: 0,
            revived: Vec::new(),
            least_free: pool_units,
            clock: 0,
            user: logical,
            trimmed: Vec::new(),
            trimmed_pages: 0,
            superstripes: None,
            log: None,
            headers: None,
            retire: None,
            pslc: None,
            layout,
        };
        map.set_marks(gc, false);
        map.begin_onset(gc);
        for pool in 0..map.pools.len() {
            (0..map.layout.blocks).for_each(|index| map.pools[pool].free.push(index, 0));
        }
        map.with_cache(device, ftl)
    }

    /// Forgets what preconditioning left in cursors and random streams, so that a run starts the
    /// same whether its state was made just now or comes from a snapshot.
    pub fn begin_run(&mut self, ftl: &FtlSpec, gc: &GcSpec, device: &Device, seed: u64) {
        let stripes = self.placement.take_stripes();
        self.placement = Placement::new(ftl, device, &self.layout);
        self.placement.set_stripes(stripes);
        self.pass_over_parity();
        self.victim = VictimPolicy::new(gc, seed);
        let logical = self.mapping.logical();
        if let Some(classes) = &mut self.classes {
            classes.begin_run(ftl, logical);
        }
        self.begin_onset(gc);
        self.cache_goes_to_work();
        self.pools.iter_mut().for_each(|pool| (pool.wear_victim, pool.erases_unlooked) = (None, 0));
        self.hopeless.fill(false);
        self.hopeless_pools = 0;
        self.revived.clear();
        self.least_free = self.pools.iter().map(|pool| pool.free_units).min().unwrap_or(0);
    }

    /// The rule for when collections begin starts anew: every pool has its first mark.
    fn begin_onset(&mut self, gc: &GcSpec) {
        self.onset = Brought::new(gc, &self.layout, self.pools[0].lanes);
        let Some(onset) = &mut self.onset else { return };
        for (number, state) in (0..).zip(&mut self.pools) {
            onset.decide((Pool(number), state), None, (self.hard_units, self.clock));
        }
    }
}

fn new_pool(
    first_lane: Lane,
    lanes: u32,
    shared: bool,
    open: OpenBlocks,
    ftl: &FtlSpec,
    layout: &Layout,
) -> PoolState {
    PoolState {
        first_lane,
        lanes,
        shared,
        reserve: open.reserve,
        free: FreeBlocks::new(ftl.free_block),
        logs: vec![[OpenLog::default(), OpenLog::default()]; open.classes as usize],
        closed: VecDeque::new(),
        free_units: layout.units_per_lane() * lanes,
        soft_units: 0,
        next_copy_lane: vec![first_lane; open.classes as usize],
        erases_max: 0,
        erases_unlooked: 0,
        wear_victim: None,
        presses: false,
        folds: false,
    }
}
