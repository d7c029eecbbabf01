//! Requests of a block layer above a drive, as a real host's kernel tells of them.

use crate::units::{Instant, Lba, Op};

/// A request of a host's block layer, from the queue to its completion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockRequest {
    /// The host's name of the disk: vda.
    pub disk: String,
    /// The process that queued it.
    pub process: u32,
    /// The kind.
    pub op: Op,
    /// First sector.
    pub lba: Lba,
    /// Sectors; 0 of a flush.
    pub sectors: u32,
    /// The block layer took it.
    pub queued: Instant,
    /// The drive was asked, perhaps together with others.
    pub issued: Instant,
    /// The drive had done it.
    pub ended: Instant,
}
