//! A program that gives way, by arithmetic: reads at chosen instants of the one program of an
//! otherwise idle die; then reads at random instants, against a model that knows nothing of the
//! drive.

use super::collections::{FREE, collecting, mark};
use super::{Bench, SAME_CHIP, start, ttflash_256g, write_through};
use crate::drive::{CommandId, EraseSpec, ProgramMode, ProgramSpec};
use crate::ftl::{GcMode, GcSpec};
use crate::units::{Duration, Instant};
use proptest::prelude::*;

const NS: Duration = Duration::from_ns(1);
const ALL: [ProgramMode; 3] = [ProgramMode::Ideal, ProgramMode::Ips, ProgramMode::Ipc];

fn program(mode: ProgramMode) -> ProgramSpec {
    // Neither the loops nor the share divides a program without a rest.
    let [suspend, resume] = [21, 7].map(Duration::from_us);
    ProgramSpec { mode, loops: 7, verify_percent: 37, suspend, resume, ..ProgramSpec::default() }
}

/// A program whose data begins to cross the channel at the start.
struct Programming {
    bench: Bench,
    spec: ProgramSpec,
}

/// When each read ends, when the program does, its suspensions, and what of it was done twice.
type Played = (Vec<Instant>, Instant, u64, Duration);

impl Programming {
    fn new(spec: ProgramSpec) -> Self {
        Self::of(spec, 800_000)
    }

    /// A program whose tPROG is so many nanoseconds.
    fn of(spec: ProgramSpec, time: u64) -> Self {
        let mut device = ttflash_256g(4);
        device.timing.program = vec![Duration::from_ns(time)];
        let mut bench = Bench::on(device, write_through());
        bench.drive.suspend_programs(&spec);
        Self { bench, spec }
    }

    /// When its data is in the page register.
    fn loaded(&self) -> Instant {
        start() + self.bench.times().command + self.bench.times().transfer
    }

    fn read(&self) -> Duration {
        self.bench.times().page_read()
    }

    /// When the first `phases` of it are over, if nothing comes between.
    fn after(&self, phases: u64) -> Instant {
        self.loaded() + boundaries(self.bench.times().program, &self.spec)[phases as usize]
    }

    fn end(&self) -> Instant {
        self.loaded() + self.bench.times().program
    }

    /// Reads at these times, in their order.
    fn play(&self, arrivals: &[Instant]) -> Played {
        let mut bench = self.bench.clone();
        let write = bench.write(start(), 0);
        let ids: Vec<CommandId> = arrivals.iter().map(|at| bench.read(*at, SAME_CHIP)).collect();
        let ends = ids.into_iter().map(|id| bench.end_of(id)).collect();
        let end = bench.end_of(write);
        let counted = bench.drive.counters().suspended;
        assert!(
            counted.suspensions == 0 && counted.per_program_max == counted.program_suspensions,
            "one program"
        );
        (ends, end, counted.program_suspensions, counted.aborted_phases)
    }
}

/// The ends of a program's phases, from its beginning on, in whole nanoseconds.
fn boundaries(time: Duration, spec: &ProgramSpec) -> Vec<Duration> {
    let (time, loops, verify) =
        (u128::from(time.as_ns()), u128::from(spec.loops), u128::from(spec.verify_percent));
    let of_loop = |k: u128| [time * k / loops, time * (100 * (k + 1) - verify) / (100 * loops)];
    let mut all: Vec<u128> = (0..loops).flat_map(of_loop).collect();
    all.push(time);
    all.into_iter().map(|ns| Duration::from_ns(ns as u64)).collect()
}

#[test]
fn without_suspension_a_read_waits_for_the_end_of_the_program() {
    let p = Programming::new(program(ProgramMode::None));
    for at in [start() + NS, p.loaded(), p.after(3), p.end() - NS, p.end()] {
        assert_eq!(p.play(&[at]), (vec![p.end() + p.read()], p.end(), 0, Duration::ZERO));
    }
}

#[test]
fn the_phases_of_a_program_that_nobody_stops_add_up_to_it() {
    for mode in ALL {
        for (loops, verify_percent) in [(1, 1), (7, 37), (13, 99), (1000, 50)] {
            for time in [800_000, 799_999, 100_003] {
                let p =
                    Programming::of(ProgramSpec { loops, verify_percent, ..program(mode) }, time);
                assert_eq!(
                    p.play(&[]),
                    (vec![], p.loaded() + Duration::from_ns(time), 0, Duration::ZERO)
                );
            }
        }
    }
}

#[test]
fn a_read_that_meets_the_data_of_a_program_is_served_before_its_first_phase() {
    for mode in ALL {
        let p = Programming::new(program(mode));
        let resume = if mode == ProgramMode::Ideal { Duration::ZERO } else { p.spec.resume };
        for at in [start() + NS, p.loaded() - NS, p.loaded()] {
            let expected =
                (vec![p.loaded() + p.read()], p.end() + p.read() + resume, 1, Duration::ZERO);
            assert_eq!(p.play(&[at]), expected, "{mode:?}");
        }
    }
}

