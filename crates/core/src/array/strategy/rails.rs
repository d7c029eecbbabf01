//! Flash on Rails (Skourtis et al., ATC '14): members take turns in being written. Writes wait in
//! protected memory for their member's turn, in which it collects too; nobody reads it then.

use super::Strategy;
use super::windowed::{busy_for, schedule};
use crate::array::spec::ArraySpec;
use crate::drive::Windows;
use crate::units::{Duration, Instant, Member};

/// Writes in a member's window only, and never reads it then.
#[derive(Clone, Debug)]
pub(super) struct Rails {
    spec: ArraySpec,
}

impl Rails {
    pub fn new(spec: &ArraySpec) -> Self {
        Self { spec: spec.clone() }
    }
}

impl Strategy for Rails {
    fn avoids(&self, now: Instant, member: Member) -> Option<Duration> {
        busy_for(&self.spec, now, member)
    }

    fn writes_at(&self, now: Instant, member: Member) -> Instant {
        let schedule = schedule(&self.spec, member);
        if schedule.is_busy(now) { now } else { schedule.next_busy(now) }
    }

    fn windows(&self, member: Member) -> Windows {
        Windows::Scheduled(schedule(&self.spec, member))
    }
}
