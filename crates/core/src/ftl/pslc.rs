//! A cache of blocks with one bit a cell (pseudo-SLC): the host writes to it while it has room, and
//! folds bring what is still valid into the other blocks.
//!
//! A pool has *static* blocks, the first ones, which are always the cache's, and lends it *dynamic*
//! ones while its free space lies above the soft mark; either may be none. A block of the cache is
//! one of class 0 (`classes`), all others are of class 1. Where a row of the host goes is decided
//! when its program starts: to the cache, or past it.
//!
//! A fold is a GC run whose victim is a block of the cache. It is wanted while the drive is idle,
//! and, where folds go under pressure, when no further block can be opened. For space the pool
//! reclaims a block of its own or a dynamic one, whichever holds less; the erase of a static one
//! gives the cache a block and nothing to others.
//!
//! **Room.** A fold of a static block takes rows and gives none back. The host leaves two free
//! blocks. A fold begins with two at the least, free or behind the frontier of copies, and takes
//! less than one (a block of the cache has half of its rows or fewer): what is left suffices for
//! the GC run that makes space, and no fold begins before it did.
//!
//! `free_units` counts what lies behind the cache's frontiers, and none of its erased static
//! blocks. A dynamic block that is opened costs what it cannot hold.
//!
//! Preconditioning passes the cache by: a run begins with an empty one, as a drive that rested.

use super::page_map::Frontier;
use super::pool::{FreeBlocks, OPEN_GROUPS_MAX, OpenGroup, PoolState};
use super::victim::CacheVictims;
use super::{FtlSpec, PageMap, Stream};
use crate::flash::{Block, Device, SlcTiming, Timing};
use crate::units::{Duration, Lane, Pool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The class of the cache's blocks.
pub(super) const CACHE: u32 = 0;
/// The class of all others.
pub(super) const MAIN: u32 = 1;

/// The cache of blocks with one bit a cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PslcSpec {
    /// Blocks of each lane that are always the cache's.
    pub static_blocks: u32,
    /// Blocks of each lane that it is lent at most, while free space lies above `gc.soft`.
    pub dynamic_blocks: u32,
    /// The way of the host's data that finds the cache full.
    pub full: WhenFull,
    /// When blocks of the cache are folded.
    pub fold: FoldWhen,
    /// A drive without a command for so long is idle.
    pub idle: Duration,
    /// Folds stay inside the plane: read and program without crossing the channel.
    pub copyback: bool,
}

impl Default for PslcSpec {
    fn default() -> Self {
        Self {
            static_blocks: 0,
            dynamic_blocks: 0,
            full: WhenFull::Direct,
            fold: FoldWhen::Pressure,
            idle: Duration::from_ms(10),
            copyback: false,
        }
    }
}

impl PslcSpec {
    pub(super) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// The way of the host's data that finds the cache full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WhenFull {
    /// It goes past the cache.
    Direct,
    /// It waits for a fold.
    Wait,
}

/// When blocks of the cache are folded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FoldWhen {
    /// While the drive is idle.
    Idle,
    /// Then, and when no block of the cache is left, if the programs of a fold take less time than
    /// those that go past the cache otherwise.
    Worth,
    /// Then, and when no block of the cache is left.
    Pressure,
}

/// The cache of a drive.
#[derive(Clone, Debug)]
pub struct Pslc {
    statics: u32,
    dynamic_max: u32,
    /// Rows of a block of the cache, its last ones.
    rows: u32,
    waits: bool,
    under_pressure: bool,
    /// So many valid map units a lane a block may have that is folded under pressure.
    worth: u32,
    /// Preconditioning passes it by.
    rests: bool,
    is_idle: bool,
    /// Closed blocks of all pools that no fold has begun with.
    closed: u32,
    pools: Vec<Cache>,
}

/// That of a pool.
#[derive(Clone, Debug)]
struct Cache {
    /// Erased static blocks.
    free: FreeBlocks,
    /// Dynamic blocks that it has now.
    dynamic: u32,
    /// Closed blocks that no fold has begun with.
    closed: u32,
}

