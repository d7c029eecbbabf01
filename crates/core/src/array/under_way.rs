//! Requests of the host, commands at members and timers: what an array has under way.

use super::piece::{PieceId, RebuildId};
use super::rows::RowId;
use crate::drive::{Command, Status};
use crate::units::{Instant, Member};

crate::id! {
    /// A request: its place among those under way.
    pub(super) RequestId
}

/// A request of the host under way.
#[derive(Clone, Debug)]
pub(super) struct Request {
    pub command: Command,
    /// Pieces, updates of rows or flushes that it waits for.
    pub left: u32,
    pub status: Status,
    pub gc_blocked: bool,
    pub gc_blocked_at_split: bool,
    /// The first of its pieces.
    pub pieces: PieceId,
    pub versions: Option<Box<[u32]>>,
}

/// A command at a member.
#[derive(Clone, Copy, Debug)]
pub(super) struct Io {
    pub owner: Owner,
    pub member: Member,
    pub at: Instant,
    pub is_read: bool,
    pub live: bool,
}

/// Whom a member's completion is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// A piece, read from its own member.
    Direct { piece: PieceId, ticket: u32 },
    /// A computed piece: another member's share.
    Rest { rebuild: RebuildId, ticket: u32 },
    /// An update of a row: page `index` as it was.
    Old { slot: RowId, index: u32, ticket: u32 },
    /// An update of a row: page `index` is written.
    Write { slot: RowId, index: u32 },
    /// A flush of the request.
    Flush { request: RequestId },
}

/// An event of the array's own, at a time that no member announces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Timer {
    /// A piece has been computed.
    Computed { piece: PieceId, ticket: u32 },
    /// A read has waited alone for long enough.
    Hedge { piece: PieceId, ticket: u32 },
    /// A write of a row may go to its member.
    Write { slot: RowId, index: u32 },
    /// A request is answered from memory.
    Answer { request: RequestId },
    /// The member fails of which the settings say so.
    Fail,
    /// The commands in flight of a member that failed are aborted.
    Bury { member: Member },
    /// An empty drive takes its place.
    Replace { member: Member },
    /// The next row of the new drive is looked at again.
    Restore,
}
