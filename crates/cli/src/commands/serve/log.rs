//! The log of `manx serve` on stderr: what a server tells as it goes, by levels.

use crate::args::LogLevel;
use crate::say::say_line;
use std::io::{self, Write};
use tracing::level_filters::LevelFilter;
use tracing_subscriber::fmt;
use tracing_subscriber::fmt::MakeWriter;

/// From now on events of this level and above are lines on stderr; those of `debug` and `trace`
/// with their level and the time since the start.
pub fn begin(level: LogLevel) {
    let (filter, is_fine) = match level {
        LogLevel::Error => (LevelFilter::ERROR, false),
        LogLevel::Warn => (LevelFilter::WARN, false),
        LogLevel::Info => (LevelFilter::INFO, false),
        LogLevel::Debug => (LevelFilter::DEBUG, true),
        LogLevel::Trace => (LevelFilter::TRACE, true),
    };
    let format = fmt().with_max_level(filter).with_ansi(false).with_target(false);
    let format = format.with_writer(Lines);
    // One server in a process: a second log has nothing to add.
    if is_fine {
        let _ = format.with_timer(fmt::time::uptime()).try_init();
    } else {
        let _ = format.with_level(false).without_time().try_init();
    }
}

/// Writes each event as a line, whatever a peer's text in it holds.
struct Lines;

impl<'a> MakeWriter<'a> for Lines {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        Self
    }
}

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        say_line(String::from_utf8_lossy(bytes).trim_end_matches('\n'));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
