//! Steady state as SNIA's Solid State Storage Performance Test Specification has it (PTS 2.0.2,
//! section 2.1.24): of the last five rounds of a run the tracked numbers spread over at most 20 %
//! of their mean, and the straight line fitted to them rises or falls by at most 10 % of it.
//!
//! A round here is an equal part of the measured time. What is tracked is the number of writes that
//! completed, or, where the host sets their rate (open loop), their mean latency, which is what can
//! change then; reads where nothing was written.

use manx_core::stats::{PtsReport, RunResult, SliceTimes};

/// Rounds of the window.
pub const WINDOW: usize = 5;

/// The most rounds of the specification.
pub const ROUNDS_MAX: usize = 25;

/// Spread, and excursion of the fitted line, over the mean (percent).
const RANGE_PERCENT: f64 = 20.0;
const SLOPE_PERCENT: f64 = 10.0;

/// A latency that moves by less in every window is a constant (percent).
const CONSTANT_PERCENT: f64 = 0.01;

const NOTHING: &str = "nothing was counted";

/// The judgement of five rounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// The mean of the tracked number.
    pub mean: f64,
    /// Largest less smallest, over the mean (percent).
    pub range_percent: f64,
    /// Rise of the fitted line from the first round to the last, over the mean (percent).
    pub slope_percent: f64,
}

impl Window {
    /// Of five numbers; `None` where their mean is nothing.
    pub fn of(rounds: &[f64]) -> Option<Self> {
        let count = rounds.len() as f64;
        let mean = rounds.iter().sum::<f64>() / count;
        if mean <= 0.0 || rounds.len() < WINDOW {
            return None;
        }
        let most = rounds.iter().copied().fold(f64::MIN, f64::max);
        let least = rounds.iter().copied().fold(f64::MAX, f64::min);
        let middle = (count - 1.0) / 2.0;
        let (mut top, mut bottom) = (0.0, 0.0);
        for (at, value) in rounds.iter().enumerate() {
            let x = at as f64 - middle;
            top += x * (value - mean);
            bottom += x * x;
        }
        let rise = top / bottom * (count - 1.0);
        let percent = |value: f64| 100.0 * value / mean;
        Some(Self { mean, range_percent: percent(most - least), slope_percent: percent(rise) })
    }

    /// Both criteria hold.
    pub fn is_steady(&self) -> bool {
        self.range_percent <= RANGE_PERCENT && self.slope_percent.abs() <= SLOPE_PERCENT
    }
}

/// Judges a run by the specification.
pub fn judge(result: &RunResult, open_loop: bool) -> PtsReport {
    let Some(over) = &result.over_time else {
        return PtsReport { text: NOTHING.to_string(), ..PtsReport::default() };
    };
    let (times, kind) = match over.write.count.iter().any(|count| *count > 0) {
        true => (&over.write, "write"),
        false => (&over.read, "read"),
    };
    // The measured time is everybody's: what is tracked may end before it does.
    let slices = over.write.count.len().max(over.read.count.len());
    let (rounds, tracked) = match open_loop {
        true => (latencies(times, slices), format!("{kind}_mean")),
        false => (counts(times, slices), format!("{kind}_rate")),
    };
    let window = |of: &[Option<f64>]| Window::of(&of.iter().copied().collect::<Option<Vec<_>>>()?);
    let windows: Vec<Option<Window>> = rounds.windows(WINDOW).map(window).collect();
    let steady = |window: &Option<Window>| window.is_some_and(|window| window.is_steady());
    let last = windows.last().copied().flatten();
    let text = match last {
        None if rounds.len() < WINDOW => {
            format!("{} rounds are no window of {WINDOW}: a longer run", rounds.len())
        }
        None => format!("nothing was counted in one of the last {WINDOW} rounds"),
        Some(_) => String::new(),
    };
    let mut report = PtsReport {
        tracked,
        mean: last.map(|window| window.mean),
        range_percent: last.map(|window| window.range_percent),
        slope_percent: last.map(|window| window.slope_percent),
        steady: steady(&last),
        first_steady_round: windows.iter().position(steady).map(|at| at as u64 + 1),
        rounds,
        text,
    };
    let Some(window) = last else { return report };
    // A buffer that takes every write at once hides what the flash does.
    let is_constant = |window: &Window| window.range_percent < CONSTANT_PERCENT;
    if report.tracked == "write_mean" && windows.iter().flatten().all(is_constant) {
        (report.steady, report.first_steady_round) = (false, None);
        report.text = format!(
            "no verdict: the host sets the rate, and the mean latency of writes is {:.3} us in \
             every round, whatever the flash does; a closed loop (workload.arrival=\"closed\") has \
             a rate that can tell",
            window.mean
        );
        return report;
    }
    report.text = in_words(&report, &window, kind);
    if report.steady && result.state.waf_steady == Some(false) {
        report.text += "; the WAF is not steady yet";
    }
    report
}

