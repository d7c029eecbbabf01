//! The choice of a victim: one file a policy, each a function of what the pool's blocks show.
//!
//! Contract of every policy: it returns a candidate (closed, not being reclaimed) or `None`; it
//! changes nothing but its own random stream; ties go to the lowest block number, so a choice never
//! depends on the machine.

mod cost_benefit;
mod d_choices;
mod fifo;
mod greedy;
mod random;
mod uniform;
mod windowed_greedy;

use super::{Blocks, GcSpec, PoolState, Victim};
use crate::flash::{Block, Layout};
use crate::sim::Rng;
use std::fmt::Debug;

/// A victim policy that a program brings along ([`GcSpec::brought`]).
pub trait Chooser: Debug + Send + Sync {
    /// The group block to reclaim, as of every policy here; another one is greedy's instead.
    fn choose(&mut self, candidates: &Candidates) -> Option<u32>;

    /// Another one in the same state: drives are copied.
    fn twin(&self) -> Box<dyn Chooser>;
}

/// A pool's blocks as the policies see them.
pub struct Candidates<'a> {
    pub(super) layout: &'a Layout,
    pub(super) blocks: &'a Blocks,
    pub(super) pool: &'a PoolState,
    /// Map units programmed since the start: the clock of ages.
    pub(super) clock: u64,
    /// Rows of a group block that hold data; the others hold parity.
    pub(super) data_rows: u32,
    /// Of two regions: the class of every block, and that of the cold region (`classes`).
    pub(super) apart: Option<(&'a [u8], u8)>,
    /// The region that is looked at.
    pub(super) region: Region,
    /// With a cache of blocks with one bit a cell, which are the cold region: what is reclaimed.
    pub(super) cache: Option<CacheVictims>,
}

/// Which blocks are reclaimed beside a cache of blocks with one bit a cell.
#[derive(Clone, Copy, Debug)]
pub struct CacheVictims {
    /// So many group blocks of the pool, the first ones, are static: their erase gives the cache a
    /// block, and nothing to the others.
    pub statics: u32,
    /// Space is to be made outside of the cache.
    pub space: bool,
    /// Blocks of the cache are to be folded.
    pub folds: bool,
}

/// A part of a pool's blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Region {
    /// All of them.
    All,
    /// All but those of the cold region.
    Normal,
    /// Those of the cold region.
    Cold,
    /// Of those, the dynamic ones of a cache.
    Dynamic,
}

impl Candidates<'_> {
    /// Group blocks in the pool.
    pub fn count(&self) -> u32 {
        self.layout.blocks
    }

    /// Map units of data that a group block holds at most.
    pub fn units(&self) -> u32 {
        self.data_rows * self.layout.units_per_row
    }

    /// Valid pages of group block `index`, or `None` when it is no candidate.
    pub fn valid(&self, index: u32) -> Option<u32> {
        let first = self.layout.block(self.pool.first_lane, index);
        if !self.blocks.is_candidate(first) || !self.admits(first) {
            return None;
        }
        Some(
            (0..self.pool.lanes)
                .map(|lane| self.blocks.valid(Block(first.0 + lane * self.layout.blocks)))
                .sum(),
        )
    }

    #[inline]
    fn admits(&self, first: Block) -> bool {
        let Some((class, cold)) = self.apart else { return true };
        match self.region {
            Region::All => true,
            Region::Normal => class[first.0 as usize] != cold,
            Region::Cold => class[first.0 as usize] == cold,
            Region::Dynamic => {
                let statics = self.cache.map_or(0, |cache| cache.statics);
                class[first.0 as usize] == cold && self.layout.index_of(first) >= statics
            }
        }
    }

    fn only(&self, region: Region) -> Self {
        Self { region, ..*self }
    }

    /// True when reclaiming group block `index` frees at least one row: its copies fill whole rows.
    pub fn gains(&self, index: u32) -> bool {
        self.valid(index)
            .is_some_and(|valid| valid.div_ceil(self.layout.units_per_row) < self.data_rows)
    }

    /// True when the copies of a full victim find room.
    pub fn has_room(&self) -> bool {
        self.pool.has_reserve(self.layout)
    }

    /// The raw counters of a pool of one lane: a candidate's valid pages, or at least 2^15.
    pub fn counters(&self) -> Option<&[u16]> {
        let first = self.layout.block(self.pool.first_lane, 0);
        (self.pool.lanes == 1 && self.region == Region::All)
            .then(|| self.blocks.candidates(first, self.layout.blocks))
    }

    /// Units programmed anywhere in the drive since group block `index` last changed.
    pub fn age(&self, index: u32) -> u64 {
        let first = self.layout.block(self.pool.first_lane, index);
        let changed = (0..self.pool.lanes)
            .map(|lane| self.blocks.changed(Block(first.0 + lane * self.layout.blocks)));
        self.clock - changed.max().unwrap_or(0)
    }

    /// Candidates, the one closed first in front.
    pub fn in_closing_order(&self) -> impl Iterator<Item = u32> {
        self.pool.closed.iter().copied().filter(|index| self.valid(*index).is_some())
    }
}

