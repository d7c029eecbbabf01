//! Predictable latency: a read that garbage collection would keep waiting is failed at once, and
//! says for how long.
//!
//! IODA (Li et al., SOSP '21): a read with [`PredictableLatency::On`] is served without waiting for
//! garbage collection, or it completes at once as [`Status::PredictableLatencyNotMet`], with the
//! busy remaining time (BRT) in ns as its result, and the host reads the page's stripe instead.
//! What keeps a read is asked of each die that it needs, by what its GC mode blocks
//! ([`Drive::gc_keeps`]): a die that is closed because its collection, or its domain's, drains or
//! copies; a collection's operation that is under way there, or that waits and goes before reads; a
//! transfer of a collection on its channel. What gives way to reads (erases and programs that may
//! be suspended, erases held back, steps that wait for a busy window) keeps nobody.
//!
//! It is asked twice. **When the controller begins the read**: then nothing of it is started. (The
//! authors' artefact charges the other pages of a command that fails.) **Whenever garbage
//! collection comes before it later**: reads that wait in a die's list when their die is closed or
//! a collection's operation goes first there, and reads whose command or data finds a collection's
//! transfer on the channel, fail then, with the BRT of then. Operations that still wait are
//! withdrawn; those under way end, and their data goes nowhere. The drive looks at the end of each
//! event, so at the same instant. A page in the write buffer needs no flash and never fails a read.
//!
//! A drive with its own parity: where a page can be computed from its stripe inside the drive
//! without waiting for garbage collection (`rain.reconstruct`, parity in place), the read is served
//! that way and does not fail.
//!
//! Traps: a command that failed may still have operations under way: its request keeps its place
//! until the last of them, though the host may use the identifier again. A read that waits for a
//! translation page (`ftl.map`) which waits for garbage collection is not failed: it may succeed
//! late (docs/model/predictable.md).

use crate::drive::dies::queues::{FlashOp, Owner};
use crate::drive::gc::rehearse::Moment;
use crate::drive::gc::replay::Replay;
use crate::drive::io::direct::Direct;
use crate::drive::{BusyRemaining, Drive, PredictableLatency, Status};
use crate::ftl::Translation;
use crate::sim::NIL;
use crate::units::{Duration, Instant, Ppn};
use std::cell::RefCell;

/// Reads that may be failed fast.
#[derive(Clone, Debug)]
pub(in crate::drive) struct Predictable {
    /// Dies where garbage collection may have come before reads that wait, since the last look.
    dies: Vec<u32>,
    listed: Vec<bool>,
    /// Requests that failed and still have operations under way.
    failed: usize,
    /// Operations that are looked at.
    found: Vec<u32>,
    /// A collection of several lanes, played ahead.
    pub replay: RefCell<Replay>,
}

impl Drive {
    /// A read may be failed fast, and begins; true when it was.
    pub(in crate::drive) fn fails_fast(&mut self, now: Instant, request: u32) -> bool {
        if self.predictable.is_none() {
            let listed = vec![false; self.flash.layout.dies as usize];
            self.flash.report_waits();
            self.predictable = Some(Box::new(Predictable {
                dies: Vec::new(),
                listed,
                failed: 0,
                found: Vec::new(),
                replay: RefCell::default(),
            }));
            self.watches = true;
            self.direct = Direct::Never;
        }
        self.counters.predictable.reads += 1;
        let pages =
            (0..self.units(request)).filter_map(|number| self.page_of_unit(request, number));
        let mut kept = pages.filter(|page| self.gc_keeps(now, self.die_of_page(*page)));
        let busy = match self.spec.brt {
            BusyRemaining::Forecast => kept.map(|page| self.gc_release(now, page)).max(),
            BusyRemaining::Exact if kept.next().is_some() => {
                Some(self.rehearse(now, request, Moment::Begins))
            }
            BusyRemaining::Exact => None,
        };
        let Some(busy) = busy.filter(|_| !self.is_computed_in_time(now, request)) else {
            return false;
        };
        self.fail_fast(now, request, busy);
        true
    }

    /// Where page `number` of a read is on flash, if it needs that: not what is in the buffer or
    /// was never written.
    pub(in crate::drive) fn page_of_unit(&self, request: u32, number: u32) -> Option<Ppn> {
        let unit = self.unit(request, number);
        let covers = |slot| self.buffer.slot(slot).mask & unit.mask() == unit.mask();
        if self.buffer.find(unit.lpn).is_some_and(covers) {
            return None;
        }
        match self.ftl.translate(unit.lpn) {
            Translation::Unwritten => None,
            Translation::Ready(page) => Some(page),
        }
    }

