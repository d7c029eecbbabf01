//! A mark of garbage collection: free pages as a share of the raw ones, or whole free blocks.
//!
//! A share counts every page that can still be programmed, those of open blocks too: space falls
//! below it page by page, and a victim is due when it does. Blocks count what is wholly erased, as
//! MQSim does: space falls by a block when one is opened, and a pool then collects until it has
//! one more, two or three victims in a row where they hold many valid pages.

use crate::units::percentage;
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// The free space of a reclaim pool at which something begins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Watermark {
    /// Free pages as a share of the raw ones.
    Share(f64),
    /// Erased blocks of each lane.
    Blocks(u32),
}

impl Watermark {
    /// The mark in a lane of so many blocks, as a share of its pages.
    pub fn share_of(self, blocks: u32) -> f64 {
        match self {
            Self::Share(share) => share,
            Self::Blocks(count) => f64::from(count) / f64::from(blocks),
        }
    }

    /// Map units of a pool at the mark; none where blocks count.
    pub(super) fn units(self, pool_units: u32) -> u32 {
        match self {
            Self::Share(share) => (share * f64::from(pool_units)) as u32,
            Self::Blocks(_) => 0,
        }
    }

    /// Erased blocks at the mark, where they count.
    pub(super) fn blocks(self) -> Option<u32> {
        match self {
            Self::Share(_) => None,
            Self::Blocks(count) => Some(count),
        }
    }
}

impl From<f64> for Watermark {
    fn from(share: f64) -> Self {
        Self::Share(share)
    }
}

impl fmt::Display for Watermark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Share(share) => write!(f, "{share}"),
            Self::Blocks(1) => f.write_str("1 block"),
            Self::Blocks(count) => write!(f, "{count} blocks"),
        }
    }
}

impl Serialize for Watermark {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Share(share) => serializer.serialize_f64(*share),
            Self::Blocks(_) => serializer.collect_str(self),
        }
    }
}

impl<'de> Deserialize<'de> for Watermark {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Written)
    }
}

const EXPECTED: &str =
    "a number, a percentage such as \"5%\", or a whole number of blocks such as \"3 blocks\"";

struct Written;

impl Visitor<'_> for Written {
    type Value = Watermark;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(EXPECTED)
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Watermark, E> {
        Ok(Watermark::Share(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Watermark, E> {
        Ok(Watermark::Share(value as f64))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Watermark, E> {
        Ok(Watermark::Share(value as f64))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Watermark, E> {
        let count = |word| text.trim().strip_suffix(word)?.trim_end().parse().ok();
        let blocks = count("blocks").or_else(|| count("block")).map(Watermark::Blocks);
        let share = || percentage(text).map(Watermark::Share);
        blocks.or_else(share).ok_or_else(|| E::custom(format!("`{text}` is not {EXPECTED}")))
    }
}
