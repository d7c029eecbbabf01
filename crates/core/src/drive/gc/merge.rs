//! Log-block FTLs at work: a page that leaves the buffer, and the merges that it causes.
//!
//! A lane takes one page at a time; others wait for it in order. The page's chain
//! ([`crate::ftl::log`]) asks for one flash operation after the other: copies and erases in the
//! class of garbage collection, the page's own program in that of writes. A block is not erased
//! while it is being read: the chain waits for that.
//!
//! The mode (`gc.mode`) says what a merge blocks. With `preemptive` the host's operations go
//! between its own, and each copy changes the maps when it is done. With `base` and `controller`
//! merges go before everything else on their die, copies that follow one another are a *run*, and
//! the maps change at its start: no read can begin on the die before its end (where reads suspend
//! erases or programs one can, and there are no runs). A run is one operation of the die where
//! nothing else could use its channel (`flash/runs.rs`), and no feature asks what the die works on:
//! not behind a controller, whose reads may be failed fast, and whose windows admit one step after
//! the other. With `nogc` copies and erases take no time.

use crate::drive::dies::queues::{Class, FlashOp, Owner};
use crate::drive::gc::mode::{Admission, Lease};
use crate::drive::observe::critical::NO_LINK;
use crate::drive::observe::timeline::Collection;
use crate::drive::{Drive, DriveSpec, OpId, SlotId};
use crate::flash::{Block, Flash, Layout, Run};
use crate::ftl::log::Step;
use crate::ftl::{GcSpec, PageMap};
use crate::units::{Cause, Channel, Duration, Instant, Lane, Ppn, Split};
use std::collections::VecDeque;

/// The chains of all lanes.
#[derive(Clone, Debug)]
pub(in crate::drive) struct Merges {
    lanes: Vec<Chain>,
    /// Writes wait for the end of the chain that they cause.
    pub(super) write_waits: bool,
    /// Runs of copies change the maps at once.
    runs: bool,
    no_time: bool,
    copyback: bool,
}

/// The chain of one lane.
#[derive(Clone, Debug)]
pub(super) struct Chain {
    /// Slots of pages that wait for their turn.
    waiting: VecDeque<SlotId>,
    /// The slot of the page being written, or `NIL`.
    pub(super) slot: SlotId,
    /// Its page is on flash.
    pub(super) landed: bool,
    /// The operation of the merge: it has one at a time, and keeps its place.
    op: OpId,
    /// Copies under way or to be done, and the first that is not done.
    pub(super) run: Vec<(Ppn, Ppn)>,
    pub(super) at: usize,
    /// The version on its way.
    pub(super) version: u32,
    /// An erase that waits for the reads of its block.
    pub(super) erase: Option<Block>,
    /// When the page's turn began, and where its time went up to `booked`.
    began: Instant,
    pub(super) booked: Instant,
    pub(super) split: Split,
    /// The link of the operations before.
    led_by: u64,
    /// For the timeline: the first copy or erase, the first erase, pages copied, the block erased
    /// last.
    reclaiming: Option<Reclaiming>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Reclaiming {
    copying: Instant,
    erasing: Instant,
    pub(super) copied: u32,
    block: Block,
}

/// Waits of a page that left by a log-block FTL.
#[derive(Clone, Copy, Debug)]
pub(in crate::drive) struct Chained {
    /// When its turn began.
    pub began: Instant,
    /// From there on.
    pub split: Split,
    /// The link of the operations before.
    pub led_by: u64,
}

impl Merges {
    pub fn new(spec: &DriveSpec, gc: &GcSpec, flash: &Flash, ftl: &PageMap) -> Option<Box<Self>> {
        let log = ftl.log_blocks()?;
        let chain = Chain {
            waiting: VecDeque::new(),
            slot: SlotId::NIL,
            landed: false,
            op: OpId::NIL,
            run: Vec::with_capacity(flash.layout.rows as usize),
            at: 0,
            version: 0,
            erase: None,
            began: Instant::START,
            booked: Instant::START,
            split: Split::NONE,
            led_by: NO_LINK,
            reclaiming: None,
        };
        let lease = Lease::of(gc.mode);
        Some(Box::new(Self {
            lanes: vec![chain; flash.layout.lanes as usize],
            write_waits: log.write_waits(),
            // A copy that waits for power lets others pass.
            runs: lease.holds_channels() && spec.power.is_off(),
            no_time: lease.admission == Admission::ZeroCost,
            copyback: gc.copyback,
        }))
    }
}

impl Merges {
    /// The slot of the page that a lane writes.
    pub fn page_of(&self, lane: Lane) -> SlotId {
        self.lanes[lane.index()].slot
    }

