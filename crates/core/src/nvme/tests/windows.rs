//! The windows, with times computed by hand: a deterministic window lasts 102 ms at most, the other
//! 270 ms at least.

use super::*;
use crate::drive::WindowSchedule;
use crate::nvme::plm::{ArrayType, Config, Schedule, Window, event};

const DTWIN: u64 = 102;
const NDWIN: u64 = 270;

fn by_host(config: Config) -> Controller {
    let mut controller = controller();
    controller.set_predictable(ms(0), &config, true).unwrap();
    controller
}

fn all_events() -> Config {
    Config { events: event::ALL, ..Config::default() }
}

/// The window and its events, which stay.
fn state(controller: &mut Controller, now: Instant) -> (Window, u16) {
    advance(controller, now);
    let log = controller.predictable_log(now, true).unwrap();
    (log.window, log.events)
}

fn is_later(reply: &AdminReply) -> bool {
    *reply == AdminReply::Later
}

/// In the deterministic window at 270 ms.
fn in_dtwin(config: Config) -> Controller {
    let mut controller = by_host(config);
    advance(&mut controller, ms(NDWIN));
    assert!(!is_later(&controller.select_window(ms(NDWIN), Window::Deterministic, 1)));
    controller
}

#[test]
fn the_mode_begins_in_the_non_deterministic_window() {
    let mut controller = controller();
    assert_eq!(state(&mut controller, ms(0)), (Window::Off, 0));
    assert_eq!(controller.next_event_at(), Instant::NEVER);
    controller.set_predictable(ms(1), &all_events(), true).unwrap();
    assert_eq!(state(&mut controller, ms(1)), (Window::NonDeterministic, 0));
    assert_eq!(
        controller.next_event_at(),
        Instant::NEVER,
        "nothing happens until the host says so"
    );
    controller.set_predictable(ms(2), &all_events(), false).unwrap();
    assert_eq!(state(&mut controller, ms(2)), (Window::Off, 0));
}

#[test]
fn the_deterministic_window_begins_no_earlier_than_the_minimum_allows() {
    let mut controller = by_host(all_events());
    assert!(is_later(&controller.select_window(ms(10), Window::Deterministic, 7)));
    assert!(is_later(&controller.select_window(ms(20), Window::Deterministic, 8)));
    assert_eq!(controller.next_event_at(), ms(NDWIN));
    assert_eq!(state(&mut controller, ms(NDWIN)).0, Window::NonDeterministic);
    assert_eq!(controller.take_admin_completion(), None);
    advance(&mut controller, ms(NDWIN) + Duration::from_ns(1));
    for cid in [7, 8] {
        let expected = AdminCompletion::new(cid, ms(NDWIN), StatusField::SUCCESS);
        assert_eq!(controller.take_admin_completion(), Some(expected));
    }
    assert_eq!(state(&mut controller, ms(NDWIN + 1)).0, Window::Deterministic);
    let selected = done(&mut controller, ms(NDWIN + 1), &Sqe::get_features(0x14, 1), &[]);
    assert_eq!((selected.status, selected.result), (StatusField::SUCCESS, 1));
}

#[test]
fn a_wait_for_the_deterministic_window_ends_when_the_host_wants_the_other_or_none() {
    for off in [false, true] {
        let mut controller = by_host(all_events());
        assert!(is_later(&controller.select_window(ms(10), Window::Deterministic, 7)));
        if off {
            controller.set_predictable(ms(20), &all_events(), false).unwrap();
        } else {
            assert!(!is_later(&controller.select_window(ms(20), Window::NonDeterministic, 8)));
        }
        let told = controller.take_admin_completion().unwrap();
        assert_eq!((told.cid, told.at, told.status), (7, ms(20), StatusField(0x400c)));
        assert_eq!(controller.next_event_at(), Instant::NEVER);
        assert_ne!(state(&mut controller, ms(1000)).0, Window::Deterministic);
    }
}

