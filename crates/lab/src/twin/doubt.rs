//! How much the data tell of each parameter: its range (`newton` finds it), and pairs of them.
//!
//! Where the range is most of what is physically possible, the data do not determine the parameter.
//! Pairs trade off whose values go together in the points at which the cost has risen by no more
//! than a part.
//!
//! The part: errors that fall off as e^(-|r| / s) around a mean |r| of s = cost have a likelihood
//! that is e^-2 times its best where the cost has risen by 2 / n of itself, n being the figures.
//! Figures of one run are not independent, so n is halved; the part is a twentieth at least.

/// A rise of the cost by this share of it is seen, or by this over the number of figures.
const RISE: f64 = 0.05;
const RISE_OF_ONE: f64 = 4.0;
/// A cost is known to this: what the random places of requests make of a percentile.
const NOISE: f64 = 0.002;
/// A range of this share of the bounds says nothing.
const FLAT: f64 = 0.5;
/// A correlation of two parameters above which one stands for the other, and the points that it
/// takes to say so.
const TRADE: f64 = 0.85;
const POINTS: usize = 12;

/// From where to where a parameter may lie, from 0 to 1 between its bounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Range {
    /// Its middle.
    pub(super) fn middle(self) -> f64 {
        0.5 * (self.low + self.high)
    }

    /// The data do not determine it.
    pub fn is_flat(self) -> bool {
        self.high - self.low >= FLAT
    }
}

/// Ranges of parameters, and pairs that trade off.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Doubt {
    /// The range of each parameter.
    pub ranges: Vec<Range>,
    /// Pairs of parameters that trade off, with their correlation.
    pub pairs: Vec<(usize, usize, f64)>,
}

/// The cost up to which a point is as good as the best, whose cost is `best`.
pub(super) fn most(best: f64, figures: usize) -> f64 {
    best * (1.0 + RISE.max(RISE_OF_ONE / figures.max(1) as f64)) + NOISE
}

/// The pairs that trade off among the points whose cost is no more than `most`.
pub(super) fn traded(points: &[(Vec<f64>, f64)], most: f64) -> Vec<(usize, usize, f64)> {
    let good: Vec<&[f64]> = points
        .iter()
        .filter(|(_, cost)| *cost <= most)
        .map(|(point, _)| point.as_slice())
        .collect();
    good.first().map_or_else(Vec::new, |first| pairs(&good, first.len()))
}

fn pairs(points: &[&[f64]], parameters: usize) -> Vec<(usize, usize, f64)> {
    let mut found = Vec::new();
    if points.len() < POINTS {
        return found;
    }
    for a in 0..parameters {
        for b in a + 1..parameters {
            let together = correlation(points, a, b);
            if together.abs() >= TRADE {
                found.push((a, b, together));
            }
        }
    }
    found
}

fn correlation(points: &[&[f64]], a: usize, b: usize) -> f64 {
    let n = points.len() as f64;
    let mean = |of: usize| points.iter().map(|point| point[of]).sum::<f64>() / n;
    let (mean_a, mean_b) = (mean(a), mean(b));
    let sum = |x: usize, y: usize, mx: f64, my: f64| {
        points.iter().map(|point| (point[x] - mx) * (point[y] - my)).sum::<f64>()
    };
    let (aa, bb) = (sum(a, a, mean_a, mean_a), sum(b, b, mean_b, mean_b));
    if aa < 1e-12 || bb < 1e-12 { 0.0 } else { sum(a, b, mean_a, mean_b) / (aa * bb).sqrt() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first is sharp, the second says nothing, the other two matter by their sum alone.
    fn cost(point: &[f64]) -> f64 {
        0.1 + (point[0] - 0.4).abs() + 5.0 * (point[2] + point[3] - 1.0).abs()
    }

    #[test]
    fn two_that_only_their_sum_is_known_of_trade_off() {
        let near = |i: i32| {
            let (x, y) = (f64::from(i) / 30.0, f64::from(i * 7 % 30) / 30.0);
            vec![0.4, y, x, 1.0 - x]
        };
        let near: Vec<(Vec<f64>, f64)> =
            (0..30).map(near).map(|point| (point.clone(), cost(&point))).collect();
        let pairs = traded(&near, most(cost(&[0.4, 0.6, 0.5, 0.5]), 1_000));
        assert!(matches!(pairs.as_slice(), [(2, 3, r)] if *r < -0.99), "{pairs:?}");
    }
}
