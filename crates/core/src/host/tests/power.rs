//! A power budget: nothing is drawn beyond it, the data stays right whatever runs beside, and times
//! are those of arithmetic.

use super::retry::play;
use super::{Setup, digest, drawn, one_of, small};
use crate::drive::{Drive, PowerSpec, PreconditionState, Scheduler, TimelineSpec};
use crate::flash::ChannelTake;
use crate::ftl::{FtlKind, GcMode};
use crate::host::{Arrival, Driver, JobSpec, Pattern};
use crate::sim::Rng;
use crate::stats::PowerCounters;
use crate::units::{Bandwidth, Bytes, Cause, Duration, Instant, Power};

fn spec(budget: u64, program: u64, erase: u64) -> PowerSpec {
    let [budget, program, erase] = [budget, program, erase].map(Power::milliwatts);
    PowerSpec { budget, program, erase }
}

/// Validation refuses others.
fn may_be_limited(setup: &Setup) -> bool {
    let Setup { drive, .. } = setup;
    drive.scheduler != Scheduler::Fifo && drive.channel_take == ChannelTake::Early
}

/// Any budget on a drive that may have anything else; `None` where there can be none.
fn limited(mut setup: Setup) -> Option<Setup> {
    let mut rng = Rng::stream(setup.seed, "limited");
    let program = one_of(&mut rng, &[0, 40, 60]);
    let erase = one_of(&mut rng, &[0, 40, 100]);
    let budget = program.max(erase).max(1) * one_of(&mut rng, &[1, 1, 2, 5]);
    setup.drive.power = spec(budget, program, erase);
    (may_be_limited(&setup) && program + erase > 0).then_some(setup)
}

#[test]
fn drawn_drives_keep_to_their_budget_and_their_data() {
    let (mut seen, mut drives) = (PowerCounters::default(), 0);
    for setup in (0..200).filter_map(|seed| limited(drawn(seed))) {
        let counters = play(&setup).drive().counters();
        let power = counters.power;
        assert!(power.peak <= setup.drive.power.budget.get(), "seed {}: {power:?}", setup.seed);
        assert!(power.waits == 0 || !power.waited.is_zero(), "seed {}: {power:?}", setup.seed);
        seen.add(&power);
        drives += 1;
    }
    assert!(drives > 70 && seen.waits > 30_000, "{drives}: {seen:?}");
}

#[test]
fn merges_of_log_blocks_keep_to_a_budget_and_their_data() {
    for (mode, budget) in [(GcMode::Base, 50), (GcMode::Base, 150), (GcMode::Preemptive, 100)] {
        for seed in 0..4 {
            let mut setup = Setup { seed, ..small() };
            setup.ftl.kind = FtlKind::LogBlock;
            (setup.ftl.log.log_percent, setup.gc.mode) = (32.0, mode);
            setup.device.geometry.planes = 2;
            setup.drive.power = spec(budget, 50, 50);
            setup.jobs[0] = JobSpec { requests: 3_000, queue_depth: 16, ..setup.jobs[0].clone() };
            let counters = play(&setup).drive().counters();
            assert!(counters.power.peak <= budget && counters.power.waits > 100);
            assert!(counters.log.full_merges > 0, "{:?}", counters.log);
        }
    }
}

#[test]
fn a_budget_that_covers_all_dies_changes_nothing() {
    // All but the counters of the budget itself.
    let rest = |driver: &Driver| {
        let all = digest(driver);
        let (before, power) = all.split_once("power: PowerCounters").expect("it has counters");
        format!("{before}{}", power.split_once('}').expect("they end").1)
    };
    for mut setup in (0..100).map(drawn).filter(may_be_limited) {
        let without = rest(&setup.play());
        setup.drive.power = spec(1_000_000, 50, 50);
        assert!(rest(&setup.play()) == without, "seed {}", setup.seed);
    }
}

