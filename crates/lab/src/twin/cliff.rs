//! The cliff of a long write: a drive with a cache of blocks with one bit a cell writes fast from
//! fresh until that is full, long before every block was written.
//!
//! A firmware that holds back a drive that warms up looks the same: the rate alone cannot tell.

use crate::measure::Window;

/// A rate within this part of the best one is as fast.
const FAST: f64 = 0.85;

/// Where the cache was full, and how fast the host wrote before and behind it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Cliff {
    /// Capacities that the host had written.
    pub(super) at: f64,
    /// Bytes a second into the cache.
    pub(super) fast: f64,
    /// The first window that lies wholly behind it.
    pub(super) behind: usize,
}

impl Cliff {
    /// The cliff of a drive that was fresh before these windows, if its rate falls once in the
    /// first capacity, from its best, and stays there.
    pub(super) fn of(windows: &[Window]) -> Option<Self> {
        let first: Vec<&Window> = windows.iter().take_while(|window| window.to <= 1.0).collect();
        let fast = first.iter().map(|window| window.bytes_per_s).fold(0.0, f64::max);
        let is_fast = |window: &&Window| window.bytes_per_s >= FAST * fast;
        let part = first.iter().position(|window| !is_fast(window)).filter(|part| *part > 0)?;
        let behind = part + 1;
        let slow = &first[behind..];
        if slow.is_empty() || slow.iter().any(is_fast) {
            return None;
        }
        let before: f64 = first[..part].iter().map(|window| window.bytes_per_s).sum();
        let (fast, slow) = (before / part as f64, slow[0].bytes_per_s);
        // The window of the cliff took as long as both parts together.
        let Window { from, to, bytes_per_s, .. } = *first[part];
        let share = (1.0 / bytes_per_s - 1.0 / slow) / (1.0 / fast - 1.0 / slow);
        Some(Self { at: from + share.clamp(0.0, 1.0) * (to - from), fast, behind })
    }

    /// The part of all blocks that such a cache has, where each holds one in `bits` of its pages
    /// and the user gets `1 - spare` of all pages.
    pub(super) fn share_of_blocks(&self, bits: u32, spare: f64) -> f64 {
        (self.at * (1.0 - spare) * f64::from(bits)).min(0.95)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn windows(rates: &[f64]) -> Vec<Window> {
        let of = |(number, rate): (usize, &f64)| {
            let from = number as f64 * 0.1;
            Window { from, to: from + 0.1, waf: None, bytes_per_s: rate * 1e9 }
        };
        rates.iter().enumerate().map(of).collect()
    }

    /// Half of the third window at 4 GB/s, half at 1: 0.2 capacities / (1/4 + 1/1) = 1.6 GB/s.
    #[test]
    fn the_window_of_the_cliff_is_divided_by_its_time() {
        let cliff = Cliff::of(&windows(&[4.0, 4.0, 1.6, 1.0, 1.0, 0.9])).unwrap();
        assert!((cliff.at - 0.25).abs() < 1e-9, "{cliff:?}");
        assert_eq!((cliff.fast, cliff.behind), (4e9, 3));
        // A quarter of the capacity, on three times as many blocks as its pages fill.
        assert!((cliff.share_of_blocks(3, 0.2) - 0.6).abs() < 1e-9);
    }

    #[test]
    fn a_rate_that_comes_back_or_falls_when_the_drive_is_full_is_no_cliff() {
        let full = [[4.0; 10].as_slice(), &[2.0; 8]].concat();
        for rates in [vec![4.0; 12], vec![3.0, 4.0, 4.0, 4.0], vec![4.0, 1.0, 4.0, 4.0], full] {
            assert_eq!(Cliff::of(&windows(&rates)), None, "{rates:?}");
        }
    }
}
