//! The ascii format of the UCARE replayer (ttFlash, IODA, Heimdall): `ms dev offset size type`,
//! type 1 for a read.
//!
//! Traps: early versions count offset and size in sectors, later ones in bytes, and no line says
//! which; the time is in milliseconds with a fraction; DiskSim's lines with flags of 0 and 1 look
//! the same, and so do SSDsim's but for the time. [`crate::sniff`] judges. What the replayer writes
//! (csv with latencies) is another format.

use super::ascii::{columns, type_of};
use crate::decode::{Decoder, DeviceName, Entry, Line, Reading, ZERO_LENGTH, sectors_of};
use crate::{LbaUnit, TimeUnit};

/// Form of a line.
const EXPECTED: &str = "a line of the UCARE replayer: `ms device offset size type`, type 1 for a \
                        read and 0 for a write, offset and size in bytes or in sectors \
                        (`--lba-unit`) and below 64 PiB, a time within 584 years";

/// Reads the ascii format of the UCARE replayer.
pub struct Ucare {
    time: TimeUnit,
    lba: LbaUnit,
}

impl Ucare {
    /// A reader of what is in the units given; milliseconds and bytes where none are.
    pub fn new(reading: Reading) -> Self {
        Self {
            time: reading.time.unwrap_or(TimeUnit::Ms),
            lba: reading.lba.unwrap_or(LbaUnit::Bytes),
        }
    }
}

impl Decoder for Ucare {
    fn decode<'a>(&'a mut self, piece: &'a [u8]) -> Option<Line<'a>> {
        let columns = columns(piece)?;
        let op = type_of(columns.kind)?;
        let (ticks, is_exact) = columns.nanoseconds(self.time)?;
        let line = match (self.lba, columns.size) {
            (LbaUnit::Sectors, _) => columns.in_sectors(ticks, op)?,
            (LbaUnit::Bytes, 0) => Line::Drop(ZERO_LENGTH),
            (LbaUnit::Bytes, bytes) => {
                let (lba, sectors, altered) = sectors_of(columns.address, bytes)?;
                let entry =
                    Entry::new(ticks, op, lba, sectors).on(DeviceName::Text(columns.device));
                Line::Request(Entry { altered, ..entry })
            }
        };
        Some(line.with_time_cut(!is_exact))
    }

    fn expected(&self) -> &'static str {
        EXPECTED
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::WIDENED;
    use manx_base::units::Op;

    fn decode(
        line: &str,
        lba: Option<LbaUnit>,
    ) -> Option<(u64, Op, u64, u32, Option<&'static str>)> {
        match Ucare::new(Reading { lba, ..Reading::default() }).decode(line.as_bytes())? {
            Line::Request(Entry { ticks, op, lba, sectors, altered, .. }) => {
                Some((ticks, op, lba, sectors, altered))
            }
            Line::Drop(reason) => panic!("{reason}"),
            Line::Skip(_) | Line::Held | Line::Completion(..) => None,
        }
    }

    #[test]
    fn offset_and_size_are_bytes_or_sectors_as_told() {
        let line = "223.412 1 4096 8192 1";
        assert_eq!(decode(line, Some(LbaUnit::Bytes)), Some((223_412_000, Op::Read, 8, 16, None)));
        assert_eq!(
            decode(line, Some(LbaUnit::Sectors)),
            Some((223_412_000, Op::Read, 4096, 8192, None))
        );
        assert_eq!(decode("0 1 1000 100 0", None), Some((0, Op::Write, 1, 2, Some(WIDENED))));
    }

    #[test]
    fn what_no_device_has_is_refused() {
        for line in [
            "0 0 72057594037927936 512 1",
            "0 0 0 18446744073709551615 1",
            "0 0 0 512 2",
            "0 0 0 512 1 1",
        ] {
            assert_eq!(decode(line, None), None, "{line}");
        }
        assert_eq!(
            Ucare::new(Reading::default()).decode(b"0 0 8 0 1"),
            Some(Line::Drop(ZERO_LENGTH))
        );
    }
}
