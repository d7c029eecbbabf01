//! Data placement: which class a page belongs to. Each class has open blocks of its own, so that
//! pages which are expected to go stale together share a block, and a victim holds little that is
//! still valid.
//!
//! A class is a number; what it means is the rule's. Every block remembers the class that it was
//! opened for. The rules decide at two moments: when the host's page leaves the write buffer for a
//! row, and when a copy was read.
//!
//! - `dac`, Dynamic dAta Clustering (Chiang, Lee, Chang, Software: Practice and Experience 29(3),
//!   1999), as the authors of FASTer wrote it for the Jasmine board: region 0 is the coldest and
//!   takes first writes; a page of region r that the host writes again goes to min(r + 1, R - 1), a
//!   copy of it to max(r - 1, 0). The paper lets a page rise only when it is young and sink only
//!   when it is old (`dac_age`); Jasmine dropped that.
//! - `sepbit` (Wang, Li, Lee, Zhao, Shi, Huang: Separating Data via Block Invalidation Time
//!   Inference for Write Amplification Reduction in Log-Structured Storage, FAST '22, Algorithm 1;
//!   github.com/fallfish/sepbit). Time t is pages that the host wrote. A page that replaces one of
//!   lifespan v < l is short-lived, class 0, any other one and first writes class 1. Copies from
//!   class 0 go to class 2; others, by their age since the host wrote them, below 4 l to class 3,
//!   below 16 l to class 4, and else to class 5. l is the mean lifespan, from the first page to the
//!   collection, of the last 16 collected blocks of class 0 (anew after each 16), and infinite
//!   before. (The paper counts classes from 1. Its queue of recent addresses saves memory; here the
//!   exact times are kept.)
//! - `2r` (Kang, Choi, Oh, Lee: 2R: Efficiently Isolating Cold Pages in Flash Storages, PVLDB
//!   13(11), 2020): pages of the host go to the normal region, 0; what a collection finds valid is
//!   cold, goes to the cold region, 1, and stays there until the host writes it. Which region the
//!   next victim is from is not in the public text; here the policy of `gc.victim` chooses one of
//!   the normal region and greedy one of the cold region, and the emptier one is taken, of equals
//!   the normal one (`victim/mod.rs`). With `gc.victim = "fifo"` that is 2R-FIFO as far as it is
//!   public.
//! - `2r-second-chance` (An, Lee: 2R++: Enhancing 2R FTL to Identify Warm Pages, KTCCS 11(12),
//!   2022), of which the abstract is public: a bit for each block and a second chance keep warm
//!   pages out of the cold region. Here: what is valid in a block without the bit is copied, once,
//!   to normal blocks that have it, class 1; what is valid in those goes to the cold region, class
//!   2. The rest of the paper's rules is not known to us.
//! - `pslc`: class 0 are the blocks with one bit a cell, class 1 all others; the host's pages go to
//!   class 0, or past it (`pslc`).
//! - `stream`: the host's hint names the class (NVMe streams directive; placement handles of FDP,
//!   TP4146), or a rule that a program brings along does (`sorter`). A hint beyond the last stream
//!   is the first stream's.
//!
//! **Room.** Copies of one victim fill rows: what fills none of its class is packed together at the
//! victim's end, into rows of the class that has most of it, so a victim takes no more rows than
//! without classes. With C classes that copies may go to, the host leaves C free blocks
//! (`PoolState::reserve`). That suffices. Let a row be free to copies when it is in a free block or
//! behind one of their frontiers. The host, and a collection when it starts, leave at least C
//! blocks of free rows. A victim needs less than a block of rows; say k classes need more than lies
//! behind their frontier, which for these k together is then less than a block; the other C - k
//! have less than a block each. So the free blocks are more than C - (C - k) - 1, that is at least
//! k. Each opening takes one from both, and the erase brings back more than was taken. Where the
//! host and copies share their open blocks the same holds with all classes for C.
//!
//! **Trap: when to decide.** The class of a host's page is that of the page it replaces *now*; a
//! collection may move that page before the new one is on flash. So nothing is undone: the region
//! of a page is that of the block it is in.

use super::sorter::Sorted;
use super::{DataPlacement, Frontiers, FtlSpec, PageMap, Stream, StreamCopies};
use crate::flash::Block;
use crate::units::{Lane, Lpn, Ppn};

/// The most classes of any rule.
pub const CLASSES_MAX: usize = 16;

/// Collected blocks of short-lived data whose mean lifespan `sepbit` compares with (the paper's
/// n_c).
const COLLECTED: u64 = 16;

/// The second age that tells copies apart, in mean lifespans of `sepbit`; the first is a quarter of
/// it.
const OLD: u64 = 16;

