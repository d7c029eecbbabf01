//! A glance at the dies: what each of them does at this moment.

use super::Flash;
use super::die::{Phase, What};
use crate::units::Die;

/// The occupation of a die.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occupation {
    /// Nothing.
    Idle,
    /// A read of the host, or a page that is read for other reasons than garbage collection.
    Read,
    /// A program of the host's data.
    Program,
    /// A page is read or programmed for garbage collection.
    Copy,
    /// A block is erased.
    Erase,
    /// An erase or a program is suspended, and nothing else runs.
    Suspended,
}

impl Flash {
    /// The occupation of a die now, with everything before done.
    pub fn occupation(&self, die: Die) -> Occupation {
        let die = &self.dies[die.index()];
        match (die.phase, die.operation.what, die.operation.gc) {
            (Phase::Idle, ..) => Occupation::Idle,
            (Phase::Suspended, ..) => Occupation::Suspended,
            (_, What::Erase { .. }, _) => Occupation::Erase,
            (_, _, true) | (_, What::Copy { .. } | What::Copies { .. }, _) => Occupation::Copy,
            (_, What::Read { .. }, false) => Occupation::Read,
            (_, What::Program { .. } | What::System { .. }, false) => Occupation::Program,
        }
    }
}
