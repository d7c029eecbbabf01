//! The state of a translation layer as bytes, so that a preconditioned drive need not be made
//! twice.
//!
//! Only what cannot be derived is written: the logical-to-physical table, frontiers, open, free and
//! closed blocks, wear, ages, classes of data; the cursor of dynamic allocation is not (a run
//! starts at the first lane). No collection may be under way.

use super::page_map::Frontier;
use super::pool::{OpenGroup, OpenLog};
use super::{Mapping, PageMap};
use crate::flash::Block;
use crate::units::{Lane, Pool};
use std::fmt;

/// Why bytes are not a state of this layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SnapshotError {
    /// They end too early, or do not end.
    Length,
    /// They contradict themselves or the geometry.
    Content(&'static str),
}

impl fmt::Display for SnapshotError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length => f.write_str("the snapshot has the wrong length"),
            Self::Content(what) => write!(f, "the snapshot does not fit this drive: {what}"),
        }
    }
}

impl std::error::Error for SnapshotError {}

impl PageMap {
    /// The state as bytes (little endian).
    pub fn snapshot(&self) -> Vec<u8> {
        assert!(
            self.each_pool().all(|pool| !self.is_collecting(pool)),
            "a snapshot is taken at rest"
        );
        assert_eq!(self.trimmed_pages, 0, "preconditioning deallocates nothing");
        // Table, wear, ages, lists of blocks: reserved at once, or a growing copy would double the
        // memory of a large drive.
        let blocks = 20 * self.blocks.all_erases().len()
            + 128 * self.pools.len()
            + 64 * self.frontiers.len();
        let mut out = Vec::with_capacity(4 * self.mapping.table().len() + blocks + 4096);
        put_list(&mut out, self.mapping.table());
        put_list(&mut out, self.blocks.all_erases());
        out.extend_from_slice(&self.clock.to_le_bytes());
        for block in (0..self.layout.total_blocks()).map(Block) {
            out.extend_from_slice(&self.blocks.changed(block).to_le_bytes());
        }
        for frontier in self.frontiers.iter().flatten() {
            out.extend_from_slice(&frontier.block.0.to_le_bytes());
            out.extend_from_slice(&frontier.row.to_le_bytes());
            out.extend_from_slice(&frontier.opened.to_le_bytes());
        }
        for pool in &self.pools {
            put_list(&mut out, &pool.free.in_order());
            put_list(&mut out, &pool.closed.iter().copied().collect::<Vec<_>>());
            for log in pool.logs.iter().flatten() {
                out.extend_from_slice(&log.opened_before.to_le_bytes());
                put_list(
                    &mut out,
                    &log.open.iter().flat_map(|g| [g.index, g.lanes_done]).collect::<Vec<_>>(),
                );
            }
            let (first, others) = pool.next_copy_lane.split_at(1);
            let others = others.iter().map(|lane| lane.0);
            for number in [pool.free_units, first[0].0, pool.erases_max].into_iter().chain(others) {
                out.extend_from_slice(&number.to_le_bytes());
            }
        }
        if let Some(classes) = &self.classes {
            let (of_block, numbers) = classes.state();
            out.extend_from_slice(of_block);
            numbers.for_each(|number| out.extend_from_slice(&number.to_le_bytes()));
        }
        let sum = checksum(&out);
        out.extend_from_slice(&sum.to_le_bytes());
        out
    }

    /// Takes over a state that [`PageMap::snapshot`] wrote for the same device and settings. `self`
    /// is fresh.
    pub fn restore(&mut self, bytes: &[u8]) -> Result<(), SnapshotError> {
        // Damage is found here: a counter that is wrong but plausible would end the run far from
        // its cause, or falsify it.
        let (bytes, sum) = bytes.split_last_chunk::<8>().ok_or(SnapshotError::Length)?;
        if checksum(bytes) != u64::from_le_bytes(*sum) {
            return Err(SnapshotError::Content("its checksum"));
        }
        self.restore_checked(bytes)
    }

