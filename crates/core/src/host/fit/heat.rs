//! How unevenly pages are asked for: a sample of the pages, and classes of pages that differ in
//! reads and writes.
//!
//! The sample is spatial: a page is in it if a hash of its address is small, so each page that is
//! in it is followed from its first request to its last (Waldspurger et al., Efficient MRC
//! Construction with SHARDS, FAST 2015). When the sample is full, the bound is halved. What leaves
//! this file are shares, never an address.
//!
//! Classes: a mixture of pairs of Poisson distributions, one pair (reads, writes) to a class,
//! fitted by expectation and maximisation (Dempster, Laird and Rubin 1977); how many there are is
//! decided by the Bayesian information criterion (Schwarz 1978). Sorting pages by their counts
//! instead would find hot pages in uniform traffic as well, where some get more by chance.

use crate::sim::math::{exp, ln};
use std::collections::BTreeMap;

/// Pages in the sample.
const SAMPLE: usize = 1 << 17;
/// Sectors of a page.
pub(super) const PAGE: u64 = 8;
/// Pages of one request that are looked at; no host asks for more in one.
const PAGES_OF_A_REQUEST: u64 = 1 << 14;

/// The sample of pages and their counts.
#[derive(Clone, Debug)]
pub(super) struct Heat {
    /// Reads and writes of each page in the sample, by its hash.
    pages: BTreeMap<u64, (u32, u32)>,
    /// A page is in the sample if its hash is below or at this.
    bound: u64,
}

impl Default for Heat {
    fn default() -> Self {
        Self { pages: BTreeMap::new(), bound: u64::MAX }
    }
}

impl Heat {
    /// A read or a write of these sectors.
    pub(super) fn touch(&mut self, device: u32, lba: u64, sectors: u32, is_read: bool) {
        let (first, last) = (lba / PAGE, (lba + u64::from(sectors).max(1) - 1) / PAGE);
        for page in first..=last.min(first + PAGES_OF_A_REQUEST - 1) {
            let hash = hash(page ^ u64::from(device) << 44);
            if hash > self.bound {
                continue;
            }
            let (reads, writes) = self.pages.entry(hash).or_default();
            let count = if is_read { reads } else { writes };
            *count = count.saturating_add(1);
            if self.pages.len() > SAMPLE {
                self.bound /= 2;
                // Hashes are unique to pages: what is cut off was never the same page as what
                // stays.
                drop(self.pages.split_off(&(self.bound + 1)));
            }
        }
    }

    /// Distinct pages, estimated where they are more than the sample holds.
    pub(super) fn footprint(&self) -> u64 {
        let scale = (u64::MAX / self.bound).max(1);
        self.pages.len() as u64 * scale
    }

    /// The classes, the hottest first.
    pub(super) fn classes(&self) -> Vec<Class> {
        let cells = cells(&self.pages);
        if cells.is_empty() {
            return Vec::new();
        }
        let mut best: Option<(f64, Vec<Class>)> = None;
        for number in 1..=CLASSES_MAX {
            for order in [by_total, by_reads] {
                let (classes, likelihood) = mixture(&cells, start(&cells, number, order));
                let parameters = (3 * classes.len() - 1) as f64;
                let score = likelihood - parameters / 2.0 * ln(self.pages.len().max(2) as f64);
                if best.as_ref().is_none_or(|(most, _)| score > *most) {
                    best = Some((score, classes));
                }
            }
        }
        merged(best.map_or(Vec::new(), |(_, classes)| classes))
    }
}

/// A bijection that looks random (the finaliser of SplitMix64), so that no two pages are one.
fn hash(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

const CLASSES_MAX: usize = 4;
const ROUNDS: usize = 60;
/// Classes whose pages differ less than this, in reads and in writes, are one.
const ALIKE: f64 = 1.5;
/// Requests of a page below which it does not matter how they differ.
const NOTHING: f64 = 0.02;

/// Pages that are asked for alike.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Class {
    /// Its part of the pages.
    pub(super) share: f64,
    /// Mean reads and mean writes of its pages.
    pub(super) reads: f64,
    pub(super) writes: f64,
}

/// Pages with (nearly) the same counts: how many, and their mean reads and writes.
#[derive(Clone, Copy, Debug)]
struct Cell {
    pages: f64,
    reads: f64,
    writes: f64,
}

/// Pages by their counts; large counts share a cell with those within 1/8 of an octave.
fn cells(pages: &BTreeMap<u64, (u32, u32)>) -> Vec<Cell> {
    let bucket = |count: u32| match count {
        0..=15 => count,
        _ => 8 * count.ilog2() + (count >> (count.ilog2() - 3)) % 8,
    };
    let mut sums: BTreeMap<(u32, u32), (u64, u64, u64)> = BTreeMap::new();
    for &(reads, writes) in pages.values() {
        let sum = sums.entry((bucket(reads), bucket(writes))).or_default();
        *sum = (sum.0 + 1, sum.1 + u64::from(reads), sum.2 + u64::from(writes));
    }
    let mean = |sum: u64, pages: u64| sum as f64 / pages as f64;
    let cell = |(pages, reads, writes)| Cell {
        pages: pages as f64,
        reads: mean(reads, pages),
        writes: mean(writes, pages),
    };
    sums.into_values().map(cell).collect()
}

fn by_total(cell: &Cell) -> f64 {
    cell.reads + cell.writes
}

fn by_reads(cell: &Cell) -> f64 {
    cell.reads / (cell.reads + cell.writes)
}

