//! The generator as a whole: shares, bounds, repeatability, and what it refuses.

use super::*;
use crate::host::{Arrival, Pattern};
use crate::units::{Bytes, Duration, Instant, SECTOR};
use manx_trace::TraceSpec;
use proptest::prelude::*;

/// 1 GiB in sectors.
const GIB: u64 = (1 << 30) / SECTOR;

fn generate(spec: &JobSpec, capacity: u64) -> Vec<Request> {
    let mut generator = Generator::new(spec, capacity, 1, 0).unwrap();
    std::iter::from_fn(|| generator.next_request()).collect()
}

fn job(requests: u64) -> JobSpec {
    JobSpec { requests, ..JobSpec::default() }
}

fn sectors_of(size: Bytes) -> u64 {
    size.get() / SECTOR
}

/// The count of what has a probability of `percent` is within four standard deviations of what is
/// expected.
fn assert_share(what: &str, count: usize, of: usize, percent: f64) {
    let (of, share) = (of as f64, percent / 100.0);
    let deviation = (count as f64 - of * share) / (of * share * (1.0 - share)).sqrt().max(1e-9);
    assert!(deviation.abs() < 4.0, "{what}: {count} of {of} instead of {percent} %");
}

#[test]
fn reads_writes_trims_and_fua_have_their_shares() {
    let spec =
        JobSpec { read_percent: 60.0, trim_percent: 10.0, fua_percent: 25.0, ..job(1_000_000) };
    let requests = generate(&spec, GIB);
    let count = |op| requests.iter().filter(|request| request.op == op).count();
    assert_share("reads", count(Op::Read), requests.len(), 60.0);
    assert_share("trims", count(Op::Trim), requests.len(), 10.0);
    assert_share("writes", count(Op::Write), requests.len(), 30.0);
    let fua: Vec<_> = requests.iter().filter(|request| request.fua).collect();
    assert!(fua.iter().all(|request| request.op == Op::Write));
    assert_share("FUA", fua.len(), count(Op::Write), 25.0);
}

#[test]
fn a_share_of_0_is_never_and_of_100_always() {
    let all = JobSpec { read_percent: 100.0, ..job(100_000) };
    assert!(generate(&all, GIB).iter().all(|request| request.op == Op::Read));
    let none = JobSpec { read_percent: 0.0, fua_percent: 100.0, ..job(100_000) };
    assert!(generate(&none, GIB).iter().all(|request| request.op == Op::Write && request.fua));
    let trims = JobSpec { read_percent: 0.0, trim_percent: 100.0, ..job(100_000) };
    assert!(generate(&trims, GIB).iter().all(|request| request.op == Op::Trim));
}

#[test]
fn a_flush_follows_every_so_many_writes_and_counts_as_a_request() {
    let spec = JobSpec { flush_every: 3, ..job(10_000) };
    let requests = generate(&spec, GIB);
    assert_eq!(requests.len(), 10_000);
    let mut writes = 0;
    for request in &requests {
        let due = writes == 3;
        assert_eq!(request.op == Op::Flush, due, "{request:?} after {writes} writes");
        assert_eq!(request.sectors == 0, due);
        writes = if due { 0 } else { writes + u32::from(request.op == Op::Write) };
    }
}

#[test]
fn block_sizes_have_their_shares_and_writes_their_own() {
    let (small, large, write) = (Bytes::kib(4), Bytes::kib(64), Bytes::kib(16));
    let spec = JobSpec {
        block_sizes: vec![(small, 70.0), (large, 30.0)],
        write_block_sizes: vec![(write, 1.0), (Bytes::kib(8), 0.0)],
        ..job(500_000)
    };
    let requests = generate(&spec, GIB);
    let (reads, writes): (Vec<&Request>, Vec<&Request>) =
        requests.iter().partition(|request| request.op == Op::Read);
    let count = |size| {
        reads.iter().filter(|request| u64::from(request.sectors) == sectors_of(size)).count()
    };
    assert_share("4 KiB", count(small), reads.len(), 70.0);
    assert_eq!(count(small) + count(large), reads.len());
    assert!(writes.iter().all(|request| u64::from(request.sectors) == sectors_of(write)));
}