/// How many blocks a pool has open, and how many free ones the host leaves to copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenBlocks {
    /// Classes in all.
    pub classes: u32,
    /// Classes that the host writes, the first ones.
    pub host: u32,
    /// Open blocks of all frontiers.
    pub open: u32,
    /// Free blocks that only copies may open.
    pub reserve: u32,
}

impl OpenBlocks {
    /// The open blocks that the settings ask for.
    pub fn of(ftl: &FtlSpec) -> Self {
        let regions = ftl.dac_regions;
        let (classes, host, copies) = match ftl.placement {
            DataPlacement::None => (1, 1, 1),
            DataPlacement::Dac if ftl.dac_age > 0.0 => (regions, regions, regions),
            // A copy never lands in the hottest region.
            DataPlacement::Dac => (regions, regions, (regions - 1).max(1)),
            DataPlacement::Sepbit => (6, 2, 4),
            DataPlacement::TwoRegions => (2, 1, 1),
            DataPlacement::TwoRegionsSecondChance => (3, 1, 2),
            DataPlacement::Stream => match ftl.stream_copies {
                StreamCopies::Own => (ftl.streams, ftl.streams, ftl.streams),
                StreamCopies::Shared => (ftl.streams + 1, ftl.streams, 1),
            },
            // The open block of the cache may be one that it borrowed; the second one of the
            // reserve is for folds (`pslc`).
            DataPlacement::Pslc => {
                return Self { classes: 2, host: 1, open: 3, reserve: 2 };
            }
        };
        match ftl.frontiers {
            Frontiers::Separate => Self { classes, host, open: host + copies, reserve: copies },
            Frontiers::Shared => Self { classes, host, open: classes, reserve: classes },
        }
    }
}

/// The rule that decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    /// Regions less one; the age that divides young from old, if any.
    Dac {
        hottest: u8,
        age: Option<u64>,
    },
    Sepbit(Lifespans),
    TwoRegions {
        second_chance: bool,
    },
    Stream {
        streams: u8,
        own_copies: bool,
    },
    Pslc,
}

/// The mean lifespan l of `sepbit`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Lifespans {
    /// [`COLLECTED`] times l; `u64::MAX` before it is known.
    sum: u64,
    /// Since then: the lifespans of blocks collected, and how many.
    gathering: u64,
    collected: u64,
}

impl Lifespans {
    /// True when `time` is below `times` l.
    fn exceed(&self, time: u64, times: u64) -> bool {
        time.saturating_mul(COLLECTED) < self.sum.saturating_mul(times)
    }
}

/// The classes of a drive's pages.
#[derive(Clone, Debug)]
pub struct Classes {
    rule: Rule,
    /// `stream`: who names the stream in place of the host.
    sorted: Option<Box<Sorted>>,
    hosts: u8,
    /// The class that each block was opened for.
    of_block: Vec<u8>,
    /// Pages that the host wrote: the clock.
    written: u64,
    /// By logical page: the clock when the host wrote it last; kept only where the rule asks for
    /// ages.
    last_write: Vec<u64>,
    /// By block: the clock when it was opened; likewise.
    opened_at: Vec<u64>,
}

impl Classes {
    /// The classes that `ftl` asks for on a drive of `blocks` blocks and `logical` pages; `None`
    /// where there is one.
    pub fn new(ftl: &FtlSpec, blocks: u32, logical: u32) -> Option<Box<Self>> {
        let rule = match ftl.placement {
            DataPlacement::None => return None,
            DataPlacement::Dac => {
                let age = (ftl.dac_age > 0.0).then(|| (ftl.dac_age * f64::from(logical)) as u64);
                Rule::Dac { hottest: (ftl.dac_regions - 1) as u8, age }
            }
            DataPlacement::Sepbit => {
                Rule::Sepbit(Lifespans { sum: u64::MAX, gathering: 0, collected: 0 })
            }
            DataPlacement::TwoRegions => Rule::TwoRegions { second_chance: false },
            DataPlacement::TwoRegionsSecondChance => Rule::TwoRegions { second_chance: true },
            DataPlacement::Stream => {
                let own_copies = ftl.stream_copies == StreamCopies::Own;
                Rule::Stream { streams: ftl.streams as u8, own_copies }
            }
            DataPlacement::Pslc => Rule::Pslc,
        };
        let is_sepbit = matches!(rule, Rule::Sepbit(_));
        let needs_ages = is_sepbit || matches!(rule, Rule::Dac { age: Some(_), .. });
        Some(Box::new(Self {
            rule,
            sorted: Sorted::new(ftl, logical),
            hosts: OpenBlocks::of(ftl).host as u8,
            of_block: vec![0; blocks as usize],
            written: 0,
            last_write: vec![0; if needs_ages { logical as usize } else { 0 }],
            opened_at: vec![0; if is_sepbit { blocks as usize } else { 0 }],
        }))
    }

