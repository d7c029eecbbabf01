//! Completion queue entries: 16 bytes, and the status field in them (NVMe Base 2.1, 4.2; status
//! values 4.2.3).

use super::Terms;
use crate::drive::{Completion, Status};
use zerocopy::little_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// A completion queue entry, byte for byte.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    FromBytes,
    IntoBytes,
    KnownLayout,
    Immutable,
    Unaligned,
)]
#[repr(C)]
pub struct Cqe {
    /// 3:0 command specific.
    pub dw0: U32,
    /// 7:4 command specific.
    pub dw1: U32,
    /// 9:8 submission queue head pointer.
    pub sq_head: U16,
    /// 11:10 submission queue identifier.
    pub sq_id: U16,
    /// 13:12 command identifier.
    pub cid: U16,
    /// 15:14 phase tag in bit 0, status field above it.
    pub phase_and_status: U16,
}

const _: () = assert!(size_of::<Cqe>() == 16);

impl Cqe {
    /// An entry for command `cid` of queue `sq_id`; `result` fills DW0 and DW1.
    pub fn new(sq_id: u16, cid: u16, status: StatusField, result: u64) -> Self {
        Self {
            dw0: (result as u32).into(),
            dw1: ((result >> 32) as u32).into(),
            sq_head: 0.into(),
            sq_id: sq_id.into(),
            cid: cid.into(),
            phase_and_status: (status.0 << 1).into(),
        }
    }

    /// The entry of a completion whose identifier is `queue << 16 | cid`.
    pub fn of(completion: &Completion, terms: &Terms) -> Self {
        let status = StatusField::of(completion, terms);
        Self::new(completion.id.queue(), completion.id.cid(), status, completion.result64)
    }

    /// This entry with the fields that only a queue knows: its head, and the phase of this pass
    /// over the completion queue.
    pub fn in_queue(self, head: u16, phase: bool) -> Self {
        let status = self.phase_and_status.get() & !1 | u16::from(phase);
        Self { sq_head: head.into(), phase_and_status: status.into(), ..self }
    }

    /// The status field.
    pub fn status(&self) -> StatusField {
        StatusField(self.phase_and_status.get() >> 1)
    }

    /// DW0 and DW1.
    pub fn result(&self) -> u64 {
        u64::from(self.dw1.get()) << 32 | u64::from(self.dw0.get())
    }
}

/// The status field without its phase tag, as hosts print it: SC in bits 7:0, SCT in 10:8, CRD in
/// 12:11, M in 13, DNR in 14 (NVMe Base 2.1, 4.2.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StatusField(pub u16);

impl StatusField {
    /// SCT 0h, SC 00h.
    pub const SUCCESS: Self = Self(0);
    /// SCT 0h, SC 01h.
    pub const INVALID_OPCODE: Self = Self::refused(0, 0x01);
    /// SCT 0h, SC 02h.
    pub const INVALID_FIELD: Self = Self::refused(0, 0x02);
    /// SCT 0h, SC 0Bh.
    pub const INVALID_NAMESPACE: Self = Self::refused(0, 0x0b);
    /// SCT 0h, SC 0Ch.
    pub const COMMAND_SEQUENCE: Self = Self::refused(0, 0x0c);
    /// SCT 0h, SC 0Fh: the data of a command are shorter than it says.
    pub const DATA_LENGTH: Self = Self::refused(0, 0x0f);
    /// SCT 0h, SC 80h.
    pub const LBA_OUT_OF_RANGE: Self = Self::refused(0, 0x80);
    /// SCT 1h, SC 05h.
    pub const EVENT_REQUEST_LIMIT: Self = Self::refused(1, 0x05);
    /// SCT 1h, SC 09h.
    pub const INVALID_LOG_PAGE: Self = Self::refused(1, 0x09);
    /// SCT 1h, SC 0Dh.
    pub const NOT_SAVEABLE: Self = Self::refused(1, 0x0d);
    /// SCT 1h, SC 0Eh.
    pub const NOT_CHANGEABLE: Self = Self::refused(1, 0x0e);

    /// A status type and code, with the Do Not Retry bit or without it.
    pub const fn new(sct: u8, sc: u8, dnr: bool) -> Self {
        Self((dnr as u16) << 14 | ((sct & 7) as u16) << 8 | sc as u16)
    }

    /// A command that would be refused again.
    const fn refused(sct: u8, sc: u8) -> Self {
        Self::new(sct, sc, true)
    }

    /// The field of a completion. In the artefact's terms a read that failed fast has SC 00h and
    /// only the DNR bit: its host looks at the busy remaining time alone (IODA artefact, `ftl.c`).
    pub fn of(completion: &Completion, terms: &Terms) -> Self {
        Self::of_status(completion.status, completion.dnr, terms)
    }

    /// The field of a command that ended with `status`, as [`StatusField::of`].
    pub fn of_status(status: Status, dnr: bool, terms: &Terms) -> Self {
        let (sct, sc) = match status {
            Status::PredictableLatencyNotMet if terms.artefact => (0, 0),
            status => code_of(status),
        };
        Self::new(sct, sc, dnr)
    }

    /// Status code type.
    pub const fn sct(self) -> u8 {
        (self.0 >> 8 & 7) as u8
    }

    /// Status code.
    pub const fn sc(self) -> u8 {
        self.0 as u8
    }

    /// Do Not Retry.
    pub const fn dnr(self) -> bool {
        self.0 >> 14 & 1 == 1
    }

    /// True for SCT 0h, SC 00h.
    pub const fn is_success(self) -> bool {
        self.0 & 0x7ff == 0
    }

    /// The drive's status with this type and code; `None` for one that no drive gives.
    pub fn status(self) -> Option<Status> {
        STATUSES.into_iter().find(|status| code_of(*status) == (self.sct(), self.sc()))
    }
}

/// Statuses that a drive may return.
const STATUSES: [Status; 7] = [
    Status::Success,
    Status::LbaOutOfRange,
    Status::Aborted,
    Status::NamespaceWriteProtected,
    Status::UnrecoveredRead,
    Status::MembersLost,
    Status::PredictableLatencyNotMet,
];

/// Status code type and status code.
const fn code_of(status: Status) -> (u8, u8) {
    match status {
        Status::Success => (0, 0x00),
        Status::Aborted => (0, 0x07),
        Status::NamespaceWriteProtected => (0, 0x20),
        Status::LbaOutOfRange => (0, 0x80),
        Status::UnrecoveredRead => (2, 0x81),
        Status::MembersLost => (3, 0x00),
        Status::PredictableLatencyNotMet => (7, 0x01),
    }
}
