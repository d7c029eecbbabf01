//! The memory that all connections share: requests under way, answers that were not read, bytes
//! of messages that are not whole.
//!
//! Each connection tells how much it holds. Where all of them hold as much as they may, who holds
//! more than his share is heard no more until others have let go; and who does not read his answers
//! is closed after a while, so that a client that does can go on.

use std::cell::Cell;
use std::rc::Rc;

/// Bytes that every connection may hold, whatever the others do.
const SHARE: u64 = 1 << 20;

/// The memory of all connections.
#[derive(Clone, Debug)]
pub(crate) struct Room {
    held: Rc<Cell<u64>>,
    most: u64,
}

/// A connection's part of it, which goes with the connection.
#[derive(Debug)]
pub(crate) struct Part {
    room: Room,
    held: u64,
}

impl Room {
    /// Room for so many bytes.
    pub fn new(most: u64) -> Self {
        Self { held: Rc::default(), most }
    }

    /// A part that holds nothing.
    pub fn part(&self) -> Part {
        Part { room: self.clone(), held: 0 }
    }

    /// All hold as much as they may.
    pub fn is_full(&self) -> bool {
        self.held.get() >= self.most
    }
}

impl Part {
    /// It holds so much now.
    pub fn holds(&mut self, bytes: u64) {
        self.room.held.set(self.room.held.get() - self.held + bytes);
        self.held = bytes;
    }

    /// It holds more than its share, and all hold as much as they may.
    pub fn is_full(&self) -> bool {
        self.held > SHARE && self.room.is_full()
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        self.holds(0);
    }
}

#[cfg(test)]
mod tests {
    use super::{Room, SHARE};

    #[test]
    fn who_holds_more_than_his_share_waits_for_others() {
        let room = Room::new(8 * SHARE);
        let (mut greedy, mut modest) = (room.part(), room.part());
        greedy.holds(8 * SHARE);
        modest.holds(SHARE);
        assert!(room.is_full() && greedy.is_full() && !modest.is_full());
        drop(modest);
        greedy.holds(7 * SHARE);
        assert!(!room.is_full() && !greedy.is_full());
        drop(greedy);
        assert_eq!(room.held.get(), 0);
    }
}
