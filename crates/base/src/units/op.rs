//! Kinds of requests.

/// The kind of a request (NVM Command Set: Read, Write, Flush, Dataset Management deallocate).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Read the range.
    Read,
    /// Write the range.
    Write,
    /// Make every acknowledged write durable.
    Flush,
    /// Deallocate the range: it reads as never written.
    Trim,
}
