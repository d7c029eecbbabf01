//! The power fails, and comes back.
//!
//! [`Drive::power_cut`] leaves the [`CrashImage`]: cells as they are at that instant
//! ([`crate::flash::Spare`]), erase counters, the journal of deallocations; with power-loss
//! protection also the write buffer, which the capacitor writes to a dump area.
//! [`CrashImage::recover`] does what firmware does: reads journal and dump, scans every spare area,
//! makes the maps ([`crate::ftl::recovery`]), repairs; each on all dies at once, with real
//! operations on a flash of its own, one phase after the other (`repair`). That is the recovery
//! time.
//!
//! The promise: a write whose completion said it was on flash (FUA, write-through), or that a flush
//! followed, or any with power-loss protection, is there afterwards; nothing older than a version
//! that was on flash comes back; and a deallocation holds if a flush followed, or with power-loss
//! protection. Deallocations are a journal: entries of [`JOURNAL_ENTRY`] bytes gather in DRAM, and
//! a flush waits until they are programmed. So does each erase of a collection or a merge: a page
//! that was deallocated counts no more and is not copied, but until its deallocation is on flash
//! its block must stay, or an older version of the page would come back.
//!
//! With checkpoints ([`super::checkpoint`]) the newest whole one is read first, then the journal
//! since, the head of each block, and only those spare areas that it does not vouch for; the maps
//! come out the same.
//!
//! The number of a version is when its page came into the buffer (`Slot::born`); deallocations take
//! numbers from the same counter. A page that was deallocated on its way to flash so keeps the
//! lower number, whenever it lands.
//!
//! The system area (journal, dump, checkpoints, erase counters) is outside of the geometry and does
//! not wear out: its programs take a die and a channel like any other, its erases are not modelled.
//! Not modelled either: firmware's time to boot and to compute, tables in NOR flash, and a failure
//! of the capacitor.

use crate::drive::buffer::slot::State;
use crate::drive::crash::checkpoint::Checkpoints;
use crate::drive::crash::journal::Journal;
use crate::drive::dies::queues::Owner;
use crate::drive::face::command::Stamp;
use crate::drive::features::Scheme;
use crate::drive::map_cache::recovery::MapLeft;
use crate::drive::media::bad_blocks::Faults;
use crate::drive::{Drive, DriveConfig};
use crate::flash::{Flash, Run};
use crate::ftl::log::LogPolicy;
use crate::ftl::recovery::{Evidence, Headers, Rebuilt};
use crate::ftl::{BadBlocks, DataPlacement, Frontiers, FtlKind};
use crate::stats::{Counters, PowerLossReport};
use crate::units::{Bytes, Die, Duration, Instant, Lpn};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Metadata that a drive keeps to recover from a power loss.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RecoverySpec {
    /// The spare area of each page is kept, and deallocations are journalled.
    pub keep: bool,
    /// Bytes that cross the channel for each mapping unit that is scanned.
    pub read: Bytes,
    /// A checkpoint of the map is written each time that so much has been programmed; never without
    /// it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkpoint_every: Option<Bytes>,
    /// The power fails at this time of the run, and comes back at once; never without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cut_at: Option<Duration>,
}

impl Default for RecoverySpec {
    fn default() -> Self {
        Self { keep: false, read: Bytes::new(512), checkpoint_every: None, cut_at: None }
    }
}

impl DriveConfig {
    /// Why such a drive cannot recover from a power loss: the key and the reason.
    pub fn recovery_refusal(&self) -> Option<(&'static str, &'static str)> {
        let log = &self.ftl.log;
        let needs_none = |what| Some(("recovery.checkpoint_every", what));
        match self.ftl.kind {
            FtlKind::LogBlock if self.recovery.checkpoint_every.is_some() => {
                needs_none("none with log blocks: checkpoints are of page mapping")
            }
            _ if self.recovery.checkpoint_every.is_some() && self.ftl.map.cache.get() > 0 => {
                needs_none(
                    "none with ftl.map.cache: translation pages may name copies that a power loss \
                 has made void, and nothing else would name what they are copies of",
                )
            }
            _ if self.ftl.placement != DataPlacement::None => Some((
                "ftl.placement",
                "\"none\": which class an open block had is on no spare area",
            )),
            FtlKind::Page if self.ftl.frontiers == Frontiers::Shared => Some((
                "ftl.frontiers",
                "\"separate\": a GC run that was cut begins again, and in blocks shared with the \
                 host's data it would not get its room back",
            )),
            FtlKind::LogBlock if log.policy == LogPolicy::PageMapping => Some((
                "ftl.log.policy",
                "another than \"page-mapping\": page mapping that recovers is ftl.kind = \"page\"",
            )),
            FtlKind::LogBlock if log.spare_blocks < 2 => Some((
                "ftl.log.spare_blocks",
                "at least 2: a merge that was cut may leave one block half filled",
            )),
            _ => None,
        }
    }
}

