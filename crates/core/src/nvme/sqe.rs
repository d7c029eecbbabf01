//! Submission queue entries: 64 bytes (NVMe Base 2.1, 4.1), to and from the commands of a drive.
//!
//! Where the predictable-latency flag lies: CDW2 bits 1:0 of a Read, which the specification
//! reserves there: 00b off, 01b may fail fast, 10b must wait, 11b invalid. Two aliases may be
//! switched on ([`Terms`]): Limited Retry (CDW12 bit 31), which an unchanged Linux sets for
//! requests that may fail, and the IODA artefact's numbers in CDW2 and CDW3.
//!
//! Trap: Number of Logical Blocks and Number of Ranges are 0's based; the length of a range is not.

use super::{ALL_NAMESPACES, NAMESPACE, StatusField};
use crate::drive::{Command, CommandId, Op, PredictableLatency};
use crate::units::Lba;
use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// A submission queue entry, byte for byte.
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
pub struct Sqe {
    /// 0 opcode.
    pub opcode: u8,
    /// 1 fused operation in bits 1:0, how data are pointed at in bits 7:6.
    pub flags: u8,
    /// 3:2 command identifier.
    pub cid: U16,
    /// 7:4 namespace identifier.
    pub nsid: U32,
    /// 11:8 the predictable-latency flag of a read; otherwise reserved.
    pub cdw2: U32,
    /// 15:12 reserved.
    pub cdw3: U32,
    /// 23:16 metadata pointer.
    pub metadata: U64,
    /// 39:24 data pointer: two PRP entries or an SGL.
    pub pointer: [u8; 16],
    /// 43:40 command specific.
    pub cdw10: U32,
    /// 47:44 command specific.
    pub cdw11: U32,
    /// 51:48 command specific.
    pub cdw12: U32,
    /// 55:52 command specific.
    pub cdw13: U32,
    /// 59:56 command specific.
    pub cdw14: U32,
    /// 63:60 command specific.
    pub cdw15: U32,
}

const _: () = assert!(size_of::<Sqe>() == 64);

/// A range of Dataset Management (NVM Command Set Specification, Dataset Management command).
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
pub struct DsmRange {
    /// 3:0 context attributes: hints, not used.
    pub attributes: U32,
    /// 7:4 length in logical blocks, not 0's based.
    pub sectors: U32,
    /// 15:8 starting LBA.
    pub lba: U64,
}

/// Opcodes of the NVM command set.
pub mod opcode {
    /// Flush.
    pub const FLUSH: u8 = 0x00;
    /// Write.
    pub const WRITE: u8 = 0x01;
    /// Read.
    pub const READ: u8 = 0x02;
    /// Dataset Management.
    pub const DATASET_MANAGEMENT: u8 = 0x09;
}

/// CDW12: Force Unit Access.
const FUA: u32 = 1 << 30;
/// CDW12: Limited Retry.
const LIMITED_RETRY: u32 = 1 << 31;
/// CDW12: directive type, bits 23:20; 1 is Streams.
const DIRECTIVE: u32 = 20;
const STREAMS: u32 = 1;
/// CDW12: command extension type, bits 19:16.
const EXTENSION: u32 = 0xf << 16;
/// CDW11 of Dataset Management: deallocate.
const DEALLOCATE: u32 = 1 << 2;
/// The artefact's CDW2 and CDW3 as one number: may fail fast.
const ARTEFACT_ON: u64 = 911;
/// Likewise: do not fail me.
const ARTEFACT_MUST_WAIT: u64 = 1024;

/// The terms by which a command is judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Terms {
    /// Logical blocks of the namespace.
    pub sectors: u64,
    /// Logical blocks that a read or a write may transfer (MDTS); 0 is no limit.
    pub transfer_max: u32,
    /// CDW2 and CDW3 hold the IODA artefact's numbers, and a fast-fail has SC 00h with DNR.
    pub artefact: bool,
    /// Limited Retry of a read says that it may fail fast.
    pub limited_retry: bool,
}