impl PageMap {
    /// The same, with the cache that `ftl` asks for.
    pub(super) fn with_cache(mut self, device: &Device, ftl: &FtlSpec) -> Self {
        let (Some(slc), true) = (&device.slc, ftl.placement == super::DataPlacement::Pslc) else {
            return self;
        };
        let spec = &ftl.pslc;
        let mut pools = Vec::with_capacity(self.pools.len());
        for pool in &mut self.pools {
            let all = pool.free.in_order();
            (pool.free, pool.free_units) = (FreeBlocks::new(ftl.free_block), 0);
            let mut free = FreeBlocks::new(ftl.free_block);
            for index in all {
                if index < spec.static_blocks {
                    free.push(index, 0);
                } else {
                    pool.free.push(index, 0);
                    pool.free_units += pool.lanes * self.layout.units_per_block;
                }
            }
            pools.push(Cache { free, dynamic: 0, closed: 0 });
        }
        self.pslc = Some(Box::new(Pslc {
            statics: spec.static_blocks,
            dynamic_max: spec.dynamic_blocks,
            rows: slc.rows(self.layout.rows),
            waits: spec.full == WhenFull::Wait,
            under_pressure: spec.fold != FoldWhen::Idle,
            worth: match spec.fold {
                FoldWhen::Worth => self.worth_folding(device, slc),
                FoldWhen::Idle | FoldWhen::Pressure => self.layout.units_per_block,
            },
            rests: true,
            is_idle: false,
            closed: 0,
            pools,
        }));
        self
    }

    /// The most valid map units that a block of the cache may hold for a fold to be worth it.
    ///
    /// To fill the block with S pages and to fold V of them takes S fast programs and V slow ones;
    /// to write the S past the cache takes S slow ones.
    fn worth_folding(&self, device: &Device, slc: &SlcTiming) -> u32 {
        let slow = Timing::new(device, &self.layout).means().1.as_ns();
        let fast = (slc.program * u64::from(device.feature.program_pages)).as_ns();
        let units = u64::from(slc.rows(self.layout.rows) * self.layout.units_per_row);
        ((units * slow.saturating_sub(fast)).saturating_sub(1) / slow) as u32
    }

    /// A run begins: the host writes to the cache from now on.
    pub(super) fn cache_goes_to_work(&mut self) {
        if let Some(pslc) = &mut self.pslc {
            pslc.rests = false;
        }
    }

    /// True with a cache of blocks with one bit a cell.
    #[inline]
    pub fn has_cache(&self) -> bool {
        self.pslc.is_some()
    }

    /// True when `block` is one of the cache's, or was when it was last written.
    pub fn is_of_cache(&self, block: Block) -> bool {
        self.pslc.is_some()
            && self.classes.as_ref().is_some_and(|classes| classes.of_block(block) == CACHE)
    }

    /// True while the chain of `lane` folds a block of the cache.
    pub fn is_folding(&self, lane: Lane) -> bool {
        self.pslc.is_some() && self.relocations[lane.index()].from_class == CACHE
    }

    /// True when a block of the cache could be folded.
    pub fn has_folds(&self) -> bool {
        self.pslc.as_ref().is_some_and(|pslc| pslc.closed > 0)
    }

    /// True while the drive is idle, as far as its cache was told.
    pub fn is_idle(&self) -> bool {
        self.pslc.as_ref().is_some_and(|pslc| pslc.is_idle)
    }

    /// The drive is idle from now on, or no longer.
    pub fn set_idle(&mut self, idle: bool) {
        let Some(pslc) = &mut self.pslc else { return };
        if std::mem::replace(&mut pslc.is_idle, idle) != idle {
            (0..self.pools.len() as u32).for_each(|pool| self.decide_fold(Pool(pool)));
        }
    }

    /// Group blocks of each pool that are always the cache's, the first ones.
    #[inline]
    pub(super) fn statics(&self) -> u32 {
        self.pslc.as_ref().map_or(0, |pslc| pslc.statics)
    }

    #[inline]
    pub(super) fn is_static(&self, index: u32) -> bool {
        index < self.statics()
    }

    /// The class of the host's blocks in which all of its data has room.
    #[inline]
    pub(super) fn main_class(&self) -> u32 {
        if self.pslc.is_some() { MAIN } else { 0 }
    }

    /// Map units that a block which is opened for `class` holds.
    pub(super) fn units_of_class(&self, class: u32) -> u32 {
        match &self.pslc {
            Some(pslc) if class == CACHE => pslc.rows * self.layout.units_per_row,
            _ => self.layout.units_per_block,
        }
    }

