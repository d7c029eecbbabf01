//! Plane-blocking and rotating collection in whole drives: who collects beside whom, when turns are
//! given up, and the share of reads that meet a collection.

use super::{Setup, small};
use crate::drive::{Collection, Drive, RainSpec, TimelineSpec};
use crate::ftl::{GcMode, Rotate};
use crate::host::{Arrival, Driver, JobSpec};
use crate::units::{Bytes, Duration, Instant, Pool};

/// 4 channels x 2 chips that collect plane by plane.
fn planes() -> Setup {
    let mut setup = small();
    (setup.device.geometry.channels, setup.device.geometry.ways) = (4, 2);
    (setup.gc.mode, setup.gc.copyback) = (GcMode::PlaneBlocking, true);
    setup.jobs[0] = JobSpec { read_percent: 30.0, requests: 12_000, ..setup.jobs[0].clone() };
    setup
}

fn with_timeline(setup: &Setup) -> (Driver, Vec<Collection>) {
    let mut drive = setup.drive();
    let (from, to) = (Instant::START, Instant::NEVER);
    drive.keep_timeline(&TimelineSpec {
        from,
        to,
        slow: Some(Duration::from_s(9)),
        limit: u64::MAX,
    });
    let mut driver = setup.driver_of(drive);
    driver.play_to_the_end();
    assert_eq!(driver.progress().issued, driver.progress().completed);
    assert_eq!(driver.oracle().unwrap().mismatches(), 0);
    let mut drive: Drive = driver.drive().clone();
    while drive.advance_before(Instant::NEVER).is_some() {}
    let collections = drive.recorded(Instant::from_ns(u64::MAX - 1)).unwrap().collections;
    (driver, collections)
}

/// The most that go on at once of those with one `key`, from `draining` to what `until` says.
fn most_at_once(
    collections: &[Collection],
    key: impl Fn(&Collection) -> u32,
    until: fn(&Collection) -> Instant,
) -> i32 {
    let mut edges: Vec<(u32, Instant, i32)> = Vec::new();
    for c in collections {
        edges.extend([(key(c), c.draining, 1), (key(c), until(c), -1)]);
    }
    edges.sort();
    let (mut most, mut now, mut last) = (0, 0, u32::MAX);
    for (key, _, step) in edges {
        now = if key == last { now + step } else { step };
        (last, most) = (key, most.max(now));
    }
    most
}

/// With dies numbered channel by channel, as they are.
fn channel(setup: &Setup, plane: Pool) -> u32 {
    plane.0 / (setup.device.geometry.ways * setup.device.geometry.dies)
}

#[test]
fn a_channel_has_no_more_copying_collections_than_it_may() {
    for (per_channel, most) in [(1, 1), (2, 2), (0, 4)] {
        let mut setup = planes();
        setup.device.geometry.dies = 2;
        setup.gc.per_channel = per_channel;
        let (_, collections) = with_timeline(&setup);
        assert!(collections.len() > 300, "{}", collections.len());
        let at_once = most_at_once(&collections, |c| channel(&setup, c.pool), |c| c.erasing);
        assert_eq!(at_once, most, "per_channel {per_channel}");
        assert_eq!(most_at_once(&collections, |c| c.pool.0, |c| c.end), 1);
    }
}

/// The group of a plane by hand: without parity its chip; with a width of 2 also its pair of
/// channels.
fn group(setup: &Setup, plane: Pool) -> u32 {
    let chips = setup.device.geometry.ways * setup.device.geometry.dies;
    let width =
        if setup.rain.width == 0 { setup.device.geometry.channels } else { setup.rain.width };
    plane.0 % chips * 100 + channel(setup, plane) / width
}

#[test]
fn planes_of_a_group_never_collect_at_once() {
    for width in [0, 4, 2] {
        for erases_count in [true, false] {
            let mut setup = planes();
            setup.device.geometry.dies = 2;
            setup.rain = RainSpec { width, ..RainSpec::default() };
            (setup.gc.rotate, setup.gc.rotate_urgent, setup.gc.rotate_erases) =
                (Rotate::Static, true, erases_count);
            setup.gc.per_channel = 0;
            let (driver, collections) = with_timeline(&setup);
            let until =
                if erases_count { |c: &Collection| c.end } else { |c: &Collection| c.erasing };
            assert_eq!(
                most_at_once(&collections, |c| group(&setup, c.pool), until),
                1,
                "width {width}"
            );
            let others = most_at_once(&collections, |_| 0, until);
            assert!(others > 1, "groups collect side by side: {others}");
            if !erases_count {
                assert!(most_at_once(&collections, |c| group(&setup, c.pool), |c| c.end) > 1);
            }
            let rotation = driver.drive().counters().rotation;
            assert!(rotation.postponed > 50 && !rotation.postponed_max.is_zero(), "{rotation:?}");
            assert_eq!((rotation.switched_off, rotation.off), (0, Duration::ZERO));
        }
    }
}

