//! Read retry: what an array read costs whose data does not decode at once.
//!
//! A read senses at the default voltages, or at those that worked last in its block (`start`). What
//! does not decode is read again entry by entry of the retry table, each nearer to the best
//! voltages (`ageing`); when the table is through, `soft_reads` more senses give the soft decoder
//! its input; what that cannot correct is lost on this die. [`Retries`] says what comes next; the
//! die does it (`execute`).
//!
//! | `retry.mode` | a step that fails |
//! |---|---|
//! | `plain` | command, tR, transfer, decoding; then the next one |
//! | `pipelined` | tR of the next one goes beside its transfer and decoding, by CACHE READ |
//! | `on-die` | the die finds after `check` that a page will not decode, and senses it anew |
//!
//! `pipelined` is PR2 (Park et al., ASPLOS '21), `on-die` RiF (Chun et al., HPCA '24).
//!
//! `shorten` is AR2 of the same paper: retries sense for a shorter tR, where the wrong bits that
//! this adds (`short_errors`) still decode at the best voltages. The paper finds that margin in the
//! last step, so the shorter tR takes no step more. Under `pipelined` the first read is
//! plain, for the controller retries nothing before it fails, and the sense that was begun beside
//! the last decoding is stopped by a RESET: the die is free `reset` after it. Under `on-die` one
//! retry finds the voltages, as RiF's predictor does where it is right; here it always is.
//!
//! The die is kept between a transfer that will not decode and the end of its decoding: its retry
//! follows at once. The decoding of what does decode keeps no die; `drive/media/retry.rs` adds it
//! to the host's reads. Reads whose data stays in the die (copyback) meet no ECC and are never
//! retried.

use super::ageing::{Aged, Ageing, AgeingSpec, PageAt};
use super::{Block, Flash};
use crate::stats::RetryCounters;
use crate::units::{Duration, Instant, Ppn};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a read that does not decode is retried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RetryMode {
    /// Every read decodes.
    #[default]
    None,
    /// Step by step.
    Plain,
    /// The next step senses beside the transfer and the decoding of the last one.
    Pipelined,
    /// Inside the die.
    OnDie,
}

/// The voltages of the first read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RetryStart {
    /// The default ones.
    #[default]
    Default,
    /// Those that worked last in the block.
    Block,
}

/// Read retry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RetrySpec {
    /// How; with `none` no page holds an error of age, and nothing of `[ageing]` is modelled.
    pub mode: RetryMode,
    /// The voltages of the first read.
    pub start: RetryStart,
    /// Entries of the retry table behind the default voltages.
    pub entries: u32,
    /// Wrong bits of a codeword that the hard decoder corrects.
    pub correctable: u32,
    /// A hard decoding.
    pub decode: Duration,
    /// Senses whose data the soft decoder takes, after the table; 0: there is none.
    pub soft_reads: u32,
    /// Wrong bits of a codeword that the soft decoder corrects.
    pub soft_correctable: u32,
    /// A soft decoding.
    pub soft_decode: Duration,
    /// Share by which the tR of a retry is shorter.
    pub shorten: f64,
    /// Wrong bits that the shorter tR adds.
    pub short_errors: u32,
    /// On the die: how long it takes to find that a page will not decode.
    pub check: Duration,
    /// Pipelined: a RESET stops the sense that is not needed.
    pub reset: Duration,
    /// A block is refreshed when a read of it takes this many retries; 0 is never.
    pub refresh_at: u32,
}

impl Default for RetrySpec {
    fn default() -> Self {
        Self {
            mode: RetryMode::None,
            start: RetryStart::Default,
            entries: 40,
            correctable: 72,
            decode: Duration::from_us(20),
            soft_reads: 6,
            soft_correctable: 144,
            soft_decode: Duration::from_us(100),
            shorten: 0.0,
            short_errors: 7,
            check: Duration::from_ns(2500),
            reset: Duration::from_us(5),
            refresh_at: 0,
        }
    }
}

