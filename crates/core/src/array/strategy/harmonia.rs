//! Harmonia (Kim et al., MSST '11): all members collect at the same time, so that there are fewer
//! slow times, and in them nothing can be computed from the rest. The coordination is by windows
//! here: one window in N, the same for all.

use super::Strategy;
use super::windowed::schedule;
use crate::array::spec::ArraySpec;
use crate::drive::Windows;
use crate::units::Member;

/// Everybody in the first window.
#[derive(Clone, Debug)]
pub(super) struct Harmonia {
    spec: ArraySpec,
}

impl Harmonia {
    pub fn new(spec: &ArraySpec) -> Self {
        Self { spec: spec.clone() }
    }
}

impl Strategy for Harmonia {
    fn windows(&self, _: Member) -> Windows {
        Windows::Scheduled(schedule(&self.spec, Member(0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::{Duration, Instant};

    #[test]
    fn all_members_collect_in_the_same_window_one_in_as_many_as_there_are_members() {
        let window = Duration::from_ms(10);
        let spec = ArraySpec { members: 4, window, ..ArraySpec::default() };
        let harmonia = Harmonia::new(&spec);
        for slot in 0..12 {
            let middle = Instant::START + window * slot + Duration::from_ms(5);
            for member in (0..4).map(Member) {
                let Windows::Scheduled(schedule) = harmonia.windows(member) else {
                    panic!("a schedule")
                };
                assert_eq!(schedule.is_busy(middle), slot % 4 == 0, "{member:?}, window {slot}");
            }
            assert_eq!(harmonia.avoids(middle, Member(0)), None, "each is read all the time");
        }
    }
}