#[test]
fn the_deterministic_window_ends_by_itself_at_its_maximum() {
    let mut controller = in_dtwin(all_events());
    let end = ms(NDWIN + DTWIN);
    assert_eq!(state(&mut controller, end), (Window::Deterministic, 0));
    assert_eq!(controller.next_event_at(), end);
    let after = end + Duration::from_ns(1);
    // The threshold of the time is 0 ms: its warning comes at the end too.
    assert_eq!(
        state(&mut controller, after),
        (Window::NonDeterministic, event::EXCEEDED | event::TIME)
    );
    // And the next one has to wait from there.
    assert!(is_later(&controller.select_window(after, Window::Deterministic, 2)));
    assert_eq!(controller.next_event_at(), end + Duration::from_ms(NDWIN));
}

#[test]
fn the_host_ends_the_deterministic_window_without_an_event() {
    let mut controller = in_dtwin(all_events());
    assert!(!is_later(&controller.select_window(ms(NDWIN + 50), Window::NonDeterministic, 2)));
    assert_eq!(state(&mut controller, ms(NDWIN + DTWIN + 1)), (Window::NonDeterministic, 0));
}

#[test]
fn the_time_warning_comes_when_what_is_left_is_its_threshold() {
    let mut controller = in_dtwin(Config { time_threshold: 30, ..all_events() });
    let due = ms(NDWIN + DTWIN - 30);
    assert_eq!(state(&mut controller, due), (Window::Deterministic, 0));
    assert_eq!(controller.next_event_at(), due);
    let after = due + Duration::from_ns(1);
    assert_eq!(state(&mut controller, after), (Window::Deterministic, event::TIME));
    // 29.999999 ms are left.
    assert_eq!(controller.predictable_log(after, true).unwrap().time_ms, (DTWIN, 29));
}

#[test]
fn what_is_left_falls_with_reads_and_writes_until_the_warnings_come() {
    let config = Config { reads_threshold: 45_757, writes_threshold: 8_190, ..all_events() };
    let mut controller = in_dtwin(config);
    let now = ms(NDWIN);
    let left = |controller: &mut Controller| {
        let log = controller.predictable_log(now, true).unwrap();
        (log.reads, log.writes, log.events)
    };
    assert_eq!(left(&mut controller), ((45_760, 45_760), (8_192, 8_192), 0));
    controller.submit(now, command(1, Op::Read, 0, 1));
    assert_eq!(left(&mut controller).0, (45_760, 45_759), "a sector counts as a read");
    controller.submit(now, command(2, Op::Read, 0, 9));
    assert_eq!(left(&mut controller), ((45_760, 45_757), (8_192, 8_192), event::READS));
    controller.submit(now, command(3, Op::Write, 0, 8));
    assert_eq!(left(&mut controller).1, (8_192, 8_191));
    controller.submit(now, command(4, Op::Flush, 0, 0));
    controller.submit(now, command(5, Op::Trim, 64, 64));
    assert_eq!(left(&mut controller).1, (8_192, 8_191));
    controller.submit(now, command(6, Op::Write, 8, 1));
    assert_eq!(
        left(&mut controller),
        ((45_760, 45_757), (8_192, 8_190), event::READS | event::WRITES)
    );
}

#[test]
fn more_writes_than_typical_end_the_deterministic_window() {
    let mut controller = in_dtwin(all_events());
    let now = ms(NDWIN);
    // Typical are 8,192 pages: 128 writes of 512 sectors each are 64 pages too few for one more.
    for id in 0..128 {
        controller.submit(now, command(id, Op::Write, u64::from(id) * 512, 512));
    }
    let log = controller.predictable_log(now, true).unwrap();
    assert_eq!((log.window, log.writes.1, log.events), (Window::Deterministic, 0, event::WRITES));
    controller.submit(now, command(200, Op::Write, 0, 1));
    let log = controller.predictable_log(now, true).unwrap();
    assert_eq!((log.window, log.writes.1), (Window::NonDeterministic, 8_192));
    assert_eq!(log.events, event::WRITES | event::EXCEEDED);
}

#[test]
fn more_reads_than_typical_end_the_deterministic_window_told_or_not() {
    let mut controller = in_dtwin(Config::default());
    let now = ms(NDWIN);
    // 45,760 reads of 4 KiB are 71.5 commands of 2.5 MiB.
    for id in 0..71 {
        controller.submit(now, command(id, Op::Read, 0, 5_120));
    }
    assert_eq!(controller.predictable_log(now, true).unwrap().reads.1, 320);
    controller.submit(now, command(100, Op::Read, 0, 2_560));
    assert_eq!(controller.predictable_log(now, true).unwrap().window, Window::Deterministic);
    controller.submit(now, command(101, Op::Read, 0, 1));
    let log = controller.predictable_log(now, true).unwrap();
    assert_eq!((log.window, log.events), (Window::NonDeterministic, 0), "no event is wanted");
}

