//! The controller's limits: arithmetic, and that each setting moves what it should.

use super::{Setup, small};
use crate::drive::{Arbitration, FirmwareSpec, PreconditionState};
use crate::host::{Driver, JobSpec};
use crate::units::{Bandwidth, Bytes, Duration};

/// Reads of 4 KiB of a drive whose flash takes next to nothing.
fn reads(jobs: &[u32], change: impl Fn(&mut Setup)) -> Driver {
    let mut setup = small();
    setup.precondition.state = PreconditionState::Fill;
    let timing = &mut setup.device.timing;
    timing.read.iter_mut().for_each(|read| *read = Duration::from_ns(10));
    (setup.device.channel.rate, setup.device.channel.command) =
        (Bandwidth::default(), Duration::ZERO);
    let job = JobSpec { read_percent: 100.0, requests: 2_000, ..setup.jobs[0].clone() };
    setup.jobs = jobs.iter().map(|depth| JobSpec { queue_depth: *depth, ..job.clone() }).collect();
    change(&mut setup);
    let mut driver = setup.driver();
    driver.play_to_the_end();
    driver
}

fn a_second(driver: &Driver) -> f64 {
    driver.progress().completed as f64 / driver.now().as_ns() as f64 * 1e9
}

fn cores(cores: u32, command: u64, look_up: u64) -> FirmwareSpec {
    let [command, look_up] = [command, look_up].map(Duration::from_ns);
    FirmwareSpec { cores, command, look_up, ..FirmwareSpec::default() }
}

#[test]
fn cores_bound_the_commands_a_second_at_any_depth() {
    for (count, command, look_up) in [(1, 2_000, 500), (2, 2_000, 500), (4, 1_000, 4_000)] {
        for depth in [8, 64] {
            let driver = reads(&[depth], |setup| {
                setup.drive.firmware = cores(count, command, look_up);
            });
            // 4 KiB is one mapping unit of this drive.
            let most = f64::from(count) * 1e9 / (command + look_up) as f64;
            let found = a_second(&driver);
            assert!((found / most - 1.0).abs() < 0.01, "{count} {depth}: {found} of {most}");
        }
    }
}

#[test]
fn a_command_alone_takes_the_time_of_its_look_ups() {
    let mean = |blocks: u64, firmware: FirmwareSpec| {
        let driver = reads(&[1], |setup| {
            setup.jobs[0].block_sizes = vec![(Bytes::kib(4 * blocks), 1.0)];
            setup.drive.firmware = firmware.clone();
        });
        driver.measured().read.histogram.mean().expect("there are reads").as_ns() as f64
    };
    for blocks in [1, 4] {
        let more = mean(blocks, cores(2, 1_000, 300)) - mean(blocks, FirmwareSpec::default());
        let of = 1_000.0 + 300.0 * blocks as f64;
        assert!((more - of).abs() < 10.0, "{blocks}: {more} of {of}");
    }
}

#[test]
fn data_cross_the_dram_twice() {
    let gigabyte = Bandwidth::bytes_per_second(1_000_000_000);
    let driver = reads(&[32], |setup| setup.drive.firmware.dram = gigabyte);
    let most = 1e9 / (2.0 * 4096.0);
    let found = a_second(&driver);
    assert!((found / most - 1.0).abs() < 0.01, "{found} of {most}");
}

/// Mean latency of writes at depth 1 beside reads at depth 64, of one core of 1 us, in us.
fn writes_beside(arbitration: Arbitration, weights: &[u32]) -> f64 {
    let driver = reads(&[64, 1], |setup| {
        setup.jobs[0].requests = 20_000;
        // Fewer than the buffer holds.
        (setup.jobs[1].requests, setup.jobs[1].read_percent) = (40, 0.0);
        let weights = weights.to_vec();
        setup.drive.firmware = FirmwareSpec { arbitration, weights, ..cores(1, 1_000, 0) };
    });
    driver.measured().write.histogram.mean().expect("there are writes").as_us_f64()
}

#[test]
fn queues_in_turn_share_a_core_by_their_weights_and_not_by_their_depths() {
    // The buffer takes 1 us; the command waits for what is under work, and for those before it.
    let near = |found: f64, wait: f64| (found - 1.0 - wait).abs() < 1.5;
    let first_come = writes_beside(Arbitration::FirstCome, &[]);
    assert!(near(first_come, 65.0), "{first_come}");
    let in_turn = writes_beside(Arbitration::RoundRobin, &[]);
    assert!(near(in_turn, 2.0), "{in_turn}");
    let weighted = writes_beside(Arbitration::RoundRobin, &[7, 1]);
    assert!(near(weighted, 5.0) || near(weighted, 6.5), "{weighted}");
}

