//! GC modes, a file each: the lease that a GC run takes on the drive, and when its operations go
//! first.
//!
//! The mechanisms act on the lease alone: `collect` admits runs, drains and holds channels, `plane`
//! drains and closes dies, `dies/schedule` asks for the rank. A new mode is a file here, a variant
//! of [`GcMode`] and its line in [`Lease::of`]; a policy makes it known to users
//! (`crates/config/src/policy.rs`).

mod base;
mod channel_preemptive;
mod controller;
mod nogc;
mod plane_blocking;
mod preemptive;

use crate::ftl::GcMode;

/// The scope that a GC run blocks while it copies its victim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::drive) struct Lease {
    /// Host operations cannot start here.
    pub scope: Scope,
    /// When its operations go before the host's that wait for their die.
    pub rank: Rank,
    /// When a pool that wants to collect may begin.
    pub admission: Admission,
}

/// A part of the drive, from the start of draining to the last copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::drive) enum Scope {
    /// Nothing: each flash operation takes its die as any other does.
    Nothing,
    /// The die of the victim.
    Die,
    /// The channel of the victim.
    Channel,
    /// Every channel.
    Drive,
}

/// The order of GC and host operations on a die.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::drive) enum Rank {
    /// GC operations, always.
    First,
    /// The host's, but below the critical watermark.
    WhenUrgent,
    /// The host's while no write waits on the channel, but below the critical watermark.
    WhenWritesWait,
}

/// How GC runs begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::drive) enum Admission {
    /// Space is reclaimed at no cost, without flash operations.
    ZeroCost,
    /// At once.
    AtOnce,
    /// In turn: one run at a time in each place that `scope` names (for `Nothing`: on each
    /// channel).
    InTurn,
    /// Likewise, one run at a time on a die, and so many on a channel as settings say
    /// ([`super::plane`]).
    PlaneInTurn,
}

/// How many GC runs copy their victims at once, of pools that lie on one channel each; a pool's
/// victim is as many blocks as `gc.unit` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunsAtOnce {
    /// One on the drive.
    OnDrive,
    /// One on each channel.
    OnChannel,
    /// One on each die, and so many on a channel as `gc.per_channel` says (0: no limit).
    OnDie,
    /// No run waits for another: one in each pool, as far as its die lets it.
    InPool,
}

impl GcMode {
    /// How many GC runs copy at once, as the mode's lease has it.
    pub fn runs_at_once(self) -> RunsAtOnce {
        let Lease { scope, admission, .. } = Lease::of(self);
        match (admission, scope) {
            (Admission::ZeroCost | Admission::AtOnce, _) => RunsAtOnce::InPool,
            (Admission::PlaneInTurn, _) => RunsAtOnce::OnDie,
            (Admission::InTurn, Scope::Drive) => RunsAtOnce::OnDrive,
            // A domain of runs in turn is a channel (`gc/domains`).
            (Admission::InTurn, Scope::Channel | Scope::Die | Scope::Nothing) => {
                RunsAtOnce::OnChannel
            }
        }
    }
}

impl Lease {
    /// The lease of a mode.
    pub fn of(mode: GcMode) -> Self {
        match mode {
            GcMode::Nogc => nogc::LEASE,
            GcMode::Base => base::LEASE,
            GcMode::Controller => controller::LEASE,
            GcMode::Preemptive => preemptive::LEASE,
            GcMode::ChannelPreemptive => channel_preemptive::LEASE,
            GcMode::PlaneBlocking => plane_blocking::LEASE,
        }
    }

    /// True when runs begin in turn and close nothing to the host.
    pub fn yields_in_turn(self) -> bool {
        self.scope == Scope::Nothing && self.admission == Admission::InTurn
    }

    /// True when pools wait for their turn.
    pub fn has_turns(self) -> bool {
        matches!(self.admission, Admission::InTurn | Admission::PlaneInTurn)
    }

    /// True when a run drains channels, then holds them until its victim is copied.
    pub fn holds_channels(self) -> bool {
        matches!(self.scope, Scope::Channel | Scope::Drive)
    }
}
