//! The power fails, and comes back.
//!
//! [`Drive::power_cut`] leaves the [`Remains`]: cells as they are at that instant ([`crate::flash::Spare`]), erase
//! counters, the journal of deallocations; with power-loss protection also the write buffer, which the capacitor writes
//! to a dump area. [`Remains::recover`] does what firmware does: reads journal and dump, scans the spare area of every
//! page, makes the maps ([`crate::ftl::recovery`]), repairs; each on all dies at once, with real operations on a flash
//! of its own, one phase after the other (`repair`). That is the recovery time.
//!
//! What is promised: a write whose completion said it was on flash (FUA, write-through), or that a flush followed, or
//! any with power-loss protection, is there afterwards; nothing older than a version that was on flash comes back; and
//! a deallocation holds if a flush followed, or with power-loss protection. Deallocations are a journal: entries of
//! [`JOURNAL_ENTRY`] bytes gather in DRAM, and a flush waits until they are programmed. So does each erase of a
//! collection or a merge: a page that was deallocated counts no more and is not copied, but until its deallocation is
//! on flash its block must stay, or an older version of the page would come back.
//!
//! The number of a version is when its page came into the buffer (`Slot::born`); deallocations take numbers from the
//! same counter. A page that was deallocated on its way to flash so keeps the lower number, whenever it lands.
//!
//! The system area (journal, dump, erase counters) is outside of the geometry and does not wear out: its programs take
//! a die and a channel like any other, its erases are not modelled. Not modelled either: firmware's time to boot and to
//! compute, tables in NOR flash, and a failure of the capacitor.

use super::buffer::State;
use super::command::Stamp;
use super::dftl_recovery::MapLeft;
use super::faults::Faults;
use super::journal::Journal;
use super::queues::Owner;
use super::{Counters, Drive, DriveSpec};
use crate::flash::{Device, FaultSpec, Flash, Run};
use crate::ftl::log::LogPolicy;
use crate::ftl::recovery::{Evidence, Headers, Rebuilt};
use crate::ftl::{BadBlocks, DataPlacement, Frontiers, FtlKind, FtlSpec, GcSpec, PageMap};
use crate::units::{Bytes, Duration, Instant, Lpn};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What is kept so that a drive can recover from a power loss.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RecoverySpec {
    /// The spare area of each page is kept, and deallocations are journalled.
    pub keep: bool,
    /// What crosses the channel of each map unit that is scanned.
    pub read: Bytes,
    /// The power fails at this time of the run, and comes back at once; never without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cut_at: Option<Duration>,
}

impl Default for RecoverySpec {
    fn default() -> Self {
        Self { keep: false, read: Bytes::new(512), cut_at: None }
    }
}

/// What a drive is made of again.
#[derive(Clone, Debug)]
pub struct Blueprint {
    /// The device.
    pub device: Device,
    /// Placement.
    pub ftl: FtlSpec,
    /// Reclaiming.
    pub gc: GcSpec,
    /// Which blocks are bad, and go bad.
    pub faults: FaultSpec,
    /// What is kept.
    pub recovery: RecoverySpec,
    /// The root seed.
    pub seed: u64,
}

impl Blueprint {
    /// Why such a drive cannot recover from a power loss: the key and the reason.
    pub fn refusal(&self) -> Option<(&'static str, &'static str)> {
        let log = &self.ftl.log;
        match self.ftl.kind {
            _ if self.ftl.placement != DataPlacement::None => {
                Some(("ftl.placement", "\"none\": which class an open block had is on no spare area"))
            }
            FtlKind::Page if self.ftl.frontiers == Frontiers::Shared => Some((
                "ftl.frontiers",
                "\"separate\": a collection that was cut begins again, and in blocks shared with the host's data it \
                 would not get its room back",
            )),
            FtlKind::LogBlock if !matches!(log.policy, LogPolicy::Fast | LogPolicy::Faster) => {
                Some(("ftl.log.policy", "\"fast\" or \"faster\": recovery is made for these"))
            }
            FtlKind::LogBlock if log.spare_blocks < 2 => {
                Some(("ftl.log.spare_blocks", "at least 2: a merge that was cut may leave one block half filled"))
            }
            _ => None,
        }
    }
}

/// The state of what is kept while the drive runs.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    blueprint: Blueprint,
    pub journal: Journal,
    /// Blocks whose erase waits for the journal, up to which number.
    pub held: BTreeMap<u32, u64>,
}

impl Kept {
    fn new(blueprint: Blueprint, journal: Journal) -> Box<Self> {
        Box::new(Self { blueprint, journal, held: BTreeMap::new() })
    }
}

