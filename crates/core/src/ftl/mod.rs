//! The flash translation layer: translates, places and reclaims; it never touches timing.
//!
//! The drive asks where a page lies ([`PageMap::translate`]), which lane a write goes to
//! ([`PageMap::place`]), the next row of a lane ([`PageMap::open_row`]), and, step by step, what a
//! collection does next ([`PageMap::step`]). The executor of those steps decides what time they
//! take: the drive's scheduler in a run, [`timeless`] in preconditioning.
//!
//! **When a mapping commits:** when the program of its row is done ([`PageMap::commit`],
//! [`PageMap::copied`]). Until then the old page is the valid one. A copy that a host write
//! overtook is stale on commit.
//!
//! Reading order: `spec` (the settings), `watermark` (when to reclaim), `mapping`, `blocks`, `pool`
//! (free and open blocks),
//! `placement` (the lane of a page), `classes` (what shares a block with it; `sorter`: by a rule
//! from outside), `onset` (when reclaiming begins, likewise), `wear`, `rain` (where
//! stripes with parity live), `superblock` (parity over superblocks), `page_map` (the layer
//! itself), `collection` (reclaiming, as a chain of steps), `relocation` (the chain of a lane),
//! `remaining` (what it has before it), `victim/` (a file a policy), `rewrite` (room for a page
//! that is written anew), `retire` (bad blocks), `log/` (log blocks in place of page mapping),
//! `cmt` (the entries of the map that DRAM holds, where it lies on flash),
//! `timeless`, `snapshot`, `recovery` (the maps from what is on flash), `checkpoint` (what spares
//! it most of the scan).

mod blocks;
mod checkpoint;
mod classes;
mod cmt;
mod collection;
pub mod log;
mod mapping;
mod onset;
mod page_map;
mod placement;
mod pool;
mod pslc;
mod rain;
pub mod recovery;
mod relocation;
mod remaining;
mod retire;
mod rewrite;
mod snapshot;
mod sorter;
mod spec;
mod superblock;
pub mod timeless;
pub mod victim;
mod watermark;
mod wear;
mod whole;

pub use blocks::Blocks;
pub use checkpoint::{CHECKPOINT_BLOCK, CHECKPOINT_PLACE, CHECKPOINT_TRIM, Checkpoint, Reads};
pub use classes::{CLASSES_MAX, Classes, OpenBlocks};
pub use cmt::{Cmt, DIRECTORY_ENTRY, EntryId, MapSpec, MissId, Room};
pub use collection::Step;
pub use mapping::Mapping;
pub use onset::{Onset, PoolSeen};
pub use page_map::{PageMap, Translation};
pub use pool::{PoolState, Stream};
pub use pslc::{FoldWhen, PslcSpec, WhenFull};
pub use rain::{Stripes, WIDTH_MAX};
pub use remaining::{ChainLeft, CopiesLeft};
pub use retire::{BadBlocks, Needs};
pub use snapshot::SnapshotError;
pub use sorter::Sorter;
pub use spec::{
    Allocation, DataPlacement, Dimension, FreeBlock, Frontiers, FtlKind, FtlSpec, GcMode, GcSpec,
    GcWhen, Pace, Rotate, StreamCopies, Stripe, Victim, VictimUnit,
};
pub use superblock::{Superstripes, part_of, version_of};
pub use watermark::Watermark;
pub use wear::Wear;

#[cfg(test)]
mod tests;
