//! The tests of the crate from outside: one file for each subject.

mod corpora;
mod dice;
mod drawn;
mod readers;
