//! A map that lies on flash, and its cached part at work: `misses` of entries, rounds of
//! translation `pages`, `changes` of the map, its `recovery`; `ended` acts on the end of an
//! operation.

pub(in crate::drive) mod changes;
pub(in crate::drive) mod ended;
pub(in crate::drive) mod misses;
pub(in crate::drive) mod pages;
pub(in crate::drive) mod recovery;