#[test]
fn random_addresses_are_uniform() {
    let spec = job(1_000_000);
    let mut counts = [0usize; 64];
    generate(&spec, 64 * 8).iter().for_each(|request| counts[(request.lba.0 / 8) as usize] += 1);
    counts.into_iter().for_each(|count| assert_share("a block", count, 1_000_000, 100.0 / 64.0));
}

#[test]
fn sequential_requests_follow_each_other_and_wrap_at_the_end_of_the_range() {
    let spec = JobSpec {
        pattern: Pattern::Sequential,
        offset: Bytes::kib(16),
        size: Bytes::kib(18),
        ..job(9)
    };
    let lbas: Vec<u64> = generate(&spec, GIB).iter().map(|request| request.lba.0).collect();
    // 16 KiB is sector 32; the last 2 KiB of the range hold no whole request.
    assert_eq!(lbas, [32, 40, 48, 56, 32, 40, 48, 56, 32]);
}

#[test]
fn the_hot_part_of_the_space_gets_the_hot_requests_evenly() {
    let spec = JobSpec { pattern: Pattern::Tiers, tiers: vec![(10.0, 90.0)], ..job(1_000_000) };
    let blocks = 1000;
    let mut counts = vec![0usize; blocks];
    generate(&spec, blocks as u64 * 8)
        .iter()
        .for_each(|request| counts[(request.lba.0 / 8) as usize] += 1);
    let hot_places: Vec<usize> = (0..blocks).filter(|&block| counts[block] > 400).collect();
    assert_eq!(hot_places.len(), 100);
    assert!(hot_places[49].abs_diff(blocks / 2) < 150, "scattered, not at one end: {hot_places:?}");
    assert_share(
        "hot requests",
        hot_places.iter().map(|&block| counts[block]).sum(),
        1_000_000,
        90.0,
    );
    hot_places.iter().for_each(|&block| assert_share("a hot block", counts[block], 1_000_000, 0.9));
}

#[test]
fn zipf_blocks_have_the_probabilities_of_their_ranks() {
    let spec = JobSpec { pattern: Pattern::Zipf, zipf_theta: 1.0, ..job(1_000_000) };
    let mut counts = vec![0usize; 500];
    generate(&spec, 500 * 8).iter().for_each(|request| counts[(request.lba.0 / 8) as usize] += 1);
    assert!((0..100).any(|block| counts[block] < counts[block + 1]), "ranks are scattered");
    counts.sort_unstable_by(|a, b| b.cmp(a));
    let total: f64 = (1..=500).map(|rank| 1.0 / f64::from(rank)).sum();
    // Sorting finds the ranks as long as neighbours differ by more than chance; so the first twenty
    // only.
    (0..20).for_each(|rank| {
        assert_share("a rank", counts[rank], 1_000_000, 100.0 / (rank + 1) as f64 / total)
    });
}

#[test]
fn a_large_request_holds_the_granule_that_was_chosen() {
    let (small, large) = (Bytes::kib(4), Bytes::kib(64));
    let hot = JobSpec { pattern: Pattern::Zipf, zipf_theta: 30.0, ..job(1_000) };
    let place = |sizes| generate(&JobSpec { block_sizes: sizes, ..hot.clone() }, GIB);
    let granule = place(vec![(small, 1.0)])[0].lba.0;
    for request in place(vec![(small, 1.0), (large, 1.0)]) {
        let holds = (request.lba.0..request.lba.0 + u64::from(request.sectors)).contains(&granule);
        assert!(
            holds && request.lba.0.is_multiple_of(u64::from(request.sectors)),
            "{request:?}, granule {granule}"
        );
    }
}

#[test]
fn closed_loop_requests_have_no_time_and_no_end_by_time() {
    let spec = JobSpec { requests: 0, time: Duration::from_ns(1), ..JobSpec::default() };
    let mut generator = Generator::new(&spec, GIB, 1, 0).unwrap();
    assert!((0..1000).all(|_| generator.next_request().unwrap().at == Instant::START));
}

