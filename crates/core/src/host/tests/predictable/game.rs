//! A run whose reads may fail, played request by request: its log, and what must hold of each read.

use crate::drive::{
    Command, CommandId, Completion, Drive, EraseMode, FastFail, Op, PredictableLatency,
    ProgramMode, Status, TimelineSpec, Windows,
};
use crate::flash::Slice;
use crate::host::driver::command;
use crate::host::generate::Generator;
use crate::host::tests::Setup;
use crate::host::{Oracle, RequestSource};
use crate::sim::Rng;
use crate::stats::PredictableCounters;
use crate::units::{Cause, Duration, Instant};

/// A played run: its latencies by status, and what the drive counted.
#[derive(Debug, Default, PartialEq)]
pub(in crate::host::tests) struct Played {
    pub log: Vec<(u32, Instant, Status, u64)>,
    pub counters: PredictableCounters,
    state: String,
    /// The work of every die and channel, where it was asked for.
    pub slices: Vec<Slice>,
}

/// How a run is played.
pub(in crate::host::tests) struct Game<'a> {
    pub setup: &'a Setup,
    pub windows: Windows,
    /// Mean time between arrivals; requests of the setup's first job.
    pub spacing: Duration,
    /// Its slices are kept.
    pub timeline: bool,
    pub predictable_percent: u64,
    /// Asked before each read that may fail, with the drive at that instant.
    pub before: Option<Spy<'a>>,
    /// Advances are cut at random points.
    pub cut: bool,
}

/// Told a drive before a read that may fail, the read's first sector and length, and the drive
/// after it.
pub(in crate::host::tests) type Spy<'a> = &'a mut dyn FnMut(&Drive, Instant, &Command, &Drive);

impl<'a> Game<'a> {
    pub fn new(setup: &'a Setup) -> Self {
        let (spacing, timeline) = (Duration::from_us(400), false);
        Self {
            setup,
            windows: Windows::Off,
            spacing,
            timeline,
            predictable_percent: 60,
            before: None,
            cut: false,
        }
    }

    pub fn play(&mut self) -> Played {
        let (mut drive, job) = (self.setup.drive(), &self.setup.jobs[0]);
        if self.timeline {
            let (from, to) = (Instant::START, Instant::NEVER);
            drive.keep_timeline(&TimelineSpec { from, to, slow: None, limit: u64::MAX });
        }
        drive.set_windows(Instant::START, self.windows);
        let mut source =
            Generator::new(job, drive.sectors(), self.setup.seed, 0).expect("a valid job");
        let mut rng = Rng::stream(self.setup.seed, "arrivals");
        let mut cuts = Rng::stream(self.setup.seed, "cuts");
        let mut oracle = Oracle::new(&drive);
        let suspends = self.setup.erase.mode != EraseMode::None
            || self.setup.program.mode != ProgramMode::None;
        let (mut at, mut id, mut played) = (Instant::START, 0, Played::default());
        let mut flags: Vec<(PredictableLatency, Instant)> = Vec::new();
        loop {
            let next = source.next_request();
            let limit = if next.is_some() { at } else { Instant::NEVER };
            loop {
                let point = match self.cut && drive.next_event_at() < limit {
                    true => limit.min(drive.next_event_at() + Duration::from_ns(cuts.below(3_000))),
                    false => limit,
                };
                let Some(done) = drive.advance_before(point) else {
                    if point == limit { break } else { continue }
                };
                let (flag, begun) = flags[done.id.index()];
                oracle.complete(&done);
                check(&drive, &done, flag, suspends, self.setup);
                played.log.push((done.id.0, done.at, done.status, done.result64));
                assert!(done.at >= begun);
            }
            let Some(request) = next else { break };
            let mut command = command(CommandId(id), &request);
            if command.op == Op::Read {
                command.predictable = match rng.below(100) {
                    percent if percent < self.predictable_percent => PredictableLatency::On,
                    percent if percent < 80 => PredictableLatency::MustWait,
                    _ => PredictableLatency::Off,
                };
            }
            let flag = command.predictable;
            let twin = command.clone();
            let before =
                (self.before.is_some() && flag == PredictableLatency::On).then(|| drive.clone());
            drive.submit(at, oracle.submit(command));
            if let (Some(spy), Some(before)) = (&mut self.before, &before) {
                spy(before, at, &twin, &drive);
            }
            flags.push((flag, at));
            id += 1;
            at += Duration::from_ns(rng.below(2 * self.spacing.as_ns()));
        }
        assert_eq!(played.log.len(), id as usize, "every command completes once");
        assert_eq!(oracle.mismatches(), 0);
        assert_eq!(drive.outstanding(), 0);
        drive.check_no_request_is_left();
        drive.check_nobody_reads();
        drive.ftl().check_laws();
        played.ended(&drive);
        played
    }
}

impl Played {
    fn ended(&mut self, drive: &Drive) {
        self.slices =
            drive.recorded(Instant::NEVER).map_or(Vec::new(), |recorded| recorded.slices.to_vec());
        self.counters = drive.counters().predictable;
        self.state = format!(
            "{:?} {:?} {:?}",
            drive.counters(),
            drive.flash().busy(),
            drive.ftl().mapping().table()
        );
    }
}

/// A read that may fail and did not waited for no garbage collection.
fn check(
    drive: &Drive,
    done: &Completion,
    flag: PredictableLatency,
    suspends: bool,
    setup: &Setup,
) {
    match done.status {
        Status::PredictableLatencyNotMet => {
            assert_eq!(flag, PredictableLatency::On);
            assert!(done.result64 >= 1 && done.dnr && done.payload.is_none(), "{done:?}");
        }
        Status::Success if flag == PredictableLatency::On => {
            let split = drive.attributed().expect("asked for").split;
            let behind = split.get(Cause::GcCopy) + split.get(Cause::Erase);
            assert!(
                suspends || behind.is_zero(),
                "seed {}: {done:?} {split:?} {setup:?}",
                setup.seed
            );
            assert!(suspends || split.get(Cause::Suspension).is_zero());
            assert!(suspends || !done.gc_blocked, "seed {}: {done:?} {split:?}", setup.seed);
            let internal = setup.drive.fast_fail == FastFail::Internal;
            let programs = setup.program.mode != ProgramMode::None;
            assert!(
                !internal || programs || split.get(Cause::Program).is_zero(),
                "seed {}: {done:?} {split:?} {setup:?}",
                setup.seed
            );
            assert_eq!(done.result64, 0);
        }
        _ => assert_eq!(done.result64, 0),
    }
}
