//! The tests of the crate from outside: one file for each subject.

mod corpora;
mod drawn;
mod readers;
