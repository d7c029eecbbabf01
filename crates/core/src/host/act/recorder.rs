//! The tool's records of a test: cumulative histograms for each report, and for each slice the
//! shares that the rules ask for.
//!
//! It counts from the first request on, whatever the warm-up of a run is: the tool knows none. A
//! request counts in the report after its completion; one that completes after the last report is
//! in the means of the whole test only.

use super::{ActError, ActPlan, ActSpec, judge, log};
use crate::drive::Op;
use crate::stats::{ActReport, ActSlice, ActTimes};
use crate::units::{Bytes, Duration, Instant};

pub(super) use super::spec::Role;

/// Buckets of the tool's histograms: 0 for below one unit, b for 2^(b-1) to below 2^b units.
pub(super) const BUCKETS: usize = 65;

/// The bucket of a latency in a histogram whose unit has so many nanoseconds.
#[inline]
pub(super) fn bucket(latency_ns: u64, unit_ns: u64) -> usize {
    (u64::BITS - (latency_ns / unit_ns).leading_zeros()) as usize
}

/// The types of requests that the tool keeps apart, in the order of its log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// Record reads.
    Reads,
    /// Large reads.
    LargeReads,
    /// Large writes.
    LargeWrites,
    /// Record writes.
    Writes,
}

/// How many classes there are.
pub(super) const CLASSES: usize = 4;

/// One class over some time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Window {
    pub(super) count: u64,
    pub(super) sum_ns: u128,
    pub(super) max_ns: u64,
    /// Requests that took 1, 8 and 64 ms or more.
    pub(super) over: [u64; 3],
}

/// The thresholds of the rules: 1, 8 and 64 ms are bucket limits, so "over" takes what took exactly
/// that long.
pub(super) const OVER_MS: [u64; 3] = [1, 8, 64];

impl Window {
    #[inline]
    fn add(&mut self, latency_ns: u64) {
        self.count += 1;
        self.sum_ns += u128::from(latency_ns);
        self.max_ns = self.max_ns.max(latency_ns);
        for (over, limit) in self.over.iter_mut().zip(OVER_MS) {
            *over += u64::from(latency_ns >= limit * 1_000_000);
        }
    }

    fn mean_us(&self) -> Option<f64> {
        ActReport::mean_us(self.sum_ns, self.count)
    }

    fn max_us(&self) -> Option<f64> {
        (self.count > 0).then(|| Duration::from_ns(self.max_ns).as_us_f64())
    }

    /// With the rate of the class, if it has one.
    fn times(&self, rate: f64) -> ActTimes {
        let period_us = (rate > 0.0).then(|| (1e9 / rate + 0.5).floor() / 1e3);
        ActTimes { count: self.count, mean_us: self.mean_us(), max_us: self.max_us(), period_us }
    }
}

/// The classes, each over the same time.
pub(super) type Windows = [Window; CLASSES];

/// Why and when a test was stopped.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stop {
    pub(super) at: Instant,
    pub(super) role: Role,
}

/// Records a test as the tool does; the driver feeds it.
#[derive(Debug)]
pub struct ActRecorder {
    spec: ActSpec,
    plan: ActPlan,
    device: String,
    /// Nanoseconds of the log's unit, and the histograms of the classes in it.
    unit_ns: u64,
    histograms: [[u64; BUCKETS]; CLASSES],
    whole: Windows,
    slice: Windows,
    slices: Vec<Windows>,
    /// Reports made, when the next is due, and how many there will be.
    reports: u64,
    report_at: Instant,
    reports_max: u64,
    stopped: Option<Stop>,
    log: Option<String>,
}

impl ActRecorder {
    /// A recorder of the test `spec` on a device called `device`, of which the host sees `user`
    /// bytes.
    pub fn new(spec: &ActSpec, user: Bytes, device: &str) -> Result<Self, ActError> {
        let plan = spec.plan(user)?;
        let interval = spec.report_interval;
        Ok(Self {
            spec: spec.clone(),
            reports_max: plan.time.as_ns().div_ceil(interval.as_ns()),
            plan,
            device: log::device_path(device),
            unit_ns: if spec.microsecond_histograms { 1_000 } else { 1_000_000 },
            histograms: [[0; BUCKETS]; CLASSES],
            whole: Windows::default(),
            slice: Windows::default(),
            slices: Vec::new(),
            reports: 0,
            report_at: Instant::START + interval,
            stopped: None,
            log: None,
        })
    }

