//! The members of an array: their drives, when they are due, who is dead and who is being restored.

use super::RaidLevel;
use super::{Array, Timer};
use crate::drive::{Command, Completion, Drive, Status, Windows};
use crate::nvme::Controller;
use crate::nvme::plm::{ArrayType, Config, Schedule, Window};
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
    controller: Controller,
    pub state: State,
    /// When its drive is due next.
    pub next: Instant,
}

impl Member {
    pub fn new(controller: Controller) -> Self {
        let next = controller.next_event_at();
        Self { controller, state: State::Alive, next }
    }

    pub fn drive(&self) -> &Drive {
        self.controller.drive()
    }

    pub fn drive_mut(&mut self) -> &mut Drive {
        self.controller.drive_mut()
    }

    #[inline]
    pub fn submit(&mut self, now: Instant, command: Command) {
        self.controller.submit(now, command);
        self.next = self.controller.next_event_at();
    }

    #[inline]
    pub fn advance_before(&mut self, limit: Instant) -> Option<Completion> {
        let completion = self.controller.advance_before(limit);
        self.next = self.controller.next_event_at();
        completion
    }

    /// What the drive keeps to from now on: features 13h and 14h.
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
            RaidLevel::Raid6 => ArrayType::DoubleParity,
        };
        let schedule = schedule.map(|windows| Schedule { array, windows });
        let config = Config { schedule, ..Config::default() };
        self.controller.set_predictable(now, &config, true).expect("validated: N, TW and guard fit the feature");
        if let Some(window) = window {
            // Granted now or, where the shortest non-deterministic window is not over, later.
            let _ = self.controller.select_window(now, window, 0);
        }
        self.next = self.controller.next_event_at();
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
        let Some(spare) = self.spare.take() else { return };
        let number = self.spec.fail_member;
        let mut member = Member::new(spare);
        member.state = State::Rebuilding;
        member.set_windows(now, self.strategy.windows(number), self.spec.level);
        self.members[number as usize] = member;
        self.restored = 0;
        for _ in 0..self.spec.rebuild_depth {
            self.restore_next(now);
        }
    }
}
