//! The limits of a part: how often an erase may be stopped, and for how long it runs before it may
//! be stopped again.

use super::*;
use crate::units::Die;

/// An erase and the limits.
fn limited(mode: EraseMode, max_suspensions: u32, min_run: Duration) -> Erasing {
    Erasing::new(EraseSpec { max_suspensions, min_run, ..erase(mode) })
}

#[test]
fn a_read_that_comes_after_a_resumption_waits_until_the_erase_has_run_for_its_least_time() {
    let us = Duration::from_us;
    // A run within the step, and one that goes over its end.
    for run in [us(300), us(500)] {
        let e = limited(EraseMode::Es, 0, run);
        let EraseSpec { suspend, resume, .. } = e.spec;
        let first = e.pulse() + e.step() * 2 + us(7);
        let resumes = first + suspend + e.read();
        let may = resumes + resume + run;
        let whole = e.pulse() + e.step() * STEPS + (suspend + e.read() + resume) * 2;
        for after in [NS, us(10), resume, resume + NS, resume + run - NS, resume + run] {
            let (ends, end, counters) = e.play(&[first, resumes + after]);
            // 90 us to stop, and the read; before that what is left of 110 us and of the run.
            assert_eq!(ends, [resumes, may + suspend + e.read()], "{after}");
            assert_eq!(end, whole, "{after}");
            assert_eq!(cost(&counters), (2, Duration::ZERO, 2));
        }
        let late = may + NS;
        let (ends, end, _) = e.play(&[first, late]);
        assert_eq!((ends[1], end), (late + suspend + e.read(), whole));
    }
}

#[test]
fn an_erase_that_was_stopped_as_often_as_it_may_be_runs_to_its_end() {
    let us = Duration::from_us;
    for most in [1, 2, 3] {
        let e = limited(EraseMode::Es, most, Duration::ZERO);
        let EraseSpec { suspend, resume, .. } = e.spec;
        let lost = suspend + e.read() + resume;
        let first = e.pulse() + us(123);
        // Each comes when the erase has gone on for 50 us.
        let arrivals: Vec<Instant> = (0..5).map(|k| first + (lost + us(50)) * k).collect();
        let (ends, end, counters) = e.play(&arrivals);
        let most = most as usize;
        for k in 0..most {
            assert_eq!(ends[k], arrivals[k] + suspend + e.read());
        }
        let erased = e.pulse() + e.step() * STEPS + lost * most as u64;
        assert_eq!(end, erased);
        for (k, at) in ends[most..].iter().enumerate() {
            assert_eq!(*at, erased + e.read() * (k as u64 + 1), "reads wait for the end");
        }
        assert_eq!(counters.suspended.per_erase_max, most as u64);
    }
}

#[test]
fn a_safe_point_within_the_least_run_is_passed() {
    let us = Duration::from_us;
    let e = limited(EraseMode::DEs, 0, e_run());
    assert!(e_run() > e.step() && e_run() < e.step() * 2);
    let boundary = e.pulse() + e.step() * 2;
    let goes_on = boundary + e.read();
    let (ends, end, counters) = e.play(&[boundary - NS, goes_on + us(1)]);
    // The end of the next step comes too soon.
    assert_eq!(ends, [goes_on, goes_on + e.step() * 2 + e.read()]);
    assert_eq!(end, e.pulse() + e.step() * STEPS + e.read() * 2);
    assert_eq!(cost(&counters), (2, Duration::ZERO, 0));
    let e = limited(EraseMode::DEs, 1, Duration::ZERO);
    let (ends, end, _) = e.play(&[boundary - NS, goes_on + us(1)]);
    assert_eq!((ends[0], ends[1], end), (goes_on, end + e.read(), goes_on + e.step() * 3));
}

fn e_run() -> Duration {
    Duration::from_us(450)
}

#[test]
fn i_es_gives_up_the_least_run_as_well() {
    let us = Duration::from_us;
    let e = limited(EraseMode::IEs, 2, us(200));
    let EraseSpec { suspend, verify, .. } = e.spec;
    let first = e.pulse() + us(7);
    let resumes = first + suspend + e.read();
    let (ends, end, counters) = e.play(&[first, resumes + us(1), resumes + us(2000)]);
    let second = resumes + verify + us(200) + suspend + e.read();
    assert_eq!(ends[1], second);
    assert_eq!(cost(&counters), (2, us(207), 2));
    // The third read finds the erase on its last run.
    assert_eq!(end, second + verify + e.step() * STEPS);
    assert_eq!(ends[2], end + e.read());
}

/// In the attribution the least run is the erase's, the ramp and the stop are suspension.
#[test]
fn the_wait_for_the_least_run_is_the_erases() {
    let us = Duration::from_us;
    let e = limited(EraseMode::Es, 0, us(300));
    let EraseSpec { suspend, resume, .. } = e.spec;
    let mut bench = e.bench.clone();
    bench.drive.attribute();
    let first = e.pulse() + us(7);
    bench.read(first, SAME_CHIP);
    let second = bench.read(first + suspend + e.read() + us(10), SAME_CHIP);
    let splits = super::super::room::splits(&mut bench);
    let mut expected = Split::NONE;
    expected.add(Cause::Suspension, resume - us(10) + suspend);
    expected.add(Cause::Erase, us(300));
    expected.add(Cause::Service, e.read());
    assert_eq!(splits[&second], expected);
}

#[test]
fn garbage_collection_keeps_a_die_whose_erase_may_not_be_stopped_again() {
    let us = Duration::from_us;
    let e = limited(EraseMode::Es, 1, Duration::ZERO);
    let EraseSpec { suspend, resume, .. } = e.spec;
    let mut bench = e.bench.clone();
    let first = e.pulse() + us(7);
    bench.advance_to(first);
    assert!(!bench.drive.gc_keeps_die(first, Die(0)));
    bench.read(first, SAME_CHIP);
    let on = first + suspend + e.read() + resume;
    bench.advance_to(on + NS);
    assert!(bench.drive.gc_keeps_die(on + NS, Die(0)));
}