/// The request of an entry.
#[derive(Clone, Debug)]
pub enum Request<'a> {
    /// One command.
    One(Command),
    /// The ranges to be deallocated, all within the namespace; some may be empty.
    Deallocate(&'a [DsmRange]),
    /// Nothing (hints of Dataset Management).
    Nothing,
}

impl CommandId {
    /// That of command `cid` of a queue: `queue << 16 | cid`.
    pub const fn of_entry(queue: u16, cid: u16) -> Self {
        Self((queue as u32) << 16 | cid as u32)
    }

    /// The queue of an entry's.
    pub const fn queue(self) -> u16 {
        (self.0 >> 16) as u16
    }

    /// The entry's own, which the queue tells from others.
    pub const fn cid(self) -> u16 {
        self.0 as u16
    }
}

impl Sqe {
    /// The entry of `command` (one range of Dataset Management for a deallocation), with the
    /// command's identifier cut to 16 bits. `None` where the entry cannot say it: more than 65,536
    /// sectors, or none.
    pub fn encode(command: &Command) -> Option<(Self, Option<DsmRange>)> {
        let mut sqe =
            Self { cid: command.id.cid().into(), nsid: NAMESPACE.into(), ..Self::default() };
        match command.op {
            Op::Flush => sqe.opcode = opcode::FLUSH,
            Op::Trim => {
                sqe.opcode = opcode::DATASET_MANAGEMENT;
                sqe.cdw11 = DEALLOCATE.into();
                let range = DsmRange {
                    attributes: 0.into(),
                    sectors: command.sectors.into(),
                    lba: command.lba.0.into(),
                };
                return Some((sqe, Some(range)));
            }
            Op::Read | Op::Write => {
                let blocks = command.sectors.checked_sub(1).filter(|blocks| *blocks <= 0xffff)?;
                sqe.opcode = if command.op == Op::Read { opcode::READ } else { opcode::WRITE };
                sqe.set_range(command.lba, blocks | if command.fua { FUA } else { 0 });
                if command.op == Op::Read {
                    sqe.cdw2 = flag(command.predictable).into();
                } else if command.stream != 0 {
                    sqe.cdw12 = (sqe.cdw12.get() | STREAMS << DIRECTIVE).into();
                    sqe.cdw13 = (u32::from(command.stream) << 16).into();
                }
            }
        }
        Some((sqe, None))
    }

    fn set_range(&mut self, lba: Lba, cdw12: u32) {
        (self.cdw10, self.cdw11) = ((lba.0 as u32).into(), ((lba.0 >> 32) as u32).into());
        self.cdw12 = cdw12.into();
    }

