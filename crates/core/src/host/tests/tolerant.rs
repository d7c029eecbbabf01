//! Drives whose reads and updates look at garbage collection: the same data whatever the rule,
//! faster where it helps; and what a power loss would take.

use super::rain::{drawn_with_parity, guarded};
use super::{Setup, digest, draw::part, one_of};
use crate::drive::{CostRule, EraseMode, ProgramMode, Reconstruct, Scheduler, UpdateReads};
use crate::ftl::{Frontiers, GcMode, GcWhen};
use crate::host::JobSpec;
use crate::sim::Rng;
use crate::stats::RainCounters;
use crate::units::{Bytes, Cause, Duration, Lpn};

/// A drive with parity drawn at random, with a rule and, at times, erases and programs that give
/// way.
fn drawn_tolerant(seed: u64) -> Setup {
    let mut setup = drawn_with_parity(seed);
    let mut rng = Rng::stream(seed, "drawn tolerant");
    setup.rain.reconstruct = one_of(
        &mut rng,
        &[Reconstruct::Full, Reconstruct::Cost, Reconstruct::Cost, Reconstruct::Always],
    );
    let rules = [CostRule::Estimate, CostRule::Rotation, CostRule::RotationAsCoded];
    setup.rain.cost_rule = one_of(&mut rng, &rules);
    setup.rain.update_reads = one_of(&mut rng, &[UpdateReads::Wait, UpdateReads::Reconstruct]);
    setup.gc.mode =
        one_of(&mut rng, &[GcMode::Nogc, GcMode::Base, GcMode::Controller, GcMode::Preemptive]);
    match setup.gc.mode {
        GcMode::Preemptive => setup.gc.when = GcWhen::Background,
        // A defect older than this: copies at zero cost close a shared block while a host's row of
        // it is on its way.
        GcMode::Nogc => setup.ftl.frontiers = Frontiers::Separate,
        _ => {}
    }
    setup.drive.background_flush = rng.below(4) > 0;
    if setup.drive.scheduler == Scheduler::ReadFirst {
        setup.erase.mode =
            one_of(&mut rng, &[EraseMode::None, EraseMode::Es, EraseMode::TEs, EraseMode::DEs]);
        setup.program.mode =
            one_of(&mut rng, &[ProgramMode::None, ProgramMode::Ips, ProgramMode::Ipc]);
    }
    if rng.below(3) == 0 {
        setup.erase.hold = Duration::from_ms(1);
    }
    setup
}

#[test]
fn tolerant_drives_drawn_at_random_complete_every_request_and_keep_the_data() {
    let mut by_rule = [RainCounters::default(); 2];
    let mut turned = 0;
    for seed in 0..part(600) {
        let setup = drawn_tolerant(seed);
        let result = std::panic::catch_unwind(|| setup.play());
        assert!(result.is_ok(), "seed {seed}: {setup:?}");
        let rain = result.map(|driver| driver.drive().counters().rain).unwrap_or_default();
        turned += rain.turned_updates;
        if matches!(setup.rain.reconstruct, Reconstruct::Full | Reconstruct::Cost) {
            let sums = &mut by_rule[usize::from(setup.rain.reconstruct == Reconstruct::Cost)];
            sums.reconstructed_pages += rain.reconstructed_pages;
            sums.whole_stripes += rain.whole_stripes;
            sums.refused_stripes += rain.refused_stripes;
        }
    }
    let [full, cost] = by_rule;
    assert_eq!(full.reconstructed_pages, full.whole_stripes);
    assert!(full.whole_stripes > part(500) && turned > part(500), "{full:?} {turned}");
    assert!(
        cost.reconstructed_pages - cost.whole_stripes > part(5_000)
            && cost.refused_stripes > part(1_000),
        "{cost:?}"
    );
}

/// Reads of single pages over drives of stripes of four.
fn small_reads(reconstruct: Reconstruct) -> Setup {
    let mut setup = guarded(reconstruct);
    setup.gc.mode = GcMode::Base;
    setup.jobs[0] = JobSpec {
        block_sizes: vec![(Bytes::kib(4), 1.0)],
        read_percent: 70.0,
        ..setup.jobs[0].clone()
    };
    setup
}

#[test]
fn without_partial_stripes_small_reads_wait_as_if_nothing_were_computed() {
    let play = |reconstruct| {
        let driver = small_reads(reconstruct).play();
        (driver.drive().counters().rain.reconstructed_pages, digest(&driver))
    };
    let (never, full, cost) =
        (play(Reconstruct::Never), play(Reconstruct::Full), play(Reconstruct::Cost));
    assert_eq!(never, full);
    assert!(cost.0 > 100 && cost.1 != never.1, "{}", cost.0);
}

