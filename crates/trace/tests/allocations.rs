//! Reading a trace allocates nothing for a record: not where its devices take turns, nor where each
//! record is altered.

use manx_trace::{Part, Reading, TraceFormat, TraceReader};
use std::alloc::{GlobalAlloc, Layout, System};
use std::io::Cursor;
use std::sync::atomic::{AtomicU64, Ordering};

static COUNT: AtomicU64 = AtomicU64::new(0);

struct Counting;

// SAFETY: everything is the system's; only calls are counted.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promises are the system's terms.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Allocations while `count` records of text are read, each by `line`.
fn allocations(format: TraceFormat, count: u64, line: fn(u64) -> String) -> u64 {
    let text: String = (0..count).map(line).collect();
    let part = Part { file: "t".into(), stream: Box::new(Cursor::new(text)) };
    let mut reader = TraceReader::new(format, Reading::default(), vec![part]).unwrap();
    let before = COUNT.load(Ordering::Relaxed);
    let mut records = 0;
    while reader.next_record().unwrap().is_some() {
        records += 1;
    }
    assert_eq!(records, count);
    COUNT.load(Ordering::Relaxed) - before
}

/// One test alone in its process: the count is of all threads.
/// A line of a trace, by its number.
type Line = fn(u64) -> String;

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
        let (short, long) = (allocations(format, 5_000, line), allocations(format, 50_000, line));
        assert_eq!(short, long, "{}", format.name());
    }
}
