//! The numbers of a result by name: what a claim compares, a sweep tabulates, a plot draws.
//!
//! A name is the path of a field in `result.json` (`flash.waf`, `write.p99_us`), or a short name
//! for one. Two things are no fields: one that says a word, with the word behind it
//! (`outcome.starved`, `act.rules.paper.pass`), is 1 if it says so and else 0;
//! `read.slower_than_200us` is the share of the reads that took longer (ratio).

use manx_core::stats::{
    ArrayCounters, Curve, FaultCounters, FlashReport, LogReport, MapReport, PaceReport,
    PowerReport, PslcReport, RainReport, ResetCounters, RetryReport, RotationReport, RunResult,
    ScrubReport, TolerantReport, WearReport,
};
use manx_core::units::Duration;
use serde_json::Value;

/// Short names: what they stand for, and the unit.
pub const SHORT: [(&str, &str, &str); 21] = [
    ("mean", "read.mean_us", "us"),
    ("p50", "read.p50_us", "us"),
    ("p90", "read.p90_us", "us"),
    ("p95", "read.p95_us", "us"),
    ("p99", "read.p99_us", "us"),
    ("p99_9", "read.p99_9_us", "us"),
    ("p99_99", "read.p99_99_us", "us"),
    ("p99_999", "read.p99_999_us", "us"),
    ("max", "read.max_us", "us"),
    ("iops", "read.iops", "1/s"),
    ("write_mean", "write.mean_us", "us"),
    ("write_p99", "write.p99_us", "us"),
    ("write_p99_9", "write.p99_9_us", "us"),
    ("write_p99_99", "write.p99_99_us", "us"),
    ("write_max", "write.max_us", "us"),
    ("write_iops", "write.iops", "1/s"),
    ("waf", "flash.waf", "ratio"),
    ("erases", "flash.erases", "blocks"),
    ("blocked", "gc.blocked_reads_percent", "percent"),
    ("gc_runs", "gc.runs", "victims"),
    ("mismatches", "verify.mismatches", "reads"),
];

/// The words that a field may be asked for.
const WORDS: [&str; 7] = ["completed", "starved", "stuck", "partial", "pass", "fail", "undecided"];

/// Text before the latency in the name of a share of slower requests.
const SLOWER: &str = ".slower_than_";

/// A result whose numbers can be asked for by name.
#[derive(Clone, Debug)]
pub struct Quantities(Value);

/// Why a number is not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Missing {
    /// There is no such field; the nearest name, if one is near.
    Unknown {
        /// The name that was asked for.
        name: String,
        /// The known name that may have been meant.
        nearest: Option<String>,
    },
    /// The field is null in this result: nothing was measured there.
    Null,
    /// The field is no number.
    NoNumber,
}

impl Quantities {
    /// The numbers of a result.
    pub fn of(result: &RunResult) -> Self {
        // A result holds only numbers, text and maps keyed by text, none of which serde_json can
        // refuse.
        Self(serde_json::to_value(result).expect("a result is plain data"))
    }

    /// Every name that a result may have: of one with the parts that others leave out.
    pub fn every() -> Self {
        let rain =
            RainReport { tolerant: Some(TolerantReport::default()), ..RainReport::default() };
        let (rotation, scrub) = (Some(RotationReport::default()), Some(ScrubReport::default()));
        let (power, pslc) = (Some(PowerReport::default()), Some(PslcReport::default()));
        let (pace, retry) = (Some(PaceReport::default()), Some(RetryReport::default()));
        let (log, map, faults) = (
            Some(LogReport::default()),
            Some(MapReport::default()),
            Some(FaultCounters { worn_out: 1, ..FaultCounters::default() }),
        );
        let (array, resets) = (Some(ArrayCounters::default()), Some(ResetCounters::default()));
        let wear =
            WearReport { endurance: Some(0), percentage_used: Some(0.0), ..WearReport::default() };
        let flash = FlashReport { wear, ..FlashReport::default() };
        Self::of(&RunResult {
            rain: Some(rain),
            rotation,
            pace,
            scrub,
            retry,
            power,
            pslc,
            log,
            map,
            faults,
            array,
            resets,
            flash,
            ..RunResult::default()
        })
    }

    /// The number called `name`.
    pub fn get(&self, name: &str) -> Result<f64, Missing> {
        let path = path_of(name);
        if let Some((field, word)) = path.rsplit_once('.')
            && WORDS.contains(&word)
            && let Value::String(says) = self.value(field)?
        {
            return Ok(f64::from(u8::from(says == word)));
        }
        if let Some((field, time)) = path.split_once(SLOWER) {
            let Ok(time) = time.parse::<Duration>() else { return Err(self.unknown(name)) };
            let curve = self.value(&format!("{field}.curve"))?;
            let Ok(curve) = serde_json::from_value::<Curve>(curve.clone()) else {
                return Err(self.unknown(name));
            };
            return curve.beyond_us(time.as_us_f64()).ok_or(Missing::Null);
        }
        match self.value(name)? {
            Value::Null => Err(Missing::Null),
            Value::Bool(is) => Ok(f64::from(u8::from(*is))),
            other => other.as_f64().ok_or(Missing::NoNumber),
        }
    }

