//! The translation layer by itself: against closed forms, against a naive model, and across
//! snapshots.

mod classes;
mod placement;
mod rain;
mod reference;
mod snapshots;
mod superblock;
mod victims;
mod write_amplification;

use super::timeless::Writer;
use super::{FtlSpec, GcSpec, PageMap};
use crate::flash::Device;
use crate::sim::Rng;
use crate::units::Lpn;

/// A device of one channel and one die whose times do not matter.
fn device(blocks: u32, pages: u32) -> Device {
    let mut device = crate::flash::tests::device();
    (device.geometry.channels, device.geometry.ways) = (1, 1);
    (device.geometry.blocks, device.geometry.pages) = (blocks, pages);
    device
}

fn map(device: &Device, ftl: &FtlSpec, gc: &GcSpec, logical: u32) -> PageMap {
    PageMap::new(device, ftl, gc, logical, 1)
}

/// Writes every page once, in order, then `overwrites` uniformly random ones.
fn fill_and_overwrite(map: &mut PageMap, overwrites: u64, rng: &mut Rng) {
    let pages = u64::from(map.logical());
    let mut writer = Writer::new(map);
    (0..pages as u32).for_each(|lpn| writer.write(Lpn(lpn)).expect("room"));
    (0..overwrites).for_each(|_| writer.write(Lpn(rng.below(pages) as u32)).expect("room"));
    writer.finish().expect("room");
}
