//! Wrong bits that come with age: wear, retention and read disturb, page by page.
//!
//! **The law.** The cells of a block drift, so the voltages at which its pages read best move away
//! from the default ones. The distance is counted in entries of the retry table:
//!
//! ```text
//! kept  = drift x ln(1 + days) x (1 + drift_wear x k)
//! shift = page x (kept + disturb x reads / 100,000 x (1 + k))
//! ```
//!
//! with k thousands of P/E cycles and `page` a factor of the page, 1 +- `spread`. At the best
//! voltages a codeword holds `floor` x (1 + `floor_wear` x k) x (factor of the page type) wrong
//! bits, and d entries away from them e^(slope x d) times as many. So it decodes up to the *reach*
//! ln(correctable / floor) / slope from there.
//!
//! **Sources.** Retention as the logarithm of time, with a slope that wear raises: Cai et al.
//! (HPCA '15, MLC), Luo et al. (HeatWatch, HPCA '18; 3D NAND). Chun et al. (RiF, HPCA '24; 160
//! chips of 3D TLC, as a summary of it states them) see the first retries after 17, 14 and 10 days
//! at 0, 200 and 500 P/E cycles: the defaults of `drift`, `drift_wear`, `floor` and `slope` give
//! 17, 14 and 10 (a test). Assumed: all else; that disturb, whose shift has the other sign, adds to
//! the distance; that the reads of a block disturb all its pages alike.
//!
//! **Books.** 16 bytes a block. Pages of preconditioning are as old as `retention` says; those that
//! the run wrote are as old as the erase of their block. Nothing is drawn at a read: two reads of a
//! page at one instant agree.
//!
//! Not modelled: temperature, layers, neighbours that are programmed later, early retention loss in
//! the first seconds.

use super::Block;
use crate::sim::{math, mix};
use crate::units::{Duration, Instant};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The age of the flash at the start, and how it ages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AgeingSpec {
    /// P/E cycles of every block at the start; those of the run are added.
    pub pe_cycles: u32,
    /// For how long the data of preconditioning was stored before the run.
    pub retention: Duration,
    /// Reads that every block has seen since it was written, at the start.
    pub reads: u32,
    /// Entries of the retry table by which a page shifts while ln(1 + days) rises by one.
    pub drift: f64,
    /// Share by which 1000 P/E cycles raise that.
    pub drift_wear: f64,
    /// Entries by which 100,000 reads of a block shift its pages.
    pub disturb: f64,
    /// Wrong bits of a codeword at the best voltages, new.
    pub floor: f64,
    /// Share by which 1000 P/E cycles raise that.
    pub floor_wear: f64,
    /// Wrong bits grow e^slope times with each entry away from the best voltages.
    pub slope: f64,
    /// Pages differ in their shift by up to this share, either way.
    pub spread: f64,
    /// Wrong bits of each page type over `floor`, repeating like `device.timing.read`.
    pub page_types: Vec<f64>,
}

impl Default for AgeingSpec {
    fn default() -> Self {
        Self {
            pe_cycles: 0,
            retention: Duration::ZERO,
            reads: 0,
            drift: 1.04,
            drift_wear: 0.2,
            disturb: 1.0,
            floor: 15.0,
            floor_wear: 0.3,
            slope: 0.52,
            spread: 0.15,
            page_types: vec![1.0],
        }
    }
}

/// Age of a block.
#[derive(Clone, Copy, Debug)]
struct BlockAge {
    /// Rows that preconditioning wrote.
    old_rows: u16,
    /// Erases in the run.
    erases: u16,
    /// Array reads since it was erased, those before the run included.
    reads: u32,
    /// Seconds of the run at which it was erased.
    erased_at: u32,
    /// The entry of the retry table that worked last.
    entry: u8,
}

/// A physical page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PageAt {
    pub block: Block,
    pub row: u32,
    /// Its number in the block.
    pub page: u32,
    /// Its place in the lists of the page types.
    pub kind: u32,
}

