//! The inverse of the cumulative distribution: how long the slowest share of the requests takes,
//! down to one request.
//!
//! Points lie evenly on a logarithmic axis of the share beyond, sixteen a decade: a plot over 1 -
//! 10^-k shows the tail as wide as the rest.

use super::Histogram;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Points a decade.
const STEPS: usize = 16;

/// 10^(-step / 16), in billionths.
const SHARES: [u64; STEPS] = [
    1_000_000_000,
    865_964_323,
    749_894_209,
    649_381_632,
    562_341_325,
    486_967_525,
    421_696_503,
    365_174_127,
    316_227_766,
    273_841_963,
    237_137_371,
    205_352_503,
    177_827_941,
    153_992_653,
    133_352_143,
    115_478_198,
];
const WHOLE: u64 = 1_000_000_000;

/// An inverse cumulative distribution: `beyond[i]` of the requests took longer than `us[i]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Curve {
    /// Shares of the requests, falling: 16 a decade from 1 down to one request (ratio).
    pub beyond: Vec<f64>,
    /// The latency that so many exceed (microseconds); the first is the shortest and the last the
    /// longest of all.
    pub us: Vec<f64>,
}

impl Curve {
    /// The curve of a histogram; empty of nothing.
    pub fn of(histogram: &Histogram) -> Self {
        let (mut curve, count) = (Curve::default(), histogram.count());
        if count == 0 {
            return curve;
        }
        let mut decade = WHOLE;
        'decades: loop {
            for share in SHARES {
                let beyond = (u128::from(count) * u128::from(share) / u128::from(decade)) as u64;
                if beyond == 0 {
                    break 'decades;
                }
                // Each share is a whole number of billionths over a power of ten: one division,
                // rounded alike anywhere.
                curve.push(share as f64 / decade as f64, histogram, (count - beyond).max(1));
            }
            let Some(next) = decade.checked_mul(10) else { break };
            decade = next;
        }
        curve.push(1.0 / count as f64, histogram, count);
        curve
    }

    /// The share that took longer than `us` (ratio), on a straight line between the two points
    /// around it; `None` of an empty curve.
    pub fn beyond_us(&self, us: f64) -> Option<f64> {
        let at = self.us.partition_point(|point| *point <= us);
        match (at.checked_sub(1), self.us.get(at)) {
            (None, None) => None,
            (None, Some(_)) => Some(1.0),
            (Some(_), None) => Some(0.0),
            (Some(before), Some(next)) => {
                let along = (us - self.us[before]) / (next - self.us[before]);
                Some(self.beyond[before] + along * (self.beyond[at] - self.beyond[before]))
            }
        }
    }

    fn push(&mut self, beyond: f64, histogram: &Histogram, rank: u64) {
        if let Some(value) = histogram.value_at_rank(rank) {
            self.beyond.push(beyond);
            self.us.push(value.as_us_f64());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_runs_from_the_shortest_to_the_longest() {
        let mut histogram = Histogram::new();
        (1..=1000u64).for_each(|us| histogram.record(us * 1000));
        let curve = Curve::of(&histogram);
        assert_eq!(curve.beyond.len(), 16 * 3 + 2);
        assert_eq!((curve.beyond[0], curve.us[0]), (1.0, 1.0));
        assert_eq!((curve.beyond[16], curve.us[16]), (0.1, 900.0));
        assert_eq!((curve.beyond[32], curve.us[32]), (0.01, 990.0));
        assert_eq!((curve.beyond[48], curve.us[48]), (0.001, 999.0));
        assert_eq!((curve.beyond[49], curve.us[49]), (0.001, 1000.0));
        assert!(curve.us.is_sorted());
        assert!(curve.beyond.iter().rev().is_sorted());
    }

    #[test]
    fn the_share_beyond_a_latency_lies_between_its_neighbours() {
        let mut histogram = Histogram::new();
        (1..=1000u64).for_each(|us| histogram.record(us * 1000));
        let curve = Curve::of(&histogram);
        for (us, share) in
            [(0.5, 1.0), (900.0, 0.1), (950.0, 0.05), (990.0, 0.01), (1000.0, 0.0), (2000.0, 0.0)]
        {
            let got = curve.beyond_us(us).unwrap();
            assert!((got - share).abs() < 2e-3, "{us}: {got}");
        }
        assert_eq!(Curve::default().beyond_us(1.0), None);
    }

    #[test]
    fn the_steps_are_the_powers_they_stand_for() {
        for (step, share) in SHARES.iter().enumerate() {
            let mut sixteenth = 1.0;
            (0..16).for_each(|_| sixteenth *= *share as f64 / WHOLE as f64);
            let mut power = 1.0;
            (0..step).for_each(|_| power /= 10.0);
            assert!((sixteenth / power - 1.0).abs() < 1e-7, "step {step}");
        }
    }

    #[test]
    fn a_curve_of_nothing_is_empty_and_of_one_has_it_at_both_ends() {
        assert_eq!(Curve::of(&Histogram::new()), Curve::default());
        let mut one = Histogram::new();
        one.record(5_000);
        assert_eq!(Curve::of(&one), Curve { beyond: vec![1.0, 1.0], us: vec![5.0, 5.0] });
    }
}
