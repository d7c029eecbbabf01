//! The tests of the crate from outside: one file for each subject.

mod corpora;
#[path = "../../../trace/tests/all/drawn.rs"]
mod drawn;
mod parsers;
