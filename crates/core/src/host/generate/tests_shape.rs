//! Tiers, runs and bursts: the figures of what is drawn against those that were asked for.

use super::*;
use crate::host::{Arrival, Pattern};
use crate::sim::math::exp;
use crate::units::{Bytes, Duration, SECTOR};

/// 4 KiB in sectors.
const PAGE: u64 = 8;

fn generate(spec: &JobSpec, capacity: u64) -> Vec<Request> {
    let mut generator = Generator::new(spec, capacity, 1, 0).unwrap();
    std::iter::from_fn(|| generator.next_request()).collect()
}

fn tiered(tiers: &[(f64, f64)]) -> JobSpec {
    JobSpec {
        pattern: Pattern::Tiers,
        tiers: tiers.to_vec(),
        requests: 400_000,
        ..JobSpec::default()
    }
}

/// Requests of each page, of reads and of writes.
fn counts(requests: &[Request], pages: usize) -> (Vec<u32>, Vec<u32>) {
    let (mut reads, mut writes) = (vec![0; pages], vec![0; pages]);
    for request in requests {
        let side = if request.op == Op::Read { &mut reads } else { &mut writes };
        side[(request.lba.0 / PAGE) as usize] += 1;
    }
    (reads, writes)
}

/// How many pages have more than `least` of these, and how many they have together.
fn above(counts: &[u32], least: u32) -> (usize, u32) {
    let some = counts.iter().filter(|count| **count > least);
    (some.clone().count(), some.sum())
}

fn near(what: &str, value: f64, expected: f64, tolerance: f64) {
    assert!((value / expected - 1.0).abs() < tolerance, "{what}: {value} instead of {expected}");
}

#[test]
fn three_tiers_get_their_shares_of_space_and_requests() {
    let spec = JobSpec { read_percent: 0.0, ..tiered(&[(1.0, 40.0), (9.0, 40.0)]) };
    let (_, writes) = counts(&generate(&spec, 2000 * PAGE), 2000);
    // 20 pages of 8000 each, 180 of 889, 1800 of 44.
    assert_eq!(above(&writes, 4000).0, 20);
    near("hot", f64::from(above(&writes, 4000).1), 160_000.0, 0.02);
    assert_eq!(above(&writes, 400).0, 200);
    near("hot and warm", f64::from(above(&writes, 400).1), 320_000.0, 0.02);
    assert!(writes.iter().all(|count| *count > 0));
}

#[test]
fn writes_have_tiers_of_their_own_that_begin_with_the_same_pages() {
    let spec = JobSpec {
        read_percent: 50.0,
        write_tiers: vec![(10.0, 100.0)],
        ..tiered(&[(50.0, 100.0)])
    };
    let (reads, writes) = counts(&generate(&spec, 1000 * PAGE), 1000);
    assert_eq!((above(&reads, 0).0, above(&writes, 0).0), (500, 100));
    assert!(reads.iter().zip(&writes).all(|(read, write)| *write == 0 || *read > 0));
}

#[test]
fn a_cyclic_tier_is_visited_in_turn() {
    let spec = JobSpec { cyclic_tiers: 1, requests: 40_000, ..tiered(&[(10.0, 50.0)]) };
    let requests = generate(&spec, 1000 * PAGE);
    let (reads, writes) = counts(&requests, 1000);
    let all: Vec<u32> = reads.iter().zip(&writes).map(|(read, write)| read + write).collect();
    let hot: Vec<usize> = (0..1000).filter(|page| all[*page] > 100).collect();
    assert_eq!(hot.len(), 100);
    let (least, most) =
        (hot.iter().map(|page| all[*page]).min(), hot.iter().map(|page| all[*page]).max());
    assert!(most.unwrap() - least.unwrap() <= 1, "{least:?} to {most:?}");
    let visited = requests
        .iter()
        .map(|request| (request.lba.0 / PAGE) as usize)
        .filter(|page| hot.contains(page));
    let visited: Vec<usize> = visited.collect();
    assert!(
        visited.iter().zip(&visited[100..]).all(|(a, b)| a == b),
        "every hundredth is the same page again"
    );
}

#[test]
fn small_requests_lie_anywhere_in_a_block_of_a_tier() {
    let small = Bytes::new(SECTOR);
    let spec = JobSpec {
        block_sizes: vec![(small, 1.0)],
        align: small,
        tier_block: Bytes::kib(4),
        read_percent: 100.0,
        ..tiered(&[(10.0, 90.0)])
    };
    let requests = generate(&spec, 1000 * PAGE);
    let (reads, _) = counts(&requests, 1000);
    // A hot page has 3600 of them, another 44: heat is that of pages, not of sectors.
    assert_eq!(above(&reads, 1800).0, 100);
    near("hot", f64::from(above(&reads, 1800).1), 360_000.0, 0.01);
    let mut places = [0u32; PAGE as usize];
    requests.iter().for_each(|request| places[(request.lba.0 % PAGE) as usize] += 1);
    places.into_iter().for_each(|count| near("a place", f64::from(count), 50_000.0, 0.02));
}

