//! `controller`: as `base` over every channel, one GC run at a time in the drive.

use super::{Admission, Lease, Rank, Scope};

pub(super) const LEASE: Lease =
    Lease { scope: Scope::Drive, rank: Rank::First, admission: Admission::InTurn };
