//! Messages of vhost-user, and the numbers in them (vhost-user protocol, "Message Specification").

use crate::front::Fault;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, little_endian as le};

/// Bytes before the payload of a message.
pub(super) const HEADER: usize = 12;

/// Bytes of a payload at most: a memory table of [`REGIONS`] is the longest.
pub(super) const PAYLOAD_MAX: usize = 512;

/// Regions of a memory table, and descriptors with a message.
pub(super) const REGIONS: usize = 8;

/// Queues of a device.
pub(super) const QUEUES: usize = 16;

/// Entries of a queue.
pub(super) const QUEUE_SIZE_MAX: u32 = 1024;

/// Requests of a front-end.
pub(super) mod request {
    pub const GET_FEATURES: u32 = 1;
    pub const SET_FEATURES: u32 = 2;
    pub const SET_OWNER: u32 = 3;
    pub const RESET_OWNER: u32 = 4;
    pub const SET_MEM_TABLE: u32 = 5;
    pub const SET_VRING_NUM: u32 = 8;
    pub const SET_VRING_ADDR: u32 = 9;
    pub const SET_VRING_BASE: u32 = 10;
    pub const GET_VRING_BASE: u32 = 11;
    pub const SET_VRING_KICK: u32 = 12;
    pub const SET_VRING_CALL: u32 = 13;
    pub const SET_VRING_ERR: u32 = 14;
    pub const GET_PROTOCOL_FEATURES: u32 = 15;
    pub const SET_PROTOCOL_FEATURES: u32 = 16;
    pub const GET_QUEUE_NUM: u32 = 17;
    pub const SET_VRING_ENABLE: u32 = 18;
    pub const SET_BACKEND_REQ_FD: u32 = 21;
    pub const GET_CONFIG: u32 = 24;
    pub const VRING_KICK: u32 = 35;
}

/// The request of the device's own that tells of used entries, where notifications are in-band.
pub(super) const VRING_CALL: u32 = 4;

/// Bits of a message's flags.
pub(super) mod flag {
    pub const VERSION_MASK: u32 = 3;
    pub const VERSION: u32 = 1;
    pub const REPLY: u32 = 4;
    pub const NEED_REPLY: u32 = 8;
}

/// Protocol features.
pub(super) mod protocol {
    pub const MQ: u64 = 1;
    pub const REPLY_ACK: u64 = 1 << 3;
    /// Requests of the device's own, of which it makes none. Linux 6.1 as User Mode Linux takes its
    /// interrupt with their socket, and without it has none for its queues.
    pub const BACKEND_REQ: u64 = 1 << 5;
    pub const CONFIG: u64 = 1 << 9;
    /// Kicks and calls are messages beside the others: with them a guest in virtual time and its
    /// devices agree on the instant of each.
    pub const IN_BAND: u64 = 1 << 14;
    /// All that are spoken on the wall clock.
    pub const OFFERED: u64 = MQ | REPLY_ACK | BACKEND_REQ | CONFIG;
}

/// Feature bits of the device (Virtio 1.2, 5.2.3 and 6).
pub(super) mod feature {
    pub const SEG_MAX: u64 = 1 << 2;
    pub const BLK_SIZE: u64 = 1 << 6;
    pub const FLUSH: u64 = 1 << 9;
    pub const TOPOLOGY: u64 = 1 << 10;
    pub const MQ: u64 = 1 << 12;
    pub const DISCARD: u64 = 1 << 13;
    pub const WRITE_ZEROES: u64 = 1 << 14;
    pub const INDIRECT: u64 = 1 << 28;
    pub const EVENT_IDX: u64 = 1 << 29;
    pub const PROTOCOL_FEATURES: u64 = 1 << 30;
    pub const VERSION_1: u64 = 1 << 32;
    /// All that a device of any kind has.
    pub const OF_ALL: u64 = INDIRECT | EVENT_IDX | PROTOCOL_FEATURES | VERSION_1;
    /// All that a disk has.
    pub const OFFERED: u64 =
        SEG_MAX | BLK_SIZE | FLUSH | TOPOLOGY | MQ | DISCARD | WRITE_ZEROES | OF_ALL;
}

/// Bit of a descriptor message's payload: no descriptor comes with it.
pub(super) const NO_DESCRIPTOR: u64 = 1 << 8;

