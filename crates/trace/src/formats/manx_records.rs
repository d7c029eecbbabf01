//! Rows of Manx itself: a trace in the form that is read fastest, and the form in which columnar
//! files come in.
//!
//! A header of 16 bytes, `MANXREC1` and 8 zeros, then little endian records of 40 bytes: `u64 ns,
//! u64 offset in bytes, u64 bytes, u64 latency in ns (2^64 - 1 for none), u32 device, u8 operation
//! (0 read, 1 write, 2 flush, 3 trim), u8 flags (bit 0 FUA), u16 zero`. A range off the sectors is
//! widened as in every format of bytes.

use crate::TraceFormat;
use crate::decode::{Decoder, DeviceName, Entry, Framing, Line, ZERO_LENGTH, sectors_of};
use crate::fields::{le16, le32, le64};
use crate::sniff::{Guess, Head};
use manx_base::units::Op;

/// Magic number at the start of the file.
const MAGIC: [u8; 8] = *b"MANXREC1";

/// Bytes before the first record.
const HEADER: usize = 16;

const RECORD: usize = 40;

const NO_LATENCY: u64 = u64::MAX;

/// One record, to be encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// Time in nanoseconds.
    pub ns: u64,
    /// First byte.
    pub offset: u64,
    /// Number of bytes; not looked at for a flush.
    pub bytes: u64,
    /// How long it took, in nanoseconds, where it is known; below 2^64 - 1.
    pub latency: Option<u64>,
    /// The device's number.
    pub device: u32,
    /// Its kind.
    pub op: Op,
    /// Force unit access.
    pub fua: bool,
}

/// The beginning of a file.
pub fn header() -> [u8; HEADER] {
    let mut header = [0; HEADER];
    header[..MAGIC.len()].copy_from_slice(&MAGIC);
    header
}

/// A record as it stands in the file.
pub fn encode(row: &Row) -> [u8; RECORD] {
    let op = match row.op {
        Op::Read => 0,
        Op::Write => 1,
        Op::Flush => 2,
        Op::Trim => 3,
    };
    let mut record = [0; RECORD];
    let numbers = [row.ns, row.offset, row.bytes, row.latency.unwrap_or(NO_LATENCY)];
    for (place, number) in record.chunks_exact_mut(8).zip(numbers) {
        place.copy_from_slice(&number.to_le_bytes());
    }
    record[32..36].copy_from_slice(&row.device.to_le_bytes());
    (record[36], record[37]) = (op, u8::from(row.fua));
    record
}

/// Reads the rows.
pub struct ManxRecords {
    has_header: bool,
}

impl ManxRecords {
    /// A reader of a file that begins with `head`.
    pub fn new(head: &[u8]) -> Self {
        Self { has_header: head.starts_with(&header()) }
    }
}

impl Decoder for ManxRecords {
    fn framing(&self) -> Framing {
        Framing::Records(RECORD)
    }

    fn preamble(&self) -> usize {
        if self.has_header { HEADER } else { 0 }
    }

    fn window(&self) -> usize {
        // `--requests` writes a row when its request is done: as late as others pass it, which in a
        // backlog are as many as wait.
        65_536
    }

    fn decode<'a>(&'a mut self, piece: &'a [u8]) -> Option<Line<'a>> {
        let record: &[u8; RECORD] = piece.try_into().ok()?;
        if !self.has_header || record[37] > 1 || le16(record, 38)? != 0 {
            return None;
        }
        let (ticks, offset, bytes) = (le64(record, 0)?, le64(record, 8)?, le64(record, 16)?);
        let latency = Some(le64(record, 24)?).filter(|latency| *latency != NO_LATENCY);
        let device = DeviceName::Number(u64::from(le32(record, 32)?));
        let op = match record[36] {
            0 => Op::Read,
            1 => Op::Write,
            2 => return Some(Line::Request(Entry { latency, ..Entry::flush(ticks).on(device) })),
            3 => Op::Trim,
            _ => return None,
        };
        if bytes == 0 {
            return Some(Line::Drop(ZERO_LENGTH));
        }
        let (lba, sectors, altered) = sectors_of(offset, bytes)?;
        let entry = Entry::new(ticks, op, lba, sectors);
        Some(Line::Request(Entry { device, latency, altered, fua: record[37] == 1, ..entry }))
    }

