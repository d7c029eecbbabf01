//! blkreplay's loads: `start ; sector ; sectors ; op ; delay ; duration` (Schoebel-Theuer's
//! blkreplay, its example-load folder).
//!
//! Seconds with up to nine decimals, sectors of 512 bytes, `R` or `W`, perhaps with more letters as
//! in `RA`. A licence and a line of column names go before the records, and again in the middle
//! where loads were put together. Delay and duration are 0 unless the load was replayed; a duration
//! is kept as the latency.

use crate::TraceFormat;
use crate::decode::{Decoder, DeviceName, Entry, Line};
use crate::fields::{decimal, field, is_binary, whole};
use crate::rwbs::{Flags, UNKNOWN_KIND};
use crate::sniff::{Guess, Head, Look};

/// Reads blkreplay's loads.
pub struct Blkreplay;

impl Decoder for Blkreplay {
    fn decode<'a>(&'a mut self, piece: &'a [u8]) -> Option<Line<'a>> {
        if !looks_like_a_record(piece) {
            return (!piece.trim_ascii().is_empty() && !is_binary(piece))
                .then_some(Line::Skip("header text"));
        }
        parse(piece)
    }

    fn expected(&self) -> &'static str {
        "a blkreplay record: `start ; sector ; sectors ; R|W ; delay ; duration` in seconds with \
         at most nine decimals, the sector below 2^47"
    }
}

/// Knows the records, after whatever header.
pub fn recognise(head: &Head<'_>) -> Option<Guess> {
    head.by_lines(TraceFormat::Blkreplay, &mut Blkreplay, Look::Sectors, |_| true)
}

/// Whether a line begins with a number and a semicolon, or is cut before the semicolon: then it is
/// a record or wrong.
fn looks_like_a_record(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    let number = line.iter().take_while(|b| matches!(b, b'0'..=b'9' | b'.')).count();
    number > 0 && matches!(line[number..].trim_ascii_start(), [] | [b';', ..])
}

/// Reads one line; `None` if it is no record.
pub fn parse(line: &[u8]) -> Option<Line<'_>> {
    let mut rest = Some(line);
    let mut next = || field(&mut rest, b';').map(<[u8]>::trim_ascii);
    let ticks = seconds(next()?)?;
    let lba = whole(next()?)?;
    let sectors = u32::try_from(whole(next()?)?).ok()?;
    let letters = next()?;
    let delay = next()?;
    seconds(delay.strip_prefix(b"-").unwrap_or(delay))?;
    let duration = seconds(next()?)?;
    if rest.is_some() || letters.is_empty() || !letters.iter().all(u8::is_ascii_alphabetic) {
        return None;
    }
    let flags = match letters {
        b"r" => Flags::read(b"R"),
        b"w" => Flags::read(b"W"),
        letters => Flags::read(letters),
    };
    let Some(flags) = flags else { return Some(Line::Drop(UNKNOWN_KIND)) };
    Some(match flags.request(ticks, DeviceName::Only, lba, sectors)? {
        Line::Request(entry) => {
            Line::Request(Entry { latency: (duration > 0).then_some(duration), ..entry })
        }
        line => line,
    })
}

/// Seconds in nanoseconds, exactly.
fn seconds(mut text: &[u8]) -> Option<u64> {
    let value = decimal(&mut text, 9)?;
    text.is_empty().then_some(value)
}

#[cfg(test)]
mod tests {
    use crate::tests::{opener, read, short, spec};
    use crate::{TraceError, survey};
    use manx_base::units::Duration;
    use manx_base::units::Op;

    const LOAD: &str = "\
Copyright of nobody, made 2012 by hand
1. This notice has a number in front

#####
start ; sector; length ; op ;  replay_delay=0 ; replay_duration=0
      0.100000000 ;     800 ;   64 ; W ; 0.0 ; 0.0
      0.100000001 ;       0 ;    1 ; RA ; 0.0 ; 0.000250000
A second header; of another load
start ; sector; length ; op ;  replay_delay=0 ; replay_duration=0
      2.5 ;     900 ;   8 ; r ; -0.1 ; 0.0
      2.6 ;     900 ;   0 ; W ; 0.0 ; 0.0
";

    #[test]
    fn records_are_found_among_headers() {
        let records = read(LOAD).unwrap();
        let what: Vec<_> =
            records.iter().map(|r| (r.op, short(r), r.latency.map(Duration::as_ns))).collect();
        assert_eq!(
            what,
            [
                (Op::Write, (0, 800, 64, 0), None),
                (Op::Read, (1, 0, 1, 0), Some(250_000)),
                (Op::Read, (2_400_000_000, 900, 8, 0), None),
            ]
        );
        let summary = survey(&spec(), &mut opener(LOAD)).unwrap();
        assert_eq!((summary.skipped_lines.get("header text"), summary.dropped.total()), (6, 1));
    }

    #[test]
    fn a_wrong_record_is_no_header() {
        for wrong in [
            "1.2 ; 8 ; 8 ; R ; 0.0\n",
            "1.2 ; 8x ; 8 ; R ; 0.0 ; 0.0\n",
            "1.0000000001 ; 8 ; 8 ; R ; 0 ; 0\n",
        ] {
            let error = survey(&spec(), &mut opener(format!("{LOAD}{wrong}"))).unwrap_err();
            assert!(matches!(error, TraceError::Line { .. }), "{error}");
        }
        for cut in [1, 12, 20] {
            let error = survey(
                &spec(),
                &mut opener(format!("{LOAD}{}", &"1.2 ; 80000 ; 8 ; R ; 0.0 ; 0.0"[..cut])),
            );
            assert!(matches!(error, Err(TraceError::Truncated { .. })), "{cut}: {error:?}");
        }
        let binary = survey(&spec(), &mut opener(format!("{LOAD}\0\x01\n")));
        assert!(matches!(binary, Err(TraceError::NotText { .. })), "{binary:?}");
    }
}
