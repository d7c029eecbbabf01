//! Power loss: the cut, the `journal` and the checkpoints that a drive keeps for it, and what a
//! recovery finds and repairs; `ended` acts on the end of an operation; `shut_down` is the orderly
//! way.

pub(in crate::drive) mod checkpoint;
pub(in crate::drive) mod ended;
pub(in crate::drive) mod journal;
pub(in crate::drive) mod power_cut;
pub(in crate::drive) mod recovery;
pub(in crate::drive) mod repair;
pub(in crate::drive) mod shut_down;