    fn restore_checked(&mut self, bytes: &[u8]) -> Result<(), SnapshotError> {
        let mut from = Reader { bytes };
        let table = from.list()?;
        if table.len() != self.mapping.logical() as usize {
            return Err(SnapshotError::Content("the number of logical pages"));
        }
        // The empty maps go first: a drive has room for one set.
        self.mapping = Mapping::new(0, 0);
        self.mapping = Mapping::from_table(table, self.layout.total_units())
            .ok_or(SnapshotError::Content("the mapping"))?;
        let erases = from.list()?;
        if erases.len() != self.layout.total_blocks() as usize {
            return Err(SnapshotError::Content("the number of blocks"));
        }
        self.blocks.restore_erases(erases);
        self.clock = from.u64()?;
        for block in (0..self.layout.total_blocks()).map(Block) {
            let changed = from.u64()?;
            self.blocks.touch(block, changed);
        }
        for frontier in self.frontiers.iter_mut().flatten() {
            *frontier =
                Frontier { block: Block(from.u32()?), row: from.u32()?, opened: from.u64()? };
        }
        for pool in self.each_pool() {
            self.restore_pool(pool, &mut from)?;
        }
        if let Some(classes) = &mut self.classes {
            let reader = std::cell::RefCell::new(&mut from);
            let class = || reader.borrow_mut().take::<1>().ok().map(|[class]| class);
            let number = || reader.borrow_mut().u64().ok();
            classes.restore(class, number).ok_or(SnapshotError::Content("the classes of data"))?;
        }
        if !from.bytes.is_empty() {
            return Err(SnapshotError::Length);
        }
        self.count_valid_pages();
        self.pass_over_bad_blocks();
        self.pass_over_parity();
        Ok(())
    }

    fn restore_pool(&mut self, pool: Pool, from: &mut Reader) -> Result<(), SnapshotError> {
        let number = pool.index();
        let mut candidate = vec![true; self.layout.blocks as usize];
        let mut not_a_candidate = |index: u32| match candidate.get_mut(index as usize) {
            Some(entry) => {
                *entry = false;
                Ok(())
            }
            None => Err(SnapshotError::Content("a block number")),
        };
        while self.pools[number].free.pop().is_some() {}
        let first_lane = self.pools[number].first_lane;
        for index in from.list()? {
            not_a_candidate(index)?;
            let erases = self.blocks.erases(self.layout.block(first_lane, index));
            self.pools[number].free.push(index, erases);
        }
        self.pools[number].closed = from.list()?.into();
        for (class, stream) in self.logs() {
            let opened_before = from.u64()?;
            let groups = from.list()?;
            let open = groups
                .chunks_exact(2)
                .map(|pair| OpenGroup { index: pair[0], lanes_done: pair[1], is_given_up: false })
                .collect();
            self.pools[number].logs[class as usize][stream as usize] =
                OpenLog { open, opened_before };
            groups.chunks_exact(2).try_for_each(|pair| not_a_candidate(pair[0]))?;
        }
        let state = &mut self.pools[number];
        (state.free_units, state.next_copy_lane[0], state.erases_max) =
            (from.u32()?, Lane(from.u32()?), from.u32()?);
        for lane in &mut state.next_copy_lane[1..] {
            *lane = Lane(from.u32()?);
        }
        // A drive at rest has written nothing to its cache.
        candidate.iter_mut().take(self.statics() as usize).for_each(|entry| *entry = false);
        for index in 0..self.layout.blocks {
            for block in self.group(pool, index) {
                self.blocks.set_candidate(block, candidate[index as usize]);
            }
        }
        Ok(())
    }

    fn count_valid_pages(&mut self) {
        for block in (0..self.layout.total_blocks()).map(Block) {
            let first = self.layout.first_page(block).0;
            for _ in 0..self.mapping.count_valid(first, first + self.layout.units_per_block) {
                self.blocks.add_valid(block);
            }
        }
    }
}

/// FNV-1a over words of eight bytes, its length first. Every step is a bijection of the sum so far,
/// so one damaged word always shows.
fn checksum(bytes: &[u8]) -> u64 {
    let word = |sum: u64, word: u64| (sum ^ word).wrapping_mul(0x100_0000_01b3).rotate_left(29);
    let (words, rest) = bytes.as_chunks::<8>();
    let sum = words.iter().fold(word(0xcbf2_9ce4_8422_2325, bytes.len() as u64), |s, w| {
        word(s, u64::from_le_bytes(*w))
    });
    rest.iter().fold(sum, |s, byte| word(s, u64::from(*byte)))
}

fn put_list(out: &mut Vec<u8>, list: &[u32]) {
    out.extend_from_slice(&(list.len() as u32).to_le_bytes());
    list.iter().for_each(|number| out.extend_from_slice(&number.to_le_bytes()));
}

struct Reader<'a> {
    bytes: &'a [u8],
}

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], SnapshotError> {
        let (head, rest) = self.bytes.split_first_chunk::<N>().ok_or(SnapshotError::Length)?;
        self.bytes = rest;
        Ok(*head)
    }

    fn u32(&mut self) -> Result<u32, SnapshotError> {
        self.take().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Result<u64, SnapshotError> {
        self.take().map(u64::from_le_bytes)
    }

    fn list(&mut self) -> Result<Vec<u32>, SnapshotError> {
        let length = self.u32()? as usize;
        let (head, rest) = self.bytes.split_at_checked(4 * length).ok_or(SnapshotError::Length)?;
        self.bytes = rest;
        Ok(head
            .chunks_exact(4)
            .map(|four| u32::from_le_bytes([four[0], four[1], four[2], four[3]]))
            .collect())
    }
}
