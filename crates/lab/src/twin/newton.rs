//! The last steps of a fit, and how far its parameters may be off: Gauss and Newton's.
//!
//! A slope is how far a parameter moves the logarithm of a figure. Slopes and errors give the
//! next point, and together they give how far each parameter may be off *while the others give
//! way*: where two parameters do nearly the same, each alone seems sharp and neither is known.
//!
//! A percentile is known to what the random places of requests make of it: each point is played
//! with several seeds, and their spread is the figure's noise. A slope that this noise could have
//! made is none, or else a parameter that does nothing would seem known. A noisy figure weighs
//! less, and so does one that is far off (by the logarithm of its square, as in Cauchy's
//! distribution): a run that nothing explains neither pulls the others nor narrows their ranges.

use super::doubt::Range;

/// The step of a slope, of the whole way between the bounds.
const STEP: f64 = 0.06;
/// A slope within so many times its noise is none.
const SURE: f64 = 2.5;
/// Errors beyond so many times their scale weigh less, and pull less the farther off they are.
const FAR: f64 = 1.5;
/// The start stands where its mean error is below this part of that of the last step.
const NOT_WORSE: f64 = 0.98;
/// An error is known to this at best.
const LEAST: f64 = 0.005;
/// Figures of one run are not independent: each counts as this part of one.
const EACH: f64 = 0.5;
/// Before any figure a parameter lies somewhere between its bounds: a variance of 1/12.
const BEFORE: f64 = 12.0;
/// Standard errors on each side of a range: 95 % of a normal distribution; more where few figures
/// are left over, nearly as Student's distribution has it.
const SIDES: f64 = 1.96;
const STUDENT: f64 = 2.5;

/// ln(modelled / measured) of each figure at a point.
#[derive(Clone, Debug, Default)]
pub(super) struct Errors {
    /// The mean of the seeds.
    pub(super) of: Vec<f64>,
    /// The variance among the seeds.
    pub(super) noise: Vec<f64>,
    /// How many seeds.
    pub(super) seeds: usize,
}

impl Errors {
    /// None of so many figures, without noise.
    pub(super) fn still(figures: usize) -> Self {
        Self { of: vec![0.0; figures], noise: vec![0.0; figures], seeds: 1 }
    }
}

/// Where the steps ended.
#[derive(Clone, Debug)]
pub(super) struct Ended {
    /// The point, each number from 0 to 1.
    pub(super) point: Vec<f64>,
    /// The range of each parameter, while the others give way.
    pub(super) ranges: Vec<Range>,
    /// The mean error there, over all seeds, if there were steps.
    pub(super) cost: Option<f64>,
    /// The slopes there, if there were steps.
    pub(super) slopes: Option<Slopes>,
}

/// A point, its errors and slopes, and how much each error is taken to vary.
#[derive(Clone, Debug)]
pub(super) struct Slopes {
    point: Vec<f64>,
    now: Errors,
    of: Vec<Vec<f64>>,
    sides: Vec<f64>,
}

/// At most `rounds` steps from `start`.
pub(super) fn polish(
    start: &[f64],
    rounds: usize,
    errors: &mut dyn FnMut(&[f64]) -> Errors,
) -> Ended {
    let mut at = Slopes::new(start.to_vec(), errors(start), errors);
    let first = at.clone();
    for _ in 0..rounds {
        let Some(to) = at.step() else { break };
        let old = loss(&at.now.of, &at.sides);
        let better = [1.0, 0.5, 0.2].into_iter().find_map(|part| {
            let next: Vec<f64> =
                at.point.iter().zip(&to).map(|(x, to)| x + (to - x) * part).collect();
            let found = errors(&next);
            (loss(&found.of, &at.sides) < old * 0.998).then_some((next, found))
        });
        let Some((next, found)) = better else { break };
        at = Slopes::new(next, found, errors);
    }
    // The search and the report count sizes, the steps squares.
    let at = if first.mean() < NOT_WORSE * at.mean() { first } else { at };
    Ended { ranges: at.ranges(), cost: Some(at.mean()), point: at.point.clone(), slopes: Some(at) }
}

