//! How writes come back to what was written before: how many extents were written since, and
//! whether the one that followed then follows now.

use crate::host::RewritesSpec;
use crate::host::stack::Stack;
use std::collections::BTreeMap;

/// Extents that are followed; the one that was not written for longest leaves first.
const EXTENTS: usize = 1 << 18;
/// Fewer writes say nothing of an order.
const WRITES: u64 = 256;

/// Writes by where they went; an extent is known by where it starts.
#[derive(Clone, Debug)]
pub(super) struct Returns {
    stack: Stack<(u32, u64)>,
    /// Position of each extent.
    known: BTreeMap<(u32, u64), usize>,
    /// Where the last write's extent was.
    at: Option<usize>,
    last: usize,
    after: [[u64; 3]; 3],
    /// Depths of jumps by quarter octave.
    depths: BTreeMap<u32, u64>,
    writes: u64,
    /// First writes, and those of them that lie behind the write before.
    fresh: u64,
    behind: u64,
    end: (u32, u64),
}

impl Default for Returns {
    fn default() -> Self {
        Self {
            stack: Stack::new(1),
            known: BTreeMap::new(),
            at: None,
            last: 0,
            after: [[0; 3]; 3],
            depths: BTreeMap::new(),
            writes: 0,
            fresh: 0,
            behind: 0,
            end: (0, 0),
        }
    }
}

impl Returns {
    /// A write of these sectors.
    pub(super) fn add(&mut self, device: u32, lba: u64, sectors: u32) {
        if self.writes == 0 {
            self.stack = Stack::new(EXTENTS);
        }
        self.writes += 1;
        let key = (device, lba);
        let step = match self.known.get(&key).copied() {
            None => self.first(key),
            Some(at) => self.again(at),
        };
        self.after[self.last][step] += 1;
        (self.last, self.end) = (step, (device, lba + u64::from(sectors)));
        self.make_room();
        let at = self.stack.push(key);
        self.known.insert(key, at);
    }

    fn first(&mut self, key: (u32, u64)) -> usize {
        self.fresh += 1;
        self.behind += u64::from(self.writes > 1 && self.end == key);
        self.at = None;
        0
    }

    fn again(&mut self, at: usize) -> usize {
        let older = self.stack.older(at);
        let next = self.at.map(|before| self.stack.older(before));
        let depth = (self.stack.len() - older) as u64;
        self.stack.remove(at);
        self.at = Some(at);
        // One that lies between them is passed over: requests are not split the same way twice.
        if next.is_some_and(|next| older == next || older == next + 1) {
            return 1;
        }
        *self.depths.entry(band(depth)).or_default() += 1;
        2
    }

    fn make_room(&mut self) {
        if self.stack.len() == EXTENTS {
            let oldest = self.stack.position(0);
            let key = self.stack.remove(oldest);
            self.known.remove(&key);
        }
        if self.stack.is_full() {
            self.at = self.at.map(|at| self.stack.compact(at));
            if self.at.is_none() {
                self.stack.compact(0);
            }
            self.known = self.stack.iter().map(|(at, key)| (key, at)).collect();
        }
    }

    /// The rewrites, over `span` percent of the range; `None` where there are too few writes.
    pub(super) fn rewrites(&self, span: f64) -> Option<RewritesSpec> {
        if self.writes < WRITES {
            return None;
        }
        let percents = |row: &[u64; 3]| {
            let total: u64 = row.iter().sum();
            row.map(|count| match total {
                // It never was there: then as from the oldest on.
                0 => 1.0,
                _ => super::rounded(100.0 * count as f64 / total as f64),
            })
        };
        let jumps: u64 = self.depths.values().sum();
        let share = |count: u64| super::rounded(100.0 * count as f64 / jumps.max(1) as f64);
        let mut depths: Vec<(u32, f64)> = Vec::new();
        let mut before = 0;
        for (at, count) in &self.depths {
            // Depths that were never seen between two bands are a band of nearly no weight.
            if *at > before + 1 || (depths.is_empty() && *at > 0) {
                depths.push((deepest(at - 1), 1e-6));
            }
            depths.push((deepest(*at), share(*count).max(1e-6)));
            before = *at;
        }
        if depths.is_empty() {
            depths.push((1, 1.0));
        }
        depths.dedup_by_key(|depth| depth.0);
        Some(RewritesSpec {
            extents: self.stack.len() as u32,
            span: super::rounded(span.clamp(0.001, 100.0)).min(100.0),
            sequential: super::rounded(100.0 * self.behind as f64 / self.fresh.max(1) as f64),
            after: [0, 1, 2].map(|row| percents(&self.after[row])),
            depths,
        })
    }
}

/// Band of a depth: four for each octave above 8, each depth of its own below.
fn band(depth: u64) -> u32 {
    if depth <= 8 {
        return depth as u32 - 1;
    }
    let octave = (depth - 1).ilog2();
    let quarter = ((depth - 1) >> (octave - 2) & 3) as u32;
    8 + 4 * (octave - 3) + quarter
}

/// The deepest of a band.
fn deepest(band: u32) -> u32 {
    if band < 8 {
        return band + 1;
    }
    let (octave, quarter) = ((band - 8) / 4 + 3, (band - 8) % 4);
    (1 << octave) + ((quarter + 1) << (octave - 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bands_of_depths_have_no_gap_and_no_overlap() {
        let mut last = 0;
        for depth in 1..100_000_u64 {
            let at = band(depth);
            assert!(at == last || at == last + 1, "{depth}");
            assert!(u64::from(deepest(at)) >= depth);
            assert!(at == 0 || u64::from(deepest(at - 1)) < depth, "{depth}");
            last = at;
        }
    }

    /// Two extents in turn, then one alone.
    #[test]
    fn what_follows_again_is_no_jump_and_a_jump_has_its_depth() {
        let mut returns = Returns::default();
        // 100 extents, twice in the same order: the second pass follows the first.
        for _ in 0..2 {
            (0..100).for_each(|extent| returns.add(0, extent * 8, 8));
        }
        // One jump at the first return, which is 100 deep.
        assert_eq!(returns.after, [[99 + 1, 0, 1], [0, 98, 0], [0, 1, 0]]);
        assert_eq!(returns.depths.values().sum::<u64>(), 1);
        assert_eq!(returns.depths.keys().copied().next(), Some(band(100)));
        assert_eq!((returns.fresh, returns.behind), (100, 99));
        (0..100).for_each(|_| returns.add(0, 0, 8));
        let spec = returns.rewrites(50.0).unwrap();
        assert_eq!((spec.extents, spec.sequential), (100, 99.0));
        assert!(spec.depths.is_sorted_by(|a, b| a.0 < b.0), "{:?}", spec.depths);
        assert_eq!(spec.depths[0].0, 1);
    }
}
