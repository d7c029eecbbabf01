//! Media that fail: `bad_blocks` (and `failed`, the end of an operation that failed), bit errors
//! and the scrubber (`scrub`, and `scrubbed`, the end of its operations), pages that do not decode
//! at once (`retry`).

pub(in crate::drive) mod bad_blocks;
pub(in crate::drive) mod failed;
pub(in crate::drive) mod retry;
pub(in crate::drive) mod scrub;
pub(in crate::drive) mod scrubbed;
