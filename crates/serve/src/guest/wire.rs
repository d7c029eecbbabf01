//! Messages between a guest and the calendar.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, little_endian as le};

/// Bytes of a message.
pub(super) const LENGTH: usize = 16;

/// A message, of either side.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(super) struct Message {
    pub op: le::U32,
    pub seq: le::U32,
    pub time: le::U64,
}

/// Kinds of messages.
pub(super) mod op {
    /// The answer to any other.
    pub const ACK: u32 = 0;
    /// The guest is there.
    pub const START: u32 = 1;
    /// It wants to run at a time.
    pub const REQUEST: u32 = 2;
    /// It waits for that time.
    pub const WAIT: u32 = 3;
    /// It asks for the time.
    pub const GET: u32 = 4;
    /// It tells its time.
    pub const UPDATE: u32 = 5;
    /// It may run.
    pub const RUN: u32 = 6;
    /// It may run on by itself before a time.
    pub const FREE_UNTIL: u32 = 7;
    /// It asks for the time of day.
    pub const GET_TOD: u32 = 8;
    /// It tells everybody a number.
    pub const BROADCAST: u32 = 9;
}

impl Message {
    pub fn new(op: u32, seq: u32, time: u64) -> Self {
        Self { op: op.into(), seq: seq.into(), time: time.into() }
    }
}

/// A number that the guest's first process broadcasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    /// The command begins.
    Begin,
    /// It ended with this exit code.
    End(u32),
    /// The guest could not be set up: an error number.
    Failed(u32),
    /// A number of the command's own.
    Own(u64),
}

impl From<u64> for Mark {
    fn from(number: u64) -> Self {
        let low = number as u32;
        match number >> 32 {
            1 => Self::Begin,
            2 => Self::End(low),
            3 => Self::Failed(low),
            _ => Self::Own(number),
        }
    }
}