    /// The copies of a lane's run, from its start.
    pub fn run_of(&self, lane: Lane, layout: &Layout) -> Run {
        let sectors = if self.copyback { 0 } else { layout.unit_sectors };
        Run { copies: self.lanes[lane.index()].run.clone(), sectors }
    }
}

impl Chain {
    pub(super) fn reclaims(&mut self, now: Instant, block: Block) -> &mut Reclaiming {
        self.reclaiming.get_or_insert(Reclaiming {
            copying: now,
            erasing: Instant::NEVER,
            copied: 0,
            block,
        })
    }
}

/// Longest run that is one operation: its time is kept in 32 bits.
const RUN_MAX: Duration = Duration::from_ns(u32::MAX as u64);

impl Drive {
    #[inline]
    pub(super) fn chain(&mut self, lane: Lane) -> &mut Chain {
        &mut self.merges.as_mut().expect("the drive has a log-block FTL").lanes[lane.index()]
    }

    /// A page leaves the buffer for its lane.
    pub(in crate::drive) fn leave_for_log(&mut self, now: Instant, slot: SlotId) {
        let lane = self.ftl.striped_lane(self.buffer.slot(slot).lpn);
        self.writes.leaving += 1;
        self.chain(lane).waiting.push_back(slot);
        self.begin_chain(now, lane);
    }

    /// The next page of a lane has its turn, if the lane is free.
    fn begin_chain(&mut self, now: Instant, lane: Lane) {
        while self.chain(lane).slot == SlotId::NIL {
            let Some(slot) = self.chain(lane).waiting.pop_front() else { return };
            if self.buffer.slot(slot).dropped {
                self.writes.leaving -= 1;
                self.book_told();
                self.slot_done(now, slot);
                continue;
            }
            let chain = self.chain(lane);
            (chain.slot, chain.landed) = (slot, false);
            self.book_turn(now, lane);
            let (lpn, pages) = (self.buffer.slot(slot).lpn, self.buffer.slot(slot).pages);
            self.ftl.log_write(lane, lpn, pages);
            self.advance_merge(now, lane);
        }
    }

    /// Does the next step of a lane's chain, and all that take no time.
    pub(super) fn advance_merge(&mut self, now: Instant, lane: Lane) {
        let no_time = self.merges.as_ref().is_some_and(|merges| merges.no_time);
        loop {
            match self.ftl.log_step(lane) {
                Step::Copy { from, to } if no_time => {
                    let version = self.flash.load(from);
                    self.flash.copied(from, to, version);
                    let (block, row) =
                        (self.flash.layout.block_of(to), self.flash.layout.row_of(to));
                    let rows = self.flash.rows_written(block).max(row + 1);
                    self.flash.adopt(block, rows);
                    self.counters.free_copies += 1;
                    self.ftl.log_done(lane);
                }
                Step::Copy { from, to } => return self.begin_run(now, lane, from, to),
                Step::Read { .. } if no_time => self.ftl.log_done(lane),
                Step::Read { page } => {
                    return self.enqueue_merge(now, lane, Owner::SpareRead { lane }, page);
                }
                Step::Program { to, .. } => return self.program_page(now, lane, to),
                Step::Erase { block }
                    if self.ftl.is_being_read(block) || self.journal_holds(now, block) =>
                {
                    self.chain(lane).erase = Some(block);
                    return;
                }
                Step::Erase { block } if no_time => {
                    self.flash.adopt(block, 0);
                    self.counters.free_erases += 1;
                    self.ftl.log_erased(block);
                }
                Step::Erase { block } => return self.erase_merged(now, lane, block),
                Step::Done => return self.end_chain(now, lane),
            }
        }
    }

    /// True when nothing can come between the copies of a run, not even a read that suspends an
    /// erase or a program.
    #[inline]
    pub(super) fn copies_in_runs(&self) -> bool {
        self.suspension.is_none()
            && self.decoding.is_none()
            && self.merges.as_ref().is_some_and(|merges| merges.runs)
    }

    /// A copy is next; with runs those behind it, too.
    fn begin_run(&mut self, now: Instant, lane: Lane, mut from: Ppn, mut to: Ppn) {
        let runs = self.copies_in_runs();
        let merges = self.merges.as_mut().expect("the drive has a log-block FTL");
        let sectors = if merges.copyback { 0 } else { self.flash.layout.unit_sectors };
        let chain = &mut merges.lanes[lane.index()];
        chain.run.clear();
        chain.at = 0;
        let mut time = Duration::ZERO;
        loop {
            chain.run.push((from, to));
            if !runs {
                break;
            }
            time += self.flash.copy_time(from, to, sectors);
            self.ftl.log_done(lane);
            match self.ftl.log_step(lane) {
                Step::Copy { from: next, to: place }
                    if time + self.flash.copy_time(next, place, sectors) <= RUN_MAX =>
                {
                    (from, to) = (next, place);
                }
                _ => break,
            }
        }
        let die = self.flash.layout.die_of(lane);
        let block = self.flash.layout.block_of(chain.run[0].1);
        chain.reclaims(now, block);
        if runs
            && !self.has_shared_clock()
            && self.flash.may_run_copies()
            && self.flash.is_idle(die)
        {
            let op = self.merge_op(lane);
            self.ops[op].owner = Owner::MergeRun { lane };
            self.ops[op].lane = lane;
            let chain =
                &self.merges.as_ref().expect("the drive has a log-block FTL").lanes[lane.index()];
            return self.flash.start_run(now, die, op, &chain.run, time, sectors);
        }
        self.read_copy(now, lane);
    }

