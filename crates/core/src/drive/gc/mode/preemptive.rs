//! `preemptive`: host operations go between the operations of a GC run, but below the critical
//! watermark (Lee et al., ISPASS '11). `gc.reads_first` lets reads go first there, too.

use super::{Admission, Lease, Rank, Scope};

pub(super) const LEASE: Lease =
    Lease { scope: Scope::Nothing, rank: Rank::WhenUrgent, admission: Admission::AtOnce };
