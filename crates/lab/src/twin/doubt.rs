//! How much the data tell of each parameter.
//!
//! From the best point each parameter alone is moved down and up until the cost has risen by a
//! part: between lies its range, and it is wider where the search saw points within that rise, at
//! which other parameters moved too. Where the range is most of what is physically possible, the
//! data do not determine the parameter. Pairs that trade off are those whose values go together in
//! those points.
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
/// Halvings on each side.
const STEPS: usize = 4;
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

/// The ranges around `point`, by `cost` of so many figures; `near` are points that were seen, with
/// their costs.
pub(super) fn doubts(
    point: &[f64],
    near: &[(Vec<f64>, f64)],
    figures: usize,
    cost: &mut dyn FnMut(&[f64]) -> f64,
) -> Doubt {
    let best = cost(point);
    let most = most(best, figures);
    let mut ranges = Vec::with_capacity(point.len());
    for number in 0..point.len() {
        let mut side = |end: f64| {
            // The part of the way to the bound that is still as good.
            let mut at = |part: f64| {
                let mut moved = point.to_vec();
                moved[number] += (end - moved[number]) * part;
                cost(&moved) <= most
            };
            // Ranges are short beside the bounds: the first steps are small ones.
            let steps = [0.02, 0.08, 0.25, 1.0];
            let mut good = 0.0;
            let Some(bad) = steps.into_iter().find(|part| {
                let holds = at(*part);
                good = if holds { *part } else { good };
                !holds
            }) else {
                return end;
            };
            let (mut good, mut bad) = (good, bad);
            for _ in 0..STEPS - 1 {
                let middle = 0.5 * (good + bad);
                *(if at(middle) { &mut good } else { &mut bad }) = middle;
            }
            point[number] + (end - point[number]) * bad
        };
        let (low, high) = (side(0.0), side(1.0));
        ranges.push(Range { low, high });
    }
    let good: Vec<&[f64]> =
        near.iter().filter(|(_, cost)| *cost <= most).map(|(point, _)| point.as_slice()).collect();
    for (number, range) in ranges.iter_mut().enumerate() {
        for point in &good {
            (range.low, range.high) = (range.low.min(point[number]), range.high.max(point[number]));
        }
    }
    Doubt { pairs: pairs(&good, point.len()), ranges }
}

/// The cost up to which a point is as good as `point`, whose cost is `best`, and the pairs that
/// trade off among the points `near` that are.
pub(super) fn traded(
    point: &[f64],
    best: f64,
    near: &[(Vec<f64>, f64)],
    figures: usize,
) -> (f64, Vec<(usize, usize, f64)>) {
    let most = most(best, figures);
    let good: Vec<&[f64]> =
        near.iter().filter(|(_, cost)| *cost <= most).map(|(point, _)| point.as_slice()).collect();
    (most, pairs(&good, point.len()))
}

fn most(best: f64, figures: usize) -> f64 {
    best * (1.0 + RISE.max(RISE_OF_ONE / figures.max(1) as f64)) + NOISE
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
    fn a_sharp_parameter_has_a_short_range_and_a_flat_one_the_bounds() {
        let Doubt { ranges, .. } =
            doubts(&[0.4, 0.6, 0.5, 0.5], &[], 1_000, &mut |point| cost(point));
        // The cost rises by 0.007 there.
        assert!(ranges[0].low < 0.393 && ranges[0].low > 0.385, "{ranges:?}");
        assert!(ranges[0].high > 0.407 && ranges[0].high < 0.42, "{ranges:?}");
        assert!(ranges[1].is_flat() && !ranges[0].is_flat());
    }

    #[test]
    fn two_that_only_their_sum_is_known_of_trade_off() {
        let near: Vec<(Vec<f64>, f64)> = (0..30)
            .map(|i| {
                let (x, y) = (f64::from(i) / 30.0, f64::from(i * 7 % 30) / 30.0);
                let point = vec![0.4, y, x, 1.0 - x];
                let cost = cost(&point);
                (point, cost)
            })
            .collect();
        let Doubt { pairs, .. } =
            doubts(&[0.4, 0.6, 0.5, 0.5], &near, 1_000, &mut |point| cost(point));
        assert!(matches!(pairs.as_slice(), [(2, 3, r)] if *r < -0.99), "{pairs:?}");
    }
}
