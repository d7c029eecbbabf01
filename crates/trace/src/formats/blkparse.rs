//! blkparse text: `maj,min cpu seq sec.nanosec pid action rwbs [sector + sectors] [process]`
//! (blktrace's blkparse(1), "DEFAULT OUTPUT"), between lines of other shapes and with a summary at
//! the end.
//!
//! One request passes as several events: queued (Q), inserted (I), issued (D), completed (C). Only
//! one action may be counted; this reader takes D, what the device was asked, unless told
//! otherwise, and C gives its latency. A write with a flush before it (FW) is issued as two events
//! but queued as one, of which both are made. Other events and lines that are no events are skipped
//! and counted by kind. Events from before the trace's start have a negative time that blkparse
//! prints wrapped; they come at the end of the output and are dropped.

use crate::decode::{Decoder, DeviceName, Entry, Line};
use crate::fields::{digits, expect, find, is_binary, whole, word};
use crate::rwbs::{AfterFlush, Flags, PASS_THROUGH, UNKNOWN_KIND};
use crate::sniff::{Guess, Head};
use crate::{TraceEvent, TraceFormat};

/// Form of a line.
pub const EXPECTED: &str = "a blkparse event: \
     `major,minor cpu sequence seconds.nanoseconds pid action rwbs sector + sectors [process]` \
     with the sector below 2^47";

/// A line that is no event, such as those of the summary at the end.
pub const NO_EVENT: &str = "text that is no event (summary)";

/// The nanosecond 0 of a negative time: blkparse prints the 64-bit nanoseconds' seconds, some
/// builds modulo 2^32.
const WRAPPED_SECONDS: [u64; 2] = [18_446_744_073, 18_446_744_073 % (1 << 32)];

/// How far before the start an event may lie to be taken for a wrapped one.
const WRAP_REACH: u64 = 24 * 3600;

/// Reads blkparse text.
pub struct Blkparse {
    event: TraceEvent,
    after_flush: AfterFlush,
}

impl Blkparse {
    /// A reader that takes one kind of event.
    pub fn new(event: TraceEvent) -> Self {
        Self { event, after_flush: AfterFlush::default() }
    }
}

impl Decoder for Blkparse {
    fn has_completions(&self) -> bool {
        self.event != TraceEvent::Complete
    }

    fn decode<'a>(&'a mut self, piece: &'a [u8]) -> Option<Line<'a>> {
        let line = parse(piece, self.event)?;
        Some(if self.event == TraceEvent::Queue { self.after_flush.split(line) } else { line })
    }

    fn held(&mut self) -> Option<Entry<'_>> {
        self.after_flush.held()
    }

    fn expected(&self) -> &'static str {
        EXPECTED
    }
}

/// Reads one line; `None` if it starts as an event and is none.
pub fn parse(line: &[u8], event: TraceEvent) -> Option<Line<'static>> {
    let mut rest = line;
    let device = word(&mut rest);
    if !is_device(device) {
        // A wrong guess of the format must not swallow a binary file as text that is no event.
        return (!line.trim_ascii().is_empty() && !is_binary(line)).then_some(Line::Skip(NO_EVENT));
    }
    whole(word(&mut rest))?; // cpu
    whole(word(&mut rest))?; // sequence
    let (seconds, nanoseconds) = time(word(&mut rest))?;
    whole(word(&mut rest))?; // pid
    let action = word(&mut rest);
    let is_played = action == letter(event);
    if !is_played && action != letter(TraceEvent::Complete) {
        return other_action(action).map(Line::Skip);
    }
    let flags = word(&mut rest);
    let is_wrapped =
        WRAPPED_SECONDS.iter().any(|wrap| (wrap - WRAP_REACH..=*wrap).contains(&seconds));
    let ticks = seconds.checked_mul(1_000_000_000).and_then(|ticks| ticks.checked_add(nanoseconds));
    if !is_played {
        let kind = other_action(action)?;
        let line =
            ticks.filter(|_| !is_wrapped).and_then(|ticks| request(ticks, device, flags, rest));
        return Some(match line {
            Some(Line::Request(entry)) => Line::Completion(entry, kind),
            _ => Line::Skip(kind),
        });
    }
    if is_wrapped {
        return Some(Line::Drop("event from before the trace's start (its time is negative)"));
    }
    request(ticks?, device, flags, rest)
}

