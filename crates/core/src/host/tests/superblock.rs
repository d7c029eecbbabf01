//! Drives with parity over superblocks: what reads compute is what was written, whatever runs
//! beside.

use super::rain::{hot_pages, with_channels};
use super::{Setup, digest, draw::part, drawn, one_of};
use crate::drive::{PreconditionState, RainSpec, Reconstruct, Update};
use crate::flash::{Block, Features};
use crate::ftl::{Allocation, Frontiers, GcMode, Rotate, VictimUnit};
use crate::host::JobSpec;
use crate::units::{Bytes, Duration};

/// 4 channels x 2 dies x 24 blocks x 16 pages of 4 KiB; three rows of data and one of parity.
fn guarded(reconstruct: Reconstruct) -> Setup {
    let mut setup = super::rain::guarded(reconstruct);
    (setup.ftl.allocation, setup.gc.unit) = (Allocation::Dynamic, VictimUnit::Superblock);
    setup.rain.update = Update::Superblock;
    setup
}

#[test]
fn every_gc_mode_returns_the_newest_versions_by_way_of_parity() {
    for mode in [
        GcMode::Nogc,
        GcMode::Base,
        GcMode::Controller,
        GcMode::Preemptive,
        GcMode::ChannelPreemptive,
    ] {
        for reconstruct in [Reconstruct::Never, Reconstruct::Always] {
            let mut setup = guarded(reconstruct);
            setup.gc.mode = mode;
            let driver = setup.play();
            let counters = driver.drive().counters();
            let computed = counters.rain.reconstructed_pages;
            assert_eq!(
                computed > 2_000,
                reconstruct == Reconstruct::Always,
                "{mode:?}: {counters:?}"
            );
            assert!(
                counters.rain.parity_units > 500 && counters.rain.parity_reads == 0,
                "{mode:?}: {counters:?}"
            );
            assert_eq!(
                counters.rain.copy_parity_units > 100,
                mode != GcMode::Nogc,
                "{mode:?}: {counters:?}"
            );
        }
    }
}

/// A drive with parity over superblocks drawn at random: the drives of [`drawn`], with channels for
/// stripes.
pub(super) fn drawn_with_parity(seed: u64) -> Setup {
    let mut setup = drawn(seed);
    let mut rng = crate::sim::Rng::stream(seed, "drawn superblock");
    let (channels, width) = one_of(&mut rng, &[(2, 2), (3, 3), (4, 4), (4, 2), (6, 3), (5, 5)]);
    with_channels(&mut setup, &mut rng, channels);
    (setup.ftl.allocation, setup.ftl.frontiers) = (Allocation::Dynamic, Frontiers::Separate);
    if setup.gc.mode == GcMode::PlaneBlocking {
        setup.gc.mode = GcMode::Preemptive;
        setup.gc.rotate = Rotate::Off;
    }
    (setup.gc.unit, setup.gc.copyback) = (VictimUnit::Superblock, false);
    (setup.gc.last_block_soft, setup.gc.last_block_hard) = (1.0, 1.0);
    setup.rain = RainSpec {
        width,
        update: Update::Superblock,
        reconstruct: one_of(
            &mut rng,
            &[Reconstruct::Always, Reconstruct::Always, Reconstruct::Cost, Reconstruct::Never],
        ),
        xor: one_of(&mut rng, &[Duration::ZERO, Duration::from_us(10), Duration::from_ms(1)]),
        xor_engines: one_of(&mut rng, &[0, 0, 1, 3]),
        ..RainSpec::default()
    };
    setup
}

#[test]
fn drives_drawn_at_random_complete_every_request_and_keep_the_data() {
    let (mut computed, mut parity, mut of_copies) = (0, 0, 0);
    for seed in 0..part(1500) {
        let setup = drawn_with_parity(seed);
        let result = std::panic::catch_unwind(|| setup.play());
        assert!(result.is_ok(), "seed {seed}: {setup:?}");
        let rain = result.map(|driver| driver.drive().counters().rain).unwrap_or_default();
        computed += rain.reconstructed_pages;
        parity += rain.parity_units;
        of_copies += rain.copy_parity_units;
        assert_eq!((rain.parity_reads, rain.partial_stripes, rain.subtractive_stripes), (0, 0, 0));
    }
    let least = part(50_000);
    assert!(
        computed > least && parity > least && of_copies > least,
        "{computed} {parity} {of_copies}"
    );
}

