//! The driver's evidence of each request beyond its latency: why it took so long, and, on demand, a
//! record of every one.

use crate::drive::{Attributed, Op, Status, Step, Story};
use crate::stats::{SLOWEST, SplitStats};
use crate::units::{Duration, Instant, Lba, Split, Stages};

/// A request that completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// When it came: its intended arrival (open loop) or its issue (closed loop).
    pub at: Instant,
    /// From there to its completion.
    pub latency: Duration,
    /// Its kind.
    pub op: Op,
    /// First sector.
    pub lba: Lba,
    /// Sectors.
    pub sectors: u32,
    /// The job that it belongs to.
    pub job: u32,
    /// How it ended.
    pub status: Status,
    /// Some garbage collection lay in its wait.
    pub gc_blocked: bool,
    /// It is in the latencies of the measurement: not of the warm-up, and not turned away.
    pub counted: bool,
}

/// One of the slowest requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slow {
    /// The request.
    pub record: Record,
    /// Its latency, split.
    pub split: Split,
    /// The story of its last flash operation, at its die.
    pub story: Option<Story>,
    /// Its steps, of an array's.
    pub steps: Vec<Step>,
}

impl Slow {
    fn new(record: Record, attributed: &Attributed, steps: &[Step]) -> Self {
        let Attributed { split, story } = *attributed;
        Self { record, split, story, steps: steps.to_vec() }
    }
}

/// Why requests took as long as they did.
#[derive(Clone, Debug, Default)]
pub struct Causes {
    /// Of reads.
    pub read: SplitStats,
    /// Of writes.
    pub write: SplitStats,
    /// The slowest requests, the slowest first; of equals, the earlier.
    pub slowest: Vec<Slow>,
    /// The slowest reads.
    pub slowest_reads: Vec<Slow>,
    /// The slowest writes.
    pub slowest_writes: Vec<Slow>,
    /// The first request whose parts do not add up to its latency: the books are wrong, and what
    /// they say of others is not to be trusted.
    pub unbalanced: Option<Box<Slow>>,
}

/// Every request of a stretch of the run, for who writes them down.
#[derive(Clone, Debug, Default)]
pub struct Records {
    /// In the order of their completions.
    pub requests: Vec<Record>,
    /// Their latencies, split; empty without attribution.
    pub splits: Vec<Split>,
}

impl Causes {
    /// Counts a request.
    #[inline]
    pub(super) fn record(
        &mut self,
        (op, latency): (Op, Duration),
        record: impl Fn() -> Record,
        attributed: &Attributed,
        steps: &[Step],
    ) {
        let split = &attributed.split;
        let of_kind = match op {
            Op::Read => Some((&mut self.read, &mut self.slowest_reads)),
            Op::Write => Some((&mut self.write, &mut self.slowest_writes)),
            Op::Flush | Op::Trim => None,
        };
        let total = match of_kind {
            Some((stats, slowest)) => {
                if !steps.is_empty() {
                    stats.record_stages(latency, &stages_of(steps));
                }
                if is_slow(slowest, latency) {
                    keep(slowest, record(), attributed, steps);
                }
                stats.record(latency, split)
            }
            None => split.total(),
        };
        if total != latency {
            self.note_unbalanced(record(), attributed, steps);
        }
        if is_slow(&self.slowest, latency) {
            keep(&mut self.slowest, record(), attributed, steps);
        }
    }

    /// The parts of a request do not add up to its latency. Tests end here; a run goes on, and who
    /// asks for its result is told.
    #[cold]
    fn note_unbalanced(&mut self, record: Record, attributed: &Attributed, steps: &[Step]) {
        let slow = Slow::new(record, attributed, steps);
        debug_assert!(false, "the parts of a latency add up to it: {slow:?}");
        self.unbalanced.get_or_insert(Box::new(slow));
    }
}

/// True when the request belongs to the slowest.
#[inline]
fn is_slow(slowest: &[Slow], latency: Duration) -> bool {
    slowest.get(SLOWEST - 1).is_none_or(|last| latency > last.record.latency)
}

#[cold]
fn keep(list: &mut Vec<Slow>, record: Record, attributed: &Attributed, steps: &[Step]) {
    let slow = Slow::new(record, attributed, steps);
    let at = list.partition_point(|other| other.record.latency >= slow.record.latency);
    list.insert(at, slow);
    list.truncate(SLOWEST);
}

fn stages_of(steps: &[Step]) -> Stages {
    steps.iter().fold(Stages::default(), |mut stages, step| {
        stages.add(step.stage, step.to.since(step.from));
        stages
    })
}

impl Records {
    pub(super) fn push(&mut self, record: Record, attributed: Option<&Attributed>) {
        self.requests.push(record);
        self.splits.extend(attributed.map(|attributed| attributed.split));
    }
}
