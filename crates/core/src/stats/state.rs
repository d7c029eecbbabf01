//! The state that a drive began a run in, and whether what was measured is a steady state.
//!
//! A drive whose free space lasts to the end of a run never collects, and every policy looks alike;
//! one whose WAF still rises is measured on its way to somewhere else. Neither can be seen in a
//! percentile, so each result says it.
//!
//! The rule for the WAF: what the host wrote in the measured part is cut into two halves of as many
//! bytes, and of each it is asked how much was reclaimed for a byte written. A drive that reclaims
//! as fast as it programs does so WAF times; steady is one of whose two the larger is at most
//! [`STEADY_WITHIN_PERCENT`] above the smaller. Where either half saw fewer than [`RECLAIMS_LEAST`]
//! blocks reclaimed there is nothing to judge. Blocks are counted and not programmed pages, because
//! a block is erased at one instant: how many of its copies are under way at another depends on how
//! finely the drive is simulated, and nobody who watches may move a byte of a result.

use super::ratio;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// By how much the two of a steady drive may differ.
pub const STEADY_WITHIN_PERCENT: u64 = 10;
/// Blocks that each half must have reclaimed to be judged.
pub const RECLAIMS_LEAST: u64 = 40;
/// Moments kept at most: the halves are equal to a part in half of them.
const MOMENTS: usize = 64;

/// Host writes and reclaimed blocks up to a moment, on all drives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Bytes that the host wrote.
    pub host_bytes: u64,
    /// Blocks reclaimed: erased, or by `nogc` at no cost.
    pub reclaimed: u64,
}

impl Written {
    /// Host writes and reclaimed blocks since `earlier`.
    pub fn since(&self, earlier: &Written) -> Written {
        Written {
            host_bytes: self.host_bytes.saturating_sub(earlier.host_bytes),
            reclaimed: self.reclaimed.saturating_sub(earlier.reclaimed),
        }
    }

    /// This and what another drive did.
    pub fn and(&self, other: &Written) -> Written {
        Written {
            host_bytes: self.host_bytes + other.host_bytes,
            reclaimed: self.reclaimed + other.reclaimed,
        }
    }

    /// Bytes reclaimed for each that the host wrote, in blocks of `block` bytes.
    fn reclaimed_per_written(&self, block: u64) -> Option<f64> {
        ratio::rounded(
            u128::from(self.reclaimed) * u128::from(block),
            u128::from(self.host_bytes),
            6,
        )
    }
}

/// Moments of a run, at every so many writes; when there are too many, every second one goes.
#[derive(Clone, Debug)]
pub struct Moments {
    every: u64,
    next: u64,
    kept: Vec<Written>,
}

impl Default for Moments {
    fn default() -> Self {
        Self { every: 1, next: 1, kept: Vec::with_capacity(MOMENTS) }
    }
}

impl Moments {
    /// Is a moment to be kept, after so many writes?
    #[inline]
    pub fn is_due(&self, writes: u64) -> bool {
        writes >= self.next
    }

    /// Keeps this one.
    pub fn keep(&mut self, now: Written) {
        if self.kept.len() == MOMENTS {
            let mut at = 0;
            self.kept.retain(|_| {
                at += 1;
                at % 2 == 0
            });
            self.every *= 2;
        }
        self.kept.push(now);
        self.next = (self.kept.len() as u64 + 1) * self.every;
    }

    /// The two halves of what was done between `from` and `to`: cut where about half of the host's
    /// bytes are written.
    pub fn halves(&self, from: &Written, to: &Written) -> [Written; 2] {
        let half = to.since(from).host_bytes / 2;
        let distance = |moment: &&Written| moment.since(from).host_bytes.abs_diff(half);
        let cut = self.kept.iter().min_by_key(distance).copied().unwrap_or(*from);
        [cut.since(from), to.since(&cut)]
    }
}

/// The state of a run's drives, as known when it ends.
#[derive(Clone, Debug, Default)]
pub struct StateTotals {
    /// How the drives were prepared.
    pub began: Began,
    /// Bytes free when the run began, before anything is reclaimed; none where the FTL has log
    /// blocks.
    pub free_bytes: Option<u64>,
    /// Bytes of a mapping unit.
    pub unit: u64,
    /// Bytes of a block.
    pub block: u64,
    /// Host writes and reclaimed blocks in the two halves of the measured part.
    pub halves: [Written; 2],
}

