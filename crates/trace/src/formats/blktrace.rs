//! blktrace binary: what the kernel gives each CPU's file (struct `blk_io_trace`, version 7, and
//! the categories `BLK_TC_*` and actions `__BLK_TA_*` of include/uapi/linux/blktrace_api.h).
//!
//! An event is a header of 48 bytes and `pdu_len` bytes of payload. The header is in the byte order
//! of the machine that traced, which its magic number shows. Bytes are bytes, the sector has 512 of
//! them. The low half of `action` is the event (its bit 8 only says that a cgroup's number is in
//! the payload), the high half the categories. Notices (process names, the clock, messages) stand
//! among the events. Each file is nearly in time order; the reader merges them.

use super::blkparse::other_action;
use crate::decode::{Decoder, DeviceName, Entry, Framing, Line, WIDENED};
use crate::fields::{le16, le32, le64};
use crate::rwbs::{AfterFlush, Flags, PASS_THROUGH};
use crate::sniff::{Guess, Head};
use crate::{TraceEvent, TraceFormat};
use manx_base::units::{Op, SECTOR};

/// Bytes of a header.
const HEADER: usize = 48;

/// The magic number with the only version there is.
const MAGIC: u32 = 0x6561_7407;

/// Categories, in the high half of the action.
const WRITE: u32 = 1 << 17;
const FLUSH: u32 = 1 << 18;
const PASSED: u32 = 1 << 25;
const NOTIFY: u32 = 1 << 26;
const DISCARD: u32 = 1 << 29;
const DRIVER: u32 = 1 << 30;
const FUA: u32 = 1 << 31;

/// The event in the low half of the action.
const EVENT: u32 = 0xfeff;

/// The event of a request that entered the block layer.
const QUEUE: u32 = 1;

/// That of one that the device completed.
const COMPLETE: u32 = 8;

/// Reads blktrace's binary events.
pub struct Blktrace {
    event: u32,
    payload: usize,
    after_flush: AfterFlush,
}

impl Blktrace {
    /// A reader that takes one kind of event.
    pub fn new(event: TraceEvent) -> Self {
        let event = match event {
            TraceEvent::Queue => QUEUE,
            TraceEvent::Issue => 7,
            TraceEvent::Complete => COMPLETE,
        };
        Self { event, payload: 0, after_flush: AfterFlush::default() }
    }
}

impl Decoder for Blktrace {
    fn framing(&self) -> Framing {
        Framing::Records(HEADER)
    }

    fn has_completions(&self) -> bool {
        self.event != COMPLETE
    }

    fn decode<'a>(&'a mut self, piece: &'a [u8]) -> Option<Line<'a>> {
        let header: &[u8; HEADER] = piece.try_into().ok()?;
        let swapped = is_swapped(header)?;
        let u32_at =
            |at| le32(header, at).map(|value| if swapped { value.swap_bytes() } else { value });
        let u64_at =
            |at| le64(header, at).map(|value| if swapped { value.swap_bytes() } else { value });
        let payload = le16(header, 46)?;
        self.payload = usize::from(if swapped { payload.swap_bytes() } else { payload });
        let action = u32_at(28)?;
        let is_completion =
            self.has_completions() && action & EVENT == COMPLETE && action & PASSED == 0;
        if action & EVENT != self.event && !is_completion || action & (NOTIFY | DRIVER) != 0 {
            return Some(Line::Skip(kind(action)));
        }
        if action & PASSED != 0 {
            return Some(Line::Drop(PASS_THROUGH));
        }
        let bytes = u64::from(u32_at(24)?);
        let device = DeviceName::Node(u32_at(36)?);
        let line =
            flags(action).request(u64_at(8)?, device, u64_at(16)?, bytes.div_ceil(SECTOR) as u32);
        if is_completion {
            return Some(match line {
                Some(Line::Request(entry)) => Line::Completion(entry, kind(action)),
                _ => Line::Skip(kind(action)),
            });
        }
        let line = line?;
        let widened = (!bytes.is_multiple_of(SECTOR)).then_some(WIDENED);
        if self.event == QUEUE && action & FLUSH != 0 {
            return Some(self.after_flush.split_altered(line, widened));
        }
        Some(match line {
            Line::Request(entry) => {
                Line::Request(Entry { altered: entry.altered.or(widened), ..entry })
            }
            line => line,
        })
    }