#[test]
fn observers_and_short_ways_change_nothing_within_a_budget() {
    let everything = TimelineSpec {
        from: Instant::START,
        to: Instant::NEVER,
        slow: Some(Duration::ZERO),
        limit: u64::MAX,
    };
    for mut setup in (0..50).filter_map(|seed| limited(drawn(seed))) {
        setup.jobs[0].requests = 400;
        let play = |change: &dyn Fn(&mut Drive)| {
            let mut drive = setup.bare_drive();
            change(&mut drive);
            let mut driver = setup.driver_of(drive);
            driver.play_to_the_end();
            digest(&driver)
        };
        let bare = play(&|_| ());
        assert_eq!(bare, play(&|drive| drive.attribute()), "seed {}", setup.seed);
        let watched = play(&|drive| drive.keep_timeline(&everything));
        assert_eq!(bare, watched, "seed {}", setup.seed);
        assert_eq!(bare, play(&|drive| drive.take_the_long_way()), "seed {}", setup.seed);
    }
}

/// Writes through to flash of an empty drive of four dies whose channels take no time.
fn writes(depth: u32, power: PowerSpec) -> Driver {
    let mut setup = small();
    let device = &mut setup.device;
    (device.channel.rate, device.channel.command) = (Bandwidth::default(), Duration::ZERO);
    setup.precondition.state = PreconditionState::Empty;
    (setup.drive.write_through, setup.drive.power) = (true, power);
    let job = &setup.jobs[0];
    setup.jobs = vec![JobSpec {
        requests: 96,
        read_percent: 0.0,
        pattern: Pattern::Sequential,
        queue_depth: depth,
        ..job.clone()
    }];
    let mut driver = setup.driver().with_attribution();
    driver.play_to_the_end();
    driver
}

#[test]
fn as_many_dies_program_at_once_as_the_budget_covers() {
    let program = small().device.timing.program[0];
    for (budget, at_once) in [(50, 1), (99, 1), (100, 2), (150, 3), (200, 4), (1_000, 4)] {
        let driver = writes(4, spec(budget, 50, 60 * u64::from(budget >= 60)));
        assert_eq!(driver.now(), Instant::START + program * (96 / at_once), "{budget} mW");
        let power = driver.drive().counters().power;
        assert_eq!(power.peak, 50 * at_once, "{budget} mW");
        assert_eq!(power.waits == 0, at_once == 4, "{budget} mW");
    }
}

/// A die that is never out of programs, or of whose requests nine in ten are reads, keeps no other
/// from its turn for long.
#[test]
fn a_busy_die_keeps_no_other_from_its_turn() {
    let worst = |cache_program: bool, read_percent: f64| {
        let mut setup = small();
        setup.device.feature.cache_program = cache_program;
        setup.precondition.state = PreconditionState::Fill;
        (setup.drive.write_through, setup.gc.mode) = (true, GcMode::Preemptive);
        (setup.drive.scheduler, setup.drive.power) = (Scheduler::OutOfOrder, spec(50, 50, 50));
        let lanes = u64::from(setup.device.geometry.channels * setup.device.geometry.ways);
        let align = setup.device.geometry.map_unit.get() * lanes;
        // All of it goes to one lane.
        let job = JobSpec { queue_depth: 16, requests: 3_000, ..setup.jobs[0].clone() };
        let busy = JobSpec { align: Bytes::new(align), read_percent, ..job.clone() };
        let rare = JobSpec { read_percent: 0.0, queue_depth: 1, requests: 40, ..job };
        setup.jobs = vec![busy, rare];
        let driver = setup.play();
        driver.measured().write.histogram.max().expect("there are writes")
    };
    for (cache, reads) in [(true, 0.0), (true, 90.0), (false, 90.0), (false, 0.0)] {
        let worst = worst(cache, reads);
        assert!(worst < Duration::from_ms(200), "{cache} {reads}: {worst}");
    }
}

#[test]
fn a_row_that_waits_for_power_says_so() {
    let program = small().device.timing.program[0];
    let driver = writes(4, spec(50, 50, 0));
    let causes = driver.measured().causes.as_deref().expect("waits are attributed");
    let (count, split) = causes.write.total();
    // Four writes are under way: each waits for three others.
    let first_ones = program * (1 + 2);
    assert_eq!(split.get(Cause::Queue), program * 3 * (count - 3) + first_ones);
    assert_eq!(split.get(Cause::Service) + split.get(Cause::Queue), split.total());
}

