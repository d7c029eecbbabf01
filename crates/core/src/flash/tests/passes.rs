//! Orders of the pages of a word line: programs in two passes, and paired pages.

use super::*;
use crate::flash::PageOrder;

/// Foggy-fine: the data crosses for each pass.
#[test]
fn a_program_in_two_passes_sends_its_data_twice() {
    let mut device = device();
    device.timing.foggy = Duration::from_us(300);
    let mut bench = Bench::new(device);
    let load = bench.command() + bench.page_transfer();
    let time = load + Duration::from_us(300) + load + bench.program_array();
    assert_eq!(time.as_ns(), 2 * (175 + 102_400) + 300_000 + 800_000);
    bench.program(Instant::START, Die(0), 0, 7);
    // The channel is free while the coarse pass runs, and a read of the other die crosses then.
    let other = bench.page(Die(1), 0);
    let block = bench.flash.layout.block_of(other);
    bench.flash.adopt(block, 1);
    bench.read(Instant::START, Die(1), 0, 8);
    bench.advance_before(Instant::START + time + NS);
    assert_eq!(bench.done.last(), Some(&(Instant::START + time, 7)), "{:?}", bench.done);
}

/// L0, L1 U0, L2 U1: the fast pages and the slow ones of an MLC block as they are numbered.
#[test]
fn paired_pages_are_programmed_and_read_as_their_type_takes() {
    let mut device = device();
    device.feature.page_order = PageOrder::Paired;
    let us = |all: [u64; 2]| all.map(Duration::from_us).to_vec();
    (device.timing.read, device.timing.program) = (us([40, 60]), us([200, 1_300]));
    let mut bench = Bench::new(device);
    let load = bench.command() + bench.page_transfer();
    let mut now = Instant::START;
    for (page, kind) in [0, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 1].into_iter().enumerate() {
        bench.program(now, Die(0), page as u32, 1);
        now += load + Duration::from_us([200, 1_300][kind]);
        bench.ends_at(now, 1);
    }
    for (page, kind) in [(0, 0), (1, 0), (2, 1), (9, 0), (11, 1)] {
        bench.read(now, Die(0), page, 2);
        now += load + Duration::from_us([40, 60][kind]);
        bench.ends_at(now, 2);
    }
}
