//! Data placement by a rule that a program brings along: which stream each extent of addresses
//! belongs to, in place of the host's hints (`placement = "stream"`).
//!
//! A rule that is asked for each page would cost more than the page. So it decides for extents, at
//! the start and each time that the host has written so many pages; in between the answer is a look
//! into a table. That moment is one of the model's, not of its methods: however the drive comes to
//! do a write, the rule is told of the same ones in the same order.

use super::FtlSpec;
use crate::sim::Divisor;
use crate::units::Lpn;
use std::fmt::Debug;

/// A rule of data placement that a program brings along ([`FtlSpec::brought`]).
pub trait Sorter: Debug + Send + Sync {
    /// Map units of an extent: what is placed together. At least 1.
    fn extent(&self) -> u32;

    /// Map units that the host writes from one decision to the next. At least 1.
    fn period(&self) -> u64;

    /// Decides the stream of each extent. `writes` are the map units that the host wrote in each of
    /// them since the last decision (none at the first one), `streams` holds the last decision. A
    /// stream that there is not is the first one.
    fn sort(&mut self, writes: &[u32], streams: &mut [u8]);

    /// Another one in the same state: drives are copied.
    fn twin(&self) -> Box<dyn Sorter>;
}

/// A rule at work.
#[derive(Debug)]
pub(super) struct Sorted {
    sorter: Box<dyn Sorter>,
    by_extent: Divisor,
    period: u64,
    /// Map units until the next decision.
    left: u64,
    writes: Vec<u32>,
    streams: Vec<u8>,
}

impl Clone for Sorted {
    fn clone(&self) -> Self {
        let Self { by_extent, period, left, .. } = *self;
        let (writes, streams) = (self.writes.clone(), self.streams.clone());
        Self { sorter: self.sorter.twin(), by_extent, period, left, writes, streams }
    }
}

impl Sorted {
    /// The rule of `ftl` over `logical` map units, if there is one; its first decision is made.
    pub fn new(ftl: &FtlSpec, logical: u32) -> Option<Box<Self>> {
        let mut sorter = ftl.brought.make()?;
        let (extent, period) = (sorter.extent().max(1), sorter.period().max(1));
        let extents = logical.div_ceil(extent) as usize;
        let (writes, mut streams) = (vec![0; extents], vec![0; extents]);
        sorter.sort(&writes, &mut streams);
        let by_extent = Divisor::new(extent);
        Some(Box::new(Self { sorter, by_extent, period, left: period, writes, streams }))
    }

    /// The stream of a page.
    #[inline]
    pub fn stream_of(&self, lpn: Lpn) -> u8 {
        self.streams[self.by_extent.quotient(lpn.0) as usize]
    }

    /// The host wrote `lpn`.
    #[inline]
    pub fn written(&mut self, lpn: Lpn) {
        let count = &mut self.writes[self.by_extent.quotient(lpn.0) as usize];
        *count = count.saturating_add(1);
        self.left -= 1;
        if self.left == 0 {
            self.sorter.sort(&self.writes, &mut self.streams);
            self.writes.fill(0);
            self.left = self.period;
        }
    }

    /// Bytes of its tables.
    pub fn bytes(&self) -> usize {
        self.streams.len() + 4 * self.writes.len()
    }
}