/// The head of a message.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(super) struct Header {
    pub request: le::U32,
    pub flags: le::U32,
    pub size: le::U32,
}

/// A region of a memory table.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(super) struct RegionEntry {
    pub guest: le::U64,
    pub size: le::U64,
    pub user: le::U64,
    pub offset: le::U64,
}

/// A queue and a number.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(super) struct State {
    pub index: le::U32,
    pub value: le::U32,
}

/// Where the rings of a queue lie, in addresses of the front-end's own.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(super) struct Addresses {
    pub index: le::U32,
    pub flags: le::U32,
    pub descriptors: le::U64,
    pub used: le::U64,
    pub available: le::U64,
    pub log: le::U64,
}

/// The head of a piece of the device's configuration.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(super) struct ConfigHead {
    pub offset: le::U32,
    pub size: le::U32,
    pub flags: le::U32,
}

/// The device's configuration (Virtio 1.2, 5.2.4).
#[derive(Clone, Copy, Debug, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(super) struct Config {
    pub capacity: le::U64,
    pub size_max: le::U32,
    pub seg_max: le::U32,
    pub geometry: [u8; 4],
    pub blk_size: le::U32,
    pub physical_exponent: u8,
    pub alignment_offset: u8,
    pub min_io_size: le::U16,
    pub opt_io_size: le::U32,
    pub writeback: u8,
    pub unused: u8,
    pub num_queues: le::U16,
    pub max_discard_sectors: le::U32,
    pub max_discard_seg: le::U32,
    pub discard_alignment: le::U32,
    pub max_zeroes_sectors: le::U32,
    pub max_zeroes_seg: le::U32,
    pub zeroes_may_unmap: u8,
    pub padding: [u8; 3],
}

/// A descriptor of a queue (Virtio 1.2, 2.7.5).
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(super) struct Descriptor {
    pub address: le::U64,
    pub length: le::U32,
    pub flags: le::U16,
    pub next: le::U16,
}

/// Flags of a descriptor.
pub(super) mod descriptor {
    pub const NEXT: u16 = 1;
    pub const WRITE: u16 = 2;
    pub const INDIRECT: u16 = 4;
}

/// An entry of the used ring.
#[derive(Clone, Copy, Debug, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(super) struct UsedEntry {
    pub head: le::U32,
    pub length: le::U32,
}

/// The head of a block request (Virtio 1.2, 5.2.6).
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(super) struct BlockHeader {
    pub kind: le::U32,
    pub reserved: le::U32,
    pub sector: le::U64,
}

/// A range of a discard or of a write of zeroes.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(super) struct RangeEntry {
    pub sector: le::U64,
    pub sectors: le::U32,
    pub flags: le::U32,
}

/// Kinds of block requests.
pub(super) mod kind {
    pub const IN: u32 = 0;
    pub const OUT: u32 = 1;
    pub const FLUSH: u32 = 4;
    pub const GET_ID: u32 = 8;
    pub const DISCARD: u32 = 11;
    pub const WRITE_ZEROES: u32 = 13;
}

/// How a block request ended.
pub(super) mod status {
    pub const OK: u8 = 0;
    pub const IO_ERROR: u8 = 1;
    pub const UNSUPPORTED: u8 = 2;
}

/// A message of the server.
pub(super) fn answer(request: u32, payload: &[u8], out: &mut Vec<u8>) {
    let flags = flag::VERSION | flag::REPLY;
    let size = payload.len() as u32;
    let header = Header { request: request.into(), flags: flags.into(), size: size.into() };
    out.extend_from_slice(header.as_bytes());
    out.extend_from_slice(payload);
}

pub(super) fn number(payload: &[u8]) -> Result<u64, String> {
    let bytes = payload.first_chunk().filter(|_| payload.len() == 8);
    bytes.map(|bytes| u64::from_le_bytes(*bytes)).ok_or_else(|| {
        let length = payload.len();
        format!("a payload of {length} bytes, not 8")
    })
}

/// Bits that were chosen of those that were offered.
pub(super) fn chosen(wanted: u64, offered: u64) -> Result<u64, String> {
    match wanted & !offered {
        0 => Ok(wanted),
        beyond => Err(format!("bits {beyond:#x} were not offered")),
    }
}

impl From<String> for Fault {
    fn from(why: String) -> Self {
        Fault::Protocol(why)
    }
}
