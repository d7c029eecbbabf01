//! Suspended erases against a naive model.

use super::*;
use crate::drive::{EraseMode, EraseSpec};
use crate::units::{Duration, Instant};
use proptest::prelude::*;

/// Latencies of a read of the one die, and of its erase, by following the arrivals: no timers, no
/// states of a die.
struct Model<'a> {
    spec: &'a EraseSpec,
    issued: Instant,
    arrivals: &'a [Instant],
    read: Duration,
    ends: Vec<Instant>,
    suspensions: u64,
    aborted: Duration,
    ramps: u64,
    /// The limits let it be stopped from then on.
    open: Instant,
}

impl Model<'_> {
    /// The next arrival that was not served.
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

    /// True when it was stopped as often as it may be.
    fn is_used_up(&self) -> bool {
        let most = u64::from(self.spec.max_suspensions);
        most > 0 && self.suspensions >= most
    }

    /// Reads run from `t` on; returns when nobody (who may) waits any more.
    fn serve(&mut self, mut t: Instant) -> Instant {
        let mut last = usize::MAX;
        loop {
            if self.defers(t) {
                last = last.min(self.arrivals.iter().filter(|at| **at <= t).count());
            }
            if self.next() > t || self.ends.len() >= last {
                return t;
            }
            t += self.read;
            self.ends.push(t);
        }
    }

    /// A stop of a pulse or of its resumption at `at`; returns when the pulse goes on.
    fn stop(&mut self, mut at: Instant) -> Instant {
        let (suspend, before) = match self.spec.mode {
            EraseMode::Ideal => (Duration::ZERO, Duration::ZERO),
            EraseMode::Es => (self.spec.suspend, self.spec.resume),
            _ => (self.spec.suspend, self.spec.verify),
        };
        loop {
            self.suspensions += 1;
            let on = self.serve(at + suspend);
            self.ramps += u64::from(self.spec.mode == EraseMode::Es);
            at = self.next();
            let limited = self.is_used_up() || !self.spec.min_run.is_zero();
            if before.is_zero() || at > on + before || self.defers(at) || limited {
                self.ramps += u64::from(matches!(self.spec.mode, EraseMode::IEs | EraseMode::TEs));
                self.open = on + before + self.spec.min_run;
                return on + before;
            }
        }
    }

    /// Plays the pulses of these lengths from `t` on; returns the end of the erase.
    fn erase(&mut self, mut t: Instant, pulses: &[Duration]) -> Instant {
        for pulse in pulses {
            if self.next() <= t && t >= self.open && !self.is_used_up() {
                self.suspensions += 1;
                t = self.serve(t);
                self.open = t + self.spec.min_run;
            }
            let mut left = *pulse;
            loop {
                let at = self.next().max(self.open);
                if at < t + left && at > t && !self.defers(at) && !self.is_used_up() {
                    let done = at.since(t);
                    match self.spec.mode {
                        EraseMode::Ideal | EraseMode::Es => left = left - done,
                        _ => self.aborted += done,
                    }
                    t = self.stop(at);
                } else {
                    t += left;
                    break;
                }
            }
        }
        let erased = t;
        while self.ends.len() < self.arrivals.len() {
            t = t.max(self.next()) + self.read;
            self.ends.push(t);
        }
        erased
    }
}

fn modes() -> impl Strategy<Value = EraseMode> {
    prop::sample::select(vec![
        EraseMode::Ideal,
        EraseMode::Es,
        EraseMode::IEs,
        EraseMode::DEs,
        EraseMode::TEs,
    ])
}

/// Gaps between reads in nanoseconds: the times of the device, so that events meet, and anything.
fn gaps() -> impl Strategy<Value = Vec<u64>> {
    let special = vec![
        0, 1, 125, 90_000, 110_000, 130_000, 142_575, 232_575, 400_000, 400_001, 399_999, 1_000_000,
    ];
    let gap =
        prop_oneof![prop::sample::select(special), 0u64..60_000, 0u64..700_000, 0u64..3_000_000];
    prop::collection::vec(gap, 1..40)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 1500,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn reads_at_random_times_find_what_a_naive_model_says(
        mode in modes(),
        gaps in gaps(),
        points in prop::sample::select(vec![1u32, 1, 3, 7]),
        timeout in prop::sample::select(vec![0u64, 1, 500_000, 2_000_000, 40_000_000]),
        zero in prop::sample::select(vec![false, false, false, true]),
        need in prop::sample::select(vec![0.0, 0.0, 0.01, 0.33, 0.5, 0.77, 1.0]),
        (fractions, shallow) in prop::sample::select(vec![(1, 0), (4, 1), (7, 2), (10, 9)]),
        max_suspensions in prop::sample::select(vec![0u32, 0, 0, 1, 2, 5]),
        min_run in prop::sample::select(vec![0u64, 0, 0, 1, 57_142, 200_000, 400_000, 900_000]),
    ) {
        let timeout = Duration::from_ns(timeout);
        let min_run = Duration::from_ns(min_run);
        let limited = EraseSpec { max_suspensions, min_run, ..erase(mode) };
        let mut spec = EraseSpec { safe_points: points, timeout, ..limited };
        if zero {
            let zero = Duration::ZERO;
            (spec.suspend, spec.resume, spec.verify) = (zero, zero, zero);
        }
        if need > 0.0 {
            spec = EraseSpec { fractions, shallow, ..adaptive(need, spec) };
        }
        let erasing = Erasing::new(spec.clone());
        // The bench has advanced by a nanosecond.
        let arrivals: Vec<Instant> = gaps.iter().scan(erasing.issued + NS, |at, gap| {
            *at += Duration::from_ns(*gap);
            Some(*at)
        }).collect();
        let pulses = erasing.parts();
        let mut model = Model {
            spec: &spec,
            issued: erasing.issued,
            arrivals: &arrivals,
            read: erasing.read(),
            ends: Vec::new(),
            suspensions: 0,
            aborted: Duration::ZERO,
            ramps: 0,
            open: Instant::START,
        };
        let erased = model.erase(erasing.pulse(), &pulses);
        let (ends, end, counters) = erasing.play(&arrivals);
        prop_assert_eq!(&ends, &model.ends);
        prop_assert_eq!(end, erased);
        prop_assert_eq!(cost(&counters), (model.suspensions, model.aborted, model.ramps));
        prop_assert!(end > start());
    }
}
