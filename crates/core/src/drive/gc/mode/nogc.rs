//! `nogc`: GC costs nothing. A bound that no drive can have.

use super::{Admission, Lease, Rank, Scope};

pub(super) const LEASE: Lease =
    Lease { scope: Scope::Nothing, rank: Rank::First, admission: Admission::ZeroCost };
