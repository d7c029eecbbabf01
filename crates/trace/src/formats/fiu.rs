//! FIU IODedup text: `ns pid process sector sectors R|W major minor md5` (Koller, Rangaswami: I/O
//! Deduplication, FAST 2010, and the README of the SNIA set).
//!
//! One record for each block of 4 KiB, with a hash of its content, which is not used here. Process
//! names may hold spaces or be cut, so fields are taken from both ends. The set came in tar
//! archives from which files were cut: copies begin with a header of tar (NULs, `ustar`, lines like
//! `28 ctime=...`) and end in its padding. A record that is glued to such a header shares its line
//! and is dropped with it.

use crate::decode::{Decoder, DeviceName, Entry, Line, ZERO_LENGTH};
use crate::fields::{digits, find, is_binary, last_word, whole, word};
use crate::sniff::{Guess, Head, Look};
use crate::{MAX_SECTOR, TraceFormat};
use manx_base::units::Op;

/// Why the first record of such a copy is not played.
const GLUED: &str = "record glued to an archive's header";

/// Reads FIU IODedup text.
pub struct Fiu;

impl Decoder for Fiu {
    fn decode<'a>(&'a mut self, piece: &'a [u8]) -> Option<Line<'a>> {
        parse(piece).or_else(|| archive(piece))
    }

    fn expected(&self) -> &'static str {
        "an FIU record: `ns pid process sector sectors R|W major minor md5` \
         with the sector below 2^47"
    }
}

/// Knows the records, after whatever header of an archive.
pub fn recognise(head: &Head<'_>) -> Option<Guess> {
    head.by_lines(TraceFormat::Fiu, &mut Fiu, Look::Unmistakable, |_| true)
}

/// Reads one line; `None` if it is no record.
pub fn parse(line: &[u8]) -> Option<Line<'_>> {
    let mut rest = line;
    let ticks = whole(word(&mut rest))?;
    whole(word(&mut rest))?; // pid
    let hash = last_word(&mut rest);
    if hash.len() != 32 || !hash.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    let minor = whole(last_word(&mut rest)).filter(|minor| *minor < 1 << 20)?;
    let major = whole(last_word(&mut rest)).filter(|major| *major < 1 << 12)?;
    let op = match last_word(&mut rest) {
        b"R" | b"r" => Op::Read,
        b"W" | b"w" => Op::Write,
        _ => return None,
    };
    let sectors = u32::try_from(whole(last_word(&mut rest))?).ok()?;
    let lba = whole(last_word(&mut rest)).filter(|lba| *lba < MAX_SECTOR)?;
    if is_binary(rest) {
        return None;
    }
    if sectors == 0 {
        return Some(Line::Drop(ZERO_LENGTH));
    }
    let device = DeviceName::Node((major << 20 | minor) as u32);
    Some(Line::Request(Entry::new(ticks, op, lba, sectors).on(device)))
}

/// Part of an archive that a line is, if it is any.
fn archive(line: &[u8]) -> Option<Line<'_>> {
    let Some(tail) = line.iter().rposition(|b| *b == 0).map(|zero| &line[zero + 1..]) else {
        let mut rest = line;
        digits(&mut rest)?;
        let is_attribute = rest.starts_with(b" ") && find(rest, b'=').is_some() && !is_binary(rest);
        return is_attribute.then_some(Line::Skip("attribute in a tar header"));
    };
    if line.iter().all(|b| *b == 0) {
        return Some(Line::Skip("padding of an archive"));
    }
    memchr::memmem::find(line, b"ustar")?;
    Some(if parse(tail).is_some() { Line::Drop(GLUED) } else { Line::Skip("tar header") })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{opener, read, short, spec};
    use crate::{TraceError, survey};

    const LINES: &str = "\
100000 4253 nfsd 5080 8 W 6 0 0123456789abcdef0123456789abcdef
100500 77 my daemon 8 6000 8 R 8 16 0123456789abcdef0123456789abcdef
100900 77  5096 8 R 6 0 0123456789ABCDEF0123456789abcdef
";

    #[test]
    fn names_with_spaces_and_without_letters_do_not_shift_the_fields() {
        let records = read(LINES).unwrap();
        let what: Vec<_> = records.iter().map(|r| (r.op, short(r))).collect();
        let expected = [
            (Op::Write, (0, 5080, 8, 0)),
            (Op::Read, (500, 6000, 8, 1)),
            (Op::Read, (900, 5096, 8, 0)),
        ];
        assert_eq!(what, expected);
    }

    #[test]
    fn what_is_left_of_an_archive_is_passed_over_and_counted() {
        let zeros = "\0".repeat(600);
        let text = format!(
            "./PaxHeaders.1/x\0\0000644\0ustar\x0000{zeros}30 atime=1.5\n\
             28 ctime=1.6\n{zeros}ustar{zeros}"
        );
        let text = format!(
            "{text}99000 1 init 8 8 R 6 0 0123456789abcdef0123456789abcdef\n{LINES}{zeros}"
        );
        let summary = survey(&spec(), &mut opener(text)).unwrap();
        assert_eq!(
            (summary.requests, summary.first_time, summary.dropped.get(GLUED)),
            (3, 100_000, 1)
        );
        for kind in ["tar header", "attribute in a tar header", "padding of an archive"] {
            assert_eq!(summary.skipped_lines.get(kind), 1, "{kind}");
        }
    }

    #[test]
    fn other_zeros_and_cut_hashes_are_errors() {
        let fault = |text: String| survey(&spec(), &mut opener(text)).unwrap_err();
        assert!(matches!(fault(format!("{LINES}\0\0x\0 1\n")), TraceError::NotText { .. }));
        assert!(matches!(
            fault(LINES[..LINES.len() - 3].to_string()),
            TraceError::Truncated { .. }
        ));
        assert!(matches!(fault(LINES.replace(" W ", " X ")), TraceError::Line { .. }));
    }
}
