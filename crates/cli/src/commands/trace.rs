//! `manx trace`: block traces without a drive.

use super::{Failure, print};
use crate::args::TraceCommand;
use manx_core::host::trace::format::FORMATS;
use std::fmt::Write;

/// Does what was asked.
pub fn run(command: &TraceCommand) -> Result<(), Failure> {
    match command {
        TraceCommand::Formats => formats(),
        TraceCommand::Convert(args) => super::convert::convert(args),
    }
}

/// The formats that are read, one to a line, and what they leave open.
fn formats() -> Result<(), Failure> {
    let width = FORMATS.iter().map(|format| format.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for format in &FORMATS {
        let mut open = Vec::new();
        open.extend(format.time.map(|_| "--time-unit"));
        open.extend(format.lba.map(|_| "--lba-unit"));
        open.extend(format.has_events.then_some("--event"));
        let open = if open.is_empty() { String::new() } else { format!(" [{}]", open.join(", ")) };
        let _ = writeln!(text, "{:width$}  {}: {}{open}", format.name, format.title, format.shape);
    }
    print(&text)
}