    /// True when copies of one victim may belong to several classes.
    pub fn splits_victims(&self) -> bool {
        matches!(self.rule, Rule::Sepbit(_) | Rule::Dac { age: Some(_), .. })
    }

    /// The class of a block.
    #[inline]
    pub fn of_block(&self, block: Block) -> u32 {
        u32::from(self.of_block[block.0 as usize])
    }

    /// The class of every block, and the one whose blocks are reclaimed apart from the others, if
    /// there is one.
    pub fn apart(&self) -> Option<(&[u8], u8)> {
        match self.rule {
            Rule::TwoRegions { second_chance } => {
                Some((&self.of_block, 1 + u8::from(second_chance)))
            }
            Rule::Pslc => Some((&self.of_block, 0)),
            _ => None,
        }
    }

    /// The class of pages that are written for the first time.
    pub fn of_first_write(&self) -> u32 {
        u32::from(matches!(self.rule, Rule::Sepbit(_)))
    }

    /// The class of `lpn` when the host writes it with hint `stream` while the version that it
    /// replaces, if any, lies in block `old`.
    #[inline]
    pub fn of_write(&self, lpn: Lpn, old: Option<Block>, stream: u8) -> u32 {
        match (&self.rule, old) {
            (Rule::Stream { streams, .. }, _) => {
                let stream = self.sorted.as_ref().map_or(stream, |by| by.stream_of(lpn));
                u32::from(if stream < *streams { stream } else { 0 })
            }
            (_, None) => self.of_first_write(),
            (Rule::Dac { hottest, age }, Some(old)) => {
                let region = self.of_block(old);
                let rises = age.is_none_or(|age| self.age(lpn) <= age);
                if rises { (region + 1).min(u32::from(*hottest)) } else { region }
            }
            (Rule::Sepbit(lifespans), Some(_)) => u32::from(!lifespans.exceed(self.age(lpn), 1)),
            (Rule::TwoRegions { .. } | Rule::Pslc, Some(_)) => 0,
        }
    }

    /// The class of a copy of `lpn` out of a block of class `from`.
    #[inline]
    pub fn of_copy(&self, lpn: Lpn, from: u32) -> u32 {
        match &self.rule {
            Rule::Dac { age: Some(age), .. } if self.age(lpn) <= *age => from,
            Rule::Sepbit(lifespans) => self.of_sepbit_copy(lifespans, lpn, from),
            _ => self.of_every_copy(from),
        }
    }

    fn of_sepbit_copy(&self, lifespans: &Lifespans, lpn: Lpn, from: u32) -> u32 {
        let age = self.age(lpn);
        match from {
            0 => 2,
            _ if lifespans.exceed(age, OLD / 4) => 3,
            _ if lifespans.exceed(age, OLD) => 4,
            _ => 5,
        }
    }

    /// The class of all copies out of a block of class `from`, where the page does not matter.
    pub fn of_every_copy(&self, from: u32) -> u32 {
        match self.rule {
            Rule::Dac { .. } => from.saturating_sub(1),
            Rule::Sepbit(_) => 2,
            Rule::Pslc => 1,
            Rule::TwoRegions { second_chance } => (from + 1).min(1 + u32::from(second_chance)),
            Rule::Stream { own_copies: true, .. } => from,
            Rule::Stream { streams, own_copies: false } => u32::from(streams),
        }
    }

    /// The class of what is written anew from `block` to a row of the host's.
    pub fn of_rewrite(&self, block: Block) -> u32 {
        self.of_block(block).min(u32::from(self.hosts) - 1)
    }

    /// Pages that the host wrote since it wrote `lpn`.
    fn age(&self, lpn: Lpn) -> u64 {
        self.written - self.last_write[lpn.0 as usize]
    }

    /// The host wrote `lpn`.
    #[inline]
    pub fn written(&mut self, lpn: Lpn) {
        if let Some(last) = self.last_write.get_mut(lpn.0 as usize) {
            *last = self.written;
        }
        if let Some(sorted) = &mut self.sorted {
            sorted.written(lpn);
        }
        self.written += 1;
    }

    /// `block` is opened for a class.
    pub fn opened(&mut self, block: Block, class: u32) {
        self.of_block[block.0 as usize] = class as u8;
        if let Some(at) = self.opened_at.get_mut(block.0 as usize) {
            *at = self.written;
        }
    }

