//! Reading a trace allocates nothing for a record: not where its devices take turns, nor where each
//! record is altered, nor where the rows of a backlog are sorted.

use manx_base::units::Op;
use manx_trace::formats::manx_records::{Row, encode, header};
use manx_trace::{Part, Reading, TraceFormat, TraceReader};
use std::alloc::{GlobalAlloc, Layout, System};
use std::io::Cursor;
use std::sync::atomic::{AtomicU64, Ordering};

static COUNT: AtomicU64 = AtomicU64::new(0);
/// Bytes that are allocated, and the most that were since the last look.
static BYTES: AtomicU64 = AtomicU64::new(0);
static MOST: AtomicU64 = AtomicU64::new(0);

struct Counting;

// SAFETY: everything is the system's; only calls and bytes are counted.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.fetch_add(1, Ordering::Relaxed);
        let bytes = layout.size() as u64;
        MOST.fetch_max(BYTES.fetch_add(bytes, Ordering::Relaxed) + bytes, Ordering::Relaxed);
        // SAFETY: the caller's promises are the system's terms.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        BYTES.fetch_sub(layout.size() as u64, Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Allocations while `count` records are read, and the most bytes beside the file itself.
fn allocations(format: TraceFormat, count: u64, file: impl Fn(u64) -> Vec<u8>) -> (u64, u64) {
    let part = Part { file: "t".into(), stream: Box::new(Cursor::new(file(count))) };
    let held = BYTES.load(Ordering::Relaxed);
    let mut reader = TraceReader::new(format, Reading::default(), vec![part]).unwrap();
    let before = COUNT.load(Ordering::Relaxed);
    MOST.store(held, Ordering::Relaxed);
    let mut records = 0;
    while reader.next_record().unwrap().is_some() {
        records += 1;
    }
    assert_eq!(records, count);
    (COUNT.load(Ordering::Relaxed) - before, MOST.load(Ordering::Relaxed) - held)
}

/// A line of a trace, by its number.
type Line = fn(u64) -> String;

/// Rows whose order is turned round, 60,000 by 60,000: all but one of those stand behind a later
/// one.
fn turned(count: u64) -> Vec<u8> {
    let rows = (0..count).map(|number| {
        let ns = number / 60_000 * 60_000 + 59_999 - number % 60_000;
        let (bytes, latency, op) = (4096, Some(1), Op::Write);
        encode(&Row { ns, offset: ns * bytes, bytes, latency, device: 0, op, fua: false })
    });
    [&header()[..], &rows.collect::<Vec<_>>().concat()].concat()
}

/// One test alone in its process: the count is of all threads.
#[test]
fn a_record_allocates_nothing() {
    let lines: [(TraceFormat, Line); 4] = [
        (TraceFormat::Msr, |n| {
            format!("{},host{},{},Read,{},100,1\n", n * 10, n % 5, n % 3, n * 4096 + 1)
        }),
        (TraceFormat::Mqsim, |n| format!("{} {} {} 8 1\n", n * 1000, n % 16, n * 8)),
        (TraceFormat::Alibaba, |n| format!("{},R,{},4096,{}\n", n % 1000, n * 4096, n * 7)),
        (TraceFormat::Blkparse, |n| {
            let (device, sector) = (n % 4, n * 8);
            let issued = format!("8,{device} 0 {n} {n}.000000001 9 D WFS {sector} + 8 [x]\n");
            format!("{issued}8,{device} 0 {n} {n}.000000002 9 C WFS {sector} + 8 [0]\n")
        }),
    ];
    for (format, line) in lines {
        // The window, the buffers and the names of the devices: the same for both.
        let text = |count| (0..count).map(line).collect::<String>().into_bytes();
        let [short, long] = [5_000, 50_000].map(|count| allocations(format, count, text).0);
        assert_eq!(short, long, "{}", format.name());
    }
    // The window holds 65,536 rows, 9.6 MB with the smaller list beside it while one grows.
    let [short, long] =
        [180_000, 360_000].map(|count| allocations(TraceFormat::ManxRecords, count, turned));
    assert_eq!(short, long);
    assert!(short.1 < 16 << 20, "{} bytes", short.1);
}