#[test]
fn fewer_reads_are_blocked_and_their_mean_is_lower_by_cost() {
    let play = |reconstruct| {
        // A light load: the extra reads find free dies.
        let mut setup = small_reads(reconstruct);
        (setup.jobs[0].queue_depth, setup.jobs[0].think) = (2, Duration::from_ms(10));
        let driver = setup.play();
        let measured = driver.measured();
        (measured.gc_blocked_reads, measured.read.histogram.sum_ns())
    };
    let (never, cost) = (play(Reconstruct::Never), play(Reconstruct::Cost));
    assert!(cost.0 * 2 < never.0 && cost.1 < never.1, "{cost:?} {never:?}");
}

/// Deliberate faults: a stale member, a stale parity, and stripes that took each other's parity.
#[test]
fn a_wrong_member_is_caught_under_every_rule() {
    for reconstruct in [Reconstruct::Never, Reconstruct::Full, Reconstruct::Cost] {
        let mut setup = guarded(reconstruct);
        setup.gc.mode = GcMode::Base;
        let sizes = [(Bytes::kib(4), 1.0), (Bytes::kib(36), 1.0)];
        setup.jobs[0] =
            JobSpec { block_sizes: sizes.to_vec(), read_percent: 70.0, ..setup.jobs[0].clone() };
        let mut drive = setup.drive();
        let stripes = drive.ftl().stripes().unwrap().clone();
        for stripe in (0..stripes.count() - 1).step_by(2) {
            let [a, b] = [stripe, stripe + 1]
                .map(|stripe| drive.ftl().member_at(stripes.parity(stripe)).unwrap());
            // Members are of one version now: their parities differ by their addresses.
            drive.exchange(a, b);
        }
        let mut driver = setup.driver_of(drive);
        driver.play_to_the_end();
        let caught = driver.oracle().unwrap().mismatches() > 0;
        assert_eq!(caught, reconstruct != Reconstruct::Never, "{reconstruct:?}");
    }
}

#[test]
fn what_a_read_waits_for_is_split_without_rest_under_the_rules_too() {
    for reconstruct in [Reconstruct::Full, Reconstruct::Cost] {
        let mut setup = guarded(reconstruct);
        setup.gc.mode = GcMode::Base;
        setup.jobs[0] =
            JobSpec { block_sizes: vec![(Bytes::kib(24), 1.0)], ..setup.jobs[0].clone() };
        let mut driver = setup.driver().with_attribution();
        driver.play_to_the_end();
        let (_, total) = driver.measured().causes.as_ref().unwrap().read.total();
        assert_eq!(u128::from(total.total().as_ns()), driver.measured().read.histogram.sum_ns());
        assert!(total.get(Cause::Reconstruct) > Duration::ZERO, "{reconstruct:?}");
    }
}

#[test]
fn every_acknowledged_write_that_a_power_loss_would_take_is_said_to_be_at_risk() {
    for (protected, write_through) in [(false, false), (false, true), (true, false)] {
        for reconstruct in [Reconstruct::Never, Reconstruct::Cost] {
            let mut setup = guarded(reconstruct);
            (setup.drive.power_loss_protection, setup.drive.write_through) =
                (protected, write_through);
            (setup.jobs[0].flush_every, setup.jobs[0].trim_percent) = (500, 5.0);
            let (mut driver, mut lost_at_all) = (setup.driver(), 0);
            let mut goes_on = true;
            while goes_on {
                goes_on = driver.play(50);
                let (drive, oracle) = (driver.drive(), driver.oracle().unwrap());
                let lost = oracle.lost(|lpn| drive.left_after_power_loss(lpn));
                let at_risk: Vec<Lpn> = drive.at_risk().iter().map(|page| page.lpn).collect();
                assert!(at_risk.is_sorted());
                assert!(at_risk.is_empty() || !protected);
                if !protected {
                    lost.iter().for_each(|lpn| {
                        assert!(at_risk.binary_search(lpn).is_ok(), "{lpn:?} is lost")
                    });
                    lost_at_all += lost.len();
                }
            }
            assert_eq!(lost_at_all > 100, !protected && !write_through, "{lost_at_all}");
        }
    }
}

#[test]
fn a_completed_flush_leaves_nothing_at_risk() {
    let mut setup = guarded(Reconstruct::Never);
    setup.drive.power_loss_protection = false;
    // One request at a time, each second one a flush.
    (setup.jobs[0].queue_depth, setup.jobs[0].flush_every, setup.jobs[0].read_percent) =
        (1, 1, 0.0);
    let mut driver = setup.driver();
    let (mut clean, mut dirty) = (0, 0);
    while driver.play(1) {
        let (drive, oracle) = (driver.drive(), driver.oracle().unwrap());
        let lost = oracle.lost(|lpn| drive.left_after_power_loss(lpn));
        if drive.at_risk().is_empty() {
            assert!(lost.is_empty());
            clean += 1;
        } else {
            dirty += 1;
        }
    }
    assert!(clean > 1_000 && dirty > 1_000, "{clean} {dirty}");
}
