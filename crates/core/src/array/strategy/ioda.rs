//! IOD1 and IOD2 (IODA, SOSP '21): reads may fail fast and are computed from the rest of their row.

use super::Strategy;
use crate::drive::PredictableLatency;
use crate::sim::Rng;

/// Of two pages that failed, one is drawn: the busy remaining time is not looked at.
#[derive(Clone, Debug)]
pub(super) struct Iod1 {
    rng: Rng,
}

impl Iod1 {
    pub fn new(seed: u64) -> Self {
        Self { rng: Rng::stream(seed, "iod1") }
    }
}

impl Strategy for Iod1 {
    fn flag(&self) -> PredictableLatency {
        PredictableLatency::On
    }

    fn computes(&mut self, _: u64, _: u64) -> bool {
        self.rng.below(2) == 0
    }
}

/// Of two pages that failed, the one with the larger busy remaining time is computed.
#[derive(Clone, Debug)]
pub(super) struct Iod2;

impl Strategy for Iod2 {
    fn flag(&self) -> PredictableLatency {
        PredictableLatency::On
    }
}
