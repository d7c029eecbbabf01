//! Requests in phases: how busy a trace was and what it did then, piece by piece.
//!
//! A phase has a length, a count of requests, a share of reads and shares of large requests. In it
//! reads and writes come in runs, and gaps depend on what came before and what comes. Both are
//! drawn twice, from copies of the random streams: first for their sums, then so that the phase
//! has its requests and its length exactly. Nothing is allocated.

use super::alias::AliasTable;
use super::error::{GenerateError, Job};
use super::{Chance, stream};
use crate::host::PhasesSpec;
use crate::sim::Rng;
use crate::units::Instant;

/// A request to come: when, what, and whether it is one of the large ones.
#[derive(Clone, Copy, Debug)]
pub(super) struct Beat {
    pub(super) at: Instant,
    pub(super) is_read: bool,
    pub(super) is_large: bool,
}

/// The requests of a job with `arrival = "phases"`.
#[derive(Clone, Debug)]
pub(super) struct Phases {
    phases: Box<[Phase]>,
    /// Index of the next phase.
    next: usize,
    /// The present phase: its start and its length, in nanoseconds.
    start: u64,
    length: f64,
    left: u64,
    /// Sum of the gaps of the present phase, and of those so far.
    sum: f64,
    so_far: f64,
    walk: Walk,
    tables: Tables,
    large: [Chance; 2],
    sizes: Rng,
    end: u64,
}

#[derive(Clone, Copy, Debug)]
struct Phase {
    length: f64,
    reads: u64,
    writes: u64,
    /// Large reads, large writes.
    large: [Chance; 2],
}

/// Distributions, which no draw changes.
#[derive(Clone, Debug)]
struct Tables {
    /// Lengths of runs of reads and of writes.
    runs: [Weighted; 2],
    /// Gaps by what came before and what comes: reads first.
    gaps: [[Weighted; 2]; 2],
}

#[derive(Clone, Debug)]
struct Weighted {
    table: AliasTable,
    values: Box<[f64]>,
}

impl Weighted {
    fn new(pairs: &[(f64, f64)]) -> Self {
        let weights: Vec<f64> = pairs.iter().map(|pair| pair.1).collect();
        match pairs {
            [] => Self { table: AliasTable::new(&[1.0]), values: [1.0].into() },
            _ => Self {
                table: AliasTable::new(&weights),
                values: pairs.iter().map(|pair| pair.0).collect(),
            },
        }
    }

    fn draw(&self, rng: &mut Rng) -> f64 {
        self.values[self.table.pick(rng.next_u64())]
    }
}

/// Walk through one phase: runs of reads and runs of writes in turn.
#[derive(Clone, Debug)]
struct Walk {
    runs: [Rng; 2],
    gaps: Rng,
    was_read: bool,
    /// Reads and writes of the present runs.
    reads: u64,
    writes: u64,
    /// Writes that are left for later runs.
    writes_left: u64,
    /// Reads of the phase, those that went into runs, and the weights that divide them.
    all_reads: u64,
    reads_placed: u64,
    weight: f64,
    weights: f64,
}

impl Walk {
    /// The next request and the gap before it, in any unit.
    fn step(&mut self, tables: &Tables) -> (bool, f64) {
        while self.reads == 0 && self.writes == 0 {
            self.next_runs(tables);
        }
        let is_read = self.reads > 0;
        if is_read {
            self.reads -= 1
        } else {
            self.writes -= 1
        }
        (is_read, self.gap(tables, is_read))
    }

    fn gap(&mut self, tables: &Tables, is_read: bool) -> f64 {
        let table = &tables.gaps[usize::from(!self.was_read)][usize::from(!is_read)];
        self.was_read = is_read;
        table.draw(&mut self.gaps)
    }

    /// A run of reads, then one of writes.
    fn next_runs(&mut self, tables: &Tables) {
        self.weight += tables.runs[0].draw(&mut self.runs[0]);
        let upto = (self.all_reads as f64 * self.weight / self.weights + 0.5) as u64;
        // The last weight places what rounding left.
        let upto = if self.writes_left == 0 { self.all_reads } else { upto.min(self.all_reads) };
        (self.reads, self.reads_placed) = (upto - self.reads_placed, upto);
        self.writes = self.run_of_writes(tables);
    }

    fn run_of_writes(&mut self, tables: &Tables) -> u64 {
        if self.writes_left == 0 {
            return 0;
        }
        let run = (tables.runs[1].draw(&mut self.runs[1]) as u64).clamp(1, self.writes_left);
        self.writes_left -= run;
        run
    }