impl Slopes {
    fn new(point: Vec<f64>, now: Errors, errors: &mut dyn FnMut(&[f64]) -> Errors) -> Self {
        let moved: Vec<(f64, Errors)> =
            (0..point.len()).map(|number| moved(number, &point, errors)).collect();
        // A noise of few seeds is a guess; that of all these points together is less of one.
        let noise = |at: usize| {
            let all = moved.iter().map(|(_, then)| then.noise[at]).sum::<f64>() + now.noise[at];
            all / (moved.len() + 1) as f64
        };
        let noise: Vec<f64> = (0..now.of.len()).map(noise).collect();
        let slope = |(step, then): &(f64, Errors)| -> Vec<f64> {
            let of = |(at, noise): (usize, &f64)| {
                let rise = then.of[at] - now.of[at];
                let known = SURE * (2.0 * noise / now.seeds.max(1) as f64).sqrt();
                if rise.abs() <= known { 0.0 } else { rise / step }
            };
            noise.iter().enumerate().map(of).collect()
        };
        let of = moved.iter().map(slope).collect();
        let scale = scale_of(&now.of, point.len());
        let sides = noise.iter().map(|noise| (scale * scale + noise).sqrt()).collect();
        Self { point, now, of, sides }
    }

    fn mean(&self) -> f64 {
        self.now.of.iter().map(|error| error.abs()).sum::<f64>() / self.now.of.len() as f64
    }

    /// The information of the figures about the parameters, and that from before.
    fn known(&self, each: f64) -> Vec<Vec<f64>> {
        let weights: Vec<f64> = self.weights().collect();
        let of = |a: &Vec<f64>, b: &Vec<f64>| -> f64 {
            a.iter().zip(b).zip(&weights).map(|((a, b), weight)| a * b * weight).sum()
        };
        let row = |a: &Vec<f64>| self.of.iter().map(|b| each * of(a, b)).collect();
        let mut all: Vec<Vec<f64>> = self.of.iter().map(row).collect();
        (0..all.len()).for_each(|at| all[at][at] += BEFORE);
        all
    }

    /// The weight of each figure.
    fn weights(&self) -> impl Iterator<Item = f64> {
        self.now.of.iter().zip(&self.sides).map(|(error, side)| weight(*error, *side))
    }

    /// How much these errors would fall with each parameter.
    fn pulls(&self, errors: &[f64]) -> Vec<f64> {
        let pull = |slope: &Vec<f64>| -> f64 {
            let all = slope.iter().zip(errors).zip(self.weights());
            all.map(|((a, error), weight)| a * error * weight).sum()
        };
        self.of.iter().map(pull).collect()
    }

    /// The point at which straight lines would end, within the bounds.
    fn step(&self) -> Option<Vec<f64>> {
        let inverse = inverse(self.known(1.0))?;
        let pulls = self.pulls(&self.now.of);
        let to = |(x, row): (&f64, &Vec<f64>)| {
            let way: f64 = row.iter().zip(&pulls).map(|(a, b)| a * b).sum();
            (x - way).clamp(0.0, 1.0)
        };
        Some(self.point.iter().zip(&inverse).map(to).collect())
    }

