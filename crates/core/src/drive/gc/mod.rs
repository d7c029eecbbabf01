//! Garbage collection: when it may begin, what its mode blocks, its copies, and how long it keeps a
//! die.
//!
//! `mode` is the lease of each GC mode. `collect` acts on it, over `domains` (runs in turn) or
//! `plane` with `rotate` (runs on a die); `chain` turns the steps of a victim's copies into
//! operations, `merge` those of log blocks; `hold` keeps erases back. `windows` and `window_gate`
//! let runs begin in busy windows only, `pace` lets them copy as the host writes. `keeps`,
//! `forecast`, `release` and `replay` say which dies are kept from a read and until when, and
//! `fast_fail` fails the read. `ended` and `merge_ended` act on the end of an operation,
//! `overtaken` on that of an event.

pub(in crate::drive) mod chain;
pub(in crate::drive) mod collect;
pub(in crate::drive) mod domains;
pub(in crate::drive) mod ended;
pub(in crate::drive) mod fast_fail;
pub(in crate::drive) mod fold;
pub(in crate::drive) mod forecast;
pub(in crate::drive) mod hold;
pub(in crate::drive) mod keeps;
pub(in crate::drive) mod merge;
pub(in crate::drive) mod merge_ended;
pub(in crate::drive) mod mode;
pub(in crate::drive) mod overtaken;
pub(in crate::drive) mod pace;
pub(in crate::drive) mod plane;
pub(in crate::drive) mod refresh;
pub(in crate::drive) mod release;
pub(in crate::drive) mod replay;
pub(in crate::drive) mod rotate;
pub(in crate::drive) mod window_gate;
pub(in crate::drive) mod windows;
