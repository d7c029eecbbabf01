//! A slot of the write buffer: the page in it, and where it stands in the buffer's lists.

use super::waiters::NodeId;
use crate::drive::face::command::Stamp;
use crate::units::Lpn;

/// Where a slot is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::drive) enum State {
    Free,
    Dirty,
    Filling,
    Staged,
    Flying,
    Behind,
    Parked,
}

crate::id! {
    /// A slot of the buffer.
    pub(in crate::drive) SlotId, or NIL
}

/// A page in the buffer.
#[derive(Clone, Debug)]
pub(in crate::drive) struct Slot {
    pub lpn: Lpn,
    pub state: State,
    /// Deallocated while on its way: it must not become the page's newest version.
    pub dropped: bool,
    /// The hint of its newest write.
    pub stream: u8,
    /// Sectors that hold data.
    pub mask: u64,
    /// The version that it holds, and the one expected beneath a partial page.
    pub stamp: Stamp,
    /// Pages of the request that wrote it last; kept for log-block FTLs only.
    pub pages: u32,
    /// When it became dirty, in the order of such events: what a flush waits for.
    pub born: u64,
    /// The slot that waits behind this flying one.
    pub successor: SlotId,
    /// Requests that wait for it to be on flash: head of a list in [`WriteBuffer::waiters`].
    pub waiters: NodeId,
    /// A request waits for it and no lane could take it yet.
    pub urgent: bool,
    /// The maps that its eviction needs have been asked for.
    pub(super) hinted: bool,
    /// Neighbours: in eviction order while dirty, the next of its row while staged or flying, the
    /// next free one.
    pub(super) next: SlotId,
    pub(super) previous: SlotId,
    /// Neighbours in the order of birth.
    pub(super) younger: SlotId,
    pub(super) elder: SlotId,
}

impl Slot {
    /// A slot with nothing in it, in no list.
    pub(super) fn empty() -> Self {
        Self {
            lpn: Lpn(0),
            state: State::Free,
            dropped: false,
            stream: 0,
            mask: 0,
            stamp: Stamp::default(),
            pages: 1,
            born: 0,
            successor: SlotId::NIL,
            waiters: NodeId::NIL,
            urgent: false,
            hinted: false,
            next: SlotId::NIL,
            previous: SlotId::NIL,
            younger: SlotId::NIL,
            elder: SlotId::NIL,
        }
    }

    /// True when a request waits for it to be on flash.
    #[inline]
    pub fn has_waiters(&self) -> bool {
        self.waiters != NodeId::NIL
    }
}
