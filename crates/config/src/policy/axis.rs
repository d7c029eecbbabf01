//! The axes: questions that a policy answers.

use std::fmt;

/// A decision of the drive, or of the array, that policies answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Axis {
    /// Translation and placement.
    Ftl,
    /// Garbage collection.
    Gc,
    /// Whether the planes of a group collect in turn.
    Turns,
    /// Parity inside the drive.
    Rain,
    /// How an erase, and a program, gives way.
    Erase,
    /// When writes leave the write buffer.
    Buffer,
    /// The host's array.
    Array,
}

impl fmt::Display for Axis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Axis::Ftl => "ftl",
            Axis::Gc => "gc",
            Axis::Turns => "turns",
            Axis::Rain => "rain",
            Axis::Erase => "erase",
            Axis::Buffer => "buffer",
            Axis::Array => "array",
        })
    }
}
