//! IOD3 and IODA (SOSP '21): members collect in turn, each in its own busy window.

use super::Strategy;
use crate::array::spec::ArraySpec;
use crate::drive::{PredictableLatency, WindowSchedule, Windows};
use crate::units::{Duration, Instant, Member};

/// The schedule that `spec` gives to `member`.
pub(super) fn schedule(spec: &ArraySpec, member: Member) -> WindowSchedule {
    let (members, length, guard) = (spec.members, spec.window, spec.guard);
    WindowSchedule { members, index: member.0, length, cycle_start: Instant::START, guard }
}

/// For how long `member`'s busy window, if it is in it, still lasts.
pub(super) fn busy_for(spec: &ArraySpec, now: Instant, member: Member) -> Option<Duration> {
    let schedule = schedule(spec, member);
    schedule.is_busy(now).then(|| schedule.slot_end(now).since(now))
}

/// Windows alone: the member in its busy window is never read. (How the artefact's devices did this
/// is not public; that the median rises by half is what this does.)
#[derive(Clone, Debug)]
pub(super) struct Iod3 {
    spec: ArraySpec,
}

impl Iod3 {
    pub fn new(spec: &ArraySpec) -> Self {
        Self { spec: spec.clone() }
    }
}

impl Strategy for Iod3 {
    fn avoids(&self, now: Instant, member: Member) -> Option<Duration> {
        busy_for(&self.spec, now, member)
    }

    fn windows(&self, member: Member) -> Windows {
        Windows::Scheduled(schedule(&self.spec, member))
    }
}

/// Windows, and reads that may fail fast: a row loses one page at most, as long as nobody collects
/// outside its window.
#[derive(Clone, Debug)]
pub(super) struct Ioda {
    spec: ArraySpec,
}

impl Ioda {
    pub fn new(spec: &ArraySpec) -> Self {
        Self { spec: spec.clone() }
    }
}

impl Strategy for Ioda {
    fn flag(&self) -> PredictableLatency {
        PredictableLatency::On
    }

    fn windows(&self, member: Member) -> Windows {
        Windows::Scheduled(schedule(&self.spec, member))
    }
}