/// The limits of a part, for `ipc`: a read that comes after the resumption waits until the program
/// has run for its least time, and one that comes after the last stop for the end.
#[test]
fn a_program_runs_for_its_least_time_and_is_stopped_no_more_than_it_may_be() {
    let us = Duration::from_us;
    let (max_suspensions, min_run) = (2, us(30));
    let p = Programming::new(ProgramSpec { max_suspensions, min_run, ..program(ProgramMode::Ipc) });
    let (suspend, resume) = (us(21), us(7));
    // 5 us into the fourth phase, a verify, which begins anew each time.
    let first = p.after(3) + us(5);
    let resumes = first + suspend + p.read();
    let goes_on = resumes + resume;
    let second = goes_on + min_run + suspend + p.read();
    for after in [NS, us(6), us(20), us(37)] {
        let (ends, end, stops, given_up) = p.play(&[first, resumes + after, second + us(9)]);
        assert_eq!(ends[..2], [resumes, second], "{after}");
        assert_eq!((stops, given_up), (2, us(35)));
        assert_eq!(end, second + resume + p.end().since(p.after(3)));
        assert_eq!(ends[2], end + p.read());
    }
}

#[test]
fn ideal_suspension_costs_the_read_nothing_and_the_program_the_read() {
    let p = Programming::new(program(ProgramMode::Ideal));
    for at in [p.loaded() + NS, p.after(3) - NS, p.after(3), p.after(3) + NS, p.end() - NS] {
        assert_eq!(p.play(&[at]), (vec![at + p.read()], p.end() + p.read(), 1, Duration::ZERO));
    }
    assert_eq!(p.play(&[p.end()]), (vec![p.end() + p.read()], p.end(), 0, Duration::ZERO));
}

#[test]
fn ips_ends_the_pulse_or_the_verify_and_brings_the_data_back() {
    let p = Programming::new(program(ProgramMode::Ips));
    for phase in 0..13 {
        for at in [p.after(phase) + NS, p.after(phase + 1) - NS, p.after(phase + 1)] {
            let expected = (
                vec![p.after(phase + 1) + p.read()],
                p.end() + p.read() + p.spec.resume,
                1,
                Duration::ZERO,
            );
            assert_eq!(p.play(&[at]), expected, "in phase {phase}");
        }
    }
    // In the last phase the program ends first.
    for at in [p.after(13) + NS, p.end() - NS, p.end()] {
        assert_eq!(p.play(&[at]), (vec![p.end() + p.read()], p.end(), 0, Duration::ZERO));
    }
}

#[test]
fn ips_serves_who_waits_at_the_end_of_a_phase_and_later_reads_after_the_next() {
    let p = Programming::new(program(ProgramMode::Ips));
    let (stop, resume) = (p.after(4), p.spec.resume);
    let both = stop + p.read() * 2;
    let next = both + resume + p.after(5).since(p.after(4));
    // While they are served, while the data comes back, and in the phase that follows.
    for late in [stop + NS, both, both + NS, both + resume, both + resume + NS, next] {
        let (ends, end, suspensions, _) = p.play(&[stop - NS, stop, late]);
        assert_eq!(ends, [stop + p.read(), both, next + p.read()], "{late:?}");
        assert_eq!((end, suspensions), (p.end() + p.read() * 3 + resume * 2, 2));
    }
}

#[test]
fn ipc_gives_up_the_phase_in_progress_and_keeps_those_before() {
    let p = Programming::new(program(ProgramMode::Ipc));
    let ProgramSpec { suspend, resume, .. } = p.spec;
    for phase in 0..14 {
        let length = p.after(phase + 1).since(p.after(phase));
        for into in [NS, Duration::from_us(11), length - NS] {
            let at = p.after(phase) + into;
            let read = at + suspend + p.read();
            let left = p.end().since(p.after(phase));
            assert_eq!(
                p.play(&[at]),
                (vec![read], read + resume + left, 1, into),
                "in phase {phase}"
            );
        }
        // A phase that ends at this instant is whole; the last one ends the program.
        let at = p.after(phase + 1);
        let (delay, stops) = if phase < 13 { (p.read() + resume, 1) } else { (Duration::ZERO, 0) };
        assert_eq!(p.play(&[at]), (vec![at + p.read()], p.end() + delay, stops, Duration::ZERO));
    }
}

