//! A fused copy that is split, at any instant, is a read and a program that started by themselves:
//! for its die, and for the others of its channel.

use super::*;

const COPY: OpId = OpId(7);
const OTHER: u32 = 8;
/// The second die of the first channel.
const BESIDE: Die = Die(1);

/// A page of die 0 that is written, and an erased one; the other die has written pages, too.
fn bench() -> (Bench, Ppn, Ppn) {
    let mut bench = Bench::new(device());
    let layout = &bench.flash.layout;
    assert_eq!(layout.channel_of(BESIDE), layout.channel_of(Die(0)));
    let (from, to) = (bench.page(Die(0), 0), Ppn(bench.page(Die(0), 0).0 + layout.rows));
    for die in [Die(0), BESIDE] {
        let (block, rows) = (bench.flash.layout.block_of(bench.page(die, 0)), 12);
        bench.flash.adopt(block, rows);
    }
    (bench, from, to)
}

/// Ends of the copy and of the other operation, where the copy's read and program start alone.
struct Parted {
    bench: Bench,
    program: What,
}

impl Parted {
    fn advance_before(&mut self, limit: Instant) {
        while self.bench.flash.next_at() < limit {
            let (now, fired) = self.bench.flash.fire();
            let is_read = fired.done() == Some(COPY)
                && !self.bench.done.iter().any(|(_, token)| *token == COPY.0);
            self.bench.done.extend(fired.done().map(|token| (now, token.0)));
            if is_read {
                let operation = Operation { what: self.program, token: COPY, gc: true };
                self.bench.flash.start(now, Die(0), operation);
            }
            fired.free().into_iter().for_each(|die| self.bench.flash.rest(die));
        }
    }
}

#[test]
fn a_copy_that_is_split_leaves_the_channel_as_its_read_or_its_program_would() {
    let (bench, from, to) = bench();
    let sectors = bench.page_sectors();
    let read = bench.command() + bench.read_array() + bench.page_transfer();
    let whole = read + bench.command() + bench.page_transfer() + bench.program_array();
    let mut beside = 0;
    for at in (1..whole.as_ns()).step_by(997).map(|at| Instant::START + Duration::from_ns(at)) {
        let mut fused = Bench { flash: bench.flash.clone(), device: device(), done: Vec::new() };
        fused.flash.start_whole_copy(Instant::START, Die(0), COPY, (from, to), sectors);
        fused.advance_before(at);
        let is_read = fused.flash.split_copy(at, Die(0));
        assert_eq!(is_read, at > Instant::START + read, "at {at:?}");
        let mut parted = Parted {
            bench: Bench { flash: bench.flash.clone(), device: device(), done: Vec::new() },
            program: What::Program { row: to, sectors },
        };
        let first = What::Read { page: from, sectors };
        let operation = Operation { what: first, token: COPY, gc: true };
        parted.bench.flash.start(Instant::START, Die(0), operation);
        parted.advance_before(at);
        if is_read {
            fused.done.push((Instant::START + read, COPY.0));
        }
        fused.read(at, BESIDE, 0, OTHER);
        parted.bench.read(at, BESIDE, 0, OTHER);
        let mut fused = Parted { bench: fused, program: parted.program };
        fused.advance_before(Instant::NEVER);
        parted.advance_before(Instant::NEVER);
        assert_eq!(fused.bench.done, parted.bench.done, "split at {at:?}");
        assert_eq!(fused.bench.flash.busy(), parted.bench.flash.busy(), "split at {at:?}");
        assert_eq!(fused.bench.flash.operations(), parted.bench.flash.operations());
        let waited = fused.bench.done.iter().any(|done| *done == (at + read, OTHER));
        beside += u32::from(waited);
    }
    assert!(beside > 100, "{beside} reads beside a copy met a free channel");
}
