//! How a drive may be built: the structures that a fit looks at.

use super::latency::Structure;
use super::newton::Ended;

/// A structure, where its fit lies, and how far that is off.
pub(super) struct Ranked {
    pub(super) structure: Structure,
    pub(super) ended: Ended,
    pub(super) cost: f64,
}

impl Ranked {
    pub(super) fn new(structure: Structure, (point, cost): (Vec<f64>, f64)) -> Self {
        Self { structure, ended: Ended { point, ranges: Vec::new(), cost: None }, cost }
    }
}

/// Structures with as many dies: other channels, beside their rate, and neighbours over the dies
/// of a channel.
pub(super) fn variants(first: Structure) -> Vec<Structure> {
    let mut variants = vec![Structure { ways_first: true, ..first }];
    for channels in [first.channels / 2, first.channels * 2] {
        let ways = first.dies() / channels.max(1);
        if channels > 0 && ways > 0 {
            for ways_first in [false, true] {
                variants.push(Structure { channels, ways, ways_first, ..first });
            }
        }
    }
    variants
}

/// The structures that are looked at first.
pub(super) const CANDIDATES: [Structure; 11] = {
    const fn of(channels: u32, ways: u32, planes: u32) -> Structure {
        Structure { channels, ways, planes, ways_first: false }
    }
    [
        of(8, 4, 2),
        of(8, 4, 1),
        of(8, 4, 4),
        of(8, 2, 2),
        of(8, 2, 1),
        of(8, 2, 4),
        of(8, 8, 2),
        of(8, 8, 1),
        of(8, 8, 4),
        of(4, 2, 2),
        of(16, 8, 2),
    ]
};