#[test]
fn an_open_loop_ends_before_its_time_or_at_its_count_and_stays_ended() {
    let fixed = JobSpec {
        arrival: Arrival::Fixed,
        rate: 1000.0,
        time: Duration::from_ms(5),
        ..JobSpec::default()
    };
    let times = |spec| {
        generate(spec, GIB).iter().map(|request| request.at.as_ns() / 1_000_000).collect::<Vec<_>>()
    };
    assert_eq!(times(&fixed), [0, 1, 2, 3, 4]);
    assert_eq!(times(&JobSpec { requests: 2, ..fixed.clone() }), [0, 1]);
    let mut generator = Generator::new(&fixed, GIB, 1, 0).unwrap();
    while generator.next_request().is_some() {}
    assert!((0..10).all(|_| generator.next_request().is_none()));
}

#[test]
fn a_range_is_clipped_to_the_device() {
    let spec = JobSpec { offset: Bytes::kib(512), size: Bytes::new(1 << 40), ..job(10_000) };
    let end = generate(&spec, 2048)
        .iter()
        .map(|request| request.lba.0 + u64::from(request.sectors))
        .max();
    assert_eq!(end, Some(2048));
}

#[test]
fn two_jobs_that_differ_in_the_read_mix_ask_for_the_same_addresses_at_the_same_times() {
    for pattern in [Pattern::Random, Pattern::Sequential, Pattern::Zipf, Pattern::Tiers] {
        let block_sizes = vec![(Bytes::kib(4), 3.0), (Bytes::kib(16), 1.0)];
        let spec = JobSpec {
            pattern,
            block_sizes,
            arrival: Arrival::Poisson,
            rate: 1e5,
            fua_percent: 50.0,
            ..job(10_000)
        };
        let asked = |read_percent| {
            let requests = generate(&JobSpec { read_percent, ..spec.clone() }, GIB);
            requests
                .iter()
                .map(|request| (request.at, request.lba, request.sectors))
                .collect::<Vec<_>>()
        };
        assert!(asked(0.0) == asked(70.0) && asked(70.0) == asked(100.0), "{pattern:?}");
    }
}

#[test]
fn two_jobs_and_two_seeds_ask_for_different_addresses() {
    let first = |root, job| {
        Generator::new(&self::job(1), GIB, root, job).unwrap().next_request().unwrap().lba
    };
    assert_eq!(first(1, 0), first(1, 0));
    assert_ne!(first(1, 0), first(1, 1));
    assert_ne!(first(1, 0), first(2, 0));
}

/// The requests are part of the output: a change here changes every result.
#[test]
fn the_requests_are_those_of_every_machine() {
    let mut hash = 0u64;
    for pattern in [Pattern::Random, Pattern::Sequential, Pattern::Zipf, Pattern::Tiers] {
        let spec = JobSpec {
            pattern,
            arrival: Arrival::Poisson,
            rate: 1e5,
            trim_percent: 5.0,
            ..job(100_000)
        };
        for Request { at, op, lba, sectors, .. } in generate(&spec, 1_000_000) {
            for value in [at.as_ns(), op as u64, lba.0, u64::from(sectors)] {
                hash = (hash ^ value).wrapping_mul(0x100_0000_01b3).rotate_left(17);
            }
        }
    }
    assert_eq!(hash, 0x866f_e5c0_3fa4_c75e, "{hash:#x}");
}

