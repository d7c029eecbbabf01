//! Lines of a stream, through one buffer that is used again and again; and the fields of a line.

use super::Stream;
use std::io::{self, BufRead, Read};

/// No line of any format is longer; more is a file without line ends, which must not fill the memory.
const MAX_LINE: u64 = 1 << 16;

/// Reads line by line.
pub(super) struct Lines {
    stream: Stream,
    buffer: Vec<u8>,
    /// The number of the line last read, from 1.
    pub(super) number: u64,
}

/// A line without its end.
pub(super) struct RawLine<'a> {
    pub(super) text: &'a [u8],
    /// False for a last line without a line end.
    pub(super) ended: bool,
    /// The line did not fit; `text` is its head.
    pub(super) too_long: bool,
}

impl Lines {
    pub(super) fn new(stream: Stream) -> Self {
        Self { stream, buffer: Vec::with_capacity(256), number: 0 }
    }

    /// The next line, or `None` at the end of the stream.
    pub(super) fn next(&mut self) -> io::Result<Option<RawLine<'_>>> {
        self.buffer.clear();
        if (&mut self.stream).take(MAX_LINE).read_until(b'\n', &mut self.buffer)? == 0 {
            return Ok(None);
        }
        self.number += 1;
        let ended = self.buffer.last() == Some(&b'\n');
        let too_long = !ended && self.buffer.len() as u64 == MAX_LINE;
        let mut text = &self.buffer[..self.buffer.len() - usize::from(ended)];
        if let [head @ .., b'\r'] = text {
            text = head;
        }
        if self.number == 1 {
            // Editors and spreadsheets put a byte-order mark in front.
            text = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text);
        }
        Ok(Some(RawLine { text, ended, too_long }))
    }
}

/// True if no text file holds such bytes: control characters other than tab, line and page ends, or broken UTF-8.
pub(super) fn is_binary(text: &[u8]) -> bool {
    let control = |b: &u8| (*b < 0x20 && !matches!(*b, b'\t' | b'\n' | b'\r' | 0x0c)) || *b == 0x7f;
    text.iter().any(control) || std::str::from_utf8(text).is_err_and(|e| e.error_len().is_some())
}

/// Takes leading decimal digits off `rest`: their value, or `None` without any or beyond 64 bits.
pub(super) fn digits(rest: &mut &[u8]) -> Option<u64> {
    let (mut value, mut count) = (0u64, 0);
    for byte in *rest {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        // Nineteen digits always fit; only then is a check needed.
        value = match count {
            0..19 => value * 10 + u64::from(digit),
            _ => value.checked_mul(10)?.checked_add(u64::from(digit))?,
        };
        count += 1;
    }
    *rest = &rest[count..];
    (count > 0).then_some(value)
}

/// Takes one `byte` off `rest`.
pub(super) fn expect(rest: &mut &[u8], byte: u8) -> Option<()> {
    match rest {
        [first, tail @ ..] if *first == byte => {
            *rest = tail;
            Some(())
        }
        _ => None,
    }
}

/// Takes the next word (up to a space or tab) off `rest`; empty at the end.
pub(super) fn word<'a>(rest: &mut &'a [u8]) -> &'a [u8] {
    let text = rest.trim_ascii_start();
    let end = text.iter().position(|b| matches!(b, b' ' | b'\t')).unwrap_or(text.len());
    *rest = &text[end..];
    &text[..end]
}

/// A word that is one whole number.
pub(super) fn whole(mut word: &[u8]) -> Option<u64> {
    let value = digits(&mut word)?;
    word.is_empty().then_some(value)
}
