//! Axes on which nothing changes: a key that no run looks at is an hour of work for equal rows.

use super::plan::Plan;
use super::value::Cell;
use manx_core::stats::Outcome;
use std::collections::BTreeMap;

/// Rows that are held against each other; beyond that nothing is said.
const ROWS_MAX: usize = 10_000;

/// Which axes have changed anything so far.
#[derive(Debug, Default)]
pub(super) struct Effects {
    /// The numbers of a run with all values but the axis's own, as text.
    first: BTreeMap<(usize, String), String>,
    rows: usize,
    /// Of each axis: runs that differ in it alone were held against each other, and some differed
    /// in a number.
    axes: Vec<(bool, bool)>,
}

impl Effects {
    pub(super) fn new(plan: &Plan) -> Self {
        Self { axes: vec![(false, false); plan.axes().len()], ..Self::default() }
    }

    /// One more row.
    pub(super) fn add(&mut self, plan: &Plan, row: usize, outcome: Outcome, numbers: &[Cell]) {
        self.rows += 1;
        if self.rows > ROWS_MAX {
            return self.first.clear();
        }
        let (policy, places) = plan.place(row / plan.seeds());
        let seed = row % plan.seeds();
        let numbers = format!("{outcome:?} {numbers:?}");
        for (axis, (compared, differs)) in self.axes.iter_mut().enumerate() {
            let others: Vec<usize> = places
                .iter()
                .enumerate()
                .filter(|(at, _)| *at != axis)
                .map(|(_, place)| *place)
                .collect();
            let others = format!("{policy:?} {others:?} {seed}");
            match self.first.get(&(axis, others.clone())) {
                Some(first) => {
                    *compared = true;
                    *differs |= *first != numbers;
                }
                None => drop(self.first.insert((axis, others), numbers.clone())),
            }
        }
    }

    /// A line for each axis without an effect.
    pub(super) fn idle(&self, plan: &Plan) -> Vec<String> {
        let axes = plan.axes().iter().zip(&self.axes);
        let idle =
            axes.filter(|(_, (compared, differs))| *compared && !differs && self.rows <= ROWS_MAX);
        idle.map(|(axis, _)| {
            let (option, key) = (axis.option, &axis.key);
            format!(
                "{option} {key}: every column is the same for all of its values: \
                 nothing here depends on it"
            )
        })
        .collect()
    }
}