    fn held(&mut self) -> Option<Entry<'_>> {
        self.after_flush.held()
    }

    fn payload(&self) -> usize {
        self.payload
    }

    fn expected(&self) -> &'static str {
        "a blktrace event: a header of 48 bytes that starts with the magic number 0x65617407 (of \
         either byte order), with its sector below 2^47"
    }
}

/// Knows the magic number.
pub fn recognise(head: &Head<'_>) -> Option<Guess> {
    let order = if is_swapped(head.bytes.first_chunk::<HEADER>()?)? {
        "not this machine's"
    } else {
        "little endian"
    };
    let why = format!("it starts with the magic number of blktrace, {order}");
    Some(Guess { format: TraceFormat::Blktrace, strength: 1000, why, doubt: None })
}

/// Whether a header is of the other byte order; `None` if it is none.
#[inline]
fn is_swapped(header: &[u8; HEADER]) -> Option<bool> {
    match le32(header, 0)? {
        MAGIC => Some(false),
        magic if magic.swap_bytes() == MAGIC => Some(true),
        _ => None,
    }
}

/// Kind of a request, from its categories.
#[inline]
fn flags(action: u32) -> Flags {
    let op = match action {
        _ if action & DISCARD != 0 => Op::Trim,
        _ if action & WRITE != 0 => Op::Write,
        _ => Op::Read,
    };
    let fua = op == Op::Write && action & FUA != 0;
    Flags { preflush: action & FLUSH != 0, op, dataless: false, fua }
}

