//! Garbage collection: when it may begin, what its mode blocks, its copies, and how long it keeps a
//! die.

pub(in crate::drive) mod chain;
pub(in crate::drive) mod collect;
pub(in crate::drive) mod domains;
pub(in crate::drive) mod ended;
pub(in crate::drive) mod fast_fail;
pub(in crate::drive) mod forecast;
pub(in crate::drive) mod hold;
pub(in crate::drive) mod keeps;
pub(in crate::drive) mod merge;
pub(in crate::drive) mod merge_ended;
pub(in crate::drive) mod mode;
pub(in crate::drive) mod overtaken;
pub(in crate::drive) mod plane;
pub(in crate::drive) mod release;
pub(in crate::drive) mod replay;
pub(in crate::drive) mod rotate;
pub(in crate::drive) mod window_gate;
pub(in crate::drive) mod windows;