/// Four members, 10 ms each, this one the second: its busy windows are 10..20 ms, 50..60 ms, ..
pub fn schedule_of_four() -> Schedule {
    let windows = WindowSchedule {
        members: 4,
        index: 1,
        length: Duration::from_ms(10),
        cycle_start: ms(0),
        guard: Duration::ZERO,
    };
    Schedule { array: ArrayType::SingleParity, windows }
}

fn scheduled(config: Config) -> Controller {
    by_host(Config { schedule: Some(schedule_of_four()), ..config })
}

#[test]
fn a_schedule_says_which_window_it_is() {
    let mut controller = scheduled(Config::default());
    for (at, window, left) in [
        (0, Window::Deterministic, 10),
        (9, Window::Deterministic, 1),
        (10, Window::NonDeterministic, 30),
        (19, Window::NonDeterministic, 30),
        (20, Window::Deterministic, 30),
        (49, Window::Deterministic, 1),
        (50, Window::NonDeterministic, 30),
        (1_000_030, Window::Deterministic, 20),
    ] {
        let log = controller.predictable_log(ms(at), true).unwrap();
        assert_eq!((log.window, log.time_ms), (window, (30, left)), "at {at} ms");
    }
    assert_eq!(controller.next_event_at(), Instant::NEVER, "an idle drive stays idle");
}

#[test]
fn under_a_schedule_the_host_does_not_select() {
    let mut controller = scheduled(Config::default());
    for window in [Window::Deterministic, Window::NonDeterministic] {
        let AdminReply::Done(refused) = controller.select_window(ms(5), window, 1) else {
            panic!("later")
        };
        assert_eq!(refused.status, StatusField(0x400c));
    }
    let got = done(&mut controller, ms(15), &Sqe::get_features(0x14, 1), &[]);
    assert_eq!((got.status, got.result), (StatusField::SUCCESS, 2));
}

#[test]
fn under_a_schedule_counts_begin_anew_with_each_deterministic_window() {
    let mut controller = scheduled(Config::default());
    controller.submit(ms(5), command(1, Op::Read, 0, 80));
    assert_eq!(controller.predictable_log(ms(6), true).unwrap().reads.1, 45_750);
    advance(&mut controller, ms(15));
    controller.submit(ms(15), command(2, Op::Read, 0, 80));
    assert_eq!(controller.predictable_log(ms(25), true).unwrap().reads.1, 45_760);
}

#[test]
fn under_a_schedule_the_time_warning_comes_once_a_window_and_only_if_it_is_news() {
    let mut controller =
        scheduled(Config { events: event::TIME, time_threshold: 4, ..Config::default() });
    assert_eq!(controller.next_event_at(), ms(6));
    assert_eq!(state(&mut controller, ms(7)), (Window::Deterministic, event::TIME));
    assert_eq!(controller.next_event_at(), Instant::NEVER, "it is told already");
    // Cleared within the same window: the next is 4 ms before 50.
    controller.predictable_log(ms(8), false).unwrap();
    assert_eq!(controller.next_event_at(), ms(46));
    // Cleared in the busy window: likewise.
    assert_eq!(state(&mut controller, ms(51)), (Window::NonDeterministic, event::TIME));
    controller.predictable_log(ms(55), false).unwrap();
    assert_eq!(controller.next_event_at(), ms(86));
}

#[test]
fn another_schedule_takes_over_from_the_host_and_back() {
    let mut controller = in_dtwin(all_events());
    let config = *scheduled(Config::default()).plm.config();
    controller.set_predictable(ms(NDWIN + 5), &config, true).unwrap();
    // 275 ms are slot 27, member 3's.
    assert_eq!(state(&mut controller, ms(NDWIN + 5)).0, Window::Deterministic);
    controller.set_predictable(ms(NDWIN + 6), &all_events(), true).unwrap();
    assert_eq!(state(&mut controller, ms(NDWIN + 6)).0, Window::NonDeterministic);
}
