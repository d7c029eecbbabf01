//! Why a fit ends without an answer.

use crate::measure::MeasureError;
use crate::run::RunError;
use manx_config::ConfigError;
use std::fmt;

/// Why a fit ends without an answer.
#[derive(Debug)]
pub enum TwinError {
    /// A measurement cannot be used.
    Measure(MeasureError),
    /// The base device, or the scenario made of it, cannot be used.
    Config(ConfigError),
    /// A simulation failed.
    Run(RunError),
    /// The question does not fit the measurements.
    Asked(String),
}

impl fmt::Display for TwinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Measure(error) => error.fmt(f),
            Self::Config(error) => error.fmt(f),
            Self::Run(error) => error.fmt(f),
            Self::Asked(message) => f.write_str(message),
        }
    }
}

impl std::error::Error for TwinError {}

impl From<MeasureError> for TwinError {
    fn from(error: MeasureError) -> Self {
        Self::Measure(error)
    }
}

impl From<ConfigError> for TwinError {
    fn from(error: ConfigError) -> Self {
        Self::Config(error)
    }
}

impl From<RunError> for TwinError {
    fn from(error: RunError) -> Self {
        Self::Run(error)
    }
}
