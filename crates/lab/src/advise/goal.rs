//! Goals, as `--slo` says them: `read.p99_99 < 2ms`, `write.p99 < 5ms`, `read.iops > 5000`.
//!
//! A goal that limits latencies is a limit of a run too ([`Goal::limit`]): one that is past help is
//! given up.

use super::question::Load;
use crate::run::Limit;
use crate::table::cell;
use manx_config::{ConfigError, nearest};
use manx_core::stats::{LatencySummary, Outcome, Percentile, RunResult};
use manx_core::units::Duration;
use serde::Serialize;

/// The names that a goal may have, and the share of the requests that may be slower (ratio).
const LEVELS: [(&str, f64); 7] = [
    ("p50", 0.5),
    ("p90", 0.1),
    ("p95", 0.05),
    ("p99", 0.01),
    ("p99_9", 1e-3),
    ("p99_99", 1e-4),
    ("p99_999", 1e-5),
];

/// Names beside the percentiles.
const OTHERS: [&str; 4] = ["mean", "max", "iops", "waf"];

/// Samples that must lie beyond a percentile, so that it is told (docs/result.md).
const BEYOND_MIN: f64 = 10.0;

/// The requests that a goal is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Of {
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// The drive.
    Drive,
}

/// Quantity of a goal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// A percentile of the latency, by its place in [`LEVELS`].
    Percentile(usize),
    /// The mean latency.
    Mean,
    /// The longest latency.
    Max,
    /// Completed requests a second.
    Iops,
    /// Write amplification.
    Waf,
}

/// One goal.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Goal {
    /// As it was said, with one space on each side of the sign.
    pub text: String,
    /// Whose.
    pub of: Of,
    /// Quantity.
    pub measure: Measure,
    /// The limit (microseconds for a latency).
    pub limit: f64,
}

/// A result beside a goal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Judged {
    /// The number (microseconds for a latency); null where there are too few requests, and of a
    /// WAF where nothing was written to flash.
    pub value: Option<f64>,
    /// The lower end of its 95 % interval; null where it has none.
    pub low: Option<f64>,
    /// The upper end.
    pub high: Option<f64>,
    /// How much of what the goal allows is used up: below 1 it is met (ratio); null where it is
    /// unmeasured.
    pub used: f64,
    /// The goal is met.
    pub meets: bool,
    /// A WAF of a run that wrote nothing to flash: the goal is neither kept nor broken.
    #[serde(skip)]
    pub unmeasured: bool,
}

impl Judged {
    /// The interval reaches to both sides of the limit.
    pub fn straddles(&self, goal: &Goal) -> bool {
        self.low.is_some_and(|low| low < goal.limit) && self.high.is_some_and(|h| h >= goal.limit)
    }
}

impl Goal {
    /// Reads a goal.
    pub fn parse(text: &str) -> Result<Self, ConfigError> {
        let wrong = |why: String| ConfigError::new(format!("--slo '{text}': {why}"));
        let expected = "expected QUANTITY < VALUE, such as 'read.p99_99 < 2ms'";
        let at = text.find(['<', '>', '=']).ok_or_else(|| wrong(expected.to_string()))?;
        let (name, rest) = (text[..at].trim(), &text[at..]);
        let value = rest.trim_start_matches(['<', '>', '=']);
        let sign = &rest[..rest.len() - value.len()];
        let (value, above) = match sign {
            "<" | "<=" => (value.trim(), false),
            ">" | ">=" => (value.trim(), true),
            _ => return Err(wrong(format!("`{sign}`: a goal says <, or > of iops"))),
        };
        if name.is_empty() || value.is_empty() {
            return Err(wrong(expected.to_string()));
        }
        let (of, measure) = named(name).map_err(wrong)?;
        if above != (measure == Measure::Iops) {
            return Err(wrong(match above {
                true => format!("{name} is better where it is less: a goal says `{name} < ..`"),
                false => format!("more {name} is better: a goal says `{name} > ..`"),
            }));
        }
        let limit = match measure {
            Measure::Iops | Measure::Waf => number(value).map_err(wrong)?,
            _ => latency(value).map_err(wrong)?,
        };
        let sign = if above { ">" } else { "<" };
        Ok(Self { text: format!("{name} {sign} {value}"), of, measure, limit })
    }

    /// Reads all of them. Two goals of which one can never decide are refused.
    pub fn parse_all(texts: &[String]) -> Result<Vec<Self>, ConfigError> {
        if texts.is_empty() {
            return Err(ConfigError::new(
                "--slo is missing: what must the drive keep? For example 'read.p99_99 < 2ms'",
            ));
        }
        let goals: Vec<Self> =
            texts.iter().map(|text| Self::parse(text)).collect::<Result<_, _>>()?;
        for (at, goal) in goals.iter().enumerate() {
            for other in &goals[..at] {
                if goal.of != other.of {
                    continue;
                }
                if goal.measure == other.measure {
                    return Err(ConfigError::new(format!(
                        "--slo '{}' and '{}': both limit the same quantity; give one of them",
                        other.text, goal.text
                    )));
                }
                if let Some((weak, strong)) = implied(goal, other) {
                    return Err(ConfigError::new(format!(
                        "--slo '{}' can never decide: '{}' implies it; leave it out",
                        weak.text, strong.text
                    )));
                }
            }
        }
        Ok(goals)
    }

