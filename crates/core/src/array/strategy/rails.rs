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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_is_written_in_its_turn_alone_and_not_read_then() {
        let window = Duration::from_ms(10);
        let rails = Rails::new(&ArraySpec { members: 4, window, ..ArraySpec::default() });
        for slot in 0..12 {
            let begin = Instant::START + window * slot;
            let now = begin + Duration::from_ms(4);
            for member in 0..4 {
                let ahead = (u64::from(member) + 4 - slot % 4) % 4;
                let at = rails.writes_at(now, Member(member));
                let left = (ahead == 0).then(|| Duration::from_ms(6));
                assert_eq!(rails.avoids(now, Member(member)), left, "member {member}, {slot}");
                let turn = if ahead == 0 { now } else { begin + window * ahead };
                assert_eq!(at, turn, "member {member}, window {slot}");
            }
        }
    }
}