impl RetrySpec {
    /// True when reads are retried.
    pub fn is_on(&self) -> bool {
        self.mode != RetryMode::None
    }
}

/// An array read that begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct Begun {
    pub at: PageAt,
    /// Its tR.
    pub sense: Duration,
}

/// The next thing that a die does for its read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// The data crosses the channel; then this room is asked again.
    Cross,
    /// Nothing for so long; then this room is asked again.
    Wait(Duration),
    /// A command, and a sense of so long; then this room is asked again.
    Sense(Duration),
    /// As a read that decodes: a command, a sense, the transfer and the end.
    SenseLast(Duration),
    /// The data crosses, and the next sense of so long goes beside it; then this room is asked
    /// again.
    CrossAndSense(Duration),
    /// The data crosses and the read ends; a sense that was begun beside is stopped later.
    CrossLast,
    /// The read ends.
    End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// A sense ends whose data will not decode.
    Sensed,
    /// Its transfer ends.
    Crossed,
    /// Its decoding ends.
    Decoded,
    /// Under `pipelined` the last sense ends.
    LastSensed,
    SoftSensed,
    SoftCrossed,
    SoftDecoded,
}

/// The read under way on a die.
#[derive(Clone, Copy, Debug)]
struct UnderWay {
    stage: Stage,
    /// Retries that remain.
    left: u32,
    /// The first sense is under way, or its data; later ones are retries.
    first: bool,
    /// Senses for the soft decoder that remain.
    soft_left: u32,
    /// tR, and that of a retry.
    sense: Duration,
    retry: Duration,
}

impl UnderWay {
    /// No sense follows the one that begins now.
    fn is_last(&self) -> bool {
        self.left == 0 && self.soft_left == 0
    }
}

/// Retries of every die, and the age of every block.
#[derive(Clone, Debug)]
pub(super) struct Retries {
    spec: RetrySpec,
    ageing: Ageing,
    dies: Vec<UnderWay>,
    counters: RetryCounters,
    /// A block whose reads took too many retries, until the drive asks.
    worn: Option<Block>,
}

/// How a read goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    /// Senses after the first one, and before those of the soft decoder.
    retries: u32,
    /// One of all these senses decodes.
    decodes: bool,
    /// The retries sense for the shorter tR.
    short: bool,
    /// The entry of the retry table that decodes.
    entry: u32,
    /// Entries of the table from the first voltages to those that decode, or all.
    away: u32,
}

impl Retries {
    pub fn new(spec: &RetrySpec, age: &AgeingSpec, rows: &[u16], dies: u32, seed: u64) -> Self {
        let nothing = UnderWay {
            stage: Stage::Sensed,
            left: 0,
            first: true,
            soft_left: 0,
            sense: Duration::ZERO,
            retry: Duration::ZERO,
        };
        Self {
            spec: spec.clone(),
            ageing: Ageing::new(age, rows, seed),
            dies: vec![nothing; dies as usize],
            counters: RetryCounters::default(),
            worn: None,
        }
    }

    /// A read begins on the die. True when its first sense is not its last, and by how much that
    /// takes longer than tR.
    pub fn begins(&mut self, now: Instant, die: usize, read: Begun) -> (bool, Duration) {
        let aged = self.ageing.look(now, read.at);
        let plan = self.plan(&aged);
        let soft_left = if plan.decodes { 0 } else { self.spec.soft_reads };
        self.note(&plan, read.at.block, soft_left);
        if plan.decodes && self.spec.start == RetryStart::Block {
            self.ageing.note_entry(read.at.block, plan.entry);
        }
        let whole = if plan.short { 1.0 - self.spec.shorten } else { 1.0 };
        let retry = Duration::from_ns((read.sense.as_ns() as f64 * whole).round() as u64);
        let (mut left, mut later) = (plan.retries, Duration::ZERO);
        if self.spec.mode == RetryMode::OnDie {
            later = self.spec.check + (retry + self.spec.check) * u64::from(left);
            left = 0;
        }
        let goes_on = left + soft_left > 0;
        if goes_on {
            let (stage, sense) = (Stage::Sensed, read.sense);
            self.dies[die] = UnderWay { stage, left, first: true, soft_left, sense, retry };
        }
        (goes_on, later)
    }

