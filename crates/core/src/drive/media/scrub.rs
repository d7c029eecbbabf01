//! Bit errors as the drive sees them: reads are checked, and the flash is scrubbed in the
//! background.
//!
//! ttFlash (Yan et al., FAST '17; reference, section 3): copies inside the plane escape the error
//! correction (ECC), so the paper suggests to scrub in the background; reads of the user stay
//! checked. How errors come is in `flash/errors.rs`; the paper says no more about scrubbing, so the
//! rest is ours.
//!
//! **Reads.** A page of a user read is corrected, or beyond the reach of the ECC: then it is
//! computed from its stripe where there is parity, the stripe is not under update and the other
//! members can be read (`parity/repair.rs`), or the read ends with
//! [`Status::UnrecoveredRead`](crate::drive::Status).
//!
//! **Scrubbing.** Pages come due at `scrub.rate`. Each die has a cursor that walks its pages in
//! order, over valid ones only; the turn goes round the dies, and a die that is through waits for
//! the others: that is a pass. A scrub read starts only on a die that is idle, that nobody waits
//! for and no collection closes, and on a channel that no host read needs and where no other scrub
//! read or rewrite is under way: so a host read meets one of them at most. What comes due meanwhile
//! is late, not lost. One timer, among the completions that come later ([`Task::Scrub`]); a late
//! scrubber has none and looks again whenever an operation ends.
//!
//! **Rewrites.** A page with `scrub.rewrite_at` errors or more in a codeword is written anew in its
//! lane, corrected, and with it what else is valid in its array read: the row is paid for. The row
//! is one of the host's stream and never of the collector's reserve (`ftl/rewrite.rs`); while there
//! is none, or the pool is urgent, the page is left to the next pass. The program waits for its die
//! as a scrub read does. **Trap:** meanwhile no mark keeps the block, or an erase could wait for a
//! rewrite that waits for the erase; so the block must not have been erased since (its wear tells),
//! and the mark is set when the program starts. A page that the host writes, or a collection moves,
//! meanwhile is stale on commit.

use crate::drive::dies::queues::{Class, FlashOp, Owner};
use crate::drive::later::Task;
use crate::drive::parity::RebuildId;
use crate::drive::parity::repair::Beyond;
use crate::drive::{Drive, RequestId};
use crate::flash::{ErrorModel, Found};
use crate::ftl::Stream;
use crate::stats::ScrubCounters;
use crate::units::{Bytes, Die, Duration, Instant, Lane, Lpn, Ppn};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A drive without a valid page is looked at again after this.
const EMPTY_PAUSE: Duration = Duration::from_ms(10);

/// Bit errors, their correction, and scrubbing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ScrubSpec {
    /// Bit errors are modelled; with a `rate` above 0 they are in any case.
    pub errors: bool,
    /// Raw bit error rate: the probability that a bit is wrong after it was programmed.
    pub rber: f64,
    /// Data that the error correction takes as one codeword.
    pub codeword: Bytes,
    /// Wrong bits that it corrects in a codeword.
    pub correctable: u32,
    /// Pages that are scrubbed in a second, over the whole drive; 0 is no scrubbing.
    pub rate: f64,
    /// A scrubbed page with so many wrong bits in a codeword is written anew; 0 is never.
    pub rewrite_at: u32,
}

impl Default for ScrubSpec {
    fn default() -> Self {
        Self {
            errors: false,
            // Assumed: the order of magnitude of MLC within its life. Rates differ by chip, wear
            // and age.
            rber: 1e-5,
            codeword: Bytes::kib(1),
            // Assumed: a BCH code of its time. (Transcend CFX520 datasheet: 72 random bits in 1
            // KiB.)
            correctable: 40,
            rate: 0.0,
            // Assumed: half of what can be corrected.
            rewrite_at: 20,
        }
    }
}

impl ScrubSpec {
    /// True when anything of it is modelled.
    pub fn is_on(&self) -> bool {
        self.errors || self.rate > 0.0
    }
}

/// The scrubber's work on a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Job {
    Nothing,
    Reading,
    /// Pages wait for their die to be written anew.
    Planned(Rewrite),
    Writing,
}

/// Pages of one array read that are written anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rewrite {
    pub(super) lane: Lane,
    pub(super) first: u32,
    pub(super) end: u32,
    /// Erases of their block when they were read.
    pub(super) erases: u32,
}

/// A page on its way: from where, which, its content.
type Moving = (Ppn, Lpn, u32);

