//! The log block of sequential writes, of FAST and FASTer: it holds the first pages of one data
//! block in their places, so that its merge is a switch, or a partial merge.
//!
//! A write that goes on where it ends is appended. One that passes pages over is put in its place
//! by a partial merge; one of a page that it holds already, by a full merge of both blocks (so the
//! PSU code; the paper says "merge"). Invariant: what it holds of its data block is newer than
//! anything in the log, so it may become the data block at any time.

use super::lane::LaneState;
use super::{LogSpec, Sequential};
use crate::flash::Block;
use crate::units::{Lpn, Ppn};

/// The effect of a write on the block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Placing {
    /// It goes there.
    Append(Ppn),
    /// Merges the block (it is in the way, or complete), and asks again.
    Retire,
    /// Opens the block for the page's data block and asks again.
    Open,
    /// A partial merge with the page in its place; the block is closed.
    Partial,
    /// A full merge with the page in its place; the block is closed.
    Full,
    /// It is no sequential write.
    No,
}

/// The block, if there is one now.
#[derive(Clone, Debug)]
pub(super) struct SequentialLog {
    rule: Sequential,
    run_needed: u32,
    pub at_once: bool,
    /// The block and its data block's number.
    pub open: Option<(Block, u32)>,
    last: Option<Lpn>,
    run: u32,
}

impl SequentialLog {
    pub fn new(spec: &LogSpec) -> Self {
        let rule = if spec.has_sequential() { spec.sequential } else { Sequential::Off };
        Self {
            rule,
            run_needed: spec.sequential_run,
            at_once: spec.switch_at_once,
            open: None,
            last: None,
            run: 0,
        }
    }

    /// A host write begins: counts the run that it belongs to.
    pub fn begin(&mut self, page: Lpn) {
        let goes_on = self.last.is_some_and(|last| last.0 + 1 == page.0);
        self.run = if goes_on { self.run + 1 } else { 1 };
        self.last = Some(page);
    }

    /// The effect on the block of a write of offset `offset` of `lbn` that is not programmed in its
    /// data block.
    pub fn place(&self, lane: &LaneState, lbn: u32, offset: u32) -> Placing {
        let starts = match self.rule {
            Sequential::Off => return Placing::No,
            Sequential::OffsetZero => offset == 0,
            // A page that was never written would leave a hole below pages that are in their
            // places.
            Sequential::Run => self.run >= self.run_needed && lane.is_written_before(lbn, offset),
        };
        match self.open {
            Some((block, owner)) if owner == lbn => {
                let next = lane.written(block);
                match offset {
                    _ if next == lane.pages => Placing::Retire,
                    _ if offset == next => Placing::Append(lane.append(block)),
                    0 if self.rule == Sequential::OffsetZero => Placing::Retire,
                    _ if offset < next => Placing::Full,
                    _ => Placing::Partial,
                }
            }
            Some(_) if starts => Placing::Retire,
            None if starts => Placing::Open,
            _ => Placing::No,
        }
    }
}