#[test]
fn a_run_goes_on_until_it_is_over_and_then_starts_where_the_pattern_says() {
    let spec = JobSpec { run: Bytes::kib(64), requests: 160_000, ..JobSpec::default() };
    let requests = generate(&spec, 1 << 34);
    for run in requests.chunks_exact(16) {
        assert!(run.windows(2).all(|two| two[1].lba.0 == two[0].lba.0 + PAGE));
    }
    let starts = requests.chunks(16).map(|run| run[0].lba.0);
    let after = requests.chunks(16).map(|run| run[15].lba.0 + PAGE);
    let joined = starts.skip(1).zip(after).filter(|(start, end)| start == end).count();
    assert!(joined < 5, "{joined} runs start where another ends");
    // Runs of 1.25 requests: one of two, then three of one.
    let short = generate(&JobSpec { run: Bytes::kib(5), ..spec.clone() }, 1 << 34);
    let follow = short.windows(2).filter(|two| two[1].lba.0 == two[0].lba.0 + PAGE).count();
    near("requests that follow", follow as f64, 160_000.0 * 0.2, 0.001);
    // At the end of the range a run is cut, and nothing lies beyond.
    let tight = JobSpec { size: Bytes::kib(96), ..spec };
    assert!(generate(&tight, 1 << 24).iter().all(|request| request.lba.0 + PAGE <= 192));
}

/// Mean and variance of the counts in bins of `bin` nanoseconds, as mean and variance / mean.
fn dispersion(times: &[u64], bin: u64) -> (f64, f64) {
    let bins = (times[times.len() - 1] / bin) as usize;
    let mut counts = vec![0.0f64; bins];
    times
        .iter()
        .filter(|at| **at < bins as u64 * bin)
        .for_each(|at| counts[(at / bin) as usize] += 1.0);
    let mean = counts.iter().sum::<f64>() / bins as f64;
    let variance =
        counts.iter().map(|count| (count - mean) * (count - mean)).sum::<f64>() / bins as f64;
    (mean, variance / mean)
}

#[test]
fn bursts_have_the_mean_rate_and_the_dispersion_of_the_formula() {
    // The formula as the documentation has it.
    let idc = |rate: f64, peak: f64, burst: f64, t: f64| {
        let r = 1.0 / burst + 1.0 / (burst * (peak - 1.0));
        1.0 + 2.0 * rate * (peak - 1.0) / r * (1.0 - (1.0 - exp(-r * t)) / (r * t))
    };
    for (rate, peak, burst_ms) in [(2000.0, 10.0, 5), (5000.0, 2.0, 50), (1000.0, 4.0, 20)] {
        let spec = JobSpec {
            arrival: Arrival::Bursty,
            rate,
            peak_to_mean: peak,
            burst: Duration::from_ms(burst_ms),
            time: Duration::from_s(2000),
            ..JobSpec::default()
        };
        let mut generator = Generator::new(&spec, 1 << 20, 1, 0).unwrap();
        let times: Vec<u64> = std::iter::from_fn(|| generator.arrivals.draw())
            .map(|at| at.as_ns())
            .take(1_500_000)
            .collect();
        for (bin, tolerance) in [(10_000_000, 0.05), (1_000_000_000, 0.25)] {
            let (mean, measured) = dispersion(&times, bin);
            let seconds = bin as f64 / 1e9;
            near("mean rate", mean / seconds, rate, 0.04);
            near(
                "dispersion",
                measured,
                idc(rate, peak, burst_ms as f64 / 1e3, seconds),
                tolerance,
            );
        }
    }
}

#[test]
fn a_peak_that_is_the_mean_is_a_poisson_process() {
    let spec = JobSpec {
        arrival: Arrival::Bursty,
        rate: 1000.0,
        peak_to_mean: 1.0,
        requests: 200_000,
        ..JobSpec::default()
    };
    let times: Vec<u64> =
        generate(&spec, 1 << 20).iter().map(|request| request.at.as_ns()).collect();
    let (mean, dispersion) = dispersion(&times, 10_000_000);
    near("mean", mean, 10.0, 0.02);
    near("dispersion", dispersion, 1.0, 0.05);
}

#[test]
fn a_shuffle_visits_every_block_once_a_pass_in_another_order_each_time() {
    for pages in [1usize, 2, 63, 64, 1000] {
        let requests = 3 * pages as u64;
        let spec = JobSpec { pattern: Pattern::Shuffle, requests, ..JobSpec::default() };
        let drawn = generate(&spec, pages as u64 * PAGE);
        let order = |pass: usize| -> Vec<u64> {
            drawn[pass * pages..][..pages].iter().map(|request| request.lba.0 / PAGE).collect()
        };
        for pass in 0..3 {
            let mut visited = order(pass);
            visited.sort_unstable();
            assert!(visited.into_iter().eq(0..pages as u64), "pass {pass} of {pages}");
        }
        assert!(pages < 60 || (order(0) != order(1) && order(1) != order(2)), "{pages}");
        assert!(pages < 60 || !order(0).is_sorted(), "{pages}");
    }
}

/// In a random order the block visited k-th of a pass is visited j-th of the next, j and k
/// independent: so the distance between two visits is a triangle of mean n and variance n^2 / 6.
#[test]
fn two_passes_of_a_shuffle_have_nothing_to_do_with_each_other() {
    let pages = 100_000usize;
    let requests = 2 * pages as u64;
    let spec = JobSpec { pattern: Pattern::Shuffle, requests, ..JobSpec::default() };
    let drawn = generate(&spec, pages as u64 * PAGE);
    let mut first = vec![0; pages];
    let mut squares = 0.0;
    for (number, request) in drawn.iter().enumerate() {
        let page = (request.lba.0 / PAGE) as usize;
        if number < pages {
            first[page] = number;
        } else {
            squares += ((number - first[page]) as f64 - pages as f64).powi(2);
        }
    }
    let variance = squares / pages as f64 / (pages as f64).powi(2);
    // Its own standard deviation is 0.2 / sqrt(n) = 0.0007.
    assert!((variance - 1.0 / 6.0).abs() < 0.004, "{variance}");
}
