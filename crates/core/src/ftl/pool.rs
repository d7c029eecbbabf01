//! A reclaim pool: the lanes that are reclaimed together (one lane, a die's planes, or all), their free blocks and
//! their open ones.
//!
//! A *group block* is block number `b` of every lane of the pool: what is opened, closed and reclaimed at once.

use super::FreeBlock;
use crate::flash::Layout;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Group blocks that only copies may open, so that a collection always ends: its copies fit into one group block. Where
/// operations may fail there is one more.
pub const RESERVE: usize = 1;

/// Group blocks of several lanes that the host may have open: a lane that is ahead of the others waits for them, or
/// half-filled groups would pile up.
const OPEN_GROUPS_MAX: usize = 2;

/// Who writes: each stream has open blocks of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// The host's data.
    Host,
    /// Copies of garbage collection.
    Copy,
}

/// The lanes that are reclaimed together.
#[derive(Clone, Debug)]
pub struct Pool {
    /// First lane.
    pub first_lane: u32,
    /// Number of lanes.
    pub lanes: u32,
    /// Copies go to the host's open block.
    pub shared: bool,
    /// Erased group blocks.
    pub free: FreeBlocks,
    /// Open group blocks of each stream, oldest first.
    pub open: [VecDeque<OpenGroup>; 2],
    /// How many group blocks of each stream were opened before the first in `open`.
    pub opened_before: [u64; 2],
    /// Closed group blocks in the order of closing; kept only where a policy asks for it.
    pub closed: VecDeque<u32>,
    /// Map units that can still be programmed: in free blocks and behind the frontiers.
    pub free_units: u32,
    /// The lane that takes the next copy, in pools of several lanes.
    pub next_copy_lane: u32,
    /// The most erases of any group block.
    pub erases_max: u32,
    /// Erases since static wear levelling last looked at the pool.
    pub erases_unlooked: u32,
    /// Static wear levelling asks to move this group block's data, or it holds a block that failed.
    pub wear_victim: Option<u32>,
    /// Data lies in a group block of which a program failed: to collect that is urgent.
    pub rescues: bool,
    /// Group blocks that only copies may open.
    pub reserve: usize,
}

/// An open group block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenGroup {
    /// Its number.
    pub index: u32,
    /// Lanes whose last row is programmed.
    pub lanes_done: u32,
    /// It takes no more rows: a program of it has failed.
    pub is_given_up: bool,
}

/// Erased group blocks, in the order in which they are opened.
#[derive(Clone, Debug)]
pub enum FreeBlocks {
    /// Fewest erases first, then the lowest number.
    LeastWorn(BinaryHeap<Reverse<(u32, u32)>>),
    /// First freed, first opened.
    Fifo(VecDeque<u32>),
}

impl FreeBlocks {
    /// None free, to be handed out by `rule`.
    pub fn new(rule: FreeBlock) -> Self {
        match rule {
            FreeBlock::LeastWorn => Self::LeastWorn(BinaryHeap::new()),
            FreeBlock::Fifo => Self::Fifo(VecDeque::new()),
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Self::LeastWorn(heap) => heap.len(),
            Self::Fifo(queue) => queue.len(),
        }
    }

    /// True when there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds an erased group block.
    pub fn push(&mut self, index: u32, erases: u32) {
        match self {
            Self::LeastWorn(heap) => heap.push(Reverse((erases, index))),
            Self::Fifo(queue) => queue.push_back(index),
        }
    }

    /// Takes the next one.
    pub fn pop(&mut self) -> Option<u32> {
        match self {
            Self::LeastWorn(heap) => heap.pop().map(|Reverse((_, index))| index),
            Self::Fifo(queue) => queue.pop_front(),
        }
    }

    /// The numbers in the order in which they would be opened (for a snapshot).
    pub fn in_order(&self) -> Vec<u32> {
        match self {
            Self::LeastWorn(heap) => {
                let mut sorted: Vec<_> = heap.iter().map(|Reverse(entry)| *entry).collect();
                sorted.sort_unstable();
                sorted.into_iter().map(|(_, index)| index).collect()
            }
            Self::Fifo(queue) => queue.iter().copied().collect(),
        }
    }
}

impl Pool {
    /// Group blocks that a lane can still open for the host after `opened` earlier ones.
    pub fn host_blocks_left(&self, opened: u64) -> u32 {
        let open = self.open[Stream::Host as usize].len();
        let ahead = (opened - self.opened_before[Stream::Host as usize]) as usize;
        (open - ahead) as u32 + u32::from(self.may_open(Stream::Host))
    }

    /// Whose open blocks `stream` writes to.
    #[inline]
    pub fn frontier_of(&self, stream: Stream) -> Stream {
        if self.shared { Stream::Host } else { stream }
    }

    /// Shared frontier: what the host may take. It leaves a block's worth of space, so that a collection always ends.
    #[inline]
    pub fn units_above_reserve(&self, layout: &Layout) -> u32 {
        self.free_units.saturating_sub(self.reserve as u32 * layout.units_per_block)
    }

    /// True when the copies of another victim fit while earlier ones are not yet erased.
    pub fn is_reserve_whole(&self, layout: &Layout) -> bool {
        match self.shared {
            true => self.free_units >= self.reserve as u32 * layout.units_per_block,
            false => self.free.len() > self.reserve,
        }
    }

    fn may_open(&self, stream: Stream) -> bool {
        match stream {
            // Whether the host leaves the reserve was asked before.
            Stream::Host if self.shared => !self.free.is_empty(),
            Stream::Copy => !self.free.is_empty(),
            Stream::Host => {
                let groups = self.lanes == 1 || self.unfinished() < OPEN_GROUPS_MAX;
                groups && self.free.len() > self.reserve
            }
        }
    }

    /// Group blocks that the host has open, without those that take no more rows: whoever has rows left in an earlier
    /// one may stand behind somebody who needs a new one.
    fn unfinished(&self) -> usize {
        let open = &self.open[Stream::Host as usize];
        if self.reserve == RESERVE {
            return open.len();
        }
        open.iter().filter(|group| !group.is_given_up).count()
    }

    /// The group block that a lane opens after `opened` earlier ones of `stream`: one that another lane opened already,
    /// or a free one.
    pub fn open_next(&mut self, stream: Stream, opened: u64) -> Option<u32> {
        let at = (opened - self.opened_before[stream as usize]) as usize;
        if at == self.open[stream as usize].len() {
            if !self.may_open(stream) {
                return None;
            }
            let index = self.free.pop()?;
            self.open[stream as usize].push_back(OpenGroup { index, lanes_done: 0, is_given_up: false });
        }
        Some(self.open[stream as usize][at].index)
    }

    /// One lane of group block `index` is full; true when all its lanes are, and it is closed.
    pub fn lane_done(&mut self, index: u32) -> bool {
        let lanes = self.lanes;
        for (open, opened_before) in self.open.iter_mut().zip(&mut self.opened_before) {
            let Some(group) = open.iter_mut().find(|group| group.index == index) else { continue };
            group.lanes_done += 1;
            let closed = group.lanes_done == lanes;
            while open.front().is_some_and(|group| group.lanes_done == lanes) {
                open.pop_front();
                *opened_before += 1;
            }
            return closed;
        }
        unreachable!("group block {index} is open while its rows are programmed")
    }
}
