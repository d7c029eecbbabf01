//! Predictable latency over drives drawn at random: what does not fail waits for no garbage
//! collection, what fails says for how long, and nothing is lost. And busy windows: no step of a
//! collection crosses a window's end.

mod game;
mod internal;

pub(super) use game::Game;

use super::{Setup, draw::part, drawn, one_of, small};
use crate::drive::{
    BusyRemaining, Drive, EraseMode, PredictableLatency, ProgramMode, Scheduler, Status,
    WindowSchedule, Windows,
};
use crate::ftl::{FtlKind, GcMode, GcWhen, VictimUnit};
use crate::sim::Rng;
use crate::stats::PredictableCounters;
use crate::units::{Duration, Instant};

pub(super) fn requests(mut setup: Setup, requests: u64) -> Setup {
    setup.jobs[0].requests = requests;
    setup
}

/// Every GC mode, victim unit, scheduler and feature that can be combined.
#[test]
fn a_read_that_may_fail_waits_for_no_garbage_collection() {
    let (mut fails, mut late, mut modes) = (0, 0, [0; GcMode::ALL.len()]);
    for seed in 0..part(240) {
        let setup = requests(drawn(seed), 1_000);
        for spacing in [60, 600] {
            let mut game = Game { spacing: Duration::from_us(spacing), ..Game::new(&setup) };
            let counters = game.play().counters;
            assert!(setup.gc.mode != GcMode::Nogc || counters.fast_fails == 0, "{counters:?}");
            fails += counters.fast_fails;
            late += counters.fast_fails_late;
            modes[setup.gc.mode as usize] += counters.fast_fails;
        }
    }
    println!("{fails} failed, {late} of them late, by mode {modes:?}");
    assert!(fails > part(5_000) && late > part(300), "{fails} {late}");
    assert!(
        modes.iter().filter(|fails| **fails > part(100)).count() == GcMode::ALL.len() - 1,
        "{modes:?}"
    );
}

/// A read that must wait, or of which nothing was said, never fails; and their drive does the same
/// with either.
#[test]
fn others_never_fail() {
    for seed in 0..20 {
        let setup = requests(drawn(seed), 600);
        let played = Game { predictable_percent: 0, ..Game::new(&setup) }.play();
        assert!(
            played.log.iter().all(|(_, _, status, _)| *status != Status::PredictableLatencyNotMet)
        );
        assert_eq!(played.counters, PredictableCounters::default());
    }
}

/// When garbage collection lets go of every die that it kept from `read`, which waits there, on a
/// copy of the drive to which nothing else comes: it no longer has the die, or one of the host's
/// operations has begun there.
fn released(before: &Drive, at: Instant, read: &crate::drive::Command) -> Duration {
    let (kept, channels) = before.kept_dies(at, read);
    let mut drive = before.clone();
    drive.submit(
        at,
        crate::drive::Command { predictable: PredictableLatency::MustWait, ..read.clone() },
    );
    let mut dies: Vec<_> =
        kept.into_iter().map(|die| (die, drive.host_operation(at, die))).collect();
    let mut now = at;
    loop {
        dies.retain(|(die, before)| {
            drive.keeps_die(now, *die) && drive.host_operation(now, *die) <= *before
        });
        if dies.is_empty() {
            return now.since(at).max(channels);
        }
        now = drive.next_event_at();
        assert!(now < Instant::NEVER, "garbage collection ends");
        while drive.advance_before(now + Duration::from_ns(1)).is_some() {}
    }
}

/// Uniform page times; nothing gives way; commands reach the controller at once.
fn plain(seed: u64, mode: GcMode, unit: VictimUnit) -> Setup {
    let mut rng = Rng::stream(seed, "plain");
    let mut setup = Setup { seed, ..small() };
    let g = &mut setup.device.geometry;
    (g.channels, g.ways, g.dies) =
        (one_of(&mut rng, &[1, 2, 3]), one_of(&mut rng, &[1, 2]), one_of(&mut rng, &[1, 2]));
    if unit != VictimUnit::Block {
        g.planes = 2;
        setup.ftl.allocation = crate::ftl::Allocation::Dynamic;
    }
    (setup.gc.mode, setup.gc.unit) = (mode, unit);
    setup.gc.copyback = mode == GcMode::PlaneBlocking;
    setup.gc.when = one_of(&mut rng, &[GcWhen::Background, GcWhen::Foreground]);
    setup.drive.scheduler = Scheduler::ReadFirst;
    setup.drive.controller = Duration::ZERO;
    setup.drive.link = crate::units::Bandwidth::default();
    (setup.jobs[0].requests, setup.jobs[0].read_percent) = (2_000, 50.0);
    setup
}

