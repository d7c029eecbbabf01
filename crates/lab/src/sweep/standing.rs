//! From rows to the front: the mean over the seeds of each setting, and who beats whom.

use super::pareto::{Objective, front};
use super::value::{Cell, Kind};

/// The front of a sweep.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Front {
    /// The names of the columns: `point`, `policy`, the keys, the quantities.
    pub columns: Vec<String>,
    /// The points that nobody beats, best in the first quantity first.
    pub rows: Vec<Vec<Cell>>,
    /// The settings that were compared.
    pub compared: usize,
    /// Settings that lack a quantity, or whose runs were not completed.
    pub left_out: usize,
    /// Settings beyond a bound.
    pub beyond: usize,
    /// Seeds that each number is the mean of.
    pub seeds: usize,
    /// How many of the columns, the last ones, are quantities.
    pub quantities: usize,
}

/// The settings so far.
#[derive(Clone, Debug)]
pub struct Standings {
    objectives: Vec<Objective>,
    seeds: usize,
    settings: Vec<Setting>,
}

/// The rows of one setting.
#[derive(Clone, Debug)]
struct Setting {
    number: usize,
    rows: usize,
    /// Sums over the seeds; `None` where one of them has no number.
    sums: Vec<Option<f64>>,
}

impl Standings {
    /// Nothing yet, of so many seeds a setting.
    pub fn new(objectives: Vec<Objective>, seeds: usize) -> Self {
        Self { objectives, seeds, settings: Vec::new() }
    }

    /// The next row: the number of its setting, which may not be below that of the row before.
    pub fn add(
        &mut self,
        setting: usize,
        completed: bool,
        values: impl Iterator<Item = Option<f64>>,
    ) {
        if self.settings.last().is_none_or(|last| last.number != setting) {
            self.settings.push(Setting {
                number: setting,
                rows: 0,
                sums: vec![Some(0.0); self.objectives.len()],
            });
        }
        let Some(last) = self.settings.last_mut() else { return };
        last.rows += 1;
        for (sum, value) in last.sums.iter_mut().zip(values) {
            *sum = sum.zip(value.filter(|_| completed)).map(|(sum, value)| sum + value);
        }
    }

    /// The front of the settings whose seeds are all there. `columns` are those of a setting,
    /// `cells` fills them.
    pub fn front(
        &self,
        columns: Vec<String>,
        kinds: &[Kind],
        cells: impl Fn(usize) -> Vec<Cell>,
    ) -> Front {
        let whole: Vec<&Setting> =
            self.settings.iter().filter(|setting| setting.rows == self.seeds).collect();
        let mean = |sum: &Option<f64>| sum.map(|sum| sum / self.seeds as f64);
        let points: Vec<Vec<Option<f64>>> =
            whole.iter().map(|setting| setting.sums.iter().map(mean).collect()).collect();
        let is_beyond = |point: &&Vec<Option<f64>>| {
            let mut pairs = self.objectives.iter().zip(point.iter());
            pairs.any(|(objective, value)| value.is_some_and(|value| !objective.holds(value)))
        };
        // A quantity that only bounds is equal for all that are compared.
        let compared: Vec<Vec<Option<f64>>> = points
            .iter()
            .map(|point| {
                let out = is_beyond(&point);
                let pairs = self.objectives.iter().zip(point);
                let value = |(objective, value): (&Objective, &Option<f64>)| match value {
                    Some(_) if out => None,
                    Some(_) if objective.only_bounds => Some(0.0),
                    value => *value,
                };
                pairs.map(value).collect()
            })
            .collect();
        let rows = front(&self.objectives, &compared).into_iter().map(|at| {
            let values = points[at].iter().zip(kinds).map(|(value, kind)| match (value, kind) {
                (Some(value), Kind::Integer) if self.seeds == 1 => Cell::Integer(*value as i64),
                (value, _) => value.map_or(Cell::Missing, Cell::Number),
            });
            cells(whole[at].number).into_iter().chain(values).collect()
        });
        let left_out = points.iter().filter(|point| point.iter().any(Option::is_none)).count();
        let whole = |point: &&Vec<Option<f64>>| point.iter().all(Option::is_some);
        let beyond = points.iter().filter(whole).filter(is_beyond).count();
        Front {
            columns: columns
                .into_iter()
                .chain(self.objectives.iter().map(|o| o.name.clone()))
                .collect(),
            rows: rows.collect(),
            compared: points.len() - left_out - beyond,
            left_out,
            beyond,
            seeds: self.seeds,
            quantities: self.objectives.len(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_setting_counts_with_the_mean_of_its_seeds() {
        let objectives = ["a", "max:b"].map(|text| Objective::parse(text).unwrap()).to_vec();
        let mut standings = Standings::new(objectives, 2);
        let rows = [
            (4, true, [Some(1.0), Some(10.0)]),
            // Lucky alone, beaten on average.
            (6, true, [Some(0.0), Some(10.0)]),
            (6, true, [Some(4.0), Some(10.0)]),
            (7, true, [Some(9.0), Some(11.0)]),
            (7, true, [Some(9.0), Some(12.0)]),
            (8, true, [Some(0.0), None]),
            (8, true, [Some(0.0), Some(99.0)]),
            (9, false, [Some(0.0), Some(99.0)]),
            (9, true, [Some(0.0), Some(99.0)]),
            (10, true, [Some(0.0), Some(99.0)]),
        ];
        standings.add(4, true, [Some(1.0), Some(10.0)].into_iter());
        for (setting, completed, values) in rows {
            standings.add(setting, completed, values.into_iter());
        }
        let kinds = [Kind::Integer, Kind::Number];
        let front = standings.front(vec!["point".to_string()], &kinds, |setting| {
            vec![Cell::Integer(setting as i64)]
        });
        let row = |setting, a, b| vec![Cell::Integer(setting), Cell::Number(a), Cell::Number(b)];
        assert_eq!(front.columns, ["point", "a", "b"]);
        assert_eq!(front.rows, [row(4, 1.0, 10.0), row(7, 9.0, 11.5)]);
        // The tenth lacks a seed: it does not count yet.
        assert_eq!((front.compared, front.left_out, front.seeds), (3, 2, 2));
    }
}