    fn expected(&self) -> &'static str {
        "a row of 40 bytes after the header MANXREC1 and 8 zeros: \
         operation 0 to 3, flags 0 or 1, two zeros at its end, offset below \
         64 PiB, size below 2 TiB"
    }
}

/// Knows the header.
pub fn recognise(head: &Head<'_>) -> Option<Guess> {
    let why = "the rows of a Parquet file, handed on as records (MANXREC1)".to_string();
    let format = TraceFormat::ManxRecords;
    head.bytes.starts_with(&header()).then_some(Guess { format, strength: 1000, why, doubt: None })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Reading;
    use crate::tests::{read, records, short};

    const ROW: Row = Row {
        ns: 70,
        offset: 8192,
        bytes: 4096,
        latency: Some(1234),
        device: 3,
        op: Op::Read,
        fua: false,
    };

    fn file(rows: &[Row]) -> Vec<u8> {
        let mut file = header().to_vec();
        rows.iter().for_each(|row| file.extend(encode(row)));
        file
    }

    #[test]
    fn what_is_encoded_is_read_back() {
        let rows = [
            ROW,
            Row { ns: 80, op: Op::Write, fua: true, latency: None, device: 4, ..ROW },
            Row { ns: 90, op: Op::Flush, offset: u64::MAX, bytes: 0, ..ROW },
            Row { ns: 95, op: Op::Trim, offset: 100, bytes: 1 << 40, ..ROW },
            Row { ns: 99, bytes: 0, ..ROW },
        ];
        let records = read(file(&rows)).unwrap();
        let what: Vec<_> =
            records.iter().map(|r| (r.op, short(r), r.fua, r.latency.map(|l| l.as_ns()))).collect();
        assert_eq!(
            what,
            [
                (Op::Read, (0, 16, 8, 0), false, Some(1234)),
                (Op::Write, (10, 16, 8, 1), true, None),
                (Op::Flush, (20, 0, 0, 0), false, Some(1234)),
                (Op::Trim, (25, 0, (1 << 31) + 1, 0), false, Some(1234)),
            ]
        );
    }

    #[test]
    fn a_record_is_as_the_head_of_this_file_says() {
        let bytes = encode(&Row {
            ns: 1,
            offset: 2,
            bytes: 3,
            latency: None,
            device: 4,
            op: Op::Trim,
            fua: true,
        });
        let expected = "0100000000000000 0200000000000000 0300000000000000 \
                        ffffffffffffffff 04000000 03 01 0000";
        let shown: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(shown, expected.replace(' ', ""));
        assert_eq!(&header(), b"MANXREC1\0\0\0\0\0\0\0\0");
    }

    #[test]
    fn what_is_no_row_is_named() {
        let fault = |file: &[u8]| {
            records(file, TraceFormat::ManxRecords, Reading::default()).unwrap_err().to_string()
        };
        for (place, value) in [(36, 4), (37, 2), (38, 1)] {
            let mut spoilt = file(&[ROW, ROW]);
            spoilt[HEADER + RECORD + place] = value;
            assert!(fault(&spoilt).contains("record 2: `46 00"), "{}", fault(&spoilt));
        }
        assert!(fault(&file(&[ROW])[HEADER..]).contains("after the header MANXREC1"));
        assert!(fault(&file(&[ROW])[..40]).contains("truncated"));
        assert!(
            records(header(), TraceFormat::ManxRecords, Reading::default()).unwrap().is_empty()
        );
        assert!(records(b"MANX", TraceFormat::ManxRecords, Reading::default()).is_err());
    }
}