fn any_spec() -> impl Strategy<Value = JobSpec> {
    let pattern = prop_oneof![
        Just(Pattern::Random),
        Just(Pattern::Sequential),
        Just(Pattern::Shuffle),
        Just(Pattern::Zipf),
        Just(Pattern::Tiers)
    ];
    let arrival = prop_oneof![
        Just(Arrival::Closed),
        Just(Arrival::Poisson),
        Just(Arrival::Fixed),
        Just(Arrival::Bursty)
    ];
    let sizes = |least| prop::collection::vec((1u64..300, 0.1f64..10.0), least..4);
    let bytes = |sectors: u64| Bytes::new(sectors * SECTOR);
    let sized = move |sizes: Vec<(u64, f64)>| {
        sizes.into_iter().map(|(size, weight)| (bytes(size), weight)).collect()
    };
    let range = (prop_oneof![Just(0), 1u64..200], 0u64..5000, prop_oneof![Just(0), 1u64..9000]);
    (pattern, arrival, sizes(1), sizes(0), range, 0.05f64..3.0, 0f64..100.0, 0u32..5).prop_map(
        move |(
            pattern,
            arrival,
            reads,
            writes,
            (align, offset, size),
            zipf_theta,
            read_percent,
            flush_every,
        )| {
            JobSpec {
                pattern,
                arrival,
                block_sizes: sized(reads),
                write_block_sizes: sized(writes),
                align: bytes(align),
                offset: bytes(offset),
                size: bytes(size),
                zipf_theta,
                read_percent,
                flush_every,
                rate: 1e5,
                ..job(300)
            }
        },
    )
}

proptest! {
    #[test]
    fn requests_are_aligned_inside_the_range_in_order_and_repeat(
        spec in any_spec(),
        capacity in 5000u64..12_000,
    ) {
        let generator = Generator::new(&spec, capacity, 1, 0);
        // A range too small for a size is refused; that is another test's matter.
        prop_assume!(generator.is_ok());
        let mut generator = generator.unwrap();
        let mut again = generator.clone();
        let start = sectors_of(spec.offset);
        let end = match spec.size.get() {
            0 => capacity,
            _ => capacity.min(start + sectors_of(spec.size)),
        };
        let (mut count, mut last) = (0, Instant::START);
        while let Some(request) = generator.next_request() {
            prop_assert_eq!(Some(request), again.next_request());
            prop_assert!(request.at >= last);
            (count, last) = (count + 1, request.at);
            if request.op == Op::Flush {
                continue;
            }
            let sectors = u64::from(request.sectors);
            let unit = if spec.align.get() == 0 { sectors } else { sectors_of(spec.align) };
            let aligned = request.lba.0.is_multiple_of(unit);
            prop_assert!(aligned, "{:?} is not at a multiple of {}", request, unit);
            let inside = start <= request.lba.0 && request.lba.0 + sectors <= end;
            prop_assert!(inside, "{:?} in {}..{}", request, start, end);
        }
        prop_assert_eq!(count, spec.requests);
    }
}

type Change = fn(&mut JobSpec);