    /// Which blocks a GC run of the pool may reclaim, with a cache.
    pub(super) fn cache_victims(
        &self,
        pool: Pool,
        wants_space: impl Fn() -> bool,
    ) -> Option<CacheVictims> {
        let pslc = self.pslc.as_ref()?;
        let state = &self.pools[pool.index()];
        let has_room = state.free.len() >= state.reserve as usize;
        // A GC run that is about to begin makes space where a fold is not wanted any more.
        let folds = state.folds && has_room;
        Some(CacheVictims { statics: pslc.statics, space: !folds || wants_space(), folds })
    }

    /// True when a closed block of the cache has at most `worth` valid map units a lane.
    fn is_worth(&self, pool: Pool, worth: u32) -> bool {
        let PoolState { first_lane, lanes, .. } = self.pools[pool.index()];
        (0..self.layout.blocks).any(|index| {
            let first = self.layout.block(first_lane, index);
            let of = |lane| self.blocks.valid(Block(first.0 + lane * self.layout.blocks));
            self.blocks.is_candidate(first)
                && self.is_of_cache(first)
                && (0..lanes).map(of).sum::<u32>() <= worth * lanes
        })
    }

    /// Whether a fold is wanted in the pool, and is urgent: no further block of the cache is left
    /// to rows that do not go past it.
    fn decide_fold(&mut self, pool: Pool) {
        let Some(pslc) = &self.pslc else { return };
        let state = &self.pools[pool.index()];
        let cache = &pslc.pools[pool.index()];
        let is_full = pslc.under_pressure
            && !pslc.may_open(cache, state, self)
            && (pslc.worth == self.layout.units_per_block || self.is_worth(pool, pslc.worth));
        let (closed, idle, waits) = (cache.closed > 0, pslc.is_idle, pslc.waits);
        let state = &mut self.pools[pool.index()];
        state.folds = closed && (idle || is_full);
        state.presses = closed && is_full && waits;
    }

    /// True when a row of the host's that the cache has no room for waits.
    pub(super) fn row_waits(&self) -> bool {
        self.pslc.as_ref().is_some_and(|pslc| pslc.waits && !pslc.rests)
    }

    /// The next block of the cache for `lane`; false when there is none.
    pub(super) fn open_cache_block(&mut self, pool: Pool, lane: Lane) -> bool {
        if self.pslc.as_ref().is_none_or(|pslc| pslc.rests) {
            return false;
        }
        // Those of class 0 are the first.
        let at = lane.index();
        let opened = self.frontiers[at][Stream::Host as usize].opened;
        let log = &self.pools[pool.index()].logs[CACHE as usize][Stream::Host as usize];
        let ahead = (opened - log.opened_before) as usize;
        let found = log.open.get(ahead).map(|group| group.index);
        let Some(index) = found.or_else(|| self.take_cache_block(pool)) else {
            self.decide_fold(pool);
            return false;
        };
        let block = self.layout.block(lane, index);
        let row = self.layout.rows - self.pslc.as_ref().map_or(0, |pslc| pslc.rows);
        self.frontiers[at][Stream::Host as usize] = Frontier { block, row, opened: opened + 1 };
        if let Some(classes) = &mut self.classes {
            classes.opened(block, CACHE);
        }
        self.decide_fold(pool);
        true
    }

    /// Opens a static group block, or a dynamic one.
    fn take_cache_block(&mut self, pool: Pool) -> Option<u32> {
        let units = self.units_of_class(CACHE);
        let pslc = self.pslc.as_ref()?;
        let (cache, state) = (&pslc.pools[pool.index()], &self.pools[pool.index()]);
        let groups = &state.logs[CACHE as usize][Stream::Host as usize].open;
        if (state.lanes > 1 && groups.len() >= OPEN_GROUPS_MAX)
            || !pslc.may_open(cache, state, self)
        {
            return None;
        }
        let (cache, state) =
            (&mut self.pslc.as_mut()?.pools[pool.index()], &mut self.pools[pool.index()]);
        let index = match cache.free.pop() {
            Some(index) => {
                state.free_units += state.lanes * units;
                index
            }
            None => {
                let index = state.free.pop()?;
                cache.dynamic += 1;
                state.free_units -= state.lanes * (self.layout.units_per_block - units);
                self.least_free = self.least_free.min(state.free_units);
                index
            }
        };
        let log = &mut state.logs[CACHE as usize][Stream::Host as usize];
        log.open.push_back(OpenGroup { index, lanes_done: 0, is_given_up: false });
        Some(index)
    }

