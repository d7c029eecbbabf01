//! Raw bit errors: how many each codeword of a physical page holds, and how copies hand them on.
//!
//! ttFlash (Yan et al., FAST '17; reference, section 3): a copy that stays inside its plane is not
//! seen by the error correction (ECC) of the controller, so errors accumulate from copy to copy;
//! reads of the user stay checked.
//!
//! **The model.** Each program adds raw errors to every codeword, Poisson with mean rate x bits,
//! drawn independently; reading adds none, so two reads of a page agree. Data that the controller
//! sends is right: the page then holds its own errors only. A copyback hands on what the source
//! held, so after k of them a codeword holds (k + 1) x rate x bits on average. Errors never meet in
//! one bit and cancel: at rates worth modelling that is rare. The parity bits of the code have no
//! errors. Pages of preconditioning start without any.
//!
//! Counts are bytes and stop at 255; validation keeps what the ECC corrects below that.

use super::Flash;
use crate::sim::{Rng, math};
use crate::units::Ppn;
use std::ops::Range;

/// The bit errors of a program, and how many the controller can correct.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ErrorModel {
    /// Probability that a programmed bit is wrong.
    pub rber: f64,
    /// Bytes of data that the error correction takes as one.
    pub codeword: u32,
    /// Wrong bits that it corrects in each.
    pub correctable: u32,
    /// Copies stay inside the flash, where nobody checks them.
    pub copies_unchecked: bool,
}

/// Copies of pages, and their bit errors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ErrorCounters {
    /// Map units copied without error correction.
    pub unchecked_copies: u64,
    /// Of those, units that held an error.
    pub undetected_copies: u64,
    /// Map units copied over the channel that were beyond correction.
    pub lost_copies: u64,
    /// The most errors that a codeword ever held; 255 is 255 or more.
    pub worst: u32,
    /// The most copies without error correction that one unit's data went through in a row; 255 is
    /// 255 or more.
    pub chain_max: u32,
}

/// Errors found in some codewords.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// In all of them.
    pub bits: u32,
    /// In the worst of them.
    pub worst: u32,
}

/// The errors of every page.
#[derive(Clone, Debug)]
pub struct BitErrors {
    model: ErrorModel,
    /// Codewords in a map unit.
    per_unit: usize,
    /// By codeword.
    counts: Vec<u8>,
    /// By map unit: copies without error correction since its data was last right.
    chains: Vec<u8>,
    poisson: Poisson,
    rng: Rng,
    counters: ErrorCounters,
}

impl BitErrors {
    /// `units` map units of `unit_bytes` each, none of which holds an error.
    pub fn new(model: ErrorModel, units: u32, unit_bytes: u32, seed: u64) -> Self {
        let (units, per_unit) = (units as usize, (unit_bytes / model.codeword) as usize);
        Self {
            poisson: Poisson::new(model.rber * 8.0 * f64::from(model.codeword)),
            model,
            per_unit,
            counts: vec![0; units * per_unit],
            chains: vec![0; units],
            rng: Rng::stream(seed, "bit errors"),
            counters: ErrorCounters::default(),
        }
    }

    fn codewords(&self, unit: Ppn) -> Range<usize> {
        let first = unit.0 as usize * self.per_unit;
        first..first + self.per_unit
    }

    /// Errors in the codewords `of` a unit.
    pub fn found(&self, unit: Ppn, of: Range<u32>) -> Found {
        let first = unit.0 as usize * self.per_unit;
        let counts = &self.counts[first + of.start as usize..first + of.end as usize];
        counts.iter().fold(Found::default(), |found, count| Found {
            bits: found.bits + u32::from(*count),
            worst: found.worst.max(u32::from(*count)),
        })
    }

    /// Errors in a whole unit.
    pub fn found_in(&self, unit: Ppn) -> Found {
        self.found(unit, 0..self.per_unit as u32)
    }

    /// True when the error correction brings the data back.
    pub fn is_within_reach(&self, found: Found) -> bool {
        found.worst <= self.model.correctable
    }

    /// Codewords in a map unit.
    pub fn per_unit(&self) -> u32 {
        self.per_unit as u32
    }

    /// The counters.
    pub fn counters(&self) -> ErrorCounters {
        self.counters
    }

    /// Bytes of the books.
    pub fn bytes(&self) -> usize {
        self.counts.len() + self.chains.len()
    }