/// A row for each way to be wrong: the key that is named, the value that is shown, and the change
/// that brings it about.
const INVALID: &[(&str, &str, Change)] = &[
    ("read_percent", "101", |spec| spec.read_percent = 101.0),
    ("read_percent", "NaN", |spec| spec.read_percent = f64::NAN),
    ("trim_percent", "-1", |spec| spec.trim_percent = -1.0),
    ("trim_percent", "31", |spec| spec.trim_percent = 31.0),
    ("fua_percent", "100.5", |spec| spec.fua_percent = 100.5),
    ("block_sizes", "[]", |spec| spec.block_sizes.clear()),
    ("block_sizes", "0B", |spec| spec.block_sizes[0].0 = Bytes::new(0)),
    ("block_sizes", "1000B", |spec| spec.block_sizes[0].0 = Bytes::new(1000)),
    ("block_sizes", "2GiB", |spec| spec.block_sizes[0].0 = Bytes::new(2 << 30)),
    ("block_sizes", "4TiB", |spec| spec.block_sizes[0].0 = Bytes::new(4 << 40)),
    ("block_sizes", "[4KiB, -2]", |spec| spec.block_sizes[0].1 = -2.0),
    ("block_sizes", "[4KiB, inf]", |spec| spec.block_sizes[0].1 = f64::INFINITY),
    ("block_sizes", "[[4KiB, 0]]", |spec| spec.block_sizes[0].1 = 0.0),
    ("write_block_sizes", "513B", |spec| spec.write_block_sizes = vec![(Bytes::new(513), 1.0)]),
    ("align", "100B", |spec| spec.align = Bytes::new(100)),
    ("block_sizes", "4KiB", |spec| {
        (spec.offset, spec.align) = (Bytes::new(512), Bytes::new(1 << 30))
    }),
    ("offset", "1B", |spec| spec.offset = Bytes::new(1)),
    ("offset", "1GiB", |spec| spec.offset = Bytes::new(1 << 30)),
    ("size", "4097B", |spec| spec.size = Bytes::new(4097)),
    ("block_sizes", "4KiB", |spec| spec.size = Bytes::kib(2)),
    ("zipf_theta", "0", |spec| (spec.pattern, spec.zipf_theta) = (Pattern::Zipf, 0.0)),
    ("zipf_theta", "inf", |spec| (spec.pattern, spec.zipf_theta) = (Pattern::Zipf, f64::INFINITY)),
    ("tiers", "[[10, -5]]", |spec| {
        (spec.pattern, spec.tiers) = (Pattern::Tiers, vec![(10.0, -5.0)])
    }),
    ("tiers", "[[120, 5]]", |spec| {
        (spec.pattern, spec.tiers) = (Pattern::Tiers, vec![(120.0, 5.0)])
    }),
    ("tiers", "[[0, 5]]", |spec| (spec.pattern, spec.tiers) = (Pattern::Tiers, vec![(0.0, 5.0)])),
    ("tiers", "[[100, 5]]", |spec| {
        (spec.pattern, spec.tiers) = (Pattern::Tiers, vec![(100.0, 5.0)])
    }),
    ("tiers", "[[60, 5], [50, 5]]", |spec| {
        (spec.pattern, spec.tiers) = (Pattern::Tiers, vec![(60.0, 5.0), (50.0, 5.0)])
    }),
    ("write_tiers", "[[10, NaN]]", |spec| {
        (spec.pattern, spec.write_tiers) = (Pattern::Tiers, vec![(10.0, f64::NAN)])
    }),
    ("tier_block", "6KiB", |spec| {
        (spec.pattern, spec.tier_block) = (Pattern::Tiers, Bytes::kib(6))
    }),
    ("tier_block", "2GiB", |spec| {
        (spec.pattern, spec.tier_block) = (Pattern::Tiers, Bytes::new(2 << 30))
    }),
    ("run", "100B", |spec| spec.run = Bytes::new(100)),
    ("peak_to_mean", "0.5", |spec| {
        (spec.arrival, spec.rate, spec.peak_to_mean) = (Arrival::Bursty, 1e3, 0.5)
    }),
    ("peak_to_mean", "100", |spec| {
        (spec.arrival, spec.rate, spec.peak_to_mean) = (Arrival::Bursty, 1e8, 100.0)
    }),
    ("burst", "1us", |spec| {
        (spec.arrival, spec.rate, spec.burst) = (Arrival::Bursty, 1.0, Duration::from_us(1))
    }),
    ("queue_depth", "0", |spec| spec.queue_depth = 0),
    ("rate", "0", |spec| spec.arrival = Arrival::Poisson),
    ("rate", "NaN", |spec| (spec.arrival, spec.rate) = (Arrival::Fixed, f64::NAN)),
    ("rate", "2000000000", |spec| (spec.arrival, spec.rate) = (Arrival::Fixed, 2e9)),
    ("arrival", "trace", |spec| spec.arrival = Arrival::Trace),
    ("requests", "0", |spec| spec.requests = 0),
    ("trace", "a.csv", |spec| spec.trace = Some(a_trace())),
];

#[test]
fn every_invalid_setting_is_named_with_its_value() {
    for (key, value, change) in INVALID {
        let mut spec = job(1);
        change(&mut spec);
        let error =
            Generator::new(&spec, GIB, 1, 2).expect_err(&format!("{key} = {value} was taken"));
        assert_eq!((error.key, error.value.as_str()), (*key, *value));
        let shown = error.to_string();
        let start = format!("workload.jobs[2].{key} is {value}: it must be ");
        assert!(shown.starts_with(&start) && shown.len() > start.len(), "{shown}");
    }
}

fn a_trace() -> TraceSpec {
    TraceSpec::new("a.csv")
}
