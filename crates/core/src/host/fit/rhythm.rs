//! When requests came and what they did, piece by piece: pieces of equal counts, so that a burst
//! is seen as finely as it is busy. Memory is bounded: when there are too many, two become one.

use crate::host::PhasesSpec;
use std::collections::BTreeMap;

/// Pieces that are kept; half as many at least.
const PIECES: usize = 256;
/// Gaps are counted in half octaves of nanoseconds; the first is for none at all.
const GAPS: usize = 130;

/// A piece of the trace.
#[derive(Clone, Debug)]
struct Piece {
    start: u64,
    reads: u64,
    writes: u64,
    /// Sectors that were read and written, and the requests that had any.
    sectors: [u64; 2],
    sized: [u64; 2],
    /// By what came before and what comes: reads first.
    gaps: [[[u32; GAPS]; 2]; 2],
}

impl Piece {
    fn new(start: u64) -> Self {
        let (sectors, sized) = ([0; 2], [0; 2]);
        Self { start, reads: 0, writes: 0, sectors, sized, gaps: [[[0; GAPS]; 2]; 2] }
    }

    fn requests(&self) -> u64 {
        self.reads + self.writes
    }

    fn add(&mut self, other: &Self) {
        self.reads += other.reads;
        self.writes += other.writes;
        self.sectors = [0, 1].map(|kind| self.sectors[kind] + other.sectors[kind]);
        self.sized = [0, 1].map(|kind| self.sized[kind] + other.sized[kind]);
        let theirs = other.gaps.as_flattened().as_flattened();
        for (count, more) in self.gaps.as_flattened_mut().as_flattened_mut().iter_mut().zip(theirs)
        {
            *count += more;
        }
    }
}

/// The pieces so far, and runs of reads and of writes.
#[derive(Clone, Debug, Default)]
pub(super) struct Rhythm {
    pieces: Vec<Piece>,
    /// Requests of a piece.
    each: u64,
    last: u64,
    was_write: bool,
    run: u32,
    /// Runs of reads and of writes by octave of their length: how many, and their requests.
    runs: [BTreeMap<u32, (u64, u64)>; 2],
}

impl Rhythm {
    /// A read, or what is none, at `at` nanoseconds.
    pub(super) fn add(&mut self, at: u64, is_read: bool, sectors: u32) {
        let is_write = !is_read;
        let is_full = self.pieces.last().is_none_or(|piece| piece.requests() >= self.each);
        if is_full {
            self.begin_piece(at);
        }
        let gap = at.saturating_sub(self.last);
        let piece = self.pieces.last_mut().expect("a piece has begun");
        // The first gap of a piece belongs to none.
        if !is_full {
            piece.gaps[usize::from(self.was_write)][usize::from(is_write)][bucket(gap)] += 1;
        }
        *(if is_read { &mut piece.reads } else { &mut piece.writes }) += 1;
        piece.sectors[usize::from(is_write)] += u64::from(sectors);
        piece.sized[usize::from(is_write)] += u64::from(sectors > 0);
        if self.run > 0 && self.was_write != is_write {
            self.end_run();
        }
        self.run = self.run.saturating_add(1);
        (self.last, self.was_write) = (at, is_write);
    }

    fn begin_piece(&mut self, at: u64) {
        if self.pieces.len() == PIECES {
            let pairs = std::mem::take(&mut self.pieces);
            self.pieces = pairs.chunks(2).map(joined).collect();
            self.each *= 2;
        }
        self.each = self.each.max(1);
        self.pieces.push(Piece::new(at));
    }

    fn end_run(&mut self) {
        let runs = &mut self.runs[usize::from(self.was_write)];
        let (count, requests) = runs.entry(self.run.max(1).ilog2()).or_default();
        (*count, *requests) = (*count + 1, *requests + u64::from(self.run));
        self.run = 0;
    }

