//! fio's iologs (HOWTO "Trace file format v2, v3", and iolog.c where it says otherwise). Version 1
//! is dead.
//!
//! The first line names the version. Each file is a device; offsets and lengths are bytes; `add`,
//! `open` and `close` are no requests; file names may hold spaces, so fields are taken from both
//! ends.
//!
//! Version 3: `timestamp file action [offset length]`, the time since fio's start. The manual names
//! no unit; fio writes microseconds.
//!
//! Version 2: `file action [offset length]` has no times but those of `wait`, which stands for
//! every request until the next one: without any, all requests come at time 0. The manual and the
//! program disagree on what it says, so the unit chooses: `ms` (and `s`), as iolog.c does it, is
//! the time since fio's start until which it waits; `us` (and `ns`), as the manual has it, is a
//! pause after the previous `wait`, where one below 100 us is discarded.

use crate::decode::{Decoder, DeviceName, Entry, Line, Reading, ZERO_LENGTH, sectors_of};
use crate::fields::{digits, is_binary, last_word, whole};
use crate::sniff::{Guess, Head};
use crate::{TimeUnit, TraceFormat, unit_ns};
use manx_base::units::Op;

const VERSION_2: &[u8] = b"fio version 2 iolog";

const VERSION_3: &[u8] = b"fio version 3 iolog";

/// Name of the line with the version.
const HEADER: Line<'static> = Line::Skip("header line");

/// A pause that fio's manual says is discarded.
const SHORT_PAUSE: u64 = 100_000;

/// Reads version 2.
pub struct FioV2 {
    unit: TimeUnit,
    /// The time that the waits so far lead to.
    now: u64,
}

impl FioV2 {
    /// A reader of waits in the unit given, with the meaning that the unit has; milliseconds where
    /// none is.
    pub fn new(reading: Reading) -> Self {
        Self { unit: reading.time.unwrap_or(TimeUnit::Ms), now: 0 }
    }

    /// Waits; `None` where the time does not fit.
    fn wait(&mut self, count: u64) -> Option<Line<'static>> {
        let time = count.checked_mul(unit_ns(self.unit))?;
        match self.unit {
            TimeUnit::Ms | TimeUnit::S => self.now = self.now.max(time),
            TimeUnit::Us | TimeUnit::Ns if time < SHORT_PAUSE => {
                return Some(Line::Skip("wait below 100 us"));
            }
            TimeUnit::Us | TimeUnit::Ns => self.now = self.now.checked_add(time)?,
        }
        Some(Line::Skip("wait"))
    }
}

impl Decoder for FioV2 {
    fn decode<'a>(&'a mut self, piece: &'a [u8]) -> Option<Line<'a>> {
        if piece.trim_ascii_end() == VERSION_2 {
            return Some(HEADER);
        }
        let call = Call::read(piece)?;
        match call.action {
            b"wait" => self.wait(call.offset),
            _ => call.line(self.now),
        }
    }

    fn expected(&self) -> &'static str {
        "a line of fio's iolog v2: `file add|open|close` or \
         `file read|write|trim|sync|datasync|wait offset length` in bytes, offsets below 64 PiB, \
         lengths below 2 TiB, after `fio version 2 iolog`"
    }
}

/// Reads version 3.
pub struct FioV3 {
    unit: u64,
}

impl FioV3 {
    /// A reader of times in the unit given; microseconds where none is.
    pub fn new(reading: Reading) -> Self {
        Self { unit: unit_ns(reading.time.unwrap_or(TimeUnit::Us)) }
    }
}

impl Decoder for FioV3 {
    fn decode<'a>(&'a mut self, piece: &'a [u8]) -> Option<Line<'a>> {
        if piece.trim_ascii_end() == VERSION_3 {
            return Some(HEADER);
        }
        let mut rest = piece.trim_ascii_start();
        let ticks = digits(&mut rest)?.checked_mul(self.unit)?;
        if !matches!(rest, [b' ' | b'\t', ..]) {
            return None;
        }
        Call::read(rest)?.line(ticks)
    }

    fn expected(&self) -> &'static str {
        "a line of fio's iolog v3: `timestamp file add|open|close` or \
         `timestamp file read|write|trim|sync|datasync offset length` in bytes, offsets below 64 \
         PiB, lengths below 2 TiB, after `fio version 3 iolog`"
    }
}

/// Knows the line that names the version.
pub fn recognise(head: &Head<'_>) -> Option<Guess> {
    let first = head.lines.first()?;
    let format = match *first {
        VERSION_2 => TraceFormat::FioV2,
        VERSION_3 => TraceFormat::FioV3,
        _ => return None,
    };
    let why = format!("its first line is `{}`", String::from_utf8_lossy(first));
    Some(Guess { format, strength: 1000, why, doubt: None })
}

/// A call, without its time.
struct Call<'a> {
    file: &'a [u8],
    action: &'a [u8],
    offset: u64,
    length: u64,
}

