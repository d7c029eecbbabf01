//! PDUs: their numbers, their heads, and how they are written (NVMe/TCP Transport 1.0, 3.6).

use super::crc::crc32c;
use crate::front::Fault;

/// Types of PDUs.
pub(super) mod kind {
    pub const IC_REQ: u8 = 0;
    pub const IC_RESP: u8 = 1;
    pub const H2C_TERM: u8 = 2;
    pub const C2H_TERM: u8 = 3;
    pub const COMMAND: u8 = 4;
    pub const RESPONSE: u8 = 5;
    pub const H2C_DATA: u8 = 6;
    pub const C2H_DATA: u8 = 7;
    pub const R2T: u8 = 9;
}

/// Flags of a head.
pub(super) mod flag {
    pub const HEADER_DIGEST: u8 = 1;
    pub const DATA_DIGEST: u8 = 2;
    pub const LAST: u8 = 4;
    pub const SUCCESS: u8 = 8;
}

/// Bytes of the head that all PDUs have.
pub(super) const HEAD: usize = 8;
/// Bytes of the heads of data PDUs, terminations and answers.
pub(super) const DATA_HEAD: usize = 24;
/// Bytes of the head of a command.
pub(super) const COMMAND_HEAD: usize = 72;
/// Bytes of the two PDUs that initialize a connection.
pub(super) const IC: usize = 128;
/// Data that a command may carry with it.
pub(super) const IN_CAPSULE: usize = 8192;
/// Data of one H2CData PDU.
pub(super) const H2C_MAX: u32 = 256 << 10;
/// Bytes of a PDU that a termination brings back.
const TERM_DATA: usize = 128;

/// The head that all PDUs have.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head {
    pub kind: u8,
    pub flags: u8,
    pub hlen: usize,
    pub pdo: usize,
    pub plen: usize,
}

impl Head {
    /// The head at the front of `bytes`, which has at least eight.
    pub fn of(bytes: &[u8]) -> Self {
        Self {
            kind: bytes[0],
            flags: bytes[1],
            hlen: bytes[2].into(),
            pdo: bytes[3].into(),
            plen: le32(bytes, 4) as usize,
        }
    }
}

/// Errors that end a connection: Fatal Error Status of a termination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Broken {
    /// A field of the head, by its first byte, is not what it may be.
    Field(u32),
    /// A PDU that may not come now.
    Sequence,
    /// The digest of the head that came.
    HeaderDigest(u32),
    /// Data beyond what was asked for.
    OutOfRange,
    /// More data in one PDU than was allowed.
    TooMuch,
    /// A parameter, by its first byte, that is not supported.
    Unsupported(u32),
}

impl Broken {
    /// Fatal Error Status and Fatal Error Information.
    fn code(self) -> (u16, u32) {
        match self {
            Broken::Field(at) => (1, at),
            Broken::Sequence => (2, 0),
            Broken::HeaderDigest(digest) => (3, digest),
            Broken::OutOfRange => (4, 0),
            Broken::TooMuch => (5, 0),
            Broken::Unsupported(at) => (6, at),
        }
    }

    fn words(self) -> String {
        match self {
            Broken::Field(at) => format!("byte {at} of a PDU's header is invalid"),
            Broken::Sequence => "a PDU came where it may not".to_string(),
            Broken::HeaderDigest(_) => "a header's digest is wrong".to_string(),
            Broken::OutOfRange => "data came that were not asked for".to_string(),
            Broken::TooMuch => format!("more than {H2C_MAX} bytes of data in a PDU"),
            Broken::Unsupported(at) => format!("the parameter at byte {at} is not supported"),
        }
    }

    /// Tells the host, with the head of the PDU that was wrong; the connection ends.
    pub fn terminate(self, pdu: &[u8], out: &mut Vec<u8>) -> Fault {
        let (status, information) = self.code();
        let back = &pdu[..pdu.len().min(Head::of(pdu).hlen).min(TERM_DATA)];
        let plen = DATA_HEAD + back.len();
        out.extend_from_slice(&[kind::C2H_TERM, 0, DATA_HEAD as u8, 0]);
        out.extend_from_slice(&(plen as u32).to_le_bytes());
        out.extend_from_slice(&status.to_le_bytes());
        out.extend_from_slice(&information.to_le_bytes());
        out.resize(out.len() + 10, 0);
        out.extend_from_slice(back);
        Fault::Protocol(self.words())
    }
}