/// A page of the buffer that the capacitor wrote to the dump area.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dumped {
    lpn: Lpn,
    mask: u64,
    stamp: Stamp,
    born: u64,
}

/// What a power loss leaves of a drive.
#[derive(Clone, Debug)]
pub struct Remains {
    pub(super) at: Instant,
    pub(super) blueprint: Blueprint,
    spec: DriveSpec,
    logical: u32,
    pub(super) flash: Flash,
    pub(super) headers: Headers,
    pub(super) erases: Vec<u32>,
    bad: BadBlocks,
    faults: Option<Box<Faults>>,
    map: Option<MapLeft>,
    trims: BTreeMap<u32, u64>,
    pub(super) journal_pages: u64,
    next_die: u32,
    pub(super) dump: Vec<Dumped>,
    pages_lost: u32,
    trims_lost: u32,
    counters: Counters,
}

/// How a recovery went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RecoveryReport {
    /// When the power failed.
    pub cut_ns: u64,
    /// From the power's return to the first command.
    pub time_us: u64,
    /// Of that, reading the journal and the dump.
    pub journal_us: u64,
    /// Scanning.
    pub scan_us: u64,
    /// Reading the translation pages, where the map lies on flash.
    pub map_us: u64,
    /// Repairs: erases, copies.
    pub repair_us: u64,
    /// Blocks that hold something.
    pub blocks_scanned: u64,
    /// Array reads of the scan.
    pub reads: u64,
    /// Translation pages read.
    pub map_reads: u64,
    /// Translation pages that no longer said where all their pages lie.
    pub map_stale: u64,
    /// Illegible rows: their program was cut, or had failed.
    pub torn_rows: u64,
    /// Blocks without a legible page: their erase was cut, or their first program.
    pub illegible_blocks: u64,
    /// Blocks erased.
    pub erases: u64,
    /// Logical blocks merged (log blocks).
    pub merges: u64,
    /// Map units copied.
    pub copies: u64,
    /// Pages of the write buffer that were lost: acknowledged ones that no flush had followed, and unacknowledged ones.
    pub pages_lost: u64,
    /// Deallocations that were lost in the same way.
    pub trims_lost: u64,
    /// Pages of the write buffer that the capacitor saved.
    pub pages_saved: u64,
}

/// A drive that came back.
#[derive(Clone, Debug)]
pub struct Recovered {
    /// The drive. What [`Drive::new`] leaves to others (suspension, books) is left to them here, too; then
    /// [`Drive::power_up`].
    pub drive: Drive,
    /// When it takes commands again, if the power came back at once.
    pub ready: Instant,
    /// How it went.
    pub report: RecoveryReport,
}

impl Drive {
    /// Keeps what a recovery needs from now on. Call it before the first command; the blueprint has no
    /// [`Blueprint::refusal`], and there is neither parity nor scrubbing.
    pub fn keep_for_recovery(&mut self, blueprint: &Blueprint) {
        if !blueprint.recovery.keep {
            return;
        }
        assert!(blueprint.refusal().is_none() && self.rain.is_none() && self.superblock.is_none());
        self.flash.keep_spares(self.ftl.spares());
        self.ftl.keep_headers();
        self.kept = Some(Kept::new(blueprint.clone(), Journal::default()));
    }

    /// True when the drive can recover from a power loss.
    pub fn recovers(&self) -> bool {
        self.kept.is_some()
    }

    /// The power fails at `now`; everything before `now` has been done ([`Drive::advance_before`]).
    pub fn power_cut(mut self, now: Instant) -> Remains {
        let counters = Counters { suspended: self.counters.suspended, ..self.counters() };
        let mut kept = self.kept.take().expect("the drive keeps what a recovery needs");
        let merges = &self.merges;
        let ops = &self.ops;
        self.flash.power_off(now, |op| match (ops[op].owner, merges) {
            (Owner::MergeRun { lane }, Some(merges)) => merges.run_of(lane, self.ftl.layout()),
            _ => Run::default(),
        });
        let saved = self.spec.power_loss_protection;
        let in_use = (0..self.buffer.slots()).filter(|slot| {
            let s = self.buffer.slot(*slot);
            s.state != State::Free && !s.dropped && self.buffer.find(s.lpn) == Some(*slot)
        });
        let mut dump: Vec<Dumped> = in_use
            .map(|slot| {
                let s = self.buffer.slot(slot);
                Dumped { lpn: s.lpn, mask: s.mask, stamp: s.stamp, born: s.born }
            })
            .collect();
        dump.sort_unstable_by_key(|page| page.born);
        let in_dram = kept.journal.in_dram();
        let Journal { durable: mut trims, pages, next_die, .. } = kept.journal;
        let (mut pages_lost, mut trims_lost) = (dump.len() as u32, in_dram.len() as u32);
        if saved {
            trims.extend(in_dram);
            (pages_lost, trims_lost) = (0, 0);
        } else {
            dump.clear();
        }
        Remains {
            at: now,
            logical: self.ftl.logical(),
            headers: self.ftl.headers().expect("they are kept").clone(),
            erases: self.ftl.block_erases().to_vec(),
            bad: self.ftl.bad_block_table(),
            faults: self.faults.map(|faults| Box::new(faults.after_power_loss())),
            map: self.dftl.as_ref().map(|dftl| dftl.left()),
            flash: self.flash,
            spec: self.spec,
            blueprint: kept.blueprint,
            journal_pages: pages,
            trims,
            next_die,
            dump,
            pages_lost,
            trims_lost,
            counters,
        }
    }