    /// The place of a lane's operations.
    #[inline]
    fn merge_op(&mut self, lane: Lane) -> OpId {
        if self.chain(lane).op == OpId::NIL {
            let op = self.ops.insert(FlashOp::new(
                Owner::MergeRun { lane },
                Class::Gc,
                lane,
                Ppn::NONE,
                1,
                0,
            ));
            self.chain(lane).op = op;
        }
        self.chain(lane).op
    }

    pub(super) fn enqueue_merge(&mut self, now: Instant, lane: Lane, owner: Owner, ppn: Ppn) {
        let copyback = self.merges.as_ref().is_some_and(|merges| merges.copyback);
        let sectors = if copyback { 0 } else { self.flash.layout.unit_sectors };
        let op = self.merge_op(lane);
        let operation = &mut self.ops[op];
        (operation.owner, operation.lane, operation.ppn) = (owner, lane, ppn);
        // Of a spare area the least that the model knows crosses: a sector.
        let sectors = if matches!(owner, Owner::SpareRead { .. }) { 1 } else { sectors };
        (operation.units, operation.sectors) = (1, sectors);
        self.enqueue(now, op);
    }

    pub(super) fn read_copy(&mut self, now: Instant, lane: Lane) {
        let chain = self.chain(lane);
        let from = chain.run[chain.at].0;
        self.enqueue_merge(now, lane, Owner::MergeRead { lane }, from);
    }

    fn erase_merged(&mut self, now: Instant, lane: Lane, block: Block) {
        let reclaiming = self.chain(lane).reclaims(now, block);
        (reclaiming.erasing, reclaiming.block) = (reclaiming.erasing.min(now), block);
        let page = self.flash.layout.first_page(block);
        self.enqueue_merge(now, lane, Owner::MergeErase { lane }, page);
    }

    /// The host's page is next.
    fn program_page(&mut self, now: Instant, lane: Lane, to: Ppn) {
        let sectors = self.flash.layout.unit_sectors;
        let op = self.ops.insert(FlashOp::new(
            Owner::LogProgram { lane },
            Class::Write,
            lane,
            to,
            1,
            sectors,
        ));
        self.book_merge(now, lane, Cause::GcCopy);
        self.enqueue(now, op);
    }

    /// Resumes the waiters of the page.
    pub(super) fn tell_page(&mut self, now: Instant, lane: Lane, slot: SlotId) {
        self.chain(lane).slot = BUSY;
        let Chain { began, split, led_by, .. } = *self.chain(lane);
        self.book_chained(Some(Chained { began, split, led_by }));
        self.slot_done(now, slot);
        self.book_chained(None);
    }

    /// The page's chain is done: the next one has its turn.
    fn end_chain(&mut self, now: Instant, lane: Lane) {
        let slot = self.chain(lane).slot;
        if slot != BUSY {
            self.book_merge(now, lane, Cause::GcCopy);
            self.tell_page(now, lane, slot);
        }
        if let Some(reclaiming) = self.chain(lane).reclaiming.take() {
            self.counters.collections += 1;
            let copying = reclaiming.erasing.min(now).since(reclaiming.copying);
            self.counters.copying_max = self.counters.copying_max.max(copying);
            self.timeline_merged(now, lane, reclaiming);
        }
        self.chain(lane).slot = SlotId::NIL;
        self.begin_chain(now, lane);
        self.take_writes(now);
    }

    /// A page has its turn on a lane.
    #[inline]
    fn book_turn(&mut self, now: Instant, lane: Lane) {
        let led_by = self.book_led(now);
        let chain = self.chain(lane);
        (chain.began, chain.booked, chain.split, chain.led_by) = (now, now, Split::NONE, led_by);
    }

    /// The lane's chain spent its time up to now on `cause`.
    #[inline]
    pub(super) fn book_merge(&mut self, now: Instant, lane: Lane, cause: Cause) {
        self.if_booked(|drive| {
            let chain = drive.chain(lane);
            let spent = now.since(chain.booked);
            chain.split.add(cause, spent);
            chain.booked = now;
        });
    }

    fn timeline_merged(&mut self, now: Instant, lane: Lane, reclaiming: Reclaiming) {
        let Reclaiming { copying, erasing, copied, block } = reclaiming;
        let pool = self.ftl.pool_of(lane);
        let (erasing, forced, held, unfinished) = (erasing.min(now), false, (Channel(0), 0), false);
        self.timeline_adds(Collection {
            pool,
            block,
            draining: copying,
            copying,
            erasing,
            end: now,
            valid: copied,
            copied,
            forced,
            held,
            unfinished,
        });
    }
}

/// In place of a slot: its page is told, and the chain goes on.
const BUSY: SlotId = SlotId(SlotId::NIL.0 - 1);