    /// Value of the field called `name`, number or not.
    pub fn value(&self, name: &str) -> Result<&Value, Missing> {
        let mut value = &self.0;
        for field in path_of(name).split('.') {
            value = match value {
                Value::Null => return Err(Missing::Null),
                Value::Array(items) => field.parse().ok().and_then(|at: usize| items.get(at)),
                // In an expression a hyphen is a minus: `paper_stress` names `paper-stress`.
                other => other.get(field).or_else(|| other.get(field.replace('_', "-"))),
            }
            .ok_or_else(|| self.unknown(name))?;
        }
        Ok(value)
    }

    fn unknown(&self, name: &str) -> Missing {
        let mut paths = Vec::new();
        leaves(&self.0, "", &mut paths);
        let names = SHORT.iter().map(|(short, ..)| (*short).to_string()).chain(paths);
        let near = names.map(|other| (strsim::damerau_levenshtein(name, &other), other)).min();
        let nearest = near.filter(|(edits, _)| *edits <= 1 + name.len() / 4).map(|(_, name)| name);
        Missing::Unknown { name: name.to_string(), nearest }
    }
}

/// The path in `result.json` of a short name; any other name is one.
pub fn path_of(name: &str) -> &str {
    SHORT.iter().find(|(short, ..)| *short == name).map_or(name, |(_, path, _)| path)
}

/// The paths of all numbers, and of what is null.
fn leaves(value: &Value, path: &str, into: &mut Vec<String>) {
    match value {
        Value::Object(fields) => fields.iter().for_each(|(name, value)| {
            let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            leaves(value, &path, into);
        }),
        Value::Number(_) | Value::Null | Value::Bool(_) => into.push(path.to_string()),
        Value::String(_) | Value::Array(_) => {}
    }
}

impl std::fmt::Display for Missing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unknown { name, nearest: Some(nearest) } => {
                write!(f, "no quantity is called `{name}`; did you mean `{nearest}`?")
            }
            Self::Unknown { name, nearest: None } => write!(
                f,
                "no quantity is called `{name}`: expected the path of a number in result.json, \
                 such as flash.waf, or one of {}",
                SHORT.map(|(short, ..)| short).join(", ")
            ),
            Self::Null => f.write_str(
                "it is null in this result: too few samples, or nothing of the kind happened",
            ),
            Self::NoNumber => f.write_str("it is no number"),
        }
    }
}

impl std::error::Error for Missing {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::example;
    use manx_core::stats::Outcome;

    fn example() -> Quantities {
        Quantities::of(&example::three_policies().runs[1])
    }

    #[test]
    fn every_short_name_leads_to_a_field_of_every_result() {
        let empty = Quantities::of(&RunResult::default());
        for (short, path, _) in SHORT {
            for result in [&example(), &empty] {
                let got = result.get(short);
                assert!(matches!(got, Ok(_) | Err(Missing::Null)), "{short}: {got:?}");
                assert_eq!(got, result.get(path));
            }
        }
    }

    #[test]
    fn a_number_is_found_by_its_path_and_a_wrong_name_gets_a_suggestion() {
        let set = example::three_policies();
        let result = example();
        assert_eq!(result.get("p99_9").ok(), set.runs[1].read.p99_9_us);
        assert_eq!(result.get("write.count"), Ok(set.runs[1].write.count as f64));
        assert_eq!(result.get("scenario"), Err(Missing::NoNumber));
        let text = |name: &str| result.get(name).unwrap_err().to_string();
        assert_eq!(text("p999_9"), "no quantity is called `p999_9`; did you mean `p99_9`?");
        assert_eq!(
            text("flash.wav"),
            "no quantity is called `flash.wav`; did you mean `flash.waf`?"
        );
        assert!(text("nothing_like_it_at_all").contains("one of mean, p50"));
        let starved =
            Quantities::of(&RunResult { outcome: Outcome::Starved, ..RunResult::default() });
        assert_eq!(
            (starved.get("outcome.starved"), starved.get("outcome.completed")),
            (Ok(1.0), Ok(0.0))
        );
        assert_eq!(
            (result.get("outcome.starved"), result.get("outcome.completed")),
            (Ok(0.0), Ok(1.0))
        );
        assert!(matches!(result.get("outcome.starvd"), Err(Missing::Unknown { .. })));
        assert!(matches!(result.get("read.slower_than_soon"), Err(Missing::Unknown { .. })));
        assert!(text("attribution.read.0.mean_us.erase").starts_with("it is null"));
    }
}
