//! Erases that are suspended by commands on the channel: what a command adds, by arithmetic, on an
//! idle channel and on a busy one; then a naive model.

use super::*;
use crate::drive::TimelineSpec;
use crate::drive::tests::{OTHER_CHIP, room};
use crate::flash::{Act, SuspensionLimits};
use proptest::prelude::*;

/// Of no other length here.
const COMMAND: Duration = Duration::from_ns(3_300);
const MODES: [EraseMode; 4] = [EraseMode::Es, EraseMode::IEs, EraseMode::DEs, EraseMode::TEs];

/// An erase of a device whose commands of suspension take so long.
fn commanded(spec: EraseSpec, command: Duration) -> Erasing {
    let mut erasing = Erasing::new(spec);
    erasing.bench.device.channel.suspend_command = command;
    let device = erasing.bench.device.clone();
    erasing.bench.drive.flash.set_times(&device);
    erasing
}

#[test]
fn on_an_idle_channel_a_stop_comes_a_command_later_and_so_does_the_rest() {
    for mode in MODES {
        let e = commanded(erase(mode), COMMAND);
        let EraseSpec { suspend, resume, verify, .. } = e.spec;
        let into = Duration::from_us(123);
        // Within the time of `t-es`.
        let at = e.pulse() + into;
        let arrives = at + COMMAND;
        let (stopped, again, left) = match mode {
            EraseMode::Es => (arrives + suspend, resume, e.step() - into - COMMAND),
            EraseMode::DEs => (e.pulse() + e.step(), Duration::ZERO, Duration::ZERO),
            _ => (arrives + suspend, verify, e.step()),
        };
        let (ends, end, counters) = e.play(&[at]);
        assert_eq!(ends, [stopped + e.read()], "{mode:?}");
        let resumed = stopped + e.read() + COMMAND + again;
        assert_eq!(end, resumed + left + e.step() * (STEPS - 1), "{mode:?}");
        let aborted = match mode {
            EraseMode::IEs | EraseMode::TEs => into + COMMAND,
            _ => Duration::ZERO,
        };
        assert_eq!(cost(&counters), (1, aborted, u64::from(mode != EraseMode::DEs)), "{mode:?}");
    }
}

#[test]
fn no_die_of_ideal_suspension_hears_a_command_and_none_that_has_no_time_is_sent() {
    let at = |e: &Erasing| [e.pulse() + Duration::from_us(123), e.pulse() + e.step() * 3 + NS];
    let ideal = commanded(erase(EraseMode::Ideal), COMMAND);
    let free = Erasing::new(erase(EraseMode::Ideal));
    let [(ends, end, _), (as_ever, erased, _)] = [&ideal, &free].map(|e| e.play(&at(e)));
    assert_eq!((ends, end), (as_ever, erased));
    for mode in MODES {
        let [none, zero] = [Erasing::new(erase(mode)), commanded(erase(mode), Duration::ZERO)];
        let [(ends, end, _), (as_ever, erased, _)] = [&zero, &none].map(|e| e.play(&at(e)));
        assert_eq!((ends, end), (as_ever, erased), "{mode:?}");
    }
}

/// Data of another die has the channel when the read comes: its command waits for all of it, and
/// the pulse goes on meanwhile.
#[test]
fn on_a_busy_channel_the_command_waits_for_its_turn() {
    for mode in MODES {
        let e = commanded(erase(mode), COMMAND);
        let EraseSpec { suspend, .. } = e.spec;
        let times = e.bench.times();
        let other = e.pulse() + Duration::from_us(200);
        // The data of the other read has begun to cross.
        let at = other + times.command + times.read + NS;
        let mut bench = e.bench.clone();
        bench.drive.attribute();
        bench.drive.keep_timeline(&TimelineSpec {
            from: Instant::START,
            to: Instant::NEVER,
            slow: None,
            limit: 1_000_000,
        });
        let first = bench.read(other, OTHER_CHIP);
        let second = bench.read(at, SAME_CHIP);
        let crossed = other + times.page_read();
        let mut splits = room::splits(&mut bench);
        assert_eq!(splits[&first].total(), times.page_read());
        let arrives = crossed + COMMAND;
        let (stopped, recovers) = match mode {
            EraseMode::DEs => (e.pulse() + e.step(), Duration::ZERO),
            _ => (arrives + suspend, suspend),
        };
        // Until the command has come the read waits for an erase.
        let mut expected = Split::NONE;
        expected.add(Cause::Erase, (stopped - recovers).since(at));
        expected.add(Cause::Suspension, recovers);
        expected.add(Cause::Service, e.read());
        assert_eq!(splits.remove(&second), Some(expected), "{mode:?}");
        let recorded = bench.drive.recorded(stopped + Duration::from_ms(30)).unwrap();
        let sent: Vec<_> = recorded
            .slices
            .iter()
            .filter(|slice| matches!(slice.act, Act::SuspendCommand | Act::ResumeCommand))
            .map(|slice| (slice.start, slice.end, slice.act))
            .collect();
        let resumes = stopped + e.read();
        let expected = [
            (crossed, arrives, Act::SuspendCommand),
            (resumes, resumes + COMMAND, Act::ResumeCommand),
        ];
        assert_eq!(sent, expected, "{mode:?}");
    }
}

