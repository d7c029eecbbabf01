//! A restored map is the same map; damaged bytes are an error and never a panic.

use super::{device, fill_and_overwrite, map};
use crate::flash::Device;
use crate::ftl::timeless::{Work, Writer};
use crate::ftl::{
    Allocation, DataPlacement, Frontiers, FtlSpec, GcSpec, PageMap, SnapshotError, Victim,
    VictimUnit,
};
use crate::sim::Rng;
use crate::units::Lpn;

struct Kind {
    device: Device,
    ftl: FtlSpec,
    gc: GcSpec,
    logical: u32,
    /// Members of a stripe; 0 is no parity.
    width: u32,
}

impl Kind {
    fn fresh(&self) -> PageMap {
        let map = map(&self.device, &self.ftl, &self.gc, self.logical);
        match self.gc.unit {
            VictimUnit::Superblock => {
                map.with_superblock_parity(&self.ftl, &self.device, self.width)
            }
            VictimUnit::Block | VictimUnit::PlaneGroup => {
                map.with_parity(&self.ftl, &self.device, self.width)
            }
        }
    }

    fn used(&self, seed: u64) -> PageMap {
        let mut map = self.fresh();
        fill_and_overwrite(&mut map, 3 * u64::from(self.logical), &mut Rng::stream(seed, "use"));
        map
    }

    fn begin_run(&self, map: &mut PageMap) {
        map.begin_run(&self.ftl, &self.gc, &self.device, 7);
    }
}

fn kinds() -> Vec<Kind> {
    let mut kinds = Vec::new();
    let policies = [
        Victim::Greedy,
        Victim::CostBenefit,
        Victim::Fifo,
        Victim::WindowedGreedy,
        Victim::DChoices,
        Victim::Random,
        Victim::Uniform,
    ];
    for (number, victim) in policies.into_iter().enumerate() {
        for unit in [VictimUnit::Block, VictimUnit::Superblock] {
            let mut device = device(24, 16);
            (device.geometry.channels, device.geometry.planes) = (2, 2);
            device.feature.program_planes = 1 + number as u32 % 2;
            let gc =
                GcSpec { victim, unit, soft: 0.1.into(), hard: 0.05.into(), ..GcSpec::default() };
            let ftl = FtlSpec {
                allocation: Allocation::Dynamic,
                static_wear_gap: 3,
                ..FtlSpec::default()
            };
            kinds.push(Kind { logical: 4 * 24 * 16 * 65 / 100, device, ftl, gc, width: 0 });
        }
    }
    let rules = [
        (DataPlacement::Dac, Frontiers::Shared),
        (DataPlacement::Sepbit, Frontiers::Separate),
        (DataPlacement::TwoRegionsSecondChance, Frontiers::Separate),
        (DataPlacement::Stream, Frontiers::Separate),
    ];
    for (placement, frontiers) in rules {
        let ftl = FtlSpec { placement, frontiers, dac_age: 0.5, ..FtlSpec::default() };
        let gc = GcSpec {
            victim: Victim::CostBenefit,
            soft: 0.1.into(),
            hard: 0.05.into(),
            ..GcSpec::default()
        };
        kinds.push(Kind { logical: 64 * 16 * 60 / 100, device: device(64, 16), ftl, gc, width: 0 });
    }
    let mut device = device(24, 16);
    (device.geometry.channels, device.geometry.planes) = (2, 2);
    let gc = GcSpec { soft: 0.1.into(), hard: 0.05.into(), ..GcSpec::default() };
    kinds.push(Kind {
        logical: 4 * 240,
        device: device.clone(),
        ftl: FtlSpec::default(),
        gc: gc.clone(),
        width: 2,
    });
    let ftl = FtlSpec { allocation: Allocation::Dynamic, ..FtlSpec::default() };
    kinds.push(Kind {
        logical: 4 * 240,
        device,
        ftl,
        gc: GcSpec { unit: VictimUnit::Superblock, ..gc },
        width: 2,
    });
    kinds
}

