//! Power loss: the cut, and what a recovery finds.

pub(in crate::drive) mod checkpoint;
pub(in crate::drive) mod ended;
pub(in crate::drive) mod journal;
pub(in crate::drive) mod power_cut;
pub(in crate::drive) mod recovery;
pub(in crate::drive) mod repair;
