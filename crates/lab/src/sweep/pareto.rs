//! The Pareto front: the points that no other point beats.
//!
//! A point is beaten where another is at least as good in every quantity and better in one. Points
//! that are the same in all of them do not beat each other: either all of them are on the front, or
//! none. A point that lacks one of the quantities cannot be compared, and is left out.

use crate::quantity::path_of;
use manx_core::units::Duration;
use std::cmp::Ordering;

/// A quantity that should be small, or large.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Objective {
    /// Its name.
    pub name: String,
    /// More is better.
    pub maximise: bool,
    /// A point beyond this is left out (in the unit of the quantity).
    pub bound: Option<f64>,
    /// The bound is all that is asked of it: it decides no comparison.
    pub only_bounds: bool,
}

impl Objective {
    /// `p99_99`, `min:waf`, `max:iops`; with a bound `p99_99<2ms`, `iops>5000`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let Some(at) = text.find(['<', '>']) else { return Self::unbounded(text) };
        let (name, limit) = (text[..at].trim(), text[at + 1..].trim_start_matches('=').trim());
        let above = text[at..].starts_with('>');
        let found = Self::unbounded(name)?;
        if found.maximise && !above {
            return Err(format!("`{text}`: of what is to be large the bound is below: `>`"));
        }
        let time = limit.parse::<Duration>().map(|time| time.as_us_f64());
        let number = limit.parse::<f64>().ok().filter(|number| number.is_finite());
        if number.is_some() && time.is_err() && path_of(&found.name).ends_with("_us") {
            return Err(format!("`{text}`: a time has a unit: {limit}us or {limit}ms"));
        }
        let bound = number.or(time.ok()).ok_or_else(|| {
            format!("`{text}`: `{limit}` is neither a number nor a time such as 2ms")
        })?;
        Ok(Self { maximise: above, bound: Some(bound), ..found })
    }

    /// A bound alone: `p99_99<2ms`.
    pub fn bound(text: &str) -> Result<Self, String> {
        match Self::parse(text)? {
            Self { bound: None, .. } => {
                Err(format!("`{text}`: expected NAME<VALUE or NAME>VALUE, such as p99_99<2ms"))
            }
            found => Ok(Self { only_bounds: true, ..found }),
        }
    }

    /// True of a value within the bound.
    pub fn holds(&self, value: f64) -> bool {
        self.bound.is_none_or(|bound| if self.maximise { value > bound } else { value < bound })
    }

    fn unbounded(text: &str) -> Result<Self, String> {
        let (maximise, name) = match text.trim().split_once(':') {
            None => (false, text.trim()),
            Some(("min", name)) => (false, name.trim()),
            Some(("max", name)) => (true, name.trim()),
            Some((other, _)) => return Err(format!("`{other}:` is neither min: nor max:")),
        };
        if name.is_empty() {
            return Err("a quantity is empty: expected A,B such as p99_99,max:iops".to_string());
        }
        // Of the keys it is the one that a result holds too.
        let name = if name == "device.op" { "capacity.op_percent" } else { name };
        Ok(Self { name: name.to_string(), maximise, ..Self::default() })
    }

    /// The value as something to be made small.
    fn cost(&self, value: f64) -> f64 {
        // Adding zero makes one zero of the two.
        if self.maximise { -value + 0.0 } else { value + 0.0 }
    }

    /// Whether `value` is better than `other`.
    pub fn prefers(&self, value: f64, other: f64) -> bool {
        self.cost(value) < self.cost(other)
    }
}

impl std::fmt::Display for Objective {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{}", if self.maximise { "max:" } else { "" }, self.name)
    }
}

