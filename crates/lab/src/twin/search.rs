//! The search: CMA-ES (Hansen), seeded, over numbers from 0 to 1.

use cmaes::{CMAESOptions, DVector};
use std::sync::atomic::{AtomicBool, Ordering};

/// The cost of a point that was not simulated any more.
const STOPPED: f64 = 1e6;
/// Each 1 beyond a bound adds this to the cost.
const BEYOND: f64 = 10.0;

/// How a search goes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Effort {
    pub(super) evaluations: usize,
    pub(super) step: f64,
    pub(super) seed: u64,
}

/// Searches from `start` and returns the best point that was seen, with its cost.
pub(super) fn descend(
    start: &[f64],
    effort: Effort,
    stop: &AtomicBool,
    cost: &mut dyn FnMut(&[f64]) -> f64,
) -> (Vec<f64>, f64) {
    let mut best = (start.to_vec(), cost(start));
    if start.is_empty() || effort.evaluations < 2 {
        return best;
    }
    let objective = |x: &DVector<f64>| {
        if stop.load(Ordering::Relaxed) {
            return STOPPED;
        }
        let inside: Vec<f64> = x.iter().map(|x| x.clamp(0.0, 1.0)).collect();
        let beyond: f64 = x.iter().zip(&inside).map(|(x, inside)| (x - inside).abs()).sum();
        let found = cost(&inside);
        if found < best.1 {
            best = (inside, found);
        }
        found + BEYOND * beyond
    };
    let options = CMAESOptions::new(start.to_vec(), effort.step)
        .seed(effort.seed)
        .max_function_evals(effort.evaluations)
        .tol_fun_rel(1e-6);
    if let Ok(mut search) = options.build(objective) {
        while search.next().is_none() && !stop.load(Ordering::Relaxed) {}
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_finds_the_bottom_of_a_bowl_and_the_same_one_each_time() {
        let bowl = |x: &[f64]| (x[0] - 0.3).powi(2) + 4.0 * (x[1] - 0.9).powi(2);
        let effort = Effort { evaluations: 300, step: 0.2, seed: 7 };
        let stop = AtomicBool::new(false);
        let (point, cost) = descend(&[0.5, 0.5], effort, &stop, &mut |x| bowl(x));
        assert!(cost < 1e-6, "{point:?}: {cost}");
        assert_eq!(descend(&[0.5, 0.5], effort, &stop, &mut |x| bowl(x)).0, point);
    }

    #[test]
    fn it_ends_soon_after_it_is_stopped_with_the_best_so_far() {
        let (stop, mut asked) = (AtomicBool::new(false), 0);
        let effort = Effort { evaluations: 10_000, step: 0.2, seed: 1 };
        let (_, cost) = descend(&[0.5; 3], effort, &stop, &mut |x| {
            asked += 1;
            stop.store(asked == 20, Ordering::Relaxed);
            x.iter().sum()
        });
        assert!(asked == 20 && cost < 1.5, "{asked} {cost}");
    }
}