    /// A unit was programmed with data that is right.
    pub fn programmed(&mut self, unit: Ppn) {
        self.chains[unit.0 as usize] = 0;
        for at in self.codewords(unit) {
            self.put(at, 0);
        }
    }

    /// A unit was copied from another one, which still holds what it held.
    pub fn copied(&mut self, from: Ppn, to: Ppn) {
        let found = self.found_in(from);
        let mut chain = 0;
        if self.model.copies_unchecked {
            chain = self.chains[from.0 as usize].saturating_add(1);
            self.counters.unchecked_copies += 1;
            self.counters.undetected_copies += u64::from(found.bits > 0);
            self.counters.chain_max = self.counters.chain_max.max(u32::from(chain));
        } else if self.is_within_reach(found) {
            return self.programmed(to);
        } else {
            // A lost page stays lost: the controller has nothing better to write.
            self.counters.lost_copies += 1;
        }
        self.chains[to.0 as usize] = chain;
        for (source, target) in self.codewords(from).zip(self.codewords(to)) {
            self.put(target, self.counts[source]);
        }
    }

    fn put(&mut self, at: usize, carried: u8) {
        let count = carried.saturating_add(self.poisson.draw(&mut self.rng));
        self.counts[at] = count;
        self.counters.worst = self.counters.worst.max(u32::from(count));
    }
}

/// Poisson numbers of one mean by inversion: one uniform number each, looked up in the cumulative
/// distribution. It is exact but for the 53 bits of the uniform number and the end of a byte.
#[derive(Clone, Debug)]
struct Poisson {
    /// The probability of at most k, for every k below 255 where it is still below 1.
    at_most: Vec<f64>,
}

impl Poisson {
    fn new(mean: f64) -> Self {
        let (mut term, mut sum) = (math::exp(-mean), 0.0);
        let mut at_most = Vec::new();
        for k in 1..=u8::MAX {
            sum += term;
            at_most.push(sum);
            if sum >= 1.0 || (f64::from(k) > mean && term < 1e-20) {
                break;
            }
            term *= mean / f64::from(k);
        }
        Self { at_most }
    }

    fn draw(&self, rng: &mut Rng) -> u8 {
        let uniform = rng.unit();
        // Most means lie far below 1: the first entries decide.
        self.at_most.iter().take_while(|at_most| **at_most <= uniform).count() as u8
    }
}

impl Flash {
    /// Pages hold bit errors from now on. Call it before the first operation.
    pub fn keep_bit_errors(&mut self, model: ErrorModel, seed: u64) {
        let layout = &self.layout;
        self.errors =
            Some(Box::new(BitErrors::new(model, layout.total_units(), layout.unit_bytes, seed)));
    }

    /// The bit errors, where they are modelled.
    #[inline]
    pub fn bit_errors(&self) -> Option<&BitErrors> {
        self.errors.as_deref()
    }

    /// A page was programmed with data from the controller.
    #[inline]
    pub fn programmed(&mut self, page: Ppn) {
        if let Some(errors) = &mut self.errors {
            errors.programmed(page);
        }
    }

