//! A change for good: from some time on everything takes longer.

use super::finding::{Table, at};
use super::points::pieces;
use super::rows::Row;
use manx_core::drive::Op;
use std::collections::BTreeMap;

impl Table<'_> {
    /// When everything became slower for good: one change, and the second part is a fair share.
    pub(super) fn shift(&self) -> Option<(f64, f64)> {
        let (series, bin) = (self.series(), self.bin());
        let pieces = pieces(&series);
        let last = pieces.last().filter(|_| (2..=3).contains(&pieces.len()))?;
        let before = pieces.first()?;
        let long = last.to - last.from >= series.len() / 5;
        let times = (last.mean - before.mean).exp();
        (long && times > 2.0).then(|| (self.rows[last.from * bin].at_s, times))
    }

    /// The share that the marked requests have of all time beyond the medians of those before them:
    /// where most are slow, the median of all is slow, too.
    pub(super) fn after(&self, marked: &[bool]) -> f64 {
        let of =
            |wanted: bool| self.rows.iter().zip(marked).filter(move |(_, mark)| **mark == wanted);
        let mut before: BTreeMap<bool, Vec<f64>> = BTreeMap::new();
        of(false).for_each(|(row, _)| before.entry(row.op == Op::Write).or_default().push(row.us));
        let medians: BTreeMap<bool, f64> = before
            .into_iter()
            .map(|(kind, mut list)| {
                list.sort_by(f64::total_cmp);
                (kind, at(&list, 0.5))
            })
            .collect();
        let beyond = |row: &Row| {
            let typical = medians.get(&(row.op == Op::Write)).copied().unwrap_or(self.median);
            (row.us - typical).max(0.0)
        };
        let sum = |wanted| of(wanted).map(|(row, _)| beyond(row)).sum::<f64>();
        let (late, early) = (sum(true), sum(false));
        if late > 0.0 { late / (late + early) } else { 0.0 }
    }
}