    /// The share of the requests that may be slower than the limit; 0 of a longest latency.
    fn allowed(&self) -> Option<f64> {
        match self.measure {
            Measure::Percentile(level) => Some(LEVELS[level].1),
            Measure::Max => Some(0.0),
            _ => None,
        }
    }

    /// So many requests of its kind a run must have, so that the percentile is told.
    pub fn least(&self) -> u64 {
        match self.measure {
            Measure::Percentile(level) => (BEYOND_MIN / LEVELS[level].1).ceil() as u64 + 1,
            _ => 1,
        }
    }

    /// A number of this quantity with its unit.
    pub fn show(&self, value: f64) -> String {
        match self.measure {
            Measure::Iops => format!("{value:.0}/s"),
            Measure::Waf => format!("{value:.2}"),
            _ => cell::latency(value),
        }
    }

    /// True of a latency.
    pub fn is_latency(&self) -> bool {
        !matches!(self.measure, Measure::Iops | Measure::Waf)
    }

    /// The limit of a run that this goal is; `None` of what only a whole run tells.
    pub fn limit(&self, load: &Load) -> Option<Limit> {
        let requests = match self.of {
            Of::Write => load.writes,
            Of::Read => load.reads,
            Of::Drive => return None,
        } as f64;
        // Of a generated load the number itself is random.
        let most = requests + 5.0 * requests.sqrt();
        let (beyond_us, most) = match self.measure {
            Measure::Mean => (None, self.limit * most),
            _ => (Some(self.limit), (self.allowed()? * most).floor() + 1.0),
        };
        let most = if self.measure == Measure::Max { 0.0 } else { most };
        Some(Limit { of_writes: self.of == Of::Write, beyond_us, most, beside: Vec::new() })
    }

    /// A result of the whole run, or of a run that was given up.
    pub fn judge(&self, result: &RunResult) -> Judged {
        let summary = match self.of {
            Of::Write => &result.write,
            _ => &result.read,
        };
        let judged = match self.measure {
            Measure::Waf if waf(result).is_none() => {
                Judged { used: f64::INFINITY, unmeasured: true, ..Judged::default() }
            }
            Measure::Waf => self.ceiling(result.flash.waf),
            Measure::Iops => {
                let used = self.limit / summary.iops.max(1e-9);
                let value = Some(summary.iops);
                Judged { value, used, meets: summary.iops >= self.limit, ..Judged::default() }
            }
            Measure::Mean => self.ceiling(summary.mean_us),
            Measure::Max => self.ceiling(summary.max_us),
            Measure::Percentile(level) => self.tail(summary, level),
        };
        let judged = self.with_unread(judged, summary, unread(result));
        match result.outcome {
            // Nothing was measured, so nothing is known.
            _ if self.of != Of::Drive && summary.count == 0
                || self.has_too_few(result, summary) =>
            {
                lost(judged)
            }
            // Writes that were refused are in no latency.
            _ if refused(result) > 0 => lost(judged),
            Outcome::Completed => judged,
            Outcome::Partial => Judged { meets: false, ..judged },
            // Requests that waited until the run was given up are in none of its numbers.
            Outcome::Starved | Outcome::Stuck => lost(judged),
        }
    }

    /// A whole run with far fewer requests than its percentile needs tells nothing of it.
    fn has_too_few(&self, result: &RunResult, summary: &LatencySummary) -> bool {
        let is_percentile = matches!(self.measure, Measure::Percentile(_));
        is_percentile && result.outcome == Outcome::Completed && 2 * summary.count < self.least()
    }

    /// A read that brought an error is in the latencies as if it had brought data: for a tail it
    /// is slower than any limit. Of a mean and of a rate it is told beside the answer.
    fn with_unread(&self, judged: Judged, summary: &LatencySummary, unread: u64) -> Judged {
        let Some(allowed) = self.allowed().filter(|_| self.of == Of::Read && unread > 0) else {
            return judged;
        };
        let share = unread as f64 / (summary.count as f64).max(1.0);
        let more = if allowed > 0.0 { share / allowed } else { 100.0 };
        let used = judged.used + more;
        Judged { used, meets: judged.meets && used <= 1.0, ..judged }
    }

    fn ceiling(&self, value: Option<f64>) -> Judged {
        let used = value.map_or(100.0, |value| value / self.limit);
        Judged { value, used, meets: used < 1.0, ..Judged::default() }
    }

