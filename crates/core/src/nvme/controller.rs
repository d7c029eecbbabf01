//! The controller: a drive, and around it what NVMe adds.
//!
//! It is told the time as the drive is. At one instant the host comes first, then what the
//! controller does by itself (a window that ends, a warning), then the drive. A command costs a few
//! additions more than on the drive itself; only while a forced collection would end a window or is
//! to be told of are the drive's instants walked one by one.
//!
//! Trap: under a schedule the windows' edges are no events, so that an idle drive has none
//! ([`super::plm`]).

use super::admin::{AdminCompletion, Outcome};
use super::event::Events;
use super::log::Traffic;
use super::sqe::Request;
use super::window::Plm;
use super::{Attributes, Cqe, Sqe, StatusField, Terms};
use crate::drive::{
    Command, CommandId, Completion, Drive, Op, PredictableLatency, Status, Windows,
};
use crate::units::{Duration, Instant, Lba};
use std::collections::VecDeque;

/// Options that differ from drive to drive, or from host to host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Serial number; the first 20 bytes are told.
    pub serial: String,
    /// NVMe Qualified Name of the subsystem; the first 256 bytes are told.
    pub name: String,
    /// Maximum Data Transfer Size as a power of two of 4 KiB, for entries and logs (at most 31); 0
    /// is no limit.
    pub transfer_max: u8,
    /// The IODA artefact's numbers: see [`Terms::artefact`].
    pub artefact: bool,
    /// Limited Retry as an alias: see [`Terms::limited_retry`].
    pub limited_retry: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            serial: "MANX0".to_string(),
            name: String::new(),
            // 1 MiB.
            transfer_max: 8,
            artefact: false,
            limited_retry: false,
        }
    }
}

/// One drive behind NVMe.
#[derive(Clone, Debug)]
pub struct Controller {
    drive: Drive,
    pub(super) attributes: Attributes,
    pub(super) options: Options,
    pub(super) plm: Plm,
    /// Windows that the drive was last told to keep to.
    windows: Windows,
    /// Violations already told.
    violations_seen: u64,
    pub(super) events: Events,
    pub(super) recovery_level: u8,
    pub(super) traffic: Traffic,
    /// Spare groups when the controller was made.
    pub(super) spare_at_first: i64,
    /// Commands that wait for the deterministic window.
    pub(super) window_requests: Vec<u16>,
    pub(super) admin_done: VecDeque<AdminCompletion>,
    /// Dataset Management commands of several ranges, each a command of the drive.
    ranges: Vec<Ranges>,
    next_range: u32,
}

/// The outcome of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accepted {
    /// It is under way; its completion has the identifier `queue << 16 | cid`.
    UnderWay,
    /// It is done: refused, or there was nothing to do.
    Done(Cqe),
}

#[derive(Clone, Copy, Debug)]
struct Ranges {
    id: CommandId,
    /// Its ranges' identifiers on the drive, from the first to before the last.
    first: CommandId,
    end: CommandId,
    left: u32,
    status: Status,
}

/// Identifiers from here on are ranges of Dataset Management; queues have numbers below 8000h.
const RANGE: u32 = 1 << 31;

impl Controller {
    /// A controller around `drive`, which promises `attributes` ([`Attributes::of`]).
    pub fn new(mut drive: Drive, attributes: Attributes, options: Options) -> Self {
        drive.set_shared_clock();
        Self {
            plm: Plm::new(attributes),
            windows: Windows::Off,
            violations_seen: 0,
            events: Events::default(),
            // The default level (NVMe Base 2.1, 8.1.20).
            recovery_level: 4,
            traffic: Traffic::default(),
            spare_at_first: drive.counters().faults.spare_least,
            window_requests: Vec::new(),
            admin_done: VecDeque::new(),
            ranges: Vec::new(),
            next_range: RANGE,
            drive,
            attributes,
            options,
        }
    }

    /// The drive, to measure what a run did. What a host decides by comes through NVMe.
    pub fn drive(&self) -> &Drive {
        &self.drive
    }

    /// The drive alone; what hosts have set is gone.
    pub fn into_drive(self) -> Drive {
        self.drive
    }

