//! The drive: commands in, completions out.
//!
//! A command crosses the link and the controller (`face`), is split into mapping units (`io`),
//! meets the write buffer (`buffer`), becomes flash operations that wait for their dies (`dies`),
//! and completes over the link. Garbage collection (`gc`) runs the translation layer's chains on
//! the same dies and blocks what its mode says. Parity goes with the pages or is written behind
//! them (`parity`); the map may lie on flash with a part of it in DRAM (`map_cache`); pages may
//! hold bit errors and blocks go bad (`media`); the power may fail (`crash`). Who watches changes
//! nothing (`observe`).
//!
//! The drive is told the time: [`Drive::submit`] at `t`, [`Drive::advance_before`] up to `t`.
//! Cutting the advance at any points changes nothing. At one instant the host comes first, then
//! completions, arriving commands, buffer hits, erases held back, and dies by number.
//!
//! Not modelled: copies of garbage collection in the controller's DRAM.

mod buffer;
mod change;
mod config;
mod crash;
mod describe;
mod dies;
mod face;
mod features;
mod gc;
mod io;
mod later;
mod map_cache;
mod media;
mod observe;
mod parity;
pub mod precondition;
mod rehearse;
mod spec;
mod storage;
mod told;

pub use crate::units::Op;
pub use config::DriveConfig;
pub use crash::journal::JOURNAL_ENTRY;
pub use crash::recovery::{CrashImage, Recovered, RecoverySpec};
pub use crash::{power_cut::AtRisk, shut_down::Rest};
pub use dies::power::PowerSpec;
pub use face::command::{
    Command, CommandId, Completion, Payload, PredictableLatency, Stamp, Status,
};
pub use face::spec::{Arbitration, FirmwareSpec};
pub use gc::mode::RunsAtOnce;
pub use gc::windows::{WindowSchedule, Windows};
pub use media::scrub::ScrubSpec;
pub use observe::attribution::{Attributed, Story};
pub use observe::glance::Glance;
pub use observe::timeline::{Collection, Recorded, SLOW_FACTOR, SlowCommand, TimelineSpec};
pub use spec::{
    BusyRemaining, CostRule, DriveSpec, EraseLength, EraseMode, EraseSpec, Evict, FastFail,
    FullBuffer, Overwrite, PreconditionSpec, PreconditionState, ProgramMode, ProgramSpec, RainSpec,
    Reconstruct, Scheduler, Update, UpdateReads,
};
pub use storage::{Step, Storage, Walked};

use crate::flash::{Block, ChannelOrder, ChannelTake, Device, Flash, OpId, Rating};
use crate::ftl::{GcSpec, PageMap, Translation};
use crate::sim::Slab;
use crate::stats::Counters;
use crate::units::{Duration, Instant, Lba, Lpn};
use buffer::slot::SlotId;
use buffer::slots::WriteBuffer;
use dies::gate::Gate;
use dies::queues::{DieQueues, FlashOp};
use face::ports::Ports;
use face::request::{Asked, Content, Request, RequestId};
use gc::domains::Collector;
use gc::mode::{Lease, Scope};
use later::{Later, Task};
use std::collections::VecDeque;