/// How far the busy remaining times of a mode are from what happens.
#[derive(Debug, Default)]
struct Errors {
    all: u64,
    exact: u64,
    held: u64,
    held_exact: u64,
    too_short: u64,
    worst_short: Duration,
    worst_long: Duration,
    sum_off: Duration,
    sum: Duration,
}

fn errors_of(mode: GcMode, unit: VictimUnit, seeds: u64, windows: Windows) -> Errors {
    let errors = errors_over((0..seeds).map(|seed| plain(seed, mode, unit)), windows);
    println!("{mode:?} {unit:?} {windows:?}: {errors:?}");
    errors
}

fn errors_over(setups: impl Iterator<Item = Setup>, windows: Windows) -> Errors {
    let mut errors = Errors::default();
    for setup in setups {
        let mut spy = |before: &Drive, at: Instant, read: &crate::drive::Command, after: &Drive| {
            let (was, is) = (before.counters().predictable, after.counters().predictable);
            if is.fast_fails == was.fast_fails || is.fast_fails_late > was.fast_fails_late {
                return;
            }
            let mut drive = after.clone();
            let end =
                drive.advance_before(at + Duration::from_ns(1)).expect("it completes at once");
            let (said, real) = (Duration::from_ns(end.result64), released(before, at, read));
            let (dies, _) = before.kept_dies(at, read);
            let held = dies.iter().all(|die| before.only_holds_for_copies(at, *die));
            errors.all += 1;
            errors.exact += u64::from(said == real);
            errors.held += u64::from(held);
            errors.held_exact += u64::from(held && said == real);
            errors.too_short += u64::from(said < real);
            errors.worst_short =
                errors.worst_short.max(if said < real { real - said } else { Duration::ZERO });
            errors.worst_long =
                errors.worst_long.max(if said > real { said - real } else { Duration::ZERO });
            errors.sum_off += if said > real { said - real } else { real - said };
            errors.sum += real;
        };
        let spacing = Duration::from_us(700);
        let mut game = Game { before: Some(&mut spy), spacing, windows, ..Game::new(&setup) };
        game.play();
    }
    errors
}

/// With perfect foresight every one is what happens, in every mode, victim unit and feature that
/// can be combined, with windows and without.
#[test]
fn a_busy_remaining_time_of_perfect_foresight_is_exactly_what_happens() {
    let exact = |setup: Setup, requests: u64| {
        let mut setup = self::requests(setup, requests);
        setup.jobs[0].read_percent = 50.0;
        (setup.drive.brt, setup.drive.controller) = (BusyRemaining::Exact, Duration::ZERO);
        (setup.drive.link, setup.drive.queue_depth) = (crate::units::Bandwidth::default(), 0);
        setup.drive.firmware = crate::drive::FirmwareSpec::default();
        setup
    };
    let mut modes = [0; GcMode::ALL.len()];
    for seed in 0..120 {
        for windows in [Windows::Off, schedule(3, 1, Duration::from_ms(25))] {
            let setup = exact(drawn(seed), 400);
            let mode = setup.gc.mode as usize;
            let errors = errors_over(std::iter::once(setup), windows);
            assert_eq!(errors.exact, errors.all, "seed {seed} {windows:?}: {errors:?}");
            modes[mode] += errors.all;
        }
    }
    for unit in [VictimUnit::Block, VictimUnit::PlaneGroup, VictimUnit::Superblock] {
        for windows in [Windows::Off, schedule(3, 1, Duration::from_ms(25))] {
            let errors = errors_over(
                (0..4).map(|seed| exact(plain(seed, GcMode::Base, unit), 2_000)),
                windows,
            );
            assert!(
                errors.all > 15 && errors.exact == errors.all,
                "{unit:?} {windows:?}: {errors:?}"
            );
        }
    }
    println!("by mode {modes:?}");
    assert!(
        modes.iter().filter(|fails| **fails > 40).count() == GcMode::ALL.len() - 1,
        "{modes:?}"
    );
}

