//! `channel-preemptive`: preemption by channels. Each channel copies one victim at a time, and its
//! GC run yields to the host only while no write waits on the channel; below the critical watermark
//! it does not yield.

use super::{Admission, Lease, Rank, Scope};

pub(super) const LEASE: Lease =
    Lease { scope: Scope::Nothing, rank: Rank::WhenWritesWait, admission: Admission::InTurn };