    /// The version of a page that a read would return now (0: none), as far as it can be told without one.
    pub fn version_of(&self, lpn: Lpn) -> u32 {
        let left = self.left_after_power_loss(lpn);
        match self.buffer.find(lpn).map(|slot| (self.buffer.is_whole(slot), self.buffer.slot(slot).stamp)) {
            Some((true, stamp)) => stamp.version,
            Some((false, stamp)) => super::buffer::over(stamp, left),
            None => left,
        }
    }

    /// The drive is back: saved pages leave for flash, and pools that need space are collected.
    pub fn power_up(&mut self, now: Instant) {
        if self.faults.is_some() {
            self.count_spare(now);
        }
        self.owe_stale(now);
        for pool in 0..self.ftl.pools() {
            if self.merges.is_none() {
                self.space_used(now, pool);
            }
        }
        self.take_writes(now);
    }
}

impl Remains {
    /// When the power failed.
    pub fn at(&self) -> Instant {
        self.at
    }

    /// The cells.
    pub fn flash(&self) -> &Flash {
        &self.flash
    }

    /// The maps from what is on flash.
    pub(super) fn rebuild(&self) -> Rebuilt {
        let Blueprint { device, ftl, gc, faults, seed, .. } = &self.blueprint;
        let mut fresh = PageMap::new(device, ftl, gc, self.logical, *seed).with_translation_pages(&ftl.map);
        if ftl.kind == FtlKind::LogBlock {
            fresh = fresh.with_log_blocks(&ftl.log).expect("the drive was made of it before");
        }
        let fresh = fresh.with_bad_block_table(&self.bad, faults.fails());
        let out = fresh.out_of_service();
        let (flash, headers, erases, trims) = (&self.flash, &self.headers, &self.erases[..], &self.trims);
        fresh.rebuild(&Evidence { flash, headers, erases, out: &out, trims })
    }

    /// Brings the drive back.
    pub fn recover(mut self) -> Recovered {
        let Rebuilt { mut map, repairs, newest, torn_rows, illegible_blocks, merges } = self.rebuild();
        let mut report = RecoveryReport {
            cut_ns: self.at.as_ns(),
            torn_rows: torn_rows.into(),
            illegible_blocks: illegible_blocks.into(),
            merges: merges.into(),
            pages_saved: self.dump.len() as u64,
            pages_lost: self.pages_lost.into(),
            trims_lost: self.trims_lost.into(),
            ..RecoveryReport::default()
        };
        let time = self.read(&map, &mut report) + self.repair(&repairs, Instant::NEVER, &mut report);
        report.time_us = time.as_ns().div_ceil(1000);
        let Blueprint { device, ftl, gc, seed, .. } = &self.blueprint;
        map.begin_run(ftl, gc, device, *seed);
        let mut drive = Drive::assemble(&self.spec, gc, self.flash, map);
        // Those of the flash begin anew.
        (drive.counters, drive.faults) = (self.counters, self.faults);
        drive.keep_map_on_flash(&ftl.map);
        report.map_stale = self.map.map_or(0, |left| drive.compare_map(left));
        let numbers = self.dump.iter().map(|page| page.born).chain([newest]).max().unwrap_or(0);
        drive.buffer.go_on_from(numbers);
        for page in &self.dump {
            drive.buffer.insert(page.lpn, page.mask, page.stamp);
        }
        let journal = Journal::again(self.trims, self.journal_pages, self.next_die);
        let ready = self.at + time;
        drive.kept = Some(Kept::new(self.blueprint, journal));
        Recovered { drive, ready, report }
    }
}