    pub(in crate::drive) fn die_of_page(&self, page: Ppn) -> u32 {
        let layout = &self.flash.layout;
        layout.die_of(layout.lane_of(layout.block_of(page)))
    }

    /// True when garbage collection keeps a read that comes to `die` now: it has the die, or the
    /// channel.
    pub fn gc_keeps(&self, now: Instant, die: u32) -> bool {
        self.gc_keeps_die(now, die) || !self.flash.gc_keeps_channel_for(now, die).is_zero()
    }

    /// The same of the die alone, which is closed, or collects, or collects before it serves reads.
    pub fn gc_keeps_die(&self, now: Instant, die: u32) -> bool {
        self.collector.is_closed(die)
            || self.flash.gc_operation(now, die).is_some_and(|op| !self.gives_way_now(op))
            || self.queues[die as usize]
                .gc
                .iter(&self.ops)
                .any(|op| self.goes_before_reads(now, op))
    }

    /// True when a collection's operation that waits goes before the reads that wait for its die.
    pub(in crate::drive) fn goes_before_reads(&self, now: Instant, op: u32) -> bool {
        self.gc_goes_before(self.ftl.pool_of(self.ops[op].lane), true)
            && !self.gives_way_now(op)
            && self.may_step(now, op)
    }

    /// Garbage collection may have come before reads that wait for `die`.
    #[inline]
    pub(in crate::drive) fn gc_came(&mut self, die: u32) {
        if let Some(predictable) = &mut self.predictable
            && !std::mem::replace(&mut predictable.listed[die as usize], true)
        {
            predictable.dies.push(die);
        }
    }

    /// An event is over: reads that must not wait for garbage collection and now would are failed.
    pub(in crate::drive) fn fail_overtaken(&mut self, now: Instant) {
        while let Some(op) = self.flash.next_behind_gc() {
            if let Some(request) = self.predictable_owner(op) {
                let die = self.flash.layout.die_of(self.ops[op].lane);
                let busy = self.flash.gc_keeps_channel_for(now, die);
                self.fail_late(now, request, busy);
            }
        }
        while let Some(die) =
            self.predictable.as_mut().and_then(|predictable| predictable.dies.pop())
        {
            if let Some(predictable) = &mut self.predictable {
                predictable.listed[die as usize] = false;
            }
            while self.gc_keeps(now, die)
                && let Some((request, page)) = self.waiting_on(die)
            {
                let busy = match self.spec.brt {
                    BusyRemaining::Forecast => self.gc_release(now, page),
                    BusyRemaining::Exact => self.rehearse(now, request, Moment::Waits { die }),
                };
                self.fail_late(now, request, busy);
            }
        }
    }

    /// The read that an operation serves, if it may be failed and was not.
    fn predictable_owner(&self, op: u32) -> Option<u32> {
        let may_fail = |request: &u32| {
            let r = &self.requests[*request];
            r.command.predictable == PredictableLatency::On && !r.failed
        };
        self.serves(op).filter(may_fail)
    }

    /// The read that an operation serves.
    pub(in crate::drive) fn serves(&self, op: u32) -> Option<u32> {
        match self.ops[op].owner {
            Owner::Request { request, .. }
            | Owner::LookUp { request, .. }
            | Owner::Rebuild { request, .. } => Some(request),
            _ => None,
        }
    }

    /// A read that waits for `die` and may be failed, and its page.
    fn waiting_on(&self, die: u32) -> Option<(u32, Ppn)> {
        let of_die = |op: &u32| self.flash.layout.die_of(self.ops[*op].lane) == die;
        let in_order = self.in_order.iter().copied().filter(of_die);
        let mut waiting = self.queues[die as usize].read.iter(&self.ops).chain(in_order);
        waiting.find_map(|op| self.predictable_owner(op).map(|request| (request, self.ops[op].ppn)))
    }

