//! Copies that follow one another on a die with nothing between them, as one operation.
//!
//! A merge of a log-block FTL that goes before everything else copies pages without a pause. Where
//! nothing else can use the die's channel meanwhile either, the end of the run is known at its
//! start: one event stands for all its reads and programs, and nothing that can be observed differs
//! from doing them one by one ([`Flash::may_run_copies`]).

use super::channel::Crossing;
use super::{Flash, OpId, Operation, WATCHED, What};
use crate::units::Die;
use crate::units::{Duration, Instant, Ppn};

/// The copies of a run, and the sectors that cross the channel for each, either way.
#[derive(Clone, Debug, Default)]
pub struct Run {
    /// From where to where, in order.
    pub copies: Vec<(Ppn, Ppn)>,
    /// Sectors.
    pub sectors: u32,
}

impl Flash {
    /// True when runs may be one operation: the die has its channel alone, one lane, and nobody
    /// looks inside.
    pub fn may_run_copies(&self) -> bool {
        let alone = self.layout.dies_per_channel() == 1 && self.layout.lanes_per_die == 1;
        let watched = self.activity.is_some() || self.blame.is_some() || self.watches_channels;
        let watched = watched || self.watches_loads;
        alone && !watched && !self.cache_read && !self.suspends_programs && self.errors.is_none()
    }

    /// The time of one copy on a die and a channel of its own; `sectors` cross the channel each
    /// way, 0 with copyback.
    pub fn copy_time(&self, from: Ppn, to: Ppn, sectors: u32) -> Duration {
        let (read, program) = self.copy_times(from, to, sectors);
        read + program
    }

    /// The times of its read, up to the end of the transfer, and of its program.
    fn copy_times(&self, from: Ppn, to: Ppn, sectors: u32) -> (Duration, Duration) {
        let time = |crossing: Crossing| crossing.time(&self.timing);
        let (read, program) =
            (self.timing.read(&self.layout, from), self.timing.program(&self.layout, to));
        (
            time(Crossing::Command) + read + time(Crossing::Out(sectors)),
            time(Crossing::In(sectors)) + program,
        )
    }

    /// Gives an idle die a run of copies of `sectors` each, which takes `time`.
    pub fn start_run(
        &mut self,
        now: Instant,
        die: Die,
        token: OpId,
        copies: &[(Ppn, Ppn)],
        time: Duration,
        sectors: u32,
    ) {
        debug_assert!(self.may_run_copies());
        for (from, to) in copies {
            let version = self.load(*from);
            self.take_row::<WATCHED>(*to);
            self.store(*to, version);
            if let Some(spares) = &mut self.spares {
                spares.copied(*from, *to);
            }
        }
        let (count, crossing) = (copies.len() as u32, Crossing::Out(sectors).time(&self.timing));
        let each = (self.timing.command + crossing) * 2;
        self.channels[self.layout.channel_of(die).index()].busy += each * u64::from(count);
        if self.runs.is_empty() {
            self.runs = vec![Run::default(); self.layout.dies as usize];
        }
        let run = &mut self.runs[die.index()];
        run.sectors = sectors;
        run.copies.clear();
        run.copies.extend_from_slice(copies);
        let what = What::Copies { count, nanoseconds: time.as_ns() as u32 };
        self.start(now, die, Operation { what, token, gc: true });
    }

    /// Reads and programs of runs under way that are over, as far as the flash was brought.
    pub fn runs_over(&self) -> (u64, u64) {
        let over = (0..).zip(&self.runs).map(|(die, run)| self.run_over(Die(die), run));
        over.fold((0, 0), |sum, over| (sum.0 + over.0, sum.1 + over.1))
    }

    fn run_over(&self, die: Die, run: &Run) -> (u64, u64) {
        let mut over = (0, 0);
        let is_run = matches!(self.dies[die.index()].operation().what, What::Copies { .. });
        if !is_run || self.is_idle(die) {
            return over;
        }
        let (_, mut at, _) = self.dies[die.index()].issued();
        let is_over = |at| self.timers.is_over(self.seen_until(), die.index(), at);
        for (from, to) in &run.copies {
            let (read, program) = self.copy_times(*from, *to, run.sectors);
            over.0 += u64::from(is_over(at + read));
            at += read + program;
            over.1 += u64::from(is_over(at));
            if !is_over(at) {
                break;
            }
        }
        over
    }
}
