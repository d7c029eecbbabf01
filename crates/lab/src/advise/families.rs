//! Families of settings: those that differ only by what more of is better for latencies.

use crate::sweep::plan::Plan;
use manx_core::units::Bytes;
use std::collections::BTreeMap;

/// Keys of which more is better for latencies.
const BETTER: [&str; 2] = ["device.op", "drive.buffer"];

type Rank = [f64; BETTER.len()];

/// All families.
#[derive(Debug, Default)]
pub struct Families {
    all: Vec<Vec<usize>>,
    family_of: BTreeMap<usize, usize>,
    ranks: Vec<Rank>,
    /// The families, the one that looks best first.
    pub order: Vec<usize>,
}

impl Families {
    /// Of a plan without what cannot be run.
    pub fn of(plan: &Plan, invalid: &[usize]) -> Self {
        let mut groups: BTreeMap<(usize, Vec<usize>), Vec<usize>> = BTreeMap::new();
        let (mut ranks, mut policies) = (Vec::new(), Vec::new());
        for setting in 0..plan.settings() {
            let (policy, mut places) = plan.place(setting);
            ranks.push(rank(plan, &places));
            // In the order in which the policies were named.
            let policy = policy.map(str::to_string);
            let number = policies.iter().position(|other| *other == policy).unwrap_or_else(|| {
                policies.push(policy);
                policies.len() - 1
            });
            if invalid.binary_search(&setting).is_ok() {
                continue;
            }
            for (place, axis) in places.iter_mut().zip(plan.axes()) {
                if BETTER.contains(&axis.key.as_str()) {
                    *place = 0;
                }
            }
            groups.entry((number, places)).or_default().push(setting);
        }
        let all: Vec<Vec<usize>> = groups.into_values().collect();
        let each = all.iter().enumerate();
        let family_of =
            each.flat_map(|(family, settings)| settings.iter().map(move |at| (*at, family)));
        let family_of = family_of.collect();
        let order = (0..all.len()).collect();
        Self { all, family_of, ranks, order }
    }

    /// Orders them: the one that uses up the least of the goals comes first.
    pub fn order_by(&mut self, used: &[f64]) {
        self.order = (0..self.count()).collect();
        self.order.sort_by(|one, other| used[*one].total_cmp(&used[*other]).then(one.cmp(other)));
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.all.len()
    }

    /// Settings of a family.
    pub fn settings(&self, family: usize) -> &[usize] {
        &self.all[family]
    }

    /// The family of a setting.
    pub fn family_of(&self, setting: usize) -> Option<usize> {
        self.family_of.get(&setting).copied()
    }

    /// The setting with most of what is better.
    pub fn head(&self, family: usize) -> Option<usize> {
        self.most(&self.all[family])
    }

    /// Those of all families.
    pub fn heads(&self) -> Vec<usize> {
        (0..self.count()).filter_map(|family| self.head(family)).collect()
    }

    /// Of each family the settings that have the same over-provisioning, the one with the least
    /// buffer first: where little is written, it alone shows what is copied.
    pub fn columns(&self) -> Vec<Vec<usize>> {
        let mut all: BTreeMap<(usize, u64), Vec<usize>> = BTreeMap::new();
        for (setting, family) in &self.family_of {
            let op = self.ranks[*setting][0];
            all.entry((*family, op.to_bits())).or_default().push(*setting);
        }
        let sorted = |mut column: Vec<usize>| {
            let buffer = |setting: &usize| self.ranks[*setting][1];
            column.sort_by(|one, other| buffer(one).total_cmp(&buffer(other)).then(one.cmp(other)));
            column
        };
        all.into_values().map(sorted).collect()
    }

    /// Of some settings of a family the one with more of what is better than most others.
    pub fn most(&self, settings: &[usize]) -> Option<usize> {
        let below = |at: &usize| settings.iter().filter(|other| self.is_more(*at, **other)).count();
        settings.iter().copied().max_by_key(|at| (below(at), std::cmp::Reverse(*at)))
    }

