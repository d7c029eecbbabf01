//! Windows Performance Analyzer, the table "Disk Usage" exported as csv: a header line, then one
//! request a line.
//!
//! The columns go by their names, with the unit in brackets (`Init Time (s)`), since users choose
//! and order them. The locale is that of the machine that exported: a `;` between the cells comes
//! with a decimal comma and dots between thousands (`16.384` bytes are 16 KiB), a `,` with a
//! decimal point and commas between thousands, in quotes. Init Time is the arrival and IO Time the
//! latency; Min Offset is hexadecimal, in bytes, and all ones for a flush. A row that sums up
//! others (its Count is not 1) is no request. The table can be exported in any order: that by Init
//! Time is usual.

use super::columns::{HEADER, Row, guess_by_header, hexadecimal, is_named};
use crate::TraceFormat;
use crate::decode::{Decoder, DeviceName, Entry, Line, ZERO_LENGTH, sectors_of};
use crate::fields::{find, whole};
use crate::sniff::{Guess, Head};
use manx_base::units::Op;

/// Form of a line.
const EXPECTED: &str = "a line of a Disk Usage table of Windows Performance Analyzer: \
                        first a header with `IO Type`, `Init Time (s)`, `Size (B)`, `Min Offset`, \
                        and perhaps `IO Time`, `Disk`, `Count`; then as many cells, separated by \
                        `;` with numbers such as `1.234,5` or by `,` with numbers such as \
                        `\"1,234.5\"`, the offset in hex with `0x`";

/// A row that stands for several.
const SUMMED: &str = "row that sums up requests (its Count is not 1)";

/// An IO Type of which nothing is known.
const OTHER_TYPE: &str = "request whose IO Type is neither Read, Write nor Flush";

/// Reads an export of Windows Performance Analyzer.
#[derive(Default)]
pub struct Wpa {
    columns: Option<Columns>,
}

/// Where the columns stand, and how their numbers are written.
#[derive(Clone, Copy, Debug)]
struct Columns {
    marks: Marks,
    count: usize,
    kind: usize,
    /// The column and the decimals that make its unit nanoseconds.
    init: (usize, u32),
    latency: Option<(usize, u32)>,
    size: usize,
    offset: usize,
    disk: Option<usize>,
    number: Option<usize>,
}

/// Separators of a locale: between cells, before decimals and between thousands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Marks {
    cells: u8,
    decimals: u8,
    thousands: u8,
}

/// The locales that the header tells apart.
const LOCALES: [Marks; 2] = [
    Marks { cells: b';', decimals: b',', thousands: b'.' },
    Marks { cells: b',', decimals: b'.', thousands: b',' },
];

impl Decoder for Wpa {
    fn window(&self) -> usize {
        // An export by Init Time is in order; one by Complete Time is out of it by the queue's
        // depth.
        4096
    }

    fn decode<'a>(&'a mut self, piece: &'a [u8]) -> Option<Line<'a>> {
        match &self.columns {
            Some(columns) => columns.parse(piece),
            None => {
                self.columns = Some(LOCALES.iter().find_map(|marks| Columns::of(piece, *marks))?);
                Some(Line::Skip(HEADER))
            }
        }
    }

    fn expected(&self) -> &'static str {
        EXPECTED
    }
}

/// Knows the format by its header.
pub fn recognise(head: &Head<'_>) -> Option<Guess> {
    let first = head.lines.first()?;
    let is_header = LOCALES.iter().any(|marks| Columns::of(first, *marks).is_some());
    is_header.then(|| guess_by_header(TraceFormat::Wpa))
}

impl Columns {
    fn of(header: &[u8], marks: Marks) -> Option<Self> {
        let row = Row::cut(header, marks.cells)?;
        let timed = |name| {
            let place =
                row.cells().iter().position(|cell| is_named(base_and_unit(cell).0, name))?;
            Some((place, decimals(base_and_unit(row.get(place)).1)?))
        };
        Some(Self {
            marks,
            count: row.count(),
            kind: row.place_of("IO Type")?,
            init: timed("Init Time")?,
            latency: timed("IO Time"),
            size: row.place_of("Size (B)")?,
            offset: row.place_of("Min Offset")?,
            disk: row.place_of("Disk"),
            number: row.place_of("Count"),
        })
    }

