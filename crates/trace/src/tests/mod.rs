//! Hand-made traces of a few lines, in the real formats.

mod errors;
mod family;
mod mutated;
mod never_panics;
mod readers;
mod replay;
mod treatment;

use super::sniff::sniff;
use super::{Opener, Part, Reading, Record, TraceError, TraceReader};
use crate::{TimeUnit, TraceFormat, TraceSpec};
use manx_base::units::{Duration, Lba};
use std::io::Cursor;

pub(super) const MSR: &str = "\
128166372003061629,usr,0,Read,7014609920,24576,41286
128166372016382155,usr,0,Write,2517696512,4096,6359
128166372016382155,usr,1,Read,512,1024,900
";

pub(super) const ASCII: &str = "\
1000 0 80 8 1
1500 2 160 16 0
2500 0 88 8 1
";

/// Shapes of blkparse output: events of several actions, flushes, a discard, FUA, a wrapped time,
/// the summary.
pub(super) const BLKPARSE: &str = "\
  8,16   3        1     0.000000000  3645  Q   R 4938888 + 256 [java]
  8,16   3        2     0.000001000  3645  P   N [java]
  8,16   3        3     0.000002000  3645  U   N [java] 1
  8,16   3        0     0.000002500     0  m   N cfq3645 Not idling. st->count:1
  8,16   3        5     0.000026421  3645  D   R 4938888 + 256 [java]
  8,16   3        6     0.000030000  3645  D  WFS 1000 + 8 [jbd2/sdb]
  8,16   3        7     0.000029000  3645  D  FN [kworker/3:1H]
  8,16   3        8     0.000031000  3645  D  FF 18446744073709551615 + 0 [kworker/3:1H]
  8,16   3        9     0.000032000  3645  D  DS 2048 + 4096 [fstrim]
  8,16   3       10     0.000033000  3645  D   R 36 (12 00 00 00 24 00 ..) [smartctl]
  8,16   3       11     0.000034000  3645  D   W 77 + 0 [java]
  8,16   3       12     0.001795683  3557  C   R 4938888 + 256 [0]
  8,17   3       13     0.002000000  3645  A   R 1444645666 + 256 <- (8,17) 1444645632
  8,16   3       14 1266874889.708668759  3646  D   R 5632664 + 256 [java]
CPU0 (8,16):
 Reads Queued:           0,        0KiB\t Writes Queued:           0,        0KiB

Total (8,16):
Throughput (R/W): 0KiB/s / 0KiB/s
Events (8,16): 29662 entries
";

pub(super) fn opener(text: impl Into<Vec<u8>>) -> Opener {
    let text = text.into();
    Box::new(move || Ok(vec![part(text.clone())]))
}

pub(super) fn spec() -> TraceSpec {
    TraceSpec::new("t.trace")
}

pub(super) fn part(text: impl Into<Vec<u8>>) -> Part {
    Part { file: "t.trace".into(), stream: Box::new(Cursor::new(text.into())) }
}

/// All records of a text whose format is found.
pub(super) fn read(text: impl AsRef<[u8]>) -> Result<Vec<Record>, TraceError> {
    let sniffed = sniff(&spec(), &mut opener(text.as_ref()))?;
    records(text, sniffed.format, sniffed.reading)
}

pub(super) fn read_as(
    text: impl AsRef<[u8]>,
    format: TraceFormat,
    unit: TimeUnit,
) -> Result<Vec<Record>, TraceError> {
    let time = format.info().time.map(|_| unit);
    records(text, format, Reading { time, ..Reading::default() })
}

pub(super) fn records(
    text: impl AsRef<[u8]>,
    format: TraceFormat,
    reading: Reading,
) -> Result<Vec<Record>, TraceError> {
    let mut reader = TraceReader::new(format, reading, vec![part(text.as_ref())])?;
    let mut records = Vec::new();
    while let Some(record) = reader.next_record()? {
        records.push(record);
    }
    Ok(records)
}

/// (time in ns, first sector, sectors, device) of a record.
pub(super) fn short(record: &Record) -> (u64, u64, u32, u32) {
    let Record { at, lba: Lba(lba), sectors, device, .. } = *record;
    (Duration::as_ns(at), lba, sectors, device)
}