    /// The phases; `split` has the mean of the smaller and of the larger sizes, in sectors, of
    /// reads and of writes. After each `flush_every` writes (0: never) comes a flush, which is a
    /// request of its phase. `None` where the trace has no times.
    pub(super) fn phases(&self, split: [[f64; 2]; 2], flush_every: u32) -> Option<PhasesSpec> {
        let mut whole = self.clone();
        whole.end_run();
        let ends = self.pieces.iter().skip(1).map(|piece| piece.start).chain([self.last + 1]);
        let mut spec = PhasesSpec::default();
        // Half octaves of gaps over the mean of their piece.
        let mut gaps: [BTreeMap<i32, f64>; 4] = Default::default();
        let mut writes = 0;
        let flushes = |writes: u64| writes.checked_div(u64::from(flush_every)).unwrap_or(0);
        for (piece, end) in self.pieces.iter().zip(ends) {
            let length = (end - piece.start) as f64;
            let large = [0, 1].map(|kind| {
                let [small, large] = split[kind];
                let mean = piece.sectors[kind] as f64 / piece.sized[kind].max(1) as f64;
                let share = if large > small { (mean - small) / (large - small) } else { 0.0 };
                tenth(100.0 * share.clamp(0.0, 1.0))
            });
            let flushed = flushes(writes);
            writes += piece.sized[1];
            let requests = (piece.requests() + flushes(writes) - flushed) as f64;
            let reads = tenth(100.0 * piece.reads as f64 / requests);
            spec.list.push([super::rounded(length / 1e9), requests, reads, large[0], large[1]]);
            add_gaps(&mut gaps, piece, length / requests);
        }
        spec.read_runs = runs(&whole.runs[0]);
        spec.write_runs = runs(&whole.runs[1]);
        spec.gaps = gaps.map(|gaps| {
            let total: f64 = gaps.values().sum();
            let pair = |(half, count): (&i32, &f64)| (of_half(*half), 100.0 * count / total);
            gaps.iter().map(pair).filter(|pair| pair.1 >= 0.01).map(written).collect()
        });
        (self.last > self.pieces.first()?.start).then_some(spec)
    }
}

fn joined(pair: &[Piece]) -> Piece {
    let mut piece = pair[0].clone();
    pair[1..].iter().for_each(|other| piece.add(other));
    piece
}

/// A gap over the mean is below this as none at all.
const NONE: i32 = -60;

fn add_gaps(gaps: &mut [BTreeMap<i32, f64>; 4], piece: &Piece, mean: f64) {
    let tables = piece.gaps.as_flattened();
    for (of_kind, table) in gaps.iter_mut().zip(tables) {
        for (at, count) in table.iter().enumerate().filter(|(_, count)| **count > 0) {
            let half = if at == 0 { NONE } else { half_octave(of_bucket(at) / mean).max(NONE) };
            *of_kind.entry(half).or_default() += f64::from(*count);
        }
    }
}

/// Bucket of a gap: none, then two for each octave.
fn bucket(gap: u64) -> usize {
    if gap == 0 {
        return 0;
    }
    let octave = gap.ilog2();
    let is_upper = octave > 0 && gap >> (octave - 1) & 1 == 1;
    1 + 2 * octave as usize + usize::from(is_upper)
}

/// Middle of a bucket, in nanoseconds.
fn of_bucket(at: usize) -> f64 {
    let octave = ((at - 1) / 2) as i32;
    let middle = if (at - 1).is_multiple_of(2) { 1.25 } else { 1.75 };
    middle * power(octave)
}

/// Half octaves from 1 on that a number lies in: 1 to 1.5, 1.5 to 2, and so on.
fn half_octave(value: f64) -> i32 {
    let mut octave = 0;
    let mut rest = value;
    while rest >= 2.0 {
        (rest, octave) = (rest / 2.0, octave + 1);
    }
    while rest < 1.0 && octave > NONE {
        (rest, octave) = (rest * 2.0, octave - 1);
    }
    2 * octave + i32::from(rest >= 1.5)
}

fn of_half(half: i32) -> f64 {
    if half <= NONE {
        return 0.0;
    }
    let middle = if half.rem_euclid(2) == 0 { 1.25 } else { 1.75 };
    middle * power(half.div_euclid(2))
}

fn power(octave: i32) -> f64 {
    let (mut value, factor) = (1.0, if octave < 0 { 0.5 } else { 2.0 });
    for _ in 0..octave.unsigned_abs() {
        value *= factor;
    }
    value
}

fn tenth(percent: f64) -> f64 {
    (percent * 10.0 + 0.5).floor() / 10.0
}

fn written((value, weight): (f64, f64)) -> (f64, f64) {
    (super::rounded(value), (weight * 100.0 + 0.5).floor() / 100.0)
}

fn runs(runs: &BTreeMap<u32, (u64, u64)>) -> Vec<(u32, f64)> {
    let total: u64 = runs.values().map(|run| run.0).sum();
    let pair = |(count, requests): &(u64, u64)| {
        let mean = (*requests as f64 / *count as f64 + 0.5) as u32;
        (mean, super::rounded(100.0 * *count as f64 / total as f64).max(1e-3))
    };
    runs.values().map(pair).collect()
}