#[test]
fn an_erase_that_ends_before_its_command_has_come_has_heard_nothing() {
    for mode in MODES {
        let e = commanded(erase(mode), COMMAND);
        let erased = e.pulse() + e.step() * STEPS;
        let at = erased - Duration::from_ns(1_300);
        let (ends, end, counters) = e.play(&[at]);
        // The command still has the channel.
        assert_eq!((ends, end), (vec![at + COMMAND + e.read()], erased), "{mode:?}");
        assert_eq!(cost(&counters), (0, Duration::ZERO, 0), "{mode:?}");
    }
}

/// The read's command to stop goes behind the command to go on, and stops the ramp.
#[test]
fn a_read_that_comes_with_the_command_to_go_on_stops_the_ramp() {
    let e = commanded(erase(EraseMode::Es), COMMAND);
    let EraseSpec { suspend, resume, .. } = e.spec;
    let into = Duration::from_us(123);
    let resumes = e.pulse() + into + COMMAND + suspend + e.read();
    let (ends, end, counters) = e.play(&[e.pulse() + into, resumes + NS]);
    let arrives = resumes + COMMAND * 2;
    assert_eq!(ends, [resumes, arrives + suspend + e.read()]);
    let left = e.step() * STEPS - into - COMMAND;
    assert_eq!(end, arrives + suspend + e.read() + COMMAND + resume + left);
    assert_eq!(cost(&counters), (2, Duration::ZERO, 2));
}

/// A command sent in the time of `t-es` arrives after it: the stop is one under way all the same,
/// and serves those who have come when the die is free.
#[test]
fn a_stop_that_arrives_after_the_time_of_t_es_serves_who_came_while_the_voltage_recovers() {
    let timeout = Duration::from_us(500);
    let e = commanded(EraseSpec { timeout, ..erase(EraseMode::TEs) }, Duration::from_us(90));
    let EraseSpec { suspend, .. } = e.spec;
    let at = e.issued + timeout - Duration::from_us(50);
    let stopped = at + Duration::from_us(90) + suspend;
    let (ends, ..) = e.play(&[at, stopped - NS]);
    assert_eq!(ends, [stopped + e.read(), stopped + e.read() * 2]);
}

/// Latencies of the reads of one die and of its erase, by following the arrivals.
struct Commands<'a> {
    spec: &'a EraseSpec,
    command: Duration,
    issued: Instant,
    arrivals: &'a [Instant],
    read: Duration,
    ends: Vec<Instant>,
    /// The last command on the channel ends then.
    crossed: Instant,
    /// When the command to stop arrives, and whether it asks for a safe point.
    sent: Option<(Instant, bool)>,
    suspensions: u64,
    aborted: Duration,
    limits: SuspensionLimits,
    open: Instant,
}

