//! The state of a drive when a measurement began.

use std::fmt;
use std::str::FromStr;

/// How much of a drive had been written when it was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DriveState {
    /// Formatted: nothing, or next to nothing.
    Fresh,
    /// Every block once.
    Filled,
    /// Filled, then overwritten so many times at random.
    Overwritten(u32),
}

impl FromStr for DriveState {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let times = |text: &str| text.parse().ok().filter(|times| (1..=1000).contains(times));
        match text {
            "fresh" => Some(Self::Fresh),
            "filled" => Some(Self::Filled),
            "overwritten" => Some(Self::Overwritten(1)),
            other => other.strip_prefix("overwritten:").and_then(times).map(Self::Overwritten),
        }
        .ok_or_else(|| {
            format!(
                "\"{text}\" is no state of a drive: fresh, filled, overwritten or overwritten:N \
                 (1 to 1000 times)"
            )
        })
    }
}

impl fmt::Display for DriveState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fresh => f.write_str("fresh"),
            Self::Filled => f.write_str("filled"),
            Self::Overwritten(1) => f.write_str("filled, overwritten once"),
            Self::Overwritten(2) => f.write_str("filled, overwritten twice"),
            Self::Overwritten(times) => write!(f, "filled, overwritten {times} times"),
        }
    }
}
