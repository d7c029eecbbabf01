//! A reclaim pool: the lanes that are reclaimed together (one lane, a die's planes, or all), their
//! free blocks and their open ones.
//!
//! A *group block* is block number `b` of every lane of the pool: what is opened, closed and
//! reclaimed at once.

use super::FreeBlock;
use crate::flash::Layout;
use crate::units::{Lane, Lanes};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Group blocks of several lanes that the host may have open: a lane that is ahead of the others
/// waits for them, or half-filled groups would pile up.
pub(super) const OPEN_GROUPS_MAX: usize = 2;

/// The writer of a row: each stream has open blocks of its own, in each class (`classes`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// The host's data.
    Host,
    /// Copies of garbage collection.
    Copy,
}

/// The lanes that are reclaimed together.
#[derive(Clone, Debug)]
pub struct PoolState {
    /// First lane.
    pub first_lane: Lane,
    /// Number of lanes.
    pub lanes: u32,
    /// Copies go to the host's open block.
    pub shared: bool,
    /// Group blocks that only copies may open, so that a collection always ends: without classes
    /// its copies fit into one group block (`classes` has the proof for more).
    pub reserve: u32,
    /// Erased group blocks.
    pub free: FreeBlocks,
    /// Open blocks of each class, by stream.
    pub logs: Vec<[OpenLog; 2]>,
    /// Closed group blocks in the order of closing; kept only where a policy asks for it.
    pub closed: VecDeque<u32>,
    /// Map units that can still be programmed: in free blocks and behind the frontiers.
    pub free_units: u32,
    /// Below so many of them it collects; none where blocks count.
    pub soft_units: u32,
    /// By class: the lane that takes the next copy, in pools of several lanes.
    pub next_copy_lane: Vec<Lane>,
    /// The most erases of any group block.
    pub erases_max: u32,
    /// Erases since static wear levelling last looked at the pool.
    pub erases_unlooked: u32,
    /// Static wear levelling asks to move this group block's data, or it holds a block that failed.
    pub wear_victim: Option<u32>,
    /// To collect is urgent, whatever the marks say: data lies in a group block of which a program
    /// failed, or the host's rows wait for a fold.
    pub presses: bool,
    /// A block of the cache is to be folded (`pslc`).
    pub folds: bool,
}

/// The open group blocks of a stream in a class.
#[derive(Clone, Debug, Default)]
pub struct OpenLog {
    /// Oldest first.
    pub open: VecDeque<OpenGroup>,
    /// How many group blocks were opened before the first in `open`.
    pub opened_before: u64,
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

impl PoolState {
    /// Its lanes.
    #[inline]
    pub fn each_lane(&self) -> Lanes {
        Lanes::new(self.first_lane, self.lanes)
    }

    /// Group blocks that a lane can still open for the host's class after `opened` earlier ones.
    pub fn host_blocks_left(&self, class: u32, opened: u64) -> u32 {
        let log = &self.logs[class as usize][Stream::Host as usize];
        let ahead = (opened - log.opened_before) as usize;
        (log.open.len() - ahead) as u32 + u32::from(self.may_open(class, Stream::Host))
    }

    /// Whose open blocks `stream` writes to.
    #[inline]
    pub fn frontier_of(&self, stream: Stream) -> Stream {
        if self.shared { Stream::Host } else { stream }
    }

    /// Shared frontiers: what the host may take. It leaves the reserve's worth of space, so that a
    /// collection always ends.
    #[inline]
    pub fn units_above_reserve(&self, layout: &Layout) -> u32 {
        self.free_units.saturating_sub(self.reserve * layout.units_per_block)
    }

    /// True when the copies of a victim fit, however many there are.
    pub fn has_reserve(&self, layout: &Layout) -> bool {
        match self.shared {
            true => self.free_units >= self.reserve * layout.units_per_block,
            false => self.free.len() >= self.reserve as usize,
        }
    }

    /// True when the copies of another victim fit while earlier ones are not yet erased.
    pub fn is_reserve_whole(&self, layout: &Layout) -> bool {
        match self.shared {
            true => self.free_units >= self.reserve * layout.units_per_block,
            false => self.free.len() > self.reserve as usize,
        }
    }

    fn may_open(&self, class: u32, stream: Stream) -> bool {
        match stream {
            // Whether the host leaves the reserve was asked before.
            Stream::Host if self.shared => !self.free.is_empty(),
            Stream::Copy => !self.free.is_empty(),
            Stream::Host => {
                let groups = self.lanes == 1 || self.unfinished(class) < OPEN_GROUPS_MAX;
                groups && self.free.len() > self.reserve as usize
            }
        }
    }

    /// Group blocks that the host's class has open, without those that take no more rows: a lane
    /// with rows left in an earlier one may queue behind a lane that needs a new one.
    fn unfinished(&self, class: u32) -> usize {
        let open = &self.logs[class as usize][Stream::Host as usize].open;
        open.iter().filter(|group| !group.is_given_up).count()
    }

    /// The group block that a lane opens after `opened` earlier ones of a class's `stream`: one
    /// that another lane opened already, or a free one.
    pub fn open_next(&mut self, class: u32, stream: Stream, opened: u64) -> Option<u32> {
        let log = &self.logs[class as usize][stream as usize];
        let at = (opened - log.opened_before) as usize;
        if at < log.open.len() {
            return Some(log.open[at].index);
        }
        if !self.may_open(class, stream) {
            return None;
        }
        let index = self.free.pop()?;
        self.logs[class as usize][stream as usize].open.push_back(OpenGroup {
            index,
            lanes_done: 0,
            is_given_up: false,
        });
        Some(index)
    }

    /// One lane of group block `index` is full; true when all its lanes are, and it is closed.
    pub fn lane_done(&mut self, index: u32) -> bool {
        let lanes = self.lanes;
        for log in self.logs.iter_mut().flatten() {
            let Some(group) = log.open.iter_mut().find(|group| group.index == index) else {
                continue;
            };
            group.lanes_done += 1;
            let closed = group.lanes_done == lanes;
            while log.open.front().is_some_and(|group| group.lanes_done == lanes) {
                log.open.pop_front();
                log.opened_before += 1;
            }
            return closed;
        }
        unreachable!("group block {index} is open while its rows are programmed")
    }
}
