//! Numbers of the protocol, and big-endian fields.

pub const INIT_MAGIC: u64 = 0x4e42_444d_4147_4943;
pub const OPTION_MAGIC: u64 = 0x4948_4156_454f_5054;
pub const REPLY_MAGIC: u64 = 0x0003_e889_0455_65a9;
pub const REQUEST_MAGIC: u32 = 0x2560_9513;
pub const SIMPLE_REPLY_MAGIC: u32 = 0x6744_6698;
pub const CHUNK_MAGIC: u32 = 0x668e_33ef;

/// Handshake flags, of server and client.
pub const FIXED_NEWSTYLE: u16 = 1;
pub const NO_ZEROES: u16 = 2;

/// Options of a client.
pub mod option {
    pub const EXPORT_NAME: u32 = 1;
    pub const ABORT: u32 = 2;
    pub const LIST: u32 = 3;
    pub const STARTTLS: u32 = 5;
    pub const INFO: u32 = 6;
    pub const GO: u32 = 7;
    pub const STRUCTURED_REPLY: u32 = 8;
    pub const LIST_META_CONTEXT: u32 = 9;
    pub const SET_META_CONTEXT: u32 = 10;
}

/// Replies to options.
pub mod reply {
    pub const ACK: u32 = 1;
    pub const SERVER: u32 = 2;
    pub const INFO: u32 = 3;
    pub const META_CONTEXT: u32 = 4;
    pub const UNSUPPORTED: u32 = (1 << 31) + 1;
    pub const INVALID: u32 = (1 << 31) + 3;
    pub const TLS_REQUIRED: u32 = (1 << 31) + 5;
    pub const UNKNOWN: u32 = (1 << 31) + 6;
}

/// Items of information about an export.
pub mod info {
    pub const EXPORT: u16 = 0;
    pub const NAME: u16 = 1;
    pub const DESCRIPTION: u16 = 2;
    pub const BLOCK_SIZE: u16 = 3;
}

/// Transmission flags: the export has flags, flush, FUA, trim, write zeroes, several connections,
/// cache, fast zero.
pub const TRANSMISSION_FLAGS: u16 =
    1 | 1 << 2 | 1 << 3 | 1 << 5 | 1 << 6 | 1 << 8 | 1 << 10 | 1 << 11;

/// Likewise, where structured replies were agreed on and nowhere else: DF.
pub const SEND_DF: u16 = 1 << 7;

/// Commands of the transmission phase.
pub mod command {
    pub const READ: u16 = 0;
    pub const WRITE: u16 = 1;
    pub const DISCONNECT: u16 = 2;
    pub const FLUSH: u16 = 3;
    pub const TRIM: u16 = 4;
    pub const CACHE: u16 = 5;
    pub const WRITE_ZEROES: u16 = 6;
    pub const BLOCK_STATUS: u16 = 7;
}

/// Flags of a command.
pub mod flag {
    pub const FUA: u16 = 1;
    pub const NO_HOLE: u16 = 2;
    pub const DF: u16 = 4;
    pub const REQ_ONE: u16 = 8;
    pub const FAST_ZERO: u16 = 16;
}

/// Structured replies.
pub mod chunk {
    pub const DONE: u16 = 1;
    pub const NONE: u16 = 0;
    pub const OFFSET_DATA: u16 = 1;
    pub const BLOCK_STATUS: u16 = 5;
    pub const ERROR: u16 = (1 << 15) + 1;
}

/// The identifier under which `base:allocation` is told, and its flags.
pub const ALLOCATION: u32 = 1;
pub const HOLE_AND_ZERO: u32 = 3;

/// Errors of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Errno {
    Permission = 1,
    Io = 5,
    Invalid = 22,
    NoSpace = 28,
    Unsupported = 95,
}

pub fn be16(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

pub fn be32(bytes: &[u8], at: usize) -> u32 {
    u32::from(be16(bytes, at)) << 16 | u32::from(be16(bytes, at + 2))
}

pub fn be64(bytes: &[u8], at: usize) -> u64 {
    u64::from(be32(bytes, at)) << 32 | u64::from(be32(bytes, at + 4))
}

/// Appends fields in network order.
pub trait Put {
    fn put16(&mut self, value: u16);
    fn put32(&mut self, value: u32);
    fn put64(&mut self, value: u64);
}

impl Put for Vec<u8> {
    fn put16(&mut self, value: u16) {
        self.extend_from_slice(&value.to_be_bytes());
    }

    fn put32(&mut self, value: u32) {
        self.extend_from_slice(&value.to_be_bytes());
    }

    fn put64(&mut self, value: u64) {
        self.extend_from_slice(&value.to_be_bytes());
    }
}
