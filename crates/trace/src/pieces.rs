//! A stream cut into pieces, lines or binary records, through one buffer that is used again and
//! again.

use super::Stream;
use super::fields::find;
use std::io::{self, Read};

/// No line of any format is longer; more is a file without line ends, which must not fill the
/// memory.
const MAX_LINE: usize = 1 << 16;

/// Bytes read at once: a piece and its look-ahead always fit.
const BUFFER: usize = 2 * MAX_LINE;

/// Cuts a stream into pieces, each a slice of the buffer.
pub(super) struct Pieces {
    stream: Stream,
    buffer: Box<[u8]>,
    start: usize,
    end: usize,
    /// The stream is read to its end; what is left of it is in the buffer.
    ended: bool,
    /// Pieces cut so far: the number of the last one, from 1.
    pub(super) number: u64,
}

/// A line without its end, or a record.
pub(super) struct Piece<'a> {
    pub(super) bytes: &'a [u8],
    /// False for a last line without a line end, and for a record that the end of the file cuts.
    pub(super) whole: bool,
    /// The line did not fit; `bytes` is its head.
    pub(super) too_long: bool,
}

impl Pieces {
    pub(super) fn new(stream: Stream) -> Self {
        Self { stream, buffer: vec![0; BUFFER].into(), start: 0, end: 0, ended: false, number: 0 }
    }

    /// The first bytes that are not cut yet: `count` of them, or fewer where the stream ends.
    pub(super) fn peek(&mut self, count: usize) -> io::Result<&[u8]> {
        debug_assert!(count <= MAX_LINE);
        while self.end - self.start < count && self.fill()? {}
        Ok(&self.buffer[self.start..self.end.min(self.start + count)])
    }

    /// The next line, or `None` at the end of the stream.
    pub(super) fn line(&mut self) -> io::Result<Option<Piece<'_>>> {
        let mut searched = 0;
        let (length, ended) = loop {
            let held = &self.buffer[self.start..self.end];
            match find(&held[searched..], b'\n') {
                Some(place) => break (searched + place, true),
                None if held.len() >= MAX_LINE => break (MAX_LINE, false),
                None => searched = held.len(),
            }
            if !self.fill()? {
                break (self.end - self.start, false);
            }
        };
        if length == 0 && !ended {
            return Ok(None);
        }
        self.number += 1;
        let start = self.start;
        self.start += length + usize::from(ended);
        let mut bytes = &self.buffer[start..start + length];
        if let [head @ .., b'\r'] = bytes {
            bytes = head;
        }
        if self.number == 1 {
            // Editors and spreadsheets put a byte-order mark in front.
            bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
        }
        Ok(Some(Piece { bytes, whole: ended, too_long: length >= MAX_LINE && !ended }))
    }

    /// The next `count` bytes, or `None` at the end of the stream.
    pub(super) fn record(&mut self, count: usize) -> io::Result<Option<Piece<'_>>> {
        let held = self.peek(count)?.len();
        if held == 0 {
            return Ok(None);
        }
        self.number += 1;
        let start = self.start;
        self.start += held;
        Ok(Some(Piece {
            bytes: &self.buffer[start..start + held],
            whole: held == count,
            too_long: false,
        }))
    }

    /// Passes over `count` bytes; false if the stream ends before.
    pub(super) fn skip(&mut self, mut count: usize) -> io::Result<bool> {
        loop {
            let held = (self.end - self.start).min(count);
            self.start += held;
            count -= held;
            if count == 0 {
                return Ok(true);
            }
            if !self.fill()? {
                return Ok(false);
            }
        }
    }

    /// Reads more behind what is held; false at the end of the stream.
    fn fill(&mut self) -> io::Result<bool> {
        if self.ended {
            return Ok(false);
        }
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        let count = loop {
            match self.stream.read(&mut self.buffer[self.end..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => break result?,
            }
        };
        self.end += count;
        self.ended = count == 0;
        Ok(count > 0)
    }
}