/// The scrubber.
#[derive(Clone, Debug)]
pub(in crate::drive) struct Scrub {
    sectors_per_codeword: u32,
    pub(super) rewrite_at: u32,
    /// From one page to the next; zero is no scrubbing.
    period: Duration,
    /// When the next page is due.
    due: Instant,
    /// By die: the next page to look at.
    cursors: Vec<u32>,
    units_per_die: u32,
    /// The die that is asked first.
    turn: u32,
    /// A page is due and no die was free.
    waits: bool,
    jobs: Vec<Job>,
    /// Rewrites that wait for their dies.
    planned: u32,
    /// By channel: what is being written anew.
    pub(super) moving: Vec<Vec<Moving>>,
    pub counters: ScrubCounters,
}

impl Scrub {
    /// A read of the host ended without its data.
    pub fn note_failed_read(&mut self) {
        self.counters.failed_reads += 1;
    }

    fn end_of(&self, die: Die) -> u32 {
        (die.0 + 1) * self.units_per_die
    }
}

impl Drive {
    /// Bit errors are modelled and the flash is scrubbed as `spec` says. A drive that
    /// scrubs always has something to do: [`Drive::advance_before`] then needs a limit.
    pub(in crate::drive) fn scrub(&mut self, spec: &ScrubSpec, seed: u64) {
        if !spec.is_on() {
            return;
        }
        let layout = &self.flash.layout;
        let (dies, channels, row) =
            (layout.dies, layout.channels as usize, layout.units_per_row as usize);
        let units_per_die = layout.units_per_lane() * layout.lanes_per_die;
        let period = if spec.rate > 0.0 { ((1e9 / spec.rate).round() as u64).max(1) } else { 0 };
        let period = Duration::from_ns(period);
        let codeword = spec.codeword.get() as u32;
        let copies_unchecked = self.collector.copies_inside();
        let model = ErrorModel {
            rber: spec.rber,
            codeword,
            correctable: spec.correctable,
            copies_unchecked,
        };
        self.flash.keep_bit_errors(model, seed);
        self.scrub = Some(Box::new(Scrub {
            sectors_per_codeword: codeword / 512,
            rewrite_at: if spec.rewrite_at == 0 { u32::MAX } else { spec.rewrite_at },
            period,
            due: Instant::START + period,
            cursors: (0..dies).map(|die| die * units_per_die).collect(),
            units_per_die,
            turn: 0,
            waits: false,
            jobs: vec![Job::Nothing; channels],
            planned: 0,
            moving: vec![Vec::with_capacity(row); channels],
            counters: ScrubCounters::default(),
        }));
        if !period.is_zero() {
            self.later.put(Instant::START + period, Task::Scrub);
        }
    }

    /// Errors that reads and the scrubber found, and those that copies carried on.
    pub(in crate::drive) fn scrub_counters(&self) -> ScrubCounters {
        let (Some(scrub), Some(errors)) = (&self.scrub, self.flash.bit_errors()) else {
            return ScrubCounters::default();
        };
        let flash = errors.counters();
        ScrubCounters {
            uncorrectable_internal: scrub.counters.uncorrectable_internal + flash.lost_copies,
            unchecked_copies: flash.unchecked_copies,
            undetected_copies: flash.undetected_copies,
            worst_errors: flash.worst,
            chain_max: flash.chain_max,
            ..scrub.counters
        }
    }

    /// The scrubber's timer, or it is late and an operation ended: starts what is due.
    pub(in crate::drive) fn scrub_turn(&mut self, now: Instant) {
        while let Some(scrub) = &mut self.scrub {
            if scrub.due > now {
                scrub.waits = false;
                let due = scrub.due;
                return self.later.put(due, Task::Scrub);
            }
            match self.next_to_scrub(now) {
                Next::Read { die, page } => self.start_scrub_read(now, die, page),
                Next::Wait => return self.scrub_waits(),
                Next::Nothing => {}
            }
        }
    }

    fn scrub_waits(&mut self) {
        if let Some(scrub) = &mut self.scrub {
            scrub.waits = true;
        }
    }

    /// The next die, in its turn, that has pages left in this pass and is free. When none has any
    /// the next pass begins.
    fn next_to_scrub(&mut self, now: Instant) -> Next {
        let dies = self.flash.layout.dies;
        for _ in 0..2 {
            let first = self.scrub.as_ref().map_or(0, |scrub| scrub.turn);
            let mut any = false;
            for offset in 0..dies {
                let die = (first + offset) % dies;
                if let Some(page) = self.next_page_of(Die(die)) {
                    any = true;
                    if self.is_free_to_scrub(Die(die), Job::Nothing) {
                        return Next::Read { die: Die(die), page };
                    }
                }
            }
            if any {
                return Next::Wait;
            }
            self.begin_pass();
        }
        // Two passes met no page: there is none.
        if let Some(scrub) = &mut self.scrub {
            scrub.counters.passes -= 2;
            scrub.due = now + EMPTY_PAUSE;
        }
        Next::Nothing
    }

