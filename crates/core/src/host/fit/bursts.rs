//! How bursty arrivals are: the index of dispersion of counts, and the interrupted Poisson process
//! that has it.

use crate::sim::math::{exp, ln};

/// Fewer bins than this say nothing about a variance.
const BINS_MIN: u64 = 10;

/// Counts of arrivals in bins of equal length, as far as their mean and variance need.
#[derive(Clone, Debug)]
pub(super) struct Bins {
    length_ns: u64,
    /// The bin that is being filled, and how many it holds.
    current: u64,
    count: u64,
    /// Of the bins before: their number is `current`.
    sum: u64,
    squares: u128,
}

impl Bins {
    pub(super) fn new(length_ns: u64) -> Self {
        Self { length_ns, current: 0, count: 0, sum: 0, squares: 0 }
    }

    /// One more arrival; times never decrease.
    pub(super) fn add(&mut self, at_ns: u64) {
        let bin = at_ns / self.length_ns;
        if bin > self.current {
            self.sum += self.count;
            self.squares += u128::from(self.count) * u128::from(self.count);
            (self.current, self.count) = (bin, 0);
        }
        self.count += 1;
    }

    /// Variance over mean of the counts in the whole bins; `None` with too few of them.
    pub(super) fn dispersion(&self) -> Option<f64> {
        if self.current < BINS_MIN || self.sum == 0 {
            return None;
        }
        let (bins, sum) = (self.current as f64, self.sum as f64);
        let mean = sum / bins;
        Some((self.squares as f64 / bins - mean * mean) / mean)
    }
}

/// How requests arrive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bursts {
    /// As evenly as a clock.
    Even,
    /// As a Poisson process does.
    Poisson,
    /// In bursts.
    Bursty {
        /// The rate in a burst over the mean rate.
        peak_to_mean: f64,
        /// Mean length of a burst, in seconds.
        burst_s: f64,
    },
}

/// An index of dispersion below this, over 10 ms and 1 s alike, is that of a clock; one near 1 of a
/// Poisson process.
const EVEN_BELOW: f64 = 0.3;
const POISSON_BELOW: f64 = 1.2;
/// Of n bins of a Poisson process the index lies about 1 with a deviation of sqrt(2 / n): within so
/// many of them it is chance.
const CHANCE: f64 = 3.0;
/// Where only 10 ms are known (a trace of less than ten seconds), bursts are taken to fade as fast:
/// 1 / 10 ms.
const DECAY_UNKNOWN: f64 = 100.0;
/// Decay rates that are looked at, per second.
const DECAYS: (f64, f64) = (1e-4, 1e3);

impl Bursts {
    /// The process of mean rate `rate` (per second) with these indices of dispersion in 10 ms and
    /// in 1 s, of a trace of `span_s` seconds.
    ///
    /// IDC(t) - 1 = K g(rt) with K = 2 m (p - 1) / r and g(x) = 1 - (1 - e^-x) / x. The ratio of
    /// the two hangs on r alone and falls with it, from 100 to 1: it is bisected; then K, p and b
    /// follow. A ratio outside of what r can make takes the nearest r and keeps the 1 s.
    pub fn fit(rate: f64, span_s: f64, idc_10ms: Option<f64>, idc_1s: Option<f64>) -> Self {
        let known = [idc_10ms, idc_1s].into_iter().flatten();
        let most = known.fold(f64::NEG_INFINITY, f64::max);
        if rate <= 0.0 || most == f64::NEG_INFINITY {
            return Self::Poisson;
        }
        if most < EVEN_BELOW {
            return Self::Even;
        }
        let is_chance = |(idc, length_s): (Option<f64>, f64)| {
            let bins = (span_s / length_s).max(1.0);
            idc.is_none_or(|idc| idc < POISSON_BELOW.max(1.0 + CHANCE * (2.0 / bins).sqrt()))
        };
        if [(idc_10ms, 0.01), (idc_1s, 1.0)].into_iter().all(is_chance) {
            return Self::Poisson;
        }
        let excess = |idc: f64| (idc - 1.0).max(1e-3);
        let (decay, k) = match (idc_10ms, idc_1s) {
            (Some(short), Some(long)) => {
                let decay = decay_of(excess(long) / excess(short));
                (decay, excess(long) / saturation(decay))
            }
            (_, Some(long)) => (1.0, excess(long) / saturation(1.0)),
            (short, None) => {
                (DECAY_UNKNOWN, excess(short.unwrap_or(1.0)) / saturation(DECAY_UNKNOWN * 0.01))
            }
        };
        let peak_to_mean = (1.0 + k * decay / (2.0 * rate)).min(1e9 / rate).max(1.001);
        Self::Bursty { peak_to_mean, burst_s: peak_to_mean / ((peak_to_mean - 1.0) * decay) }
    }
}

