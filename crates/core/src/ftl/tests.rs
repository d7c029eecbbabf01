//! The translation layer by itself: against closed forms, against a naive model, and across snapshots.

mod placement;
mod reference;
mod snapshots;
mod victims;
mod write_amplification;

use super::timeless::Writer;
use super::{FtlSpec, GcSpec, PageMap};
use crate::flash::{ArrayTiming, ChannelTiming, Device, Features, Geometry};
use crate::sim::Rng;
use crate::units::{Bandwidth, Bytes, Duration, Lpn};

/// A device of one channel and one die whose times do not matter.
fn device(blocks: u32, pages: u32) -> Device {
    Device {
        name: "bench".into(),
        summary: String::new(),
        geometry: Geometry {
            channels: 1,
            ways: 1,
            dies: 1,
            planes: 1,
            blocks,
            pages,
            page: Bytes::kib(4),
            map_unit: Bytes::kib(4),
        },
        feature: Features::default(),
        timing: ArrayTiming {
            read: vec![Duration::from_us(40)],
            program: vec![Duration::from_us(800)],
            erase_step: Duration::from_us(400),
            erase_steps: 5,
        },
        channel: ChannelTiming { rate: Bandwidth::default(), command: Duration::ZERO, erase_command: Duration::ZERO },
        op: 0.1,
        source: Default::default(),
    }
}

fn map(device: &Device, ftl: &FtlSpec, gc: &GcSpec, logical: u32) -> PageMap {
    PageMap::new(device, ftl, gc, logical, 1)
}

/// Writes every page once, in order, then `overwrites` uniformly random ones.
fn fill_and_overwrite(map: &mut PageMap, overwrites: u64, rng: &mut Rng) {
    let pages = u64::from(map.logical());
    let mut writer = Writer::new(map);
    (0..pages as u32).for_each(|lpn| writer.write(Lpn(lpn)));
    (0..overwrites).for_each(|_| writer.write(Lpn(rng.below(pages) as u32)));
    writer.finish();
}
