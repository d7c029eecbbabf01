//! Log-block FTLs: data blocks hold each page in its place, a few log blocks take what is written
//! again, and merges bring both together.
//!
//! An instance manages the blocks of one lane and knows nothing of time. A host write is asked for
//! ([`LogBlocks::write`]); then [`LogBlocks::step`] gives one flash operation after the other, its
//! own program among them, until [`Step::Done`]; [`LogBlocks::done`] says that the operation is
//! done, and only then do the maps change. So reads are right between any two steps
//! ([`LogBlocks::translate`]), the executor of the steps decides what time they take, whether a
//! copy crosses the channel, and when an erase may go on (not while the block is being read). One
//! write at a time: a second one waits until `Done`, and so does a caller whose completion includes
//! the work that a write causes; its data is on flash as soon as its `Program` is done.
//!
//! Sources: `spec.rs` names the papers; what the papers leave open follows the firmware of FASTer's
//! first author (OpenSSD Jasmine) and is a setting. Trap: what public code of these FTLs gets wrong
//! has a test by name each.
//!
//! The drive runs the steps (`drive/gc/merge.rs`); preconditioning and `nogc` run them at zero cost
//! ([`super::timeless`]).
//!
//! Reading order: `spec` (settings, blocks needed), `lanes` (a whole drive), `lane` (maps and
//! merges), `bast`, `fast` (FAST, and FASTer's second chances), `sequential` (its log block),
//! `isolation` (FASTer's cold pages, merged one at a time); `superblock`; `last` with `kin`;
//! `page_mapping` with `ranks`, what they are measured against; `recovery` (a lane from what is on
//! flash).
//!
//! FMAX has no policy of its own: of what is public, `docs/model/log-blocks.md` says where it ends.

mod bast;
mod fast;
mod isolation;
mod kin;
mod lane;
mod lanes;
mod last;
mod levelling;
mod page_mapping;
mod queue;
mod ranks;
mod recovery;
mod sequential;
mod spec;
mod superblock;

pub use lanes::{LogLanes, Losses};
pub use spec::{
    Compaction, Frontiers, FullBlock, LogPolicy, LogSpec, LogVictim, Progressive, Sequential,
    Shape, Tail, Victim,
};

use crate::flash::Block;
use crate::ftl::FtlSpec;
use crate::ftl::recovery::Role;
use crate::stats::LogCounters;
use crate::units::{Lpn, Ppn};
use bast::Bast;
use fast::Fast;
use lane::LaneState;
use last::Last;
use levelling::Levelling;
use page_mapping::PageMapping;
use superblock::Superblock;

/// The next flash operation of a write. Pages and blocks are numbered within the lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Read a valid page and program it elsewhere.
    Copy {
        /// Where it is.
        from: Ppn,
        /// An erased page.
        to: Ppn,
    },
    /// Program the host's data.
    Program {
        /// Its logical page.
        page: Lpn,
        /// An erased page.
        to: Ppn,
    },
    /// Read the spare area of a page, and nothing else of it: a part of the page map is there that
    /// is not in RAM. Only the superblock FTL with a cache asks for it (`superblock_cache`).
    Read {
        /// The page, programmed.
        page: Ppn,
    },
    /// Erase a block without valid pages.
    Erase {
        /// The block.
        block: Block,
    },
    /// The write is done; the next one may begin.
    Done,
}

/// The decisions of one FTL; the rest is common to all.
trait Policy {
    fn lane(&self) -> &LaneState;
    fn lane_mut(&mut self) -> &mut LaneState;
    /// The host write `lane.host` begins.
    fn begin(&mut self);
    /// The next step when no merge is under way; it may also begin a merge and return that merge's
    /// first step.
    fn plan(&mut self) -> Option<Step>;
    /// Bytes of what it holds beside the lane.
    fn bytes(&self) -> usize {
        0
    }
}

/// A log-block FTL over the blocks of one lane.
#[derive(Clone, Debug)]
pub struct LogBlocks {
    policy: Either,
    shape: Shape,
}

#[derive(Clone, Debug)]
enum Either {
    Bast(Bast),
    Fast(Fast),
    PageMapping(PageMapping),
    Superblock(Box<Superblock>),
    Last(Box<Last>),
}

impl LogBlocks {
    /// An empty lane of `blocks` blocks of `pages` pages each, of which the host sees `logical`
    /// pages. The error names the key, its value and what is allowed.
    pub fn new(spec: &LogSpec, pages: u32, blocks: u32, logical: u32) -> Result<Self, String> {
        let shape = spec.shape_within(logical, pages, blocks)?;
        let lane = LaneState::new(pages, logical, blocks, spec.out_of_order);
        let policy = match spec.policy {
            LogPolicy::Bast => Either::Bast(Bast::new(spec, &shape, lane)),
            LogPolicy::PageMapping => Either::PageMapping(PageMapping::new(spec, lane)),
            LogPolicy::Superblock => {
                Either::Superblock(Box::new(Superblock::new(spec, &shape, lane)))
            }
            LogPolicy::Last => Either::Last(Box::new(Last::new(spec, &shape, lane))),
            LogPolicy::Fast | LogPolicy::Faster => Either::Fast(Fast::new(spec, &shape, lane)),
        };
        Ok(Self { policy, shape })
    }