/// The points that nobody beats, by their numbers: best in the first quantity first, then in the
/// next, then the lower number.
///
/// Time: sorting, and each point against the front so far.
pub fn front(objectives: &[Objective], points: &[Vec<Option<f64>>]) -> Vec<usize> {
    let costs = |point: &Vec<Option<f64>>| -> Option<Vec<f64>> {
        objectives
            .iter()
            .zip(point)
            .map(|(objective, value)| value.map(|value| objective.cost(value)))
            .collect()
    };
    let mut known: Vec<(Vec<f64>, usize)> = points
        .iter()
        .enumerate()
        .filter_map(|(number, point)| Some((costs(point)?, number)))
        .collect();
    let order = |one: &[f64], other: &[f64]| {
        one.iter().zip(other).map(|(one, other)| one.total_cmp(other)).find(|order| order.is_ne())
    };
    known.sort_by(|(one, a), (other, b)| {
        order(one, other).unwrap_or(Ordering::Equal).then(a.cmp(b))
    });
    // A point that beats another stands before it now, and is on the front or beaten by one that
    // is.
    let mut front: Vec<(Vec<f64>, usize)> = Vec::new();
    for (point, number) in known {
        let beaten = front
            .iter()
            .any(|(other, _)| other != &point && other.iter().zip(&point).all(|(a, b)| a <= b));
        if !beaten {
            front.push((point, number));
        }
    }
    front.into_iter().map(|(_, number)| number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn objectives(maximise: &[bool]) -> Vec<Objective> {
        maximise
            .iter()
            .map(|&maximise| Objective { name: "x".to_string(), maximise, ..Objective::default() })
            .collect()
    }

    /// By the definition: each against each.
    fn reference(objectives: &[Objective], points: &[Vec<Option<f64>>]) -> Vec<usize> {
        let whole = |point: &&Vec<Option<f64>>| point.iter().all(Option::is_some);
        let better =
            |objective: &Objective, a: f64, b: f64| if objective.maximise { a > b } else { a < b };
        let beats = |a: &[Option<f64>], b: &[Option<f64>]| {
            let pairs: Vec<_> = objectives.iter().zip(a.iter().zip(b)).collect();
            let pairs =
                || pairs.iter().map(|(objective, (a, b))| (objective, a.unwrap(), b.unwrap()));
            pairs().all(|(_, a, b)| a == b) as u8 == 0
                && pairs().all(|(objective, a, b)| a == b || better(objective, a, b))
        };
        let on = |point: &&Vec<Option<f64>>| {
            !points.iter().filter(whole).any(|other| beats(other, point))
        };
        let numbers = points.iter().enumerate().filter(|(_, point)| whole(point) && on(point));
        numbers.map(|(number, _)| number).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]
        #[test]
        fn the_front_is_what_its_definition_says(
            maximise in proptest::collection::vec(any::<bool>(), 1..4),
            // Few values, so that there are ties; some are missing.
            points in proptest::collection::vec(
                proptest::collection::vec(proptest::option::weighted(0.9, -3i8..4), 3),
                0..40,
            ),
        ) {
            let objectives = objectives(&maximise);
            let halves = |value: &Option<i8>| value.map(|value| f64::from(value) / 2.0);
            let points: Vec<Vec<Option<f64>>> = points
                .iter()
                .map(|point| point[..maximise.len()].iter().map(halves).collect())
                .collect();
            let mut found = front(&objectives, &points);
            // Best first.
            let first = |number: &usize| objectives[0].cost(points[*number][0].unwrap());
            prop_assert!(found.is_sorted_by_key(first));
            found.sort();
            prop_assert_eq!(found, reference(&objectives, &points));
        }
    }

    #[test]
    fn ties_stand_side_by_side_and_a_gap_is_left_out() {
        let point = |a: f64, b: f64| vec![Some(a), Some(b)];
        let points = [
            point(2.0, 1.0),
            point(1.0, 2.0),
            point(1.0, 2.0),
            point(1.0, 3.0),
            vec![Some(0.0), None],
            point(3.0, 0.0),
        ];
        assert_eq!(front(&objectives(&[false, false]), &points), [1, 2, 0, 5]);
        assert_eq!(front(&objectives(&[true, false]), &points), [5]);
        assert_eq!(front(&objectives(&[false, true]), &points), [3]);
        assert_eq!(
            front(&objectives(&[false]), &[vec![Some(-0.0)], vec![Some(0.0)]]),
            [0, 1],
            "one zero of two"
        );
        assert!(front(&objectives(&[false]), &[]).is_empty());
    }

    #[test]
    fn an_objective_is_a_name_and_a_direction() {
        let parsed = |text| {
            Objective::parse(text).map(|objective| (objective.name.clone(), objective.maximise))
        };
        assert_eq!(parsed("p99"), Ok(("p99".to_string(), false)));
        assert_eq!(parsed(" max:iops "), Ok(("iops".to_string(), true)));
        assert_eq!(parsed("min:waf"), Ok(("waf".to_string(), false)));
        assert!(parsed("least:waf").unwrap_err().contains("neither min: nor max:"));
        assert!(parsed("max:").unwrap_err().contains("empty"));
    }

    #[test]
    fn a_bound_of_a_time_has_a_unit_and_a_key_stands_for_its_quantity() {
        let bound = |text: &str| Objective::bound(text);
        assert_eq!(bound("p99_9<20ms").unwrap().bound, Some(20_000.0));
        assert!(bound("p99_9<20").unwrap_err().contains("20us or 20ms"));
        assert_eq!(bound("waf<3").unwrap().bound, Some(3.0));
        let op = bound("device.op<50").unwrap();
        assert_eq!((op.name.as_str(), op.bound), ("capacity.op_percent", Some(50.0)));
        assert_eq!(Objective::parse("device.op").unwrap().name, "capacity.op_percent");
    }
}
