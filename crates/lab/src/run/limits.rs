//! Limits of a run: how much of it may be slow, and when it is given up because nothing that comes
//! can mend it.
//!
//! A run is looked at after each *segment*, an equal number of requests. It is given up for certain
//! where more requests were slow than may be in the whole run. Beside a *reference*, a run of the
//! same requests that went to its end, it is given up earlier: the differences of the segments are
//! batch means (Law, Simulation Modeling and Analysis, section 9.5.3) of what this run has beyond
//! the reference, bursts of the load apart, as both have them; where the whole run that they
//! predict is beyond the limit by more than the error of the prediction, it is next to certain.

use manx_core::drive::Storage;
use manx_core::host::Driver;
use serde::{Deserialize, Serialize};

/// Segments that a prediction needs.
const BATCHES_MIN: usize = 8;

/// Standard errors by which a prediction is beyond its limit: for a one-sided 99.9 %, with more
/// where there are few segments (Student's t has 4.8 for 8 and 3.4 for 32; this has 5.2 and 3.7).
fn errors(batches: usize) -> f64 {
    3.3 * (1.0 + 4.0 / (batches as f64 - 1.0))
}

/// Limits of a run and how often they are looked at.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Limits {
    /// Requests of a segment.
    pub step: u64,
    /// Segments after which the run ends in any case; 0 for all of it.
    pub segments: usize,
    /// The limits.
    pub of: Vec<Limit>,
}

/// One limit.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Limit {
    /// It is about writes; else about reads.
    pub of_writes: bool,
    /// Requests that take longer are counted (microseconds); `None`: the microseconds of all are.
    pub beyond_us: Option<f64>,
    /// So many may be in the whole run (requests, or microseconds).
    pub most: f64,
    /// Counts of a run of the same requests after each segment; empty for none.
    pub beside: Vec<u64>,
}

/// Counts of a run, and whether it went to its end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counted {
    /// Of each limit the count after each segment.
    pub counts: Vec<Vec<u64>>,
    /// Segments that were played, also where nothing is counted: a goal on WAF is no limit.
    #[serde(skip)]
    segments: usize,
    /// Why it ended before its workload did; absent where it did not.
    pub ended: Option<Ended>,
}

/// Why a run was given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// A limit is passed, whatever comes.
    Passed,
    /// The whole run would pass a limit, next to certainly.
    Predicted,
    /// It was to be no longer.
    Short,
}

impl Counted {
    /// Counts a segment that was played; true where the run is given up.
    pub(super) fn look<S: Storage>(&mut self, driver: &Driver<S>, limits: &Limits) -> bool {
        self.segments += 1;
        self.counts.resize(limits.of.len(), Vec::new());
        for (limit, counts) in limits.of.iter().zip(&mut self.counts) {
            counts.push(limit.count(driver));
        }
        let all = || limits.of.iter().zip(&self.counts);
        self.ended = match () {
            () if all().any(|(limit, counts)| limit.is_passed(counts)) => Some(Ended::Passed),
            () if all().any(|(limit, counts)| limit.is_predicted(counts)) => Some(Ended::Predicted),
            () if limits.segments > 0 && self.segments >= limits.segments => Some(Ended::Short),
            () => None,
        };
        self.ended.is_some()
    }
}

impl Limit {
    /// So few may be slow that the 95 % interval of the percentile ends below the limit.
    pub fn by_its_interval(&mut self) {
        if self.beyond_us.is_some() {
            self.most = (self.most - 1.96 * self.most.sqrt()).max(0.0);
        }
    }

    fn count<S: Storage>(&self, driver: &Driver<S>) -> u64 {
        let measured = driver.measured();
        let stats = if self.of_writes { &measured.write } else { &measured.read };
        let Some(us) = self.beyond_us else {
            return (stats.histogram.sum_ns() / 1000).min(u128::from(u64::MAX)) as u64;
        };
        let ns = (us * 1000.0) as u64;
        let longer = stats.histogram.buckets().rev().take_while(|bucket| bucket.min > ns);
        longer.map(|bucket| bucket.count).sum()
    }

    fn is_passed(&self, counts: &[u64]) -> bool {
        counts.last().is_some_and(|count| *count as f64 > self.most)
    }

