//! `manx trace`: block traces without a drive.

use super::progress::Bar;
use super::{Failure, print};
use crate::args::{TraceCommand, TraceInfoArgs};
use crate::screen::Screen;
use manx_config::ConfigError;
use manx_lab::ask::trace_spec;
use manx_lab::trace_info::{details, rows, to_json, trace_info};
use manx_trace::format::FORMATS;
use std::fmt::Write as _;
use std::io::Write as _;

/// Does what was asked.
pub fn run(command: &TraceCommand, screen: &Screen) -> Result<(), Failure> {
    match command {
        TraceCommand::Formats => formats(),
        TraceCommand::Info(args) => info(args, screen),
        TraceCommand::Convert(args) => super::convert::convert(args, screen),
        TraceCommand::Get(args) => super::trace_get::get(args, screen),
    }
}

/// The formats that are read: what their lines are, what they leave open, and where to get them.
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
        let _ = writeln!(text, "{:width$}  from: {}", "", format.source);
    }
    print(&text)
}

/// Shows the contents of each file. All options are checked before the first file is read; of
/// several files those that can be read are shown, and what is wrong with the others is told.
fn info(args: &TraceInfoArgs, screen: &Screen) -> Result<(), Failure> {
    let specs = args
        .files
        .iter()
        .map(|file| trace_spec(args.reading.overrides(file)))
        .collect::<Result<Vec<_>, _>>()?;
    let (mut infos, mut wrong) = (Vec::new(), Vec::new());
    for spec in &specs {
        let counter = Bar::new(screen, &spec.file, "requests");
        let info = trace_info(spec, &mut |requests| counter.show(requests, None, ""));
        counter.clear();
        match info {
            Ok(info) => infos.push(info),
            Err(error) => wrong.push(ConfigError::new(error.to_string())),
        }
    }
    match infos.as_slice() {
        [] => {}
        infos if args.json => print(&to_json(infos))?,
        [info] if !args.table => print(&details(info))?,
        infos => print(&rows(infos))?,
    }
    let Some(last) = wrong.pop() else { return Ok(()) };
    let mut stderr = std::io::stderr();
    // A closed stderr is no reason to stop.
    wrong.iter().for_each(|error| drop(writeln!(stderr, "error: {error}")));
    Err(last.into())
}