impl Commands<'_> {
    fn next(&self) -> Instant {
        self.arrivals.get(self.ends.len()).copied().unwrap_or(Instant::NEVER)
    }

    fn defers(&self, at: Instant) -> bool {
        match self.spec.mode {
            EraseMode::DEs => true,
            EraseMode::TEs => at >= self.issued + self.spec.timeout,
            _ => false,
        }
    }

    /// Stopped for reads, which run from `t` on; returns when its part goes on, `before` after the
    /// command.
    fn stopped(&mut self, t: Instant, before: Duration) -> Instant {
        let (mut t, mut last) = (t, usize::MAX);
        (self.suspensions, self.sent) = (self.suspensions + 1, None);
        loop {
            if self.defers(t) {
                last = last.min(self.arrivals.iter().filter(|at| **at <= t).count());
            }
            if self.next() > t || self.ends.len() >= last {
                break;
            }
            t += self.read;
            self.ends.push(t);
        }
        self.crossed = t + self.command;
        let on = self.crossed + before;
        let least = self.limits.min_run;
        // Without a least run the command that stops it may follow at once.
        self.open = if least.is_zero() { t } else { on + least };
        on
    }

    /// A read that waits has a command sent before `end`.
    fn sends_before(&mut self, from: Instant, end: Instant) {
        let at = self.next().max(from).max(self.open);
        if self.sent.is_none() && at < end && self.suspensions < self.limits.most {
            self.crossed = self.crossed.max(at) + self.command;
            self.sent = Some((self.crossed, self.defers(at)));
        }
    }

    fn erase(&mut self, begins: Instant, parts: &[Duration]) -> Instant {
        let EraseSpec { suspend, resume, verify, mode, .. } = *self.spec;
        // From `heard` on it can be sent a command; its part goes on at `on`.
        let (mut heard, mut on) = (begins, begins);
        for (at, part) in parts.iter().enumerate() {
            let mut left = *part;
            loop {
                self.sends_before(heard, on + left);
                let Some((arrives, false)) = self.sent else { break };
                if arrives >= on + left {
                    break;
                }
                if arrives > on {
                    let done = arrives.since(on);
                    match mode {
                        EraseMode::Es => left = left - done,
                        _ => self.aborted += done,
                    }
                }
                let before = if mode == EraseMode::Es { resume } else { verify };
                on = self.stopped(arrives + suspend, before);
                heard = self.crossed - self.command;
            }
            (heard, on) = (on + left, on + left);
            if at + 1 < parts.len() && self.sent.is_some_and(|(arrives, _)| arrives <= on) {
                on = self.stopped(on, Duration::ZERO);
                heard = self.crossed - self.command;
            }
        }
        let (erased, mut t) = (on, on);
        while self.ends.len() < self.arrivals.len() {
            t = t.max(self.next()).max(self.crossed) + self.read;
            self.ends.push(t);
        }
        erased
    }
}

/// Gaps between reads in nanoseconds: sums of the times of the device, so that events meet, and
/// anything.
fn gaps() -> impl Strategy<Value = Vec<u64>> {
    let special = vec![
        0, 1, 3_300, 6_600, 90_000, 93_300, 110_000, 113_300, 130_000, 142_575, 145_875, 400_000,
        396_700, 396_699, 396_701,
    ];
    let gap =
        prop_oneof![prop::sample::select(special), 0u64..9_000, 0u64..700_000, 0u64..3_000_000];
    prop::collection::vec(gap, 1..40)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 5_000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn commands_at_random_times_do_what_a_naive_model_says(
        mode in prop::sample::select(MODES.to_vec()),
        gaps in gaps(),
        safe_points in prop::sample::select(vec![1u32, 1, 3, 7]),
        timeout in prop::sample::select(vec![0u64, 500_000, 2_000_000, 40_000_000]),
        command in prop::sample::select(vec![1u64, 3_300, 3_300, 90_000]),
        max_suspensions in prop::sample::select(vec![0u32, 0, 1, 3]),
        min_run in prop::sample::select(vec![0u64, 0, 1, 57_142, 200_000, 400_000, 900_000]),
    ) {
        let (timeout, command) = (Duration::from_ns(timeout), Duration::from_ns(command));
        let min_run = Duration::from_ns(min_run);
        let spec =
            EraseSpec { safe_points, timeout, max_suspensions, min_run, ..erase(mode) };
        let erasing = commanded(spec.clone(), command);
        let arrivals: Vec<Instant> = gaps.iter().scan(erasing.issued + NS, |at, gap| {
            *at += Duration::from_ns(*gap);
            Some(*at)
        }).collect();
        let mut model = Commands {
            spec: &spec,
            command,
            issued: erasing.issued,
            arrivals: &arrivals,
            read: erasing.read(),
            ends: Vec::new(),
            crossed: Instant::START,
            sent: None,
            suspensions: 0,
            aborted: Duration::ZERO,
            limits: SuspensionLimits::new(max_suspensions, min_run),
            open: Instant::START,
        };
        let erased = model.erase(erasing.pulse(), &erasing.parts());
        let (ends, end, counters) = erasing.play(&arrivals);
        prop_assert_eq!(&ends, &model.ends);
        prop_assert_eq!(end, erased);
        let (suspensions, aborted, _) = cost(&counters);
        prop_assert_eq!((suspensions, aborted), (model.suspensions, model.aborted));
    }
}
