//! The promises of a reader of traces, checked on whatever bytes: for `corpora.rs`, and under
//! coverage for `fuzz/`.
//!
//! The settings (units, event, remapping, where the stream is cut) follow from a hash of the bytes,
//! so that a corpus file is a plain trace.

use crate::dice::Dice;
use manx_base::RequestSource;
use manx_base::units::{Bytes, Duration, Op};
use manx_trace::format::FORMATS;
use manx_trace::sniff::sniff;
use manx_trace::{
    Layout, LbaUnit, MAX_SECTOR, Opener, Part, Reading, Record, Remap, Spread, TimeUnit,
    TraceError, TraceEvent, TraceFormat, TraceOp, TraceReader, TraceSource, TraceSpec,
};
use std::io::{self, Read};
use std::sync::Arc;

/// The format of a name (`manx trace formats`).
pub fn named(name: &str) -> TraceFormat {
    let format = FORMATS.iter().find(|format| format.name == name);
    format.unwrap_or_else(|| panic!("{name}: no such format")).id
}

/// Reads, sniffs and plays the bytes as a trace of the format; without one the sniffer chooses.
pub fn check(format: Option<TraceFormat>, data: &[u8]) {
    let mut dice = Dice::of(data);
    let spec = settings(format, &mut dice);
    let bytes: Arc<[u8]> = data.into();
    if let Some(format) = spec.format {
        let reading = Reading {
            time: spec.time_unit,
            lba: spec.lba_unit,
            event: spec.event,
            spread: spec.spread,
        };
        let whole = read(format, reading, vec![part(&bytes, usize::MAX)]);
        let crumbs = read(format, reading, vec![part(&bytes, 1 + dice.below(7) as usize)]);
        assert_eq!(whole, crumbs, "the records depend on how the stream arrives");
        if dice.below(4) == 0 {
            let _ = read(format, reading, vec![part(&bytes, usize::MAX), part(&bytes, 64)]);
        }
    }
    let mut open: Opener = Box::new(move || Ok(vec![part(&bytes, usize::MAX)]));
    let _ = sniff(&spec, &mut open);
    play(&spec, [1, 100, 5_000, 1 << 40][dice.below(4) as usize], open);
}

/// Every record of the parts, checked; an error ends them.
fn read(
    format: TraceFormat,
    reading: Reading,
    parts: Vec<Part>,
) -> Result<Vec<Record>, TraceError> {
    let mut reader = TraceReader::new(format, reading, parts)?;
    let mut records = Vec::new();
    let mut last = Duration::ZERO;
    while let Some(record) = reader.next_record()? {
        assert!(record.at >= last, "time goes back");
        assert_eq!(record.sectors == 0, record.op == Op::Flush, "{record:?}");
        assert!(record.lba.0 < MAX_SECTOR, "{record:?}");
        assert!((record.device as usize) < reader.device_names().len(), "{record:?}");
        last = record.at;
        records.push(record);
    }
    Ok(records)
}

/// Plays the trace on a device of `capacity` sectors: every request lies on it.
fn play(spec: &TraceSpec, capacity: u64, open: Opener) {
    let Ok((mut source, summary)) = TraceSource::new(spec, capacity, open) else { return };
    assert!(summary.requests > 0);
    let mut last = 0;
    while let Some(request) = source.next_request() {
        assert!(
            request.lba.0 + u64::from(request.sectors) <= capacity,
            "{request:?} beyond {capacity}"
        );
        assert!(request.at.as_ns() >= last, "time goes back");
        last = request.at.as_ns();
    }
    assert_eq!(source.error(), None, "the survey let a fault pass");
}

fn settings(format: Option<TraceFormat>, dice: &mut Dice) -> TraceSpec {
    let units = [TimeUnit::Ns, TimeUnit::Us, TimeUnit::Ms, TimeUnit::S];
    let open = format.map(|format| format.info());
    let has_time = open.is_none_or(|format| format.time.is_some());
    let has_lba = open.is_none_or(|format| format.lba.is_some());
    TraceSpec {
        format,
        time_unit: (has_time && dice.below(4) > 0).then(|| units[dice.below(4) as usize]),
        lba_unit: (has_lba && dice.below(2) > 0)
            .then(|| [LbaUnit::Bytes, LbaUnit::Sectors][dice.below(2) as usize]),
        event: [TraceEvent::Queue, TraceEvent::Issue, TraceEvent::Complete][dice.below(3) as usize],
        spread: [Spread::Even, Spread::None][dice.below(2) as usize],
        layout: [Layout::Concat, Layout::Overlay][dice.below(2) as usize],
        ignore: if dice.below(8) == 0 { vec![TraceOp::Trim, TraceOp::Fua] } else { Vec::new() },
        from: Duration::from_us([0, 0, 0, 1][dice.below(4) as usize]),
        skip: [0, 0, 0, 2][dice.below(4) as usize],
        head: [0, 0, 0, 3][dice.below(4) as usize],
        rebase: dice.below(2) > 0,
        rate_scale: [1.0, 0.3, 1000.0][dice.below(3) as usize],
        repeat: 1 + dice.below(3) as u32,
        align: Bytes::new([0, 0, 4096][dice.below(3) as usize]),
        remap: [Remap::None, Remap::Modulo, Remap::Dense, Remap::Scale][dice.below(4) as usize],
        ..TraceSpec::new("fuzz")
    }
}

/// A stream that gives at most `chunk` bytes at a time.
fn part(bytes: &Arc<[u8]>, chunk: usize) -> Part {
    Part { file: "fuzz".into(), stream: Box::new(Chunks { bytes: bytes.clone(), place: 0, chunk }) }
}

struct Chunks {
    bytes: Arc<[u8]>,
    place: usize,
    chunk: usize,
}

impl Read for Chunks {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let rest = &self.bytes[self.place..];
        let count = rest.len().min(buffer.len()).min(self.chunk);
        buffer[..count].copy_from_slice(&rest[..count]);
        self.place += count;
        Ok(count)
    }
}