/// Writes of 4 KiB at depth 16, and what a change makes of them.
fn writes(requests: u64, change: impl Fn(&mut Setup)) -> Driver {
    let mut setup = small();
    let job = JobSpec { read_percent: 0.0, requests, queue_depth: 16, ..setup.jobs[0].clone() };
    setup.jobs = vec![job];
    change(&mut setup);
    let mut driver = setup.driver();
    driver.play_to_the_end();
    driver
}

fn throttle(bytes: u64) -> FirmwareSpec {
    let throttle = Bandwidth::bytes_per_second(bytes);
    FirmwareSpec { throttle, ..FirmwareSpec::default() }
}

#[test]
fn writes_are_admitted_at_a_rate_while_a_victim_is_collected_and_reads_pass() {
    let slow = 2_000_000;
    let free = writes(4_000, |_| {});
    let held = writes(4_000, |setup| setup.drive.firmware = throttle(slow));
    let rate = |driver: &Driver| a_second(driver) * 4096.0;
    let bound = slow as f64;
    assert!(rate(&free) > 2.0 * bound, "{}", rate(&free));
    // Between two collections nothing is held.
    let of = rate(&held) / bound;
    assert!((0.99..1.5).contains(&of), "{of}");
    let mean = |change: &dyn Fn(&mut Setup)| {
        let driver = writes(400, |setup| {
            let read = JobSpec { read_percent: 100.0, queue_depth: 1, ..setup.jobs[0].clone() };
            setup.jobs.push(read);
            change(setup);
        });
        driver.measured().read.histogram.mean().expect("there are reads").as_us_f64()
    };
    let alone = mean(&|_| {});
    let beside = mean(&|setup| setup.drive.firmware = throttle(slow));
    assert!(beside <= alone, "{beside} {alone}");
}

#[test]
fn a_throttle_above_the_rate_of_writes_or_without_collections_changes_little_or_nothing() {
    let ended = |requests, change: &dyn Fn(&mut Setup)| {
        let driver = writes(requests, change);
        (driver.now(), driver.drive().counters())
    };
    let empty = |setup: &mut Setup| setup.precondition.state = PreconditionState::Empty;
    let held = |setup: &mut Setup| {
        empty(setup);
        setup.drive.firmware = throttle(1_000_000);
    };
    assert_eq!(ended(100, &empty), ended(100, &held));
    let plain = ended(2_000, &|_| {}).0.as_ns() as f64;
    let fast = ended(2_000, &|setup| setup.drive.firmware = throttle(100_000_000_000)).0;
    assert!((fast.as_ns() as f64 / plain - 1.0).abs() < 0.02, "{fast:?} {plain}");
}

/// A drive that absorbs so many KiB and cools at a rate.
fn warm(kib: u64, bytes: u64) -> FirmwareSpec {
    let cooling = Bandwidth::bytes_per_second(bytes);
    FirmwareSpec { cooling, heat: Bytes::kib(kib), ..FirmwareSpec::default() }
}

#[test]
fn a_drive_absorbs_so_much_heat_and_then_works_at_the_rate_at_which_it_cools() {
    let rate = 5_000_000;
    for (percent, heat) in [(0.0, 0), (0.0, 4_096), (100.0, 4_096), (50.0, 1_024)] {
        let driver = writes(4_000, |setup| {
            setup.jobs[0].read_percent = percent;
            setup.drive.firmware = warm(heat, rate);
        });
        // All but the heat, and the last one, cools away until that is admitted; the flash takes
        // its time for what comes before.
        let moved = 3_999 * 4_096;
        let least = (moved - heat * 1_024) as f64 / rate as f64;
        let took = driver.now().as_ns() as f64 / 1e9;
        assert!((least..least * 1.12).contains(&took), "{percent} {heat}: {took} {least}");
    }
}

#[test]
fn a_drive_that_cools_faster_than_it_is_asked_is_the_same() {
    let ended = |change: &dyn Fn(&mut Setup)| {
        let driver = writes(2_000, |setup| {
            setup.jobs[0].read_percent = 50.0;
            change(setup);
        });
        (driver.now(), driver.drive().counters())
    };
    // It must be able to move the bytes of a whole second at once.
    let cool = |setup: &mut Setup| setup.drive.firmware = warm(1 << 20, 1_000_000_000);
    assert_eq!(ended(&|_| {}), ended(&cool));
}

#[test]
fn a_pause_cools_the_drive() {
    let worst = |start: Duration| {
        let driver = writes(100, |setup| {
            setup.drive.firmware = warm(400, 1_000_000);
            let later = JobSpec { start, requests: 100, ..setup.jobs[0].clone() };
            setup.jobs.push(later);
        });
        driver.measured().write.histogram.max().expect("there are writes")
    };
    // 100 writes of 4 KiB are the heat; it takes 0.41 s to cool away.
    let (soon, late) = (worst(Duration::from_ms(100)), worst(Duration::from_ms(700)));
    assert!(soon > Duration::from_ms(40) && late * 4 < soon, "{soon:?} {late:?}");
}
