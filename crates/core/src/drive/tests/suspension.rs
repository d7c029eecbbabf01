//! An erase that gives way, by arithmetic: reads at chosen instants of the one erase of an
//! otherwise idle die; then reads at random instants, against a model that knows nothing of the
//! drive.

mod commands;
mod limits;
mod naive;

use super::collections::{FREE, collecting, mark};
use super::{Bench, LANES, start};
use crate::drive::{EraseLength, EraseMode, EraseSpec};
use crate::flash::BlockStress;
use crate::ftl::{GcMode, GcSpec};
use crate::stats::{Counters, SuspensionCounters};
use crate::units::{Cause, Duration, Instant, Split};

const NS: Duration = Duration::from_ns(1);
/// A page of the erasing chip that is not on the victim.
const SAME_CHIP: u64 = 255 * LANES;
const STEPS: u64 = 5;

fn erase(mode: EraseMode) -> EraseSpec {
    // All different, so that none can stand for another.
    let [suspend, resume, verify] = [90, 110, 130].map(Duration::from_us);
    EraseSpec {
        mode,
        suspend,
        resume,
        verify,
        timeout: Duration::from_ms(1),
        ..EraseSpec::default()
    }
}

/// The erase of a victim without valid pages, whose command is issued at `issued`.
struct Erasing {
    bench: Bench,
    spec: EraseSpec,
    issued: Instant,
}

impl Erasing {
    fn new(spec: EraseSpec) -> Self {
        let gc = GcSpec {
            mode: GcMode::Preemptive,
            soft: mark(FREE).into(),
            hard: 0.0.into(),
            ..GcSpec::default()
        };
        let (bench, issued) = collecting(0, gc, &spec);
        assert_eq!(bench.device.timing.erase_steps, STEPS as u32);
        Self { bench, spec, issued }
    }

    /// When its first pulse begins.
    fn pulse(&self) -> Instant {
        self.issued + self.bench.times().erase_command
    }

    fn step(&self) -> Duration {
        self.bench.device.timing.erase_step
    }

    fn read(&self) -> Duration {
        self.bench.times().page_read()
    }

    /// Its pulses, cut at the safe points, by counting every fraction of a step. The need is the
    /// same for all blocks.
    fn parts(&self) -> Vec<Duration> {
        let EraseSpec { length, need_least, fractions, shallow, safe_points, verify, .. } =
            self.spec;
        let (of, shallow, need) = match length {
            EraseLength::Fixed => (1, 0, 1.0),
            EraseLength::Adaptive => (u64::from(fractions), u64::from(shallow), need_least),
        };
        let needed = ((need * (STEPS * of) as f64).ceil() as u64).max(shallow).max(1);
        let (mut pulses, mut from) = (Vec::new(), 0);
        for end in (1..=needed).filter(|end| end % of == 0 || *end == shallow || *end == needed) {
            let at = self.step().as_ns() * end / of;
            pulses.push(at - from + if end == shallow { verify.as_ns() } else { 0 });
            from = at;
        }
        let points = u64::from(safe_points);
        let cut =
            |pulse: u64| (0..points).map(move |k| pulse * (k + 1) / points - pulse * k / points);
        pulses.into_iter().flat_map(cut).map(Duration::from_ns).collect()
    }

    /// Reads at these times, in their order: when each ends, when the erase does, and what the
    /// drive counted.
    fn play(&self, arrivals: &[Instant]) -> (Vec<Instant>, Instant, Counters) {
        let mut bench = self.bench.clone();
        let (mut ids, mut erased) = (Vec::new(), None);
        let mut look = |bench: &mut Bench, until: Instant| {
            while bench.drive.next_event_at() < until {
                let at = bench.drive.next_event_at();
                bench.advance_to(at + NS);
                if erased.is_none() && bench.drive.flash().operations().erases == 1 {
                    erased = Some(at);
                }
            }
        };
        for at in arrivals {
            look(&mut bench, *at);
            ids.push(bench.read(*at, SAME_CHIP));
        }
        look(&mut bench, Instant::NEVER);
        // One block was erased: it has what was counted, and no other has anything.
        let stressed =
            bench.drive.flash().stress().iter().filter(|block| **block != BlockStress::default());
        let SuspensionCounters { suspensions, aborted, extra_ramps, .. } =
            bench.drive.counters().suspended;
        let (suspensions, extra_ramps) = (suspensions as u32, extra_ramps as u32);
        let pulse = self.parts().into_iter().fold(Duration::ZERO, |sum, part| sum + part);
        let expected = BlockStress { erases: 1, suspensions, extra_ramps, pulse, aborted };
        let is_on = self.spec.mode != EraseMode::None || self.spec.length != EraseLength::Fixed;
        assert_eq!(
            stressed.copied().collect::<Vec<_>>(),
            if is_on { vec![expected] } else { vec![] }
        );
        let ends = ids.into_iter().map(|id| bench.end_of(id)).collect();
        (ends, erased.expect("it ends"), bench.drive.counters())
    }
}

