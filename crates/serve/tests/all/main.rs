//! The tests of the crate from outside: one file for each subject.

mod capsules;
mod corpora;
#[path = "../../../trace/tests/all/dice.rs"]
mod dice;
#[path = "../../../trace/tests/all/drawn.rs"]
mod drawn;
mod parsers;
