//! A controller at work: as its drive without the mode, the same however the advance is cut, and
//! told of collections that were forced.

use super::*;
use crate::nvme::plm::{Config, Window, event};
use crate::sim::Rng;

/// Eight blocks a plane, of which the host's pages fill four; 450 pages of each plane are
/// overwritten, so 62 are left until the last block but the reserve is opened, and collection is
/// forced.
fn aged() -> Drive {
    let mut device = device();
    device.geometry.blocks = 8;
    let logical = Layout::new(&device).total_units() / 2;
    let mut map = PageMap::new(&device, &FtlSpec::default(), &gc(), logical, 1);
    for write in 0..logical + 64 * 450 {
        let lpn = Lpn(write % logical);
        let row = map.open_row(map.striped_lane(lpn), Stream::Host).expect("there is room");
        map.commit(lpn, row);
        map.row_programmed(row);
    }
    Drive::new(&device, &spec(), &gc(), map, false)
}

/// Deterministic windows of ten seconds, so that only a forced collection ends one.
fn patient(drive: Drive) -> Controller {
    let attributes = Attributes { dtwin_time_ms: 10_000, ..Attributes::of(&drive, &spec(), &gc()) };
    Controller::new(drive, attributes, Options::default())
}

/// Commands at drawn times, most of them writes.
fn commands(count: u32, seed: u64) -> Vec<(Instant, Command)> {
    let mut rng = Rng::stream(seed, "commands");
    let mut at = ms(300);
    let one = |id: u32| {
        at += Duration::from_ns(rng.below(400_000));
        let op = [Op::Read, Op::Write, Op::Write, Op::Write, Op::Trim][rng.below(5) as usize];
        (at, command(id, op, rng.below(SECTORS / 8 - 16) * 8, 8 * (1 + rng.below(16) as u32)))
    };
    (0..count).map(one).collect()
}

fn shown(completions: &[Completion]) -> Vec<String> {
    completions.iter().map(|done| format!("{done:?}")).collect()
}

#[test]
fn without_the_mode_a_controller_does_what_its_drive_does() {
    let (mut drive, mut controller) = (aged(), patient(aged()));
    let (mut plain, mut behind) = (Vec::new(), Vec::new());
    for (at, command) in commands(2_000, 1) {
        plain.extend(std::iter::from_fn(|| drive.advance_before(at)));
        behind.extend(advance(&mut controller, at));
        assert_eq!(drive.next_event_at(), controller.next_event_at());
        drive.submit(at, command.clone());
        controller.submit(at, command);
    }
    plain.extend(std::iter::from_fn(|| drive.advance_before(Instant::NEVER)));
    behind.extend(advance(&mut controller, Instant::NEVER));
    assert_eq!(plain.len(), 2_000);
    assert_eq!(shown(&plain), shown(&behind));
    assert_eq!(drive.counters(), controller.drive().counters());
    assert!(drive.counters().collections > 0);
}

/// A run as the host saw it.
#[derive(Debug, PartialEq)]
struct Seen {
    completions: Vec<String>,
    admin: Vec<AdminCompletion>,
    logs: Vec<Vec<u8>>,
}

/// Plays with the mode on; the host selects windows, reads logs and leaves event requests as it
/// goes. Between its acts the advance is cut where `cuts` say.
fn play(mut cuts: Option<Rng>) -> Seen {
    let mut controller = patient(aged());
    let mut seen = Seen { completions: Vec::new(), admin: Vec::new(), logs: Vec::new() };
    let config = Config {
        events: event::ALL,
        writes_threshold: 16_000,
        time_threshold: 9_900,
        ..Config::default()
    };
    controller.set_predictable(ms(0), &config, true).unwrap();
    assert!(status(&mut controller, ms(0), &Sqe::set_features(0x0b, 1 << 12, 0), &[]).is_success());
    let mut now = ms(0);
    let mut go = |controller: &mut Controller, seen: &mut Seen, to: Instant| {
        while let Some(cuts) = &mut cuts {
            let cut = now + Duration::from_ns(cuts.below(200_000));
            if cut >= to {
                break;
            }
            seen.completions.extend(shown(&advance(controller, cut)));
            now = cut;
        }
        seen.completions.extend(shown(&advance(controller, to)));
        now = to;
        seen.admin.extend(std::iter::from_fn(|| controller.take_admin_completion()));
    };
    for (n, (at, command)) in (0u16..).zip(commands(1_500, 2)) {
        go(&mut controller, &mut seen, at);
        controller.submit(at, command);
        match n % 100 {
            0 => drop(controller.select_window(at, Window::Deterministic, n)),
            20 | 70 => drop(controller.admin(at, &Sqe::event_request(n), &[])),
            40 => seen
                .logs
                .push(done(&mut controller, at, &Sqe::get_log_page(0x0b, 0, false, 12), &[]).data),
            60 | 95 => seen.logs.push(
                done(&mut controller, at, &Sqe::get_log_page(0x0a, 1, n > 600, 512), &[]).data,
            ),
            90 => seen
                .logs
                .push(done(&mut controller, at, &Sqe::get_log_page(0xc0, 0, true, 512), &[]).data),
            _ => {}
        }
    }
    go(&mut controller, &mut seen, ms(20_000));
    seen
}