    fn begin_pass(&mut self) {
        let Some(scrub) = &mut self.scrub else { return };
        scrub.counters.passes += 1;
        for (die, cursor) in (0..).zip(&mut scrub.cursors) {
            *cursor = die * scrub.units_per_die;
        }
    }

    /// The next valid page of a die in this pass.
    fn next_page_of(&mut self, die: Die) -> Option<u32> {
        let scrub = self.scrub.as_mut()?;
        let end = scrub.end_of(die);
        let found = self.ftl.mapping().next_valid(scrub.cursors[die.index()], end);
        scrub.cursors[die.index()] = found.unwrap_or(end);
        found
    }

    /// True when the die has nothing to do, nobody waits for it, no host read needs its channel,
    /// and that has this job for the scrubber.
    fn is_free_to_scrub(&self, die: Die, job: Job) -> bool {
        let layout = &self.flash.layout;
        let channel = layout.channel_of(die);
        let mut beside = layout.dies_on(channel).map(|die| &self.queues[die.index()]);
        let queues = &self.queues[die.index()];
        self.scrub.as_ref().is_some_and(|scrub| scrub.jobs[channel.index()] == job)
            && self.flash.is_idle(die)
            && !self.is_closed(die)
            && !self.flash.is_held(die)
            && self.in_order.is_empty()
            && queues.write.front().is_none()
            && queues.gc.front().is_none()
            && !self.collector.serves_reads(die)
            && beside.all(|queues| queues.read.front().is_none() && queues.fill.front().is_none())
    }

    pub(super) fn set_scrub_job(&mut self, lane: Lane, job: Job) {
        let channel = self.flash.layout.channel_of(self.flash.layout.die_of(lane));
        if let Some(scrub) = &mut self.scrub {
            let before = std::mem::replace(&mut scrub.jobs[channel.index()], job);
            let planned = |job| u32::from(matches!(job, Job::Planned(_)));
            scrub.planned = scrub.planned + planned(job) - planned(before);
        }
    }

    /// Reads, with one array read, what is valid from `page` on.
    fn start_scrub_read(&mut self, now: Instant, die: Die, page: u32) {
        let layout = &self.flash.layout;
        let end = end_of_array_read(page, layout.units_per_read);
        let units = self.ftl.mapping().count_valid(page, end);
        let (lane, sectors) =
            (layout.lane_of(layout.block_of(Ppn(page))), units * layout.unit_sectors);
        let Some(scrub) = &mut self.scrub else { return };
        scrub.cursors[die.index()] = end;
        scrub.turn = (die.0 + 1) % layout.dies;
        let late = now.since(scrub.due);
        scrub.due += scrub.period * u64::from(units);
        let counters = &mut scrub.counters;
        counters.late_reads += u64::from(!late.is_zero());
        counters.late_max = counters.late_max.max(late);
        (counters.reads, counters.pages) = (counters.reads + 1, counters.pages + u64::from(units));
        counters.sectors += u64::from(sectors);
        self.set_scrub_job(lane, Job::Reading);
        self.ftl.read_started(Ppn(page));
        let op = FlashOp::new(Owner::Scrub, Class::Scrub, lane, Ppn(page), units, sectors);
        let op = self.ops.insert(op);
        self.issue(now, die, op);
    }

    /// An operation ended: rewrites that wait for their dies, or a late scrub read, take their
    /// chance. Whatever keeps them from a die ends with an operation, so none is forgotten.
    #[inline]
    pub(in crate::drive) fn scrub_looks(&mut self, now: Instant) {
        if let Some(scrub) = &self.scrub
            && (scrub.planned > 0 || scrub.waits)
        {
            self.scrub_goes_on(now);
        }
    }

    #[inline(never)]
    fn scrub_goes_on(&mut self, now: Instant) {
        let Some(scrub) = &self.scrub else { return };
        if scrub.planned > 0 {
            for channel in 0..scrub.jobs.len() {
                let job = self.scrub.as_ref().map(|scrub| scrub.jobs[channel]);
                if let Some(Job::Planned(rewrite)) = job {
                    self.rewrite_if_free(now, rewrite);
                }
            }
        }
        if self.scrub.as_ref().is_some_and(|scrub| scrub.waits) {
            self.scrub_turn(now);
        }
    }

