//! fio iolog, version 3 (fio HOWTO, "Trace file format v3"; iolog.c of fio 3.33): a first line,
//! then `time file add|open|close` and `time file read|write|trim|sync offset length`.
//!
//! The HOWTO names no unit of the time. It is microseconds since the start: so fio writes it, and
//! so it replays. What is finer is rounded down and counted. A file name ends at white space and
//! has at most 255 bytes.

use super::names::{fitted, suffix};
use super::{About, Encoder, Losses, bytes_of, count_missing};
use crate::Record;
use manx_base::units::Op;
use std::io::{self, Write};

/// The most bytes of a file name: fio reads it with `%256s` into a buffer that holds its end, too.
pub const NAME_MAX: usize = 255;

/// Writes a fio iolog.
pub struct Fio {
    files: Vec<String>,
    used: Vec<bool>,
    /// Files that are not called as their devices, though no name was given.
    renamed: Vec<bool>,
    last_us: u64,
}

impl Fio {
    /// A writer for a trace, of requests to files named after its devices, or after `file`: of
    /// several devices, `file-DEVICE` each.
    pub fn new(about: &About, file: Option<&str>) -> Self {
        let several = about.devices() > 1;
        let files = fitted(&about.names, |name, tries| {
            let name = name.replace(|c: char| c.is_whitespace() || c.is_control(), "-");
            match file {
                Some(file) if several => {
                    format!("{file}-{}{}", name.replace('/', "-"), suffix(tries))
                }
                Some(file) => format!("{file}{}", suffix(tries)),
                None if name.is_empty() => format!("device{}", suffix(tries)),
                None => format!("{name}{}", suffix(tries)),
            }
        });
        // With one device in use its file is named as asked, whatever others the trace has.
        let files = match file {
            Some(file) if !several => vec![file.to_string(); files.len()],
            _ => files,
        };
        let renamed = files
            .iter()
            .zip(&about.names)
            .map(|(made, name)| file.is_none() && made != name)
            .collect();
        Self { files, used: about.used.clone(), renamed, last_us: 0 }
    }

    fn each_file(&self, us: u64, actions: &[&str], out: &mut Vec<u8>) -> io::Result<()> {
        for (file, _) in self.files.iter().zip(&self.used).filter(|(_, used)| **used) {
            for action in actions {
                writeln!(out, "{us} {file} {action}")?;
            }
        }
        Ok(())
    }
}

/// Whether fio can read a file of that name in an iolog; if not, what it must be.
pub fn check_name(name: &str) -> Result<(), String> {
    match !name.is_empty()
        && name.len() <= NAME_MAX
        && !name.contains(|c: char| c.is_whitespace() || c.is_control())
    {
        true => Ok(()),
        false => Err(format!("expected a file name of 1 to {NAME_MAX} bytes without white space")),
    }
}

impl Encoder for Fio {
    fn begin(&mut self, out: &mut Vec<u8>) -> io::Result<()> {
        writeln!(out, "fio version 3 iolog")?;
        self.each_file(0, &["add", "open"], out)
    }

    fn encode(
        &mut self,
        record: &Record,
        losses: &mut Losses,
        out: &mut Vec<u8>,
    ) -> io::Result<()> {
        count_missing(record, false, losses);
        let ns = record.at.as_ns();
        if !ns.is_multiple_of(1_000) {
            losses.altered.add("time rounded down to 1 us");
        }
        if self.renamed[record.device as usize] {
            losses.altered.add("device renamed: a file name has no white space");
        }
        self.last_us = ns / 1_000;
        let action = match record.op {
            Op::Read => "read",
            Op::Write => "write",
            Op::Trim => "trim",
            Op::Flush => "sync",
        };
        let (offset, bytes) = bytes_of(record);
        writeln!(
            out,
            "{} {} {action} {offset} {bytes}",
            self.last_us, self.files[record.device as usize]
        )
    }

    fn end(&mut self, out: &mut Vec<u8>) -> io::Result<()> {
        self.each_file(self.last_us, &["close"], out)
    }
}
