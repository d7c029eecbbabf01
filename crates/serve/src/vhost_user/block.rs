//! Block requests in a queue's chains (Virtio 1.2, 5.2.6).

use super::chain::{pieces, total};
use super::session::{Device, Flight};
use super::wire::{BlockHeader, RangeEntry, feature, kind, status};
use crate::front::{Ask, Desk, Done, Kind};
use manx_core::drive::{PredictableLatency, Status};
use manx_core::units::SECTOR;
use zerocopy::{FromBytes, IntoBytes};

/// Bytes of a request's data at most.
const DATA_MAX: u64 = 32 << 20;

/// Buffers of a request, beside its head and its status.
pub(super) const SEGMENTS: u32 = 126;

/// Ranges of a discard or of a write of zeroes.
pub(super) const RANGES: u32 = 16;

/// Sectors of a range of a discard.
pub(super) const DISCARD_MAX: u32 = (1 << 31) / SECTOR as u32;

/// Sectors of a range of a write of zeroes.
pub(super) const ZEROES_MAX: u32 = (DATA_MAX / SECTOR) as u32;

/// Bytes of a request's head.
const HEAD: u64 = 16;

/// Bytes of a device's name.
const ID: usize = 20;

/// Bit of a range's flags: it may be deallocated.
const UNMAP: u32 = 1;

impl Device {
    /// Hands in what the chain of a flight asks for; `Some` is the status of what is done at once.
    pub(super) fn hand_in(&mut self, place: usize, desk: &mut dyn Desk) -> Option<u8> {
        let mut header = BlockHeader::default();
        let flight = &mut self.flights[place];
        let (readable, writable) = (total(&flight.readable), total(&flight.writable));
        if readable < HEAD {
            return Some(status::IO_ERROR);
        }
        flight.gather(0, header.as_mut_bytes());
        let (kind, sector) = (header.kind.get(), header.sector.get());
        let (out, room) = (readable - HEAD, writable - 1);
        let is_durable = self.features & feature::FLUSH == 0;
        match kind {
            kind::IN | kind::OUT => {
                let length = if kind == kind::IN { room } else { out };
                let Some(offset) = within(sector, length, desk.size(0)) else {
                    return Some(status::IO_ERROR);
                };
                if length > DATA_MAX {
                    return Some(status::IO_ERROR);
                }
                flight.left = 1;
                if kind == kind::IN {
                    flight.is_read = true;
                    desk.submit(ask(place, Kind::Read, offset, length, false), &[]);
                } else {
                    self.bytes.resize(length as usize, 0);
                    flight.gather(HEAD, &mut self.bytes);
                    let ask = ask(place, Kind::Write, offset, length, is_durable);
                    desk.submit(ask, &self.bytes);
                }
                None
            }
            kind::FLUSH if self.lies => Some(status::OK),
            kind::FLUSH => {
                flight.left = 1;
                desk.submit(ask(place, Kind::Flush, 0, 0, false), &[]);
                None
            }
            kind::GET_ID => {
                let mut id = [0; ID];
                let name = self.name.as_bytes();
                id.iter_mut().zip(name).for_each(|(to, from)| *to = *from);
                self.flights[place].scatter(&id[..ID.min(room as usize)]);
                Some(status::OK)
            }
            kind::DISCARD | kind::WRITE_ZEROES => self.ranges(place, kind, out, desk),
            _ => Some(status::UNSUPPORTED),
        }
    }

