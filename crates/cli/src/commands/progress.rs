//! Progress on a terminal: one line a run, or one for a trace that is read. In a pipe there is none.

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use manx_lab::run::{Moment, Phase};
use std::sync::Mutex;
use std::sync::PoisonError;

const PRECONDITIONING: &str = "{prefix} preconditioning {human_pos} pages, {rate}";
const RUNNING: &str = "{prefix} [{bar:24}] {percent:>3} %, {rate}, {eta} left{msg}";
const RUNNING_WITHOUT_END: &str = "{prefix} {human_pos} requests, {rate}{msg}";

/// The lines of a comparison; indicatif keeps quiet where stderr is no terminal.
pub struct Bars {
    all: MultiProgress,
    bars: Vec<(ProgressBar, Mutex<Option<Phase>>)>,
}

impl Bars {
    /// A line for each policy.
    pub fn new<'a>(policies: impl Iterator<Item = &'a str> + Clone) -> Self {
        let all = MultiProgress::with_draw_target(ProgressDrawTarget::stderr_with_hz(5));
        let width = policies.clone().map(str::len).max().unwrap_or(0);
        let bars = policies.map(|policy| {
            let bar = all.add(ProgressBar::no_length());
            bar.set_style(style("{prefix} waiting"));
            bar.set_prefix(format!("{policy:<width$}"));
            (bar, Mutex::new(None))
        });
        Self { bars: bars.collect(), all: all.clone() }
    }

    /// Shows how far a run is.
    pub fn show(&self, moment: &Moment<'_>) {
        let Some((bar, phase)) = self.bars.get(moment.run) else { return };
        let mut phase = phase.lock().unwrap_or_else(PoisonError::into_inner);
        if *phase != Some(moment.phase) {
            *phase = Some(moment.phase);
            bar.set_style(style(match (moment.phase, moment.total) {
                (Phase::Preconditioning, _) => PRECONDITIONING,
                (Phase::Running, Some(_)) => RUNNING,
                (Phase::Running, None) => RUNNING_WITHOUT_END,
                (Phase::Finished, _) => "{prefix} done{msg}",
            }));
            bar.set_position(0);
            bar.reset_eta();
        }
        if let Some(total) = moment.total {
            bar.set_length(total);
        }
        bar.set_position(moment.done);
        if let Some(us) = moment.p99_9_us {
            bar.set_message(format!(", read p99.9 {us:.1} us"));
        }
    }

    /// Takes the lines away.
    pub fn clear(&self) {
        // A terminal that is gone needs no clearing.
        let _ = self.all.clear();
    }
}

/// The line of a trace that is read; how long it is, nobody knows before.
pub struct Counter(ProgressBar);

impl Counter {
    /// A line for `file`.
    pub fn new(file: &str) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(5));
        bar.set_style(style(RUNNING_WITHOUT_END));
        bar.set_prefix(file.replace(char::is_control, " "));
        Self(bar)
    }

    /// Shows how many requests were read.
    pub fn show(&self, requests: u64) {
        self.0.set_position(requests);
    }

    /// Takes the line away.
    pub fn clear(&self) {
        self.0.finish_and_clear();
    }
}

fn style(template: &str) -> ProgressStyle {
    // The templates above are constants; one that is wrong falls back to the plainest bar.
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    style.with_key("rate", |state: &ProgressState, out: &mut dyn std::fmt::Write| {
        let _ = write!(out, "{:.2} M/s", state.per_sec() / 1e6);
    })
}
