//! Read retry by formula, to the nanosecond; the law of age against the figures that it is from.

use super::*;
use crate::flash::{AgeingSpec, ChannelOrder, RetryMode, RetrySpec, RetryStart};

/// Every page is `shift` entries of the table away, and decodes up to 3 entries from there (e^3.0
/// is 20.1 and 60 / 3 is 20); a long time on a clean drive, without any spread.
fn age(shift: f64) -> AgeingSpec {
    let retention = Duration::from_s(86_400);
    // ln 2 is 0.693.
    let drift = shift / std::f64::consts::LN_2;
    AgeingSpec { retention, drift, floor: 3.0, slope: 1.0, spread: 0.0, ..AgeingSpec::default() }
}

fn plain() -> RetrySpec {
    RetrySpec { mode: RetryMode::Plain, correctable: 60, ..RetrySpec::default() }
}

fn bench(cache_read: bool, retry: &RetrySpec, age: &AgeingSpec) -> Bench {
    let mut device = device();
    device.feature.cache_read = cache_read;
    let mut bench = Bench::new(device).all_written();
    bench.flash.retry_reads(retry, age, 1);
    bench
}

/// A read on an idle drive ends after `time`.
fn takes(bench: &mut Bench, time: Duration) {
    bench.read(Instant::START, Die(0), 0, 7);
    bench.ends_at(Instant::START + time, 7);
}

#[test]
fn a_page_within_reach_is_read_as_ever() {
    for mode in [RetryMode::Plain, RetryMode::Pipelined] {
        let mut bench = bench(true, &RetrySpec { mode, ..plain() }, &age(2.99));
        let time = bench.command() + bench.read_array() + bench.page_transfer();
        takes(&mut bench, time);
        assert_eq!(bench.flash.retry_counters().retries, 0);
    }
}

#[test]
fn each_plain_retry_is_a_decoding_a_command_an_array_read_and_a_transfer_more() {
    for (shift, retries) in [(3.01, 1), (4.99, 2), (9.5, 7), (30.0, 28)] {
        let mut bench = bench(false, &plain(), &age(shift));
        let step = bench.command() + bench.read_array() + bench.page_transfer();
        let time = step * (retries + 1) + Duration::from_us(20) * retries;
        takes(&mut bench, time);
        assert!(bench.flash.is_idle(Die(0)));
        let counted = bench.flash.retry_counters();
        let found = (counted.reads, counted.retried_reads, counted.retries);
        assert_eq!(found, (1, 1, retries), "{shift}");
        assert_eq!(bench.flash.operations().reads, 1, "it is one operation of the die");
    }
}

/// PR2: the first read fails as ever; then tR of a step covers transfer and decoding of the one
/// before where it is longer, else the bus does.
#[test]
fn pipelined_retries_sense_beside_the_transfer_and_decoding_of_the_step_before() {
    for (rate, retries) in [(40, 7), (400, 7), (40, 1), (400, 1), (400, 2)] {
        let mut device = device();
        device.feature.cache_read = true;
        device.channel.rate = Bandwidth::bytes_per_second(rate * 1_000_000);
        let mut bench = Bench::new(device).all_written();
        let retry = RetrySpec { mode: RetryMode::Pipelined, ..plain() };
        bench.flash.retry_reads(&retry, &age(2.5 + retries as f64), 1);
        let (c, r, t) = (bench.command(), bench.read_array(), bench.page_transfer());
        let first = c + r + t + Duration::from_us(20);
        let time = first + c + r + r.max(t) * (retries - 1) + t;
        bench.read(Instant::START, Die(0), 0, 7);
        bench.advance_before(Instant::START + time + NS);
        assert_eq!(bench.done, [(Instant::START + time, 7)], "{rate} {retries}");
        // The sense that nobody needs is stopped when the decoding is over.
        let free = Instant::START + time + Duration::from_us(20) + Duration::from_us(5);
        assert!(!bench.flash.is_idle(Die(0)));
        bench.advance_before(free);
        assert!(!bench.flash.is_idle(Die(0)));
        bench.advance_before(free + NS);
        assert!(bench.flash.is_idle(Die(0)));
    }
}

/// AR2: a retry senses for three quarters of tR.
#[test]
fn shorter_retries_are_not_taken_where_they_would_not_decode() {
    let short = RetrySpec { shorten: 0.25, ..plain() };
    let mut one = bench(false, &short, &age(4.9));
    let (c, r, t) = (one.command(), one.read_array(), one.page_transfer());
    let decode = Duration::from_us(20);
    let retry = decode + c + Duration::from_ns(r.as_ns() * 3 / 4) + t;
    takes(&mut one, c + r + t + retry * 2);
    assert_eq!((one.flash.retry_counters().shortened, one.flash.retry_counters().retries), (2, 2));
    // 54 bits at the best voltages: 7 more are beyond 60.
    let worn = AgeingSpec { floor: 54.0, ..age(4.9) };
    let mut full = bench(false, &short, &worn);
    takes(&mut full, c + r + t + (decode + c + r + t) * 5);
    assert_eq!(full.flash.retry_counters().shortened, 0);
}