/// How a drive was prepared.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Began {
    /// `empty`, `fill`, `steady` or `aged`.
    pub state: String,
    /// Full overwrites of what the host sees.
    pub overwrites: f64,
    /// Which pages those wrote, where there were any: `random` or `workload`.
    pub overwritten_by: Option<String>,
    /// The WAF of the last quarter of an overwrite, or of all writes where there was none.
    pub waf: Option<f64>,
    /// The WAF had settled, or nothing had to settle.
    pub settled: bool,
}

impl Began {
    /// In words: "filled, 1.5 full random overwrites, WAF 2.57".
    pub fn in_words(&self) -> String {
        let waf = self.waf.map_or(String::new(), |waf| format!(", WAF {waf:.2}"));
        let plural = if self.overwrites == 1.0 { "" } else { "s" };
        let unsettled = if self.settled { "" } else { ", not settled" };
        match (self.state.as_str(), self.overwritten_by.as_deref()) {
            ("empty", _) => "empty: nothing was ever written".to_string(),
            ("fill", _) => "filled once, in address order".to_string(),
            ("aged", _) => "aged as SSDsim does".to_string(),
            (_, Some("workload")) => {
                let times = self.overwrites;
                format!(
                    "filled, then its capacity overwritten {times} time{plural} by the \
                     workload{waf}{unsettled}"
                )
            }
            _ => {
                format!("filled, {} full random overwrite{plural}{waf}{unsettled}", self.overwrites)
            }
        }
    }
}

/// The state that the drive began in, and whether what was measured was steady.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct StateReport {
    /// State that preconditioning made: `empty`, `fill` (written once), `steady` (and overwritten),
    /// `aged` (as SSDsim does).
    pub began: String,
    /// That state in words.
    pub text: String,
    /// How often preconditioning overwrote what the host sees (full overwrites).
    pub overwrites: f64,
    /// Which pages it overwrote: `random` ones, or those that the `workload` writes; null without
    /// overwrites.
    pub overwritten_by: Option<String>,
    /// WAF of the last quarter of an overwrite, or of all writes where there was no overwrite
    /// (ratio); null where nothing was written.
    pub precondition_waf: Option<f64>,
    /// The WAF of the overwrites had settled (`precondition.settled_below`), or nothing had to
    /// settle.
    pub settled: bool,
    /// Free space when the run began, which could be programmed without reclaiming anything
    /// (bytes), a static pseudo-SLC cache aside; null with log blocks, and where a drive of an
    /// array failed.
    pub free_bytes: Option<u64>,
    /// Data programmed in the measured part, for whatever reason (bytes).
    pub programmed_bytes: u64,
    /// How many times space was reclaimed in the measured part: blocks erased, and those that the
    /// `nogc` baseline reclaims at no cost (blocks).
    pub reclaimed_blocks: u64,
    /// Bytes of blocks reclaimed for each byte that the host wrote, in the first and in the second
    /// half of what it wrote in the measured part (ratios), a block of a pseudo-SLC cache as a
    /// whole one: the WAF of a drive without one that reclaims as fast as it programs; null where
    /// it wrote nothing.
    pub reclaimed_per_written: Option<[f64; 2]>,
    /// The larger of the two is at most 10 % above the smaller; null where fewer than 40 blocks
    /// were reclaimed in either half.
    pub waf_steady: Option<bool>,
}

impl StateTotals {
    /// Adds what another drive of the same run did.
    pub fn add(&mut self, other: &StateTotals) {
        self.free_bytes = self.free_bytes.zip(other.free_bytes).map(|(one, two)| one + two);
        for (half, more) in self.halves.iter_mut().zip(&other.halves) {
            *half = half.and(more);
        }
    }

