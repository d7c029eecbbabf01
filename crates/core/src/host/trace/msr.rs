//! MSR Cambridge csv: `Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime`, without a header
//! (Narayanan, Donnelly, Rowstron: Write Off-Loading, FAST 2008, and the README of the SNIA set).
//!
//! Times are FILETIME: ticks of 100 ns since 1601. A tick of today times 100 leaves a signed 64-bit number, so the
//! reader subtracts the first tick before it converts. Offset and size are bytes; each `host,disk` is an address space.

use super::lines::{digits, expect};
use super::{Entry, Line, MAX_SECTOR};
use crate::drive::Op;
use crate::units::SECTOR;

/// What a line must be.
pub const EXPECTED: &str = "an MSR line: `FILETIME ticks,host,disk,Read|Write,offset in bytes,size in bytes,\
     response ticks`, in whole numbers (a spreadsheet may have rounded them), offsets below 64 PiB, sizes below 2 TiB";

/// A request whose bytes do not start or end on a sector.
pub const WIDENED: &str = "not on 512-byte sectors: widened to whole ones";

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
    if !rest.trim_ascii_end().is_empty() || offset / SECTOR >= MAX_SECTOR {
        return None;
    }
    if size == 0 {
        return Some(Line::Drop("request of zero length"));
    }
    let end = offset.checked_add(size)?.div_ceil(SECTOR);
    let lba = offset / SECTOR;
    let sectors = u32::try_from(end - lba).ok()?;
    let aligned = (offset | size) % SECTOR == 0;
    let altered = (!aligned).then_some(WIDENED);
    Some(Line::Request(Entry { ticks, op, lba, sectors, fua: false, device, latency: Some(latency), altered }))
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
