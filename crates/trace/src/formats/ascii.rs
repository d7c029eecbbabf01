//! The ascii format of MQSim and SSDsim: `time device sector sectors type`, where 1 is a READ and 0
//! a write (the opposite of fio and Tencent).
//!
//! The time's unit is not in the file. SSDsim and MQSim take nanoseconds whatever the file's author
//! meant, and traces in micro- and milliseconds of the same look go round; [`crate::sniff`] judges.
//! Sectors have 512 bytes. Both simulators ignore the device column; here each device is an address
//! space of its own.

use crate::decode::{Decoder, DeviceName, Entry, Line, Reading, ZERO_LENGTH};
use crate::fields::{digits, expect, whole, word};
use crate::{MAX_SECTOR, TimeUnit, unit_ns};
use manx_base::units::Op;

/// Form of a line.
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

/// The columns of a line that MQSim, SSDsim, DiskSim and the UCARE replayer share, before anything
/// has a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Columns<'a> {
    /// The time before the decimal point.
    pub time: u64,
    /// The digits after it.
    pub fraction: &'a [u8],
    /// The device, in digits.
    pub device: &'a [u8],
    /// Where the request starts.
    pub address: u64,
    /// How much it asks for.
    pub size: u64,
    /// Its last column: 0, 1 or flags.
    pub kind: &'a [u8],
}

/// Splits one line into its columns; `None` if they are not five, or the first four are no numbers.
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
    let address = whole(word(&mut rest))?;
    let size = whole(word(&mut rest))?;
    let kind = word(&mut rest).trim_ascii_end();
    let numbered = !device.is_empty() && device.iter().all(u8::is_ascii_digit);
    (numbered && !kind.is_empty() && rest.trim_ascii().is_empty()).then_some(Columns {
        time,
        fraction,
        device,
        address,
        size,
        kind,
    })
}

/// Reads one line; `None` if it is none of this format in this unit.
pub fn parse(line: &[u8], unit: TimeUnit) -> Option<Line<'_>> {
    let columns = columns(line)?;
    let op = type_of(columns.kind)?;
    let (ticks, is_exact) = columns.nanoseconds(unit)?;
    is_exact.then_some(())?;
    columns.in_sectors(ticks, op)
}

/// A type in which 1 is a read and 0 a write.
pub fn type_of(kind: &[u8]) -> Option<Op> {
    match kind {
        b"1" => Some(Op::Read),
        b"0" => Some(Op::Write),
        _ => None,
    }
}

impl<'a> Columns<'a> {
    /// The request, with addresses in sectors; `None` where no device has so many.
    pub fn in_sectors(&self, ticks: u64, op: Op) -> Option<Line<'a>> {
        let sectors = u32::try_from(self.size).ok().filter(|_| self.address < MAX_SECTOR)?;
        if sectors == 0 {
            return Some(Line::Drop(ZERO_LENGTH));
        }
        Some(Line::Request(
            Entry::new(ticks, op, self.address, sectors).on(DeviceName::Text(self.device)),
        ))
    }

    /// The time in whole nanoseconds, and whether that is exactly the time; `None` if it does not
    /// fit.
    pub fn nanoseconds(&self, unit: TimeUnit) -> Option<(u64, bool)> {
        let unit = unit_ns(unit);
        let (mut total, mut place, mut is_exact) = (self.time.checked_mul(unit)?, unit, true);
        for digit in self.fraction {
            let value = u64::from(digit - b'0');
            // Units are powers of ten: after nanoseconds the place is 0.
            is_exact &= value == 0 || place >= 10;
            place /= 10;
            total = total.checked_add(place * value)?;
        }
        Some((total, is_exact))
    }
}
