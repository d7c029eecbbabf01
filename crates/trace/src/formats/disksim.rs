//! The ascii format of DiskSim: `ms dev blkno bcount flags`, the default input of
//! `disksim_iotrace.c` (DiskSim 4.0 manual, section "I/O request traces").
//!
//! Traps: the time is a float in milliseconds; the flags are hexadecimal, with or without `0x`, and
//! only their lowest bit (1 = read) is played; the others (0x2 time critical, 0x4 time limited,
//! 0x80 synchronous, 0x100 asynchronous) say how the host waited. A block is taken to have 512
//! bytes. With flags of 0 and 1 only, a line looks like one of SSDsim or of the UCARE replayer;
//! [`crate::sniff`] judges.

use super::ascii::columns;
use crate::TimeUnit;
use crate::decode::{Decoder, Entry, Line, Reading};
use manx_base::units::Op;

/// Form of a line.
const EXPECTED: &str = "a DiskSim line: `ms device block blocks flags`, the flags in \
                        hexadecimal with bit 0 set for a read, blocks of 512 bytes below \
                        2^47, a time within 584 years";

/// Why a request's time is not exactly the file's.
pub const TIME_CUT: &str = "time finer than a nanosecond: cut to whole ones";

/// Reads the ascii format of DiskSim.
pub struct Disksim {
    unit: TimeUnit,
}

impl Disksim {
    /// A reader of times in the unit given; milliseconds where none is.
    pub fn new(reading: Reading) -> Self {
        Self { unit: reading.time.unwrap_or(TimeUnit::Ms) }
    }
}

impl Decoder for Disksim {
    fn decode<'a>(&'a mut self, piece: &'a [u8]) -> Option<Line<'a>> {
        let columns = columns(piece)?;
        let op = if flags(columns.kind)? & 1 == 1 { Op::Read } else { Op::Write };
        let (ticks, is_exact) = columns.nanoseconds(self.unit)?;
        Some(columns.in_sectors(ticks, op)?.with_time_cut(!is_exact))
    }

    fn expected(&self) -> &'static str {
        EXPECTED
    }
}

impl Line<'_> {
    /// The same, noted as altered where its time was cut and nothing else is noted.
    pub(super) fn with_time_cut(self, is_cut: bool) -> Self {
        match self {
            Line::Request(entry) if is_cut => {
                Line::Request(Entry { altered: entry.altered.or(Some(TIME_CUT)), ..entry })
            }
            line => line,
        }
    }
}

/// The value of hexadecimal flags, with or without `0x`; `None` beyond 32 bits.
pub fn flags(text: &[u8]) -> Option<u32> {
    let digits = text.strip_prefix(b"0x").or_else(|| text.strip_prefix(b"0X")).unwrap_or(text);
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0u32, |value, digit| {
        let digit = (*digit as char).to_digit(16)?;
        (value >> 28 == 0).then_some(value << 4 | digit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(line: &str) -> Option<(u64, Op, u64, u32, Option<&'static str>)> {
        match Disksim::new(Reading::default()).decode(line.as_bytes())? {
            Line::Request(Entry { ticks, op, lba, sectors, altered, .. }) => {
                Some((ticks, op, lba, sectors, altered))
            }
            _ => None,
        }
    }

    #[test]
    fn the_lowest_bit_of_hexadecimal_flags_is_a_read() {
        let reads = ["1", "0x1", "3", "81", "0X101", "b", "F", "00000001", "ffffffff"];
        let writes = ["0", "0x0", "2", "80", "100", "0xa", "C"];
        for flags in reads {
            assert_eq!(decode(&format!("1 0 8 16 {flags}")).unwrap().1, Op::Read, "{flags}");
        }
        for flags in writes {
            assert_eq!(decode(&format!("1 0 8 16 {flags}")).unwrap().1, Op::Write, "{flags}");
        }
        for flags in ["", "0x", "g", "1x", "R", "-1", "100000001"] {
            assert_eq!(decode(&format!("1 0 8 16 {flags}")), None, "{flags}");
        }
    }

    #[test]
    fn a_time_is_in_milliseconds_to_the_nanosecond() {
        assert_eq!(decode("7961.833 0 20 8 0"), Some((7_961_833_000, Op::Write, 20, 8, None)));
        assert_eq!(decode("0.0000010 0 20 8 1\r"), Some((1, Op::Read, 20, 8, None)));
        assert_eq!(
            decode("1.00000199 0 20 8 1"),
            Some((1_000_001, Op::Read, 20, 8, Some(TIME_CUT)))
        );
        assert_eq!(decode("18446744073709551615.0 0 20 8 1"), None);
    }
}