/// One simulated SSD.
#[derive(Clone, Debug)]
pub struct Drive {
    spec: DriveSpec,
    flash: Flash,
    ftl: PageMap,
    ports: Ports,
    requests: Slab<RequestId, Request>,
    ops: Slab<OpId, FlashOp>,
    queues: Vec<DieQueues>,
    /// When operations start.
    dispatching: dies::schedule::Dispatching,
    /// Strict FIFO only: every waiting host operation, oldest first.
    in_order: VecDeque<OpId>,
    next_sequence: u64,
    buffer: WriteBuffer,
    writes: io::write::WritePath,
    direct: io::direct::Direct,
    collector: Collector,
    /// Suspension of erases and programs by reads, if it is allowed.
    suspension: Option<Box<dies::suspension::Suspension>>,
    /// Erases that wait for the end of a burst of reads, if they do.
    holds: Option<Box<gc::hold::Holds>>,
    /// When the next of them is looked at, or steps of collections that wait for their window.
    wakes_at: Instant,
    /// Reads that may be failed fast, if there were any.
    predictable: Option<Box<gc::fast_fail::Predictable>>,
    /// When collections may go on, if that depends on windows.
    gate: Option<Box<dies::gate::Gate>>,
    /// The power that programs and erases may draw, if that is limited.
    power: Option<Box<dies::power::Budget>>,
    /// When a cache of blocks with one bit a cell is folded, if there is one.
    fold: Option<Box<gc::fold::Fold>>,
    /// How far collections may copy, if they are paced against the host's writes.
    pace: Option<Box<gc::pace::Pace>>,
    /// There is one of these: every event is looked at.
    watches: bool,
    /// Which of `rain`, `superblock`, `merges` and `dftl` there is, if any.
    scheme: features::Scheme,
    /// Parity, if there is any.
    rain: Option<Box<parity::in_place::Rain>>,
    /// Bit errors and the scrubber, if they are modelled.
    scrub: Option<Box<media::scrub::Scrub>>,
    /// How long a hard decoding takes, if reads are retried.
    decoding: Option<Duration>,
    /// The cycles for which the blocks are rated, if the device states them.
    rating: Option<Rating>,
    /// Blocks that are bad and operations that fail, if there are any.
    faults: Option<Box<media::bad_blocks::Faults>>,
    /// Parity over superblocks, if there is that.
    superblock: Option<Box<parity::log_structured::Superblock>>,
    /// The chains of a log-block FTL, if it is one.
    merges: Option<Box<gc::merge::Merges>>,
    /// State that a recovery from a power loss needs, if that is asked for.
    kept: Option<Box<crash::recovery::Kept>>,
    /// The map where it lies on flash, if it does.
    dftl: Option<Box<map_cache::misses::Dftl>>,
    /// Work at times of its own.
    later: Later,
    counters: Counters,
    /// Where each command's time went, if that is wanted.
    attribution: Option<Box<observe::attribution::Attribution>>,
    /// Slices and slow commands of a timeline, if one is wanted.
    timeline: Option<Box<observe::timeline::Timeline>>,
    /// Nothing is passed over because it would do nothing: what shortcuts are compared with.
    #[cfg(test)]
    long_way: bool,
}

impl Drive {
    /// A drive on `device` whose translation layer holds `ftl`'s state; the specs are validated.
    /// With `with_content` every page carries its version, and every mapped page starts at version
    /// 1.
    pub fn new(
        device: &Device,
        spec: &DriveSpec,
        gc: &GcSpec,
        ftl: PageMap,
        with_content: bool,
    ) -> Self {
        let mut flash = Flash::new(device, with_content);
        for block in (0..flash.layout.total_blocks()).map(Block) {
            flash.adopt(block, ftl.rows_programmed(block));
        }
        if with_content {
            for lpn in (0..ftl.logical()).map(Lpn) {
                if let Translation::Ready(ppn) = ftl.translate(lpn) {
                    flash.store(ppn, 1);
                }
            }
        }
        Self::assemble(spec, gc, flash, ftl)
    }

    /// A drive on `flash`, which holds what `ftl` says.
    fn assemble(spec: &DriveSpec, gc: &GcSpec, mut flash: Flash, ftl: PageMap) -> Self {
        if Lease::of(gc.mode).scope == Scope::Die && gc.cut_transfers {
            flash.cut_transfers();
        }
        if spec.channel_order != ChannelOrder::FirstCome {
            flash.serve_in_order(spec.channel_order);
        }
        if spec.channel_take == ChannelTake::WithSlot {
            flash.take_with_slot(spec.channel_order);
        }
        if ftl.log_blocks().is_some() {
            flash.allow_any_order();
        }
        let layout = &flash.layout;
        let slots = (spec.buffer.get() / u64::from(layout.unit_bytes)) as u32;
        Self {
            buffer: WriteBuffer::new(slots, layout.unit_sectors),
            writes: io::write::WritePath::new(spec, layout, ftl.host_classes(), slots),
            direct: io::direct::Direct::default(),
            collector: Collector::new(gc, &flash, &ftl),
            suspension: None,
            holds: None,
            wakes_at: Instant::NEVER,
            predictable: None,
            gate: None,
            power: None,
            fold: None,
            pace: gc::pace::Pace::new(gc, &ftl),
            watches: false,
            rain: None,
            scrub: None,
            decoding: None,
            rating: None,
            faults: None,
            superblock: None,
            scheme: match ftl.log_blocks() {
                Some(_) => features::Scheme::LogBlocks,
                None => features::Scheme::Page,
            },
            merges: gc::merge::Merges::new(spec, gc, &flash, &ftl),
            kept: None,
            dftl: None,
            queues: vec![DieQueues::default(); layout.dies as usize],
            dispatching: dies::schedule::Dispatching::of(spec),
            spec: spec.clone(),
            ports: Ports::new(spec, flash.layout.unit_shift),
            requests: Slab::default(),
            ops: Slab::default(),
            in_order: VecDeque::new(),
            next_sequence: 0,
            later: Later::default(),
            counters: Counters::default(),
            attribution: None,
            timeline: None,
            #[cfg(test)]
            long_way: false,
            flash,
            ftl,
        }
    }