    /// A group of blocks is collected.
    pub fn collected(&mut self, mut group: impl Iterator<Item = Block>) {
        let Rule::Sepbit(lifespans) = &mut self.rule else { return };
        let Some(first) = group.next() else { return };
        if self.of_block[first.0 as usize] != 0 {
            return;
        }
        let opened = group.map(|block| self.opened_at[block.0 as usize]);
        let opened = opened.fold(self.opened_at[first.0 as usize], u64::min);
        lifespans.gathering += self.written - opened;
        lifespans.collected += 1;
        if lifespans.collected == COLLECTED {
            *lifespans = Lifespans { sum: lifespans.gathering, gathering: 0, collected: 0 };
        }
    }

    /// The mean lifespan l of `sepbit` times 16, once it is known.
    pub fn lifespan_x16(&self) -> Option<u64> {
        match self.rule {
            Rule::Sepbit(Lifespans { sum, .. }) if sum != u64::MAX => Some(sum),
            _ => None,
        }
    }

    /// Bytes of what is kept for pages and blocks.
    pub fn bytes(&self) -> usize {
        let sorted = self.sorted.as_ref().map_or(0, |sorted| sorted.bytes());
        sorted + self.of_block.len() + 8 * (self.last_write.len() + self.opened_at.len())
    }

    /// A run begins: what preconditioning left in a rule from outside is forgotten.
    pub(super) fn begin_run(&mut self, ftl: &FtlSpec, logical: u32) {
        self.sorted = Sorted::new(ftl, logical);
    }

    /// The state in a snapshot: the classes of blocks, and numbers.
    pub(super) fn state(&self) -> (&[u8], impl Iterator<Item = u64> + '_) {
        let (sum, gathering, collected) = match self.rule {
            Rule::Sepbit(Lifespans { sum, gathering, collected }) => (sum, gathering, collected),
            _ => (0, 0, 0),
        };
        let numbers = [self.written, sum, gathering, collected].into_iter();
        (&self.of_block, numbers.chain(self.last_write.iter().chain(&self.opened_at).copied()))
    }

    /// Takes a state over, class by class and number by number; `None` when it is none of this
    /// drive's.
    pub(super) fn restore(
        &mut self,
        mut class: impl FnMut() -> Option<u8>,
        mut number: impl FnMut() -> Option<u64>,
    ) -> Option<()> {
        for of_block in &mut self.of_block {
            *of_block = class().filter(|class| usize::from(*class) < CLASSES_MAX)?;
        }
        self.written = number()?;
        let lifespans = Lifespans { sum: number()?, gathering: number()?, collected: number()? };
        if let Rule::Sepbit(kept) = &mut self.rule {
            *kept = lifespans;
        }
        for at in self.last_write.iter_mut().chain(&mut self.opened_at) {
            *at = number().filter(|at| *at <= self.written)?;
        }
        Some(())
    }
}

impl PageMap {
    /// The class of `lpn` when the host writes it now with hint `stream`. Without classes it is 0.
    #[inline(always)]
    pub fn class_of_write(&self, lpn: Lpn, stream: u8) -> u32 {
        self.classes.as_ref().map_or(0, |classes| self.class_of(classes, lpn, stream))
    }

    #[inline(never)]
    fn class_of(&self, classes: &Classes, lpn: Lpn, stream: u8) -> u32 {
        // Parity is no page of the host's that could be given back.
        let is_left = |ppn: &Ppn| ppn.is_some() && !(lpn.0 < self.user && self.is_trimmed(lpn));
        let old =
            Some(self.mapping.physical(lpn)).filter(is_left).map(|ppn| self.layout.block_of(ppn));
        classes.of_write(lpn, old, stream)
    }

    /// The class of pages that are written for the first time.
    pub fn class_of_first_write(&self) -> u32 {
        self.classes.as_ref().map_or(0, |classes| classes.of_first_write())
    }

    /// The host's page `lpn` goes to a row of its class.
    #[inline]
    pub fn note_write(&mut self, lpn: Lpn) {
        if let Some(classes) = &mut self.classes {
            classes.written(lpn);
        }
    }

    /// Classes of data, each with open blocks of its own.
    pub fn class_count(&self) -> u32 {
        self.frontiers.len() as u32 / self.layout.lanes
    }

    /// Of these, those that the host writes, the first ones.
    pub fn host_classes(&self) -> u32 {
        self.host_classes
    }

    /// Data placement, if it has more than one class.
    pub fn classes(&self) -> Option<&Classes> {
        self.classes.as_deref()
    }

    /// The place of a lane's frontiers of a class.
    #[inline]
    pub(super) fn frontier_at(&self, lane: Lane, class: u32) -> usize {
        (class * self.layout.lanes + lane.0) as usize
    }

    /// The classes and their streams.
    pub(super) fn logs(&self) -> impl Iterator<Item = (u32, Stream)> + use<> {
        (0..self.class_count()).flat_map(|class| [(class, Stream::Host), (class, Stream::Copy)])
    }
}
