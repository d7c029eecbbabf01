//! Reasons why a run ends without a result.

use manx_config::ConfigError;
use manx_core::ftl::timeless::Full;
use manx_core::host::Causes;
use manx_core::host::act::ActError;
use manx_core::host::generate::GenerateError;
use manx_trace::TraceError;
use std::fmt;

/// Why a run cannot begin, or go on. All but `Write` are the input's fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunError {
    /// A trace cannot be read or does not fit.
    Trace(TraceError),
    /// A job's settings cannot be honoured.
    Generate(GenerateError),
    /// The drive cannot hold what preconditioning writes.
    Full(Full),
    /// The settings of an ACT load cannot be honoured.
    Act(ActError),
    /// A knob cannot be solved, or its experiment cannot be played.
    Config(ConfigError),
    /// The log of an ACT load cannot be made.
    ActLog(String),
    /// A file beside the result cannot be made.
    Beside(String),
    /// A file that the run writes as it goes cannot be written any more: not the input's fault.
    Write(String),
    /// Other machines that were to run it are not to be had: not the input's fault.
    Elsewhere(String),
    /// The model contradicts itself: not the input's fault.
    Model(String),
    /// The machine has not the memory that the run needs.
    Memory(String),
    /// A trace whose devices have a drive each is not the only job, but one of so many.
    NotAlone(usize),
}

impl RunError {
    /// An error where the parts of some request do not add up to its latency.
    pub(super) fn of_causes(causes: &Causes) -> Result<(), Self> {
        let Some(slow) = &causes.unbalanced else { return Ok(()) };
        Err(Self::Model(format!(
            "the parts of a latency do not add up to it: {:?}, split into {:?}. This is a defect \
             of the model; without attribution (measure.attribution = false) the run has no parts",
            slow.record, slow.split
        )))
    }
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Trace(error) => error.fmt(f),
            Self::Generate(error) => error.fmt(f),
            Self::Full(error) => error.fmt(f),
            Self::Act(error) => error.fmt(f),
            Self::Config(error) => error.fmt(f),
            Self::ActLog(error)
            | Self::Beside(error)
            | Self::Write(error)
            | Self::Elsewhere(error)
            | Self::Model(error)
            | Self::Memory(error) => f.write_str(error),
            Self::NotAlone(jobs) => write!(
                f,
                "workload.jobs: trace.layout = \"separate\" gives each device of the trace a drive \
                 of its own, so the trace must be the only job, not one of {jobs}; \
                 \"concat\" and \"overlay\" share one drive"
            ),
        }
    }
}

impl std::error::Error for RunError {}

impl From<ConfigError> for RunError {
    fn from(error: ConfigError) -> Self {
        Self::Config(error)
    }
}

impl From<TraceError> for RunError {
    fn from(error: TraceError) -> Self {
        Self::Trace(error)
    }
}

impl From<ActError> for RunError {
    fn from(error: ActError) -> Self {
        Self::Act(error)
    }
}

impl From<GenerateError> for RunError {
    fn from(error: GenerateError) -> Self {
        Self::Generate(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use manx_core::drive::{Op, Status};
    use manx_core::host::{Record, Slow};
    use manx_core::units::{Cause, Duration, Instant, Lba, Split};

    #[test]
    fn parts_that_do_not_add_up_end_a_run_without_a_result() {
        let mut split = Split::NONE;
        split.add(Cause::Service, Duration::from_us(5));
        let record = Record {
            at: Instant::START,
            latency: Duration::from_us(7),
            op: Op::Read,
            lba: Lba(8),
            sectors: 8,
            job: 0,
            status: Status::Success,
            gc_blocked: false,
            counted: true,
        };
        let slow = Slow { record, split, story: None, steps: Vec::new() };
        let mut causes = Causes::default();
        assert_eq!(RunError::of_causes(&causes), Ok(()));
        causes.unbalanced = Some(Box::new(slow));
        let error = RunError::of_causes(&causes).expect_err("7 us are not 5").to_string();
        assert!(error.contains("Lba(8)") && error.contains("measure.attribution"), "{error}");
    }
}
