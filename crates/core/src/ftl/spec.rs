//! The settings of a flash translation layer and of its garbage collection, as a scenario writes
//! them.

use super::log::LogSpec;
use super::pslc::PslcSpec;
use super::victim::Chooser;
use super::{MapSpec, Onset, Sorter, Watermark};
use crate::sim::External;
use crate::units::{Duration, share, share_schema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How logical pages are placed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FtlSpec {
    /// The family: what is mapped, and so how space is reclaimed.
    pub kind: FtlKind,
    /// `log-block` only: which of them, and how it works.
    pub log: LogSpec,
    /// The way in which the lane (die, plane group) of a write is chosen.
    pub allocation: Allocation,
    /// The order in which consecutive stripe units visit the dimensions, fastest first; each
    /// exactly once.
    pub order: [Dimension; 4],
    /// How much goes to one lane before the next one.
    pub stripe: Stripe,
    /// Which free block is opened next.
    pub free_block: FreeBlock,
    /// Whether copies of garbage collection have open blocks of their own.
    pub frontiers: Frontiers,
    /// Static wear levelling: when a block's erase count is this far below the largest, its data
    /// moves; 0 is off.
    pub static_wear_gap: u32,
    /// How much of the map DRAM holds.
    pub map: MapSpec,
    /// Which data share a block: each class of pages has open blocks of its own.
    pub placement: DataPlacement,
    /// `stream`: a rule of the program's own in place of the host's hints.
    #[serde(skip)]
    pub brought: External<dyn Sorter>,
    /// `dac`: regions, from cold to hot.
    pub dac_regions: u32,
    /// `dac`: a page rises when it was written last so long ago or less, and sinks when longer ago;
    /// in writes of the host, as a multiple of the user capacity. 0: always.
    pub dac_age: f64,
    /// `stream`: how many streams (placement handles) the drive keeps apart.
    pub streams: u32,
    /// `stream`: whether copies of garbage collection keep to their stream.
    pub stream_copies: StreamCopies,
    /// `pslc`: the cache of blocks with one bit a cell.
    #[serde(skip_serializing_if = "PslcSpec::is_default")]
    pub pslc: PslcSpec,
}

impl Default for FtlSpec {
    fn default() -> Self {
        Self {
            kind: FtlKind::Page,
            log: LogSpec::default(),
            allocation: Allocation::Static,
            order: [Dimension::Channel, Dimension::Way, Dimension::Die, Dimension::Plane],
            stripe: Stripe::MapUnit,
            free_block: FreeBlock::LeastWorn,
            frontiers: Frontiers::Separate,
            static_wear_gap: 0,
            map: MapSpec::default(),
            placement: DataPlacement::None,
            brought: External::default(),
            dac_regions: 4,
            dac_age: 0.0,
            streams: 4,
            stream_copies: StreamCopies::Own,
            pslc: PslcSpec::default(),
        }
    }
}

/// A family of translation layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FtlKind {
    /// Every mapping unit anywhere; garbage collection copies what is valid in a victim.
    Page,
    /// Data blocks hold each page in its place, log blocks take what is written again, merges bring
    /// both together.
    LogBlock,
}

/// Which data share a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DataPlacement {
    /// All data of the host; what `frontiers` says of copies.
    None,
    /// Pages rise a region when the host writes them again and sink one when they are copied
    /// (Chiang et al., SP&E '99).
    Dac,
    /// By the inferred time of their invalidation, in six classes (Wang et al., FAST '22).
    Sepbit,
    /// A page that is still valid when its block is reclaimed is cold and stays apart (Kang et al.,
    /// VLDB '20).
    #[serde(rename = "2r")]
    TwoRegions,
    /// The same, after a second chance among the others (An and Lee, 2022).
    #[serde(rename = "2r-second-chance")]
    TwoRegionsSecondChance,
    /// By the host's hint: NVMe streams, or the placement handles of FDP.
    Stream,
    /// The host's data goes to blocks with one bit a cell while there are any, and is folded into
    /// the others later (`ftl.pslc`).
    Pslc,
}