/// The work of 10,000 more writes, and the map and erase counts after them.
fn afterwards(map: &mut PageMap) -> (Work, Vec<u32>, Vec<u32>) {
    let (pages, mut rng) = (u64::from(map.logical()), Rng::stream(3, "more"));
    let mut writer = Writer::new(map);
    (0..10_000).for_each(|_| writer.write(Lpn(rng.below(pages) as u32)).expect("room"));
    let work = writer.work();
    writer.finish().expect("room");
    map.check_laws();
    (work, map.mapping().table().to_vec(), map.blocks.all_erases().to_vec())
}

#[test]
fn a_restored_map_goes_on_as_the_one_it_was_taken_from() {
    for kind in kinds() {
        let mut original = kind.used(1);
        let bytes = original.snapshot();
        let mut restored = kind.fresh();
        restored.restore(&bytes).unwrap();
        restored.check_laws();
        assert_eq!(restored.snapshot(), bytes, "a snapshot of it is the same bytes");
        kind.begin_run(&mut original);
        kind.begin_run(&mut restored);
        assert_eq!(afterwards(&mut restored), afterwards(&mut original), "{:?}", kind.gc);
    }
}

#[test]
fn a_snapshot_cut_short_or_with_bytes_behind_it_is_an_error() {
    for kind in kinds().into_iter().take(3) {
        let bytes = kind.used(1).snapshot();
        for length in (0..bytes.len()).step_by(61).chain(bytes.len() - 40..bytes.len()) {
            assert!(
                kind.fresh().restore(&bytes[..length]).is_err(),
                "{length} of {} bytes",
                bytes.len()
            );
        }
        let longer = [bytes.as_slice(), &[0]].concat();
        assert!(kind.fresh().restore(&longer).is_err());
    }
}

#[test]
fn a_snapshot_of_another_size_is_an_error() {
    let kind = &kinds()[0];
    let bytes = kind.used(1).snapshot();
    let other = Kind {
        device: kind.device.clone(),
        ftl: kind.ftl.clone(),
        gc: kind.gc.clone(),
        logical: kind.logical - 1,
        width: 0,
    };
    assert_eq!(
        other.fresh().restore(&bytes),
        Err(SnapshotError::Content("the number of logical pages"))
    );
}

/// A cached state may be damaged on disk: a run that starts from it anyway would be wrong or die,
/// far from the cause.
#[test]
fn a_snapshot_with_any_bit_flipped_is_an_error() {
    let (kind, mut rng) = (&kinds()[2], Rng::stream(5, "flip"));
    let bytes = kind.used(1).snapshot();
    for _ in 0..3_000 {
        let mut damaged = bytes.clone();
        let bit = rng.below(8 * bytes.len() as u64);
        damaged[(bit / 8) as usize] ^= 1 << (bit % 8);
        assert!(kind.fresh().restore(&damaged).is_err(), "bit {bit} of {}", 8 * bytes.len());
    }
}

#[test]
fn random_bytes_are_an_error_and_never_a_panic() {
    let (kind, mut rng) = (&kinds()[0], Rng::stream(6, "noise"));
    let bytes = kind.used(1).snapshot();
    for _ in 0..500 {
        let length = rng.below(2 * bytes.len() as u64) as usize;
        let noise: Vec<u8> = (0..length).map(|_| rng.next_u64() as u8).collect();
        assert!(kind.fresh().restore(&noise).is_err());
        // Noise behind a good beginning reaches the later parts.
        let keep = rng.below(bytes.len() as u64) as usize;
        let mut spliced = bytes[..keep].to_vec();
        spliced.extend(
            bytes[keep..].iter().map(|byte| byte ^ (rng.next_u64() & rng.next_u64()) as u8),
        );
        if spliced != bytes {
            assert!(kind.fresh().restore(&spliced).is_err());
        }
    }
}
