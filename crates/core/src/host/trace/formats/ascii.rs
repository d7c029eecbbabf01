//! The ascii format of MQSim and SSDsim: `time device sector sectors type`, where 1 is a READ and 0 a write (the
//! opposite of fio and Tencent).
//!
//! The time's unit is not in the file. SSDsim and MQSim take nanoseconds whatever the file's author meant, and traces
//! in micro- and milliseconds of the same look go round; [`crate::host::trace::sniff`] judges. Sectors have 512 bytes. Both
//! simulators ignore the device column; here each device is an address space of its own.

use crate::drive::Op;
use crate::host::trace::decode::{Decoder, DeviceName, Entry, Line, Reading, ZERO_LENGTH};
use crate::host::trace::fields::{digits, expect, whole, word};
use crate::host::trace::{MAX_SECTOR, TimeUnit, unit_ns};

/// What a line must be.
const EXPECTED: &str = "an MQSim/SSDsim line: `time device sector sectors type`, in whole numbers, \
     type 1 for a read and 0 for a write, sectors below 2^47; \
     a time with a fraction needs a time unit coarser than ns that makes it whole nanoseconds";

/// Reads the ascii format of MQSim and SSDsim.
pub struct Ascii {
    unit: TimeUnit,
}

impl Ascii {
    /// A reader of times in the unit given; nanoseconds where none is.
    pub fn new(reading: Reading) -> Self {
        Self { unit: reading.time.unwrap_or(TimeUnit::Ns) }
    }
}

impl Decoder for Ascii {
    fn decode<'a>(&'a mut self, piece: &'a [u8]) -> Option<Line<'a>> {
        parse(piece, self.unit)
    }

    fn expected(&self) -> &'static str {
        EXPECTED
    }
}

/// The columns of a line, before the time has a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Columns<'a> {
    /// The time before the decimal point.
    pub time: u64,
    /// The digits after it.
    pub fraction: &'a [u8],
    /// The device.
    pub device: &'a [u8],
    /// First sector.
    pub lba: u64,
    /// Number of sectors.
    pub sectors: u64,
    /// 1 in the last column.
    pub is_read: bool,
}

/// Splits one line into its columns; `None` if it is none of this format.
pub fn columns(line: &[u8]) -> Option<Columns<'_>> {
    let mut rest = line.trim_ascii_start();
    let time = digits(&mut rest)?;
    let fraction = match expect(&mut rest, b'.') {
        Some(()) => word(&mut rest),
        None => b"",
    };
    if !matches!(rest, [b' ' | b'\t', ..]) || !fraction.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let device = word(&mut rest);
    let lba = whole(word(&mut rest)).filter(|lba| *lba < MAX_SECTOR)?;
    let sectors = whole(word(&mut rest))?;
    let is_read = match word(&mut rest) {
        b"1" => true,
        b"0" => false,
        _ => return None,
    };
    let numbered = !device.is_empty() && device.iter().all(u8::is_ascii_digit);
    (numbered && rest.trim_ascii().is_empty()).then_some(Columns { time, fraction, device, lba, sectors, is_read })
}

/// Reads one line; `None` if it is none of this format in this unit.
pub fn parse(line: &[u8], unit: TimeUnit) -> Option<Line<'_>> {
    let columns = columns(line)?;
    let ticks = nanoseconds(columns.time, columns.fraction, unit_ns(unit))?;
    let sectors = u32::try_from(columns.sectors).ok()?;
    if sectors == 0 {
        return Some(Line::Drop(ZERO_LENGTH));
    }
    let op = if columns.is_read { Op::Read } else { Op::Write };
    Some(Line::Request(Entry::new(ticks, op, columns.lba, sectors).on(DeviceName::Text(columns.device))))
}

/// A decimal time in nanoseconds, exactly or not at all.
fn nanoseconds(time: u64, fraction: &[u8], unit: u64) -> Option<u64> {
    let mut total = time.checked_mul(unit)?;
    let mut place = unit;
    for digit in fraction {
        let value = u64::from(digit - b'0');
        if value != 0 && !place.is_multiple_of(10) {
            return None;
        }
        place /= 10;
        total = total.checked_add(place * value)?;
    }
    Some(total)
}
