//! `base`: a GC run drains its channel and holds it until its victim is copied; the erase keeps
//! only its die (Base of ttFlash, FAST '17, section 3).

use super::{Admission, Lease, Rank, Scope};

pub(super) const LEASE: Lease =
    Lease { scope: Scope::Channel, rank: Rank::First, admission: Admission::InTurn };