/// Digests and alignment that both sides agreed on.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Terms {
    pub header_digest: bool,
    pub data_digest: bool,
    /// Data that are sent begin at a multiple of this (HPDA).
    pub alignment: usize,
}

impl Terms {
    /// Bytes of a header's digest.
    pub fn header_digest_bytes(self) -> usize {
        if self.header_digest { 4 } else { 0 }
    }

    /// Where the data lie, and which digests there are.
    pub fn check_data(self, head: &Head) -> Result<(), Broken> {
        let end = head.hlen + self.header_digest_bytes();
        if head.plen < end {
            return Err(Broken::Field(4));
        }
        let has_data = head.plen > end;
        let digests = (head.flags & flag::HEADER_DIGEST != 0, head.flags & flag::DATA_DIGEST != 0);
        if digests != (self.header_digest, self.data_digest && has_data) {
            return Err(Broken::Field(1));
        }
        let tail = if digests.1 { 4 } else { 0 };
        let is_placed =
            head.pdo >= end && head.pdo.is_multiple_of(4) && head.pdo + tail <= head.plen;
        if has_data && !is_placed {
            return Err(Broken::Field(3));
        }
        let is_long = head.plen - tail > head.pdo + H2C_MAX as usize;
        if has_data && is_long { Err(Broken::TooMuch) } else { Ok(()) }
    }

    fn flags(self) -> u8 {
        if self.header_digest { flag::HEADER_DIGEST } else { 0 }
    }

    /// Writes a PDU that is a head alone; `fields` are what follows the first eight bytes.
    pub fn write_head(self, kind: u8, fields: &[u8], out: &mut Vec<u8>) {
        let (start, hlen) = (out.len(), HEAD + fields.len());
        let plen = hlen + self.header_digest_bytes();
        out.extend_from_slice(&[kind, self.flags(), hlen as u8, 0]);
        out.extend_from_slice(&(plen as u32).to_le_bytes());
        out.extend_from_slice(fields);
        if self.header_digest {
            let digest = crc32c(&out[start..]);
            out.extend_from_slice(&digest.to_le_bytes());
        }
    }

    /// Writes a C2HData PDU with all the data of a command, which `data` appends.
    pub fn write_data(
        self,
        cid: u16,
        flags: u8,
        length: usize,
        data: &dyn Fn(&mut Vec<u8>),
        out: &mut Vec<u8>,
    ) {
        let start = out.len();
        let head = DATA_HEAD + self.header_digest_bytes();
        let pdo = head.next_multiple_of(self.alignment.max(4));
        let digest_bytes = if self.data_digest { 4 } else { 0 };
        let digest_flag = if self.data_digest { flag::DATA_DIGEST } else { 0 };
        let flags = flags | flag::LAST | self.flags() | digest_flag;
        out.extend_from_slice(&[kind::C2H_DATA, flags, DATA_HEAD as u8, pdo as u8]);
        out.extend_from_slice(&((pdo + length + digest_bytes) as u32).to_le_bytes());
        out.extend_from_slice(&cid.to_le_bytes());
        out.extend_from_slice(&[0; 6]);
        out.extend_from_slice(&(length as u32).to_le_bytes());
        out.extend_from_slice(&[0; 4]);
        if self.header_digest {
            let digest = crc32c(&out[start..]);
            out.extend_from_slice(&digest.to_le_bytes());
        }
        out.resize(start + pdo, 0);
        data(out);
        // Shorter data are what the rest of the host's buffer is filled up after.
        out.resize(start + pdo + length, 0);
        if self.data_digest {
            let digest = crc32c(&out[start + pdo..]);
            out.extend_from_slice(&digest.to_le_bytes());
        }
    }
}

pub(super) fn le16(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

pub(super) fn le32(bytes: &[u8], at: usize) -> u32 {
    u32::from(le16(bytes, at)) | u32::from(le16(bytes, at + 2)) << 16
}