/// "steady (first from round 3 on): rate of writes, rounds 21 to 25: range 3.1 % ..".
fn in_words(report: &PtsReport, window: &Window, kind: &str) -> String {
    let of = if report.tracked.ends_with("_mean") { "mean latency" } else { "rate" };
    let rounds = report.rounds.len();
    let verdict = match report.first_steady_round.filter(|_| report.steady) {
        Some(first) => format!("steady (first from round {first} on)"),
        None => "NOT steady".to_string(),
    };
    format!(
        "{verdict}: {of} of {kind}s, rounds {} to {rounds}: range {:.1} % (at most \
         {RANGE_PERCENT}), slope {:+.1} % (at most {SLOPE_PERCENT})",
        rounds + 1 - WINDOW,
        window.range_percent,
        window.slope_percent
    )
}

/// The judgement in a line, under the policy's name.
pub fn line(result: &RunResult) -> Option<String> {
    let report = result.pts.as_ref()?;
    Some(format!("PTS {}: {}", result.policy, report.text))
}

/// Slices in as many equal rounds as there may be; what is over at the end is left out.
fn grouped(slices: usize) -> (usize, usize) {
    let size = slices.div_ceil(ROUNDS_MAX).max(1);
    (size, slices / size)
}

/// Requests in each round of `slices` slices, the last of which may be cut short.
fn counts(times: &SliceTimes, slices: usize) -> Vec<Option<f64>> {
    let (size, rounds) = grouped(slices.saturating_sub(1));
    let count = |at: usize| times.count.get(at).copied().unwrap_or(0);
    let sum = |round: usize| (round * size..(round + 1) * size).map(count).sum::<u64>() as f64;
    (0..rounds).map(|round| Some(sum(round))).collect()
}

