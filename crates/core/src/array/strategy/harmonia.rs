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
