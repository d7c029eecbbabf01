//! Whether garbage collection has room to work: the drive that is truly full is refused here, not
//! met at run time.

use super::{Check, require};
use manx_core::drive::precondition::AgedLane;
use manx_core::drive::{PreconditionSpec, PreconditionState, RainSpec};
use manx_core::flash::{Capacity, Device, lanes, program_unit};
use manx_core::ftl::{
    DataPlacement, Frontiers, FtlKind, FtlSpec, GcMode, GcSpec, OpenBlocks, VictimUnit, Watermark,
};

/// Blocks that a lane cannot do without: the open ones, and those that only copies may open.
struct Blocks {
    held: u64,
    /// Of those, the ones that are open while the others are collected.
    open: u64,
    /// The owner of these pages, in words.
    who: String,
}

impl Blocks {
    fn of(ftl: &FtlSpec, gc: &GcSpec) -> Self {
        if ftl.placement == DataPlacement::None {
            return Self {
                held: 3,
                open: 2,
                who: "3 blocks for the host, GC and a reserve".to_string(),
            };
        }
        // Copies that take no time share no block with the host.
        let frontiers = if gc.mode == GcMode::Nogc { Frontiers::Separate } else { ftl.frontiers };
        let OpenBlocks { host, open, reserve, .. } =
            OpenBlocks::of(&FtlSpec { frontiers, ..ftl.clone() });
        // A lane of a wider unit that is ahead of the others opens a second block.
        let ahead = if gc.unit == VictimUnit::Block { 0 } else { host };
        let (open, reserve) = (u64::from(open + ahead), u64::from(reserve));
        let placement = ftl.placement.name();
        let who = format!(
            "{open} open blocks and a reserve of {reserve} for ftl.placement = \"{placement}\""
        );
        Self { held: open + reserve, open, who }
    }
}

/// One lane in map units.
struct LaneSpace {
    raw: u64,
    /// Of that, the static blocks of a cache with one bit a cell.
    cache: u64,
    /// Data, and with it the parity, and the map where it lies on flash: what can be valid at once.
    user: u64,
    /// Of that, the map.
    map: u64,
    block: u64,
    /// A program unit: what reclaiming a block frees at the least.
    row: u64,
}

impl LaneSpace {
    fn of(device: &Device, ftl: &FtlSpec) -> Self {
        let map = &ftl.map;
        let (capacity, unit) = (Capacity::of(device), device.geometry.map_unit.get());
        let per_lane = |bytes: u64| bytes / unit / lanes(device) as u64;
        let row = program_unit(device) as u64 / unit;
        let block = row * u64::from(device.geometry.pages / device.feature.program_pages);
        let map = map.pages(capacity.user.get() / unit, unit).div_ceil(lanes(device) as u64);
        let statics = match ftl.placement {
            DataPlacement::Pslc => u64::from(ftl.pslc.static_blocks),
            _ => 0,
        };
        Self {
            raw: per_lane(capacity.raw.get()),
            cache: statics * block,
            user: per_lane(capacity.user.get()) + map,
            map,
            block,
            row,
        }
    }

    fn blocks(&self, units: u64) -> f64 {
        units as f64 / self.block as f64
    }
}

/// The space beside the user's pages must hold the reserve of the critical watermark and the open
/// blocks, and reach the low watermark.
pub(super) fn enough(device: &Device, ftl: &FtlSpec, gc: &GcSpec, rain: &RainSpec) -> Check {
    // A log-block FTL counts its own blocks.
    if ftl.kind == FtlKind::LogBlock {
        return Ok(());
    }
    let Blocks { held, open, who } = Blocks::of(ftl, gc);
    let holders = match rain.width > 0 {
        true => "data and parity take",
        false if ftl.map.is_cached() => "data and their map take",
        false => "the host sees",
    };
    let lane = LaneSpace::of(device, ftl);
    let LaneSpace { raw, cache, user, block, row, map } = lane;
    require(user > map, "device.op", device.op, "the host would see nothing; lower it")?;
    let left = raw.saturating_sub(user + cache);
    let blocks = device.geometry.blocks;
    let (soft, hard) = (gc.soft.share_of(blocks), gc.hard.share_of(blocks));
    let needed = (hard * raw as f64).ceil() as u64 + held * block;
    let beside = match cache {
        0 => String::new(),
        _ => format!(", and ftl.pslc.static_blocks {cache}"),
    };
    let message = format!(
        "{holders} {user} mapping units of {raw} in each lane{beside}; {:.2} blocks are left and \
         gc needs more than {:.2} (gc.hard = {}, {who}); raise it or \
         device.geometry.blocks",
        lane.blocks(left),
        lane.blocks(needed),
        mark(gc.hard),
    );
    require(left > needed, "device.op", device.op, message)?;

    // When every block holds more than it can without its last program unit, copying one frees
    // nothing.
    let full = (raw - cache - held * block) / block * (block - row);
    let message = format!(
        "{holders} {user} mapping units in each lane, but reclaiming frees whole program units of \
         {row} only: from {full} on every block of {block} may be too full to free one; raise it, \
         or the number of program units in a block"
    );
    require(user < full, "device.op", device.op, message)?;

    let free = left - open * block;
    let attainable = free as f64 / raw as f64;
    let message = format!(
        "below {attainable:.4}, the free share that collecting can reach: {raw} mapping units in \
         each lane{beside} - {user} {holders} - {open} open blocks of {block} = {free}; \
         otherwise it would collect for ever; lower it or raise device.op"
    );
    require(attainable > soft, "gc.soft", gc.soft, message)
}

/// A mark in words.
fn mark(mark: Watermark) -> String {
    match mark {
        Watermark::Share(share) => format!("{share} of the raw pages"),
        Watermark::Blocks(_) => mark.to_string(),
    }
}

/// An aged drive: half of what is used is valid, and that half is the host's.
pub(super) fn aged(
    precondition: &PreconditionSpec,
    device: &Device,
    ftl: &FtlSpec,
    gc: &GcSpec,
) -> Check {
    if precondition.state != PreconditionState::Aged {
        return Ok(());
    }
    let (lane, ratio) = (LaneSpace::of(device, ftl), precondition.ratio);
    let key = "precondition.ratio";
    let rows = ((lane.block / lane.row) as u32, lane.row as u32);
    let aged = AgedLane::of(lane.raw as u32, rows, ratio);
    let valid = (ratio / 2.0 * lane.raw as f64).ceil() as u64;
    let user = lane.user - lane.map;
    let message = format!(
        "half of it is valid data, {valid} mapping units a lane, of which the host sees {user}"
    );
    require(valid <= user, key, ratio, message)?;
    let used = u64::from(aged.half) + u64::from(aged.stale) + lane.map + lane.cache;
    let free = lane.raw.saturating_sub(used);
    let Blocks { held, who, .. } = Blocks::of(ftl, gc);
    let why = if ftl.placement == DataPlacement::None { "host, GC, reserve" } else { &who };
    let message = format!(
        "it leaves {:.2} free blocks in each lane, and {held} are needed to start ({why})",
        lane.blocks(free)
    );
    require(free >= held * lane.block, key, ratio, message)
}
