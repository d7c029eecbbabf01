//! Lines of progress where nothing can be drawn anew: in a pipe, in a log file.

use std::io::Write;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// When the next line is due.
#[derive(Clone, Copy, Debug)]
struct Pace {
    every: Duration,
    next: Duration,
}

impl Pace {
    fn is_due(&mut self, now: Duration) -> bool {
        let due = now >= self.next;
        if due {
            self.next = now + self.every;
        }
        due
    }
}

/// Writes a line every so often.
pub struct Lines {
    pace: Mutex<Pace>,
    write: Box<dyn Fn(&str) + Send + Sync>,
}

impl Lines {
    /// On stderr.
    pub fn on_stderr(every: Duration) -> Self {
        // One write a line, so that the lines of threads do not mix. A log that cannot be written
        // any more is no reason to end a run.
        let write = |line: &str| {
            drop(std::io::stderr().write_all(format!("progress: {line}\n").as_bytes()))
        };
        Self::new(every, Box::new(write))
    }

    /// The first line is due when `every` has passed: a short run writes none.
    pub fn new(every: Duration, write: Box<dyn Fn(&str) + Send + Sync>) -> Self {
        Self { pace: Mutex::new(Pace { every, next: every }), write }
    }

    /// Says so if a line is due.
    pub fn say(&self, now: Duration, line: impl FnOnce() -> String) {
        if self.pace.lock().unwrap_or_else(PoisonError::into_inner).is_due(now) {
            (self.write)(&line().replace(char::is_control, " "));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn a_line_is_written_when_it_is_due_and_a_short_run_writes_none() {
        let written = Arc::new(Mutex::new(Vec::new()));
        let to = Arc::clone(&written);
        let lines = Lines::new(
            Duration::from_secs(10),
            Box::new(move |line| to.lock().unwrap().push(line.to_string())),
        );
        for second in [0, 5, 9, 10, 11, 19, 20, 45, 50, 54, 55] {
            lines.say(Duration::from_secs(second), || format!("{second}\x1b"));
        }
        assert_eq!(*written.lock().unwrap(), ["10 ", "20 ", "45 ", "55 "]);
        let to = Arc::clone(&written);
        let all = Lines::new(
            Duration::ZERO,
            Box::new(move |line| to.lock().unwrap().push(line.to_string())),
        );
        (0..3).for_each(|second| all.say(Duration::from_secs(second), String::new));
        assert_eq!(written.lock().unwrap().len(), 4 + 3);
    }
}