    /// One parameter moves from `from`, where the errors are these, to `to`: the point at which the
    /// others have given way, within the bounds.
    pub(super) fn beside(&self, from: &[f64], errors: &[f64], number: usize, to: f64) -> Vec<f64> {
        let (known, pulls) = (self.known(1.0), self.pulls(errors));
        let mut ways: Vec<f64> = vec![0.0; from.len()];
        ways[number] = to - from[number];
        let mut free: Vec<usize> = (0..from.len()).filter(|other| *other != number).collect();
        loop {
            let held = |at: usize| -> f64 {
                let held = (0..from.len()).filter(|other| !free.contains(other));
                held.map(|other| known[at][other] * ways[other]).sum()
            };
            let pulled: Vec<f64> = free.iter().map(|at| pulls[*at] + held(*at)).collect();
            let part = |at: &usize| free.iter().map(|other| known[*at][*other]).collect();
            let Some(inverse) = inverse(free.iter().map(part).collect()) else { break };
            for (at, row) in free.iter().zip(&inverse) {
                ways[*at] = -row.iter().zip(&pulled).map(|(a, b)| a * b).sum::<f64>();
            }
            // Those that would leave their bounds stay there, and the rest give way once more.
            let within = |at: &usize| (0.0..=1.0).contains(&(from[*at] + ways[*at]));
            let (inside, outside): (Vec<usize>, Vec<usize>) =
                free.iter().partition(|at| within(at));
            for at in &outside {
                ways[*at] = (from[*at] + ways[*at]).clamp(0.0, 1.0) - from[*at];
            }
            free = inside;
            if outside.is_empty() {
                break;
            }
        }
        from.iter().zip(&ways).map(|(x, way)| (x + way).clamp(0.0, 1.0)).collect()
    }

    fn ranges(&self) -> Vec<Range> {
        let Some(inverse) = inverse(self.known(EACH)) else {
            return vec![Range { low: 0.0, high: 1.0 }; self.point.len()];
        };
        let left = EACH * self.now.of.len() as f64 - self.point.len() as f64;
        let sides = SIDES + STUDENT / left.max(1.0);
        let range = |(number, x): (usize, &f64)| {
            let side = sides * inverse[number][number].max(0.0).sqrt();
            Range { low: (x - side).max(0.0), high: (x + side).min(1.0) }
        };
        self.point.iter().enumerate().map(range).collect()
    }
}

/// A step along one parameter, towards the middle of the bounds, and the errors behind it.
fn moved(number: usize, point: &[f64], errors: &mut dyn FnMut(&[f64]) -> Errors) -> (f64, Errors) {
    let step = if point[number] > 0.5 { -STEP } else { STEP };
    let mut moved = point.to_vec();
    moved[number] += step;
    (step, errors(&moved))
}

/// The scale of the errors, from their median, which a few large ones do not move.
fn scale_of(errors: &[f64], parameters: usize) -> f64 {
    let mut sizes: Vec<f64> = errors.iter().map(|error| error.abs()).collect();
    sizes.sort_by(f64::total_cmp);
    let median = sizes.get(sizes.len() / 2).copied().unwrap_or(0.0);
    // Each parameter has taken one error away.
    let left = sizes.len().saturating_sub(parameters).max(1) as f64;
    (1.4826 * median * (sizes.len() as f64 / left).sqrt()).max(LEAST)
}

fn weight(error: f64, side: f64) -> f64 {
    let far = error.abs() / side;
    (if far <= FAR { 1.0 } else { (FAR / far).powi(2) }) / (side * side)
}

fn loss(errors: &[f64], sides: &[f64]) -> f64 {
    let of = |(error, side): (&f64, &f64)| {
        let part = error.abs() / side;
        if part <= FAR { 0.5 * part * part } else { FAR * FAR * (0.5 + (part / FAR).ln()) }
    };
    errors.iter().zip(sides).map(of).sum()
}