/// Single blocks, uniform page times: the held channel makes it exact, but where a collection
/// follows that nobody had asked for at that time, or another read keeps the victim from being
/// erased. (The worst of either is printed.)
#[test]
fn a_busy_remaining_time_is_what_happens() {
    for (mode, exact_percent) in [
        (GcMode::Base, 93),
        (GcMode::Controller, 90),
        (GcMode::PlaneBlocking, 95),
        (GcMode::Preemptive, 98),
    ] {
        let errors = errors_of(mode, VictimUnit::Block, 12, Windows::Off);
        assert!(errors.all > 300, "{mode:?}: {errors:?}");
        assert!(errors.exact * 100 >= errors.all * exact_percent, "{mode:?}: {errors:?}");
    }
}

/// With nothing of the host's under way there is nothing that is not known.
#[test]
fn what_a_held_channel_keeps_is_told_to_the_nanosecond() {
    for mode in [GcMode::Base, GcMode::Controller] {
        let errors = errors_of(mode, VictimUnit::Block, 40, Windows::Off);
        assert!(errors.held > 100 && errors.held_exact == errors.held, "{mode:?}: {errors:?}");
    }
}

/// Victims of several lanes: exact where they are held, as far as nobody but the collection works;
/// for plane groups, which follow one another, less often.
#[test]
fn a_busy_remaining_time_of_groups_is_near() {
    for unit in [VictimUnit::PlaneGroup, VictimUnit::Superblock] {
        for mode in [GcMode::Base, GcMode::Controller, GcMode::Preemptive] {
            let errors = errors_of(mode, unit, 8, Windows::Off);
            assert!(errors.sum_off * 2 < errors.sum, "{mode:?} {unit:?}: {errors:?}");
            let exact_percent = if unit == VictimUnit::Superblock { 92 } else { 80 };
            assert!(
                errors.exact * 100 >= errors.all * exact_percent,
                "{mode:?} {unit:?}: {errors:?}"
            );
            assert_eq!(errors.held_exact, errors.held, "{mode:?} {unit:?}: {errors:?}");
        }
    }
}

/// Pages of a victim that are deallocated while it is copied are copied no more, and that is known
/// at once.
#[test]
fn a_busy_remaining_time_knows_what_was_deallocated() {
    let mut setups: Vec<Setup> =
        (0..12).map(|seed| plain(seed, GcMode::Base, VictimUnit::Superblock)).collect();
    for job in setups.iter_mut().map(|setup| &mut setup.jobs[0]) {
        (job.read_percent, job.trim_percent) = (50.0, 8.0);
    }
    let errors = errors_over(setups.into_iter(), Windows::Off);
    println!("{errors:?}");
    assert!(errors.all > 300 && errors.worst_long.is_zero(), "{errors:?}");
    assert!(errors.exact * 100 >= errors.all * 92, "{errors:?}");
}

/// A window ends some collections before they are done: the replay stops at the step that it
/// refuses.
#[test]
fn a_busy_remaining_time_ends_with_the_window() {
    for mode in [GcMode::Base, GcMode::Controller] {
        let errors =
            errors_of(mode, VictimUnit::Superblock, 8, schedule(3, 1, Duration::from_ms(25)));
        assert!(errors.all > 50 && errors.sum_off * 10 < errors.sum, "{mode:?}: {errors:?}");
        assert!(
            errors.exact * 100 >= errors.all * 80 && errors.held_exact == errors.held,
            "{mode:?}: {errors:?}"
        );
    }
}

