//! oracleGeneral of libCacheSim (its doc/quickstart_traces and reader): packed little endian
//! records of 24 bytes, `u32 time, u64 object, u32 size, i64 next access`.
//!
//! Made for cache studies: times are whole seconds and there is no operation. Every record is read
//! as a read, and that is counted as an alteration. In block sets the object is the address, in
//! sectors unless told otherwise; in others it is a hash, which no device has as an address. The
//! converters give an object one size, that of its first access: in the CloudPhysics sample 13,671
//! of 113,872 requests have another size in the vscsi file that it was made from.

use crate::decode::{Decoder, Entry, Framing, Line, Reading, ZERO_LENGTH, sectors_of};
use crate::fields::{le32, le64};
use crate::sniff::{Guess, Head};
use crate::{LbaUnit, MAX_SECTOR, TraceFormat};
use manx_base::units::Op;

const RECORD: usize = 24;

const SECOND: u64 = 1_000_000_000;

/// Why no record is played as it is.
const NO_OPERATION: &str = "no operation in the format: read as a read";

/// Note on a record that is not on whole sectors either.
const AND_WIDENED: &str =
    "no operation in the format: read as a read; widened to whole 512-byte sectors";

/// Reads oracleGeneral.
pub struct OracleGeneral {
    unit: LbaUnit,
}

impl OracleGeneral {
    /// A reader of objects in the unit given; sectors where none is.
    pub fn new(reading: Reading) -> Self {
        Self { unit: reading.lba.unwrap_or(LbaUnit::Sectors) }
    }
}

impl Decoder for OracleGeneral {
    fn framing(&self) -> Framing {
        Framing::Records(RECORD)
    }

    fn granularity(&self) -> u64 {
        SECOND
    }

    fn decode<'a>(&'a mut self, piece: &'a [u8]) -> Option<Line<'a>> {
        let (seconds, object, size) = (le32(piece, 0)?, le64(piece, 4)?, le32(piece, 12)?);
        le64(piece, 16)?;
        if size == 0 {
            return Some(Line::Drop(ZERO_LENGTH));
        }
        let (lba, sectors, widened) = match self.unit {
            LbaUnit::Bytes => sectors_of(object, u64::from(size))?,
            LbaUnit::Sectors if object >= MAX_SECTOR => return None,
            LbaUnit::Sectors => {
                let (_, sectors, widened) = sectors_of(0, u64::from(size))?;
                (object, sectors, widened)
            }
        };
        let altered = Some(if widened.is_some() { AND_WIDENED } else { NO_OPERATION });
        let entry = Entry::new(u64::from(seconds) * SECOND, Op::Read, lba, sectors);
        Some(Line::Request(Entry { altered, ..entry }))
    }

    fn expected(&self) -> &'static str {
        "an oracleGeneral record: 24 bytes with the object an address below 64 PiB (is it \
         a hash? or `--lba-unit`?)"
    }
}

/// A file is of this format if times never go back, sizes are of requests, and the next accesses
/// lie ahead; those within the head must be to the same object.
pub fn recognise(head: &Head<'_>) -> Option<Guess> {
    let records: Vec<&[u8]> = head.bytes.chunks_exact(RECORD).collect();
    let object = |place: u64| {
        usize::try_from(place).ok().and_then(|place| records.get(place)).map(|r| le64(r, 4))
    };
    let (mut of_it, mut sized, mut last) = (0, 0, 0);
    for (place, record) in (0u64..).zip(&records) {
        let (time, size, next) = (le32(record, 0)?, le32(record, 12)?, le64(record, 16)?);
        let ahead = match next {
            u64::MAX => true,
            // Some writers count accesses from 1.
            next if next > place && next < 1 << 40 => {
                let same =
                    |other: Option<Option<u64>>| other.is_none_or(|other| other == le64(record, 4));
                same(object(next)) || same(object(next - 1))
            }
            _ => next == i64::MAX as u64,
        };
        of_it += usize::from(time >= last && size <= 1 << 26 && ahead);
        sized += usize::from(size > 0);
        last = time;
    }
    let fits = !head.is_whole || head.bytes.len().is_multiple_of(RECORD);
    let guess =
        Guess::by_records(TraceFormat::OracleGeneral, of_it, records.len()).filter(|_| fits)?;
    Some(guess.only_if(sized * 2 > records.len(), "most of them ask for nothing"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{opener, read, records, short, spec};
    use crate::{Spread, survey};

    fn record(time: u32, object: u64, size: u32, next: i64) -> Vec<u8> {
        let (time, object, size) = (time.to_le_bytes(), object.to_le_bytes(), size.to_le_bytes());
        [&time[..], &object, &size, &next.to_le_bytes()].concat()
    }

    fn file() -> Vec<u8> {
        [
            record(50, 63, 512, 2),
            record(50, 1000, 4096, -1),
            record(51, 63, 700, -1),
            record(51, 9, 0, -1),
        ]
        .concat()
    }

    #[test]
    fn every_record_is_a_read_of_sectors_spread_over_its_second() {
        let records = read(file()).unwrap();
        assert!(records.iter().all(|r| r.op == Op::Read && r.latency.is_none()));
        let expected = [(0, 63, 1, 0), (500_000_000, 1000, 8, 0), (1_000_000_000, 63, 2, 0)];
        assert_eq!(records.iter().map(short).collect::<Vec<_>>(), expected);
        let summary = survey(&spec(), &mut opener(file())).unwrap();
        assert_eq!((summary.altered.get(NO_OPERATION), summary.altered.get(AND_WIDENED)), (2, 1));
        assert_eq!(summary.dropped.get(ZERO_LENGTH), 1);
    }

    #[test]
    fn addresses_may_be_bytes_and_seconds_may_stay_whole() {
        let reading =
            Reading { lba: Some(LbaUnit::Bytes), spread: Spread::None, ..Reading::default() };
        let records = records(file(), TraceFormat::OracleGeneral, reading).unwrap();
        let expected = [(0, 0, 2, 0), (0, 1, 9, 0), (1_000_000_000, 0, 2, 0)];
        assert_eq!(records.iter().map(short).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_hash_is_no_address() {
        let error =
            records(record(1, 1 << 60, 512, -1), TraceFormat::OracleGeneral, Reading::default())
                .unwrap_err();
        assert!(
            error.to_string().contains("record 1") && error.to_string().contains("is it a hash?"),
            "{error}"
        );
    }

    #[test]
    fn a_next_access_to_another_object_is_not_believed() {
        let wrong =
            [record(50, 63, 512, 1), record(50, 1000, 4096, -1), record(51, 7, 512, 1)].concat();
        assert!(read(wrong).is_err());
        assert!(read(vec![0; 240]).is_err());
    }
}
