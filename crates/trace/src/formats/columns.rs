//! Common parts of the csv formats: lines cut at a separator, numbers in cells, headers that name
//! columns, and guesses.

use crate::TraceFormat;
use crate::fields::{decimal, digits, field, find};
use crate::sniff::{self, Guess};

/// Columns of a line at most; more is another format.
const MOST: usize = 40;

/// The kind of a line that names the columns.
pub const HEADER: &str = "header line";

/// Takes the next cell, up to a comma or the end, off `rest`, without the spaces around it.
pub fn cell<'a>(rest: &mut Option<&'a [u8]>) -> Option<&'a [u8]> {
    field(rest, b',').map(<[u8]>::trim_ascii)
}

/// A cell that is one decimal number, in parts of `10^-places`, exactly.
pub fn exactly(mut cell: &[u8], places: u32) -> Option<u64> {
    let value = decimal(&mut cell, places)?;
    cell.is_empty().then_some(value)
}

/// A cell that is one hexadecimal number after `0x`.
pub fn hexadecimal(cell: &[u8]) -> Option<u64> {
    match cell {
        [b'0', b'x' | b'X', number @ ..] => bare_hexadecimal(number),
        _ => None,
    }
}

/// A cell that is one hexadecimal number of at most 64 bits without a prefix.
pub fn bare_hexadecimal(cell: &[u8]) -> Option<u64> {
    let mut value = 0u64;
    for byte in cell {
        let digit = (*byte as char).to_digit(16)?;
        if value >> 60 != 0 {
            return None;
        }
        value = value << 4 | u64::from(digit);
    }
    (!cell.is_empty()).then_some(value)
}

/// A cell that is a number, signed or not, with or without a fraction, whose value nobody needs.
pub fn is_number(cell: &[u8]) -> bool {
    let mut rest = cell.strip_prefix(b"-").unwrap_or(cell);
    let whole = digits(&mut rest).is_some();
    let fraction = rest.strip_prefix(b".").unwrap_or(rest);
    whole && fraction.iter().all(u8::is_ascii_digit)
}

/// True if the line's cells are these names, whatever their case.
pub fn is_header(line: &[u8], names: &[&str]) -> bool {
    let mut rest = Some(line);
    let all = names.iter().all(|name| cell(&mut rest).is_some_and(|cell| is_named(cell, name)));
    all && rest.is_none()
}

/// True if a header's cell is this name, whatever its case.
pub fn is_named(cell: &[u8], name: &str) -> bool {
    cell.eq_ignore_ascii_case(name.as_bytes())
}

/// A line cut into cells.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    cells: [&'a [u8]; MOST],
    count: usize,
}

impl<'a> Row<'a> {
    /// Cuts a line at every separator that is not between quotes at a cell's start and end. `None`
    /// for a quote without its end, or too many cells.
    #[inline(always)] // a row is large to hand over
    pub fn cut(line: &'a [u8], separator: u8) -> Option<Self> {
        let mut row = Self { cells: [b""; MOST], count: 0 };
        row.fill(line, separator)?;
        Some(row)
    }

    fn fill(&mut self, line: &'a [u8], separator: u8) -> Option<()> {
        let mut rest = Some(line);
        while let Some(text) = rest {
            let cell = match text.first() {
                Some(b'"') => {
                    let end = 1 + quoted(&text[1..])?;
                    let after = text[end + 1..].trim_ascii_start();
                    rest = match after.split_first() {
                        None => None,
                        Some((first, tail)) if *first == separator => Some(tail),
                        Some(_) => return None,
                    };
                    &text[1..end]
                }
                _ => field(&mut rest, separator)?,
            };
            *self.cells.get_mut(self.count)? = cell.trim_ascii();
            self.count += 1;
        }
        Some(())
    }

    /// How many cells there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// A cell, without the spaces around it; empty beyond the last one.
    pub fn get(&self, index: usize) -> &'a [u8] {
        self.cells.get(index).copied().unwrap_or_default()
    }

    /// The cells.
    pub fn cells(&self) -> &[&'a [u8]] {
        &self.cells[..self.count]
    }

    /// The place of the column of this name; `None` without it or with several.
    pub fn place_of(&self, name: &str) -> Option<usize> {
        let mut places = (0..self.count).filter(|place| is_named(self.cells[*place], name));
        places.next().filter(|_| places.next().is_none())
    }
}

/// Where the closing quote stands; a doubled quote is one of the text.
fn quoted(text: &[u8]) -> Option<usize> {
    let mut from = 0;
    loop {
        let place = from + find(&text[from..], b'"')?;
        if text.get(place + 1) != Some(&b'"') {
            return Some(place);
        }
        from = place + 2;
    }
}

/// The guess that follows from a header that no other format has.
pub fn guess_by_header(format: TraceFormat) -> Guess {
    let why = format!("its header is that of {}", format.info().title);
    Guess { format, strength: sniff::HEADER, why, doubt: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_hold_separators_together() {
        let row = Row::cut(b"a, \"b\",\"c, \"\"d\"\", e\" ,,f", b',').unwrap();
        // A quote counts only where it opens the cell: a cell after a space keeps it.
        assert_eq!(row.cells(), [&b"a"[..], b"\"b\"", b"c, \"\"d\"\", e", b"", b"f"]);
        assert_eq!(
            (row.count(), row.get(4), row.get(5), row.get(99)),
            (5, &b"f"[..], &b""[..], &b""[..])
        );
        assert!(Row::cut(b"a,\"b,c", b',').is_none());
        assert!(Row::cut(b"a,\"b\"c,d", b',').is_none());
        assert!(Row::cut(&[b','; 39], b',').is_some() && Row::cut(&[b','; 40], b',').is_none());
    }

    #[test]
    fn numbers_are_whole_cells() {
        assert_eq!(hexadecimal(b"0x000FfF"), Some(4095));
        assert_eq!(hexadecimal(b"0xFFFFFFFFFFFFFFFF"), Some(u64::MAX));
        for wrong in [&b"0x"[..], b"12", b"0x1FFFFFFFFFFFFFFFF", b"0x12g", b"", b"0x+1"] {
            assert_eq!(hexadecimal(wrong), None, "{wrong:?}");
        }
        assert_eq!(
            (exactly(b"1.5", 3), exactly(b"1.5 ", 3), exactly(b"1.0005", 3)),
            (Some(1500), None, None)
        );
        assert!(is_number(b"-1") && is_number(b"0.5") && is_number(b"7."));
        assert!(
            !is_number(b"")
                && !is_number(b"-")
                && !is_number(b".5")
                && !is_number(b"1.5.2")
                && !is_number(b"1e5")
        );
    }

    #[test]
    fn a_header_has_all_its_names_and_no_more() {
        assert!(is_header(b"Time, SIZE", &["time", "size"]));
        for wrong in [&b"time"[..], b"time,size,more", b"size,time", b""] {
            assert!(!is_header(wrong, &["time", "size"]), "{wrong:?}");
        }
        let row = Row::cut(b"a,b,a", b',').unwrap();
        assert_eq!(
            (row.place_of("B"), row.place_of("a"), row.place_of("c")),
            (Some(1), None, None)
        );
    }
}
