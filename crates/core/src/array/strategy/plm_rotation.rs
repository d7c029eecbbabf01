//! NVMe's Predictable Latency Mode as it stands, driven by the host alone: each member in turn is
//! sent into its non-deterministic window (feature 14h) and not read then; no drive knows of a
//! schedule, nor fails a read fast.

use super::Strategy;
use super::windowed::busy_for;
use crate::array::spec::ArraySpec;
use crate::drive::Windows;
use crate::units::{Duration, Instant, Member};

/// Sends one member after the other into its non-deterministic window.
#[derive(Clone, Debug)]
pub(super) struct PlmRotation {
    spec: ArraySpec,
    /// The window that comes next.
    next: u64,
}

impl PlmRotation {
    pub fn new(spec: &ArraySpec) -> Self {
        Self { spec: spec.clone(), next: 1 }
    }
}

impl Strategy for PlmRotation {
    fn avoids(&self, now: Instant, member: Member) -> Option<Duration> {
        busy_for(&self.spec, now, member)
    }

    fn windows(&self, member: Member) -> Windows {
        if member == Member(0) { Windows::NonDeterministic } else { Windows::Deterministic }
    }

    fn next_turn(&self) -> Instant {
        Instant::START + self.spec.window * self.next
    }

    fn turn(&mut self, _: Instant, change: &mut dyn FnMut(Member, Windows)) {
        let members = u64::from(self.spec.members);
        change(Member(((self.next - 1) % members) as u32), Windows::Deterministic);
        change(Member((self.next % members) as u32), Windows::NonDeterministic);
        self.next += 1;
    }
}