    /// Sectors that the host sees.
    pub fn sectors(&self) -> u64 {
        u64::from(self.ftl.logical()) * u64::from(self.flash.layout.unit_sectors)
    }

    /// Pages in the write buffer: written by the host, not yet on flash.
    pub fn buffered(&self) -> u32 {
        self.buffer.occupied
    }

    /// Counters of the drive so far.
    pub fn counters(&self) -> Counters {
        let mut log = self.counters.log;
        if let Some(lanes) = self.ftl.log_blocks() {
            log.add(&lanes.counters());
        }
        let (scrub, faults) = (self.scrub_counters(), self.fault_counters());
        let retry = self.retry_counters();
        let (run_reads, run_programs) = self.flash.runs_over();
        let units_read = self.counters.units_read + self.flash.whole_copies_read() + run_reads;
        let copied_units = self.counters.copied_units + self.flash.all_copies_over() + run_programs;
        Counters {
            suspended: self.flash.suspensions(),
            scrub,
            retry,
            log,
            faults,
            units_read,
            copied_units,
            ..self.counters
        }
    }

    /// The flash (for its counters and utilisation).
    pub fn flash(&self) -> &Flash {
        &self.flash
    }

    /// The translation layer (for its state and wear).
    pub fn ftl(&self) -> &PageMap {
        &self.ftl
    }

    /// The command arrives at the drive's queue at `now`. Everything before `now` has been done
    /// ([`Drive::advance_before`]).
    #[inline]
    pub fn submit(&mut self, now: Instant, command: Command) {
        if self.direct.is_at_once() && self.goes_directly(now, &command) {
            self.ports.count_fetched();
        } else {
            self.submit_in_turn(now, command);
        }
    }

    #[inline(never)]
    fn submit_in_turn(&mut self, now: Instant, command: Command) {
        self.book_submitted(now, command.id);
        if let Some(timeline) = &mut self.timeline {
            timeline.submitted(now, command.id);
        }
        if self.direct.is_at_once() {
            self.ports.count_fetched();
            return self.begin_in_turn(now, command);
        }
        if !self.ports.admits() {
            self.ports.queue(command);
            return;
        }
        self.fetch(now, command);
    }

    /// Takes back a command that still waits in the queue (NVMe Abort is best effort): true when it
    /// will complete as [`Status::Aborted`], false when it is being worked on or unknown.
    pub fn abort(&mut self, now: Instant, id: CommandId) -> bool {
        match self.ports.take_queued(id) {
            Some(command) => {
                let leaves = self.ports.complete_aborted(now, command);
                self.book_abort(now, id, leaves);
                true
            }
            None => false,
        }
    }

    /// The command is in the controller.
    #[inline]
    fn begin(&mut self, now: Instant, command: Command) {
        if !self.is_direct() || !self.goes_directly(now, &command) {
            self.begin_in_turn(now, command);
        }
    }

    /// The command is in the controller, and does not go directly.
    #[inline]
    fn begin_in_turn(&mut self, now: Instant, command: Command) {
        self.ends_idle_time(now);
        let (op, request) = (command.op, Request::new(command));
        let request = self.requests.insert(request);
        if !self.in_range(request) {
            return self.finish_with(now, request, Status::LbaOutOfRange);
        }
        match op {
            Op::Read => self.begin_read(now, request),
            Op::Write | Op::Trim => self.begin_write(now, request),
            Op::Flush => self.begin_flush(now, request),
        }
        if self.watches {
            self.event_is_over(now);
        }
    }

    fn in_range(&self, request: RequestId) -> bool {
        let Asked { op, lba, sectors, .. } = &self.requests[request].command;
        *op == Op::Flush
            || (*sectors > 0
                && lba.0.checked_add(u64::from(*sectors)).is_some_and(|end| end <= self.sectors()))
    }