    /// Its report in a result; `programmed` mapping units and `reclaimed` blocks are those of the
    /// measured part.
    pub fn report(&self, programmed: u64, reclaimed: u64) -> StateReport {
        let Began { state, overwrites, overwritten_by, waf, settled } = &self.began;
        let of = |half: usize| self.halves[half].reclaimed_per_written(self.block);
        let both = || Some([of(0)?, of(1)?]);
        let enough = self.halves.iter().all(|half| half.reclaimed >= RECLAIMS_LEAST);
        let is_steady = |[one, two]: [f64; 2]| {
            let above = 1.0 + STEADY_WITHIN_PERCENT as f64 / 100.0;
            one.max(two) <= above * one.min(two)
        };
        StateReport {
            began: state.clone(),
            text: self.began.in_words(),
            overwrites: *overwrites,
            overwritten_by: overwritten_by.clone(),
            precondition_waf: *waf,
            settled: *settled,
            free_bytes: self.free_bytes,
            programmed_bytes: programmed * self.unit,
            reclaimed_blocks: reclaimed,
            reclaimed_per_written: both(),
            waf_steady: both().filter(|_| enough).map(is_steady),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNIT: u64 = 4096;

    /// A run of `writes` of a page each, with the WAF of each tenth of it; a block has ten pages.
    fn run(writes: u64, wafs: &[u64; 10]) -> (Moments, Written) {
        let (mut moments, mut now, mut programmed) = (Moments::default(), Written::default(), 0);
        for write in 0..writes {
            now.host_bytes += UNIT;
            programmed += wafs[(write * 10 / writes) as usize];
            now.reclaimed = programmed / 10;
            if moments.is_due(write + 1) {
                moments.keep(now);
            }
        }
        (moments, now)
    }

    fn report(writes: u64, wafs: &[u64; 10]) -> StateReport {
        let (moments, now) = run(writes, wafs);
        let halves = moments.halves(&Written::default(), &now);
        let totals = StateTotals { halves, unit: UNIT, block: 10 * UNIT, ..StateTotals::default() };
        totals.report(10 * now.reclaimed, now.reclaimed)
    }

    #[test]
    fn a_waf_that_rises_is_not_steady_and_one_that_stays_is() {
        let rising = report(100_000, &[1, 1, 1, 1, 1, 2, 2, 2, 2, 2]);
        let [first, second] = rising.reclaimed_per_written.unwrap();
        // The cut lies within one moment of 32 or more of the middle, and a block is reclaimed
        // whole.
        assert!((0.99..1.04).contains(&first) && (1.96..2.04).contains(&second), "{rising:?}");
        assert_eq!(rising.waf_steady, Some(false));
        let steady = report(100_000, &[3, 2, 3, 2, 3, 2, 3, 2, 3, 2]);
        assert_eq!(steady.waf_steady, Some(true), "{steady:?}");
    }

    #[test]
    fn few_reclaims_are_not_judged_and_no_writes_have_no_waf() {
        let few = report(10 * RECLAIMS_LEAST, &[1; 10]);
        assert_eq!(
            (few.reclaimed_blocks, few.waf_steady),
            (RECLAIMS_LEAST, None),
            "half of them in each half"
        );
        assert!(few.reclaimed_per_written.is_some());
        let none = report(0, &[1; 10]);
        assert_eq!(
            (none.reclaimed_per_written, none.waf_steady, none.programmed_bytes),
            (None, None, 0)
        );
    }

    #[test]
    fn moments_are_bounded_and_evenly_spread() {
        for writes in [1, 63, 64, 65, 1_000, 1_000_000] {
            let (moments, now) = run(writes, &[1; 10]);
            assert!(
                moments.kept.len() <= MOMENTS && moments.kept.capacity() == MOMENTS,
                "{writes}"
            );
            let [first, second] = moments.halves(&Written::default(), &now);
            let apart = first.host_bytes.abs_diff(second.host_bytes) / UNIT;
            assert!(apart <= 1 + writes / (MOMENTS as u64 / 4), "{writes}: {apart}");
        }
    }

    #[test]
    fn what_preconditioning_did_is_told_in_words() {
        let steady = |overwrites, by: &str, settled| {
            let (state, by) = ("steady".to_string(), Some(by.to_string()));
            Began { state, overwrites, overwritten_by: by, waf: Some(2.714), settled }.in_words()
        };
        assert_eq!(steady(2.0, "random", true), "filled, 2 full random overwrites, WAF 2.71");
        assert_eq!(
            steady(1.0, "random", false),
            "filled, 1 full random overwrite, WAF 2.71, not settled"
        );
        let by_workload =
            "filled, then its capacity overwritten 1.5 times by the workload, WAF 2.71";
        assert_eq!(steady(1.5, "workload", true), by_workload);
    }
}