fn cost(counters: &Counters) -> (u64, Duration, u64) {
    let SuspensionCounters { suspensions, aborted, extra_ramps, .. } = counters.suspended;
    (suspensions, aborted, extra_ramps)
}

/// A program that waits for the end of a suspended erase waits for the erase, for the read, and for
/// what it takes to suspend, to resume and to verify; each has a part of its own.
#[test]
fn what_suspending_and_resuming_take_is_told_apart_from_the_erase() {
    for (mode, back, again) in [
        (EraseMode::Es, erase(EraseMode::Es).resume, Duration::ZERO),
        // The pulse that was cut short is done again.
        (EraseMode::IEs, erase(EraseMode::IEs).verify, Duration::from_us(123)),
    ] {
        let e = Erasing::new(erase(mode));
        let mut bench = e.bench.clone();
        bench.drive.attribute();
        let came = e.pulse() + NS;
        let write = bench.write(came, 601 * LANES);
        bench.read(e.pulse() + Duration::from_us(123), SAME_CHIP);
        let splits = super::room::splits(&mut bench);
        let mut expected = Split::NONE;
        let erasing = (e.pulse() + e.step() * STEPS).since(came) + again;
        expected.add(Cause::Erase, erasing);
        expected.add(Cause::Suspension, e.spec.suspend + back);
        expected.add(Cause::Reads, e.read());
        expected.add(Cause::Service, bench.times().page_program());
        assert_eq!(splits[&write], expected, "{mode:?}");
    }
}

#[test]
fn without_suspension_a_read_waits_for_the_end_of_the_erase() {
    let e = Erasing::new(erase(EraseMode::None));
    let erased = e.pulse() + e.step() * STEPS;
    for at in [e.issued + NS, e.pulse() + e.step() * 2, erased - NS, erased] {
        let (ends, end, counters) = e.play(&[at]);
        assert_eq!((ends, end), (vec![erased + e.read()], erased));
        assert_eq!(cost(&counters), (0, Duration::ZERO, 0));
    }
}

#[test]
fn a_read_that_meets_the_command_of_an_erase_is_served_before_its_first_pulse() {
    for mode in [EraseMode::Ideal, EraseMode::Es, EraseMode::IEs, EraseMode::DEs, EraseMode::TEs] {
        let e = Erasing::new(erase(mode));
        for at in [e.issued + NS, e.pulse()] {
            let (ends, end, counters) = e.play(&[at]);
            assert_eq!(ends, [e.pulse() + e.read()], "{mode:?}");
            assert_eq!(end, e.pulse() + e.read() + e.step() * STEPS, "{mode:?}");
            assert_eq!(cost(&counters), (1, Duration::ZERO, 0), "{mode:?}");
        }
    }
}

#[test]
fn ideal_suspension_costs_the_read_nothing_and_the_erase_the_read() {
    let e = Erasing::new(erase(EraseMode::Ideal));
    let erased = e.pulse() + e.step() * STEPS;
    for at in [e.pulse() + NS, e.pulse() + e.step() - NS, e.pulse() + e.step(), erased - NS] {
        let (ends, end, _) = e.play(&[at]);
        assert_eq!((ends, end), (vec![at + e.read()], erased + e.read()));
    }
    // The last pulse ends at the instant of the read.
    assert_eq!(e.play(&[erased]).1, erased);
}

#[test]
fn es_keeps_the_pulse_and_pays_for_recovery_and_ramp() {
    let e = Erasing::new(erase(EraseMode::Es));
    let EraseSpec { suspend, resume, .. } = e.spec;
    let whole = e.pulse() + e.step() * STEPS;
    for at in [e.pulse() + NS, e.pulse() + e.step() - NS, e.pulse() + e.step() + NS, whole - NS] {
        let (ends, end, counters) = e.play(&[at]);
        assert_eq!(ends, [at + suspend + e.read()]);
        assert_eq!(end, whole + suspend + e.read() + resume);
        assert_eq!(cost(&counters), (1, Duration::ZERO, 1));
    }
    // A pulse that ends at this instant is whole.
    let (ends, end, counters) = e.play(&[e.pulse() + e.step()]);
    assert_eq!((ends[0], end), (e.pulse() + e.step() + e.read(), whole + e.read()));
    assert_eq!(cost(&counters), (1, Duration::ZERO, 0));
}