/// Windows of a member of `members`, each long enough for a step.
fn schedule(members: u32, index: u32, length: Duration) -> Windows {
    let (cycle_start, guard) = (Instant::from_ns(12_345), Duration::from_us(50));
    Windows::Scheduled(WindowSchedule { members, index, length, cycle_start, guard })
}

#[test]
fn no_step_crosses_the_end_of_a_window_unless_it_is_forced() {
    let mut all = PredictableCounters::default();
    for seed in 0..150 {
        let mut setup = requests(drawn(seed), 800);
        setup.erase.mode = EraseMode::None;
        setup.program.mode = ProgramMode::None;
        if setup.ftl.kind == FtlKind::LogBlock {
            continue;
        }
        let members = 2 + (seed % 15) as u32;
        let length = Duration::from_us([3_000, 8_000, 40_000][seed as usize % 3]);
        let windows = schedule(members, seed as u32 % members, length);
        let counters = Game { windows, ..Game::new(&setup) }.play().counters;
        assert_eq!(counters.overruns, 0, "seed {seed}: {counters:?} {setup:?}");
        all.steps_in_window += counters.steps_in_window;
        all.violations += counters.violations;
        all.windows += counters.windows;
        all.violation_time += counters.violation_time;
    }
    println!("{all:?}");
    assert!(all.steps_in_window > 5_000 && all.violations > 1_000 && all.windows > 300, "{all:?}");
}

/// At a low rate of writes nothing is forced once the drive keeps to its windows; far above what
/// windows can reclaim, much is, and every write still completes.
#[test]
fn the_contract_holds_at_a_low_rate_of_writes_and_is_broken_at_a_high_one() {
    for mode in [GcMode::Base, GcMode::Controller, GcMode::PlaneBlocking, GcMode::Preemptive] {
        let play = |spacing: u64| {
            let mut setup = plain(1, mode, VictimUnit::Block);
            (setup.gc.when, setup.gc.soft, setup.gc.hard) =
                (GcWhen::Foreground, 0.25.into(), 0.08.into());
            setup.jobs[0].requests = 4_000;
            let windows = schedule(4, 1, Duration::from_ms(40));
            let spacing = Duration::from_us(spacing);
            Game { windows, spacing, ..Game::new(&setup) }.play().counters
        };
        let (low, high) = (play(6_000), play(150));
        println!("{mode:?}: low {low:?}\n  high {high:?}");
        assert!(
            low.violations == 0 && low.overruns == 0 && low.steps_in_window > 1_000,
            "{mode:?}: {low:?}"
        );
        assert!(low.violation_time.is_zero() && low.windows > 50, "{mode:?}: {low:?}");
        assert!(
            high.violations > 300 && high.violation_time > Duration::from_ms(50),
            "{mode:?}: {high:?}"
        );
        assert!(low.fast_fails > 0, "{mode:?}: {low:?}");
    }
}

/// In its own deterministic window nothing starts but what is forced; in the other one all goes as
/// without windows.
#[test]
fn the_host_may_say_which_window_it_is_in() {
    let setup = plain(3, GcMode::Base, VictimUnit::Block);
    let play = |windows| Game { windows, ..Game::new(&setup) }.play();
    let (off, free, none) =
        (play(Windows::Off), play(Windows::NonDeterministic), play(Windows::Deterministic));
    assert_eq!(off.log, free.log);
    assert_eq!(off.counters.steps_in_window, 0);
    assert!(
        free.counters.steps_in_window > 1_000 && free.counters.violations == 0,
        "{:?}",
        free.counters
    );
    assert!(
        none.counters.steps_in_window == 0 && none.counters.violations > 500,
        "{:?}",
        none.counters
    );
}

/// A seed gives the same run, however the advance is cut.
#[test]
fn cutting_the_advance_changes_nothing() {
    for seed in 0..60 {
        let setup = requests(drawn(seed), 400);
        let windows =
            if seed % 4 == 0 { Windows::Off } else { schedule(3, 1, Duration::from_ms(5)) };
        let play = |cut| Game { windows, cut, ..Game::new(&setup) }.play();
        let whole = play(false);
        assert_eq!(whole, play(true), "seed {seed}");
        assert_eq!(whole, play(false), "seed {seed}");
    }
}
