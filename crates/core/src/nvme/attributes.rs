//! The promises of a drive: the static numbers of Identify and of log 0Ah, from its geometry and
//! times.
//!
//! NVMe asks for the worst case over the drive's life and leaves the rest to the vendor (Base 2.1,
//! 8.1.18.2). Here:
//!
//! * the **reserve** is what the host can write from the soft mark, below which collection begins,
//!   to the hard mark, at which it is forced;
//! * **DTWIN Time Maximum** is how long the reserve lasts if every die programs without a pause;
//! * **NDWIN Time Minimum Low** is one collection of a block whose pages are all valid, alone on
//!   its die;
//! * **NDWIN Time Minimum High** reclaims the reserve, every die at once, from victims half of
//!   whose pages are valid: that half is assumed, and drives at steady state with little spare
//!   space are worse.
//!
//! Trap: NVMe's times are whole milliseconds. They are rounded to the safe side: a maximum down, a
//! minimum up.

use crate::drive::{Drive, DriveSpec};
use crate::ftl::GcSpec;
use crate::units::Duration;

/// The static numbers of a drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attributes {
    /// Sectors of the namespace.
    pub sectors: u64,
    /// Sectors of a map unit: smaller writes are read-modify-writes.
    pub map_unit_sectors: u32,
    /// The write buffer loses its pages with the power.
    pub is_cache_volatile: bool,
    /// One 4 KiB read alone on an idle drive.
    pub read_typical: Duration,
    /// Bytes of one program operation.
    pub optimal_write: u32,
    /// 4 KiB reads in a deterministic window.
    pub dtwin_reads: u64,
    /// Writes of the optimal size in a deterministic window.
    pub dtwin_writes: u64,
    /// The longest deterministic window that the host may ask for, in whole milliseconds.
    pub dtwin_time_ms: u64,
    /// The non-deterministic window after the longest deterministic one.
    pub ndwin_high_ms: u64,
    /// The shortest non-deterministic window.
    pub ndwin_low_ms: u64,
}

/// The unit in which log 0Ah counts reads.
pub(super) const READ_BYTES: u64 = 4096;
const MS: u64 = 1_000_000;

impl Attributes {
    /// The numbers of `drive`, which was made with these settings.
    pub fn of(drive: &Drive, spec: &DriveSpec, gc: &GcSpec) -> Self {
        let (layout, timing) = (&drive.flash().layout, drive.flash().timing());
        let (read, program) = timing.means();
        let row_sectors = layout.units_per_row * layout.unit_sectors;
        let row_bytes = u64::from(row_sectors) * 512;

        let share = gc.soft.share_of(layout.blocks) - gc.hard.share_of(layout.blocks);
        let reserve_units = (share.max(0.0) * f64::from(layout.total_units())) as u64;
        let reserve_rows = (reserve_units / u64::from(layout.units_per_row)).max(1);
        let lanes = u64::from(layout.lanes);
        let dtwin = program.as_ns() * reserve_rows / u64::from(layout.dies);

        let row_moves = timing.command + timing.transfer(row_sectors);
        let reads_per_row = u64::from((layout.units_per_row / layout.units_per_read).max(1));
        let copy = (read + timing.command) * reads_per_row + row_moves + row_moves + program;
        let block = copy * u64::from(layout.rows) + timing.erase();
        let blocks = reserve_rows.div_ceil(u64::from(layout.rows) * lanes);
        let half_valid = copy * u64::from(layout.rows.div_ceil(2)) + timing.erase();
        let per_die = u64::from(layout.lanes_per_die);

        let alone = spec.controller
            + timing.command
            + read
            + timing.transfer(8)
            + spec.link.time_for(READ_BYTES);
        let dtwin_time_ms = (dtwin / MS).max(1);
        let reads_a_die = dtwin_time_ms * MS / alone.as_ns().max(1);
        Self {
            sectors: drive.sectors(),
            map_unit_sectors: layout.unit_sectors,
            is_cache_volatile: !spec.power_loss_protection && !spec.write_through,
            read_typical: alone,
            optimal_write: row_bytes as u32,
            dtwin_reads: (reads_a_die * u64::from(layout.dies)).max(1),
            dtwin_writes: reserve_rows,
            dtwin_time_ms,
            ndwin_high_ms: (half_valid * (2 * blocks * per_die)).as_ns().div_ceil(MS),
            ndwin_low_ms: block.as_ns().div_ceil(MS),
        }
    }
}