    /// The request of the entry, or the status with which it is refused. `id` becomes the command's
    /// identifier; `data` are the ranges of Dataset Management.
    pub fn decode<'a>(
        &self,
        id: CommandId,
        data: &'a [u8],
        terms: &Terms,
    ) -> Result<Request<'a>, StatusField> {
        let op = match self.opcode {
            opcode::FLUSH => Op::Flush,
            opcode::WRITE => Op::Write,
            opcode::READ => Op::Read,
            opcode::DATASET_MANAGEMENT => Op::Trim,
            _ => return Err(StatusField::INVALID_OPCODE),
        };
        self.check_flags()?;
        let is_broadcast = op == Op::Flush && self.nsid.get() == ALL_NAMESPACES;
        if self.nsid.get() != NAMESPACE && !is_broadcast {
            return Err(StatusField::INVALID_NAMESPACE);
        }
        let predictable = self.predictable(op, terms)?;
        let command = Command {
            id,
            op,
            lba: Lba(0),
            sectors: 0,
            fua: false,
            predictable,
            stream: 0,
            queue: 0,
            payload: None,
        };
        match op {
            Op::Flush => Ok(Request::One(command)),
            Op::Trim => self.decode_ranges(data, terms),
            Op::Read | Op::Write => self.decode_transfer(command, terms).map(Request::One),
        }
    }

    /// No fused operations; PSDT 11b is reserved; bits 5:2 are reserved (NVMe Base 2.1, 4.1).
    pub(super) fn check_flags(&self) -> Result<(), StatusField> {
        let is_valid = self.flags & 0x3f == 0 && self.flags >> 6 != 3;
        is_valid.then_some(()).ok_or(StatusField::INVALID_FIELD)
    }

    fn predictable(&self, op: Op, terms: &Terms) -> Result<PredictableLatency, StatusField> {
        let flag = u64::from(self.cdw3.get()) << 32 | u64::from(self.cdw2.get());
        let flag = match flag {
            // In the artefact every other number is an ordinary command.
            _ if terms.artefact => match flag {
                ARTEFACT_ON => PredictableLatency::On,
                ARTEFACT_MUST_WAIT => PredictableLatency::MustWait,
                _ => PredictableLatency::Off,
            },
            0 => PredictableLatency::Off,
            1 => PredictableLatency::On,
            2 => PredictableLatency::MustWait,
            _ => return Err(StatusField::INVALID_FIELD),
        };
        if op != Op::Read {
            let is_plain = flag == PredictableLatency::Off || terms.artefact;
            return if is_plain {
                Ok(PredictableLatency::Off)
            } else {
                Err(StatusField::INVALID_FIELD)
            };
        }
        let may_fail = terms.limited_retry && self.cdw12.get() & LIMITED_RETRY != 0;
        Ok(if may_fail && flag == PredictableLatency::Off { PredictableLatency::On } else { flag })
    }

    fn decode_transfer(&self, command: Command, terms: &Terms) -> Result<Command, StatusField> {
        let lba = u64::from(self.cdw11.get()) << 32 | u64::from(self.cdw10.get());
        let cdw12 = self.cdw12.get();
        let sectors = (cdw12 & 0xffff) + 1;
        let is_too_long = terms.transfer_max != 0 && sectors > terms.transfer_max;
        if is_too_long || cdw12 & EXTENSION != 0 {
            return Err(StatusField::INVALID_FIELD);
        }
        if lba.checked_add(sectors.into()).is_none_or(|end| end > terms.sectors) {
            return Err(StatusField::LBA_OUT_OF_RANGE);
        }
        let stream = if command.op == Op::Write { self.stream()? } else { 0 };
        Ok(Command { lba: Lba(lba), sectors, fua: cdw12 & FUA != 0, stream, ..command })
    }

    /// Directive type 0 is none, 1 is Streams; the stream is the directive's number in CDW13 bits
    /// 31:16.
    fn stream(&self) -> Result<u8, StatusField> {
        match (self.cdw12.get() >> DIRECTIVE & 0xf, self.cdw13.get() >> 16) {
            (0, _) => Ok(0),
            (STREAMS, stream) => u8::try_from(stream).map_err(|_| StatusField::INVALID_FIELD),
            _ => Err(StatusField::INVALID_FIELD),
        }
    }

    fn decode_ranges<'a>(&self, data: &'a [u8], terms: &Terms) -> Result<Request<'a>, StatusField> {
        let count = (self.cdw10.get() & 0xff) as usize + 1;
        let Some(data) = data.get(..count * size_of::<DsmRange>()) else {
            return Err(StatusField::DATA_LENGTH);
        };
        let Ok(ranges) = <[DsmRange]>::ref_from_bytes(data) else {
            return Err(StatusField::DATA_LENGTH);
        };
        let is_inside = |range: &DsmRange| {
            let end = range.lba.get().checked_add(range.sectors.get().into());
            end.is_some_and(|end| end <= terms.sectors)
        };
        if !ranges.iter().all(is_inside) {
            return Err(StatusField::LBA_OUT_OF_RANGE);
        }
        let is_hint = self.cdw11.get() & DEALLOCATE == 0
            || ranges.iter().all(|range| range.sectors.get() == 0);
        Ok(if is_hint { Request::Nothing } else { Request::Deallocate(ranges) })
    }
}

fn flag(predictable: PredictableLatency) -> u32 {
    match predictable {
        PredictableLatency::Off => 0,
        PredictableLatency::On => 1,
        PredictableLatency::MustWait => 2,
    }
}