/// Where an urgent plane need not wait for its turn, it does not, and only urgent ones do not.
#[test]
fn urgent_planes_collect_out_of_turn() {
    let mut setup = planes();
    (setup.gc.rotate, setup.gc.soft, setup.gc.hard) = (Rotate::Static, 0.2.into(), 0.19.into());
    let (_, collections) = with_timeline(&setup);
    assert!(most_at_once(&collections, |c| group(&setup, c.pool), |c| c.end) > 1);
    // A GC run that starts beside another one of the group is urgent.
    for c in collections.iter().filter(|c| !c.forced) {
        let beside = |other: &&Collection| {
            let same = group(&setup, other.pool) == group(&setup, c.pool) && other.pool != c.pool;
            same && other.draining < c.draining && c.draining < other.end
        };
        assert_eq!(collections.iter().find(beside), None, "{c:?}");
    }
}

#[test]
fn rotation_changes_nothing_where_it_is_off_and_its_settings_nothing_either() {
    let digest = |change: fn(&mut Setup)| {
        let mut setup = planes();
        change(&mut setup);
        super::digest(&setup.play())
    };
    let plain = digest(|_| {});
    assert_eq!(plain, digest(|s| s.gc.rotate_window = Duration::from_ms(1)));
    assert_eq!(plain, digest(|s| s.gc.rotate_erases = false));
    assert_ne!(plain, digest(|s| s.gc.rotate = Rotate::Static));
    assert_ne!(plain, digest(|s| s.gc.cut_transfers = false));
}

/// Writes as fast as they complete: planes wait for space and for turns, and everything is written.
#[test]
fn no_plane_starves_in_a_burst_of_writes() {
    for (rotate, urgent_waits) in
        [(Rotate::Static, true), (Rotate::Static, false), (Rotate::Dynamic, false)]
    {
        for (hard, width) in [(0.0, 0), (0.14, 0), (0.08, 4)] {
            let mut setup = planes();
            (setup.gc.rotate, setup.gc.rotate_urgent, setup.gc.hard) =
                (rotate, urgent_waits, f64::into(hard));
            (setup.rain.width, setup.drive.write_through) = (width, true);
            setup.jobs[0] = JobSpec {
                read_percent: 0.0,
                queue_depth: 128,
                requests: 20_000,
                ..setup.jobs[0].clone()
            };
            let driver = setup.play();
            let (ftl, counters) = (driver.drive().ftl(), driver.drive().counters());
            assert!(
                ftl.each_pool().all(|pool| ftl.free_units(pool) >= 16),
                "the reserve is a block"
            );
            assert!(counters.forced_collections > 100 || hard == 0.0, "{counters:?}");
        }
    }
}

/// Random writes at a fixed rate, first `fast`, then slow: what dynamic rotation measured.
fn paced(fast: f64, requests: u64) -> Setup {
    let mut setup = planes();
    setup.device.op = 0.5;
    // Plenty is free above the hard mark: what switches off is the rate.
    (setup.gc.soft, setup.gc.hard) = (0.3.into(), 0.0.into());
    (setup.gc.rotate, setup.gc.rotate_window) = (Rotate::Dynamic, Duration::from_ms(500));
    setup.drive.write_through = true;
    let slow = JobSpec {
        read_percent: 0.0,
        arrival: Arrival::Fixed,
        rate: 100.0,
        requests: 1_500,
        ..JobSpec::default()
    };
    setup.jobs = vec![slow.clone()];
    if fast > 0.0 {
        setup.jobs.push(JobSpec { rate: fast, requests, ..slow });
    }
    setup
}

/// The limit by hand: 8 planes, groups of 4; blocks of 16 pages of which V are copied at 840.35 us
/// each (with this device's commands), and an erase.
fn sustainable(driver: &Driver) -> f64 {
    let counters = driver.drive().counters();
    let timing = driver.drive().flash().timing();
    let valid = counters.copied_units as f64 / counters.collections as f64;
    let copy = 2.0 * timing.command.as_s_f64() + 40e-6 + 800e-6;
    let erase = timing.erase_command.as_s_f64()
        + timing.erase_step.as_s_f64() * f64::from(timing.erase_steps);
    8.0 * (16.0 - valid) / (4.0 * (valid * copy + erase))
}