#[test]
fn ipc_serves_all_that_come_while_it_is_suspended() {
    let p = Programming::new(program(ProgramMode::Ipc));
    let ProgramSpec { suspend, resume, .. } = p.spec;
    let into = Duration::from_us(11);
    let at = p.after(6) + into;
    let served = at + suspend;
    for second in [at + NS, served, served + NS, served + p.read()] {
        let (ends, end, suspensions, aborted) = p.play(&[at, second]);
        assert_eq!(ends, [served + p.read(), served + p.read() * 2]);
        assert_eq!(end, served + p.read() * 2 + resume + p.end().since(p.after(6)));
        assert_eq!((suspensions, aborted), (1, into));
    }
}

#[test]
fn a_read_that_comes_while_the_data_of_a_canceled_phase_comes_back_cancels_it_again() {
    let p = Programming::new(program(ProgramMode::Ipc));
    let ProgramSpec { suspend, resume, .. } = p.spec;
    let at = p.after(6) + Duration::from_us(11);
    let resumes = at + suspend + p.read();
    let left = p.end().since(p.after(6));
    for (second, aborted) in
        [(NS, 0), (resume, 0), (resume + NS, 1)].map(|(late, ns)| (resumes + late, ns))
    {
        let ends = vec![resumes, second + suspend + p.read()];
        let (end, aborted) =
            (ends[1] + resume + left, Duration::from_us(11) + Duration::from_ns(aborted));
        assert_eq!(p.play(&[at, second]), (ends, end, 2, aborted));
    }
}

#[test]
fn a_program_is_cut_by_the_time_of_its_own_page_type() {
    let mut device = ttflash_256g(4);
    device.timing.program = [500, 1300].map(Duration::from_us).to_vec();
    let mut bench = Bench::on(device, write_through());
    bench.drive.suspend_programs(&program(ProgramMode::Ips));
    // Eight rows of each lane are written: the next one is of the first type, then one of the
    // second follows.
    let mut at = start();
    for time in [500, 1300].map(Duration::from_us) {
        let mut once = bench.clone();
        let loaded = at + once.times().command + once.times().transfer;
        let phases = boundaries(time, &program(ProgramMode::Ips));
        let (write, read) = (once.write(at, 0), once.read(loaded + phases[8] + NS, SAME_CHIP));
        assert_eq!(once.end_of(read), loaded + phases[9] + once.times().page_read());
        let delay = once.times().page_read() + Duration::from_us(7);
        assert_eq!(once.end_of(write), loaded + time + delay);
        bench.write(at, 0);
        bench.run();
        at = loaded + time + Duration::from_us(1);
    }
}

/// One page is copied across the channel, so its program begins after a read and two transfers.
#[test]
fn a_program_of_garbage_collection_gives_way_too_unless_its_channel_is_held() {
    for (mode, gives_way) in [(GcMode::Preemptive, true), (GcMode::Base, false)] {
        let gc = GcSpec { mode, soft: mark(FREE).into(), hard: 0.0.into(), ..GcSpec::default() };
        let (mut bench, begins) = collecting(1, gc, &EraseSpec::default());
        let times = bench.times();
        // No program is under way: the next one is the collection's.
        bench.drive.suspend_programs(&program(ProgramMode::Ips));
        let loaded = begins + times.page_read() + times.command + times.transfer;
        let phases = boundaries(times.program, &program(ProgramMode::Ips));
        let at = loaded + phases[2] + NS;
        let id = bench.read(at, SAME_CHIP_AS_THE_VICTIM);
        let end = bench.end_of(id);
        if gives_way {
            assert_eq!(end, loaded + phases[3] + times.page_read());
        } else {
            assert_eq!(
                end,
                loaded + times.program + times.erase_command + times.erase + times.page_read()
            );
        }
        let counters = bench.drive.counters();
        assert_eq!(counters.suspended.program_suspensions, u64::from(gives_way));
        assert_eq!((counters.copied_units, counters.erases), (1, 1));
    }
}

/// `ips` stops at the first end of a phase from the command's arrival on, `ipc` when it comes; both
/// go on when the command to resume has crossed.
#[test]
fn commands_on_the_channel_put_a_stop_and_a_resumption_off() {
    let command = Duration::from_ns(3_300);
    for mode in ALL {
        let mut p = Programming::new(program(mode));
        p.bench.device.channel.suspend_command = command;
        p.bench.drive.flash.set_times(&p.bench.device.clone());
        let ProgramSpec { suspend, resume, .. } = p.spec;
        let into = Duration::from_us(10);
        let at = p.after(3) + into;
        let (stopped, on, lost) = match mode {
            ProgramMode::Ideal => (at, Duration::ZERO, Duration::ZERO),
            ProgramMode::Ips => (p.after(4), command + resume, Duration::ZERO),
            _ => (at + command + suspend, command + resume, suspend + into + command),
        };
        let aborted = if mode == ProgramMode::Ipc { into + command } else { Duration::ZERO };
        // A phase that is given up is done again.
        let end = p.end() + p.read() + on + lost;
        assert_eq!(p.play(&[at]), (vec![stopped + p.read()], end, 1, aborted), "{mode:?}");
    }
    // The command comes too late for the end of this phase.
    let mut p = Programming::new(program(ProgramMode::Ips));
    p.bench.device.channel.suspend_command = command;
    p.bench.drive.flash.set_times(&p.bench.device.clone());
    let (ends, ..) = p.play(&[p.after(4) - NS]);
    assert_eq!(ends, [p.after(5) + p.read()]);
}

