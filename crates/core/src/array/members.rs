//! The members of an array: their drives, when they are due, who is dead and who is being restored.
//!
//! **A member that refuses a write is failed**, as in Linux md (`raid5_end_write_request`,
//! `raid1_end_write_request`: `md_error`): a drive that turned read-only, say. From then on it is
//! asked nothing, and the array is degraded; a spare takes its place where there is one. So no row
//! is left of which some pages are new and one is old. A flush that is refused is a refused write;
//! in RAID-5 and 6 a member is failed, too, that cannot read what an update needs and nothing else
//! replaces.
//!
//! Where nobody else has what it holds (RAID-0, the last drive of a mirror) it stays, and takes
//! reads only: writes to it end with an error. With fewer members than a row needs, writes to the
//! row end with an error, and reads do of pages that are on none of them. What was acknowledged
//! from the array's memory and finds no member then stays in that memory (controllers with a
//! battery call it preserved), and is read from there.

use super::link::MemberLink;
use super::{Array, RaidLevel, Timer};
use crate::drive::{Command, CommandId, Completion, Drive, Status, Windows};
use crate::nvme::Controller;
use crate::nvme::plm::{ArrayType, Config, Schedule, Window};
use crate::units::{Duration, Instant, Member};

/// Whether a member serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// It does.
    Alive,
    /// It refused a write, and nobody else has what it holds: it takes reads.
    ReadOnly,
    /// It answers nothing any more.
    Dead,
    /// A new drive, whose rows are being restored from the first on.
    Rebuilding,
}

/// The failure of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Which member.
    pub member: Member,
    /// The number of its drive: that of the member, or the one behind the last member's for the
    /// spare.
    pub drive: usize,
    /// When it failed, or refused its first write.
    pub at: Instant,
    /// Since when its drive was read-only, if that was why.
    pub read_only_at: Option<Instant>,
    /// It is read on: nobody else has what it holds.
    pub is_read: bool,
    /// The array failed it, or reads on: it refused a write, or could not read what an update
    /// needed. Otherwise the settings failed it (`array.fail_at`).
    pub refused: bool,
}

/// A member: its drive, and whether it serves.
#[derive(Clone, Debug)]
pub(super) struct MemberDrive<L = Controller> {
    link: L,
    pub state: State,
    /// When its drive is due next.
    pub next: Instant,
}

impl MemberDrive {
    pub fn drive(&self) -> &Drive {
        self.link.drive()
    }

    pub fn drive_mut(&mut self) -> &mut Drive {
        self.link.drive_mut()
    }
}

impl<L: MemberLink> MemberDrive<L> {
    pub fn new(link: L) -> Self {
        let next = link.next_event_at();
        Self { link, state: State::Alive, next }
    }

    pub fn link(&self) -> &L {
        &self.link
    }

    /// The way to the member, of which something came.
    pub fn link_mut(&mut self) -> &mut L {
        &mut self.link
    }

    /// Asks the link again when it is due.
    pub fn look(&mut self) {
        if self.state != State::Dead {
            self.next = self.link.next_event_at();
        }
    }

    #[inline]
    pub fn submit(&mut self, now: Instant, command: Command) {
        self.link.submit(now, command);
        self.next = self.link.next_event_at();
    }

    #[inline]
    pub fn advance_before(&mut self, limit: Instant) -> Option<Completion> {
        let completion = self.link.advance_before(limit);
        self.next = self.link.next_event_at();
        completion
    }

    /// Sets the windows that the drive keeps to from now on: features 13h and 14h.
    pub fn set_windows(&mut self, now: Instant, windows: Windows, level: RaidLevel) {
        if self.state == State::Dead {
            return;
        }
        let (window, schedule) = match windows {
            Windows::Off => return,
            Windows::Deterministic => (Some(Window::Deterministic), None),
            Windows::NonDeterministic => (Some(Window::NonDeterministic), None),
            Windows::Scheduled(windows) => (None, Some(windows)),
        };
        let array = match level {
            RaidLevel::Raid0 | RaidLevel::Raid1 => ArrayType::Mirror,
            RaidLevel::Raid5 => ArrayType::SingleParity,
            // The specification has no more: they rotate one at a time all the same.
            RaidLevel::Raid6 | RaidLevel::Ec => ArrayType::DoubleParity,
        };
        let schedule = schedule.map(|windows| Schedule { array, windows });
        let config = Config { schedule, ..Config::default() };
        self.link.set_predictable(now, &config);
        if let Some(window) = window {
            self.link.select_window(now, window);
        }
        self.next = self.link.next_event_at();
    }
}

impl<L: MemberLink> Array<L> {
    /// Members are told how far they were brought: what they count depends on it
    /// ([`Drive::is_seen`]).
    pub(super) fn tell_members(&mut self) {
        let (now, first) = self.seen;
        for (number, member) in
            self.members.iter_mut().enumerate().filter(|(_, member)| member.state != State::Dead)
        {
            let limit = if number < first { now + Duration::from_ns(1) } else { now };
            member.link.is_seen(limit);
        }
    }

    /// Members that failed or refuse writes, in the order in which they did.
    pub fn failures(&self) -> &[Failure] {
        &self.failures
    }