#[test]
fn cutting_the_advance_anywhere_changes_nothing() {
    let whole = play(None);
    assert_eq!(whole.completions.len(), 1_500);
    assert!(!whole.admin.is_empty(), "something was told");
    assert!(
        whole.logs.iter().any(|log| log.len() == 512 && log[3] & 0x80 != 0),
        "there was an excursion"
    );
    for seed in 0..3 {
        assert_eq!(play(Some(Rng::stream(seed, "cuts"))), whole, "cuts {seed}");
    }
}

#[test]
fn a_forced_collection_in_the_deterministic_window_ends_it_at_that_instant() {
    let mut controller = patient(aged());
    let config = Config { events: event::EXCURSION, ..Config::default() };
    controller.set_predictable(ms(0), &config, true).unwrap();
    assert!(status(&mut controller, ms(0), &Sqe::set_features(0x0b, 1 << 12, 0), &[]).is_success());
    controller.admin(ms(0), &Sqe::event_request(1), &[]);
    advance(&mut controller, ms(300));
    assert!(matches!(
        controller.select_window(ms(300), Window::Deterministic, 2),
        AdminReply::Done(_)
    ));
    let forced_before = controller.drive().counters().forced_collections;
    // Pages of one die, more than it has between the soft and the hard mark.
    for id in 0..400 {
        controller.submit(ms(300), command(id, Op::Write, u64::from(id) * 64 * 8, 8));
    }
    let before = controller.clone();
    let forced =
        |controller: &Controller| controller.drive().counters().forced_collections > forced_before;
    let mut now = ms(300);
    while !forced(&controller) {
        now += Duration::from_ms(1);
        assert!(now < ms(2_000), "no collection is forced");
        advance(&mut controller, now);
        let log = controller.predictable_log(now, true).unwrap();
        assert_eq!(log.window == Window::NonDeterministic, forced(&controller), "at {now:?}");
    }
    let told = controller.take_admin_completion().expect("an event");
    assert_eq!((told.cid, told.result), (1, 0x000b_0402));
    assert_eq!(controller.predictable_log(now, true).unwrap().events, event::EXCURSION);
    // To the nanosecond.
    let mut at = before.clone();
    advance(&mut at, told.at);
    assert!(
        !forced(&at) && at.predictable_log(told.at, true).unwrap().window == Window::Deterministic
    );
    let after = told.at + Duration::from_ns(1);
    advance(&mut at, after);
    assert!(
        forced(&at) && at.predictable_log(after, true).unwrap().window == Window::NonDeterministic
    );
}

#[test]
fn excursions_of_the_past_are_not_told_again() {
    let mut controller = patient(aged());
    let mut schedule = super::windows::schedule_of_four();
    // Its turn comes after half a minute: whatever it has to collect before is an excursion.
    (schedule.windows.index, schedule.windows.length) = (3, Duration::from_ms(10_000));
    let config = Config { events: event::EXCURSION, schedule: Some(schedule), ..Config::default() };
    controller.set_predictable(ms(0), &config, true).unwrap();
    for id in 0..400 {
        controller.submit(ms(0), command(id, Op::Write, u64::from(id) * 64 * 8, 8));
    }
    let mut now = ms(0);
    while controller.predictable_log(now, true).unwrap().events == 0 {
        now += Duration::from_ms(1);
        assert!(now < ms(2_000), "no excursion");
        advance(&mut controller, now);
    }
    // Many more; then the host clears, and nothing else happens.
    advance(&mut controller, ms(5_000));
    assert_eq!(controller.predictable_log(ms(5_000), false).unwrap().events, event::EXCURSION);
    controller.submit(ms(5_000), command(1_000, Op::Read, 0, 8));
    advance(&mut controller, ms(6_000));
    assert_eq!(controller.predictable_log(ms(6_000), true).unwrap().events, 0);
    assert!(controller.vendor_log(ms(6_000)).unwrap().violations > 0);
}

/// Drives behind controllers are played side by side: what another one does at the same instant may
/// come before or after what this one does, so that everything it does is an event.
#[test]
fn a_drive_behind_a_controller_knows_that_others_act_between_its_events() {
    assert!(!aged().has_shared_clock());
    assert!(patient(aged()).drive().has_shared_clock());
}
