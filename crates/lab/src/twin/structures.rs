//! How a drive may be built: the structures that a fit looks at.

use super::latency::Structure;
use super::newton::Ended;
use manx_core::flash::Device;

/// A structure, where its fit lies, and how far that is off.
pub(super) struct Ranked {
    pub(super) structure: Structure,
    pub(super) ended: Ended,
    pub(super) cost: f64,
}

impl Ranked {
    pub(super) fn new(structure: Structure, (point, cost): (Vec<f64>, f64)) -> Self {
        let ended = Ended { point, ranges: Vec::new(), cost: None, slopes: None };
        Self { structure, ended, cost }
    }
}

impl Structure {
    /// That of a device table.
    pub(super) fn of(device: &Device) -> Self {
        let of = &device.geometry;
        let ways_first = false;
        Self { channels: of.channels, ways: of.ways * of.dies, planes: of.planes, ways_first }
    }

    /// About as many dies on so many channels.
    pub(super) fn on(self, channels: u32) -> Self {
        Self { channels, ways: (self.dies() / channels.max(1)).max(1), ..self }
    }

    /// As many dies, on half and on twice the channels.
    pub(super) fn siblings(self) -> impl Iterator<Item = Self> {
        let of = move |channels: u32| {
            let ways = self.dies() / channels.max(1);
            (channels > 0 && ways > 0).then_some(Self { channels, ways, ..self })
        };
        [self.channels / 2, self.channels * 2].into_iter().filter_map(of)
    }
}

/// Structures with as many dies: other channels, beside their rate, and neighbours over the dies
/// of a channel.
pub(super) fn variants(first: Structure) -> Vec<Structure> {
    let ways_first = |of: Structure| Structure { ways_first: true, ..of };
    let mut variants = vec![ways_first(first)];
    variants.extend(first.siblings().flat_map(|of| [of, ways_first(of)]));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sibling_has_as_many_dies_on_half_or_twice_the_channels() {
        let of = |channels, ways| Structure { channels, ways, planes: 2, ways_first: false };
        let siblings = |of: Structure| of.siblings().collect::<Vec<_>>();
        assert_eq!(siblings(of(8, 4)), [of(4, 8), of(16, 2)]);
        assert_eq!(siblings(of(16, 1)), [of(8, 2)]);
        assert_eq!(siblings(of(1, 1)), []);
        assert_eq!(variants(of(8, 4)).len(), 5);
    }
}
