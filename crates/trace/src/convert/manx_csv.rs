//! Manx's own csv: a header `t_us,op,offset,bytes,latency_us`, then `,device` where the trace has
//! several devices and `,fua` where a request has FUA.
//!
//! Times are microseconds with up to three decimals, which is nanoseconds exactly; `op` is R, W, F
//! or D (discard); offset and bytes are bytes; an absent latency is an empty field; `fua` is 1 or
//! 0. A device name with a comma or a quotation mark is quoted (RFC 4180). It holds all that a
//! record has, but for the name of an only device.

use super::{About, Encoder, Losses, bytes_of};
use crate::Record;
use manx_base::units::Op;
use std::io::{self, Write};

/// Writes Manx csv.
pub struct ManxCsv {
    /// As they are written; none where the column is left out.
    devices: Option<Vec<String>>,
    has_fua: bool,
}

impl ManxCsv {
    /// A writer for a trace.
    pub fn new(about: &About) -> Self {
        let devices =
            (about.devices() > 1).then(|| about.names.iter().map(|name| quoted(name)).collect());
        Self { devices, has_fua: about.has_fua }
    }
}

/// The letter of an operation, in csv and in Parquet.
pub const fn letter(op: Op) -> &'static str {
    match op {
        Op::Read => "R",
        Op::Write => "W",
        Op::Flush => "F",
        Op::Trim => "D",
    }
}

fn quoted(name: &str) -> String {
    match name.contains([',', '"']) || name.trim() != name {
        true => format!("\"{}\"", name.replace('"', "\"\"")),
        false => name.to_string(),
    }
}

/// Nanoseconds as microseconds, without zeros at the end.
fn microseconds(ns: u64, out: &mut Vec<u8>) -> io::Result<()> {
    match (ns / 1_000, ns % 1_000) {
        (us, 0) => write!(out, "{us}"),
        (us, part) if part % 100 == 0 => write!(out, "{us}.{}", part / 100),
        (us, part) if part % 10 == 0 => write!(out, "{us}.{:02}", part / 10),
        (us, part) => write!(out, "{us}.{part:03}"),
    }
}

impl Encoder for ManxCsv {
    fn begin(&mut self, out: &mut Vec<u8>) -> io::Result<()> {
        let device = if self.devices.is_some() { ",device" } else { "" };
        let fua = if self.has_fua { ",fua" } else { "" };
        writeln!(out, "t_us,op,offset,bytes,latency_us{device}{fua}")
    }

    fn encode(&mut self, record: &Record, _: &mut Losses, out: &mut Vec<u8>) -> io::Result<()> {
        microseconds(record.at.as_ns(), out)?;
        let (offset, bytes) = bytes_of(record);
        write!(out, ",{},{offset},{bytes},", letter(record.op))?;
        if let Some(latency) = record.latency {
            microseconds(latency.as_ns(), out)?;
        }
        if let Some(devices) = &self.devices {
            write!(out, ",{}", devices[record.device as usize])?;
        }
        if self.has_fua {
            write!(out, ",{}", u8::from(record.fua))?;
        }
        writeln!(out)
    }

    fn end(&mut self, _: &mut Vec<u8>) -> io::Result<()> {
        Ok(())
    }
}
