//! Progress on stderr: on a terminal a line a run, drawn anew; in a pipe or a log file a line every
//! ten seconds, and none of a run that is shorter. Nothing with `--quiet`, and never on stdout.

mod gauge;
mod lines;
mod runs;

pub use runs::Bars;

use crate::screen::{Screen, is_ascii, is_dumb};
use gauge::{Gauge, percent};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use lines::Lines;
use manx_lab::table::count;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Where progress goes: to bars on a terminal, or to lines.
pub struct Output {
    began: Instant,
    lines: Option<Lines>,
    is_drawn: bool,
    is_ascii: bool,
}

impl Output {
    /// As the user and the terminal have it.
    pub fn new(screen: &Screen) -> Self {
        let env = |name: &str| std::env::var(name).ok();
        let is_term = console::Term::stderr().is_term();
        let is_drawn = is_term && !is_dumb(env) && !screen.quiet;
        let every = Duration::from_nanos(screen.progress_every.as_ns());
        let lines = (!is_drawn && !screen.quiet).then(|| Lines::on_stderr(every));
        Self { began: Instant::now(), lines, is_drawn, is_ascii: is_ascii(is_term, env) }
    }

    fn now(&self) -> Duration {
        self.began.elapsed()
    }

    fn target(&self) -> ProgressDrawTarget {
        if self.is_drawn {
            ProgressDrawTarget::stderr_with_hz(5)
        } else {
            ProgressDrawTarget::hidden()
        }
    }

    fn style(&self, template: &str) -> ProgressStyle {
        // The templates are constants; one that is wrong falls back to the plainest bar.
        let style =
            ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
        if self.is_ascii { style.progress_chars("#>-") } else { style }
    }
}

/// One line for one work: points of a sweep, runs of a campaign, requests of a trace.
pub struct Bar {
    output: Output,
    bar: ProgressBar,
    name: String,
    unit: &'static str,
    /// And whether the end was known when it began.
    gauge: Mutex<Option<(bool, Gauge)>>,
}

impl Bar {
    /// Nothing is known of the work but its name, and what it is counted in.
    pub fn new(screen: &Screen, name: &str, unit: &'static str) -> Self {
        let output = Output::new(screen);
        let bar = ProgressBar::with_draw_target(None, output.target());
        bar.set_style(output.style("{prefix} {msg}"));
        bar.set_prefix(name.replace(char::is_control, " "));
        if output.is_drawn {
            bar.enable_steady_tick(Duration::from_millis(500));
        }
        Self { output, bar, name: name.to_string(), unit, gauge: Mutex::new(None) }
    }

    /// So much is done, of so much where that is known; `more` is what else there is to say.
    pub fn show(&self, done: u64, total: Option<u64>, more: &str) {
        let part = total.filter(|total| *total > 0).map(|total| done as f64 / total as f64);
        self.show_part(done, total, part, more);
    }

    /// The same, where more is known of how far it is than a count.
    pub fn show_part(&self, done: u64, total: Option<u64>, part: Option<f64>, more: &str) {
        let now = self.output.now();
        let mut gauge = self.gauge.lock().unwrap_or_else(PoisonError::into_inner);
        // Work done before the first look took no time, and says nothing of how long the rest
        // takes; nor does a first pass whose end was not known.
        let (_, gauge) = match *gauge {
            Some((had_end, gauge)) if had_end == part.is_some() => (had_end, gauge),
            _ => *gauge.insert((part.is_some(), Gauge::new(now, done as f64, part.unwrap_or(0.0)))),
        };
        let said = words(&gauge, now, (done, total, self.unit), part, more);
        self.output.bar(&self.bar, part, &said);
        if let Some(lines) = &self.output.lines {
            lines.say(now, || format!("{}: {said}", self.name));
        }
    }

    /// Takes the line away.
    pub fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

/// "43 %, 5 of 12 runs, 0.25 runs/s, 28 s left", and more.
fn words(
    gauge: &Gauge,
    now: Duration,
    of: (u64, Option<u64>, &str),
    part: Option<f64>,
    more: &str,
) -> String {
    let (done, total, unit) = of;
    let mut said: Vec<String> = part.map(percent).into_iter().collect();
    said.push(match total {
        Some(total) => format!("{} of {} {unit}", count(done), count(total)),
        None => format!("{} {unit}", count(done)),
    });
    said.extend(gauge.rate(now, done as f64, unit));
    said.extend(part.and_then(|part| gauge.left(now, part)));
    said.extend((!more.is_empty()).then(|| more.to_string()));
    said.join(", ")
}

impl Output {
    /// Draws a bar with these words, without its bar where the end is not known.
    fn bar(&self, bar: &ProgressBar, part: Option<f64>, said: &str) {
        if !self.is_drawn {
            return;
        }
        match part {
            Some(part) => {
                if bar.length().is_none() {
                    bar.set_length(PARTS);
                    bar.set_style(self.style("{prefix} [{bar:24}] {msg}"));
                }
                bar.set_position((part.clamp(0.0, 1.0) * PARTS as f64) as u64);
            }
            None => {
                bar.unset_length();
                bar.set_style(self.style("{prefix} {msg}"));
            }
        }
        bar.set_message(said.to_string());
    }
}

/// Parts of a bar.
const PARTS: u64 = 1000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_a_bar_hold_what_is_known() {
        let gauge = Gauge::new(Duration::from_secs(2), 1.0, 0.125);
        let now = Duration::from_secs(22);
        let whole = words(&gauge, now, (6, Some(8), "points"), Some(0.75), "best p99 1 at point 3");
        assert_eq!(whole, "75 %, 6 of 8 points, 0.250 points/s, 8 s left, best p99 1 at point 3");
        assert_eq!(
            words(&gauge, now, (2_000_001, None, "requests"), None, ""),
            "2,000,001 requests, 100k requests/s"
        );
        assert_eq!(
            words(&Gauge::default(), Duration::ZERO, (0, None, "requests"), None, ""),
            "0 requests"
        );
    }
}
