//! MSR Cambridge csv: `Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime`, without a
//! header (Narayanan, Donnelly, Rowstron: Write Off-Loading, FAST 2008, and the README of the SNIA
//! set).
//!
//! Times are FILETIME: ticks of 100 ns since 1601. A tick of today times 100 leaves a signed 64-bit
//! number, so the reader subtracts the first tick before it converts. Offset and size are bytes;
//! each `host,disk` is an address space.

use crate::decode::{Decoder, DeviceName, Entry, Line, ZERO_LENGTH, sectors_of};
use crate::fields::{digits, expect};
use manx_base::units::Op;

/// Form of a line.
const EXPECTED: &str = "an MSR line: \
                        `FILETIME ticks,host,disk,Read|Write,offset in bytes,size in bytes,\
                        response \
                        ticks`, in whole numbers (a spreadsheet may have rounded them), offsets \
                        below 64 PiB, sizes below 2 TiB";

/// Reads MSR Cambridge csv.
pub struct Msr;

impl Decoder for Msr {
    fn tick(&self) -> u64 {
        100
    }

    fn decode<'a>(&'a mut self, piece: &'a [u8]) -> Option<Line<'a>> {
        parse(piece).or_else(|| is_header(piece).then_some(Line::Skip("header line")))
    }

    fn expected(&self) -> &'static str {
        EXPECTED
    }
}

/// Reads one line; `None` if it is none of this format.
pub fn parse(line: &[u8]) -> Option<Line<'_>> {
    let mut rest = line;
    let ticks = digits(&mut rest)?;
    expect(&mut rest, b',')?;
    let device = device(&mut rest)?;
    let op = operation(&mut rest)?;
    let offset = digits(&mut rest)?;
    expect(&mut rest, b',')?;
    let size = digits(&mut rest)?;
    expect(&mut rest, b',')?;
    let latency = digits(&mut rest)?;
    if !rest.trim_ascii_end().is_empty() {
        return None;
    }
    if size == 0 {
        return Some(Line::Drop(ZERO_LENGTH));
    }
    let (lba, sectors, altered) = sectors_of(offset, size)?;
    let (device, latency) = (DeviceName::Text(device), Some(latency.saturating_mul(100)));
    Some(Line::Request(Entry { device, latency, altered, ..Entry::new(ticks, op, lba, sectors) }))
}

/// True for the header that some copies of the set have.
pub fn is_header(line: &[u8]) -> bool {
    line.len() >= 9 && line[..9].eq_ignore_ascii_case(b"timestamp")
}

/// `host,disk`, as one name.
fn device<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let host = rest.iter().position(|b| *b == b',')?;
    let disk = rest[host + 1..].iter().position(|b| *b == b',')?;
    let name = &rest[..host + 1 + disk];
    *rest = &rest[name.len() + 1..];
    (disk > 0 && name[host + 1..].iter().all(u8::is_ascii_digit)).then_some(name)
}

fn operation(rest: &mut &[u8]) -> Option<Op> {
    let end = rest.iter().position(|b| *b == b',')?;
    let name = &rest[..end];
    *rest = &rest[end + 1..];
    match name {
        b"Read" => Some(Op::Read),
        b"Write" => Some(Op::Write),
        _ if name.eq_ignore_ascii_case(b"read") => Some(Op::Read),
        _ if name.eq_ignore_ascii_case(b"write") => Some(Op::Write),
        _ => None,
    }
}
