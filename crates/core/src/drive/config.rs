//! A drive from its settings, in one call.
//!
//! [`DriveConfig`] has everything that one drive is made of; `Scenario::drive_config` of the crate
//! `manx-config` gives one whose settings are validated (an example is there). The map comes first,
//! since preconditioning writes to it without a drive.

use super::{Drive, DriveSpec, EraseSpec, ProgramSpec, RainSpec, RecoverySpec, ScrubSpec, Update};
use crate::flash::{AgeingSpec, Capacity, Device, FaultSpec, Rating, RetrySpec};
use crate::ftl::{FtlKind, FtlSpec, GcSpec, PageMap};

/// Every setting of one drive.
#[derive(Clone, Debug, PartialEq)]
pub struct DriveConfig {
    /// The device.
    pub device: Device,
    /// Placement, log blocks, the cached part of the map.
    pub ftl: FtlSpec,
    /// Garbage collection.
    pub gc: GcSpec,
    /// Write buffer, scheduler, link.
    pub drive: DriveSpec,
    /// Parity inside the drive.
    pub rain: RainSpec,
    /// Erases that reads suspend.
    pub erase: EraseSpec,
    /// Programs that reads suspend.
    pub program: ProgramSpec,
    /// Bit errors and scrubbing.
    pub scrub: ScrubSpec,
    /// Reads that do not decode at once.
    pub retry: RetrySpec,
    /// The age of the flash.
    pub ageing: AgeingSpec,
    /// Bad blocks.
    pub faults: FaultSpec,
    /// Data kept on flash and in DRAM for a recovery from a power loss.
    pub recovery: RecoverySpec,
    /// The root seed.
    pub seed: u64,
}

impl DriveConfig {
    /// `device` with every other setting at its default, and seed 1.
    pub fn new(device: Device) -> Self {
        Self {
            device,
            ftl: FtlSpec::default(),
            gc: GcSpec::default(),
            drive: DriveSpec::default(),
            rain: RainSpec::default(),
            erase: EraseSpec::default(),
            program: ProgramSpec::default(),
            scrub: ScrubSpec::default(),
            retry: RetrySpec::default(),
            ageing: AgeingSpec::default(),
            faults: FaultSpec::default(),
            recovery: RecoverySpec::default(),
            seed: 1,
        }
    }

    /// Mapping units that the map covers: user data, and parity that has addresses.
    pub fn mapped_units(&self) -> u32 {
        (Capacity::of(&self.device).user.get() / self.device.geometry.map_unit.get()) as u32
    }

    /// The map of a drive that was never written; factory bad blocks are out of service.
    ///
    /// # Panics
    /// Where settings that validation refuses leave log blocks without room.
    pub fn empty_map(&self) -> PageMap {
        self.empty_map_of(self.mapped_units())
    }

    /// As [`DriveConfig::empty_map`], over so many mapping units.
    pub fn empty_map_of(&self, units: u32) -> PageMap {
        self.map_without_bad_blocks(units).with_bad_blocks(&self.faults, self.seed)
    }

    pub(in crate::drive) fn map_without_bad_blocks(&self, units: u32) -> PageMap {
        let Self { device, ftl, gc, rain, seed, .. } = self;
        let map = PageMap::new(device, ftl, gc, units, *seed).with_translation_pages(&ftl.map);
        match (ftl.kind, rain.update) {
            (FtlKind::LogBlock, _) => {
                map.with_log_blocks(ftl).expect("validated settings leave room")
            }
            (FtlKind::Page, Update::InPlace) => map.with_parity(ftl, device, rain.width),
            (FtlKind::Page, Update::Superblock) => {
                map.with_superblock_parity(ftl, device, rain.width)
            }
        }
    }

    /// The drive, holding `map`'s state. With `with_content` every page carries its version, and
    /// every mapped page starts at version 1.
    pub fn build(&self, mut map: PageMap, with_content: bool) -> Drive {
        map.begin_run(&self.ftl, &self.gc, &self.device, self.seed);
        map.count_from_now();
        let mut drive = Drive::new(&self.device, &self.drive, &self.gc, map, with_content);
        drive.keep_parity(&self.rain);
        drive.keep_map_on_flash(&self.ftl.map);
        self.fit_out(&mut drive);
        drive.fail_blocks(&self.faults, self.seed);
        drive.keep_for_recovery(self);
        drive
    }

    /// Adds the parts that hold no state of the map: the same for a new drive and for one that came
    /// back.
    pub(in crate::drive) fn fit_out(&self, drive: &mut Drive) {
        drive.rating = Rating::of(&self.device, &self.ageing);
        drive.suspend_erases(&self.erase);
        drive.suspend_programs(&self.program);
        drive.vary_erases(&self.erase, self.seed);
        drive.hold_erases(&self.erase);
        drive.scrub(&self.scrub, self.seed);
        drive.retry_reads(&self.retry, &self.ageing, self.seed);
        drive.limit_power(&self.drive.power);
        drive.fold_cache(&self.device, &self.ftl);
    }
}
