//! Change points: where the level of a series changes, by binary segmentation (Scott and Knott,
//! Biometrics 30, 1974) with a penalty for each point (the Bayesian information criterion).
//!
//! The series here is the logarithm of the mean latency of equal numbers of requests, so that a
//! level ten times higher weighs as much wherever it is. The noise is taken from the differences of
//! neighbours (their median), which level changes hardly move.

/// A piece of a series between two change points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Piece {
    /// The first place.
    pub from: usize,
    /// Behind the last.
    pub to: usize,
    /// The mean of the series there.
    pub mean: f64,
}

/// The shortest piece.
const SHORTEST: usize = 2;

/// The penalty of a change point, in units of the noise's variance and the logarithm of the length.
const PENALTY: f64 = 4.0;

/// The pieces of a series; one where nothing changes.
pub fn pieces(series: &[f64]) -> Vec<Piece> {
    if series.is_empty() {
        return Vec::new();
    }
    let sums = Sums::of(series);
    let penalty = PENALTY * noise(series).powi(2).max(1e-12) * (series.len() as f64).ln().max(1.0);
    let (mut cuts, mut open) = (vec![0, series.len()], vec![(0, series.len())]);
    while let Some((from, to)) = open.pop() {
        if let Some((at, gain)) = sums.best(from, to)
            && gain > penalty
        {
            cuts.push(at);
            open.extend([(from, at), (at, to)]);
        }
    }
    cuts.sort_unstable();
    let piece = |ends: &[usize]| {
        let (from, to) = (ends[0], ends[1]);
        Piece { from, to, mean: sums.mean(from, to) }
    };
    cuts.windows(2).map(piece).collect()
}

/// The standard deviation of a series without its level changes: of neighbours' differences, by
/// their median (a normal deviate's median is 0.6745 of its deviation).
fn noise(series: &[f64]) -> f64 {
    let mut steps: Vec<f64> = series.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect();
    steps.sort_by(f64::total_cmp);
    let median = steps.get(steps.len() / 2).copied().unwrap_or(0.0);
    median / 0.6745 / std::f64::consts::SQRT_2
}

/// Sums up to each place.
struct Sums(Vec<f64>);

impl Sums {
    fn of(series: &[f64]) -> Self {
        let mut sums = Vec::with_capacity(series.len() + 1);
        let mut sum = 0.0;
        sums.push(sum);
        sums.extend(series.iter().map(|value| {
            sum += value;
            sum
        }));
        Self(sums)
    }

    fn mean(&self, from: usize, to: usize) -> f64 {
        (self.0[to] - self.0[from]) / (to - from).max(1) as f64
    }

    /// Where two levels fit best, and by how much the squared error falls.
    fn best(&self, from: usize, to: usize) -> Option<(usize, f64)> {
        if to - from < 2 * SHORTEST {
            return None;
        }
        let gain = |at: usize| {
            let (left, right) = ((at - from) as f64, (to - at) as f64);
            let apart = self.mean(from, at) - self.mean(at, to);
            (at, left * right / (left + right) * apart * apart)
        };
        (from + SHORTEST..=to - SHORTEST).map(gain).max_by(|one, other| one.1.total_cmp(&other.1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use manx_core::sim::Rng;

    fn noisy(levels: &[(usize, f64)], seed: u64) -> Vec<f64> {
        let mut rng = Rng::stream(seed, "points");
        let mut series = Vec::new();
        for (count, level) in levels {
            series.extend((0..*count).map(|_| level + 0.2 * (rng.unit() + rng.unit() - 1.0)));
        }
        series
    }

    #[test]
    fn a_level_that_changes_is_found_where_it_does() {
        for seed in 0..20 {
            let found = pieces(&noisy(&[(100, 0.0), (20, 2.0), (80, 0.0)], seed));
            let cuts: Vec<(usize, usize)> =
                found.iter().map(|piece| (piece.from, piece.to)).collect();
            assert_eq!(cuts, [(0, 100), (100, 120), (120, 200)], "seed {seed}");
            assert!((found[1].mean - 2.0).abs() < 0.1);
        }
    }

    #[test]
    fn noise_alone_has_one_level() {
        for seed in 0..20 {
            assert_eq!(pieces(&noisy(&[(500, 1.0)], seed)).len(), 1, "seed {seed}");
        }
        assert!(pieces(&[]).is_empty());
        assert_eq!(pieces(&[1.0]).len(), 1);
        assert_eq!(pieces(&[1.0; 50]).len(), 1);
    }
}