/// The state of what is kept while the drive runs.
#[derive(Clone, Debug)]
pub(in crate::drive) struct Kept {
    config: DriveConfig,
    pub journal: Journal,
    /// Blocks whose erase waits for the journal, up to which number.
    pub held: BTreeMap<u32, u64>,
    /// Checkpoints of the map, if they are written.
    pub checkpoints: Option<Checkpoints>,
}

impl Kept {
    fn new(config: DriveConfig, journal: Journal, checkpoints: Option<Checkpoints>) -> Box<Self> {
        Box::new(Self { config, journal, held: BTreeMap::new(), checkpoints })
    }
}

/// A page of the buffer that the capacitor wrote to the dump area.
#[derive(Clone, Copy, Debug)]
pub(in crate::drive) struct Dumped {
    lpn: Lpn,
    mask: u64,
    stamp: Stamp,
    born: u64,
}

/// State of a drive after a power loss.
#[derive(Clone, Debug)]
pub struct CrashImage {
    pub(in crate::drive) at: Instant,
    pub(in crate::drive) config: DriveConfig,
    logical: u32,
    pub(in crate::drive) flash: Flash,
    pub(in crate::drive) headers: Headers,
    pub(in crate::drive) erases: Vec<u32>,
    bad: BadBlocks,
    faults: Option<Box<Faults>>,
    map: Option<MapLeft>,
    trims: BTreeMap<u32, u64>,
    pub(in crate::drive) journal_pages: u64,
    next_die: Die,
    pub(in crate::drive) checkpoints: Option<Checkpoints>,
    pub(in crate::drive) dump: Vec<Dumped>,
    pages_lost: u32,
    trims_lost: u32,
    counters: Counters,
    least_free: u32,
}

/// A drive that came back.
#[derive(Clone, Debug)]
pub struct Recovered {
    /// The drive, without observers; [`Drive::power_up`] lets it go on.
    pub drive: Drive,
    /// When it takes commands again, if the power came back at once.
    pub ready: Instant,
    /// How it went; what its host lost is not in it.
    pub report: PowerLossReport,
}

impl Drive {
    /// Keeps from now on what a recovery needs. The settings have no
    /// [`DriveConfig::recovery_refusal`], and there is neither parity nor scrubbing.
    pub(in crate::drive) fn keep_for_recovery(&mut self, config: &DriveConfig) {
        if !config.recovery.keep {
            return;
        }
        assert!(
            config.recovery_refusal().is_none()
                && !matches!(self.scheme, Scheme::ParityInPlace | Scheme::Superblock)
        );
        self.flash.keep_spares(self.ftl.spares());
        self.ftl.keep_headers();
        let checkpoints = config.recovery.checkpoint_every.map(Checkpoints::new);
        self.kept = Some(Kept::new(config.clone(), Journal::default(), checkpoints));
        self.begin_with_checkpoint();
    }

    /// True when the drive can recover from a power loss.
    pub fn recovers(&self) -> bool {
        self.kept.is_some()
    }