    /// When the drive next does something by itself, completions included; [`Instant::NEVER`] when
    /// nothing is pending.
    #[inline]
    pub fn next_event_at(&self) -> Instant {
        self.flash.next_at().min(self.next_but_flash_at())
    }

    /// The next event but those of the flash.
    #[inline]
    pub(super) fn next_but_flash_at(&self) -> Instant {
        self.ports.next_at().min(self.later.next_at()).min(self.wakes_at)
    }

    /// True when one of those is due by `now`: a comparison each, without the earliest.
    #[inline(always)]
    pub(super) fn others_come_by(&self, now: Instant) -> bool {
        now >= self.ports.next_at() || now >= self.later.next_at() || now >= self.wakes_at
    }

    /// Does everything that is due before `limit`, until the first completion, which it returns.
    /// `None`: nothing more is due before `limit`.
    #[inline]
    pub fn advance_before(&mut self, limit: Instant) -> Option<Completion> {
        loop {
            let (flash, others) = (self.flash.next_at(), self.next_but_flash_at());
            // Most events are ends of flash operations.
            let now = match flash < others && flash < limit {
                true => self.fire(limit),
                false => flash.min(others),
            };
            if now >= limit {
                self.flash.is_seen(limit);
                return None;
            }
            if let Some(completion) = self.ports.take_completion(now) {
                if let Some(attribution) = &mut self.attribution {
                    attribution.completion_leaves();
                }
                self.fetch_next(now);
                self.flash.is_seen(now);
                return Some(completion);
            }
            self.step(now);
        }
    }

    /// Everything that an event brought is done: steps that were refused pause their GC run, and
    /// reads that GC overtook fail.
    #[inline(never)]
    pub(super) fn event_is_over(&mut self, now: Instant) {
        self.stop_given_up(now);
        self.pause_refused(now);
        self.share_power(now);
        self.fail_overtaken(now);
    }

    #[inline]
    fn step(&mut self, now: Instant) {
        if let Some(command) = self.ports.take_arrival(now) {
            if let Some(attribution) = &mut self.attribution {
                attribution.begun(now, command.id);
            }
            self.begin(now, command);
        } else if self.limits_turn(now) {
            // A core or a crossing of the DRAM has ended.
        } else if let Some(task) = self.later.take(now) {
            match task {
                Task::Served { request } => self.finish_with(now, request, Status::Success),
                Task::Taken { id } => self.direct_write_ended(now, id),
                Task::Reconstructed { rebuild } => self.rebuilt(now, rebuild),
                Task::Decoded { request } => self.read_decoded(now, request),
                Task::Scrub => self.scrub_turn(now),
                Task::Settle => self.settle(now),
                Task::Fold => self.fold_turn(now),
            }
        } else if self.wakes_at == now {
            self.wake(now);
        } else {
            self.fire(now);
            return;
        }
        if self.watches {
            self.event_is_over(now);
        }
    }

    /// Everything before `limit` was done: how far copies are is told by that
    /// ([`Drive::counters`]).
    #[inline]
    pub fn is_seen(&mut self, limit: Instant) {
        if limit > self.flash.seen_until() {
            self.flash.is_seen(limit);
        }
    }

    /// The page, if it is on flash, holds `version` from the start (runs that carry content).
    /// Parity is made of it afterwards ([`Drive::make_parity`]).
    pub fn put_content(&mut self, page: u32, version: u32) {
        if let Translation::Ready(ppn) = self.ftl.translate(Lpn(page)) {
            self.flash.store(ppn, version);
        }
    }

    /// True when the page is mapped: it holds data on flash.
    pub fn holds_page(&self, page: u32) -> bool {
        self.ftl.translate(Lpn(page)) != Translation::Unwritten
    }

    /// Hints that a read of `lba` comes soon.
    #[inline]
    pub fn hint(&self, lba: Lba) {
        let lpn = lba.0 >> self.flash.layout.unit_shift;
        if lpn < u64::from(self.ftl.logical()) {
            self.ftl.prefetch(Lpn(lpn as u32));
        }
    }

    /// Commands under way or waiting inside the drive.
    pub fn outstanding(&self) -> usize {
        let direct = self.direct.under_way as usize;
        self.ports.queued() + self.requests.len() + direct - self.failed_under_way()
    }
}

#[cfg(test)]
mod tests;
