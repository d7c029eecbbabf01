//! The rest of what is under way, by arithmetic: at each instant it is the end, which the bench
//! then meets, minus now.

use super::*;

/// The dies of the first channel.
const DIES: u32 = 4;

/// Every so many nanoseconds before `end`.
fn instants(end: Instant, step: usize) -> impl Iterator<Item = Instant> {
    (1..end.since(Instant::START).as_ns())
        .step_by(step)
        .map(|at| Instant::START + Duration::from_ns(at))
}

/// The rest of the operations of two dies, token 7 and 8, which end at `ends`, the first one first.
fn the_rest_is(bench: &mut Bench, ends: [Instant; 2]) {
    for at in instants(ends[1], 997) {
        bench.advance_before(at);
        for (die, token, end) in [(Die(0), 7, ends[0]), (Die(1), 8, ends[1])] {
            let expected = (at <= end).then(|| (OpId(token), end.since(at)));
            assert_eq!(bench.flash.operation_left(at, die), expected, "at {at:?}");
            assert_eq!(bench.flash.gc_operation_left(at, die), None, "it is the host's");
        }
    }
    bench.advance_before(Instant::NEVER);
    assert_eq!(bench.done, [(ends[0], 7), (ends[1], 8)]);
    assert_eq!(bench.flash.operation_left(ends[1], Die(1)), None);
}

/// A die that takes the next program's data meanwhile has the transfer for a part of its own, as
/// has one that programs in two passes, between which the data crosses again.
#[test]
fn the_rest_of_a_program_is_its_transfers_and_its_array_time() {
    for (cache_program, foggy) in [(false, 0), (true, 0), (false, 300)] {
        let mut device = device();
        device.feature.cache_program = cache_program;
        device.timing.foggy = Duration::from_us(foggy);
        let mut bench = Bench::new(device);
        let crosses = bench.command() + bench.page_transfer();
        let passes = if foggy == 0 { Duration::ZERO } else { Duration::from_us(foggy) + crosses };
        // The second one's transfers are behind the first one's.
        let ends = [1, 2]
            .map(|transfers| Instant::START + crosses * transfers + passes + bench.program_array());
        bench.program(Instant::START, Die(0), 0, 7);
        bench.program(Instant::START, Die(1), 0, 8);
        the_rest_is(&mut bench, ends);
    }
}

#[test]
fn the_rest_of_a_preloaded_program_is_the_rest_of_its_transfer_and_its_array_time() {
    let mut device = device();
    device.feature.cache_program = true;
    let mut bench = Bench::new(device);
    let crosses = bench.command() + bench.page_transfer();
    let first = Instant::START + crosses + bench.program_array();
    bench.program(Instant::START, Die(0), 0, 7);
    // The next one's data begins to cross 20 us before the array is free.
    let preloads = first - Duration::from_us(20);
    bench.advance_before(preloads);
    let what = What::Program { row: bench.page(Die(0), 1), sectors: bench.page_sectors() };
    bench.flash.preload(preloads, Die(0), Operation { what, token: OpId(8), gc: false });
    bench.ends_at(first, 7);
    let end = preloads + crosses + bench.program_array();
    for at in (1..end.since(first).as_ns()).step_by(997).map(Duration::from_ns) {
        let at = first + at;
        bench.advance_before(at);
        assert_eq!(
            bench.flash.operation_left(at, Die(0)),
            Some((OpId(8), end.since(at))),
            "at {at:?}"
        );
    }
    bench.ends_at(end, 8);
}

#[test]
fn reads_of_a_channel_bring_their_data_one_after_the_other() {
    let mut device = device();
    device.geometry.ways = DIES;
    let mut bench = Bench::new(device).all_written();
    let layout = &bench.flash.layout;
    let (own, other) = (layout.channel_of(Die(0)), layout.channel_of(Die(DIES)));
    assert!((0..DIES).all(|die| layout.channel_of(Die(die)) == own) && own != other);
    let sensed = Instant::START + bench.command() + bench.read_array();
    // Commands overlap with array reads, and the channel is free between a command and the first
    // page.
    let end = |read: u64| sensed + bench.page_transfer() * read;
    let ends: Vec<_> = (1..=u64::from(DIES)).map(end).collect();
    let last = ends[ends.len() - 1];
    (0..DIES).for_each(|die| bench.read(Instant::START, Die(die), 0, die));
    for at in instants(last, 997) {
        bench.advance_before(at);
        let (own, other) =
            (bench.flash.host_reads_left(at, own), bench.flash.host_reads_left(at, other));
        assert_eq!((own, other), (last.since(at), Duration::ZERO), "at {at:?}");
    }
    bench.advance_before(Instant::NEVER);
    let expected: Vec<_> = ends.into_iter().zip(0..).collect();
    assert_eq!(bench.done, expected);
    assert_eq!(bench.flash.host_reads_left(last, own), Duration::ZERO);
}
