//! Errors in a job's settings. Every part of the generator validates its own keys with these
//! helpers.

use crate::host::JobSpec;
use std::fmt;

/// A setting that no generator can be built from: nothing of the run has started, and none of it
/// may.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GenerateError {
    /// Index of the job in the workload.
    pub job: usize,
    /// The key of the job, as a scenario writes it.
    pub key: &'static str,
    /// Its value.
    pub value: String,
    /// The allowed values, to follow the words "it must be".
    pub allowed: String,
}

impl fmt::Display for GenerateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { job, key, value, allowed } = self;
        write!(f, "workload.jobs[{job}].{key} is {value}: it must be {allowed}")
    }
}

impl std::error::Error for GenerateError {}

/// The settings of one job, the place where they stand and the device they are for.
#[derive(Clone, Copy)]
pub(super) struct Job<'a> {
    pub(super) spec: &'a JobSpec,
    pub(super) index: usize,
    /// Sectors of the device.
    pub(super) capacity: u64,
}

impl Job<'_> {
    pub(super) fn error(
        &self,
        key: &'static str,
        value: impl ToString,
        allowed: impl ToString,
    ) -> GenerateError {
        GenerateError {
            job: self.index,
            key,
            value: value.to_string(),
            allowed: allowed.to_string(),
        }
    }

    /// `value` if it is a percentage.
    pub(super) fn percent(&self, key: &'static str, value: f64) -> Result<f64, GenerateError> {
        match value {
            0.0..=100.0 => Ok(value),
            _ => Err(self.error(key, value, "a percentage, 0 to 100")),
        }
    }
}
