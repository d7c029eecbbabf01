//! How far the runs of a comparison are.

use super::Output;
use super::gauge::{Gauge, percent, span};
use crate::screen::Screen;
use indicatif::{MultiProgress, ProgressBar};
use manx_lab::run::{Moment, Phase};
use manx_lab::table::{count, latency};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Runs that one line of a log names.
const NAMED: usize = 4;

/// The lines of a comparison.
pub struct Bars {
    output: Output,
    all: MultiProgress,
    bars: Vec<ProgressBar>,
    tracks: Mutex<Vec<Track>>,
}

/// A run under way.
#[derive(Debug)]
struct Track {
    policy: String,
    /// `None` before it began.
    phase: Option<Phase>,
    gauge: Gauge,
    /// How far it is, in words.
    said: String,
}

impl Bars {
    /// A line for each policy.
    pub fn new<'a>(screen: &Screen, policies: impl Iterator<Item = &'a str> + Clone) -> Self {
        let output = Output::new(screen);
        let all = MultiProgress::with_draw_target(output.target());
        let width = policies.clone().map(str::len).max().unwrap_or(0);
        let bars = policies.clone().map(|policy| {
            let bar = all.add(ProgressBar::no_length());
            bar.set_style(output.style("{prefix} {msg}"));
            bar.set_prefix(format!("{policy:<width$}"));
            bar.set_message("waiting");
            bar
        });
        let bars = bars.collect();
        let tracks = policies.map(Track::new).collect();
        Self { output, all, bars, tracks: Mutex::new(tracks) }
    }

    /// Shows how far a run is.
    pub fn show(&self, moment: &Moment<'_>) {
        let now = self.output.now();
        let mut tracks = self.tracks.lock().unwrap_or_else(PoisonError::into_inner);
        let (Some(track), Some(bar)) = (tracks.get_mut(moment.run), self.bars.get(moment.run))
        else {
            return;
        };
        track.tell(moment, now);
        let part = moment.part.filter(|_| moment.phase == Phase::Running);
        self.output.bar(bar, part, &track.said);
        if let Some(lines) = &self.output.lines {
            lines.say(now, || line(&tracks, now));
        }
    }

    /// Takes the lines away.
    pub fn clear(&self) {
        // A terminal that is gone needs no clearing.
        let _ = self.all.clear();
    }
}

impl Track {
    fn new(policy: &str) -> Self {
        Self {
            policy: policy.to_string(),
            phase: None,
            gauge: Gauge::default(),
            said: "waiting".to_string(),
        }
    }

    fn tell(&mut self, moment: &Moment<'_>, now: Duration) {
        let Moment { phase, done, part, p99_9_us, .. } = *moment;
        if self.phase != Some(phase) {
            self.phase = Some(phase);
            // The first look at a phase comes after its first step.
            self.gauge = Gauge::new(now, done as f64, part.unwrap_or(0.0));
        }
        let rate = |unit| self.gauge.rate(now, done as f64, unit);
        let mut said = Vec::new();
        match phase {
            Phase::Preconditioning => {
                said.push(format!("preconditioning, {} pages", count(done)));
                said.extend(rate("pages"));
            }
            Phase::Running => {
                said.push(part.map_or_else(|| format!("{} requests", count(done)), percent));
                said.extend(rate("requests"));
                said.extend(part.and_then(|part| self.gauge.left(now, part)));
                said.extend(p99_9_us.map(|us| format!("read p99.9 {}", latency(us))));
            }
            Phase::Finished => said.push("done".to_string()),
        }
        self.said = said.join(", ");
    }

    fn is_under_way(&self) -> bool {
        matches!(self.phase, Some(Phase::Preconditioning | Phase::Running))
    }
}

/// Everything in one line: the runs under way, and how many are done.
fn line(tracks: &[Track], now: Duration) -> String {
    let under_way: Vec<&Track> = tracks.iter().filter(|track| track.is_under_way()).collect();
    let named =
        under_way.iter().take(NAMED).map(|track| format!("{}: {}", track.policy, track.said));
    let mut said: Vec<String> = named.collect();
    if under_way.len() > NAMED {
        said.push(format!("{} more", under_way.len() - NAMED));
    }
    let done = tracks.iter().filter(|track| track.phase == Some(Phase::Finished)).count();
    if tracks.len() > 1 {
        said.push(format!("{done} of {} runs done", tracks.len()));
    }
    said.push(format!("{} so far", span(now.as_secs_f64())));
    said.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(run: usize, phase: Phase, done: u64, part: Option<f64>) -> Moment<'static> {
        Moment { run, policy: "", phase, done, part, p99_9_us: None }
    }

    #[test]
    fn a_line_of_a_log_tells_phase_rate_percent_and_time_left_of_every_run_under_way() {
        let mut tracks: Vec<Track> = ["nogc", "base", "preemptive", "pb"].map(Track::new).into();
        let s = Duration::from_secs;
        tracks[0].tell(&moment(0, Phase::Finished, 7, Some(1.0)), s(1));
        tracks[1].tell(&moment(1, Phase::Running, 0, Some(0.0)), s(2));
        tracks[1].tell(&moment(1, Phase::Running, 2_000_000, Some(0.25)), s(12));
        tracks[2].tell(&moment(2, Phase::Preconditioning, 1_000_000, None), s(2));
        tracks[2].tell(&moment(2, Phase::Preconditioning, 31_000_000, None), s(12));
        assert_eq!(
            line(&tracks, s(12)),
            "base: 25 %, 200k requests/s, 30 s left; preemptive: preconditioning, 31,000,000 \
             pages, 3.00M pages/s; 1 of 4 runs done; 12 s so far"
        );
        // Nobody knows where it ends.
        tracks[3].tell(&moment(3, Phase::Running, 1_234_567, None), s(13));
        assert_eq!(tracks[3].said, "1,234,567 requests");
        assert_eq!(line(&tracks[3..], s(13)), "pb: 1,234,567 requests; 13 s so far");
    }
}
