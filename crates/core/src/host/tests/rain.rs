//! Drives with parity: what reads compute is what was written, whatever runs beside.

use super::{Setup, draw::part, drawn, one_of, small};
use crate::drive::{Evict, RainSpec, Reconstruct};
use crate::flash::Features;
use crate::ftl::{Allocation, GcMode, VictimUnit};
use crate::host::{Driver, JobSpec, Pattern};
use crate::sim::Rng;
use crate::units::{Bytes, Cause, Duration, Lpn};

/// 4 channels x 2 dies x 24 blocks x 16 pages of 4 KiB; three data pages and a parity.
pub(super) fn guarded(reconstruct: Reconstruct) -> Setup {
    let mut setup = small();
    (setup.device.geometry.channels, setup.device.geometry.ways) = (4, 2);
    setup.rain = RainSpec { width: 4, reconstruct, ..RainSpec::default() };
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
                counters.rain.parity_units > 500 && counters.rain.parity_reads > 1_000,
                "{mode:?}: {counters:?}"
            );
        }
    }
}

/// A drive with parity drawn at random: the drives of [`drawn`], with channels for stripes.
pub(super) fn drawn_with_parity(seed: u64) -> Setup {
    let mut setup = drawn(seed);
    let mut rng = crate::sim::Rng::stream(seed, "drawn rain");
    let (channels, width) = one_of(&mut rng, &[(2, 2), (3, 3), (4, 4), (4, 2), (6, 3), (5, 5)]);
    with_channels(&mut setup, &mut rng, channels);
    setup.ftl.allocation = Allocation::Static;
    setup.gc.unit = VictimUnit::Block;
    setup.rain = RainSpec {
        width,
        evict: one_of(&mut rng, &[Evict::Stripe, Evict::Page, Evict::StripeLru]),
        reconstruct: one_of(
            &mut rng,
            &[Reconstruct::Always, Reconstruct::Always, Reconstruct::Never],
        ),
        xor: one_of(&mut rng, &[Duration::ZERO, Duration::from_us(10), Duration::from_ms(1)]),
        xor_engines: one_of(&mut rng, &[0, 0, 1, 3]),
        ..RainSpec::default()
    };
    setup
}

#[test]
fn drives_with_parity_drawn_at_random_complete_every_request_and_keep_the_data() {
    let (mut computed, mut subtractive, mut partial, mut full) = (0, 0, 0, 0);
    for seed in 0..part(500) {
        let setup = drawn_with_parity(seed);
        let result = std::panic::catch_unwind(|| setup.play());
        assert!(result.is_ok(), "seed {seed}: {setup:?}");
        let rain = result.map(|driver| driver.drive().counters().rain).unwrap_or_default();
        computed += rain.reconstructed_pages;
        subtractive += rain.subtractive_stripes;
        partial += rain.partial_stripes;
        full += rain.full_stripes;
    }
    assert!(computed > part(50_000) && subtractive > part(10_000), "{computed} {subtractive}");
    assert!(partial - subtractive > part(10_000) && full > part(10_000), "{partial} {full}");
}

fn digest(driver: &Driver) -> String {
    super::digest(driver)
}

#[test]
fn the_same_seed_gives_the_same_bytes_with_parity_too() {
    let setup = guarded(Reconstruct::Always);
    assert_eq!(digest(&setup.play()), digest(&setup.play()));
    assert_ne!(
        digest(&setup.play()),
        digest(&Setup { seed: 2, ..guarded(Reconstruct::Always) }.play())
    );
}

/// A reconstructed page is made of the other members: spoil a few of them, and the oracle sees it.
#[test]
fn a_parity_page_that_is_wrong_is_caught() {
    for (reconstruct, seen) in [(Reconstruct::Always, true), (Reconstruct::Never, false)] {
        let mut setup = guarded(reconstruct);
        setup.jobs[0] = JobSpec { read_percent: 100.0, requests: 2_000, ..setup.jobs[0].clone() };
        let mut drive = setup.drive();
        let stripes = drive.ftl().stripes().unwrap().clone();
        for stripe in 0..20 {
            let parity = drive.ftl().member_at(stripes.parity(stripe)).unwrap();
            drive.spoil(parity);
        }
        let mut driver = setup.driver_of(drive);
        driver.play_to_the_end();
        assert_eq!(driver.oracle().unwrap().mismatches() > 0, seen, "{reconstruct:?}");
    }
}