/// Name of an event that is not played, as blkparse's letters have it.
fn kind(action: u32) -> &'static str {
    let letter: &[u8] = match action & EVENT {
        _ if action & NOTIFY != 0 => return "notice (process, clock or message)",
        _ if action & DRIVER != 0 => return "data of a driver",
        1 => b"Q",
        2 | 3 => b"M",
        4 => b"G",
        7 => b"D",
        8 => b"C",
        9..=11 => b"P",
        12 => b"I",
        15 => b"A",
        _ => b"X",
    };
    other_action(letter).unwrap_or("event of another action")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{part, records, short, spec};
    use crate::{Opener, Part, Reading, TraceReader, survey, survey_each};

    const R: u32 = 1 << 16;
    const ISSUE: u32 = 7 | 1 << 22;

    /// An event as a little endian kernel writes it, with `payload` bytes after it.
    fn event(time: u64, sector: u64, bytes: u32, action: u32, payload: u16) -> Vec<u8> {
        let mut event = Vec::new();
        event.extend(MAGIC.to_le_bytes());
        event.extend(1u32.to_le_bytes());
        event.extend(time.to_le_bytes());
        event.extend(sector.to_le_bytes());
        // bytes, action, pid, device 8,16, cpu
        [bytes, action, 77, 8 << 20 | 16, 1]
            .iter()
            .for_each(|word| event.extend(word.to_le_bytes()));
        event.extend(0u16.to_le_bytes());
        event.extend(payload.to_le_bytes());
        event.resize(HEADER + usize::from(payload), 0xEE);
        event
    }

    /// This event as a big endian kernel writes it.
    fn big_endian(mut event: Vec<u8>) -> Vec<u8> {
        for (start, end) in
            [(0, 4), (4, 8), (8, 16), (16, 24), (24, 28), (28, 32), (32, 36), (36, 40), (40, 44)]
        {
            event[start..end].reverse();
        }
        event[44..46].reverse();
        event[46..48].reverse();
        event
    }

    fn file() -> Vec<Vec<u8>> {
        vec![
            event(900, 0, 0, NOTIFY, 5),                        // a process's name
            event(1000, 80, 4096, 1 | R, 0),                    // Q
            event(1005, 80, 4096, 15 | R, 16),                  // A with its payload
            event(1010, 80, 4096, ISSUE | R | 0x100, 8),        // D with a cgroup's number
            event(1030, 1000, 512, ISSUE | WRITE | FUA, 0),     // D WF
            event(1020, u64::MAX, 0, ISSUE | WRITE | FLUSH, 0), // D FW, no range, out of order
            event(1040, 2048, 1 << 20, ISSUE | WRITE | DISCARD, 0), // D D
            event(1050, 8, 0, ISSUE | R, 0),                    // zero length
            event(1060, 8, 700, ISSUE | R, 0),                  // two sectors
            event(1070, 0, 36, ISSUE | R | PASSED, 6),          // a SCSI command
            event(1080, 8, 1024, ISSUE | WRITE | FLUSH, 0),     // FW with data
            event(1090, 80, 4096, 8 | R, 0),                    // C
        ]
    }

    #[test]
    fn issue_events_are_taken_and_the_others_passed_over_with_their_payload() {
        let records = records(file().concat(), TraceFormat::Blktrace, Reading::default()).unwrap();
        let what: Vec<_> = records.iter().map(|r| (r.op, short(r), r.fua)).collect();
        assert_eq!(
            what,
            [
                (Op::Read, (0, 80, 8, 0), false),
                (Op::Flush, (10, 0, 0, 0), false),
                (Op::Write, (20, 1000, 1, 0), true),
                (Op::Trim, (30, 2048, 2048, 0), false),
                (Op::Read, (50, 8, 2, 0), false),
                (Op::Write, (70, 8, 2, 0), false),
            ]
        );
    }

    #[test]
    fn what_is_passed_over_is_counted_by_kind() {
        let bytes = file().concat();
        let mut opener: Opener = Box::new(move || Ok(vec![part(bytes.clone())]));
        let summary = survey(&spec(), &mut opener).unwrap();
        assert_eq!(
            (summary.format, summary.requests, summary.reordered),
            (TraceFormat::Blktrace, 6, 1)
        );
        for kind in ["notice (process, clock or message)", "Q event (queued)", "A event (remapped)"]
        {
            assert_eq!(summary.skipped_lines.get(kind), 1, "{kind}");
        }
        assert_eq!(summary.skipped_lines.total(), 4);
        assert_eq!(
            (summary.dropped.get(PASS_THROUGH), summary.dropped.get("request of zero length")),
            (1, 1)
        );
        assert_eq!((summary.altered.get(WIDENED), summary.altered.total()), (1, 2));
        assert_eq!(summary.devices[0].name, "8,16");
    }

    #[test]
    fn another_event_can_be_played() {
        for (event, at) in [(TraceEvent::Queue, 0), (TraceEvent::Complete, 0)] {
            let reading = Reading { event, ..Reading::default() };
            let records = records(file().concat(), TraceFormat::Blktrace, reading).unwrap();
            assert_eq!(records.iter().map(short).collect::<Vec<_>>(), [(at, 80, 8, 0)]);
        }
    }

    #[test]
    fn the_file_of_an_idle_cpu_is_empty_and_no_obstacle() {
        let open = |parts: Vec<Vec<u8>>| -> Opener {
            Box::new(move || Ok(parts.iter().map(|p| part(p.clone())).collect()))
        };
        let summary = survey(&spec(), &mut open(vec![vec![], file().concat(), vec![]])).unwrap();
        assert_eq!((summary.format, summary.requests), (TraceFormat::Blktrace, 6));
        let error = survey(&spec(), &mut open(vec![vec![], vec![]])).unwrap_err();
        assert!(matches!(error, crate::TraceError::Empty { .. }), "{error}");
    }

    #[test]
    fn a_completion_on_another_cpu_gives_the_latency_from_queue_or_issue() {
        let first = [event(1000, 80, 4096, 1 | R, 0), event(1500, 80, 4096, ISSUE | R, 0)].concat();
        let done = [event(900, 8, 512, 8 | R, 0), event(4000, 80, 4096, 8 | R, 0)].concat();
        for (event, latency) in [(TraceEvent::Issue, 2500), (TraceEvent::Queue, 3000)] {
            let (first, done) = (first.clone(), done.clone());
            let mut open: Opener =
                Box::new(move || Ok(vec![part(first.clone()), part(done.clone())]));
            let played = crate::TraceSpec { event, ..spec() };
            let mut records = Vec::new();
            let summary =
                survey_each(&played, &mut open, &mut |record| records.push(*record)).unwrap();
            assert_eq!(
                records.iter().map(|r| r.latency.map(|l| l.as_ns())).collect::<Vec<_>>(),
                [Some(latency)]
            );
            assert_eq!((summary.recorded.count(), summary.unpaired.total()), (1, 1), "{summary}");
            assert!(summary.to_string().contains("completion without its request"), "{summary}");
        }
    }

    #[test]
    fn a_queued_write_with_a_flush_before_it_is_both() {
        // A journal's commit: the block layer sends the flush and the write one after the other
        // (D), but one request is queued (Q).
        let queued = [
            event(1000, 80, 4096, 1 | R, 0),
            event(2000, 1000, 512, 1 | WRITE | FLUSH | FUA, 3),
            event(3000, 0, 0, 1 | WRITE | FLUSH, 0),
            event(4000, 8, 700, 1 | WRITE | FLUSH, 0),
        ];
        let reading = Reading { event: TraceEvent::Queue, ..Reading::default() };
        let records = records(queued.concat(), TraceFormat::Blktrace, reading).unwrap();
        assert_eq!(
            records.iter().map(|r| (r.op, short(r), r.fua)).collect::<Vec<_>>(),
            [
                (Op::Read, (0, 80, 8, 0), false),
                (Op::Flush, (1000, 0, 0, 0), false),
                (Op::Write, (1000, 1000, 1, 0), true),
                (Op::Flush, (2000, 0, 0, 0), false),
                (Op::Flush, (3000, 0, 0, 0), false),
                (Op::Write, (3000, 8, 2, 0), false),
            ]
        );
        let played = crate::TraceSpec { event: TraceEvent::Queue, ..spec() };
        let summary =
            survey(&played, &mut (Box::new(move || Ok(vec![part(queued.concat())])) as Opener))
                .unwrap();
        assert_eq!((summary.altered.get(WIDENED), summary.altered.total()), (1, 1));
    }

    #[test]
    fn both_byte_orders_say_the_same_and_files_of_cpus_are_merged_by_time() {
        let other: Vec<u8> = file().into_iter().flat_map(big_endian).collect();
        let read = |bytes| records(bytes, TraceFormat::Blktrace, Reading::default()).unwrap();
        assert_eq!(read(other.clone()), read(file().concat()));
        let second = event(1015, 7, 512, ISSUE | R, 0);
        let parts: Vec<Part> =
            vec![part(other), part([second, event(1041, 9, 512, ISSUE | R, 0)].concat())];
        let mut reader =
            TraceReader::new(TraceFormat::Blktrace, Reading::default(), parts).unwrap();
        let mut merged = Vec::new();
        while let Some(record) = reader.next_record().unwrap() {
            merged.push((record.at.as_ns(), record.lba.0));
        }
        assert_eq!(
            merged,
            [(0, 80), (5, 7), (10, 0), (20, 1000), (30, 2048), (31, 9), (50, 8), (70, 8)]
        );
    }

    #[test]
    fn a_cut_file_and_a_lost_magic_are_named() {
        let fault = |bytes: &[u8]| {
            records(bytes, TraceFormat::Blktrace, Reading::default()).unwrap_err().to_string()
        };
        let bytes = file().concat();
        for cut in [60, HEADER + 2] {
            assert!(fault(&bytes[..cut]).contains("truncated"), "{}", fault(&bytes[..cut]));
        }
        let spoilt = [event(1, 1, 512, ISSUE, 0), vec![0; HEADER]].concat();
        assert!(
            fault(&spoilt).contains("record 2: `00 00") && fault(&spoilt).contains("0x65617407")
        );
        assert!(fault(&event(1, 1 << 47, 512, ISSUE, 0)).contains("below 2^47"));
    }
}