    fn tail(&self, summary: &LatencySummary, level: usize) -> Judged {
        // The curve is a line between its points: one request more or less.
        let slower = summary.curve.beyond_us(self.limit).unwrap_or(0.0);
        let Percentile { us, low_us, high_us, .. } = percentile(summary, level);
        let used = slower / self.allowed().unwrap_or(1.0);
        let meets = us.map_or(used <= 1.0, |us| us < self.limit);
        Judged { value: us, low: low_us, high: high_us, used, meets, unmeasured: false }
    }
}

/// A goal that is missed whatever its number is.
fn lost(judged: Judged) -> Judged {
    let used = if judged.unmeasured { 100.0 } else { judged.used.max(100.0) };
    Judged { meets: false, unmeasured: false, used, ..judged }
}

/// The WAF of a run. One that wrote nothing to flash, as nothing was written to it or its buffer
/// took all, has none: 0 would be the best of all, for nothing that the drive did.
pub fn waf(result: &RunResult) -> Option<f64> {
    result.flash.waf.filter(|_| result.flash.pages_programmed > 0)
}

/// Writes and pages that a drive or an array refused.
pub fn refused(result: &RunResult) -> u64 {
    let of_drives = result.faults.map_or(0, |faults| faults.refused);
    of_drives + result.array.map_or(0, |array| array.refused_pages)
}

/// Why a run says nothing of goals; nothing where it does: "refused 12 writes, read-only from
/// 1.25 s on (no spare blocks are left: faults)".
pub fn void(result: &RunResult) -> Option<String> {
    if result.requests == 0 {
        return Some("measured nothing: every request belongs to the warm-up".to_string());
    }
    let refused = Some(refused(result)).filter(|refused| *refused > 0)?;
    let at = result.faults.and_then(|faults| faults.read_only_at).map(|at| at.as_ns() as f64 / 1e9);
    let since = at.map_or(String::new(), |s| {
        format!(", read-only from {s:.3} s on (no spare blocks are left: faults)")
    });
    Some(format!("refused {refused} writes{since}"))
}

/// Reads of the host that ended with an error, of a drive alone: an array computes such pages from
/// the rest of their rows, and counts none that it could not.
pub fn unread(result: &RunResult) -> u64 {
    let of = |retry: u64, scrub: u64| if result.array.is_some() { 0 } else { retry + scrub };
    of(
        result.retry.as_ref().map_or(0, |retry| retry.failed_reads),
        result.scrub.as_ref().map_or(0, |scrub| scrub.failed_reads),
    )
}

fn percentile(summary: &LatencySummary, level: usize) -> Percentile {
    let all = &summary.percentiles;
    [all.p50, all.p90, all.p95, all.p99, all.p99_9, all.p99_99, all.p99_999][level]
}

fn named(name: &str) -> Result<(Of, Measure), String> {
    let (of, bare) = match name.split_once('.') {
        Some(("read", bare)) => (Of::Read, bare),
        Some(("write", bare)) => (Of::Write, bare),
        _ => (Of::Read, name),
    };
    let bare = bare.replace('.', "_");
    let measure = match bare.as_str() {
        "mean" => Measure::Mean,
        "max" => Measure::Max,
        "iops" => Measure::Iops,
        "waf" if !name.contains('.') => return Ok((Of::Drive, Measure::Waf)),
        bare => match LEVELS.iter().position(|(level, _)| *level == bare) {
            Some(level) => Measure::Percentile(level),
            None => {
                let all = || LEVELS.iter().map(|(level, _)| *level).chain(OTHERS);
                let near = nearest(bare, all());
                let hint = near.map_or(String::new(), |near| format!("did you mean `{near}`? "));
                let all: Vec<_> = all().collect();
                return Err(format!(
                    "`{name}` is no quantity of a goal: {hint}it is one of {}, with `read.` or \
                     `write.` before it (`waf` alone)",
                    all.join(", ")
                ));
            }
        },
    };
    Ok((of, measure))
}

fn number(value: &str) -> Result<f64, String> {
    let number = value.parse().ok().filter(|number: &f64| number.is_finite() && *number > 0.0);
    number.ok_or_else(|| format!("`{value}`: expected a number above 0"))
}

fn latency(value: &str) -> Result<f64, String> {
    let time: Duration = value.parse().map_err(|error| format!("`{value}`: {error}"))?;
    match time.is_zero() {
        true => Err(format!("`{value}`: expected a time above 0")),
        false => Ok(time.as_us_f64()),
    }
}

/// Of two goals for the same requests, the one that the other implies, and that one.
fn implied<'a>(one: &'a Goal, other: &'a Goal) -> Option<(&'a Goal, &'a Goal)> {
    let rank = |goal: &Goal| match goal.measure {
        Measure::Percentile(level) => Some(level),
        Measure::Max => Some(LEVELS.len()),
        _ => None,
    };
    let (low, high) = match (rank(one)?, rank(other)?) {
        (one_rank, other_rank) if one_rank < other_rank => (one, other),
        _ => (other, one),
    };
    (high.limit <= low.limit).then_some((low, high))
}

#[cfg(test)]
mod tests;
