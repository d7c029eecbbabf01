//! The stages of an array's request: what of the array it was at, to the nanosecond, beside the
//! causes of that time.

use super::Duration;
use std::ops::AddAssign;

/// Stage of an array's request that a nanosecond of its latency is charged to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Stage {
    /// A read of a drive for its own page.
    Read,
    /// A command that brought nothing: the drive failed it fast or died, or it was waited for in
    /// vain.
    Retry,
    /// Reads of the other drives, to compute the page.
    Reconstruct,
    /// The computation itself.
    Xor,
    /// Reads of old pages for the parity of a write.
    PreRead,
    /// Writes of data and parity.
    Write,
    /// Flushes.
    Flush,
    /// For its row: another update of it, or reads of the whole row.
    Stripe,
    /// For room in the array's memory.
    Cache,
}

/// How many stages there are.
pub const STAGES: usize = 9;

impl Stage {
    /// Every stage, in the order of [`Stages`].
    pub const ALL: [Stage; STAGES] = [
        Stage::Read,
        Stage::Retry,
        Stage::Reconstruct,
        Stage::Xor,
        Stage::PreRead,
        Stage::Write,
        Stage::Flush,
        Stage::Stripe,
        Stage::Cache,
    ];

    /// Its name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Stage::Read => "read",
            Stage::Retry => "retry",
            Stage::Reconstruct => "reconstruct",
            Stage::Xor => "xor",
            Stage::PreRead => "pre_read",
            Stage::Write => "write",
            Stage::Flush => "flush",
            Stage::Stripe => "stripe",
            Stage::Cache => "cache",
        }
    }
}

/// Nanoseconds by stage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stages([u64; STAGES]);

impl Stages {
    /// So much more for a stage.
    #[inline]
    pub fn add(&mut self, stage: Stage, time: Duration) {
        self.0[stage as usize] += time.as_ns();
    }

    /// The time spent in a stage.
    #[inline]
    pub fn get(&self, stage: Stage) -> Duration {
        Duration::from_ns(self.0[stage as usize])
    }

    /// All stages together.
    #[inline]
    pub fn total(&self) -> Duration {
        Duration::from_ns(self.0.iter().sum())
    }
}

impl AddAssign for Stages {
    #[inline]
    fn add_assign(&mut self, other: Stages) {
        for (sum, part) in self.0.iter_mut().zip(other.0) {
            *sum += part;
        }
    }
}