/// Classes to start from: the cells in an order, cut into parts of equal numbers of requests.
fn start(cells: &[Cell], number: usize, order: fn(&Cell) -> f64) -> Vec<Class> {
    let mut sorted = cells.to_vec();
    sorted.sort_by(|a, b| order(a).total_cmp(&order(b)));
    let weight = |cell: &Cell| cell.pages * (cell.reads + cell.writes);
    let total: f64 = sorted.iter().map(weight).sum();
    let mut sums = vec![(0.0, 0.0, 0.0); number];
    let mut before = 0.0;
    for cell in &sorted {
        let part =
            (((before + weight(cell) / 2.0) / total * number as f64) as usize).min(number - 1);
        before += weight(cell);
        let sum = &mut sums[part];
        *sum =
            (sum.0 + cell.pages, sum.1 + cell.pages * cell.reads, sum.2 + cell.pages * cell.writes);
    }
    classes_of(&sums)
}

/// Classes from sums of pages, reads and writes; without the empty ones.
fn classes_of(sums: &[(f64, f64, f64)]) -> Vec<Class> {
    let total: f64 = sums.iter().map(|sum| sum.0).sum();
    let some = sums.iter().filter(|sum| sum.0 > 1e-6);
    some.map(|(pages, reads, writes)| Class {
        share: pages / total,
        reads: reads / pages,
        writes: writes / pages,
    })
    .collect()
}

/// Expectation and maximisation; gives the classes and their log-likelihood (without what all
/// mixtures share).
fn mixture(cells: &[Cell], mut classes: Vec<Class>) -> (Vec<Class>, f64) {
    let mut likelihood = 0.0;
    for _ in 0..ROUNDS {
        let logs: Vec<[f64; 3]> = classes
            .iter()
            .map(|class| {
                [ln(class.share.max(1e-300)), ln(class.reads.max(1e-9)), ln(class.writes.max(1e-9))]
            })
            .collect();
        let mut sums = vec![(0.0, 0.0, 0.0); classes.len()];
        let mut terms = vec![0.0; classes.len()];
        likelihood = 0.0;
        for cell in cells {
            let mut most = f64::NEG_INFINITY;
            for ((term, class), [share, reads, writes]) in terms.iter_mut().zip(&classes).zip(&logs)
            {
                *term =
                    share + cell.reads * reads + cell.writes * writes - class.reads - class.writes;
                most = most.max(*term);
            }
            let mut total = 0.0;
            for term in &mut terms {
                *term = exp((*term - most).max(-700.0));
                total += *term;
            }
            likelihood += cell.pages * (most + ln(total));
            for (sum, term) in sums.iter_mut().zip(&terms) {
                let pages = cell.pages * term / total;
                *sum = (sum.0 + pages, sum.1 + pages * cell.reads, sum.2 + pages * cell.writes);
            }
        }
        classes = classes_of(&sums);
    }
    (classes, likelihood)
}

/// The hottest first, those that hardly differ taken together.
fn merged(mut classes: Vec<Class>) -> Vec<Class> {
    classes.sort_by(|a, b| (b.reads + b.writes).total_cmp(&(a.reads + a.writes)));
    let alike = |a: f64, b: f64| a.max(b) < NOTHING || a.max(b) < ALIKE * a.min(b);
    let mut kept: Vec<Class> = Vec::new();
    for class in classes {
        match kept
            .iter_mut()
            .find(|kept| alike(kept.reads, class.reads) && alike(kept.writes, class.writes))
        {
            Some(kept) => {
                let share = kept.share + class.share;
                let mean = |a: f64, b: f64| (a * kept.share + b * class.share) / share;
                *kept = Class {
                    share,
                    reads: mean(kept.reads, class.reads),
                    writes: mean(kept.writes, class.writes),
                };
            }
            None => kept.push(class),
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::Rng;

    fn heat(pages: u64, touches: u64, pick: impl Fn(&mut Rng) -> (u64, bool)) -> Heat {
        let (mut heat, mut rng) = (Heat::default(), Rng::stream(1, "heat"));
        for _ in 0..touches {
            let (page, is_read) = pick(&mut rng);
            assert!(page < pages);
            heat.touch(0, page * PAGE, PAGE as u32, is_read);
        }
        heat
    }

    #[test]
    fn uniform_traffic_has_one_class_however_thin_it_is() {
        for touches in [5_000, 20_000, 200_000] {
            let heat = heat(20_000, touches, |rng| (rng.below(20_000), rng.below(10) < 7));
            assert_eq!(heat.classes().len(), 1, "{touches}: {:?}", heat.classes());
        }
    }

    #[test]
    fn hot_pages_of_reads_and_of_writes_are_told_apart() {
        // Pages 0..1000 take half the reads, 1000..2000 half the writes, all others the rest.
        let heat = heat(20_000, 400_000, |rng| {
            let is_read = rng.below(2) == 0;
            let hot = if is_read { 0 } else { 1000 };
            let page =
                if rng.below(2) == 0 { hot + rng.below(1000) } else { 2000 + rng.below(18_000) };
            (page, is_read)
        });
        let classes = heat.classes();
        assert_eq!(classes.len(), 3, "{classes:?}");
        let hot: Vec<&Class> = classes.iter().filter(|class| class.share < 0.1).collect();
        assert_eq!(hot.len(), 2, "{classes:?}");
        for class in hot {
            assert!((class.share - 0.05).abs() < 0.002, "{classes:?}");
            assert!(
                class.reads.max(class.writes) > 90.0 && class.reads.min(class.writes) < 1.0,
                "{classes:?}"
            );
        }
    }

    #[test]
    fn a_footprint_beyond_the_sample_is_estimated() {
        let mut heat = Heat::default();
        (0..500_000u64).for_each(|page| heat.touch(3, page * PAGE, 1, true));
        assert!(heat.pages.len() <= SAMPLE);
        let error = heat.footprint() as f64 / 500_000.0 - 1.0;
        assert!(error.abs() < 0.02, "{error}");
    }
}