/// The inverse of a matrix that has one, by Gauss and Jordan's elimination.
fn inverse(mut of: Vec<Vec<f64>>) -> Option<Vec<Vec<f64>>> {
    let n = of.len();
    for (number, row) in of.iter_mut().enumerate() {
        row.extend((0..n).map(|at| if at == number { 1.0 } else { 0.0 }));
    }
    for at in 0..n {
        let best = (at..n).max_by(|a, b| of[*a][at].abs().total_cmp(&of[*b][at].abs()))?;
        of.swap(at, best);
        let pivot = of[at][at];
        if !pivot.is_finite() || pivot.abs() < 1e-12 {
            return None;
        }
        of[at].iter_mut().for_each(|x| *x /= pivot);
        let row = of[at].clone();
        for (number, other) in of.iter_mut().enumerate() {
            if number != at {
                let part = other[at];
                other.iter_mut().zip(&row).for_each(|(x, of)| *x -= part * of);
            }
        }
    }
    Some(of.into_iter().map(|row| row[n..].to_vec()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Forty figures: the first two parameters matter by their sum, the third alone, the fourth
    /// not.
    fn errors(point: &[f64]) -> Errors {
        let (together, third) = (point[0] + point[1] - 1.0, point[2] - 0.3);
        let each = |at: usize| {
            let noise = if at % 4 < 2 { 0.01 } else { -0.01 };
            noise + if at.is_multiple_of(2) { together } else { third }
        };
        Errors { of: (0..40).map(each).collect(), noise: vec![0.0; 40], seeds: 3 }
    }

    #[test]
    fn what_only_a_sum_is_known_of_has_a_wide_range_each() {
        let Ended { point, ranges, .. } = polish(&[0.2, 0.2, 0.9, 0.5], 6, &mut |x| errors(x));
        assert!((point[0] + point[1] - 1.0).abs() < 0.02, "{point:?}");
        assert!((point[2] - 0.3).abs() < 0.02, "{point:?}");
        assert!(ranges[0].is_flat() && ranges[1].is_flat() && ranges[3].is_flat(), "{ranges:?}");
        assert!(ranges[2].high - ranges[2].low < 0.1, "{ranges:?}");
        assert!(ranges[2].low < 0.3 && ranges[2].high > 0.3, "{ranges:?}");
    }

    #[test]
    fn the_other_of_a_sum_gives_way_as_far_as_its_bound() {
        let ended = polish(&[0.5, 0.5, 0.3, 0.5], 1, &mut |x| errors(x));
        let slopes = ended.slopes.unwrap();
        let beside = |to| slopes.beside(&ended.point, &errors(&ended.point).of, 0, to);
        let [near, far] = [0.7, 1.0].map(beside);
        assert!((near[0] - 0.7).abs() < 1e-12 && (near[1] - 0.3).abs() < 0.02, "{near:?}");
        assert!(far[1].abs() < 0.02 && (far[2] - 0.3).abs() < 0.02, "{far:?}");
        // From where the sum is off by far, the other makes up for both.
        let from = [0.8, 0.8, 0.3, 0.5];
        let back = slopes.beside(&from, &errors(&from).of, 0, 0.9);
        assert!((back[0] + back[1] - 1.0).abs() < 0.05, "{back:?}");
    }

    #[test]
    fn a_slope_that_noise_could_have_made_tells_nothing() {
        let mut wobble = 0.0;
        let Ended { ranges, .. } = polish(&[0.5], 2, &mut |_| {
            wobble = 0.01 - wobble;
            Errors { of: vec![wobble; 40], noise: vec![1e-4; 40], seeds: 1 }
        });
        assert!(ranges[0].is_flat(), "{ranges:?}");
    }

    #[test]
    fn an_inverse_times_its_matrix_is_one_on_the_diagonal() {
        let inverse = inverse(vec![vec![4.0, 1.0], vec![1.0, 3.0]]).unwrap();
        assert!((inverse[0][0] - 3.0 / 11.0).abs() < 1e-12, "{inverse:?}");
        assert!((inverse[0][1] + 1.0 / 11.0).abs() < 1e-12, "{inverse:?}");
        assert_eq!(super::inverse(vec![vec![0.0]]), None);
    }

    #[test]
    fn a_figure_far_off_does_not_pull_the_others() {
        let far = |x: &[f64]| {
            let mut all = errors(x);
            all.of.push(x[2] - 0.3 + 2.0);
            all.noise.push(0.0);
            all
        };
        let Ended { point, .. } = polish(&[0.4, 0.6, 0.4, 0.5], 6, &mut |x| far(x));
        assert!((point[2] - 0.3).abs() < 0.03, "{point:?}");
    }
}