    /// The same, writing the tool's log as well: to be taken with [`ActRecorder::take_log`] now and
    /// then.
    pub fn with_log(mut self, user: Bytes) -> Self {
        self.log = Some(log::header(&self.spec, &self.plan, &self.device, user));
        self
    }

    /// One request of job number `job` completed at `at`, and its thread is `lag` behind its
    /// schedule. True when the test must stop now.
    #[inline]
    pub fn record(
        &mut self,
        job: u32,
        op: Op,
        latency: Duration,
        at: Instant,
        lag: Duration,
    ) -> bool {
        while at >= self.report_at && self.reports < self.reports_max {
            self.report();
        }
        let Some(role) = self.plan.roles.get(job as usize).copied() else { return false };
        let class = match (role, op) {
            (Role::Service, Op::Read) => Class::Reads,
            (Role::Service, _) => Class::Writes,
            (Role::LargeReads, _) => Class::LargeReads,
            (Role::LargeWrites, _) => Class::LargeWrites,
        } as usize;
        let ns = latency.as_ns();
        self.histograms[class][bucket(ns, self.unit_ns)] += 1;
        self.whole[class].add(ns);
        self.slice[class].add(ns);
        if lag <= self.spec.max_lag || self.spec.max_lag.is_zero() || self.stopped.is_some() {
            return false;
        }
        self.stop(Stop { at, role });
        true
    }

    /// The tool says why, makes the report that it was waiting for, and ends.
    #[cold]
    fn stop(&mut self, stop: Stop) {
        self.stopped = Some(stop);
        self.reports_max = self.reports_max.min(self.reports + 1);
        if let Some(text) = &mut self.log {
            log::stopped(text, stop.role);
        }
    }

    #[cold]
    fn report(&mut self) {
        self.reports += 1;
        let since = self.spec.report_interval * self.reports;
        self.report_at = Instant::START + since + self.spec.report_interval;
        if let Some(text) = &mut self.log {
            log::report(text, &self.plan, &self.device, since, &self.histograms);
        }
        if since.as_ns().is_multiple_of(self.plan.slice.as_ns()) {
            self.slices.push(std::mem::take(&mut self.slice));
        }
    }

    /// The test is over: the reports that are still due are made, or, if it was `interrupted` at
    /// `now`, those until then.
    pub fn finish(&mut self, now: Instant, interrupted: bool) {
        while self.reports < self.reports_max && (!interrupted || self.report_at <= now) {
            self.report();
        }
    }

    /// The text of the log since the last call; `None` without a log.
    pub fn take_log(&mut self) -> Option<String> {
        self.log.as_mut().map(std::mem::take)
    }

    /// Slices, whole test and verdicts; call it after [`ActRecorder::finish`].
    pub fn result(&self, interrupted: bool) -> ActReport {
        let plan = &self.plan;
        let [reads, large_reads, large_writes, writes] = self.whole;
        let report = ActReport {
            multiplier: self.spec.multiplier,
            slice_s: plan.slice.as_s_f64(),
            slices: self
                .slices
                .iter()
                .enumerate()
                .map(|(number, slice)| self.slice_result(number, slice))
                .collect(),
            reads: reads.times(plan.internal_reads.into()),
            writes: writes.times(plan.internal_writes.into()),
            large_reads: large_reads.times(plan.large_reads),
            large_writes: large_writes.times(plan.large_writes),
            stopped: self.stopped.map(|stop| {
                let after = Duration::from_ns(stop.at.as_ns());
                format!("after {after} {}", log::who_lags(stop.role))
            }),
            ..ActReport::default()
        };
        judge::judge(report, &self.slices, &self.whole, interrupted)
    }

    fn slice_result(&self, number: usize, slice: &Windows) -> ActSlice {
        let [reads, large_reads, large_writes, writes] = slice;
        let percent = |over: usize| ActReport::percent(reads.over[over], reads.count);
        ActSlice {
            start_s: (self.plan.slice * number as u64).as_s_f64(),
            reads: reads.count,
            over_1ms_percent: percent(0),
            over_8ms_percent: percent(1),
            over_64ms_percent: percent(2),
            reads_mean_us: reads.mean_us(),
            writes_mean_us: writes.mean_us(),
            large_reads_mean_us: large_reads.mean_us(),
            large_writes_mean_us: large_writes.mean_us(),
            reads_max_us: reads.max_us(),
        }
    }
}