#[test]
fn reads_pass_what_waits_and_an_erase_is_not_passed_for_ever() {
    let play = |power: PowerSpec| {
        let mut setup = small();
        setup.gc.mode = GcMode::Preemptive;
        setup.drive.power = power;
        setup.jobs[0] = JobSpec { requests: 8_000, queue_depth: 16, ..setup.jobs[0].clone() };
        setup.play()
    };
    let [free, tight] = [spec(0, 0, 0), spec(100, 50, 100)].map(play);
    let mean = |driver: &Driver| driver.measured().read.histogram.mean().expect("there are reads");
    // A read waits for the one program on its die, as before, and for no other.
    assert!(mean(&tight) < mean(&free) * 2, "{} {}", mean(&tight), mean(&free));
    assert!(tight.now() > free.now());
    assert!(tight.drive().counters().erases > 200);
}

/// `out-of-order` lets the oldest operation of a die go first: also one that waits for power, in a
/// die's turn, on a die that never is without reads, while others draw the whole budget.
#[test]
fn a_die_that_always_reads_has_its_turn() {
    let writes = |power: PowerSpec| {
        let mut setup = small();
        setup.precondition.state = PreconditionState::Fill;
        (setup.drive.write_through, setup.gc.mode) = (true, GcMode::Preemptive);
        (setup.drive.scheduler, setup.drive.power) = (Scheduler::OutOfOrder, power);
        setup.drive.buffer = Bytes::kib(4096);
        let lanes = u64::from(setup.device.geometry.channels * setup.device.geometry.ways);
        let align = Bytes::new(setup.device.geometry.map_unit.get() * lanes);
        // Reads of one die; writes of all.
        let time = Duration::from_s(2);
        let job = JobSpec { requests: 0, time, ..setup.jobs[0].clone() };
        let reads = JobSpec { align, read_percent: 100.0, queue_depth: 4, ..job.clone() };
        let writes = JobSpec { read_percent: 0.0, queue_depth: 256, ..job };
        setup.jobs = vec![reads, writes];
        setup.play().measured().write.histogram.count()
    };
    let [free, tight] = [spec(0, 0, 0), spec(50, 50, 50)].map(writes);
    // One die of four programs at a time.
    assert!(tight > free / 5, "{tight} where it is {free} without a budget");
}

/// A die that reads for most of the time keeps its own share, and not all that is free: the others
/// divide what is left as if there were no budget, as long as that is enough for all.
#[test]
fn a_die_that_reads_keeps_its_own_share_alone() {
    let mean_write = |shares: u64, scheduler: Scheduler| {
        let mut setup = small();
        let g = &mut setup.device.geometry;
        (g.channels, g.ways, g.blocks) = (4, 4, 64);
        setup.device.timing.read = vec![Duration::from_ms(1)];
        setup.device.channel.rate = Bandwidth::default();
        setup.precondition.state = PreconditionState::Fill;
        (setup.drive.write_through, setup.gc.mode) = (true, GcMode::Preemptive);
        (setup.drive.scheduler, setup.drive.power) = (scheduler, spec(50 * shares, 50, 50));
        setup.drive.buffer = Bytes::kib(4096);
        let align = Bytes::new(setup.device.geometry.map_unit.get() * 16);
        let time = Duration::from_ms(400);
        let arrival = Arrival::Poisson;
        let job = JobSpec { requests: 0, time, arrival, ..setup.jobs[0].clone() };
        // One die reads for four fifths of the time; 7.6 dies program.
        let reads = JobSpec { align, read_percent: 100.0, rate: 800.0, ..job.clone() };
        let writes = JobSpec { read_percent: 0.0, rate: 9_500.0, ..job };
        setup.jobs = vec![reads, writes];
        setup.play().measured().write.histogram.mean().expect("there are writes")
    };
    for scheduler in [Scheduler::OutOfOrder, Scheduler::ReadFirst] {
        let [free, tight] = [16, 10].map(|shares| mean_write(shares, scheduler));
        println!("{scheduler:?}: {tight} where it is {free} with a share for each die");
        assert!(tight < free * 2, "{scheduler:?}: {tight} where it is {free}");
    }
}