/// Their mean latency, where there are any.
fn latencies(times: &SliceTimes, slices: usize) -> Vec<Option<f64>> {
    let (size, rounds) = grouped(slices.saturating_sub(1));
    let slice = |at: usize| {
        let count = times.count.get(at).copied().unwrap_or(0) as f64;
        (count, count * times.mean_us.get(at).copied().flatten().unwrap_or(0.0))
    };
    let mean = |round: usize| {
        let (count, sum) = (round * size..(round + 1) * size)
            .map(slice)
            .fold((0.0, 0.0), |(count, sum), (n, us)| (count + n, sum + us));
        (count > 0.0).then(|| sum / count)
    };
    (0..rounds).map(mean).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use manx_core::stats::OverTimeReport;

    #[test]
    fn the_window_is_what_a_hand_calculation_says() {
        // 100, 104, 98, 102, 96: mean 100, range 8; the line falls by 1 a round (sum of x y is
        // -2 x 100 - 104 + 102 + 2 x 96 = -10, of x x 10), 4 over the window.
        let window = Window::of(&[100.0, 104.0, 98.0, 102.0, 96.0]).unwrap();
        assert_eq!((window.mean, window.range_percent, window.slope_percent), (100.0, 8.0, -4.0));
        assert!(window.is_steady());
        // 80, 90, 100, 110, 120: range 40 %, slope 40 %.
        let window = Window::of(&[80.0, 90.0, 100.0, 110.0, 120.0]).unwrap();
        assert_eq!((window.range_percent, window.slope_percent), (40.0, 40.0));
        assert!(!window.is_steady());
        // Within the range, and still rising: 95, 97.5, 100, 102.5, 105: 10 %, 10 %: both hold.
        assert!(Window::of(&[95.0, 97.5, 100.0, 102.5, 105.0]).unwrap().is_steady());
        assert!(!Window::of(&[94.0, 97.0, 100.0, 103.0, 106.0]).unwrap().is_steady());
        assert_eq!(Window::of(&[0.0; 5]), None);
        assert_eq!(Window::of(&[1.0; 4]), None);
    }

    fn result(counts: &[u64], means: &[f64]) -> RunResult {
        let write = SliceTimes {
            count: counts.to_vec(),
            mean_us: means.iter().map(|us| Some(*us)).collect(),
            ..SliceTimes::default()
        };
        let over_time = Some(OverTimeReport { write, ..OverTimeReport::default() });
        RunResult { policy: "base".to_string(), over_time, ..RunResult::default() }
    }

    #[test]
    fn a_drive_that_is_not_steady_is_told_so() {
        // The last slice is cut short, and counts for nothing.
        let falling: Vec<u64> = (0..25).map(|n| 1000 - 30 * n).chain([1]).collect();
        let told = |counts: &[u64]| judge(&result(counts, &vec![10.0; counts.len()]), false);
        let report = told(&falling);
        let text = &report.text;
        assert!(text.starts_with("NOT steady: rate of writes, rounds 21 to 25"), "{text}");
        // 400, 370, 340, 310, 280: mean 340, range 120, and the line falls by as much.
        let percent = 100.0 * 120.0 / 340.0;
        assert_eq!((report.mean, report.range_percent), (Some(340.0), Some(percent)));
        assert!((report.slope_percent.unwrap() + percent).abs() < 1e-9 && !report.steady);
        assert_eq!((report.rounds.len(), report.tracked.as_str()), (25, "write_rate"));
        let settles: Vec<u64> =
            (0..60).map(|n| if n < 20 { 1000 - 20 * n } else { 600 + n % 2 }).chain([1]).collect();
        let report = told(&settles);
        assert!(
            report.steady && report.text.starts_with("steady (first from round "),
            "{report:?}"
        );
        assert!(told(&[5, 5, 5]).text.contains("2 rounds are no window"));
        let means: Vec<f64> = (0..26).map(|n| 10.0 + f64::from(n % 2)).collect();
        let open = judge(&result(&[100; 26], &means), true);
        assert!(open.steady && open.text.contains("mean latency of writes"), "{open:?}");
        let mut unsteady = result(&[100; 26], &means);
        unsteady.state.waf_steady = Some(false);
        assert!(judge(&unsteady, true).text.ends_with("the WAF is not steady yet"));
        // A buffer takes every write in the same time, whatever the flash does.
        let hidden = judge(&result(&[100; 26], &[1.0; 26]), true);
        assert!(!hidden.steady && hidden.text.starts_with("no verdict"), "{hidden:?}");
        assert_eq!(hidden.first_steady_round, None);
        // Rounds without a write have no latency, and make none of the others move.
        let gap: Vec<u64> = (0..26).map(|n| if n / 6 == 1 { 0 } else { 100 }).collect();
        let hidden = judge(&result(&gap, &[1.0; 26]), true);
        assert!(hidden.text.starts_with("no verdict"), "{hidden:?}");
        assert_eq!((hidden.rounds[5], hidden.rounds[6]), (Some(1.0), None));
        let ended = judge(&result(&[vec![100; 22], vec![0; 4]].concat(), &means), true);
        assert!(!ended.steady && ended.text.contains("in one of the last 5 rounds"), "{ended:?}");
        let nothing = judge(&RunResult::default(), false);
        assert!(!nothing.steady && nothing.text.contains("nothing was counted"));
        assert_eq!(line(&RunResult::default()), None, "it was not asked for");
    }
}
