//! MSR Cambridge csv: `ticks,host,disk,Read|Write,offset,size,response`.
//!
//! Ticks and response times are of 100 ns: what is finer is rounded down and counted. A trace that
//! is MSR itself keeps its FILETIME; others start where the set's own week begins. A device whose
//! name is no `host,disk` becomes `name,0`.

use super::names::{fitted, suffix};
use super::{About, Encoder, Losses, bytes_of, count_dataless, count_missing};
use crate::Record;
use manx_base::units::Op;
use std::io::{self, Write};

/// The FILETIME of a trace that has none: 22 February 2007, 17:00 UTC, the hour in which most of
/// the set begins.
pub const START: u64 = 128_166_372_000_000_000;

const TICK_NS: u64 = 100;

/// Writes MSR Cambridge csv.
pub struct Msr {
    start: u64,
    devices: Vec<String>,
    renamed: Vec<bool>,
}

impl Msr {
    /// A writer for a trace.
    pub fn new(about: &About) -> Self {
        let devices = fitted(&about.names, host_and_disk);
        let renamed =
            devices.iter().zip(&about.names).map(|(device, name)| device != name).collect();
        Self { start: about.filetime.unwrap_or(START), devices, renamed }
    }
}

/// `host,disk`: the name itself where it is one already.
fn host_and_disk(name: &str, tries: u32) -> String {
    let is_one = |(host, disk): (&str, &str)| {
        !host.is_empty() && !disk.is_empty() && disk.bytes().all(|byte| byte.is_ascii_digit())
    };
    if tries == 0 && name.split_once(',').is_some_and(is_one) {
        return name.to_string();
    }
    let host = name.replace(|c: char| c == ',' || c == '"' || c.is_control(), "-");
    let host = if host.is_empty() { "device" } else { &host };
    format!("{host}{},0", suffix(tries))
}

impl Encoder for Msr {
    fn begin(&mut self, _: &mut Vec<u8>) -> io::Result<()> {
        Ok(())
    }

    fn encode(
        &mut self,
        record: &Record,
        losses: &mut Losses,
        out: &mut Vec<u8>,
    ) -> io::Result<()> {
        if count_dataless(record.op, losses) {
            return Ok(());
        }
        count_missing(record, true, losses);
        if !record.at.as_ns().is_multiple_of(TICK_NS) {
            losses.altered.add("time rounded down to 100 ns");
        }
        match record.latency {
            Some(latency) if !latency.as_ns().is_multiple_of(TICK_NS) => {
                losses.altered.add("latency rounded down to 100 ns");
            }
            Some(_) => {}
            None => losses.altered.add("without a latency: 0 written"),
        }
        let device = record.device as usize;
        if self.renamed[device] {
            losses.altered.add("device renamed: the format has `host,disk`");
        }
        let ticks = self.start.saturating_add(record.at.as_ns() / TICK_NS);
        let kind = if record.op == Op::Read { "Read" } else { "Write" };
        let (offset, bytes) = bytes_of(record);
        let response = record.latency.map_or(0, |latency| latency.as_ns() / TICK_NS);
        writeln!(out, "{ticks},{},{kind},{offset},{bytes},{response}", self.devices[device])
    }

    fn end(&mut self, _: &mut Vec<u8>) -> io::Result<()> {
        Ok(())
    }
}