/// A page of the collecting chip that is not on the victim.
const SAME_CHIP_AS_THE_VICTIM: u64 = 255 * super::LANES;

/// Latencies of reads of the one die, and of its program, by following the arrivals: no timers, no
/// states of a die.
struct Model<'a> {
    spec: &'a ProgramSpec,
    arrivals: &'a [Instant],
    read: Duration,
    ends: Vec<Instant>,
    suspensions: u64,
    aborted: Duration,
}

impl Model<'_> {
    fn next(&self) -> Instant {
        self.arrivals.get(self.ends.len()).copied().unwrap_or(Instant::NEVER)
    }

    /// Stopped at `t`: the reads that may run, then the way back; returns when the program goes on.
    fn stopped(&mut self, mut t: Instant) -> Instant {
        loop {
            self.suspensions += 1;
            let waiting = self.arrivals.iter().filter(|at| **at <= t).count();
            let last = if self.spec.mode == ProgramMode::Ips { waiting } else { usize::MAX };
            while self.next() <= t && self.ends.len() < last {
                t += self.read;
                self.ends.push(t);
            }
            let (canceled, back) = match self.spec.mode {
                ProgramMode::Ideal => (false, t),
                ProgramMode::Ipc => (
                    !self.spec.resume.is_zero() && self.next() <= t + self.spec.resume,
                    t + self.spec.resume,
                ),
                _ => (false, t + self.spec.resume),
            };
            if !canceled {
                return back;
            }
            t = self.next() + self.spec.suspend;
        }
    }

    fn program(&mut self, mut t: Instant, phases: &[Duration]) -> Instant {
        for phase in phases {
            if self.next() <= t {
                t = self.stopped(t);
            }
            let mut left = *phase;
            while self.spec.mode != ProgramMode::Ips && self.next() < t + left {
                let done = self.next().since(t);
                if self.spec.mode == ProgramMode::Ideal {
                    left = left - done;
                    t = self.stopped(t + done);
                } else {
                    self.aborted += done;
                    t = self.stopped(t + done + self.spec.suspend);
                }
            }
            t += left;
        }
        let end = t;
        while self.ends.len() < self.arrivals.len() {
            t = t.max(self.next()) + self.read;
            self.ends.push(t);
        }
        end
    }
}

/// Gaps between reads in nanoseconds: the times of the device, so that events meet, and anything.
fn gaps() -> impl Strategy<Value = Vec<u64>> {
    let special = vec![
        0, 1, 7_000, 21_000, 28_000, 142_575, 163_575, 149_575, 170_575, 72_000, 42_285, 114_285,
    ];
    let gap =
        prop_oneof![prop::sample::select(special), 0u64..20_000, 0u64..200_000, 0u64..600_000];
    prop::collection::vec(gap, 1..40)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 2000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn reads_at_random_times_find_what_a_naive_model_says(
        mode in prop::sample::select(ALL.to_vec()),
        gaps in gaps(),
        loops in prop::sample::select(vec![1u32, 2, 7, 16]),
        verify_percent in prop::sample::select(vec![1u32, 37, 50, 99]),
        time in prop::sample::select(vec![800_000u64, 100_003, 1_228_800]),
        zeros in prop::sample::select(vec![[1, 1], [1, 1], [0, 1], [1, 0], [0, 0]]),
    ) {
        let mut spec = ProgramSpec { loops, verify_percent, ..program(mode) };
        (spec.suspend, spec.resume) = (spec.suspend * zeros[0], spec.resume * zeros[1]);
        let p = Programming::of(spec.clone(), time);
        let arrivals: Vec<Instant> = gaps.iter().scan(start(), |at, gap| {
            *at += Duration::from_ns(*gap);
            Some(*at)
        }).filter(|at| *at > start()).collect();
        let ends = boundaries(Duration::from_ns(time), &spec);
        let phases: Vec<Duration> = ends.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let (suspensions, aborted) = (0, Duration::ZERO);
        let (arrived, ends) = (&arrivals, Vec::new());
        let mut model =
            Model { spec: &spec, arrivals: arrived, read: p.read(), ends, suspensions, aborted };
        let end = model.program(p.loaded(), &phases);
        prop_assert_eq!(p.play(&arrivals), (model.ends, end, model.suspensions, model.aborted));
    }
}
