//! Predictable latency: a read that garbage collection would keep waiting is failed at once, and
//! says for how long.
//!
//! IODA (Li et al., SOSP '21): a read with [`PredictableLatency::On`] is served without waiting for
//! garbage collection, or it completes at once as [`Status::PredictableLatencyNotMet`], with the
//! busy remaining time (BRT) in ns as its result, and the host reads the page's stripe instead.
//! What keeps a read is asked of each die that it needs, by what its GC mode blocks
//! ([`Drive::gc_keeps`]): a die that is closed because its collection, or its domain's, drains or
//! copies; a collection's operation that is under way there, or that waits and goes before reads; a
//! transfer of a collection on its channel. Operations that give way to reads (erases and programs
//! that may be suspended, erases held back, steps that wait for a busy window) block no read.
//!
//! It is asked twice. **When the controller begins the read**: then nothing of it is started. (The
//! authors' artefact charges the other pages of a command that fails.) **Whenever garbage
//! collection comes before it later**: reads that wait in a die's list when their die is closed or
//! a collection's operation goes first there, and reads whose command or data finds a collection's
//! transfer on the channel, fail then, with the BRT of then. Operations that still wait are
//! withdrawn; those under way end, and their data goes nowhere. The drive looks at the end of each
//! event, so at the same instant. A page in the write buffer needs no flash and never fails a read.
//!
//! [`FastFail::Internal`] asks likewise for whatever else the drive does: a flush of its buffer, a
//! page of its journal, a scrub read. A waiting read goes before those, so that only what is under
//! way when the read begins (or goes on where it was suspended as often as it may be) fails it.
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
use crate::drive::gc::replay::Replay;
use crate::drive::parity::RebuildId;
use crate::drive::rehearse::Moment;
use crate::drive::{BusyRemaining, Drive, FastFail, OpId, PredictableLatency, RequestId, Status};
use crate::units::{Die, Duration, Instant, Ppn};
use std::cell::RefCell;

/// Reads that may be failed fast.
#[derive(Clone, Debug)]
pub(in crate::drive) struct Predictable {
    /// Dies where garbage collection may have come before reads that wait, since the last look.
    dies: Vec<Die>,
    listed: Vec<bool>,
    /// Requests that failed and still have operations under way.
    pub(super) failed: usize,
    /// Operations that are looked at.
    pub(super) found: Vec<OpId>,
    /// The dry run of a collection of several lanes.
    pub replay: RefCell<Replay>,
}

impl Predictable {
    /// Garbage collection may have come before reads that wait for `die`.
    #[inline]
    pub fn gc_came(&mut self, die: Die) {
        if !std::mem::replace(&mut self.listed[die.index()], true) {
            self.dies.push(die);
        }
    }

    /// The last operation of a request that failed is over.
    pub fn one_is_over(&mut self) {
        self.failed -= 1;
    }

    /// The next die where it may have come, since the last look.
    pub fn take_die(&mut self) -> Option<Die> {
        let die = self.dies.pop()?;
        self.listed[die.index()] = false;
        Some(die)
    }
}

impl Drive {
    /// A read may be failed fast, and begins; true when it was.
    pub(in crate::drive) fn fails_fast(&mut self, now: Instant, request: RequestId) -> bool {
        let Self { predictable, flash, direct, watches, .. } = self;
        predictable.get_or_insert_with(|| {
            flash.report_waits();
            direct.close();
            *watches = true;
            Box::new(Predictable {
                dies: Vec::new(),
                listed: vec![false; flash.layout.dies as usize],
                failed: 0,
                found: Vec::new(),
                replay: RefCell::default(),
            })
        });
        self.counters.predictable.reads += 1;
        let pages =
            (0..self.units(request)).filter_map(|number| self.page_of_unit(request, number));
        let mut kept = pages.clone().filter(|page| self.keeps(now, self.die_of_page(*page)));
        let busy = match self.spec.brt {
            BusyRemaining::Forecast => kept.map(|page| self.brt_of(now, page)).max(),
            BusyRemaining::Exact if kept.next().is_some() => {
                Some(self.rehearse(now, request, Moment::Begins))
            }
            BusyRemaining::Exact => None,
        };
        let Some(busy) = busy.filter(|_| !self.is_computed_in_time(now, request)) else {
            return false;
        };
        let is_other = self.spec.fast_fail == FastFail::Internal
            && !pages.map(|page| self.die_of_page(page)).any(|die| self.gc_keeps(now, die));
        self.counters.predictable.fast_fails_other += u64::from(is_other);
        self.fail_fast(now, request, busy);
        self.requests.release(request);
        true
    }