/// RiF: nothing crosses that will not decode.
#[test]
fn a_retry_on_the_die_takes_an_array_read_and_a_check_more() {
    let retry = RetrySpec { mode: RetryMode::OnDie, ..plain() };
    let (mut good, mut old) = (bench(false, &retry, &age(2.9)), bench(false, &retry, &age(25.0)));
    let (c, r, t) = (good.command(), good.read_array(), good.page_transfer());
    let check = Duration::from_ns(2500);
    takes(&mut good, c + r + check + t);
    takes(&mut old, c + (r + check) * 2 + t);
    assert_eq!(old.flash.retry_counters().retries, 1);
}

#[test]
fn what_the_table_does_not_bring_back_goes_to_the_soft_decoder_after_it() {
    let worn = AgeingSpec { floor: 61.0, ..age(1.0) };
    let retry = RetrySpec { entries: 5, ..plain() };
    let mut bench = bench(false, &retry, &worn);
    let step = bench.command() + bench.read_array() + bench.page_transfer();
    let hard = (step + Duration::from_us(20)) * 6;
    takes(&mut bench, hard + step * 6 + Duration::from_us(80));
    let counted = bench.flash.retry_counters();
    assert_eq!((counted.retries, counted.soft_decodes), (5, 1));
    let page = bench.page(Die(0), 0);
    assert!(!bench.flash.is_lost(Instant::START, page), "61 of 144 bits");
    // On the die one retry is enough to know.
    let retry = RetrySpec { mode: RetryMode::OnDie, ..retry };
    let mut on_die = self::bench(false, &retry, &worn);
    let array = (bench.read_array() + Duration::from_ns(2500)) * 2;
    let hard = bench.command() + array + bench.page_transfer() + Duration::from_us(20);
    takes(&mut on_die, hard + step * 6 + Duration::from_us(80));
}

/// A table of five entries, and a page whose best voltages lie further away: the soft decoder alone
/// brings it back.
#[test]
fn a_page_beyond_the_table_is_lost_where_no_soft_decoder_looks_at_it() {
    for mode in [RetryMode::Plain, RetryMode::Pipelined] {
        for (entries, soft_reads, lost) in [(5, 0, true), (5, 3, false), (40, 0, false)] {
            let retry = RetrySpec { mode, entries, soft_reads, ..plain() };
            let mut bench = bench(true, &retry, &age(20.0));
            let page = bench.page(Die(0), 0);
            let is_lost = bench.flash.is_lost(Instant::START, page);
            assert_eq!(is_lost, lost, "{mode:?}, {entries} entries, {soft_reads} soft reads");
        }
    }
}

#[test]
fn without_a_soft_decoder_the_read_ends_with_the_table_and_the_page_is_lost() {
    for mode in [RetryMode::Plain, RetryMode::Pipelined] {
        let worn = AgeingSpec { floor: 61.0, ..age(1.0) };
        let retry = RetrySpec { mode, entries: 5, soft_reads: 0, ..plain() };
        let mut bench = bench(true, &retry, &worn);
        let (c, r, t) = (bench.command(), bench.read_array(), bench.page_transfer());
        let decode = Duration::from_us(20);
        let time = match mode {
            RetryMode::Pipelined => c + r + t + decode + c + r + r.max(t) * 4 + t,
            _ => (c + r + t) * 6 + decode * 5,
        };
        takes(&mut bench, time);
        let page = bench.page(Die(0), 0);
        assert!(bench.flash.is_lost(Instant::START, page));
    }
}

/// The data of the read before is still in the cache register when a sense ends.
#[test]
fn a_retried_read_waits_for_the_cache_register() {
    for order in [ChannelOrder::FirstCome, ChannelOrder::DataFirst, ChannelOrder::RoundRobin] {
        let mut bench = bench(true, &plain(), &age(3.5));
        if order != ChannelOrder::FirstCome {
            bench.flash.serve_in_order(order);
        }
        let (c, r, t) = (bench.command(), bench.read_array(), bench.page_transfer());
        let step = c + r + t + Duration::from_us(20);
        bench.read(Instant::START, Die(0), 0, 1);
        // The last sense of the first read ends, and the next read begins while its data crosses.
        let sensed = Instant::START + step + c + r;
        while !bench.flash.is_idle(Die(0)) {
            bench.fire();
        }
        bench.read(sensed, Die(0), 1, 2);
        bench.advance_before(Instant::NEVER);
        // Its command goes before the data, as ever; tR is shorter than that transfer.
        let first = sensed + c + t;
        let second = first + t + Duration::from_us(20) + c + r + t;
        assert_eq!(bench.done, [(first, 1), (second, 2)], "{order:?}");
    }
}

