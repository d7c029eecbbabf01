//! Copies that follow one another on a die with nothing between them, as one operation.
//!
//! A merge of a log-block FTL that goes before everything else copies pages without a pause. Where nothing else can use
//! the die's channel meanwhile either, the end of the run is known at its start: one event stands for all its reads and
//! programs, and nothing that can be observed differs from doing them one by one ([`Flash::may_run_copies`]).

use super::cut::Crossing;
use super::{Flash, Operation, What};
use crate::units::{Duration, Instant, Ppn};

/// What a run copies, and how much crosses the channel for each copy, either way.
#[derive(Clone, Debug, Default)]
pub struct Run {
    /// From where to where, in order.
    pub copies: Vec<(Ppn, Ppn)>,
    /// Sectors.
    pub sectors: u32,
}

impl Flash {
    /// True when runs may be one operation: the die has its channel alone, one lane, and nobody looks inside.
    pub fn may_run_copies(&self) -> bool {
        let alone = self.layout.dies_per_channel() == 1 && self.layout.lanes_per_die == 1;
        let watched = self.blame.is_some() || self.activity.is_some() || self.watches_loads || self.cuts;
        alone && !watched && !self.cache_read && !self.suspends_programs && self.errors.is_none()
    }

    /// The time of one copy on a die and a channel of its own; `sectors` cross the channel each way, 0 with copyback.
    pub fn copy_time(&self, from: Ppn, to: Ppn, sectors: u32) -> Duration {
        let time = |crossing: Crossing| crossing.time(&self.timing);
        let (read, program) = (self.timing.read(&self.layout, from), self.timing.program(&self.layout, to));
        time(Crossing::Command) + read + time(Crossing::Out(sectors)) + time(Crossing::In(sectors)) + program
    }

    /// Gives an idle die a run of copies of `sectors` each, which takes `time`.
    pub fn start_run(
        &mut self,
        now: Instant,
        die: u32,
        token: u32,
        copies: &[(Ppn, Ppn)],
        time: Duration,
        sectors: u32,
    ) {
        debug_assert!(self.may_run_copies());
        for (from, to) in copies {
            let version = self.load(*from);
            self.take_row(*to);
            self.store(*to, version);
            if let Some(spares) = &mut self.spares {
                spares.copied(*from, *to);
            }
        }
        let (count, crossing) = (copies.len() as u32, Crossing::Out(sectors).time(&self.timing));
        let each = (self.timing.command + crossing) * 2;
        self.channels[self.layout.channel_of(die) as usize].busy += each * u64::from(count);
        let what = What::Copies { count, nanoseconds: time.as_ns() as u32 };
        self.start(now, die, Operation { what, token, gc: true });
    }

    /// The row is about to be programmed: next in its block, unless any order is allowed.
    #[inline(always)]
    pub(super) fn take_row(&mut self, row: Ppn) {
        if let Some(spares) = &mut self.spares {
            spares.begins(row);
        }
        let (block, row) = (self.layout.block_of(row), self.layout.row_of(row));
        let next = &mut self.rows_written[block.0 as usize];
        if self.any_order {
            *next = (*next).max(row as u16 + 1);
            return;
        }
        assert!(u32::from(*next) == row, "block {block:?} is programmed in order: row {row} follows {next} rows");
        *next += 1;
    }

    /// Rows of a block may be programmed in any order (SLC parts of the classic FTLs), or passed over.
    pub fn allow_any_order(&mut self) {
        self.any_order = true;
    }
}