    fn is_predicted(&self, counts: &[u64]) -> bool {
        let (batches, all) = (counts.len(), self.beside.len());
        if batches < BATCHES_MIN || batches >= all {
            return false;
        }
        let parts = |counts: &[u64]| -> Vec<f64> {
            let before = [0].iter().chain(counts);
            counts.iter().zip(before).map(|(to, from)| to.saturating_sub(*from) as f64).collect()
        };
        let (own, other) = (parts(counts), parts(&self.beside[..batches]));
        let beyond: Vec<f64> = own.iter().zip(&other).map(|(own, other)| own - other).collect();
        let (n, left) = (batches as f64, (all - batches) as f64);
        let mean = beyond.iter().sum::<f64>() / n;
        // Until now it is no slower than the other drive: nothing says that it shares what is to
        // come there. A drive whose reads suspend programs does not.
        if mean <= 0.0 {
            return false;
        }
        let squares: f64 = beyond.iter().map(|beyond| (beyond - mean) * (beyond - mean)).sum();
        // Counts vary at least as Poisson's do.
        let least = if self.beyond_us.is_some() { mean.max(0.0) } else { 0.0 };
        let deviation = (squares / (n - 1.0)).max(least).sqrt();
        let to_come = self.beside[all - 1].saturating_sub(self.beside[batches - 1]) as f64;
        let predicted = counts[batches - 1] as f64 + to_come + left * mean;
        let error = left * deviation * (1.0 / n + 1.0 / left).sqrt();
        predicted - errors(batches) * error > self.most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(most: f64, beside: Vec<u64>) -> Limit {
        Limit { of_writes: false, beyond_us: Some(1000.0), most, beside }
    }

    fn sums(parts: impl Iterator<Item = u64>) -> Vec<u64> {
        parts
            .scan(0, |sum, part| {
                *sum += part;
                Some(*sum)
            })
            .collect()
    }

    #[test]
    fn a_limit_is_passed_when_more_are_slow_than_may_be_in_the_whole_run() {
        assert!(!limit(10.0, Vec::new()).is_passed(&[3, 10]));
        assert!(limit(10.0, Vec::new()).is_passed(&[3, 11]));
        assert!(!limit(10.0, Vec::new()).is_predicted(&[10; 60]), "there is no reference");
    }

    #[test]
    fn a_run_far_beyond_its_reference_is_given_up_and_one_near_it_is_not() {
        // The reference has a burst of 50 slow requests in its last segment, and nothing else.
        let reference = sums((0..64).map(|at| if at == 63 { 50 } else { 0 }));
        let limit = limit(200.0, reference);
        let of = |most: u64| sums((0..16).map(|at| most + at % 3));
        // 10 to 12 a segment: 704 and the burst.
        assert!(limit.is_predicted(&of(10)));
        // 1 to 3 a segment: 128 and the burst, 178 of 200.
        assert!(!limit.is_predicted(&of(1)));
        // 4 to 6 would come to 370: too near to be told after 8 segments that vary so much.
        let wild = sums((0..8).map(|at| if at % 2 == 0 { 0 } else { 10 }));
        assert!(!limit.is_predicted(&wild));
        assert!(!limit.is_predicted(&of(10)[..7]), "too few segments");
        let whole: Vec<u64> = sums((0..64).map(|_| 10));
        assert!(!limit.is_predicted(&whole), "nothing is left to predict");
        // Nothing may be slow and nothing was: the burst of the reference is not its own.
        let strict = Limit { most: 0.0, ..limit };
        assert!(!strict.is_predicted(&[0; 8]) && !strict.is_predicted(&[0; 60]));
    }

    #[test]
    fn runs_that_end_below_the_limit_are_hardly_ever_given_up() {
        use manx_core::sim::Rng;
        // 90 % of the limit, in clusters: a segment in eight has 0 to 40.
        let mut given_up = 0;
        for seed in 0..2000 {
            let mut rng = Rng::stream(seed, "limits");
            let parts = (0..64).map(|_| if rng.below(8) == 0 { rng.below(41) } else { 0 });
            let counts = sums(parts.collect::<Vec<_>>().into_iter());
            let limit = limit(counts[63] as f64 / 0.9, vec![0; 64]);
            given_up += u32::from((8..64).any(|to| limit.is_predicted(&counts[..to])));
        }
        assert!(given_up <= 2, "{given_up} of 2000");
    }
}