    /// Counts a read, and the disturbance that its senses are.
    fn note(&mut self, plan: &Plan, block: Block, soft: u32) {
        let (counters, retries) = (&mut self.counters, u64::from(plan.retries));
        counters.reads += 1;
        counters.retried_reads += u64::from(retries > 0 || soft > 0);
        counters.retries += retries;
        counters.retries_max = counters.retries_max.max(plan.retries);
        counters.shortened += if plan.short { retries } else { 0 };
        counters.soft_decodes += u64::from(soft > 0);
        self.ageing.disturb(block, 1 + plan.retries + soft);
        if self.spec.refresh_at > 0 && plan.away >= self.spec.refresh_at {
            self.worn = Some(block);
        }
    }

    /// The way of a page's read.
    fn plan(&self, aged: &Aged) -> Plan {
        let spec = &self.spec;
        let first = if spec.start == RetryStart::Block { aged.entry } else { 0 };
        let reach = self.ageing.reach(aged.floor, spec.correctable);
        if reach.is_some_and(|reach| (aged.shift - f64::from(first)).abs() <= reach) {
            return Plan { retries: 0, decodes: true, short: false, entry: first, away: 0 };
        }
        let short_bits = aged.floor + f64::from(spec.short_errors);
        let short = spec.shorten > 0.0 && short_bits <= f64::from(spec.correctable);
        let entry = reach.and_then(|reach| Self::next_entry(aged.shift, first, reach));
        let away = entry.map_or(spec.entries, |entry| entry.abs_diff(first));
        let decodes = match spec.mode {
            RetryMode::OnDie => reach.is_some(),
            _ => entry.is_some() && away <= spec.entries,
        };
        let away = away.min(spec.entries);
        let retries = if spec.mode == RetryMode::OnDie { 1 } else { away };
        Plan { retries, decodes, short, entry: entry.unwrap_or(first), away }
    }

    /// The entry of the table nearest to `first` that is within `reach` of `shift`.
    fn next_entry(shift: f64, first: u32, reach: f64) -> Option<u32> {
        let first = f64::from(first);
        let entry = if shift > first {
            (shift - reach).ceil().max(first + 1.0)
        } else {
            (shift + reach).floor().min(first - 1.0)
        };
        let holds = entry >= 0.0 && (shift - entry).abs() <= reach;
        holds.then(|| entry.min(f64::from(u32::MAX)) as u32)
    }

    /// The die did what it was told last: what comes now.
    pub fn next(&mut self, die: usize) -> Next {
        let pipelined = self.spec.mode == RetryMode::Pipelined;
        let read = &mut self.dies[die];
        match read.stage {
            Stage::Sensed if pipelined && !read.first && read.left > 0 => {
                read.left -= 1;
                read.stage = if read.is_last() { Stage::LastSensed } else { Stage::Sensed };
                Next::CrossAndSense(read.retry)
            }
            Stage::LastSensed => Next::CrossLast,
            Stage::Sensed | Stage::SoftSensed => {
                read.stage = match read.stage {
                    Stage::Sensed => Stage::Crossed,
                    _ => Stage::SoftCrossed,
                };
                Next::Cross
            }
            Stage::Crossed => {
                read.stage = Stage::Decoded;
                Next::Wait(self.spec.decode)
            }
            Stage::Decoded if read.left > 0 => {
                (read.left, read.first) = (read.left - 1, false);
                read.stage = if read.is_last() { Stage::LastSensed } else { Stage::Sensed };
                match read.is_last() && !pipelined {
                    true => Next::SenseLast(read.retry),
                    false => Next::Sense(read.retry),
                }
            }
            Stage::Decoded | Stage::SoftCrossed if read.soft_left > 0 => {
                (read.stage, read.soft_left) = (Stage::SoftSensed, read.soft_left - 1);
                Next::Sense(read.sense)
            }
            Stage::Decoded | Stage::SoftCrossed => {
                read.stage = Stage::SoftDecoded;
                // Its end is that of the decoding behind the last operation, which keeps no die.
                Next::Wait(self.spec.soft_decode.max(self.spec.decode) - self.spec.decode)
            }
            Stage::SoftDecoded => Next::End,
        }
    }