    /// Wear is levelled as `ftl` says; nothing may have been written yet.
    pub fn level(&mut self, ftl: &FtlSpec) {
        self.lane_mut().levelling = Levelling::new(ftl);
    }

    /// The numbers of blocks, by their use.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Where the newest version of a page is that flash has; `None`: never written, or given back.
    #[inline]
    pub fn translate(&self, page: Lpn) -> Option<Ppn> {
        self.lane().translate(page)
    }

    /// The logical page whose newest version a physical page holds.
    pub fn holds(&self, at: Ppn) -> Option<Lpn> {
        self.lane().valid_page(at)
    }

    /// The page whose spare area must be read before a host read of `page` can be translated;
    /// `None`: nothing. Of the superblock FTL this also brings the page's part of the map into its
    /// cache; of the others it is always `None`.
    #[inline]
    pub fn look_up(&mut self, page: Lpn) -> Option<Ppn> {
        match &mut self.policy {
            Either::Superblock(superblock) => superblock.look_up(page),
            _ => None,
        }
    }

    /// A host write of `page` begins, a request of its own; none may be under way.
    #[inline]
    pub fn write(&mut self, page: Lpn) {
        self.write_of(page, 1);
    }

    /// A host write of `page` begins, of a request of `request_pages`; none may be under way. Only
    /// LAST asks how long requests are.
    #[inline]
    pub fn write_of(&mut self, page: Lpn, request_pages: u32) {
        self.lane_mut().request_pages = request_pages;
        match &mut self.policy {
            Either::Bast(bast) => start(bast, page),
            Either::Fast(fast) => start(fast, page),
            Either::PageMapping(mapping) => start(mapping, page),
            Either::Superblock(superblock) => start(&mut **superblock, page),
            Either::Last(last) => start(&mut **last, page),
        }
    }

    /// The flash operation that the write under way needs next; the same one until it is done.
    #[inline]
    pub fn step(&mut self) -> Step {
        match &mut self.policy {
            Either::Bast(bast) => advance(bast),
            Either::Fast(fast) => advance(fast),
            Either::PageMapping(mapping) => advance(mapping),
            Either::Superblock(superblock) => advance(&mut **superblock),
            Either::Last(last) => advance(&mut **last),
        }
    }

    /// The operation that [`LogBlocks::step`] gave is done.
    #[inline]
    pub fn done(&mut self) {
        self.lane_mut().commit();
    }

    /// Takes a free block out of service; nothing may have been written yet.
    pub fn withdraw(&mut self, block: Block) {
        self.lane_mut().withdraw(block);
    }

    /// The erase that [`LogBlocks::step`] gave has failed: [`LogBlocks::done`] takes its block out
    /// of service.
    pub fn lose(&mut self) {
        self.lane_mut().lose();
    }

    /// True between a write and its [`Step::Done`].
    pub fn is_busy(&self) -> bool {
        self.lane().is_busy()
    }

    /// The host gives a page back; at any time.
    pub fn trim(&mut self, page: Lpn) {
        self.lane_mut().trim(page);
    }

    /// Counters from the start on.
    pub fn counters(&self) -> &LogCounters {
        &self.lane().counters
    }

    /// One more than the last programmed page of a block; 0 if it is erased.
    pub fn written(&self, block: Block) -> u32 {
        self.lane().written(block)
    }

    /// Erases of each block.
    pub fn erases(&self) -> &[u32] {
        self.lane().erases()
    }

    /// The role that a block was opened for.
    pub fn role(&self, block: Block) -> Role {
        self.lane().role(block)
    }

    /// Bytes of the maps in the simulator.
    pub fn bytes(&self) -> usize {
        let own = match &self.policy {
            Either::Superblock(superblock) => superblock.bytes(),
            Either::Last(last) => last.bytes(),
            Either::Bast(_) | Either::Fast(_) | Either::PageMapping(_) => 0,
        };
        self.lane().bytes() + own
    }

    #[inline]
    fn lane(&self) -> &LaneState {
        match &self.policy {
            Either::Bast(bast) => bast.lane(),
            Either::Fast(fast) => fast.lane(),
            Either::PageMapping(mapping) => mapping.lane(),
            Either::Superblock(superblock) => superblock.lane(),
            Either::Last(last) => last.lane(),
        }
    }

    #[inline]
    fn lane_mut(&mut self) -> &mut LaneState {
        match &mut self.policy {
            Either::Bast(bast) => bast.lane_mut(),
            Either::Fast(fast) => fast.lane_mut(),
            Either::PageMapping(mapping) => mapping.lane_mut(),
            Either::Superblock(superblock) => superblock.lane_mut(),
            Either::Last(last) => last.lane_mut(),
        }
    }
}

fn start(policy: &mut impl Policy, page: Lpn) {
    policy.lane_mut().begin(page);
    policy.begin();
}

#[inline]
fn advance(policy: &mut impl Policy) -> Step {
    if !policy.lane().is_busy() {
        return Step::Done;
    }
    if let Some(step) = policy.lane_mut().resume() {
        return step;
    }
    if let Some(step) = policy.plan() {
        return step;
    }
    if policy.lane_mut().levels()
        && let Some(step) = policy.lane_mut().resume()
    {
        return step;
    }
    policy.lane_mut().end();
    Step::Done
}

#[cfg(test)]
mod tests;
