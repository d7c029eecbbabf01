//! Electric power.

use super::quantity::{self, QuantityError, text_quantity};
use std::fmt;

/// A power in whole milliwatts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Power(u64);

impl Power {
    /// A power of `milliwatts` mW.
    #[inline]
    pub const fn milliwatts(milliwatts: u64) -> Self {
        Self(milliwatts)
    }

    /// The power in milliwatts.
    #[inline]
    pub const fn get(self) -> u64 {
        self.0
    }

    fn parse(text: &str) -> Result<Self, QuantityError> {
        const UNITS: &[(&str, u64)] = &[("mW", 1), ("W", 1_000)];
        let expected = "a power: a number and a unit mW or W, in whole milliwatts (\"8.5W\")";
        quantity::parse(text, UNITS, expected).map(Self)
    }
}

text_quantity!(Power, "a power such as \"8.5W\" (mW, W)", "8.5W");

impl fmt::Display for Power {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            watts if watts.is_multiple_of(1_000) => write!(f, "{}W", watts / 1_000),
            milliwatts => write!(f, "{milliwatts}mW"),
        }
    }
}