    /// Begins a phase of so many reads and writes.
    fn begin(&mut self, reads: u64, writes: u64, tables: &Tables) {
        (self.all_reads, self.writes_left) = (reads, writes);
        (self.reads, self.writes, self.reads_placed) = (0, 0, 0);
        let mut trial = self.clone();
        // One weight before each run of writes, and one behind the last.
        let mut weights = trial.draw_weight(tables);
        while trial.run_of_writes(tables) > 0 {
            weights += trial.draw_weight(tables);
        }
        (self.weight, self.weights) = (0.0, weights);
    }

    fn draw_weight(&mut self, tables: &Tables) -> f64 {
        tables.runs[0].draw(&mut self.runs[0])
    }
}

impl Phases {
    pub(super) fn new(job: Job, spec: &PhasesSpec, root: u64) -> Result<Self, GenerateError> {
        let seconds: f64 = spec.list.iter().map(|phase| phase[0]).sum();
        let requests: f64 = spec.list.iter().map(|phase| phase[1]).sum();
        let rate = job.spec.rate;
        if !(seconds > 0.0 && requests >= 1.0 && rate > 0.0) {
            let allowed = "phases of some seconds and requests, with a rate above 0";
            return Err(job.error("phases", format!("{requests} in {seconds} s"), allowed));
        }
        // The phases at the rate that is asked for.
        let unit = 1e9 * requests / seconds / rate;
        let phase = |phase: &[f64; 5]| {
            let [seconds, requests, reads, large_reads, large_writes] = *phase;
            let all = (requests + 0.5) as u64;
            let reads = ((requests * reads / 100.0 + 0.5) as u64).min(all);
            let large = [Chance::new(large_reads), Chance::new(large_writes)];
            Phase { length: seconds * unit, reads, writes: all - reads, large }
        };
        let runs = |runs: &[(u32, f64)]| {
            let pairs = runs.iter().map(|(run, weight)| (f64::from(*run), *weight));
            Weighted::new(&pairs.collect::<Vec<_>>())
        };
        let [rr, rw, wr, ww] = &spec.gaps;
        let gaps = [[rr, rw].map(|gaps| Weighted::new(gaps)), [wr, ww].map(|g| Weighted::new(g))];
        let of = |concern: &str| stream(root, job, concern);
        let walk = Walk {
            runs: [of("run/read"), of("run/write")],
            gaps: of("gap"),
            was_read: true,
            reads: 0,
            writes: 0,
            writes_left: 0,
            all_reads: 0,
            reads_placed: 0,
            weight: 0.0,
            weights: 1.0,
        };
        let bound = if job.spec.time.is_zero() { u64::MAX } else { job.spec.time.as_ns() };
        Ok(Self {
            phases: spec.list.iter().map(phase).collect(),
            next: 0,
            start: 0,
            length: 0.0,
            left: 0,
            sum: 1.0,
            so_far: 0.0,
            walk,
            tables: Tables { runs: [runs(&spec.read_runs), runs(&spec.write_runs)], gaps },
            large: [Chance::new(0.0); 2],
            sizes: of("large"),
            end: bound,
        })
    }

    /// The next request, or `None` beyond the end of the job.
    pub(super) fn draw(&mut self) -> Option<Beat> {
        while self.left == 0 {
            self.begin();
        }
        self.left -= 1;
        let (is_read, gap) = self.walk.step(&self.tables);
        self.so_far += gap;
        // No later than its end, also where rounding adds up.
        let share = (self.so_far / self.sum).min(1.0);
        let at = self.start + (share * self.length) as u64;
        let is_large = self.large[usize::from(!is_read)].holds(self.sizes.next_u64());
        (at < self.end).then_some(Beat { at: Instant::from_ns(at), is_read, is_large })
    }

    /// Begins the next phase; the first follows the last.
    fn begin(&mut self) {
        self.start += self.length as u64;
        let Phase { length, reads, writes, large } = self.phases[self.next];
        self.next = (self.next + 1) % self.phases.len();
        (self.length, self.large, self.left) = (length, large, reads + writes);
        self.walk.begin(reads, writes, &self.tables);
        let mut trial = self.walk.clone();
        let mut sum = 0.0;
        for _ in 0..self.left {
            sum += trial.step(&self.tables).1;
        }
        // And the gap to the next phase.
        sum += trial.gap(&self.tables, true);
        (self.sum, self.so_far) = (if sum > 0.0 { sum } else { 1.0 }, 0.0);
    }
}