    fn parse<'a>(&self, line: &'a [u8]) -> Option<Line<'a>> {
        let row = Row::cut(line, self.marks.cells)?;
        if row.count() != self.count {
            return None;
        }
        if self.number.is_some_and(|place| row.get(place) != b"1") {
            return Some(Line::Drop(SUMMED));
        }
        let (place, places) = self.init;
        let ticks = self.marks.number(row.get(place), places)?;
        let latency = match self.latency {
            Some((place, places)) => Some(self.marks.number(row.get(place), places)?),
            None => None,
        };
        let device = match self.disk {
            Some(place) => DeviceName::Number(whole(row.get(place))?),
            None => DeviceName::Only,
        };
        let op = match row.get(self.kind) {
            kind if is_named(kind, "Read") => Op::Read,
            kind if is_named(kind, "Write") => Op::Write,
            kind if is_named(kind, "Flush") => {
                return Some(Line::Request(Entry { latency, ..Entry::flush(ticks).on(device) }));
            }
            _ => return Some(Line::Drop(OTHER_TYPE)),
        };
        let size = self.marks.number(row.get(self.size), 0)?;
        let offset = hexadecimal(row.get(self.offset))?;
        if size == 0 {
            return Some(Line::Drop(ZERO_LENGTH));
        }
        let (lba, sectors, altered) = sectors_of(offset, size)?;
        Some(Line::Request(Entry {
            device,
            latency,
            altered,
            ..Entry::new(ticks, op, lba, sectors)
        }))
    }
}

impl Marks {
    /// A number as this locale writes it, in parts of `10^-places`: exactly, or `None`. Thousands
    /// are in groups of three digits or not marked at all, so that the numbers of another locale
    /// are refused rather than misread.
    fn number(&self, cell: &[u8], places: u32) -> Option<u64> {
        let (integer, fraction) = match find(cell, self.decimals) {
            Some(point) => (&cell[..point], &cell[point + 1..]),
            None => (cell, &b""[..]),
        };
        let mut value = 0u64;
        for (place, group) in integer.split(|byte| *byte == self.thousands).enumerate() {
            let is_group = match place {
                0 => group.len() <= 3 || group.len() == integer.len(),
                _ => group.len() == 3,
            };
            let scale = if place == 0 { 1 } else { 1000 };
            value = value.checked_mul(scale)?.checked_add(whole(group).filter(|_| is_group)?)?;
        }
        let mut part = 10u64.checked_pow(places)?;
        value = value.checked_mul(part)?;
        for digit in fraction {
            let digit = u64::from((*digit as char).to_digit(10)?);
            part /= 10;
            if digit != 0 && part == 0 {
                return None;
            }
            value = value.checked_add(digit * part)?;
        }
        Some(value)
    }
}

/// `Init Time (s)` as `Init Time` and `s`.
fn base_and_unit(cell: &[u8]) -> (&[u8], &[u8]) {
    match cell.iter().position(|byte| *byte == b'(') {
        Some(open) => {
            (cell[..open].trim_ascii_end(), cell[open + 1..].strip_suffix(b")").unwrap_or_default())
        }
        None => (cell, b""),
    }
}