    /// The power fails at `now`; everything before `now` has been done ([`Drive::advance_before`]).
    pub fn power_cut(mut self, now: Instant) -> CrashImage {
        let counters = Counters { suspended: self.counters.suspended, ..self.counters() };
        let mut kept = self.kept.take().expect("the drive keeps what a recovery needs");
        let merges = &self.merges;
        let ops = &self.ops;
        self.flash.power_off(now, |op| match (ops[op].owner, merges) {
            (Owner::MergeRun { lane }, Some(merges)) => merges.run_of(lane, self.ftl.layout()),
            _ => Run::default(),
        });
        let saved = self.spec.power_loss_protection;
        let in_use = self.buffer.each_slot().filter(|slot| {
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
        let row_bytes = u64::from(self.flash.layout.unit_bytes * self.flash.layout.units_per_row);
        let checkpoints = kept.checkpoints.take().map(|checkpoints| checkpoints.cut(row_bytes));
        let in_dram = kept.journal.in_dram();
        let Journal { durable: mut trims, pages, next_die, .. } = kept.journal;
        let (mut pages_lost, mut trims_lost) = (dump.len() as u32, in_dram.len() as u32);
        if saved {
            trims.extend(in_dram);
            (pages_lost, trims_lost) = (0, 0);
        } else {
            dump.clear();
        }
        CrashImage {
            at: now,
            least_free: self.ftl.least_free(),
            logical: self.ftl.logical(),
            headers: self.ftl.headers().expect("they are kept").clone(),
            erases: self.ftl.block_erases().to_vec(),
            bad: self.ftl.bad_block_table(),
            faults: self.faults.map(|faults| Box::new(faults.after_power_loss())),
            map: self.dftl.as_ref().map(|dftl| dftl.left()),
            flash: self.flash,
            config: kept.config,
            journal_pages: pages,
            trims,
            next_die,
            checkpoints,
            dump,
            pages_lost,
            trims_lost,
            counters,
        }
    }

    /// The version of a page that a read would return now (0: none), as far as it can be told
    /// without one.
    pub fn version_of(&self, lpn: Lpn) -> u32 {
        let left = self.left_after_power_loss(lpn);
        match self
            .buffer
            .find(lpn)
            .map(|slot| (self.buffer.is_whole(slot), self.buffer.slot(slot).stamp))
        {
            Some((true, stamp)) => stamp.version,
            Some((false, stamp)) => crate::drive::buffer::slots::over(stamp, left),
            None => left,
        }
    }

    /// The drive is back: saved pages leave for flash, and pools that need space are collected.
    pub fn power_up(&mut self, now: Instant) {
        self.count_spare(now);
        self.owe_stale(now);
        self.begin_checkpoint(now);
        for pool in self.ftl.each_pool() {
            if self.scheme != Scheme::LogBlocks {
                self.space_used(now, pool);
            }
        }
        self.take_writes(now);
    }
}

impl CrashImage {
    /// When the power failed.
    pub fn at(&self) -> Instant {
        self.at
    }

    /// The cells.
    pub fn flash(&self) -> &Flash {
        &self.flash
    }

    /// The image with no checkpoint to be found: everything is scanned.
    pub fn without_checkpoints(self) -> Self {
        Self { checkpoints: None, ..self }
    }

    /// The maps from what is on flash.
    pub(in crate::drive) fn rebuild(&self) -> Rebuilt {
        let fails = self.config.faults.fails();
        let fresh =
            self.config.map_without_bad_blocks(self.logical).with_bad_block_table(&self.bad, fails);
        let out = fresh.out_of_service();
        let (flash, headers, erases, trims) =
            (&self.flash, &self.headers, &self.erases[..], &self.trims);
        let checkpoint =
            self.checkpoints.as_ref().and_then(|all| all.newest()).map(|(newest, ..)| newest);
        fresh.rebuild(&Evidence { flash, headers, erases, out: &out, trims, checkpoint })
    }

    /// Brings the drive back.
    pub fn recover(mut self) -> Recovered {
        let Rebuilt { mut map, repairs, newest, torn_rows, illegible_blocks, merges, reads } =
            self.rebuild();
        let mut report = PowerLossReport {
            cut_ns: self.at.as_ns(),
            torn_rows: torn_rows.into(),
            illegible_blocks: illegible_blocks.into(),
            merges: merges.into(),
            pages_saved: self.dump.len() as u64,
            pages_lost: self.pages_lost.into(),
            trims_lost: self.trims_lost.into(),
            ..PowerLossReport::default()
        };
        let time = self.read(&map, reads.as_ref(), &mut report)
            + self.repair(&repairs, Instant::NEVER, &mut report);
        report.recovery_us = time.as_ns().div_ceil(1000);
        let config = &self.config;
        map.begin_run(&config.ftl, &config.gc, &config.device, config.seed);
        map.has_had_free(self.least_free);
        let mut drive = Drive::assemble(&config.drive, &config.gc, self.flash, map);
        // Those of the flash begin anew.
        (drive.counters, drive.faults) = (self.counters, self.faults);
        drive.keep_map_on_flash(&config.ftl.map);
        config.fit_out(&mut drive);
        report.map_stale = self.map.map_or(0, |left| drive.compare_map(left));
        let numbers = self.dump.iter().map(|page| page.born).chain([newest]).max().unwrap_or(0);
        drive.buffer.go_on_from(numbers);
        for page in &self.dump {
            drive.buffer.insert(page.lpn, page.mask, page.stamp);
        }
        let journal = Journal::again(self.trims, self.journal_pages, self.next_die);
        let ready = self.at + time;
        drive.kept = Some(Kept::new(self.config, journal, self.checkpoints));
        Recovered { drive, ready, report }
    }
}