    /// How long after the last transfer of a pipelined read its die is free.
    pub fn stops_after(&self) -> Duration {
        self.spec.decode + self.spec.reset
    }

    /// A page was sensed whose data stays in the die.
    pub fn sensed_inside(&mut self, block: Block) {
        self.ageing.disturb(block, 1);
    }

    /// True when neither decoder brings the page back: it has too many wrong bits even at the best
    /// voltages, or the table ends before them and there is no soft decoder.
    pub fn is_lost(&mut self, now: Instant, at: PageAt) -> bool {
        let aged = self.ageing.look(now, at);
        if self.spec.soft_reads == 0 {
            return !self.plan(&aged).decodes;
        }
        aged.floor > f64::from(self.spec.correctable.max(self.spec.soft_correctable))
    }

    /// A block whose reads take too many retries, if there is one since this was asked last.
    pub fn take_worn(&mut self) -> Option<Block> {
        self.worn.take()
    }

    /// The block is erased.
    pub fn erased(&mut self, block: Block) {
        self.ageing.erased(block);
    }

    /// The counters.
    pub fn counters(&self) -> RetryCounters {
        self.counters
    }

    /// Bytes of the books.
    pub fn bytes(&self) -> usize {
        self.ageing.bytes() + self.dies.len() * size_of::<UnderWay>()
    }
}

impl Flash {
    /// Reads may not decode at once from now on; pages that were programmed before are as old as
    /// `age` says. Call it before the first operation.
    pub fn retry_reads(&mut self, spec: &RetrySpec, age: &AgeingSpec, seed: u64) {
        let blocks = (0..self.layout.total_blocks()).map(Block);
        let rows: Vec<u16> = blocks.map(|block| self.rows_written(block) as u16).collect();
        let retries = Retries::new(spec, age, &rows, self.layout.dies, seed);
        self.retries = Some(Box::new(retries));
        self.look_for_features();
    }

    pub(super) fn page_at(&self, page: Ppn) -> PageAt {
        let (block, (row, slot)) = (self.layout.block_of(page), self.layout.slot_of(page));
        let pages = self.layout.units_per_row / self.layout.units_per_read;
        let kind = self.timing.kind(&self.layout, page);
        PageAt { block, row, page: row * pages + slot / self.layout.units_per_read, kind }
    }

    /// True when no decoder brings the page back.
    pub fn is_lost(&mut self, now: Instant, page: Ppn) -> bool {
        if self.retries.is_none() {
            return false;
        }
        let at = self.page_at(page);
        !self.timing.is_slc(at.block)
            && self.retries.as_mut().is_some_and(|retries| retries.is_lost(now, at))
    }

    /// A block whose reads take too many retries, if there was one since this was asked last.
    #[inline]
    pub fn take_worn(&mut self) -> Option<Block> {
        self.retries.as_mut()?.take_worn()
    }

    /// Reads that did not decode at once.
    pub fn retry_counters(&self) -> RetryCounters {
        self.retries.as_ref().map_or_else(RetryCounters::default, |retries| retries.counters())
    }

    /// Bytes of the ages of blocks in the simulator.
    pub fn retry_bytes(&self) -> usize {
        self.retries.as_ref().map_or(0, |retries| retries.bytes())
    }
}