    /// A page was copied, content and all.
    #[inline]
    pub fn copied(&mut self, from: Ppn, to: Ppn, version: u32) {
        self.store(to, version);
        if let Some(spares) = &mut self.spares {
            spares.copied(from, to);
        }
        if let Some(errors) = &mut self.errors {
            errors.copied(from, to);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODEL: ErrorModel =
        ErrorModel { rber: 1e-4, codeword: 1024, correctable: 40, copies_unchecked: true };

    fn mean_and_variance(numbers: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
        let n = numbers.clone().count() as f64;
        let mean = numbers.clone().sum::<f64>() / n;
        (mean, numbers.map(|x| (x - mean) * (x - mean)).sum::<f64>() / (n - 1.0))
    }

    #[test]
    fn numbers_are_poisson_in_mean_variance_and_each_probability() {
        for mean in [0.0, 0.0008, 0.8192, 3.0, 40.0, 120.0] {
            let (poisson, mut rng) = (Poisson::new(mean), Rng::stream(7, "poisson"));
            let n = 200_000;
            let drawn: Vec<f64> = (0..n).map(|_| f64::from(poisson.draw(&mut rng))).collect();
            let (m, v) = mean_and_variance(drawn.iter().copied());
            // Five standard deviations of a mean; those of a variance are sqrt((2 mean^2 + mean) /
            // n).
            let of_mean = 5.0 * (mean / f64::from(n)).sqrt();
            let of_variance = 5.0 * ((2.0 * mean * mean + mean) / f64::from(n)).sqrt();
            assert!((m - mean).abs() <= of_mean, "mean {m} of {mean}");
            assert!((v - mean).abs() <= of_variance, "variance {v} of {mean}");
            // P(0), P(1) and P(2) by hand.
            let p0 = math::exp(-mean);
            for (k, p) in [(0.0, p0), (1.0, p0 * mean), (2.0, p0 * mean * mean / 2.0)] {
                let share = drawn.iter().filter(|x| **x == k).count() as f64 / f64::from(n);
                assert!(
                    (share - p).abs() <= 5.0 * (p * (1.0 - p) / f64::from(n)).sqrt(),
                    "P({k}) {share} of {p}"
                );
            }
        }
    }

    #[test]
    fn k_copybacks_leave_k_plus_1_times_the_errors_of_a_program() {
        let (units, unit_bytes) = (20_000, 4096);
        let mut errors = BitErrors::new(MODEL, 2 * units, unit_bytes, 1);
        let per_program = MODEL.rber * 8.0 * f64::from(unit_bytes);
        (0..units).for_each(|unit| errors.programmed(Ppn(unit)));
        for k in 0..=5 {
            let (here, there) = if k % 2 == 0 { (0, units) } else { (units, 0) };
            let held = (here..here + units).map(|unit| f64::from(errors.found_in(Ppn(unit)).bits));
            let (mean, variance) = mean_and_variance(held);
            let expected = f64::from(k + 1) * per_program;
            assert!(
                (mean - expected).abs() < 5.0 * (expected / f64::from(units)).sqrt(),
                "{k}: {mean} of {expected}"
            );
            assert!(
                (variance / expected - 1.0).abs() < 0.07,
                "a sum of Poisson numbers is one: {variance}"
            );
            assert_eq!(errors.counters().chain_max, k);
            (0..units).for_each(|unit| errors.copied(Ppn(here + unit), Ppn(there + unit)));
        }
        assert_eq!(errors.counters().unchecked_copies, 6 * u64::from(units));
    }

    #[test]
    fn a_copy_over_the_channel_hands_nothing_on_unless_it_is_beyond_correction() {
        let model = ErrorModel { rber: 0.0, copies_unchecked: false, ..MODEL };
        let mut errors = BitErrors::new(model, 4, 4096, 1);
        errors.counts[1] = 40;
        errors.copied(Ppn(0), Ppn(1));
        assert_eq!((errors.found_in(Ppn(1)), errors.counters().lost_copies), (Found::default(), 0));
        errors.counts[1] = 41;
        errors.copied(Ppn(0), Ppn(2));
        assert_eq!(errors.found_in(Ppn(2)), Found { bits: 41, worst: 41 });
        assert!(!errors.is_within_reach(errors.found_in(Ppn(2))));
        assert_eq!((errors.counters().lost_copies, errors.counters().undetected_copies), (1, 0));
    }

    #[test]
    fn copies_of_clean_units_are_unchecked_but_not_undetected() {
        let mut errors = BitErrors::new(ErrorModel { rber: 0.0, ..MODEL }, 4, 4096, 1);
        errors.copied(Ppn(0), Ppn(1));
        errors.counts[7] = 3;
        errors.copied(Ppn(1), Ppn(2));
        let ErrorCounters { unchecked_copies, undetected_copies, chain_max, .. } =
            errors.counters();
        assert_eq!((unchecked_copies, undetected_copies, chain_max), (2, 1, 2));
        // The fourth codeword of the unit, and it alone.
        assert_eq!((errors.found(Ppn(2), 3..4).bits, errors.found(Ppn(2), 0..3).bits), (3, 0));
        errors.programmed(Ppn(2));
        assert_eq!((errors.found_in(Ppn(2)).bits, errors.chains[2]), (0, 0));
    }

    #[test]
    fn counts_stop_at_a_byte() {
        let mut errors = BitErrors::new(ErrorModel { rber: 4e-3, ..MODEL }, 2, 1024, 1);
        errors.programmed(Ppn(0));
        (0..20).for_each(|copy| errors.copied(Ppn(copy % 2), Ppn((copy + 1) % 2)));
        assert_eq!(
            (errors.found_in(Ppn(0)).worst, errors.counters().worst, errors.counters().chain_max),
            (255, 255, 20)
        );
    }
}