#[test]
fn a_stale_member_is_caught() {
    let mut setup = guarded(Reconstruct::Always);
    setup.jobs[0] = JobSpec { read_percent: 100.0, requests: 2_000, ..setup.jobs[0].clone() };
    let mut drive = setup.drive();
    let member = drive.ftl().member_at(Lpn(1)).unwrap();
    drive.spoil(member);
    let mut driver = setup.driver_of(drive);
    driver.play_to_the_end();
    assert!(driver.oracle().unwrap().mismatches() > 0);
}

/// Each latency is the sum of its parts (the drive asserts it); what reconstructing adds is a part
/// of its own.
#[test]
fn computed_pages_have_their_part_in_the_attribution() {
    for (reconstruct, some) in [(Reconstruct::Always, true), (Reconstruct::Never, false)] {
        let mut setup = guarded(reconstruct);
        setup.rain.xor = Duration::from_us(10);
        let mut driver = setup.driver().with_attribution();
        driver.play_to_the_end();
        let causes = driver.measured().causes.as_ref().unwrap();
        let (count, total) = causes.read.total();
        assert_eq!(u128::from(total.total().as_ns()), driver.measured().read.histogram.sum_ns());
        let part = total.get(Cause::Reconstruct);
        assert_eq!(
            part > Duration::from_us(5) * count,
            some,
            "{reconstruct:?}: {part} of {count} reads"
        );
        assert_eq!(causes.write.total().1.get(Cause::Reconstruct), Duration::ZERO);
    }
}

/// Few updates at once: pages wait for a slot of parity, and rows go out half full to free one.
#[test]
fn drives_with_few_updates_at_once_come_to_an_end() {
    for seed in 0..part(200) {
        let setup = drawn_with_parity(seed);
        for updates in [1, 2, 5] {
            let mut drive = setup.drive();
            drive.limit_updates(updates);
            let mut driver = setup.driver_of(drive);
            driver.play_to_the_end();
            let (progress, oracle) = (driver.progress(), driver.oracle().unwrap());
            let stuck =
                || format!("seed {seed}, {updates}: {}\n{setup:?}", driver.drive().describe());
            assert_eq!(progress.issued, progress.completed, "{}", stuck());
            assert_eq!(oracle.mismatches(), 0, "seed {seed}: {:?}", oracle.first_mismatch());
            driver.drive().check_parity();
            driver.drive().check_nobody_reads();
        }
    }
}

/// Many small requests to few pages, that write them in part, give them back and flush them.
pub(super) fn hot_pages(size: Bytes) -> JobSpec {
    JobSpec {
        block_sizes: [(512, 3.0), (4096, 3.0), (12_288, 2.0)]
            .map(|(b, w)| (Bytes::new(b), w))
            .to_vec(),
        align: Bytes::new(512),
        size,
        queue_depth: 64,
        trim_percent: 10.0,
        flush_every: 100,
        read_percent: 30.0,
        requests: 10_000,
        pattern: Pattern::Random,
        ..small().jobs.remove(0)
    }
}

/// A buffer of so many rows for each lane, and the channels: what stripes need of a drive drawn at
/// random.
pub(super) fn with_channels(setup: &mut Setup, rng: &mut Rng, channels: u32) {
    let g = &mut setup.device.geometry;
    (g.channels, g.dies) = (channels, 1);
    let row = g.page.get()
        * u64::from(setup.device.feature.program_planes * setup.device.feature.program_pages);
    let lanes = u64::from(channels * g.ways * g.planes / setup.device.feature.program_planes);
    setup.drive.buffer = Bytes::new(2 * row * lanes * one_of(rng, &[1, 1, 3]));
}

/// Hot pages whose stripes are always under update, written in part, given back, durable or not.
#[test]
fn a_hot_stripe_s_updates_follow_one_another() {
    for write_through in [false, true] {
        for evict in [Evict::Stripe, Evict::Page, Evict::StripeLru] {
            let mut setup = guarded(Reconstruct::Always);
            (setup.rain.evict, setup.drive.write_through) = (evict, write_through);
            setup.drive.power_loss_protection = false;
            setup.device.geometry.planes = 2;
            setup.device.feature =
                Features { program_planes: 2, program_pages: 2, ..Features::default() };
            setup.drive.buffer = Bytes::kib(256);
            setup.jobs[0] = hot_pages(Bytes::kib(64));
            let driver = setup.play();
            assert!(driver.oracle().unwrap().reads_checked() > 2_000);
        }
    }
}
