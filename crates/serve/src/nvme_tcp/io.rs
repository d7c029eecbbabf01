//! Commands of the NVM command set (NVM Command Set Specification, 3).

use super::pointer::{Pointer, whole};
use super::queue::{Phase, Queue};
use crate::front::{Ask, Desk, Kind};
use manx_core::drive::{Command, CommandId, Op, PredictableLatency};
use manx_core::nvme::sqe::{Request, opcode};
use manx_core::nvme::{ALL_NAMESPACES, NAMESPACE, Sqe, StatusField};
use manx_core::units::SECTOR;

/// Bytes of a transfer at most (MDTS): what the model's controllers tell.
pub(super) const TRANSFER_MAX: usize = 1 << 20;

/// Opcodes that the model's controllers do not carry out.
const COMPARE: u8 = 0x05;
const WRITE_ZEROES: u8 = 0x08;
/// CDW12 of Write Zeroes: the blocks may be deallocated.
const DEALLOCATE: u32 = 1 << 25;
const COMPARE_FAILURE: StatusField = StatusField::new(2, 0x85, true);

impl Queue {
    pub(super) fn execute_io(
        &mut self,
        place: u32,
        sqe: &Sqe,
        data: &[u8],
        out: &mut Vec<u8>,
        desk: &mut dyn Desk,
    ) {
        match self.hand_in(place, sqe, data, desk) {
            Ok(true) => {}
            Ok(false) => self.answer(place, StatusField::SUCCESS, 0, out),
            Err(status) => self.refuse(place, status, out, desk),
        }
    }

    /// Ends a command that is not carried out; those of the admin queue are no requests.
    pub(super) fn refuse(
        &mut self,
        place: u32,
        status: StatusField,
        out: &mut Vec<u8>,
        desk: &mut dyn Desk,
    ) {
        if self.phase == Phase::Io {
            desk.refuse();
        }
        self.answer(place, status, 0, out);
    }

    /// Hands in the requests of a command; false when there are none.
    fn hand_in(
        &mut self,
        place: u32,
        sqe: &Sqe,
        data: &[u8],
        desk: &mut dyn Desk,
    ) -> Result<bool, StatusField> {
        let drives = self.shared.borrow().subsystem.drives;
        if sqe.opcode == opcode::FLUSH && sqe.nsid.get() == ALL_NAMESPACES && drives > 1 {
            self.flight(place).left = drives;
            for drive in 0..drives {
                desk.submit(ask(place, drive, Kind::Flush, 0, 0), &[]);
            }
            return Ok(true);
        }
        // The model's own namespace is 1; what is none of ours stays wrong.
        let (drive, nsid) = match sqe.nsid.get() {
            nsid if (1..=drives).contains(&nsid) => (nsid - 1, NAMESPACE),
            ALL_NAMESPACES => (0, ALL_NAMESPACES),
            _ => return Err(StatusField::INVALID_NAMESPACE),
        };
        let sectors = desk.size(drive) / SECTOR;
        let mut terms = self.shared.borrow().subsystem.terms(sectors);
        let sqe = &Sqe { nsid: nsid.into(), ..*sqe };
        // As commands of the same form that the model decodes.
        let decoded = match sqe.opcode {
            COMPARE => Sqe { opcode: opcode::READ, ..*sqe },
            WRITE_ZEROES => {
                terms.transfer_max = 0;
                Sqe { opcode: opcode::WRITE, ..*sqe }
            }
            _ => *sqe,
        };
        let command = match decoded.decode(CommandId(place), data, &terms)? {
            Request::Nothing => return Ok(false),
            // Linux sends room for 256 ranges, however many it means: more are no error here.
            Request::Deallocate(ranges) => {
                let filled = ranges.iter().filter(|range| range.sectors.get() > 0);
                self.flight(place).left = filled.clone().count() as u32;
                for range in filled {
                    let (lba, sectors) = (range.lba.get(), range.sectors.get().into());
                    desk.submit(ask(place, drive, Kind::Trim, lba, sectors), &[]);
                }
                return Ok(true);
            }
            Request::One(command) if command.stream != 0 => {
                return Err(StatusField::INVALID_FIELD);
            }
            Request::One(command) => command,
        };
        let (kind, data) = self.transfer(place, sqe, &command, data)?;
        let ask = Ask {
            fua: command.fua && command.op != Op::Read,
            predictable: command.predictable,
            ..ask(place, drive, kind, command.lba.0, command.sectors.into())
        };
        self.flight(place).left = 1;
        desk.submit(ask, data);
        Ok(true)
    }

    /// The kind of a command's request, with the data that it needs.
    fn transfer<'a>(
        &mut self,
        place: u32,
        sqe: &Sqe,
        command: &Command,
        data: &'a [u8],
    ) -> Result<(Kind, &'a [u8]), StatusField> {
        let length = command.sectors as usize * SECTOR as usize;
        match sqe.opcode {
            opcode::FLUSH => Ok((Kind::Flush, &[])),
            opcode::READ => {
                Pointer::of(sqe).takes(length)?;
                Ok((Kind::Read, &[]))
            }
            opcode::WRITE => whole(data, length).map(|data| (Kind::Write, data)),
            COMPARE => {
                self.flight(place).data = whole(data, length)?.to_vec();
                Ok((Kind::Read, &[]))
            }
            WRITE_ZEROES => {
                let may_deallocate = sqe.cdw12.get() & DEALLOCATE != 0;
                Ok((Kind::Zero { may_deallocate }, &[]))
            }
            _ => Err(StatusField::INVALID_OPCODE),
        }
    }

    /// Ends a command whose requests are done; `data` appends the `length` bytes of a read.
    pub(super) fn finish(
        &mut self,
        place: u32,
        length: usize,
        data: &dyn Fn(&mut Vec<u8>),
        out: &mut Vec<u8>,
    ) {
        let flight = self.flight(place);
        let (status, result, opcode) = (flight.status, flight.result, flight.sqe.opcode);
        match opcode {
            _ if !status.is_success() || status.dnr() => self.answer(place, status, result, out),
            opcode::READ => self.answer_with(place, length, 0, data, out),
            COMPARE => {
                let mut stored = Vec::with_capacity(length);
                data(&mut stored);
                let is_same = stored == self.flight(place).data;
                let status = if is_same { StatusField::SUCCESS } else { COMPARE_FAILURE };
                self.answer(place, status, 0, out);
            }
            _ => self.answer(place, StatusField::SUCCESS, 0, out),
        }
    }
}

/// A plain request of a command.
fn ask(place: u32, drive: u32, kind: Kind, lba: u64, sectors: u64) -> Ask {
    let (offset, length) = (lba * SECTOR, sectors * SECTOR);
    let predictable = PredictableLatency::Off;
    Ask { cookie: place.into(), drive, kind, offset, length, fua: false, predictable }
}
