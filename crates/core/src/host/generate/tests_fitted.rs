//! Phases have their requests and their length exactly; rewrites go where they are told.

use super::Generator;
use crate::drive::Op;
use crate::host::{Arrival, JobSpec, PhasesSpec, Request, RequestSource, RewritesSpec};
use crate::units::Bytes;

const CAPACITY: u64 = 80_000;

fn drawn(spec: &JobSpec, seed: u64) -> Vec<Request> {
    let mut generator = Generator::new(spec, CAPACITY, seed, 0).unwrap();
    std::iter::from_fn(|| generator.next_request()).collect()
}

fn phased() -> JobSpec {
    let list = vec![
        [1.0, 1000.0, 70.0, 0.0, 100.0],
        [0.5, 10.0, 0.0, 0.0, 0.0],
        [2.0, 0.0, 0.0, 0.0, 0.0],
        [0.001, 990.0, 100.0, 100.0, 0.0],
    ];
    let runs = vec![(1, 60.0), (7, 40.0)];
    let gaps = vec![(0.0, 50.0), (2.0, 30.0), (100.0, 1.0)];
    let gaps = [gaps.clone(), gaps, vec![], vec![(1.0, 1.0)]];
    let phases = PhasesSpec { list, read_runs: runs.clone(), write_runs: runs, gaps };
    JobSpec {
        block_sizes: vec![(Bytes::kib(4), 3.0), (Bytes::kib(64), 1.0)],
        arrival: Arrival::Phases,
        // 2,000 requests in 3.501 s: times are those of the list.
        rate: 2000.0 / 3.501,
        phases: Some(phases),
        requests: 4_000,
        ..JobSpec::default()
    }
}

#[test]
fn each_phase_has_its_requests_its_reads_its_sizes_and_its_time() {
    for seed in 1..20 {
        let requests = drawn(&phased(), seed);
        assert!(requests.is_sorted_by_key(|request| request.at));
        // The phases come round.
        for (round, requests) in requests.chunks(2000).enumerate() {
            let ends = [0.0, 1.0, 1.5, 3.5, 3.501].map(|end| 3.501 * round as f64 + end);
            let counts = [1000, 10, 0, 990];
            let mut rest = requests;
            for (phase, count) in counts.into_iter().enumerate() {
                let (mine, others) = rest.split_at(count);
                rest = others;
                let inside = |request: &Request| {
                    let at = request.at.as_ns() as f64 / 1e9;
                    at >= ends[phase] - 1e-6 && at <= ends[phase + 1] + 1e-6
                };
                assert!(mine.iter().all(inside), "seed {seed}, round {round}, phase {phase}");
                let reads = mine.iter().filter(|request| request.op == Op::Read).count();
                assert_eq!(reads, [700, 0, 0, 990][phase]);
            }
            let large = |requests: &[Request], op: Op| {
                let mine = requests.iter().filter(|request| request.op == op);
                mine.fold([0, 0], |[all, large], request| {
                    [all + 1, large + u32::from(request.sectors > 8)]
                })
            };
            assert_eq!(large(&requests[..1000], Op::Read), [700, 0]);
            assert_eq!(large(&requests[..1000], Op::Write), [300, 300]);
            assert_eq!(large(&requests[1010..], Op::Read), [990, 990]);
        }
    }
}

#[test]
fn a_flush_is_one_of_the_requests_of_a_phase_that_are_no_reads() {
    for seed in 1..20 {
        let requests = drawn(&JobSpec { flush_every: 4, ..phased() }, seed);
        let count = |requests: &[Request], op| requests.iter().filter(|r| r.op == op).count();
        let (first, last) = (&requests[..1000], &requests[1010..2000]);
        assert_eq!((count(first, Op::Read), count(first, Op::Flush)), (700, 60));
        assert_eq!((count(last, Op::Read), count(last, Op::Flush)), (990, 0));
    }
}

#[test]
fn runs_are_as_long_as_they_are_told() {
    let mut spec = phased();
    let phases = spec.phases.as_mut().unwrap();
    phases.list = vec![[1.0, 4000.0, 50.0, 0.0, 0.0]];
    phases.write_runs = vec![(5, 1.0)];
    let requests = drawn(&spec, 1);
    let writes = requests.chunk_by(|a, b| a.op == b.op).filter(|run| run[0].op == Op::Write);
    let runs: Vec<usize> = writes.map(<[Request]>::len).collect();
    // Two runs meet where the reads between them are rounded to none.
    let fives = runs.iter().filter(|run| **run == 5).count();
    assert!(fives * 2 > runs.len() && runs.iter().all(|run| run % 5 == 0), "{runs:?}");
}

fn rewriting(after: [f64; 3], depths: Vec<(u32, f64)>) -> JobSpec {
    let rewrites =
        RewritesSpec { extents: 100, span: 50.0, sequential: 0.0, after: [after; 3], depths };
    JobSpec { read_percent: 0.0, rewrites: Some(rewrites), requests: 1000, ..JobSpec::default() }
}

#[test]
fn the_oldest_goes_round_and_a_depth_of_one_stays() {
    let round = drawn(&rewriting([1.0, 0.0, 0.0], vec![(1, 1.0)]), 1);
    for (first, again) in round.iter().zip(&round[100..]) {
        assert_eq!(first.lba, again.lba);
    }
    let mut places: Vec<u64> = round[..100].iter().map(|request| request.lba.0).collect();
    places.sort_unstable();
    places.dedup();
    // At the end of the range, none twice.
    assert_eq!(places.len(), 100);
    assert!(places[0] >= CAPACITY / 2 - 8);
    let stays = drawn(&rewriting([0.0, 0.0, 1.0], vec![(1, 1.0)]), 1);
    assert!(stays.iter().all(|request| request.lba == stays[0].lba));
}

/// Held against a list, the newest last.
#[test]
fn jumps_go_as_deep_as_they_are_told() {
    let requests = drawn(&rewriting([0.0, 0.0, 1.0], vec![(10, 1.0), (50, 3.0)]), 3);
    let mut list: Vec<u64> = Vec::new();
    let mut counts = [0, 0];
    for request in &requests {
        if let Some(at) = list.iter().position(|lba| *lba == request.lba.0) {
            let depth = list.len() - at;
            assert!(depth <= 50, "{depth}");
            counts[usize::from(depth > 10)] += 1;
            list.remove(at);
        }
        list.push(request.lba.0);
    }
    let share = f64::from(counts[1]) / f64::from(counts[0] + counts[1]);
    assert!((share - 0.75).abs() < 0.05, "{share}");
}
