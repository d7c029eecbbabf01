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
    use crate::tests::{opener, part, read, records, short, spec};
    use crate::{Reading, TraceReader, survey};
    use manx_base::units::Duration;

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

    /// Rows of a backlog as `--requests` writes them: one arrives each microsecond, and it ends
    /// after up to `late` others that came behind it.
    fn backlog(count: u64, late: u64) -> Vec<Row> {
        let mut random = 1_u64;
        let mut rows: Vec<_> = (0..count)
            .map(|number| {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                // Nearly a third wait for nothing, as reads that pass the writes.
                let waits = if (random >> 60) < 5 { 0 } else { (random >> 33) % late };
                let latency = waits * 1000 + 1;
                Row { ns: number * 1000, latency: Some(latency), offset: number * 512, ..ROW }
            })
            .collect();
        rows.sort_by_key(|row| row.ns + row.latency.unwrap());
        rows
    }

    /// Time, place and latency of each of `rows` in the order of time.
    fn in_order(rows: &[Row]) -> Vec<(u64, u64, Option<u64>)> {
        let mut rows: Vec<_> = rows.iter().map(|r| (r.ns, r.offset / 512, r.latency)).collect();
        rows.sort();
        rows
    }

    /// Reads the rows, and how many were put before others.
    fn read_back(rows: &[Row]) -> (Vec<(u64, u64, Option<u64>)>, u64) {
        let (format, parts) = (TraceFormat::ManxRecords, vec![part(file(rows))]);
        let mut reader = TraceReader::new(format, Reading::default(), parts).unwrap();
        let mut back = Vec::new();
        while let Some(record) = reader.next_record().unwrap() {
            let latency = record.latency.map(|latency| latency.as_ns());
            back.push((record.at.as_ns(), record.lba.0, latency));
        }
        assert_eq!(reader.went_back(), None);
        (back, reader.reordered())
    }

    #[test]
    fn a_backlog_is_read_in_the_order_of_time_with_all_its_rows() {
        let rows = backlog(100_000, 60_000);
        let passed = rows.windows(2).filter(|pair| pair[1].ns < pair[0].ns).count();
        assert!(passed > 20_000, "{passed} rows stand behind a later one");
        let (back, reordered) = read_back(&rows);
        assert!(back == in_order(&rows), "each row at its time, with its place and its latency");
        assert!(reordered > passed as u64, "{reordered}");
        let summary = survey(&spec(), &mut opener(file(&rows))).unwrap();
        assert_eq!((summary.requests, summary.reordered), (100_000, reordered));
        assert!(summary.altered.is_empty() && summary.dropped.is_empty() && !summary.is_cut);
        assert_eq!(summary.doubts(), Vec::<String>::new());
    }

    /// The file of one request that so many others passed.
    fn passed_by(others: u64) -> Vec<u8> {
        let late = (1..=others).map(|number| Row { ns: 1000 + number, ..ROW });
        file(&late.chain([Row { ns: 1000, device: 4, ..ROW }]).collect::<Vec<_>>())
    }

    #[test]
    fn a_row_is_put_in_its_place_before_65_535_others_and_no_more() {
        let first_of = |others| {
            let mut reader = TraceReader::new(
                TraceFormat::ManxRecords,
                Reading::default(),
                vec![part(passed_by(others))],
            )
            .unwrap();
            let first = reader.next_record().unwrap().unwrap();
            let mut count = 1;
            while reader.next_record().unwrap().is_some() {
                count += 1;
            }
            assert_eq!(count, others + 1, "no row is lost");
            (reader.device_names()[first.device as usize].clone(), reader.went_back())
        };
        let (device, back) = first_of(65_535);
        assert_eq!((device.as_str(), back), ("4", None));
        let (device, back) = first_of(65_536);
        let (place, farthest) = back.expect("it stands behind the window");
        assert_eq!((device.as_str(), place.line, farthest), ("3", 65_537, Duration::from_ns(1)));
    }

    /// Requests of a second that end in the order against that in which they came.
    #[test]
    fn rows_farther_out_of_order_than_the_window_are_refused_where_they_are_many() {
        let rows: Vec<_> = (0..100_000).rev().map(|ms| Row { ns: ms * 10_000, ..ROW }).collect();
        let said = survey(&spec(), &mut opener(file(&rows))).unwrap_err().to_string();
        let late = 100_000 - 65_536;
        for piece in [
            "record 65537: the trace is not in the order of time",
            &format!("{late} of 100000 requests are earlier"),
            "by up to 344.64ms",
        ] {
            assert!(said.contains(piece), "`{piece}` is not in: {said}");
        }
        // One alone is a doubt: its time is that of the row before it.
        let summary = survey(&spec(), &mut opener(passed_by(65_536))).unwrap();
        let doubts = summary.doubts().join(" ");
        assert!(doubts.contains("1 of 65537 requests"), "{doubts}");
    }
}
