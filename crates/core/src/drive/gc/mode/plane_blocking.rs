//! `plane-blocking`: a GC run drains its die and holds it; copies stay inside the plane (PB of
//! ttFlash, FAST '17, section 4.1). `plane` has the mechanism.

use super::{Admission, Lease, Rank, Scope};

pub(super) const LEASE: Lease =
    Lease { scope: Scope::Die, rank: Rank::First, admission: Admission::PlaneInTurn };