#[test]
fn reads_that_come_while_an_erase_is_suspended_keep_it_so() {
    let e = Erasing::new(erase(EraseMode::Es));
    let EraseSpec { suspend, resume, .. } = e.spec;
    let at = e.pulse() + e.step() + e.step();
    let at = at + Duration::from_us(7);
    let served = at + suspend;
    for second in
        [at + NS, served - NS, served, served + NS, served + e.read() - NS, served + e.read()]
    {
        let (ends, end, counters) = e.play(&[at, second]);
        assert_eq!(ends, [served + e.read(), served + e.read() * 2], "{second:?}");
        assert_eq!(end, e.pulse() + e.step() * STEPS + suspend + e.read() * 2 + resume);
        assert_eq!(counters.suspended.suspensions, 1);
    }
}

#[test]
fn a_read_that_comes_while_an_erase_resumes_suspends_it_again_without_progress() {
    for (mode, before) in [(EraseMode::Es, 110), (EraseMode::IEs, 130)] {
        let e = Erasing::new(erase(mode));
        let (suspend, before) = (e.spec.suspend, Duration::from_us(before));
        let into = Duration::from_us(7);
        let at = e.pulse() + e.step() * 2 + into;
        let resumes = at + suspend + e.read();
        for second in [resumes + NS, resumes + before - NS, resumes + before] {
            let (ends, end, counters) = e.play(&[at, second]);
            assert_eq!(ends, [resumes, second + suspend + e.read()], "{mode:?}");
            let left = if mode == EraseMode::Es { e.step() * 3 - into } else { e.step() * 3 };
            assert_eq!(end, second + suspend + e.read() + before + left, "{mode:?}");
            assert_eq!((counters.suspended.suspensions, counters.suspended.per_erase_max), (2, 2));
        }
        // A nanosecond later it has made that much progress, which es keeps.
        let second = resumes + before + NS;
        let (ends, end, _) = e.play(&[at, second]);
        assert_eq!(ends[1], second + suspend + e.read());
        let left = if mode == EraseMode::Es { e.step() * 3 - into - NS } else { e.step() * 3 };
        assert_eq!(end, ends[1] + before + left, "{mode:?}");
    }
}

#[test]
fn i_es_gives_up_the_step_in_progress_and_keeps_those_before() {
    let e = Erasing::new(erase(EraseMode::IEs));
    let EraseSpec { suspend, verify, .. } = e.spec;
    for done in 0..STEPS {
        for into in [NS, Duration::from_us(123), e.step() - NS] {
            let at = e.pulse() + e.step() * done + into;
            let (ends, end, counters) = e.play(&[at]);
            assert_eq!(ends, [at + suspend + e.read()]);
            assert_eq!(
                end,
                at + suspend + e.read() + verify + e.step() * (STEPS - done),
                "{done} steps done"
            );
            assert_eq!(cost(&counters), (1, into, 1));
        }
    }
}

#[test]
fn d_es_ends_the_step_and_serves_who_waits_then_and_nobody_later() {
    let e = Erasing::new(erase(EraseMode::DEs));
    let boundary = e.pulse() + e.step() * 2;
    for at in [e.pulse() + e.step() + NS, boundary - NS, boundary] {
        let (ends, end, counters) = e.play(&[at]);
        assert_eq!(
            (ends, end),
            (vec![boundary + e.read()], e.pulse() + e.step() * STEPS + e.read())
        );
        assert_eq!(cost(&counters), (1, Duration::ZERO, 0));
    }
    // Two waited, the third came while they were served: it waits for one more step.
    let late = boundary + e.read();
    let (ends, end, counters) = e.play(&[boundary - NS * 2, boundary - NS, late]);
    let next = boundary + e.read() * 2 + e.step();
    assert_eq!(ends, [boundary + e.read(), boundary + e.read() * 2, next + e.read()]);
    assert_eq!(end, e.pulse() + e.step() * STEPS + e.read() * 3);
    assert_eq!(cost(&counters), (2, Duration::ZERO, 0));
    // In the last step the erase ends first.
    let erased = e.pulse() + e.step() * STEPS;
    let (ends, end, counters) = e.play(&[erased - e.step() + NS]);
    assert_eq!((ends, end, counters.suspended.suspensions), (vec![erased + e.read()], erased, 0));
}