impl<'a> Call<'a> {
    fn read(mut rest: &'a [u8]) -> Option<Self> {
        let last = last_word(&mut rest);
        let (action, offset, length) = match whole(last) {
            // `sync` may stand without numbers, as an action on the file does.
            None => (last, 0, 0),
            Some(length) => {
                let offset = whole(last_word(&mut rest))?;
                (last_word(&mut rest), offset, length)
            }
        };
        let file = rest.trim_ascii();
        (!file.is_empty() && !is_binary(file)).then_some(Self { file, action, offset, length })
    }

    /// The line of the call at this time; `None` if it is none of fio's.
    fn line(&self, ticks: u64) -> Option<Line<'a>> {
        let device = DeviceName::Text(self.file);
        let op = match self.action {
            b"read" => Op::Read,
            b"write" => Op::Write,
            b"trim" => Op::Trim,
            b"sync" | b"datasync" | b"syncfs" => {
                return Some(Line::Request(Entry::flush(ticks).on(device)));
            }
            b"sync_file_range" => return Some(Line::Drop("sync_file_range: it flushes no device")),
            b"add" | b"open" | b"close" => return Some(Line::Skip("file added, opened or closed")),
            _ => return None,
        };
        if self.length == 0 {
            return Some(Line::Drop(ZERO_LENGTH));
        }
        let (lba, sectors, altered) = sectors_of(self.offset, self.length)?;
        Some(Line::Request(Entry { altered, ..Entry::new(ticks, op, lba, sectors).on(device) }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TraceSpec;
    use crate::tests::{opener, read, records, short, spec};
    use crate::{TraceError, survey};

    const V2: &str = "\
fio version 2 iolog
/dev/my disk add
/dev/my disk open
/dev/my disk write 4096 8192
/dev/my disk wait 1500 0
/tmp/b read 512 512
/tmp/b wait 99 0
/tmp/b wait 3000 0
/tmp/b datasync 0 0
/dev/my disk trim 0 1048576
/dev/my disk close
";

    const V3: &str = "\
fio version 3 iolog
12 /dev/my disk add
15 /dev/my disk open
20190 /dev/my disk write 4096 8192
20290 5 read 100 512
20295 5 sync
20300 /dev/my disk trim 0 1048576
20400 /dev/my disk sync 7 7
20500 /dev/my disk close
";

    fn v2(unit: Option<TimeUnit>) -> Vec<(Op, (u64, u64, u32, u32))> {
        let reading = Reading { time: unit, ..Reading::default() };
        let records = records(V2, TraceFormat::FioV2, reading).unwrap();
        records.iter().map(|r| (r.op, short(r))).collect()
    }

    fn at(write: u64, read: u64, later: u64) -> [(Op, (u64, u64, u32, u32)); 4] {
        [
            (Op::Write, (write, 8, 16, 0)),
            (Op::Read, (read, 1, 1, 1)),
            (Op::Flush, (later, 0, 0, 1)),
            (Op::Trim, (later, 0, 2048, 0)),
        ]
    }

    #[test]
    fn a_wait_is_until_a_time_in_ms_and_a_pause_in_us() {
        assert_eq!(v2(None), at(0, 1_500_000_000, 3_000_000_000));
        assert_eq!(v2(Some(TimeUnit::Ms)), v2(None));
        // 1500 us, then 99 us which are discarded, then 3000 us more.
        assert_eq!(v2(Some(TimeUnit::Us)), at(0, 1_500_000, 4_500_000));
    }

    #[test]
    fn version_3_has_times_of_its_own() {
        let what: Vec<_> = read(V3).unwrap().iter().map(|r| (r.op, short(r))).collect();
        assert_eq!(
            what,
            [
                (Op::Write, (0, 8, 16, 0)),
                (Op::Read, (100_000, 0, 2, 1)),
                (Op::Flush, (105_000, 0, 0, 1)),
                (Op::Trim, (110_000, 0, 2048, 0)),
                (Op::Flush, (210_000, 0, 0, 0)),
            ]
        );
        let summary = survey(&spec(), &mut opener(V3)).unwrap();
        assert_eq!(summary.skipped_lines.get("file added, opened or closed"), 3);
        assert_eq!(
            (summary.devices[0].name.as_str(), summary.devices[1].name.as_str()),
            ("/dev/my disk", "5")
        );
        let ns = TraceSpec { time_unit: Some(TimeUnit::Ns), ..spec() };
        assert_eq!(survey(&ns, &mut opener(V3)).unwrap().span_ns, 210);
    }

    #[test]
    fn the_versions_are_not_taken_for_each_other() {
        for (text, format) in [(V2, TraceFormat::FioV3), (V3, TraceFormat::FioV2)] {
            let error = survey(&TraceSpec { format: Some(format), ..spec() }, &mut opener(text))
                .unwrap_err();
            assert!(error.to_string().contains("t.trace:1: `fio version"), "{error}");
        }
        for line in [
            "5 /f wait 10 0\n",
            "5 /f write x 512\n",
            "5 read 0 512\n",
            "5 /f write 512\n",
            "x /f read 0 512\n",
        ] {
            let error = survey(&spec(), &mut opener(format!("{V3}{line}"))).unwrap_err();
            assert!(matches!(error, TraceError::Line { .. }), "{line}: {error}");
        }
    }
}