/// The decay rate at which IDC - 1 is `ratio` times as large in 1 s as in 10 ms.
fn decay_of(ratio: f64) -> f64 {
    let (mut low, mut high) = (ln(DECAYS.0), ln(DECAYS.1));
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        let decay = exp(middle);
        if saturation(decay) / saturation(decay * 0.01) > ratio {
            low = middle;
        } else {
            high = middle;
        }
    }
    exp(f64::midpoint(low, high))
}

/// 1 - (1 - e^-x) / x, from 0 to 1.
fn saturation(x: f64) -> f64 {
    // Below, the difference would lose its digits.
    if x < 1e-4 { x / 2.0 - x * x / 6.0 } else { 1.0 - (1.0 - exp(-x)) / x }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_dispersion_is_variance_over_mean_of_the_whole_bins() {
        let mut bins = Bins::new(10);
        // Counts 2, 0, 1, 3, 0, 0, 1, 1, 1, 1, and a bin that has only begun.
        for at in [0, 9, 20, 30, 30, 39, 60, 70, 85, 99, 100] {
            bins.add(at);
        }
        let mean = 1.0;
        let variance = (1.0 + 1.0 + 0.0 + 4.0 + 1.0 + 1.0) / 10.0;
        assert!((bins.dispersion().unwrap() - variance / mean).abs() < 1e-12);
        assert_eq!(Bins::new(10).dispersion(), None);
    }

    #[test]
    fn a_process_is_found_from_its_own_dispersion() {
        for (rate, peak, burst) in
            [(1000.0, 10.0, 0.02), (50.0, 3.0, 1.0), (20_000.0, 1.5, 0.005), (2.0, 100.0, 0.3)]
        {
            let r: f64 = peak / ((peak - 1.0) * burst);
            let idc = |t: f64| {
                1.0 + 2.0 * rate * (peak - 1.0) / r * (1.0 - (1.0 - exp(-r * t)) / (r * t))
            };
            let Bursts::Bursty { peak_to_mean, burst_s } =
                Bursts::fit(rate, 1e4, Some(idc(0.01)), Some(idc(1.0)))
            else {
                panic!("{rate} {peak} {burst}");
            };
            assert!((peak_to_mean / peak - 1.0).abs() < 1e-3, "{peak_to_mean} instead of {peak}");
            assert!((burst_s / burst - 1.0).abs() < 1e-3, "{burst_s} instead of {burst}");
        }
    }

    #[test]
    fn what_is_as_even_as_a_clock_or_as_chance_is_said_so() {
        assert_eq!(Bursts::fit(100.0, 1e4, Some(0.0), Some(0.01)), Bursts::Even);
        assert_eq!(Bursts::fit(100.0, 1e4, Some(1.02), Some(0.97)), Bursts::Poisson);
        assert_eq!(Bursts::fit(100.0, 1e4, None, None), Bursts::Poisson);
        // Of 20 bins 1.8 is chance, of 2,000 it is none.
        assert_eq!(Bursts::fit(1000.0, 20.0, Some(1.0), Some(1.8)), Bursts::Poisson);
        assert_ne!(Bursts::fit(1000.0, 2e3, Some(1.0), Some(1.8)), Bursts::Poisson);
    }

    #[test]
    fn no_dispersion_makes_a_process_that_cannot_be() {
        for rate in [1e-3, 1.0, 1e9] {
            for short in [None, Some(0.0), Some(1.0), Some(1e9)] {
                for long in [None, Some(0.0), Some(1.0), Some(1e12)] {
                    if let Bursts::Bursty { peak_to_mean, burst_s } =
                        Bursts::fit(rate, 1e3, short, long)
                    {
                        let sane = peak_to_mean >= 1.0 && peak_to_mean.is_finite() && burst_s > 0.0;
                        assert!(
                            sane && burst_s.is_finite(),
                            "{rate} {short:?} {long:?}: {peak_to_mean} {burst_s}"
                        );
                    }
                }
            }
        }
    }
}
