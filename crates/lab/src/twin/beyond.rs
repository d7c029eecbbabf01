//! Predictions: of runs that were held out by name, how far points lie apart that fit the others as
//! well, and what a run asks for that no fitted run has.

use super::TwinError;
use super::latency::{Figures, Structure};
use super::reads::{Fit, ReadRun, Reads, Run, Seen};
use crate::measure::Latencies;

impl<'a> Fit<'a> {
    /// Predicts the runs that were held out by name.
    pub(super) fn test(&mut self, reads: &mut Reads, tested: &[Run<'a>]) -> Result<(), TwinError> {
        let (fitted, requests) = (self.runs.len(), self.settings.requests);
        let which: Vec<usize> = (fitted..fitted + tested.len()).collect();
        let beyond: Vec<Vec<String>> =
            tested.iter().map(|(_, of)| self.beyond(of, fitted)).collect();
        let points = self.extremes();
        self.runs.extend(tested);
        let found = self.figures(reads.structure, &reads.point, &which, requests, 0)?;
        let mut between: Vec<[Figures; 2]> = found.iter().map(|of| [*of, *of]).collect();
        for (structure, point) in points.iter().filter(|_| !tested.is_empty()) {
            let found = self.figures(*structure, point, &which, requests, 0)?;
            for ([low, high], of) in between.iter_mut().zip(found) {
                *low = std::array::from_fn(|at| low[at].min(of[at]));
                *high = std::array::from_fn(|at| high[at].max(of[at]));
            }
        }
        let each = tested.iter().zip(found).zip(beyond.into_iter().zip(between));
        reads.tested = each
            .map(|((run, modelled), (beyond, between))| ReadRun {
                held_out: Some(modelled),
                beyond,
                between: (!points.is_empty()).then_some(between),
                ..ReadRun::new(*run, modelled)
            })
            .collect();
        Ok(())
    }

    /// How a run lies outside the fitted ones, all but number `out`.
    pub(super) fn beyond(&self, of: &Latencies, out: usize) -> Vec<String> {
        let others = self.runs.iter().enumerate().filter(|(number, _)| *number != out);
        beyond(of, &others.map(|(_, (_, run))| *run).collect::<Vec<_>>())
    }

    /// The points with the least and the most of each parameter among those that explain the runs
    /// as well as the best.
    fn extremes(&self) -> Vec<(Structure, Vec<f64>)> {
        let all: Vec<usize> = (0..self.runs.len()).collect();
        let good: Vec<&Seen> =
            self.seen.iter().filter(|of| self.mean(&all, &of.figures) <= self.as_well).collect();
        let mut found: Vec<(Structure, Vec<f64>)> = Vec::new();
        for number in 0..self.space.parameters.len() {
            let by = |a: &&&Seen, b: &&&Seen| a.point[number].total_cmp(&b.point[number]);
            let ends = [good.iter().min_by(by), good.iter().max_by(by)];
            for seen in ends.into_iter().flatten() {
                let end = (seen.structure, seen.point.clone());
                if !found.contains(&end) {
                    found.push(end);
                }
            }
        }
        found
    }
}

/// How a run lies outside the fitted ones, in words.
pub(super) fn beyond(of: &Latencies, fitted: &[&Latencies]) -> Vec<String> {
    let mut found = Vec::new();
    let side: Vec<&&Latencies> = fitted.iter().filter(|run| run.is_read == of.is_read).collect();
    if side.is_empty() {
        return vec![format!("no {} are fitted", if of.is_read { "reads" } else { "writes" })];
    }
    let same = |run: &&&&Latencies| run.engine == of.engine;
    let engine: Vec<&&Latencies> = side.iter().filter(same).copied().collect();
    if engine.is_empty() {
        found.push(format!("no run of {} is fitted, so its own time is not known", of.engine));
    }
    // An engine's thread tells of no other's.
    let of_depth = if engine.is_empty() { &side } else { &engine };
    let slots = |run: &Latencies| u64::from(run.depth) * u64::from(run.processes);
    let depths = range(of_depth.iter().map(|run| slots(run)));
    found.extend(outside(slots(of), depths, &|slots| format!("{slots} under way")));
    let sizes = range(side.iter().map(|run| run.block));
    found.extend(outside(of.block, sizes, &|block| match block % 1024 {
        0 => format!("{} KiB", block / 1024),
        _ => format!("{block} B"),
    }));
    found
}

fn range(of: impl Iterator<Item = u64>) -> [u64; 2] {
    of.fold([u64::MAX, 0], |[low, high], of| [low.min(of), high.max(of)])
}

fn outside(of: u64, [low, high]: [u64; 2], shown: &dyn Fn(u64) -> String) -> Option<String> {
    let fitted = |word, bound| format!("{}, fitted {word} {}", shown(of), shown(bound));
    match of {
        _ if of > high => Some(fitted("up to", high)),
        _ if of < low => Some(fitted("from", low)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests_fresh::load;
    use super::*;

    #[test]
    fn a_depth_a_size_and_an_engine_that_no_fitted_run_has_are_named() {
        let runs = [load(true, 4096, 1), load(true, 4096, 16), load(true, 16_384, 16)];
        let fitted: Vec<&Latencies> = runs.iter().collect();
        let named = |of: &Latencies| beyond(of, &fitted).join("; ");
        assert_eq!(named(&load(true, 16_384, 1)), "");
        assert_eq!(named(&load(true, 4096, 64)), "64 under way, fitted up to 16 under way");
        assert_eq!(named(&load(true, 512, 16)), "512 B, fitted from 4 KiB");
        assert_eq!(named(&load(true, 65_536, 16)), "64 KiB, fitted up to 16 KiB");
        assert_eq!(named(&load(false, 4096, 1)), "no writes are fitted");
        let spdk = Latencies { engine: "spdk".to_string(), ..load(true, 4096, 16) };
        assert!(named(&spdk).starts_with("no run of spdk is fitted"), "{}", named(&spdk));
        // The deepest of another engine tells nothing of this one's thread.
        let deep = [Latencies { engine: "spdk".to_string(), ..load(true, 4096, 64) }];
        let fitted: Vec<&Latencies> = runs.iter().chain(&deep).collect();
        let found = beyond(&load(true, 4096, 64), &fitted);
        assert_eq!(found, ["64 under way, fitted up to 16 under way"]);
    }
}
