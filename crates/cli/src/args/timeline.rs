//! Options of a timeline.

use super::{time, whole};
use clap::Args as ClapArgs;
use manx_core::drive::TimelineSpec;
use manx_core::units::{Duration, Instant};
use manx_lab::timeline::TIMELINE_LIMIT;
use std::path::PathBuf;

/// Options of the timeline of dies, channels, GC runs and slow requests, for
/// https://ui.perfetto.dev.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Timeline (docs/timeline.md)")]
pub struct TimelineArgs {
    /// Write what every die, channel, GC run and slow request did into FILE, a Perfetto trace
    /// (.pftrace) for https://ui.perfetto.dev; of several policies, each into FILE with its name
    /// before the ending, or into a folder
    #[arg(long = "timeline", value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Keep only what lies in this part of the run: 1s..1.2s, 1s.., ..200ms [default: all of it]
    #[arg(long = "timeline-window", value_name = "FROM..TO", requires = "file",
        allow_hyphen_values = true, value_parser = window)]
    pub window: Option<(Instant, Instant)>,
    /// Show requests of this latency or more [default: 20 times that of a one-page read of an idle
    /// drive]
    #[arg(long = "timeline-slow", value_name = "TIME",
        requires = "file", allow_hyphen_values = true, value_parser = time)]
    pub slow: Option<Duration>,
    /// Stop recording at so many slices, GC runs and requests
    #[arg(long = "timeline-limit", value_name = "N", requires = "file",
        allow_negative_numbers = true, value_parser = whole, default_value_t = TIMELINE_LIMIT)]
    pub limit: u64,
}

impl TimelineArgs {
    /// Where to, and what it holds.
    pub fn request(&self) -> Option<(PathBuf, TimelineSpec)> {
        let (from, to) = self.window.unwrap_or((Instant::START, Instant::NEVER));
        self.file
            .clone()
            .map(|file| (file, TimelineSpec { from, to, slow: self.slow, limit: self.limit }))
    }
}

/// A part of a run: 1s..1.2s, either end of which may be left out.
fn window(text: &str) -> Result<(Instant, Instant), String> {
    let (from, to) = text.split_once("..").ok_or("expected FROM..TO: 1s..1.2s, 1s.., ..200ms")?;
    let end = |text: &str, open| match text.trim() {
        "" => Ok(open),
        text => time(text).map(|at| Instant::START + at),
    };
    let (from, to) = (end(from, Instant::START)?, end(to, Instant::NEVER)?);
    if from < to { Ok((from, to)) } else { Err("it is empty: FROM must be before TO".to_string()) }
}