    fn fail_fast(&mut self, now: Instant, request: u32, busy: Duration) {
        self.counters.predictable.fast_fails += 1;
        (self.requests[request].failed, self.requests[request].content) = (true, None);
        self.complete(now, request, Status::PredictableLatencyNotMet, busy.as_ns().max(1));
        let mut withdrawn = self.withdraw(request);
        if self.requests[request].remaining == 0 {
            self.requests.release(request);
        } else if let Some(predictable) = &mut self.predictable {
            predictable.failed += 1;
        }
        for op in withdrawn.drain(..) {
            let (lane, page, units) = (self.ops[op].lane, self.ops[op].ppn, self.ops[op].units);
            let die = self.flash.layout.die_of(lane);
            self.book_withdrawn(op);
            self.ops.release(op);
            self.collector.user_ended(die);
            if self.holds.is_some() {
                self.read_left(now, die);
            }
            for at in 0..units {
                self.end_of_read(now, Ppn(page.0 + at));
            }
            self.dispatch(now, die);
            self.poll_gc(now, die);
        }
        if let Some(predictable) = &mut self.predictable {
            predictable.found = withdrawn;
        }
    }

    /// The same for a read that has begun.
    pub(in crate::drive) fn fail_late(&mut self, now: Instant, request: u32, busy: Duration) {
        self.counters.predictable.fast_fails_late += 1;
        self.fail_fast(now, request, busy);
    }

    /// Takes the operations of a request that wait out of their lists, but for those that a page to
    /// be computed needs.
    fn withdraw(&mut self, request: u32) -> Vec<u32> {
        let found =
            self.predictable.as_mut().map(|predictable| std::mem::take(&mut predictable.found));
        let mut found = found.unwrap_or_default();
        if self.requests[request].remaining == 0 {
            return found;
        }
        let ops = &self.ops;
        let is_its = |op: &u32| {
            let FlashOp { owner, feeds, .. } = &ops[*op];
            matches!(owner, Owner::Request { request: of, .. } if *of == request) && *feeds == NIL
        };
        for queues in &self.queues {
            found.extend(queues.read.iter(ops).filter(is_its));
        }
        found.extend(self.in_order.iter().copied().filter(is_its));
        for op in found.iter().copied() {
            let die = self.flash.layout.die_of(self.ops[op].lane);
            if !self.queues[die as usize].read.remove(&mut self.ops, op) {
                self.in_order.retain(|other| *other != op);
            }
        }
        self.requests[request].remaining -= found.len() as u32;
        found
    }

    /// The last operation of a request that failed is over.
    pub(in crate::drive) fn failed_is_over(&mut self, request: u32) {
        if let Some(predictable) = &mut self.predictable {
            predictable.failed -= 1;
        }
        self.requests.release(request);
    }

    /// Requests that completed and still have operations under way.
    pub(in crate::drive) fn failed_under_way(&self) -> usize {
        self.predictable.as_ref().map_or(0, |predictable| predictable.failed)
    }
}

#[cfg(test)]
impl Drive {
    /// The dies that a read of the range needs and that garbage collection keeps now, and for how
    /// long their channel is kept.
    pub(crate) fn kept_dies(
        &self,
        now: Instant,
        read: &crate::drive::Command,
    ) -> (Vec<u32>, Duration) {
        let mut drive = self.clone();
        drive.split_copies(now);
        let request = drive.requests.insert(crate::drive::Request::new(read.clone()));
        let pages =
            (0..drive.units(request)).filter_map(|number| drive.page_of_unit(request, number));
        let dies = pages.map(|page| drive.die_of_page(page));
        let dies: Vec<u32> = dies.filter(|die| drive.gc_keeps(now, *die)).collect();
        let channel = dies.iter().map(|die| drive.flash.gc_keeps_channel_for(now, *die)).max();
        (dies, channel.unwrap_or_default())
    }

    /// True when a collection holds the die's channel, nobody follows, and nothing of the host's is
    /// under way or waits.
    pub(crate) fn only_holds_for_copies(&self, now: Instant, die: u32) -> bool {
        let idle = |die: u32| {
            let queues = &self.queues[die as usize];
            let waits = [queues.read, queues.fill, queues.write]
                .iter()
                .any(|queue| queue.front().is_some());
            !waits
                && (self.flash.operation_left(now, die).is_none()
                    || self.flash.gc_operation_left(now, die).is_some())
        };
        self.collector.keeper_of(die).is_some_and(|(_, holds)| holds)
            && self.collector.follow_after(die).count() == 0
            && (0..self.flash.layout.dies).all(idle)
    }

    /// Asserts that no request is left: for tests, of a drive that has completed everything.
    pub(crate) fn check_no_request_is_left(&self) {
        assert!(self.requests.is_empty(), "{} requests are left", self.requests.len());
        assert_eq!(self.failed_under_way(), 0);
    }
}