    /// The drive, to prepare what a run measures (attribution, a timeline) before the first
    /// command.
    pub fn drive_mut(&mut self) -> &mut Drive {
        &mut self.drive
    }

    /// The terms by which entries are judged.
    pub fn terms(&self) -> Terms {
        let transfer_max = (self.transfer_bytes_max() / 512).min(u64::from(u32::MAX)) as u32;
        let Options { artefact, limited_retry, .. } = self.options;
        Terms { sectors: self.attributes.sectors, transfer_max, artefact, limited_retry }
    }

    /// The most that a command may transfer; 0 is no limit.
    pub(super) fn transfer_bytes_max(&self) -> u64 {
        if self.options.transfer_max == 0 { 0 } else { 4096 << self.options.transfer_max.min(31) }
    }

    /// A command arrives at `now`. Everything before `now` has been done
    /// ([`Controller::advance_before`]).
    #[inline]
    pub fn submit(&mut self, now: Instant, command: Command) {
        self.traffic.submitted(command.op, command.sectors);
        if self.plm.is_on() {
            self.count(now, &command);
        }
        self.drive.submit(now, command);
    }

    fn count(&mut self, now: Instant, command: &Command) {
        if self.plm.count(now, command.op, command.bytes()) {
            self.windows_changed(now);
        }
        self.announce();
    }

    /// An entry of queue `queue` arrives, with the ranges of Dataset Management as its data.
    pub fn submit_entry(&mut self, now: Instant, queue: u16, sqe: &Sqe, data: &[u8]) -> Accepted {
        let cid = sqe.cid.get();
        let id = CommandId::of_entry(queue, cid);
        let decoded = match id.0 & RANGE {
            0 => sqe.decode(id, data, &self.terms()),
            _ => Err(StatusField::INVALID_FIELD),
        };
        match decoded {
            Ok(Request::One(command)) => self.submit(now, command),
            Ok(Request::Deallocate(ranges)) => {
                let filled = ranges.iter().filter(|range| range.sectors.get() > 0);
                let trims = filled.clone().map(|range| trim(range.lba.get(), range.sectors.get()));
                self.submit_ranges(now, id, filled.clone().count() as u32, trims);
            }
            Ok(Request::Nothing) => {
                return Accepted::Done(Cqe::new(queue, cid, StatusField::SUCCESS, 0));
            }
            Err(status) => return Accepted::Done(Cqe::new(queue, cid, status, 0)),
        }
        Accepted::UnderWay
    }

    fn submit_ranges(
        &mut self,
        now: Instant,
        id: CommandId,
        count: u32,
        trims: impl Iterator<Item = Command>,
    ) {
        if self.next_range.checked_add(count).is_none() {
            self.next_range = RANGE;
        }
        let numbers = self.next_range..self.next_range + count;
        self.next_range = numbers.end;
        let (first, end) = (CommandId(numbers.start), CommandId(numbers.end));
        self.ranges.push(Ranges { id, first, end, left: count, status: Status::Success });
        for (child, trim) in numbers.map(CommandId).zip(trims) {
            self.drive.submit(now, Command { id: child, ..trim });
        }
    }

    /// Bytes of a deterministic window's writes: log 0Ah's DTWIN Writes Typical times the optimal
    /// write size.
    pub fn reserve(&self) -> u64 {
        self.attributes.dtwin_writes * u64::from(self.attributes.optimal_write)
    }

    /// Takes back a command that still waits in the drive's queue: true when it will complete as
    /// aborted.
    pub fn abort(&mut self, now: Instant, id: CommandId) -> bool {
        id.0 & RANGE == 0 && self.drive.abort(now, id)
    }

    pub(super) fn abort_event_request(&mut self, now: Instant, cid: u16) -> bool {
        let was_waiting = self.events.abort(cid);
        if was_waiting {
            self.admin_done.push_back(AdminCompletion::new(
                cid,
                now,
                StatusField::new(0, 0x07, false),
            ));
        }
        was_waiting
    }

    pub(super) fn request_event(
        &mut self,
        now: Instant,
        sqe: &Sqe,
    ) -> Result<Option<Outcome>, StatusField> {
        let done = self.events.request(now, sqe.cid.get())?;
        self.admin_done.extend(done);
        Ok(None)
    }