/// A victim policy with its parameters and its random stream.
#[derive(Clone, Debug)]
pub struct VictimPolicy {
    kind: Victim,
    window: u32,
    choices: u32,
    rng: Rng,
    /// `uniform`: victims that freed nothing, since the last one that did.
    fruitless: u32,
    brought: Option<Brought>,
}

/// A policy that came from outside.
#[derive(Debug)]
struct Brought(Box<dyn Chooser>);

impl Clone for Brought {
    fn clone(&self) -> Self {
        Self(self.0.twin())
    }
}

impl VictimPolicy {
    /// The policy that `spec` names.
    pub fn new(spec: &GcSpec, seed: u64) -> Self {
        Self {
            kind: spec.victim,
            window: spec.window,
            choices: spec.choices,
            rng: Rng::stream(seed, "victim"),
            fruitless: 0,
            brought: spec.brought.make().map(Brought),
        }
    }

    /// True when the policy looks at the age of blocks.
    pub fn needs_ages(spec: &GcSpec) -> bool {
        spec.victim == Victim::CostBenefit || spec.brought.name().is_some()
    }

    /// True when the policy looks at the order in which blocks were closed.
    pub fn needs_order(spec: &GcSpec) -> bool {
        matches!(spec.victim, Victim::Fifo | Victim::WindowedGreedy)
            || spec.brought.name().is_some()
    }

    /// The group block to reclaim; `None` when nothing would be gained. Of two regions the policy
    /// chooses in the normal one and greedy in the cold one; the emptier of both is taken, of
    /// equals that of the normal region.
    pub fn choose(&mut self, candidates: &Candidates) -> Option<u32> {
        if candidates.apart.is_none() {
            return self.choose_among(candidates);
        }
        if let Some(cache) = candidates.cache {
            return self.choose_beside(cache, candidates);
        }
        let normal = self.choose_among(&candidates.only(Region::Normal));
        let cold = candidates.only(Region::Cold);
        let cold = greedy::choose(&cold).filter(|index| cold.gains(*index));
        match (normal, cold) {
            (Some(normal), Some(cold)) if candidates.valid(cold) < candidates.valid(normal) => {
                Some(cold)
            }
            (normal, cold) => normal.or(cold),
        }
    }

    /// For space the emptier of the policy's choice outside of the cache and of its dynamic
    /// blocks; else a fold, of the cache's block with the fewest valid pages.
    fn choose_beside(&mut self, cache: CacheVictims, candidates: &Candidates) -> Option<u32> {
        let fewest = |region| greedy::choose(&candidates.only(region));
        if cache.space {
            let normal = self.choose_among(&candidates.only(Region::Normal));
            let dynamic = fewest(Region::Dynamic);
            let both = [normal, dynamic].into_iter().flatten();
            let choice = both.min_by_key(|index| candidates.valid(*index));
            if choice.is_some() {
                return choice;
            }
        }
        if cache.folds { fewest(Region::Cold) } else { None }
    }

    fn choose_among(&mut self, candidates: &Candidates) -> Option<u32> {
        let choice = match self.kind {
            _ if self.brought.is_some() => {
                self.brought.as_mut().and_then(|Brought(policy)| policy.choose(candidates))
            }
            Victim::Greedy => greedy::choose(candidates),
            Victim::CostBenefit => cost_benefit::choose(candidates),
            Victim::Fifo => fifo::choose(candidates),
            Victim::WindowedGreedy => windowed_greedy::choose(candidates, self.window),
            Victim::DChoices => d_choices::choose(candidates, self.choices, &mut self.rng),
            Victim::Random => random::choose(candidates, &mut self.rng),
            Victim::Uniform => {
                return uniform::choose(candidates, &mut self.rng, &mut self.fruitless);
            }
        };
        // A policy that does not look at validity may name a full block; then the best one shows
        // whether anything can be gained.
        match choice {
            Some(index) if !candidates.gains(index) => greedy::choose(candidates),
            choice => choice,
        }
        .filter(|index| candidates.gains(*index))
    }
}
