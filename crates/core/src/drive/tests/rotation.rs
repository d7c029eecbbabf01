//! The rate at which dynamic rotation gives turns up and takes them again, by arithmetic.

use super::Bench;
use super::collections::{FREE, mark};
use crate::drive::gc::rotate::Rotation;
use crate::ftl::{GcMode, GcSpec, Rotate};
use crate::stats::RotationCounters;
use crate::units::{Duration, Instant, Pool};

const NS: Duration = Duration::from_ns(1);
/// Valid pages of each victim.
const VALID: u32 = 56;
/// 56 pages at 840.35 us and an erase.
const WINDOW: Duration = Duration::from_ns(56 * 840_350 + 2_000_125);
/// In a window as long as a GC run each group of 8 of the 64 planes gains 256 - 56 pages once.
const LIMIT: u32 = (256 - VALID) * 64 / 8;

/// Turns, and what they counted.
struct Turns {
    rotation: Rotation,
    counters: RotationCounters,
    now: Instant,
}

impl Turns {
    fn new(rotate_hysteresis: f64) -> Self {
        let gc = GcSpec {
            mode: GcMode::PlaneBlocking,
            copyback: true,
            rotate: Rotate::Dynamic,
            rotate_window: WINDOW,
            rotate_hysteresis,
            soft: mark(FREE).into(),
            hard: 0.0.into(),
            ..GcSpec::default()
        };
        let bench = Bench::new(super::ttflash_256g(6), super::write_through(), gc.clone(), |_| {});
        let mut rotation = Rotation::new(&gc, bench.drive.flash(), bench.drive.ftl()).unwrap();
        // The mean is that of the last 64 victims.
        (0..10).for_each(|_| rotation.victim_is_chosen(255));
        (0..64).for_each(|_| rotation.victim_is_chosen(VALID));
        Self { rotation, counters: RotationCounters::default(), now: Instant::START }
    }

    /// So many rows in the next window, the last of them at its end: true when turns are off then.
    fn window(&mut self, rows: u32) -> bool {
        let end = self.now + WINDOW;
        for (rows, at) in [(rows - 1, end - NS), (1, end)] {
            for _ in 0..rows {
                let Self { rotation, counters, .. } = self;
                rotation.row_was_written(at, (0..64).map(Pool), Pool(0), |_| false, counters);
            }
        }
        self.now = end;
        self.rotation.is_off()
    }
}

#[test]
fn turns_end_above_the_limit_and_come_back_below_it_by_the_margin() {
    let mut turns = Turns::new(0.1);
    assert!(!turns.window(LIMIT), "turns keep up with just that");
    assert!(turns.window(LIMIT + 1));
    assert!(turns.window(LIMIT), "they do not come back at the limit");
    assert!(turns.window(LIMIT * 9 / 10 + 1));
    assert!(!turns.window(LIMIT * 9 / 10));
    assert!(!turns.window(LIMIT), "the margin is for coming back");
    assert_eq!((turns.counters.switched_off, turns.counters.off), (1, WINDOW * 3));
}

#[test]
fn without_a_margin_turns_come_back_at_the_limit() {
    let mut turns = Turns::new(0.0);
    assert!(turns.window(LIMIT + 1));
    assert!(turns.window(LIMIT + 1));
    assert!(!turns.window(LIMIT));
}

/// A plane that is refused its turn again and again waits since the first time.
#[test]
fn a_postponed_plane_waits_since_it_was_refused_first() {
    let Turns { mut rotation, mut counters, .. } = Turns::new(0.1);
    let at = |us| Instant::START + Duration::from_us(us);
    let (first, second) = (Pool(0), rotation.next_in_group(Pool(0)));
    rotation.enters(at(0), first, false, &mut counters);
    for us in [10, 25, 70] {
        assert!(!rotation.admits(second, false));
        rotation.postpones(at(us), second, &mut counters);
    }
    assert!(rotation.leaves(first, true) && rotation.admits(second, false));
    rotation.enters(at(100), second, false, &mut counters);
    assert_eq!((counters.postponed, counters.postponed_max), (1, Duration::from_us(90)));
}
