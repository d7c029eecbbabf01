//! A device table: geometry and timing of the flash and of the drive around it, as `devices/*.toml`
//! writes them.

use super::SlcTiming;
use crate::units::{Bandwidth, Bytes, Duration, over_provisioning, share_schema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A flash device as data. Every number has an entry in `source` (its dotted key, or a prefix of
/// it).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Device {
    /// The name of the table.
    pub name: String,
    /// One line: what this device is.
    #[serde(default)]
    pub summary: String,
    /// How many of everything there are.
    pub geometry: Geometry,
    /// Features of the dies beyond one page at a time.
    #[serde(default)]
    pub feature: Features,
    /// How long the array operations take.
    pub timing: ArrayTiming,
    /// Blocks used with one bit a cell (pseudo-SLC), where they can be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slc: Option<SlcTiming>,
    /// The bus between the controller and the dies.
    pub channel: ChannelTiming,
    /// Over-provisioning: the share of the raw capacity that the host does not see, 0 to below 1;
    /// or a percentage as text, "7%" (spare over user capacity, as data sheets say) or "6.5% of
    /// raw".
    #[serde(deserialize_with = "over_provisioning")]
    #[schemars(schema_with = "share_schema")]
    pub op: f64,
    /// Rated program/erase cycles of a block; 0: not stated.
    #[serde(default, skip_serializing_if = "is_unstated")]
    pub endurance: u32,
    /// Where each number comes from: dotted key (or its prefix) to source.
    #[serde(default)]
    pub source: BTreeMap<String, String>,
}

/// How many channels, dies, planes, blocks and pages there are, and how large a page is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Geometry {
    /// Channels.
    pub channels: u32,
    /// Chips (targets) on each channel.
    pub ways: u32,
    /// Dies in each chip.
    pub dies: u32,
    /// Planes in each die.
    pub planes: u32,
    /// Blocks in each plane.
    pub blocks: u32,
    /// Pages in each block.
    pub pages: u32,
    /// Bytes in a page of one plane.
    pub page: Bytes,
    /// Bytes that one mapping entry covers: a page, a part of one, or several planes' pages
    /// together.
    pub map_unit: Bytes,
}

/// Options of a die. The defaults are the plainest die: one page at a time, registers without a
/// cache.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Features {
    /// Planes that one program (and erase) always covers together; 1 means each plane alone.
    pub program_planes: u32,
    /// Pages of one word line that are programmed in one shot (3 for one-shot TLC).
    pub program_pages: u32,
    /// Cache program: the next page crosses the channel while the array still programs.
    pub cache_program: bool,
    /// Cache read: the array reads the next page while the last one still crosses the channel.
    pub cache_read: bool,
    /// Planes of a die work independently of each other (otherwise a die does one array operation
    /// at a time).
    pub independent_planes: bool,
    /// The order in which the pages of a block are programmed.
    #[serde(skip_serializing_if = "PageOrder::is_word_line")]
    pub page_order: PageOrder,
}

/// The order of the pages of a block: which page type each row has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PageOrder {
    /// A word line after the other, its page types in turn.
    #[default]
    WordLine,
    /// Page types of neighbouring word lines in turn, so that an upper page comes after the lower
    /// page of the next word line (Park et al., JSSC 2008): L0, L1 U0, L2 U1, .. with two types,
    /// L0, L1 M0, L2 M1 U0, .. with three.
    Paired,
}

impl PageOrder {
    fn is_word_line(&self) -> bool {
        *self == Self::WordLine
    }
}

impl Default for Features {
    fn default() -> Self {
        Self {
            program_planes: 1,
            program_pages: 1,
            cache_program: false,
            cache_read: false,
            independent_planes: false,
            page_order: PageOrder::WordLine,
        }
    }
}

/// Times of the array operations. A list gives one time for each page type (lower, middle, upper),
/// repeating over a block.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArrayTiming {
    /// tR for each page type.
    pub read: Vec<Duration>,
    /// tPROG for each page type (with one-shot programming: one time, for the whole word line).
    pub program: Vec<Duration>,
    /// The coarse pass of a word line that is programmed in two (foggy-fine): its data crosses
    /// twice, and `program` is the fine pass. 0: one pass.
    #[serde(default, skip_serializing_if = "is_none")]
    pub foggy: Duration,
    /// One erase step (ramp, pulse, recovery, verify).
    pub erase_step: Duration,
    /// Steps in an erase: tBERS is `erase_step` x `erase_steps`.
    pub erase_steps: u32,
}

fn is_unstated(cycles: &u32) -> bool {
    *cycles == 0
}

fn is_none(time: &Duration) -> bool {
    time.is_zero()
}

/// Times on a channel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChannelTiming {
    /// Data rate in both directions.
    pub rate: Bandwidth,
    /// Command and address cycles of a read or a program.
    pub command: Duration,
    /// Command and address cycles of an erase.
    pub erase_command: Duration,
    /// The command that suspends an erase or a program, and the one that resumes it. 0: neither
    /// takes the channel, nor time.
    #[serde(default, skip_serializing_if = "is_none")]
    pub suspend_command: Duration,
}
