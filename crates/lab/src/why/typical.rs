//! Latencies that are usual: the yardstick by which a request is slow.
//!
//! Of a trace of several devices each has one voice, however many requests it has: the yardstick is
//! the median of the devices' medians, of an even number the lower of the two in the middle. One
//! median of all requests would be that of a slow device that has more than half of them, and
//! nothing would be slow.

use super::finding::at;
use super::rows::Row;
use manx_core::drive::Op;
use std::collections::BTreeMap;

/// A device of fewer requests has no voice.
const VOICE_MIN: usize = 20;

/// Kind of a request, and its size in powers of two.
type Class = (bool, u32);

/// Medians.
pub(super) struct Typical {
    /// That of all requests, each device with one voice (microseconds).
    pub median: f64,
    of_class: BTreeMap<Class, f64>,
    /// Of each device (microseconds).
    of_device: BTreeMap<u32, f64>,
}

impl Typical {
    pub fn of(rows: &[Row]) -> Self {
        let mut lists: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        let mut by_class: BTreeMap<Class, BTreeMap<u32, Vec<f64>>> = BTreeMap::new();
        for row in rows {
            lists.entry(row.device).or_default().push(row.us);
            let of_class = by_class.entry(class(row)).or_default();
            of_class.entry(row.device).or_default().push(row.us);
        }
        let of_class = by_class.into_iter().map(|(class, mut lists)| (class, voices(&mut lists)));
        let of_class = of_class.collect();
        let median = voices(&mut lists);
        let of_device = lists.into_iter().map(|(device, list)| (device, at(&list, 0.5))).collect();
        Self { median, of_class, of_device }
    }

    /// Time that a request like this takes (microseconds). A size that is slow as a whole is slow
    /// beside the median of all.
    pub fn of_row(&self, row: &Row) -> f64 {
        let all = 2.0 * self.median;
        self.of_class.get(&class(row)).map_or(all, |median| median.min(all))
    }

    /// How much slower a device is than the median of all, by its own median (natural logarithm); 0
    /// of one device alone.
    pub fn level(&self, device: u32) -> f64 {
        let own = self.of_device.get(&device).copied().unwrap_or(self.median);
        (own.max(0.1) / self.median.max(0.1)).ln()
    }

    /// The median of a device, and the median of the others' medians (microseconds).
    pub fn beside(&self, device: u32) -> Option<(f64, f64)> {
        let own = self.of_device.get(&device)?;
        let others = self.of_device.iter().filter(|(other, _)| **other != device);
        let mut others: Vec<f64> = others.map(|(_, median)| *median).collect();
        others.sort_by(f64::total_cmp);
        Some((*own, at(&others, 0.5))).filter(|_| !others.is_empty())
    }
}

fn class(row: &Row) -> Class {
    (row.op == Op::Write, row.bytes.max(1).ilog2())
}

/// The median of the medians of devices; where none has enough requests, that of all. Sorts them.
fn voices(lists: &mut BTreeMap<u32, Vec<f64>>) -> f64 {
    lists.values_mut().for_each(|list| list.sort_by(f64::total_cmp));
    let heard = lists.values().filter(|list| list.len() >= VOICE_MIN);
    let mut medians: Vec<f64> = heard.map(|list| at(list, 0.5)).collect();
    if medians.is_empty() {
        medians = lists.values().flatten().copied().collect();
    }
    medians.sort_by(f64::total_cmp);
    at(&medians, 0.5)
}