    /// True when the row's page on `member` can be read.
    pub(super) fn is_read(&self, member: Member, row: u32) -> bool {
        match self.members[member.index()].state {
            State::Alive | State::ReadOnly => true,
            State::Dead => false,
            State::Rebuilding => row < self.restored,
        }
    }

    /// True when the pages of `member` are kept up to date. What a new member gets ahead of its
    /// turn is written again then.
    pub(super) fn is_written(&self, member: Member) -> bool {
        self.members[member.index()].state != State::Dead
    }

    /// Pages of the row that can be read, a bit each by their index.
    pub(super) fn readable(&self, row: u32) -> u32 {
        let is_read = |index: &u32| self.is_read(self.layout.member(row, *index), row);
        (0..self.layout.members).filter(is_read).fold(0, |set, index| set | 1 << index)
    }

    /// True when what is written to data page `index` of the row can be read again.
    #[inline]
    pub(super) fn keeps(&self, row: u32, index: u32) -> bool {
        !self.is_impaired || self.keeps_impaired(row, index)
    }

    #[inline(never)]
    fn keeps_impaired(&self, row: u32, index: u32) -> bool {
        if self.spec.level == RaidLevel::Raid0 {
            return self.members[self.layout.member(row, index).index()].state == State::Alive;
        }
        let is_last = self.members.iter().any(|member| member.state == State::ReadOnly);
        !is_last && self.readable(row).count_ones() >= self.layout.data
    }

    /// The member fails of which the settings say so.
    pub(super) fn member_dies(&mut self, now: Instant) {
        let member = Member(self.spec.fail_member);
        if self.fail_member(now, member, false) {
            self.bury(now, member);
        }
    }

    /// How a write or a flush ended at a member; true when the array does without: it is done, or
    /// the member is failed.
    pub(super) fn does_without(&mut self, now: Instant, member: Member, status: Status) -> bool {
        // An aborted command was one of a member that failed.
        matches!(status, Status::Success | Status::Aborted) || self.is_failed_for(now, member)
    }

    /// A member did not do what it must: it is failed; false when nobody else has what it holds.
    pub(super) fn is_failed_for(&mut self, now: Instant, member: Member) -> bool {
        let has_copy = |(number, other): (u32, &MemberDrive<L>)| {
            Member(number) != member && matches!(other.state, State::Alive | State::ReadOnly)
        };
        let is_new = self.members[member.index()].state == State::Rebuilding;
        let does_without = match self.spec.level {
            RaidLevel::Raid0 => false,
            RaidLevel::Raid1 => is_new || (0..).zip(&self.members).any(has_copy),
            RaidLevel::Raid5 | RaidLevel::Raid6 | RaidLevel::Ec => true,
        };
        if does_without {
            if self.fail_member(now, member, true) {
                self.counters.refusing_members += 1;
                // Its other commands are aborted when this event is over.
                self.set_timer(now, Timer::Bury { member });
            }
        } else if self.members[member.index()].state == State::Alive {
            self.members[member.index()].state = State::ReadOnly;
            self.is_impaired = true;
            self.failures.push(self.failure(now, member, true, true));
        }
        does_without
    }

    fn failure(&self, at: Instant, member: Member, is_read: bool, refused: bool) -> Failure {
        let read_only_at = self.members[member.index()].link.read_only_at();
        let is_spare = self.retired.is_some() && member == self.replaced;
        let drive = if is_spare { self.members.len() } else { member.index() };
        Failure { member, drive, at, read_only_at, is_read, refused }
    }

    /// The member is gone, and is asked nothing any more; false when it was gone before.
    pub(super) fn fail_member(&mut self, now: Instant, member: Member, refused: bool) -> bool {
        let Some(dead) = self.members.get_mut(member.index()) else { return false };
        if dead.state == State::Dead {
            return false;
        }
        (dead.state, dead.next) = (State::Dead, Instant::NEVER);
        self.is_impaired = true;
        self.counters.failed_members += 1;
        self.failures.push(self.failure(now, member, false, refused));
        if !self.spec.replace_after.is_zero() && self.spare.is_some() {
            self.set_timer(now + self.spec.replace_after, Timer::Replace { member });
        }
        true
    }

    /// Fails the commands that the failed member had in flight.
    pub(super) fn bury(&mut self, now: Instant, member: Member) {
        let lost: Vec<CommandId> = self
            .ios
            .places()
            .filter(|io| self.ios[*io].live && self.ios[*io].member == member)
            .collect();
        for id in lost {
            let status = Status::Aborted;
            self.io_done(Completion {
                id,
                at: now,
                status,
                dnr: true,
                result64: 0,
                gc_blocked: false,
                gc_blocked_at_split: false,
                payload: None,
            });
        }
    }

    /// An empty drive takes the dead member's place.
    pub(super) fn replace_member(&mut self, now: Instant, number: Member) {
        let Some(spare) = self.spare.take() else { return };
        let mut member = MemberDrive::new(spare);
        member.state = State::Rebuilding;
        member.set_windows(now, self.strategy.windows(number), self.spec.level);
        let dead = std::mem::replace(&mut self.members[number.index()], member);
        (self.replaced, self.restored, self.retired) = (number, 0, Some(Box::new(dead)));
        for _ in 0..self.spec.rebuild_depth {
            self.restore_next(now);
        }
    }
}
