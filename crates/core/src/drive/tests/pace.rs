//! Paced collections, by arithmetic: a victim of V valid pages on one chip, and writes that are
//! far apart.

use super::collections::{FREE, about_to_collect, copy_of_a_page, mark};
use super::{Bench, LANES, start};
use crate::ftl::{GcMode, GcSpec, Pace};
use crate::units::{Duration, Instant};

const NS: Duration = Duration::from_ns(1);
const PAGES: u64 = 256;
const VALID: u64 = 86;
const SAME_CHIP: u64 = 255 * LANES;
/// From one write to the next: time enough for a few copies.
const APART: Duration = Duration::from_ms(10);

fn paced(soft: u32, hard: u32) -> Bench {
    let hard = if hard == 0 { 0.0 } else { mark(hard) };
    let (mode, pace, soft, hard) =
        (GcMode::Preemptive, Pace::Writes, mark(soft).into(), hard.into());
    about_to_collect(VALID as u32, GcSpec { mode, pace, soft, hard, ..GcSpec::default() })
}

/// The k-th write to the chip that collects, from 0 on.
fn at(k: u64) -> Instant {
    start() + APART * k
}

/// Copies after each write, step by step: each write and each copy takes a page, and a copy goes
/// while fewer are done than V pages in `span` taken ones are worth.
fn expected(writes: u64, span: u64) -> Vec<u64> {
    let (mut taken, mut copied) = (0, 0);
    (0..writes)
        .map(|_| {
            taken += 1;
            while copied < VALID && copied * span < VALID * taken {
                (taken, copied) = (taken + 1, copied + 1);
            }
            copied
        })
        .collect()
}

#[test]
fn copies_go_in_proportion_to_the_writes_that_the_victim_makes_room_for() {
    let mut bench = paced(FREE, 0);
    let expected = expected(180, PAGES);
    // 86 to 170, and one that is begun.
    assert_eq!(expected[..8], [1, 2, 2, 3, 3, 4, 4, 5]);
    let last = expected.iter().position(|copied| *copied == VALID).unwrap() as u64;
    assert_eq!(last + 2, PAGES - VALID, "it gives back what was written, and one page more");
    for (k, copied) in (0..180).zip(expected) {
        bench.write(at(k), 600 * LANES);
        bench.advance_to(at(k + 1));
        let counters = bench.drive.counters();
        assert_eq!(counters.copied_units, copied, "after {} writes", k + 1);
        assert_eq!(counters.erases, u64::from(k >= last));
    }
    let counters = bench.drive.counters();
    assert_eq!((counters.collections, counters.forced_collections), (1, 0));
    assert_eq!((counters.pace.rows, counters.pace.forced_rows), (VALID, 0));
}

#[test]
fn a_victim_is_copied_before_free_space_is_at_the_hard_mark() {
    // Between the marks lie 100 pages, less than a block.
    let mut bench = paced(FREE, FREE - 100);
    for (k, copied) in (0..20).zip(expected(20, 100)) {
        bench.write(at(k), 600 * LANES);
        bench.advance_to(at(k + 1));
        assert_eq!(bench.drive.counters().copied_units, copied, "after {} writes", k + 1);
    }
    let counters = bench.drive.counters();
    assert_eq!((counters.copied_units, counters.erases, counters.pace.forced_rows), (VALID, 1, 0));
}

#[test]
fn a_read_waits_for_a_copy_only_where_one_is_owed() {
    let bench = paced(FREE, 0);
    let (times, read) = (bench.times(), bench.times().page_read());
    let copy = copy_of_a_page(times, false);
    for (k, owed) in [(0, true), (1, true), (2, false), (3, true), (4, false)] {
        let mut bench = bench.clone();
        for earlier in 0..=k {
            bench.write(at(earlier), 600 * LANES);
        }
        let written = at(k) + times.page_program();
        // The copy begins when the write ends; the read waits for the page that it reads.
        let wait = if owed { read - NS } else { Duration::ZERO };
        assert_eq!(bench.latency_of_read(written + NS, SAME_CHIP), wait + read, "write {k}");
        // One copy, and no other before the next write.
        let idle = written + copy;
        assert_eq!(bench.latency_of_read(idle + NS, SAME_CHIP), read, "write {k}");
        assert_eq!(bench.latency_of_read(idle + Duration::from_ms(5), SAME_CHIP), read);
    }
}

#[test]
fn at_the_hard_mark_copies_wait_for_no_writes() {
    // One write and two copies bring free space to the hard mark.
    let mut bench = paced(FREE, FREE - 3);
    bench.write(at(0), 600 * LANES);
    bench.advance_to(at(20));
    let counters = bench.drive.counters();
    assert_eq!((counters.copied_units, counters.erases), (VALID, 1));
    assert_eq!((counters.pace.rows, counters.pace.forced_rows), (VALID, VALID - 2));
}
