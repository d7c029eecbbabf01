//! The members of an array: their drives, when they are due, who is dead and who is being restored.

use super::{Array, Timer};
use crate::drive::{Command, Completion, Drive, Status, Windows};
use crate::units::Instant;

/// Whether a member serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// It does.
    Alive,
    /// It answers nothing any more.
    Dead,
    /// A new drive, whose rows are being restored from the first on.
    Rebuilding,
}

/// A member.
#[derive(Debug)]
pub(super) struct Member {
    drive: Drive,
    pub state: State,
    /// When its drive is due next.
    pub next: Instant,
}

impl Member {
    pub fn new(drive: Drive) -> Self {
        let next = drive.next_event_at();
        Self { drive, state: State::Alive, next }
    }

    pub fn drive(&self) -> &Drive {
        &self.drive
    }

    pub fn drive_mut(&mut self) -> &mut Drive {
        &mut self.drive
    }

    #[inline]
    pub fn submit(&mut self, now: Instant, command: Command) {
        self.drive.submit(now, command);
        self.next = self.drive.next_event_at();
    }

    #[inline]
    pub fn advance_before(&mut self, limit: Instant) -> Option<Completion> {
        let completion = self.drive.advance_before(limit);
        self.next = self.drive.next_event_at();
        completion
    }

    /// What the drive keeps to from now on.
    pub fn set_windows(&mut self, now: Instant, windows: Windows) {
        if windows != Windows::Off {
            let _ = (now, windows); // PLM
            self.next = self.drive.next_event_at();
        }
    }
}

impl Array {
    /// The member that fails is gone: what it was asked has failed, and it is asked nothing any more.
    pub(super) fn fail_member(&mut self, now: Instant) {
        let member = self.spec.fail_member;
        let Some(dead) = self.members.get_mut(member as usize) else { return };
        (dead.state, dead.next) = (State::Dead, Instant::NEVER);
        self.counters.failed_members += 1;
        let lost: Vec<u32> =
            self.ios.places().filter(|io| self.ios[*io].live && self.ios[*io].member == member).collect();
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
        if !self.spec.replace_after.is_zero() && self.spare.is_some() {
            self.set_timer(now + self.spec.replace_after, Timer::Replace);
        }
    }

    /// An empty drive takes the dead member's place.
    pub(super) fn replace_member(&mut self, now: Instant) {
        let Some(drive) = self.spare.take() else { return };
        let number = self.spec.fail_member;
        let mut member = Member::new(drive);
        member.state = State::Rebuilding;
        member.set_windows(now, self.strategy.windows(number));
        self.members[number as usize] = member;
        self.restored = 0;
        for _ in 0..self.spec.rebuild_depth {
            self.restore_next(now);
        }
    }
}