    /// Of some settings of a family, sorted by price, the one that decides most of them, whichever
    /// way it goes: one that keeps the goals rules out what costs more, one that misses what has
    /// less of everything.
    pub fn middle(&self, settings: &[usize]) -> Option<usize> {
        let decides = |at: usize| {
            let below = settings.iter().filter(|other| self.is_more(settings[at], **other)).count();
            below.min(settings.len() - at)
        };
        (0..settings.len())
            .max_by_key(|at| (decides(*at), std::cmp::Reverse(*at)))
            .map(|at| settings[at])
    }

    /// One has at least as much of everything as the other.
    pub fn is_more(&self, one: usize, other: usize) -> bool {
        self.ranks[one].iter().zip(&self.ranks[other]).all(|(one, other)| one >= other)
    }

    /// The write buffer of a setting (bytes); 0 where the question has one for all.
    pub fn buffer(&self, setting: usize) -> f64 {
        self.ranks[setting][1]
    }

    /// The largest write buffer of the question, likewise.
    pub fn most_buffer(&self) -> f64 {
        self.ranks.iter().map(|rank| rank[1]).fold(0.0, f64::max)
    }

    /// Both have the same over-provisioning.
    pub fn is_level(&self, one: usize, other: usize) -> bool {
        self.ranks[one][0] == self.ranks[other][0]
    }

    /// Settings of the same family with no more of anything, itself among them.
    pub fn below(&self, setting: usize) -> Vec<usize> {
        let family = self.family_of(setting).map(|family| self.settings(family));
        let all = family.unwrap_or_default().iter().copied();
        all.filter(|other| self.is_more(setting, *other)).collect()
    }
}

/// How much a setting has of each key of [`BETTER`].
fn rank(plan: &Plan, places: &[usize]) -> Rank {
    BETTER.map(|key| {
        let mut axes = plan.axes().iter().zip(places);
        let found = axes.find(|(axis, _)| axis.key == key);
        found.map(|(axis, at)| &axis.values[*at]).map_or(0.0, |text| {
            let bytes = text.parse::<Bytes>().map(|size| size.get() as f64);
            text.parse::<f64>().or(bytes.map_err(|_| ())).unwrap_or(0.0)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::plan::Asked;

    fn plan() -> Plan {
        let text = |list: &[&str]| list.iter().map(|item| (*item).to_string()).collect();
        Plan::new(Asked {
            scenario: "quick".to_string(),
            policies: text(&["preemptive", "base"]),
            grid: text(&["device.op=0.1,0.2,0.4", "gc.soft=0.03,0.05", "drive.buffer=4MiB,64MiB"]),
            ..Asked::default()
        })
        .unwrap()
    }

    #[test]
    fn settings_that_differ_by_what_is_better_are_of_one_family() {
        // Of each policy 3 x 2 x 2; the buffer is the fastest.
        let families = Families::of(&plan(), &[11]);
        assert_eq!(families.count(), 4);
        assert_eq!(families.settings(0), [0, 1, 4, 5, 8, 9]);
        assert_eq!(families.settings(1), [2, 3, 6, 7, 10], "11 cannot be run");
        assert_eq!(families.head(0), Some(9));
        assert_eq!(families.columns()[..3], [[0, 1], [4, 5], [8, 9]]);
        assert_eq!(families.below(5), [0, 1, 4, 5]);
        assert_eq!(families.below(4), [0, 4]);
        assert!(families.is_more(9, 4) && !families.is_more(4, 1));
        assert!(families.is_level(0, 3) && !families.is_level(0, 4));
    }

    #[test]
    fn the_middle_decides_most_whichever_way_it_goes() {
        let families = Families::of(&plan(), &[]);
        // The more over-provisioning, the dearer: 5 has half of them below it, and half above.
        assert_eq!(families.middle(&[0, 1, 4, 5, 8, 9]), Some(5));
        // Where wear makes the most over-provisioning the cheapest it decides all.
        assert_eq!(families.middle(&[9, 8, 5, 4, 1, 0]), Some(9));
        assert_eq!((families.middle(&[0]), families.middle(&[])), (Some(0), None));
    }
}