/// A page as the ECC sees it at some instant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Aged {
    /// Entries of the retry table from the default voltages to the best ones.
    pub shift: f64,
    /// Wrong bits of a codeword at the best voltages.
    pub floor: f64,
    /// The entry that worked last in its block.
    pub entry: u32,
}

/// The age of every block.
#[derive(Clone, Debug)]
pub(super) struct Ageing {
    spec: AgeingSpec,
    seed: u32,
    blocks: Vec<BlockAge>,
    /// The latest instant that a read told.
    now: Instant,
}

impl Ageing {
    /// Blocks of which each holds `rows` that preconditioning wrote.
    pub fn new(spec: &AgeingSpec, rows: &[u16], seed: u64) -> Self {
        let age = |rows: &u16| BlockAge {
            old_rows: *rows,
            erases: 0,
            reads: if *rows > 0 { spec.reads } else { 0 },
            erased_at: 0,
            entry: 0,
        };
        Self {
            spec: spec.clone(),
            seed: mix(seed as u32 ^ (seed >> 32) as u32),
            blocks: rows.iter().map(age).collect(),
            now: Instant::START,
        }
    }

    /// The block is erased.
    pub fn erased(&mut self, block: Block) {
        let seconds = self.now.since(Instant::START).as_ns() / 1_000_000_000;
        let age = &mut self.blocks[block.0 as usize];
        *age = BlockAge {
            old_rows: 0,
            erases: age.erases.saturating_add(1),
            reads: 0,
            erased_at: u32::try_from(seconds).unwrap_or(u32::MAX),
            entry: 0,
        };
    }

    /// The block's pages were sensed `times` more.
    pub fn disturb(&mut self, block: Block, times: u32) {
        let age = &mut self.blocks[block.0 as usize];
        age.reads = age.reads.saturating_add(times);
    }

    /// `entry` of the retry table has worked in the block.
    pub fn note_entry(&mut self, block: Block, entry: u32) {
        self.blocks[block.0 as usize].entry = u8::try_from(entry).unwrap_or(u8::MAX);
    }

    /// The page as it is at `now`.
    pub fn look(&mut self, now: Instant, at: PageAt) -> Aged {
        self.now = now;
        let (spec, age) = (&self.spec, self.blocks[at.block.0 as usize]);
        let stored = if at.row < u32::from(age.old_rows) {
            spec.retention + now.since(Instant::START)
        } else {
            now.since(Instant::from_ns(u64::from(age.erased_at) * 1_000_000_000).min(now))
        };
        let days = stored.as_ns() as f64 / 86_400e9;
        let k = (f64::from(spec.pe_cycles) + f64::from(age.erases)) / 1000.0;
        let kept = spec.drift * math::ln(1.0 + days) * (1.0 + spec.drift_wear * k);
        let disturbed = spec.disturb * (f64::from(age.reads) / 100_000.0) * (1.0 + k);
        let factor = spec.page_types[at.kind as usize % spec.page_types.len()];
        Aged {
            shift: self.factor(at) * (kept + disturbed),
            floor: spec.floor * (1.0 + spec.floor_wear * k) * factor,
            entry: age.entry.into(),
        }
    }

    /// The factor of a page: from the seed alone, so every policy meets the same pages.
    fn factor(&self, at: PageAt) -> f64 {
        let drawn = mix(mix(at.block.0 ^ self.seed).wrapping_add(at.page));
        1.0 + self.spec.spread * (f64::from(drawn) / 2_147_483_648.0 - 1.0)
    }

    /// How far from the best voltages a codeword with `floor` wrong bits there still decodes;
    /// `None` where it does nowhere.
    pub fn reach(&self, floor: f64, correctable: u32) -> Option<f64> {
        let margin = f64::from(correctable) / floor;
        (margin >= 1.0).then(|| math::ln(margin) / self.spec.slope)
    }

    /// Bytes of the books.
    pub fn bytes(&self) -> usize {
        self.blocks.len() * size_of::<BlockAge>()
    }
}