#[test]
fn a_block_remembers_the_entry_that_worked_and_forgets_it_when_it_is_erased() {
    let retry = RetrySpec { start: RetryStart::Block, ..plain() };
    let mut bench = bench(false, &retry, &age(9.5));
    let step = bench.command() + bench.read_array() + bench.page_transfer();
    takes(&mut bench, step * 8 + Duration::from_us(20) * 7);
    let now = Instant::START + Duration::from_ms(10);
    bench.read(now, Die(0), 1, 8);
    bench.ends_at(now + step, 8);
    let (now, block) = (now + Duration::from_ms(1), Block(0));
    bench.start(now, Die(0), What::Erase { block }, 9);
    bench.advance_before(Instant::NEVER);
    let now = now + Duration::from_ms(10);
    bench.program(now, Die(0), 0, 10);
    bench.advance_before(Instant::NEVER);
    let now = now + Duration::from_ms(10);
    bench.read(now, Die(0), 0, 11);
    bench.ends_at(now + step, 11);
    assert_eq!(bench.flash.retry_counters().retries, 7, "a page that was just written is young");
}

#[test]
fn data_that_stays_in_the_die_meets_no_ecc() {
    let mut bench = bench(false, &plain(), &age(20.0));
    let page = bench.page(Die(0), 0);
    bench.start(Instant::START, Die(0), What::Read { page, sectors: 0 }, 7);
    bench.ends_at(Instant::START + bench.command() + bench.read_array(), 7);
    assert_eq!(bench.flash.retry_counters().reads, 0);
}

#[test]
fn reads_of_a_block_disturb_it_until_it_needs_retries() {
    let young = AgeingSpec { floor: 3.0, slope: 1.0, spread: 0.0, ..AgeingSpec::default() };
    let read = |reads: u32| {
        let mut bench = bench(false, &plain(), &AgeingSpec { reads, ..young.clone() });
        bench.read(Instant::START, Die(0), 0, 7);
        bench.advance_before(Instant::NEVER);
        bench.flash.retry_counters().retries
    };
    // One entry for 100,000 reads; the reach is ln 20, 2.996.
    assert_eq!([read(0), read(299_000), read(300_000), read(400_000)], [0, 0, 1, 2]);
}

/// Chun et al. (RiF, HPCA '24): pages of 160 chips first need a retry after 17, 14 and 10 days at
/// 0, 200 and 500 P/E cycles.
#[test]
fn the_default_law_gives_the_published_days_of_the_first_retry() {
    for (pe_cycles, days) in [(0, 17), (200, 14), (500, 10)] {
        let first = (1..40).find(|days| {
            let retention = Duration::from_s(86_400 * days);
            let age = AgeingSpec { pe_cycles, retention, spread: 0.0, ..AgeingSpec::default() };
            let retry = RetrySpec { mode: RetryMode::Plain, ..RetrySpec::default() };
            let mut bench = bench(false, &retry, &age);
            bench.read(Instant::START, Die(0), 0, 7);
            bench.advance_before(Instant::NEVER);
            bench.flash.retry_counters().retries > 0
        });
        assert!(first.is_some_and(|first| first.abs_diff(days) <= 1), "{pe_cycles}: {first:?}");
    }
}

/// The mean over pages is that of the law without spread; they lie within it, and differ.
#[test]
fn pages_differ_by_the_spread_and_no_more() {
    let at = |spread: f64| {
        let spec = AgeingSpec { spread, ..age(20.0) };
        let mut bench = bench(false, &plain(), &spec);
        let mut retries = Vec::new();
        for number in 0..12 {
            let before = bench.flash.retry_counters().retries;
            let now = Instant::START + Duration::from_ms(20 * u64::from(number));
            bench.read(now, Die(0), number, number);
            bench.advance_before(Instant::NEVER);
            retries.push(bench.flash.retry_counters().retries - before);
        }
        retries
    };
    assert_eq!(at(0.0), vec![18; 12], "20 less a reach of 2.996");
    let spread = at(0.5);
    assert!(spread.iter().all(|retries| (8..=28).contains(retries)), "{spread:?}");
    assert!(spread.iter().min() < Some(&14) && spread.iter().max() > Some(&22), "{spread:?}");
}
