//! Paced threads: each keeps a schedule of its own and one request under way, as a load generator
//! with blocking calls.
//!
//! Thread i issues its request k when request k - 1 is complete and `start_i + k 1e6 / r`
//! microseconds have come. A thread that fell behind issues back to back until it has caught up;
//! latency counts from the issue, so what a request waited for its thread is in no latency
//! (coordinated omission). That is how the Aerospike Certification Tool paces its threads (act 6.6,
//! `src/storage/act_storage.c`, `run_service` and `run_large_block_reads`).
//!
//! The traps: all threads of the tool share one start and so fire in lock step, a burst of one
//! request a thread each 1/r; and its due times are whole microseconds, cut, never rounded. Its
//! sleep ends up to a microsecond late, and the timers of a kernel later still: that is not
//! modelled.

use crate::units::{Duration, Instant};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The threads of a paced job.
#[derive(Clone, Debug)]
pub(super) struct Threads {
    step: Step,
    threads: Vec<Thread>,
    /// Idle threads by when they issue next; at one instant the lowest number goes first.
    idle: BinaryHeap<Reverse<(Instant, u32)>>,
    /// How far the thread that completed last was behind its schedule.
    lag: Duration,
}

#[derive(Clone, Copy, Debug)]
struct Thread {
    start: Duration,
    issued: u64,
}

/// The distance of a thread's requests.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// So many a second, a whole number: the tool's integer arithmetic.
    Whole(u64),
    /// So many a second: its double arithmetic. A parameter, not state.
    Real(f64),
}

impl Step {
    fn new(per_second: f64) -> Self {
        if per_second >= 1.0 && per_second.floor() == per_second {
            Self::Whole(per_second as u64)
        } else {
            Self::Real(per_second)
        }
    }

    /// When request `count` of a thread is due after the thread's start: whole microseconds, cut.
    #[inline]
    fn due(self, count: u64) -> Duration {
        let micros = count.saturating_mul(1_000_000);
        let due = match self {
            Step::Whole(rate) => micros / rate,
            Step::Real(rate) => (micros as f64 / rate) as u64,
        };
        Duration::from_ns(due.saturating_mul(1_000))
    }
}

impl Threads {
    /// `count` threads that issue `rate` requests a second together. They start at once (lock
    /// step), or `smooth`, spread evenly over one period of a thread.
    pub fn new(count: u32, rate: f64, smooth: bool) -> Self {
        let step = Step::new(rate / f64::from(count));
        let start = |number: u32| match smooth {
            true => Duration::from_ns((f64::from(number) * 1e9 / rate) as u64),
            false => Duration::ZERO,
        };
        let threads: Vec<Thread> =
            (0..count).map(|number| Thread { start: start(number), issued: 0 }).collect();
        let idle =
            (0..count).map(|number| Reverse((Instant::START + start(number), number))).collect();
        Self { step, threads, idle, lag: Duration::ZERO }
    }

    /// When the next thread issues; [`Instant::NEVER`] when all wait for a completion.
    #[inline]
    pub fn next_at(&self) -> Instant {
        self.idle.peek().map_or(Instant::NEVER, |Reverse((at, _))| *at)
    }

    /// The thread that is due issues.
    #[inline]
    pub fn take(&mut self) -> u32 {
        let Reverse((_, number)) = self.idle.pop().expect("a thread is due");
        self.threads[number as usize].issued += 1;
        number
    }

    /// The request of thread `number` completed.
    #[inline]
    pub fn completed(&mut self, now: Instant, number: u32) {
        let thread = self.threads[number as usize];
        let due = Instant::from_ns(
            thread.start.as_ns().saturating_add(self.step.due(thread.issued).as_ns()),
        );
        self.lag = if now > due { now.since(due) } else { Duration::ZERO };
        self.idle.push(Reverse((now.max(due), number)));
    }