/// Among blkparse's events those of one action are few; a headless tail of messages may come first.
pub fn recognise(head: &Head<'_>) -> Option<Guess> {
    let format = TraceFormat::Blkparse;
    let (mut events, mut issued) = (0, 0);
    for line in &head.lines {
        match parse(line, TraceEvent::Issue) {
            Some(Line::Request(_) | Line::Drop(_)) => issued += 1,
            Some(Line::Completion(..)) => events += 1,
            Some(Line::Skip(kind)) if kind != NO_EVENT => events += 1,
            _ => {}
        }
    }
    let (all, events) = (head.lines.len(), events + issued);
    let why = format!(
        "{events} of the first {all} lines are blkparse events, {issued} of them with action D"
    );
    let strength = (events * 100 / all.max(1)) as u32;
    (events > 0 && events * 2 >= all).then_some(Guess { format, strength, why, doubt: None })
}

/// The letter of an event's action.
pub fn letter(event: TraceEvent) -> &'static [u8] {
    match event {
        TraceEvent::Queue => b"Q",
        TraceEvent::Issue => b"D",
        TraceEvent::Complete => b"C",
    }
}

/// True for `major,minor`.
pub fn is_device(mut word: &[u8]) -> bool {
    digits(&mut word).is_some() && expect(&mut word, b',').is_some() && whole(word).is_some()
}

/// A device number from `major,minor`.
pub fn node(text: &[u8]) -> Option<u32> {
    let comma = find(text, b',').filter(|_| is_device(text))?;
    let major = whole(&text[..comma]).filter(|major| *major < 1 << 12)?;
    let minor = whole(&text[comma + 1..]).filter(|minor| *minor < 1 << 20)?;
    Some((major << 20 | minor) as u32)
}

fn time(mut word: &[u8]) -> Option<(u64, u64)> {
    let seconds = digits(&mut word)?;
    expect(&mut word, b'.')?;
    (word.len() == 9).then_some((seconds, whole(word)?))
}

/// Name of an event of an action that is not played.
pub fn other_action(action: &[u8]) -> Option<&'static str> {
    Some(match action {
        b"Q" => "Q event (queued)",
        b"G" => "G event (request allocated)",
        b"I" => "I event (inserted)",
        b"C" => "C event (completed)",
        b"D" => "D event (issued)",
        b"M" | b"F" => "M or F event (merged)",
        b"A" => "A event (remapped)",
        b"P" | b"U" | b"UT" => "P, U or UT event (plugging)",
        b"m" => "m event (message)",
        b"" => return None,
        _ => "event of another action",
    })
}

/// The part of an event after its flags: `sector + sectors [process]`, or nothing for a request
/// without a range.
fn request(ticks: u64, device: &[u8], flags: &[u8], mut rest: &[u8]) -> Option<Line<'static>> {
    if flags.is_empty() || !flags.iter().all(u8::is_ascii_alphabetic) {
        return None;
    }
    let Some(flags) = Flags::read(flags) else {
        return Some(Line::Drop(UNKNOWN_KIND));
    };
    let (lba, sectors) = match word(&mut rest) {
        [] => return None, // not even the process: the line was cut
        [b'[', ..] => (0, 0),
        sector => match word(&mut rest) {
            b"+" => (whole(sector)?, whole(word(&mut rest))?),
            [b'(', ..] => return Some(Line::Drop(PASS_THROUGH)),
            _ => return None,
        },
    };
    flags.request(ticks, DeviceName::Node(node(device)?), lba, u32::try_from(sectors).ok()?)
}