impl DataPlacement {
    /// How it is named in scenarios.
    pub const fn name(self) -> &'static str {
        match self {
            DataPlacement::None => "none",
            DataPlacement::Dac => "dac",
            DataPlacement::Sepbit => "sepbit",
            DataPlacement::TwoRegions => "2r",
            DataPlacement::TwoRegionsSecondChance => "2r-second-chance",
            DataPlacement::Stream => "stream",
            DataPlacement::Pslc => "pslc",
        }
    }
}

/// Where copies of the data of a stream go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StreamCopies {
    /// To blocks of their stream (FDP: persistently isolated).
    Own,
    /// To blocks that all streams share (FDP: initially isolated).
    Shared,
}

/// The ways in which the lane of a write is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Allocation {
    /// The logical address does (striping): an address always lives on the same lane.
    Static,
    /// The drive does: round robin over the lanes, passing over those that cannot take a write now.
    Dynamic,
    /// The drive does: strictly one stripe unit to each lane in turn, whatever the lane is doing.
    RoundRobin,
}

/// A dimension of the lanes.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Dimension {
    /// The channel.
    Channel,
    /// The chip on its channel.
    Way,
    /// The die in its chip.
    Die,
    /// The plane (or group of planes programmed together) in its die.
    Plane,
}

/// How much goes to one lane before the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Stripe {
    /// One mapping unit.
    MapUnit,
    /// One program unit (planes x word line).
    ProgramUnit,
}

/// Which free block is opened next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FreeBlock {
    /// The one with the fewest erases (dynamic wear levelling); the lowest number breaks ties.
    LeastWorn,
    /// The one freed first.
    Fifo,
}

/// The sharing of open blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Frontiers {
    /// The host's data and the copies of garbage collection each have their own: what is cold stays
    /// together.
    Separate,
    /// Both are written to the same one: each GC run gives the host what its victim held of stale
    /// pages.
    Shared,
}

/// How space is reclaimed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct GcSpec {
    /// The resource that a GC run blocks.
    pub mode: GcMode,
    /// When a GC run may start.
    pub when: GcWhen,
    /// How the victim is chosen.
    pub victim: Victim,
    /// A victim policy of the program's own in its place.
    #[serde(skip)]
    pub brought: External<dyn Chooser>,
    /// In place of `soft`: a rule of the program's own.
    #[serde(skip)]
    pub onset: External<dyn Onset>,
    /// The blocks that are reclaimed at once.
    pub unit: VictimUnit,
    /// Collect when the free share of a reclaim pool (free pages / raw pages) falls below this, or
    /// its erased blocks ("3 blocks") do.
    #[schemars(schema_with = "share_schema")]
    pub soft: Watermark,
    /// At or below this free share, or so many erased blocks, GC goes before the host's requests,
    /// whatever `when` says.
    #[schemars(schema_with = "share_schema")]
    pub hard: Watermark,
    /// With only the reserve left: collect when at most this share of the host's last block is
    /// left.
    #[serde(deserialize_with = "share")]
    #[schemars(schema_with = "share_schema")]
    pub last_block_soft: f64,
    /// Likewise: GC goes before the host's requests; above the soft share it is that one.
    #[serde(deserialize_with = "share")]
    #[schemars(schema_with = "share_schema")]
    pub last_block_hard: f64,
    /// `preemptive` only: waiting reads go before a GC run even at or below `hard` (Kim et al., ATC
    /// '19).
    pub reads_first: bool,
    /// `preemptive` only: whether copies wait for the host's writes.
    pub pace: Pace,
    /// Copies stay inside the plane: read and program without crossing the channel.
    pub copyback: bool,
    /// Window of `windowed-greedy`: the oldest blocks that are looked at.
    pub window: u32,
    /// Candidates of `d-choices`.
    pub choices: u32,
    /// `plane-blocking`: GC runs of a channel that may copy at once; 0 is any number.
    pub per_channel: u32,
    /// `plane-blocking`: a GC run's commands cut the host's transfers at the next sector.
    pub cut_transfers: bool,
    /// `plane-blocking`: whether the planes of a group (a RAIN stripe's, or one of each channel)
    /// collect in turn.
    pub rotate: Rotate,
    /// A plane that is erased for its GC run keeps the others of its group waiting too.
    pub rotate_erases: bool,
    /// `static`: a plane at or below `hard` waits for its turn as well.
    pub rotate_urgent: bool,
    /// `dynamic`: over so long the rate of writes is measured.
    pub rotate_window: Duration,
    /// `dynamic`: by this share the rate must lie below the sustainable one before planes take
    /// turns again.
    pub rotate_hysteresis: f64,
}