#[test]
fn dynamic_rotation_is_off_while_writes_come_faster_than_turns_can_keep_up_with() {
    let slow = paced(0.0, 0).play();
    let rotation = slow.drive().counters().rotation;
    let limit = sustainable(&slow);
    assert!(limit > 500.0 && limit < 8_000.0, "{limit}");
    assert_eq!(
        (rotation.switched_off, rotation.off),
        (0, Duration::ZERO),
        "100 pages a second are few"
    );
    // Two seconds above the limit, then 13 s below it.
    let fast = limit * 1.25;
    let driver = paced(fast, (fast * 2.0) as u64).play();
    let rotation = driver.drive().counters().rotation;
    println!("sustainable {limit:.0} pages/s; at {fast:.0}: {rotation:?}");
    assert_eq!(rotation.switched_off, 1, "{rotation:?}");
    // It is noticed at the end of the first window, and is over with the first window that is slow
    // throughout.
    assert!(
        rotation.off >= Duration::from_ms(1_400) && rotation.off <= Duration::from_ms(2_600),
        "{rotation:?}"
    );
    let driver = paced(limit * 0.6, (limit * 1.2) as u64).play();
    assert_eq!(driver.drive().counters().rotation.switched_off, 0, "below the limit it stays on");
}

#[test]
fn dynamic_rotation_is_off_as_soon_as_a_plane_is_urgent() {
    let mut setup = planes();
    // No window ends in time: what counts is the mark.
    (setup.gc.rotate, setup.gc.rotate_window) = (Rotate::Dynamic, Duration::from_s(60));
    (setup.gc.soft, setup.gc.hard) = (0.2.into(), 0.19.into());
    let rotation = setup.play().drive().counters().rotation;
    assert_eq!(rotation.switched_off, 1, "{rotation:?}");
    assert!(!rotation.off.is_zero(), "{rotation:?}");
}

/// The blocked I/O model (reference/ttflash.md, 1.1), as for `base` in `laws`, with planes in the
/// place of channels: rho = collections x T_GC / planes / time, and 1 - (1 - rho)^k for k pages on
/// k channels.
#[test]
fn the_share_of_reads_that_meet_a_collecting_plane_follows_the_blocked_io_model() {
    for (pages, width) in [(1, 0), (2, 0), (4, 0), (1, 4)] {
        let mut setup = Setup { seed: pages, ..small() };
        (setup.device.geometry.channels, setup.device.geometry.ways, setup.device.geometry.dies) =
            (4, 4, 1);
        setup.device.op = 0.5;
        (setup.gc.mode, setup.gc.copyback) = (GcMode::PlaneBlocking, true);
        setup.drive.write_through = true;
        setup.rain.width = width;
        let job = JobSpec { arrival: Arrival::Poisson, ..JobSpec::default() };
        let block_sizes = vec![(Bytes::kib(4 * pages), 1.0)];
        let reads = JobSpec {
            read_percent: 100.0,
            rate: 500.0,
            requests: 150_000,
            block_sizes,
            ..job.clone()
        };
        setup.jobs =
            vec![reads, JobSpec { read_percent: 0.0, rate: 200.0, requests: 60_000, ..job }];
        let driver = setup.play();
        let (counters, timing) = (driver.drive().counters(), driver.drive().flash().timing());
        let copy = 2 * timing.command.as_ns() + 840_000;
        let erase = timing.erase_command.as_ns()
            + timing.erase_step.as_ns() * u64::from(timing.erase_steps);
        let spent = (counters.copied_units * copy + counters.erases * erase) as f64;
        let rho = spent / (16.0 * driver.now().as_ns() as f64);
        let expected = 1.0 - (1.0 - rho).powi(pages as i32);
        let measured = driver.measured();
        let at_split = measured.gc_blocked_at_split_reads as f64 / measured.read.count() as f64;
        println!(
            "{pages} pages, width {width}: rho {rho:.5}, model {expected:.5}, at the split \
             {at_split:.5}"
        );
        assert!(rho > 0.001 && measured.gc_blocked_at_split_reads > 300, "{rho}");
        assert!(
            (at_split / expected - 1.0).abs() < 0.15,
            "{pages} pages: {at_split}, the model says {expected}"
        );
    }
}
