//! MQSim ascii: `time device sector sectors type`, times in nanoseconds, type 1 for a read and 0
//! for a write.
//!
//! Devices are numbers: those of a trace whose devices are all named by a number are kept, others
//! are counted from 0.

use super::{About, Encoder, Losses, count_dataless, count_missing};
use crate::Record;
use manx_base::units::Op;
use std::io::{self, Write};

/// Writes MQSim ascii.
pub struct Mqsim {
    devices: Vec<String>,
    is_renamed: bool,
}

impl Mqsim {
    /// A writer for a trace.
    pub fn new(about: &About) -> Self {
        let is_number =
            |name: &String| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
        let numbered = about.names.iter().all(is_number);
        let count = |(number, name): (usize, &String)| {
            if numbered { name.clone() } else { number.to_string() }
        };
        Self { devices: about.names.iter().enumerate().map(count).collect(), is_renamed: !numbered }
    }
}

impl Encoder for Mqsim {
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
        count_missing(record, false, losses);
        if self.is_renamed {
            losses.altered.add("device renamed: the format has numbers");
        }
        let device = &self.devices[record.device as usize];
        let kind = u8::from(record.op == Op::Read);
        writeln!(out, "{} {device} {} {} {kind}", record.at.as_ns(), record.lba.0, record.sectors)
    }

    fn end(&mut self, _: &mut Vec<u8>) -> io::Result<()> {
        Ok(())
    }
}