    /// Hands in the ranges of a discard or of a write of zeroes: all of them, or none.
    fn ranges(&mut self, place: usize, kind: u32, length: u64, desk: &mut dyn Desk) -> Option<u8> {
        let entry = size_of::<RangeEntry>() as u64;
        if length == 0 || !length.is_multiple_of(entry) || length > entry * u64::from(RANGES) {
            return Some(status::IO_ERROR);
        }
        let mut bytes = [0; size_of::<RangeEntry>() * RANGES as usize];
        let bytes = &mut bytes[..length as usize];
        self.flights[place].gather(HEAD, bytes);
        let Ok(ranges) = <[RangeEntry]>::ref_from_bytes(bytes) else {
            return Some(status::IO_ERROR);
        };
        let (allowed, most) = match kind {
            kind::DISCARD => (0, DISCARD_MAX),
            _ => (UNMAP, ZEROES_MAX),
        };
        if ranges.iter().any(|range| range.flags.get() & !allowed != 0) {
            return Some(status::UNSUPPORTED);
        }
        let size = desk.size(0);
        let place_of = |range: &RangeEntry| {
            let length = u64::from(range.sectors.get()) * SECTOR;
            within(range.sector.get(), length, size).map(|offset| (offset, length))
        };
        let is_wrong = |range: &RangeEntry| range.sectors.get() > most || place_of(range).is_none();
        if ranges.iter().any(is_wrong) {
            return Some(status::IO_ERROR);
        }
        let is_durable = self.features & feature::FLUSH == 0;
        self.flights[place].left = ranges.len() as u32;
        for range in ranges {
            let Some((offset, length)) = place_of(range) else { continue };
            let kind = match kind {
                kind::DISCARD => Kind::Trim,
                _ => Kind::Zero { may_deallocate: range.flags.get() & UNMAP != 0 },
            };
            desk.submit(ask(place, kind, offset, length, is_durable), &[]);
        }
        None
    }

    /// Takes note of a request of a flight that is done; true when it was the last.
    pub(super) fn is_last(&mut self, done: &Done, data: &dyn Fn(&mut Vec<u8>)) -> Option<usize> {
        let place = done.ask.cookie as usize;
        let flight = self.flights.get_mut(place).filter(|flight| flight.left > 0)?;
        flight.left -= 1;
        if done.status != Status::Success {
            flight.status = status::IO_ERROR;
        }
        if flight.is_read {
            self.bytes.clear();
            match done.status {
                Status::Success => data(&mut self.bytes),
                // Bytes that stand in the buffer were not read.
                _ => self.bytes.resize(done.ask.length as usize, 0),
            }
            flight.scatter(&self.bytes);
        }
        (flight.left == 0).then_some(place)
    }
}

impl Flight {
    /// Fills `into` from the buffers to read, behind the first `skip` bytes. A client that has
    /// taken memory away since is noticed elsewhere.
    pub(super) fn gather(&self, skip: u64, into: &mut [u8]) {
        for (at, from, length) in pieces(&self.readable, skip, into.len() as u64) {
            let _ = self.memory.read(at, &mut into[from..from + length]);
        }
    }

    /// Puts `bytes` into the buffers to write.
    fn scatter(&self, bytes: &[u8]) {
        for (at, from, length) in pieces(&self.writable, 0, bytes.len() as u64) {
            let _ = self.memory.write(at, &bytes[from..from + length]);
        }
    }

    /// Puts the status into the last byte to write; all of them are said to be written.
    pub(super) fn conclude(&self) -> u32 {
        let all = total(&self.writable);
        for (at, ..) in pieces(&self.writable, all.saturating_sub(1), 1) {
            let _ = self.memory.write(at, &[self.status]);
        }
        u32::try_from(all).unwrap_or(u32::MAX)
    }
}

/// The first byte of a range of whole sectors within the device.
fn within(sector: u64, length: u64, size: u64) -> Option<u64> {
    let offset = sector.checked_mul(SECTOR)?;
    let end = offset.checked_add(length)?;
    (length > 0 && length.is_multiple_of(SECTOR) && end <= size).then_some(offset)
}

fn ask(place: usize, kind: Kind, offset: u64, length: u64, fua: bool) -> Ask {
    let predictable = PredictableLatency::Off;
    Ask { cookie: place as u64, drive: 0, kind, offset, length, fua, predictable }
}