impl Default for GcSpec {
    fn default() -> Self {
        Self {
            mode: GcMode::Base,
            when: GcWhen::Background,
            victim: Victim::Greedy,
            brought: External::default(),
            onset: External::default(),
            unit: VictimUnit::Block,
            soft: Watermark::Share(0.05),
            hard: Watermark::Share(0.02),
            last_block_soft: 1.0,
            last_block_hard: 1.0,
            reads_first: false,
            pace: Pace::Off,
            copyback: false,
            window: 32,
            choices: 10,
            per_channel: 1,
            cut_transfers: true,
            rotate: Rotate::Off,
            rotate_erases: true,
            rotate_urgent: false,
            rotate_window: Duration::from_s(1),
            rotate_hysteresis: 0.1,
        }
    }
}

/// The resources that GC runs block (reference: ttFlash section 3; Lee et al. for the preemptive
/// one).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GcMode {
    /// Nothing and it takes no time: a baseline that no drive can have.
    Nogc,
    /// Its channel, for the whole copy; then only its die, for the erase (Base of ttFlash).
    Base,
    /// The whole drive, for the whole copy; then only its die, for the erase.
    Controller,
    /// One flash operation at a time: host requests go first between page operations, except at or
    /// below `hard`.
    Preemptive,
    /// One flash operation at a time: host requests go first while no write waits on the channel,
    /// except at or below `hard`; one victim a channel.
    ChannelPreemptive,
    /// Its die, from the first copy to the end of the erase; copies stay inside the plane (PB of
    /// ttFlash).
    PlaneBlocking,
}

#[cfg(test)]
impl GcMode {
    /// Every mode.
    pub(crate) const ALL: [Self; 6] = [
        Self::Nogc,
        Self::Base,
        Self::Controller,
        Self::Preemptive,
        Self::ChannelPreemptive,
        Self::PlaneBlocking,
    ];
}

/// Whether the planes of a group collect in turn (ttFlash, FAST '17, section 4.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Rotate {
    /// They collect when they want.
    Off,
    /// Always.
    Static,
    /// While GC runs keep up with the writes.
    Dynamic,
}

/// The pace of copies between the low and the critical watermark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Pace {
    /// They go as soon as their dies are free.
    Off,
    /// They advance in proportion to the host's writes.
    Writes,
}

/// When a GC run may start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GcWhen {
    /// When no host request waits for what it would block, or at or below `hard`.
    Background,
    /// As soon as the free share falls below `soft`, before waiting host requests.
    Foreground,
}

/// How the victim is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Victim {
    /// The fewest valid pages.
    Greedy,
    /// The largest age x (1 - u) / 2u (Kawaguchi et al., USENIX 1995); age is writes since the
    /// block last changed.
    CostBenefit,
    /// The block closed first.
    Fifo,
    /// The fewest valid pages among the `window` blocks closed first.
    WindowedGreedy,
    /// The fewest valid pages among `choices` drawn at random.
    DChoices,
    /// Any of which a page is stale, uniformly: greedy's where the one that is drawn is full.
    Random,
    /// Any, uniformly, a full one too, which is copied whole and frees nothing.
    Uniform,
}

/// The blocks of a victim, which are reclaimed at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum VictimUnit {
    /// One block of one lane.
    Block,
    /// The blocks of one number in every plane of a die.
    PlaneGroup,
    /// The blocks of one number in every lane of the drive (a line, a superblock).
    Superblock,
}
