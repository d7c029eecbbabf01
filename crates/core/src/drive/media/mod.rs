//! Media that fail: bad blocks, bit errors, scrubbing.

pub(in crate::drive) mod bad_blocks;
pub(in crate::drive) mod failed;
pub(in crate::drive) mod scrub;
pub(in crate::drive) mod scrubbed;