    /// The next admin command that completed after its answer was put off, in the order of their
    /// times.
    pub fn take_admin_completion(&mut self) -> Option<AdminCompletion> {
        self.admin_done.pop_front()
    }

    /// True when [`Controller::take_admin_completion`] has something.
    #[inline]
    pub fn has_admin_completions(&self) -> bool {
        !self.admin_done.is_empty()
    }

    /// When the drive or the controller next does something by itself; [`Instant::NEVER`] when
    /// nothing is pending.
    #[inline]
    pub fn next_event_at(&self) -> Instant {
        self.drive.next_event_at().min(self.plm.next_at())
    }

    /// Does everything that is due before `limit`, until the first completion, which it returns.
    #[inline]
    pub fn advance_before(&mut self, limit: Instant) -> Option<Completion> {
        if self.plm.next_at() == Instant::NEVER && !self.plm.watches() && self.ranges.is_empty() {
            let done = self.drive.advance_before(limit)?;
            if done.status != Status::Success {
                self.traffic.failed(done.status, done.result64);
            }
            return Some(done);
        }
        self.advance_watched(limit)
    }

    fn advance_watched(&mut self, limit: Instant) -> Option<Completion> {
        loop {
            let (own, next) = (self.plm.next_at(), self.drive.next_event_at());
            if own.min(next) >= limit {
                return None;
            }
            if own <= next {
                self.fire(own);
                continue;
            }
            let until = match self.plm.watches() {
                true => next + Duration::from_ns(1),
                false => limit.min(own),
            };
            let done = self.drive.advance_before(until);
            self.watch(next);
            if let Some(done) = done.and_then(|done| self.complete(done)) {
                return Some(done);
            }
        }
    }

    /// The end of a command: ranges are put together.
    fn complete(&mut self, done: Completion) -> Option<Completion> {
        if done.status != Status::Success {
            self.traffic.failed(done.status, done.result64);
        }
        if done.id.0 & RANGE == 0 {
            return Some(done);
        }
        // An identifier of the host's own making, beyond what entries can have.
        let Some(at) = self.ranges.iter().position(|all| (all.first..all.end).contains(&done.id))
        else {
            return Some(done);
        };
        let all = &mut self.ranges[at];
        all.left -= 1;
        if done.status != Status::Success {
            all.status = done.status;
        }
        let Ranges { id, left, status, .. } = *all;
        if left > 0 {
            return None;
        }
        self.ranges.swap_remove(at);
        Some(Completion { id, status, dnr: status != Status::Success, ..done })
    }

    /// Looks whether a collection was forced at `now`.
    fn watch(&mut self, now: Instant) {
        if !self.plm.watches() {
            return;
        }
        let violations = self.violations();
        if violations > self.violations_seen {
            self.violations_seen = violations;
            if self.plm.excursion(now) {
                self.windows_changed(now);
            }
            self.announce();
        }
    }

    /// The controller's own event.
    fn fire(&mut self, now: Instant) {
        if self.plm.fire(now) {
            self.answer_window_requests(now, StatusField::SUCCESS);
        }
        self.windows_changed(now);
    }

    /// Tells the drive what to keep to, if that is new, and the host what was to be told.
    pub(super) fn windows_changed(&mut self, now: Instant) {
        let windows = self.plm.windows();
        if windows != self.windows {
            self.windows = windows;
            self.drive.set_windows(now, windows);
        }
        // Earlier violations are not this window's.
        self.violations_seen = self.violations();
        self.announce();
    }

    fn announce(&mut self) {
        if let Some(at) = self.plm.take_added() {
            self.admin_done.extend(self.events.log_changed(at));
        }
    }

    /// The host has seen the events, and whatever was violated until now is in its past.
    pub(super) fn clear_events(&mut self, now: Instant) {
        self.plm.clear_events(now);
        self.violations_seen = self.violations();
    }

    /// Collections outside the window for them.
    pub(super) fn violations(&self) -> u64 {
        self.drive.violations()
    }
}

fn trim(lba: u64, sectors: u32) -> Command {
    Command {
        id: CommandId::default(),
        op: Op::Trim,
        lba: Lba(lba),
        sectors,
        fua: false,
        predictable: PredictableLatency::Off,
        stream: 0,
        queue: 0,
        payload: None,
    }
}