    /// The lane of a write that the drive chooses: one with a row left in the cache or past it.
    #[inline(never)]
    pub(super) fn place_beside_cache(&mut self, waiting: impl Fn(Lane) -> u32) -> Option<Lane> {
        let Self { placement, frontiers, pools, by_pool, layout, pslc, .. } = self;
        let frontier = |lane: Lane, class| {
            frontiers[(class * layout.lanes + lane.0) as usize][Stream::Host as usize]
        };
        let rows_left = |lane: Lane| {
            let (pool, main) = (&pools[by_pool.quotient(lane.0) as usize], frontier(lane, MAIN));
            let blocks = pool.host_blocks_left(MAIN, main.opened);
            let past = layout.rows - main.row + blocks * layout.rows;
            let Some(pslc) = pslc.as_ref().filter(|pslc| !pslc.rests) else { return past };
            let (cache, log) =
                (frontier(lane, CACHE), &pool.logs[CACHE as usize][Stream::Host as usize]);
            let open = log.open.len() - (cache.opened - log.opened_before) as usize;
            let cached = layout.rows - cache.row + open as u32 * pslc.rows;
            // Where rows wait for a fold, as many may as a block of the cache takes.
            if pslc.waits { cached + pslc.rows } else { cached + past }
        };
        placement.next(0, |lane| waiting(lane) < rows_left(lane))
    }

    /// A group block is full.
    pub(super) fn cache_block_closed(&mut self, pool: Pool, block: Block) {
        if !self.is_of_cache(block) {
            return;
        }
        if let Some(pslc) = &mut self.pslc {
            pslc.closed += 1;
            pslc.pools[pool.index()].closed += 1;
        }
        self.decide_fold(pool);
    }

    /// A GC run begins with a group block.
    pub(super) fn cache_victim_taken(&mut self, pool: Pool, index: u32) {
        let first = self.layout.block(self.pools[pool.index()].first_lane, index);
        if !self.is_of_cache(first) {
            return;
        }
        if let Some(pslc) = &mut self.pslc {
            pslc.closed -= 1;
            pslc.pools[pool.index()].closed -= 1;
        }
        self.decide_fold(pool);
    }

    /// A group block is erased: true when it stays the cache's.
    pub(super) fn cache_block_erased(&mut self, pool: Pool, block: Block, erases: u32) -> bool {
        let index = self.layout.index_of(block);
        let (is_static, was_cache) = (self.is_static(index), self.is_of_cache(block));
        let Some(pslc) = &mut self.pslc else { return false };
        let cache = &mut pslc.pools[pool.index()];
        if is_static {
            cache.free.push(index, erases);
        } else if was_cache {
            cache.dynamic -= 1;
        }
        self.decide_fold(pool);
        is_static
    }

    /// Asserts what the cache counts. Slow; for tests.
    pub(super) fn check_cache(&self, pool: Pool) {
        let Some(pslc) = &self.pslc else { return };
        let first = self.pools[pool.index()].first_lane;
        let is_closed = |index: &u32| {
            let block = self.layout.block(first, *index);
            self.blocks.is_candidate(block) && self.is_of_cache(block)
        };
        let closed = (0..self.layout.blocks).filter(is_closed).count() as u32;
        let cache = &pslc.pools[pool.index()];
        assert_eq!(cache.closed, closed, "closed blocks of the cache of pool {pool}");
        assert!(cache.dynamic <= pslc.dynamic_max, "dynamic blocks of pool {pool}");
        let free = self.pools[pool.index()].free.in_order();
        assert!(free.iter().all(|index| !self.is_static(*index)), "static blocks of pool {pool}");
    }
}

impl Pslc {
    /// True when a further block of the cache can be opened: a static one, or one that the pool
    /// lends.
    fn may_open(&self, cache: &Cache, pool: &PoolState, map: &PageMap) -> bool {
        if !cache.free.is_empty() {
            return true;
        }
        let block = pool.lanes * map.layout.units_per_block;
        let free = pool.free.len() as u32;
        cache.dynamic < self.dynamic_max
            && free > pool.reserve
            && free > map.soft_blocks
            && pool.free_units >= pool.soft_units + block
    }
}
