//! Drives with parity: what reads compute is what was written, whatever runs beside.

use super::{Setup, drawn, one_of, small};
use crate::drive::{EraseMode, Evict, RainSpec, Reconstruct};
use crate::flash::Features;
use crate::ftl::{Allocation, GcMode, Stripe, VictimUnit};
use crate::host::{Driver, JobSpec, Pattern};
use crate::units::{Bytes, Cause, Duration, Lpn};

/// 4 channels x 2 dies x 24 blocks x 16 pages of 4 KiB; three data pages and a parity.
fn guarded(reconstruct: Reconstruct) -> Setup {
    let mut setup = small();
    (setup.device.geometry.channels, setup.device.geometry.ways) = (4, 2);
    setup.rain = RainSpec { width: 4, reconstruct, ..RainSpec::default() };
    setup
}

#[test]
fn every_gc_mode_returns_the_newest_versions_by_way_of_parity() {
    for mode in [GcMode::Nogc, GcMode::Base, GcMode::Controller, GcMode::Preemptive] {
        for reconstruct in [Reconstruct::Never, Reconstruct::Always] {
            let mut setup = guarded(reconstruct);
            setup.gc.mode = mode;
            let driver = setup.play();
            let counters = driver.drive().counters();
            let computed = counters.rain.reconstructed_pages;
            assert_eq!(computed > 2_000, reconstruct == Reconstruct::Always, "{mode:?}: {counters:?}");
            assert!(counters.rain.parity_units > 500 && counters.rain.parity_reads > 1_000, "{mode:?}: {counters:?}");
        }
    }
}

/// A drive with parity drawn at random: the drives of [`drawn`], with channels for stripes.
fn drawn_with_parity(seed: u64) -> Setup {
    let mut setup = drawn(seed);
    let mut rng = crate::sim::Rng::stream(seed, "drawn rain");
    let g = &mut setup.device.geometry;
    let (channels, width) = one_of(&mut rng, &[(2, 2), (3, 3), (4, 4), (4, 2), (6, 3), (5, 5)]);
    (g.channels, g.dies) = (channels, 1);
    let row = g.page.get() * u64::from(setup.device.feature.program_planes * setup.device.feature.program_pages);
    let lanes = u64::from(channels * g.ways * g.planes / setup.device.feature.program_planes);
    setup.drive.buffer = Bytes::new(2 * row * lanes * one_of(&mut rng, &[1, 1, 3]));
    setup.ftl.allocation = Allocation::Static;
    setup.gc.unit = VictimUnit::Block;
    setup.rain = RainSpec {
        width,
        evict: one_of(&mut rng, &[Evict::Stripe, Evict::Page]),
        reconstruct: one_of(&mut rng, &[Reconstruct::Always, Reconstruct::Always, Reconstruct::Never]),
        xor: one_of(&mut rng, &[Duration::ZERO, Duration::from_us(10), Duration::from_ms(1)]),
    };
    setup
}

#[test]
fn drives_with_parity_drawn_at_random_complete_every_request_and_keep_the_data() {
    let (mut computed, mut subtractive, mut partial, mut full) = (0, 0, 0, 0);
    for seed in 0..500 {
        let setup = drawn_with_parity(seed);
        let result = std::panic::catch_unwind(|| setup.play());
        assert!(result.is_ok(), "seed {seed}: {setup:?}");
        let rain = result.map(|driver| driver.drive().counters().rain).unwrap_or_default();
        computed += rain.reconstructed_pages;
        subtractive += rain.subtractive_stripes;
        partial += rain.partial_stripes;
        full += rain.full_stripes;
    }
    assert!(computed > 50_000 && subtractive > 10_000, "{computed} {subtractive}");
    assert!(partial - subtractive > 10_000 && full > 10_000, "{partial} {full}");
}
