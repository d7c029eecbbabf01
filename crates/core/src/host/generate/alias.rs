//! Walker's alias table, built by Vose's method (1991): one of many weighted choices in constant
//! time.

/// Weighted choices among 0..n.
#[derive(Clone, Debug)]
pub(super) struct AliasTable {
    columns: Box<[Column]>,
}

/// An equal share of the probability, split between its own choice (below the threshold) and
/// another (from it on).
#[derive(Clone, Copy, Debug)]
struct Column {
    threshold: u64,
    alias: u32,
}

impl AliasTable {
    /// A table for `weights`, of which none is negative and the sum is positive and finite.
    pub(super) fn new(weights: &[f64]) -> Self {
        let total: f64 = weights.iter().sum();
        debug_assert!(total > 0.0 && total.is_finite(), "weights sum to {total}");
        // The height of a choice: its probability in units of a column. Each step fills one low
        // column to the brim from a high one.
        let mut heights: Vec<f64> =
            weights.iter().map(|weight| weight / total * weights.len() as f64).collect();
        let (mut low, mut high): (Vec<usize>, Vec<usize>) =
            (0..heights.len()).partition(|&i| heights[i] < 1.0);
        let full = |own: usize| Column { threshold: u64::MAX, alias: own as u32 };
        let mut columns: Box<[Column]> = (0..heights.len()).map(full).collect();
        while let (Some(&donor), Some(filled)) = (high.last(), low.pop()) {
            const TWO_TO_64: f64 = 18_446_744_073_709_551_616.0;
            columns[filled] =
                Column { threshold: (heights[filled] * TWO_TO_64) as u64, alias: donor as u32 };
            heights[donor] -= 1.0 - heights[filled];
            if heights[donor] < 1.0 {
                high.pop();
                low.push(donor);
            }
        }
        // The columns left have height 1 but for rounding, and are full already.
        Self { columns }
    }

    /// The choice that 64 random bits make: their high part picks the column, what is left falls
    /// below or above its threshold.
    #[inline]
    pub(super) fn pick(&self, random: u64) -> usize {
        let product = u128::from(random) * self.columns.len() as u128;
        let (own, height) = ((product >> 64) as usize, product as u64);
        let column = self.columns[own];
        if height < column.threshold { own } else { column.alias as usize }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::Rng;

    #[test]
    fn each_choice_gets_its_share_and_a_weight_of_zero_none() {
        let weights = [5.0, 0.0, 1.0, 0.25, 10.0, 3.75];
        let table = AliasTable::new(&weights);
        let mut rng = Rng::stream(1, "alias");
        let draws = 1_000_000;
        let mut counts = [0u32; 6];
        (0..draws).for_each(|_| counts[table.pick(rng.next_u64())] += 1);
        for (count, weight) in counts.into_iter().zip(weights) {
            let share = weight / 20.0;
            let sigma = (f64::from(draws) * share * (1.0 - share)).sqrt();
            assert!(
                (f64::from(count) - f64::from(draws) * share).abs() <= 4.0 * sigma,
                "{counts:?}"
            );
        }
    }

    #[test]
    fn a_single_choice_is_always_made() {
        let table = AliasTable::new(&[0.3]);
        assert_eq!([0, 1 << 63, u64::MAX].map(|random| table.pick(random)), [0, 0, 0]);
    }
}