    /// The forecast of the busy remaining time of a read of `page` that fails now.
    pub(super) fn brt_of(&self, now: Instant, page: Ppn) -> Duration {
        let die = self.die_of_page(page);
        let own = self.own_work_left(now, die).unwrap_or_default();
        if self.gc_keeps(now, die) { self.gc_release(now, page).max(own) } else { own }
    }

    /// The read that an operation serves, if it may be failed and was not.
    pub(super) fn predictable_owner(&self, op: OpId) -> Option<RequestId> {
        let may_fail = |request: &RequestId| {
            let r = &self.requests[*request];
            r.command.predictable == PredictableLatency::On && !r.failed
        };
        self.serves(op).filter(may_fail)
    }

    /// The read that an operation serves.
    pub(in crate::drive) fn serves(&self, op: OpId) -> Option<RequestId> {
        match self.ops[op].owner {
            Owner::Request { request, .. }
            | Owner::LookUp { request, .. }
            | Owner::Rebuild { request, .. } => Some(request),
            _ => None,
        }
    }

    /// A read that waits for `die` and may be failed, and its page.
    pub(super) fn waiting_on(&self, die: Die) -> Option<(RequestId, Ppn)> {
        let of_die = |op: &OpId| self.flash.layout.die_of(self.ops[*op].lane) == die;
        let in_order = self.in_order.iter().copied().filter(of_die);
        let mut waiting = self.queues[die.index()].read.iter(&self.ops).chain(in_order);
        waiting.find_map(|op| self.predictable_owner(op).map(|request| (request, self.ops[op].ppn)))
    }

    /// Ends a read as failed. Its operations, if it has any, are left.
    pub(super) fn fail_fast(&mut self, now: Instant, request: RequestId, busy: Duration) {
        self.counters.predictable.fast_fails += 1;
        (self.requests[request].failed, self.requests[request].content) = (true, None);
        self.complete(now, request, Status::PredictableLatencyNotMet, busy.as_ns().max(1));
    }

    /// Takes the operations of a request that wait out of their lists, but for those that a page to
    /// be computed needs.
    pub(super) fn withdraw(&mut self, request: RequestId) -> Vec<OpId> {
        let found =
            self.predictable.as_mut().map(|predictable| std::mem::take(&mut predictable.found));
        let mut found = found.unwrap_or_default();
        if self.requests[request].remaining == 0 {
            return found;
        }
        let ops = &self.ops;
        let is_its = |op: &OpId| {
            let FlashOp { owner, feeds, .. } = &ops[*op];
            matches!(owner, Owner::Request { request: of, .. } if *of == request)
                && *feeds == RebuildId::NIL
        };
        for queues in &self.queues {
            found.extend(queues.read.iter(ops).filter(is_its));
        }
        found.extend(self.in_order.iter().copied().filter(is_its));
        for op in found.iter().copied() {
            let die = self.flash.layout.die_of(self.ops[op].lane);
            if !self.queues[die.index()].read.remove(&mut self.ops, op) {
                self.in_order.retain(|other| *other != op);
            }
        }
        self.requests[request].remaining -= found.len() as u32;
        found
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
    ) -> (Vec<Die>, Duration) {
        let mut drive = self.clone();
        drive.split_copies(now);
        let request = drive.requests.insert(crate::drive::Request::new(read.clone()));
        let pages =
            (0..drive.units(request)).filter_map(|number| drive.page_of_unit(request, number));
        let dies = pages.map(|page| drive.die_of_page(page));
        let dies: Vec<Die> = dies.filter(|die| drive.keeps(now, *die)).collect();
        let channel = dies.iter().map(|die| drive.flash.gc_keeps_channel_for(now, *die)).max();
        (dies, channel.unwrap_or_default())
    }

    /// True when a collection holds the die's channel, nobody follows, and nothing of the host's is
    /// under way or waits.
    pub(crate) fn only_holds_for_copies(&self, now: Instant, die: Die) -> bool {
        let idle = |die: Die| {
            let queues = &self.queues[die.index()];
            let waits = [queues.read, queues.fill, queues.write]
                .iter()
                .any(|queue| queue.front().is_some());
            !waits
                && (self.flash.operation_left(now, die).is_none()
                    || self.flash.gc_operation_left(now, die).is_some())
        };
        self.collector.keeper_of(die).is_some_and(|(_, holds)| holds)
            && self.collector.follow_after(die).count() == 0
            && self.flash.layout.each_die().all(idle)
    }

    /// Asserts that no request is left: for tests, of a drive that has completed everything.
    pub(crate) fn check_no_request_is_left(&self) {
        assert!(self.requests.is_empty(), "{} requests are left", self.requests.len());
        assert_eq!(self.failed_under_way(), 0);
    }
}