#[test]
fn t_es_gives_the_step_up_until_its_time_and_ends_it_from_then_on() {
    let e = Erasing::new(erase(EraseMode::TEs));
    let EraseSpec { suspend, verify, timeout, .. } = e.spec;
    let from = e.issued + timeout;
    let (done, boundary) = (2, e.pulse() + e.step() * 3);
    assert!(from > e.pulse() + e.step() * done && from < boundary);
    let (ends, end, _) = e.play(&[from - NS]);
    assert_eq!(ends, [from - NS + suspend + e.read()]);
    assert_eq!(end, ends[0] + verify + e.step() * (STEPS - done));
    let (ends, end, _) = e.play(&[from]);
    assert_eq!((ends[0], end), (boundary + e.read(), e.pulse() + e.step() * STEPS + e.read()));
}

#[test]
fn t_es_serves_who_waits_when_its_time_is_over_while_reads_keep_it_suspended() {
    let e = Erasing::new(erase(EraseMode::TEs));
    let EraseSpec { suspend, verify, timeout, .. } = e.spec;
    // One read after the other from just before the time is over: the queue is never empty.
    let first = e.issued + timeout - Duration::from_us(10);
    let arrivals: Vec<Instant> = (0..20).map(|k| first + Duration::from_us(100) * k).collect();
    let (ends, _, _) = e.play(&arrivals);
    // It is suspended 90 us later, when two of them wait; the others have to wait for the whole
    // step.
    let both = first + suspend + e.read();
    assert_eq!(ends[0], both);
    let waiting = arrivals.iter().filter(|at| **at <= first + suspend).count();
    assert_eq!(waiting, 1);
    assert_eq!(ends[1], both + verify + e.step() + e.read());
}

#[test]
fn safe_points_inside_a_step_shorten_the_wait_and_what_is_given_up() {
    let points = 4;
    let deferred = Erasing::new(EraseSpec { safe_points: points, ..erase(EraseMode::DEs) });
    let part = Duration::from_ns(deferred.step().as_ns() / u64::from(points));
    let at = deferred.pulse() + deferred.step() + part + NS;
    let (ends, end, _) = deferred.play(&[at]);
    assert_eq!(ends, [deferred.pulse() + deferred.step() + part * 2 + deferred.read()]);
    assert_eq!(end, deferred.pulse() + deferred.step() * STEPS + deferred.read());

    let immediate = Erasing::new(EraseSpec { safe_points: points, ..erase(EraseMode::IEs) });
    let (_, end, counters) = immediate.play(&[at]);
    let EraseSpec { suspend, verify, .. } = immediate.spec;
    assert_eq!(
        end,
        deferred.pulse() + deferred.step() * STEPS + suspend + deferred.read() + verify + NS
    );
    assert_eq!(cost(&counters), (1, NS, 1));
}

fn adaptive(need_least: f64, spec: EraseSpec) -> EraseSpec {
    EraseSpec { length: EraseLength::Adaptive, need_least, need_spread: 0.0, ..spec }
}

#[test]
fn an_adaptive_erase_takes_what_its_block_needs_and_gives_up_what_is_left_of_a_short_step() {
    // Half of 5 steps of 400 us, told apart in quarters: 100 us and a count of 130, 300, 400 and
    // 200 us.
    let us = Duration::from_us;
    let of =
        |mode| Erasing::new(EraseSpec { fractions: 4, shallow: 1, ..adaptive(0.5, erase(mode)) });
    let whole = us(230 + 300 + 400 + 200);
    let e = of(EraseMode::None);
    let (ends, end, counters) = e.play(&[e.pulse() + us(1)]);
    assert_eq!((ends, end), (vec![e.pulse() + whole + e.read()], e.pulse() + whole));
    assert_eq!(cost(&counters), (0, Duration::ZERO, 0));
    let e = of(EraseMode::DEs);
    for (at, boundary) in [(1, 230), (230, 230), (231, 530), (900, 930)] {
        let (ends, end, _) = e.play(&[e.pulse() + us(at)]);
        assert_eq!(
            (ends, end),
            (vec![e.pulse() + us(boundary) + e.read()], e.pulse() + whole + e.read())
        );
    }
    let e = of(EraseMode::IEs);
    let EraseSpec { suspend, verify, .. } = e.spec;
    for (at, step_began) in [(1, 0), (229, 0), (231, 230), (931, 930), (1129, 930)] {
        let (ends, end, counters) = e.play(&[e.pulse() + us(at)]);
        assert_eq!(ends, [e.pulse() + us(at) + suspend + e.read()]);
        assert_eq!(end, ends[0] + verify + (whole - us(step_began)));
        assert_eq!(cost(&counters), (1, us(at - step_began), 1));
    }
}