    /// How far the thread that completed last was behind its schedule then.
    #[inline]
    pub fn lag(&self) -> Duration {
        self.lag
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every thread's request takes `service`: the issues as (microseconds, thread) until `end`.
    fn issues(mut threads: Threads, service: impl Fn(u64) -> u64, end: u64) -> Vec<(u64, u32)> {
        let (mut issued, mut under_way) = (Vec::new(), Vec::new());
        loop {
            let at = threads.next_at();
            let done = under_way.iter().copied().min();
            if let Some((completes, thread)) = done.filter(|(completes, _)| *completes <= at) {
                under_way.retain(|of| *of != (completes, thread));
                threads.completed(completes, thread);
                continue;
            }
            if at >= Instant::START + Duration::from_us(end) {
                return issued;
            }
            let thread = threads.take();
            issued.push((at.as_ns() / 1_000, thread));
            under_way.push((at + Duration::from_us(service(at.as_ns() / 1_000)), thread));
        }
    }

    #[test]
    fn threads_in_lock_step_fire_together_and_smooth_ones_evenly() {
        let locked = issues(Threads::new(3, 600.0, false), |_| 100, 10_001);
        let expected: Vec<_> =
            [0, 5_000, 10_000].iter().flat_map(|at| (0..3).map(move |i| (*at, i))).collect();
        assert_eq!(locked, expected);
        let smooth = issues(Threads::new(4, 800.0, true), |_| 100, 10_000);
        let expected: Vec<_> = (0..8).map(|i| (u64::from(i) * 1_250, i % 4)).collect();
        assert_eq!(smooth, expected);
    }

    /// The tool's `(count * 1000000) / reqs_per_sec` cuts; 1e6 / 7 = 142857.142..
    #[test]
    fn due_times_are_cut_to_microseconds_and_do_not_drift() {
        let whole: Vec<u64> =
            issues(Threads::new(1, 7.0, false), |_| 1, 10_000_000).iter().map(|of| of.0).collect();
        let exact: Vec<u64> = (0..70).map(|k| k * 1_000_000 / 7).collect();
        assert_eq!(whole, exact);
        // 23.529 a second, as ACT's large blocks: 85/2000 s apart, exactly 42,500 us.
        let real: Vec<u64> = issues(Threads::new(1, 2_000.0 / 85.0, false), |_| 1, 30_000_000)
            .iter()
            .map(|of| of.0)
            .collect();
        assert_eq!(real.len(), 706);
        let wrong = real
            .iter()
            .zip((0..706).map(|k| k * 42_500))
            .filter(|(at, exact)| at.abs_diff(*exact) > 1)
            .count();
        assert_eq!(wrong, 0, "{real:?}");
    }

    #[test]
    fn a_thread_that_fell_behind_issues_back_to_back_until_it_has_caught_up() {
        // One request of 10.3 ms, then 0.2 ms each, one due each millisecond: 1..=10 are late, then
        // it is on time.
        let slow = issues(
            Threads::new(1, 1_000.0, false),
            |at| if at == 0 { 10_300 } else { 200 },
            16_000,
        );
        let times: Vec<u64> = slow.iter().map(|of| of.0).collect();
        // Request k starts at max(10300 + (k - 1) 200, 1000 k): the two meet between k = 12 and k =
        // 13.
        let exact: Vec<u64> = (0..16)
            .map(|k| if k == 0 { 0 } else { (10_300 + (k - 1) * 200).max(1_000 * k) })
            .collect();
        assert_eq!(times, exact);
    }

    #[test]
    fn the_lag_is_that_of_the_thread_that_completed() {
        let mut threads = Threads::new(2, 2_000.0, false);
        assert_eq!((threads.take(), threads.take()), (0, 1));
        threads.completed(Instant::START + Duration::from_us(900), 1);
        assert_eq!(threads.lag(), Duration::ZERO);
        // Its second request was due at 1 ms.
        threads.completed(Instant::START + Duration::from_us(5_500), 0);
        assert_eq!(threads.lag(), Duration::from_us(4_500));
        assert_eq!(
            threads.next_at(),
            Instant::START + Duration::from_us(1_000),
            "thread 1 keeps its own schedule"
        );
    }
}
