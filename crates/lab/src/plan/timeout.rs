//! The timeout N of T-ES for a longest write, by the rule of Kim et al., "Practical Erase
//! Suspension for Modern Low-latency SSDs" (USENIX ATC '19), section 2.4: a write waits for a GC
//! run and for an erase that reads hold up N, so that GC + N stays below what is allowed. Their
//! values of N are powers of two of a millisecond.

use super::check::Longest;
use crate::json::indented;
use crate::table::cell::latency;
use manx_config::ConfigError;
use manx_core::units::Duration;
use serde_json::json;

/// A day: nothing that is planned here takes longer.
const LONGEST: Duration = Duration::from_s(86_400);

/// The question: what a GC run takes, and the time below which writes are to stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeout {
    /// `--gc`: the longest GC run.
    pub gc: Duration,
    /// `--writes-below`.
    pub below: Duration,
}

/// The answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The time that GC leaves: N has to lie below it.
    pub room: Duration,
    /// N, a power of two of a millisecond; zero is D-ES.
    pub n: Duration,
    /// Longest write by the rule: GC + N.
    pub longest: Duration,
}

impl Timeout {
    /// The largest N, or which option is wrong and what is allowed.
    pub fn answer(self) -> Result<Answer, ConfigError> {
        let refused = |option: &str, value: Duration, allowed: String| {
            let text = format!("{option} = {value} is not allowed: {allowed}");
            Err(ConfigError::new(text))
        };
        if self.gc == Duration::ZERO || self.gc > LONGEST {
            return refused("--gc", self.gc, format!("above 0s, at most {LONGEST}"));
        }
        if self.below <= self.gc || self.below > LONGEST {
            let gc = self.gc;
            let allowed = format!(
                "above --gc {gc}, at most {LONGEST}: a write waits for a GC run, whatever N is"
            );
            return refused("--writes-below", self.below, allowed);
        }
        let room = self.below - self.gc;
        let mut n = Duration::ZERO;
        let mut next = Duration::from_ms(1);
        while next < room {
            n = next;
            next = next * 2;
        }
        Ok(Answer { room, n, longest: self.gc + n })
    }

    /// The answer in words.
    pub fn text(self, answer: &Answer) -> String {
        let us = |time: Duration| latency(time.as_us_f64());
        let policy = answer.policy();
        format!(
            "N, the timeout of T-ES (Kim et al., ATC '19, section 2.4): GC + N < W\n\n\
             W     {:>8}  writes stay below it             --writes-below\n\
             GC    {:>8}  the longest GC run               --gc\n\
             W-GC  {:>8}  N lies below it\n\
             N     {:>8}  its largest power of two of 1ms  --policy '{policy}'\n\
             GC+N  {:>8}  the longest write by this rule\n\n\
             The rule leaves out what follows N: the step under way, and an erase of D-ES.\n",
            us(self.below),
            us(self.gc),
            us(answer.room),
            us(answer.n),
            us(answer.longest),
        )
    }

    /// The answer as a JSON document, with what was checked.
    pub fn document(self, answer: &Answer, check: Option<&Longest>) -> String {
        indented(&json!({
            "plan": "timeout",
            "writes_below_ns": self.below.as_ns(),
            "gc_ns": self.gc.as_ns(),
            "room_ns": answer.room.as_ns(),
            "n_ns": answer.n.as_ns(),
            "longest_write_ns": answer.longest.as_ns(),
            "policy": answer.policy(),
            "check": check,
        }))
    }
}

impl Answer {
    /// The policy with this N.
    pub fn policy(&self) -> String {
        match self.n {
            Duration::ZERO => "d-es".to_string(),
            n => format!("t-es({}ms)", n.as_ns() / 1_000_000),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(gc: u64, below: u64) -> Result<Answer, ConfigError> {
        Timeout { gc: Duration::from_ms(gc), below: Duration::from_ms(below) }.answer()
    }

    #[test]
    fn writes_below_100_ms_with_gc_of_35_ms_take_an_n_of_64_ms() {
        let answer = ms(35, 100).unwrap();
        assert_eq!((answer.n, answer.longest), (Duration::from_ms(64), Duration::from_ms(99)));
        assert_eq!(answer.policy(), "t-es(64ms)");
    }

    #[test]
    fn gc_and_n_stay_below_the_bound_and_twice_n_does_not() {
        for gc in [1, 7, 24, 35] {
            for below in [gc + 1, gc + 2, 60, 90, 99, 100, 1000, 5000] {
                let answer = ms(gc, below).unwrap();
                assert!(answer.longest < Duration::from_ms(below), "{gc} {below}: {answer:?}");
                let twice = (answer.n * 2).max(Duration::from_ms(1));
                assert!(twice >= answer.room, "{gc} {below}: {answer:?}");
            }
        }
        let none = ms(35, 36).unwrap();
        assert_eq!((none.n, none.policy()), (Duration::ZERO, "d-es".to_string()));
    }

    #[test]
    fn a_bound_below_gc_is_refused_with_both_figures() {
        let said = ms(35, 35).unwrap_err().to_string();
        assert!(
            said.contains("--writes-below = 35ms") && said.contains("above --gc 35ms"),
            "{said}"
        );
        assert!(ms(0, 35).unwrap_err().to_string().contains("--gc = 0s"), "a GC run takes time");
    }
}