/// The decimals that make a unit of time nanoseconds. The micro sign has several codes, and more in
/// the wrong encoding.
fn decimals(unit: &[u8]) -> Option<u32> {
    match unit {
        b"s" => Some(9),
        b"ms" => Some(6),
        b"us" => Some(3),
        b"ns" => Some(0),
        [micro @ .., b's'] if !micro.is_ascii() => Some(3),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{opener, read, short, spec};
    use crate::{Record, sniff, survey};
    use manx_base::units::Duration;

    const GERMAN: &str = "\
IO Type;Priority;Process (Name);Init Time (s);Complete Time (s);IO Time (µs);Size (B);Min Offset;\
QD/I - Queue Depth at Init Time;Disk;Count\r
Read;Normal;System;1,079943800;1,080031000;87,200;512;0x0000000000000200;0;1;1\r
Write;Very Low;\"a; b\";1,080034500;1,080111700;1.795,900;44.167.680;0x000000170641D000;0;0;1\r
Flush;Normal;System;1,080034400;1,080111700;45,700;0;0xFFFFFFFFFFFFFFFF;1;1;1\r
Read;Normal;System;1,080034500;1,080111700;1,000;0;0x0000000000000200;1;1;1\r
Read;Normal;;;;12,000;1.024;;;;2\r
Other;Normal;System;1,080034500;1,080111700;1,000;512;0x0000000000000200;1;1;1\r
";

    const ENGLISH: &str = "\
Disk,Init Time (ms),IO Type,Min Offset,Size (B)
1,\"1,079.9438\",Read,0x200,\"16,384\"
1,1080.0345,Write,0x3E9,16384
";

    /// Kind; time, sector, sectors and device; latency.
    type Seen = (Op, (u64, u64, u32, u32), Option<Duration>);

    fn seen(text: &str) -> Vec<Seen> {
        read(text).unwrap().iter().map(|r: &Record| (r.op, short(r), r.latency)).collect()
    }

    #[test]
    fn a_decimal_comma_and_dots_between_thousands() {
        let latency = |ns| Some(Duration::from_ns(ns));
        assert_eq!(
            seen(GERMAN),
            [
                (Op::Read, (0, 1, 1, 0), latency(87_200)),
                (Op::Flush, (90_600, 0, 0, 0), latency(45_700)), // stood one line later in the file
                (Op::Write, (90_700, 0x170641D000 / 512, 86_265, 1), latency(1_795_900)),
            ]
        );
        let summary = survey(&spec(), &mut opener(GERMAN)).unwrap();
        assert_eq!(summary.devices.iter().map(|d| d.name.as_str()).collect::<Vec<_>>(), ["1", "0"]);
        for reason in [ZERO_LENGTH, SUMMED, OTHER_TYPE] {
            assert_eq!(summary.dropped.get(reason), 1, "{reason}");
        }
    }

    #[test]
    fn a_decimal_point_columns_in_another_order_and_another_unit() {
        assert_eq!(
            seen(ENGLISH),
            // 1001 + 16384 bytes: 33 sectors.
            [(Op::Read, (0, 1, 32, 0), None), (Op::Write, (90_700, 1, 33, 0), None)]
        );
    }

    #[test]
    fn the_header_is_unmistakable() {
        for text in [GERMAN, ENGLISH] {
            assert_eq!(sniff::sniff(&spec(), &mut opener(text)).unwrap().format, TraceFormat::Wpa);
        }
        for wrong in ["Size (B)", "IO Type", "Min Offset", "Init Time (ms)"] {
            let text = ENGLISH.replacen(wrong, "Size (KB)", 1);
            assert!(sniff::sniff(&spec(), &mut opener(text)).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_number_of_another_locale_is_refused() {
        let [german, english] = LOCALES;
        assert_eq!(
            (german.number(b"1.234,5", 3), english.number(b"1,234.5", 3)),
            (Some(1_234_500), Some(1_234_500))
        );
        assert_eq!(
            (german.number(b"1234", 0), german.number(b"12.345.678", 0)),
            (Some(1234), Some(12_345_678))
        );
        assert_eq!(
            (german.number(b"0,000000001", 9), german.number(b"0,10", 1)),
            (Some(1), Some(1))
        );
        for wrong in [
            "1.079943800",
            "1,234,567",
            "1234.567",
            "1.23",
            ".123",
            "",
            ",5",
            "1,x",
            "0,0000000001",
            "1..234",
        ] {
            assert_eq!(german.number(wrong.as_bytes(), 9), None, "{wrong}");
        }
        assert_eq!(german.number(b"18.446.744.073.709.551.616", 0), None);
        assert!(read(GERMAN.replace("1,080034500", "1.080034500")).is_err());
        assert!(read(GERMAN.replace(";0;1;1\r", ";0;1\r")).is_err());
    }
}
