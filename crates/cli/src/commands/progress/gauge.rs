//! How far something is, in words: rate and time left.

use manx_lab::table::rate;
use std::time::Duration;

/// Since when something goes on, and how far it was then.
#[derive(Clone, Copy, Debug, Default)]
pub struct Gauge {
    since: Duration,
    done: f64,
    part: f64,
}

impl Gauge {
    /// It begins at `now`, with so much done already, which is this share of all.
    pub fn new(now: Duration, done: f64, part: f64) -> Self {
        Self { since: now, done, part }
    }

    /// "1.49M requests/s"; nothing before any time has passed.
    pub fn rate(&self, now: Duration, done: f64, unit: &str) -> Option<String> {
        let elapsed = now.checked_sub(self.since)?.as_secs_f64();
        (elapsed > 0.0).then(|| format!("{} {unit}/s", rate((done - self.done) / elapsed)))
    }

    /// "12 s left", as the time so far tells.
    pub fn left(&self, now: Duration, part: f64) -> Option<String> {
        let (elapsed, gone) = (now.checked_sub(self.since)?.as_secs_f64(), part - self.part);
        (elapsed > 0.0 && gone > 0.0 && part <= 1.0)
            .then(|| span(elapsed * (1.0 - part) / gone) + " left")
    }
}

/// "12 s", "5 min", "2 h 30 min".
pub fn span(seconds: f64) -> String {
    let minutes = (seconds / 60.0).round() as u64;
    match seconds.round() as u64 {
        seconds if seconds < 100 => format!("{seconds} s"),
        _ if minutes < 100 => format!("{minutes} min"),
        _ => format!("{} h {} min", minutes / 60, minutes % 60),
    }
}

/// A share of one as a percentage without decimals; all of it only at the end.
pub fn percent(part: f64) -> String {
    format!("{} %", (100.0 * part.clamp(0.0, 1.0)) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn rates_and_times_left_follow_from_the_clock_alone() {
        let gauge = Gauge::new(s(100), 1e6, 0.2);
        assert_eq!(gauge.rate(s(100), 1e6, "pages"), None, "no time has passed");
        assert_eq!(gauge.rate(s(110), 31e6, "pages").unwrap(), "3.00M pages/s");
        // 30 % in 10 s: the other half takes 16.7 s.
        assert_eq!(gauge.left(s(110), 0.5).unwrap(), "17 s left");
        assert_eq!(gauge.left(s(110), 0.2), None, "nothing was done since");
        assert_eq!(
            [5.4, 99.0, 100.0, 3599.0, 6_000.0, 9_000.0].map(span).join(", "),
            "5 s, 99 s, 2 min, 60 min, 1 h 40 min, 2 h 30 min"
        );
        assert_eq!([0.0, 0.999, 1.0].map(percent).join(", "), "0 %, 99 %, 100 %");
    }
}
