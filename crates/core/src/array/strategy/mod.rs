//! How an array reads: one file a strategy. A strategy chooses; `read.rs` and `write.rs` act.
//!
//! It sees what a host sees: when it submitted what, when that completed, and the windows that it
//! configured itself.

mod adaptive;
mod direct;
mod harmonia;
mod hedged;
mod ioda;
mod mittos;
mod plm_rotation;
mod proactive;
mod rails;
mod windowed;

use super::spec::{ArraySpec, ReadStrategy};
use crate::drive::{CommandId, PredictableLatency, Windows};
use crate::units::{Duration, Instant, Member};
use std::fmt::Debug;

/// A strategy of reading. The defaults are those of `direct`.
pub trait Strategy: Debug + Send + Twin {
    /// The predictable-latency flag of the host's reads, and of those that help to compute a page.
    fn flag(&self) -> PredictableLatency {
        PredictableLatency::Off
    }

    /// The flag of reads for the sake of a write.
    fn flag_of_pre_reads(&self) -> PredictableLatency {
        self.flag()
    }

    /// For how long `member` had better not be read; `None`: it may be.
    fn avoids(&self, _now: Instant, _member: Member) -> Option<Duration> {
        None
    }

    /// True when every read asks for the rest of its row at once.
    fn asks_all(&self) -> bool {
        false
    }

    /// After how long a read asks for the rest of its row too.
    fn hedges_after(&self) -> Option<Duration> {
        None
    }

    /// Of a page whose member is free from the nanosecond `own` on, and another of its row from
    /// `other` on: true when the first is computed and the other waited for, false when the first
    /// is waited for.
    fn computes(&mut self, own: u64, other: u64) -> bool {
        own >= other
    }

    /// When a write to `member` may be submitted: now, or later.
    fn writes_at(&self, now: Instant, _member: Member) -> Instant {
        now
    }

    /// A read was submitted to a member.
    fn submitted(&mut self, _now: Instant, _member: Member, _io: CommandId) {}

    /// A read of a member completed, `latency` after its submission.
    fn completed(&mut self, _member: Member, _io: CommandId, _latency: Duration) {}

    /// Bytes that each member takes between the watermark at which GC begins and the critical one.
    fn reserve(&mut self, _bytes: u64) {}

    /// The host wrote so many bytes to members.
    fn wrote(&mut self, _bytes: u64) {}

    /// Windows that `member` keeps to from the start.
    fn windows(&self, _member: Member) -> Windows {
        Windows::Off
    }

    /// When [`Strategy::turn`] wants to be called next.
    fn next_turn(&self) -> Instant {
        Instant::NEVER
    }

    /// Its time has come: `change` sets what a member keeps to.
    fn turn(&mut self, _now: Instant, _change: &mut dyn FnMut(Member, Windows)) {}
}

/// A strategy a second time, in the same state: arrays are copied. Every one that can be cloned has
/// it.
pub trait Twin {
    /// The copy.
    fn twin(&self) -> Box<dyn Strategy>;
}

impl<S: Strategy + Clone + 'static> Twin for S {
    fn twin(&self) -> Box<dyn Strategy> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn Strategy> {
    fn clone(&self) -> Self {
        (**self).twin()
    }
}

/// The strategy that `spec` names.
pub(super) fn of(spec: &ArraySpec, seed: u64) -> Box<dyn Strategy> {
    if let Some(brought) = spec.brought.make() {
        return brought;
    }
    match spec.strategy {
        ReadStrategy::Direct => Box::new(direct::Direct),
        ReadStrategy::Proactive => Box::new(proactive::Proactive),
        ReadStrategy::Hedged => Box::new(hedged::Hedged::new(spec.hedge_after)),
        ReadStrategy::Iod1 => Box::new(ioda::Iod1::new(seed)),
        ReadStrategy::Iod2 => Box::new(ioda::Iod2),
        ReadStrategy::Iod3 => Box::new(windowed::Iod3::new(spec)),
        ReadStrategy::Ioda => Box::new(windowed::Ioda::new(spec)),
        ReadStrategy::IodaAdaptive => Box::new(adaptive::IodaAdaptive::new(spec)),
        ReadStrategy::Harmonia => Box::new(harmonia::Harmonia::new(spec)),
        ReadStrategy::Rails => Box::new(rails::Rails::new(spec)),
        ReadStrategy::Mittos => Box::new(mittos::Mittos::new(spec)),
        ReadStrategy::PlmRotation => Box::new(plm_rotation::PlmRotation::new(spec)),
    }
}