/// Whatever instant it is: a stripe is under way, or its parity is right.
#[test]
fn parity_is_right_at_every_instant() {
    for seed in 0..part(150) {
        let setup = drawn_with_parity(seed);
        let mut driver = setup.driver();
        while driver.play(10) {
            driver.drive().check_parity();
        }
        assert_eq!(driver.oracle().unwrap().mismatches(), 0, "seed {seed}: {setup:?}");
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_seed_others() {
    let setup = guarded(Reconstruct::Always);
    assert_eq!(digest(&setup.play()), digest(&setup.play()));
    assert_ne!(
        digest(&setup.play()),
        digest(&Setup { seed: 2, ..guarded(Reconstruct::Always) }.play())
    );
}

/// A reconstructed page is made of the other members: spoil parity, or a stale member, and the
/// oracle sees it.
#[test]
fn a_wrong_page_of_a_stripe_is_caught() {
    for is_parity in [true, false] {
        for (reconstruct, seen) in [(Reconstruct::Always, true), (Reconstruct::Never, false)] {
            let mut setup = guarded(reconstruct);
            setup.precondition.state = PreconditionState::Steady;
            setup.jobs[0] =
                JobSpec { read_percent: 100.0, requests: 2_000, ..setup.jobs[0].clone() };
            let mut drive = setup.drive();
            let layout = drive.flash().layout.clone();
            let mut pages = Vec::new();
            for block in (0..layout.total_blocks()).map(Block) {
                let first = layout.first_page(block).0;
                let written = first + drive.flash().rows_written(block) * layout.units_per_row;
                pages.extend((first..written).map(crate::units::Ppn));
            }
            pages.retain(|page| drive.ftl().is_parity_page(*page) == is_parity);
            pages.retain(|page| is_parity || !drive.ftl().mapping().is_valid(*page));
            assert!(pages.len() > 100, "{}", pages.len());
            pages.iter().step_by(3).for_each(|page| drive.spoil(*page));
            let mut driver = setup.driver_of(drive);
            driver.play_to_the_end();
            assert_eq!(
                driver.oracle().unwrap().mismatches() > 100,
                seen,
                "{is_parity} {reconstruct:?}"
            );
        }
    }
}

/// Small random writes over a full drive: in place each costs its parity's read and program; over a
/// superblock seven, or here three, share one.
#[test]
fn small_random_writes_cost_less_parity_than_in_place() {
    let played = |update| {
        let mut setup = guarded(Reconstruct::Never);
        setup.rain.update = update;
        if update == Update::InPlace {
            (setup.ftl.allocation, setup.gc.unit) = (Allocation::Static, VictimUnit::Block);
        }
        // As much spare space as it takes that copies are few.
        (setup.device.op, setup.jobs[0].read_percent) = (0.6, 0.0);
        setup.play().drive().counters()
    };
    let (place, superblock) = (played(Update::InPlace), played(Update::Superblock));
    let per_page = |c: &crate::stats::Counters| c.rain.parity_units as f64 / c.host_units as f64;
    assert!(per_page(&place) > 0.8, "{place:?}");
    assert!((per_page(&superblock) - 1.0 / 3.0).abs() < 0.02, "{superblock:?}");
    assert!(place.rain.parity_reads > place.host_units && superblock.rain.parity_reads == 0);
    assert!(
        superblock.units_programmed() * 10 < place.units_programmed() * 9,
        "{place:?}\n{superblock:?}"
    );
}

/// Hot pages written in part, given back, durable or not, in rows of several planes and pages.
#[test]
fn hot_pages_in_wide_rows_keep_their_data() {
    for write_through in [false, true] {
        for pages in [1, 2] {
            let mut setup = guarded(Reconstruct::Always);
            setup.drive.write_through = write_through;
            setup.drive.power_loss_protection = false;
            setup.device.geometry.planes = 2;
            setup.device.feature =
                Features { program_planes: 2, program_pages: pages, ..Features::default() };
            setup.jobs[0] = hot_pages(Bytes::kib(1024));
            let driver = setup.play();
            assert!(driver.oracle().unwrap().reads_checked() > 2_000);
            let rain = driver.drive().counters().rain;
            assert!(rain.reconstructed_pages > 500, "{rain:?}");
        }
    }
}
