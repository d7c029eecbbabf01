//! Data pointers: where the data of a command are, or go (NVMe/TCP Transport 1.0, 3.5; SGL
//! descriptors in NVMe Base 2.1, 4.3.2).

use super::fabrics;
use super::wire::le32;
use manx_core::nvme::{Sqe, StatusField};

/// The data pointer of a command.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pointer {
    kind: u8,
    address: u64,
    pub length: usize,
}

/// SGL descriptors: data in the capsule at an offset, and data by PDUs of their own.
const IN_CAPSULE_SGL: u8 = 0x01;
const TRANSPORT_SGL: u8 = 0x5a;

/// Status codes that only a transport gives.
pub(super) const SGL_TYPE: StatusField = StatusField::new(0, 0x11, true);
const SGL_OFFSET: StatusField = StatusField::new(0, 0x16, true);
/// Transient Transport Error: the data's digest was wrong; the host may try again.
pub(super) const TRANSIENT: StatusField = StatusField::new(0, 0x22, false);

impl Pointer {
    pub fn of(sqe: &Sqe) -> Self {
        let address = u64::from(le32(&sqe.pointer, 0)) | u64::from(le32(&sqe.pointer, 4)) << 32;
        Self { kind: sqe.pointer[15], address, length: le32(&sqe.pointer, 8) as usize }
    }

    /// Whether `length` bytes may be sent to the host: its place is as long, as SGLS promises no
    /// transfer that is shorter.
    pub fn takes(&self, length: usize) -> Result<(), StatusField> {
        match self.kind {
            TRANSPORT_SGL if self.length == length => Ok(()),
            TRANSPORT_SGL => Err(StatusField::DATA_LENGTH),
            _ => Err(SGL_TYPE),
        }
    }
}

/// Where the data of the host are.
pub(super) enum HostData<'a> {
    Here(&'a [u8]),
    Awaited(usize),
}

/// The data of a command that transfers `length` bytes, no fewer and no more.
pub(super) fn whole(data: &[u8], length: usize) -> Result<&[u8], StatusField> {
    (data.len() == length).then_some(data).ok_or(StatusField::DATA_LENGTH)
}

/// The data that go with a command: opcodes say in their last bits which way data go.
pub(super) fn host_data<'a>(sqe: &Sqe, capsule: &'a [u8]) -> Result<HostData<'a>, StatusField> {
    let opcode = match sqe.opcode {
        fabrics::OPCODE => sqe.nsid.get() as u8,
        opcode => opcode,
    };
    let pointer = Pointer::of(sqe);
    match (opcode & 3, pointer.kind) {
        (1, IN_CAPSULE_SGL) => {
            let start = usize::try_from(pointer.address).unwrap_or(usize::MAX);
            let rest = capsule.get(start..).ok_or(SGL_OFFSET)?;
            rest.get(..pointer.length).map(HostData::Here).ok_or(StatusField::DATA_LENGTH)
        }
        (1, TRANSPORT_SGL) if pointer.length > 0 => Ok(HostData::Awaited(pointer.length)),
        (1, kind) if pointer.length > 0 && kind != TRANSPORT_SGL => Err(SGL_TYPE),
        _ => Ok(HostData::Here(&[])),
    }
}