    /// Starts a rewrite if its die is free; gives it up if the pages are gone or there is no room.
    fn rewrite_if_free(&mut self, now: Instant, rewrite: Rewrite) {
        let Rewrite { lane, first, .. } = rewrite;
        let die = self.flash.layout.die_of(lane);
        if !self.is_free_to_scrub(die, Job::Planned(rewrite)) || !self.has_power_to_rewrite() {
            return;
        }
        let Some((row, units)) = self.plan_rewrite(die, rewrite) else {
            return self.set_scrub_job(lane, Job::Nothing);
        };
        let sectors = self.flash.layout.units_per_row * self.flash.layout.unit_sectors;
        self.set_scrub_job(lane, Job::Writing);
        if let Some(scrub) = &mut self.scrub {
            scrub.counters.sectors += u64::from(sectors);
        }
        self.ftl.read_started(Ppn(first));
        let op =
            self.ops.insert(FlashOp::new(Owner::Rewrite, Class::Scrub, lane, row, units, sectors));
        self.issue(now, die, op);
    }

    /// The row that a rewrite goes to, and how many pages: those that are still there and can be
    /// read.
    fn plan_rewrite(&mut self, die: Die, rewrite: Rewrite) -> Option<(Ppn, u32)> {
        let Rewrite { lane, first, end, erases } = rewrite;
        let (channel, waiting) =
            (self.flash.layout.channel_of(die).index(), self.rows_waiting(lane));
        let (errors, scrub) = (self.flash.bit_errors()?, self.scrub.as_mut()?);
        let moving = &mut scrub.moving[channel];
        moving.clear();
        let block = self.flash.layout.block_of(Ppn(first));
        if self.ftl.block_erases()[block.0 as usize] != erases {
            return None;
        }
        let mut at = first;
        while let Some(page) = self.ftl.mapping().next_valid(at, end) {
            let from = Ppn(page);
            if errors.is_within_reach(errors.found_in(from)) {
                moving.push((from, self.ftl.mapping().logical_of(from), self.flash.load(from)));
            }
            at = page + 1;
        }
        let units = moving.len() as u32;
        if units == 0 {
            return None;
        }
        let urgent = self.ftl.is_urgent(self.ftl.pool_of(lane));
        let class = self.ftl.class_of_rewrite(block);
        let room = !urgent
            && !self.faults.as_ref().is_some_and(|faults| faults.is_read_only())
            && self.ftl.has_row_to_spare(lane, class, waiting);
        let row = if room { self.ftl.open_row_of(lane, Stream::Host, class) } else { None };
        scrub.counters.deferred_rewrites += u64::from(row.is_none());
        row.map(|row| (row, units))
    }

    /// Checks the page of a user read: it is corrected, computed from its stripe, or the read will
    /// end with an error.
    #[inline(never)]
    pub(in crate::drive) fn check_read(
        &mut self,
        now: Instant,
        request: RequestId,
        number: u32,
        page: Ppn,
        feeds: RebuildId,
    ) {
        let (unit, Some(scrub), Some(errors)) =
            (self.unit(request, number), &mut self.scrub, self.flash.bit_errors())
        else {
            return;
        };
        let of = scrub.sectors_per_codeword;
        let found = errors.found(page, unit.first / of..(unit.first + unit.sectors).div_ceil(of));
        if errors.is_within_reach(found) {
            scrub.counters.corrected_pages += u64::from(found.bits > 0);
            scrub.counters.corrected_bits += u64::from(found.bits);
            return;
        }
        scrub.counters.uncorrectable += 1;
        self.repair_or_fail(now, (request, number), (page, feeds), Beyond::BitErrors);
    }

    /// Errors that the pages of the drive hold, of those that are valid: the sum, and the most of a
    /// codeword.
    pub fn errors_held(&self) -> Found {
        let Some(errors) = self.flash.bit_errors() else { return Found::default() };
        let mapping = self.ftl.mapping();
        let pages = (0..mapping.logical())
            .map(|lpn| mapping.physical(Lpn(lpn)))
            .filter(|ppn| ppn.is_some());
        pages.map(|ppn| errors.found_in(ppn)).fold(Found::default(), |all, found| Found {
            bits: all.bits + found.bits,
            worst: all.worst.max(found.worst),
        })
    }
}

/// The scrubber's next step.
enum Next {
    Read {
        die: Die,
        page: u32,
    },
    /// Every die that has pages left is busy.
    Wait,
    /// No page is valid.
    Nothing,
}

/// Where the array read that brings `page` ends.
pub(super) fn end_of_array_read(page: u32, units_per_read: u32) -> u32 {
    (page / units_per_read + 1) * units_per_read
}
