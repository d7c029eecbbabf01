//! The settings of an array.

use super::Strategy;
use super::layout::RaidLevel;
use crate::sim::External;
use crate::units::{Bytes, Duration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How an array reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReadStrategy {
    /// Every page from its own member, whatever the wait.
    #[default]
    Direct,
    /// The whole stripe is asked at once; what comes first counts.
    Proactive,
    /// As `direct`; after a while the rest of the stripe is asked too, and what comes first counts.
    Hedged,
    /// Reads may fail fast and are computed from the rest then; of two that fail one is drawn.
    Iod1,
    /// As `iod1`; of two that fail the one that would take longest is computed.
    Iod2,
    /// Members collect in windows, and the one whose turn it is is never read.
    Iod3,
    /// `iod2` over members that collect in windows.
    Ioda,
    /// As `ioda`; the windows are long while little is written and short in bursts.
    IodaAdaptive,
    /// All members collect in the same window.
    Harmonia,
    /// Writes wait in memory for a member's turn to be written; reads go to the others.
    Rails,
    /// A read that would wait too long, as far as the host can predict, is computed from the rest.
    Mittos,
    /// The host itself sends one member after the other into its non-deterministic window and does
    /// not read it then.
    PlmRotation,
}

/// An array of drives.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ArraySpec {
    /// Drives, N; 1 is a drive alone.
    pub members: u32,
    /// How data is kept on them.
    pub level: RaidLevel,
    /// `ec`: parities in a row, r.
    #[serde(skip_serializing_if = "is_usual")]
    pub parities: u32,
    /// Reads of other members beyond those that a reconstructed page needs: of all that were asked
    /// those count that come first (late binding).
    #[serde(skip_serializing_if = "is_none")]
    pub extra_reads: u32,
    /// Consecutive bytes on one member.
    pub chunk: Bytes,
    /// How it reads.
    pub strategy: ReadStrategy,
    /// A strategy of the program's own in its place.
    #[serde(skip)]
    pub brought: External<dyn Strategy>,
    /// The length of a member's busy window, where members collect in windows (TW).
    pub window: Duration,
    /// The distance that a step of a GC run keeps from the end of its window.
    pub guard: Duration,
    /// `ioda-adaptive`: the window while little is written; 0s: four times `window`.
    pub window_norm: Duration,
    /// `hedged`: how long a read waits alone; 0s: as long as 95 of 100 reads take.
    pub hedge_after: Duration,
    /// `mittos`: a read that is predicted to take longer is computed from the rest.
    pub slo: Duration,
    /// Protected memory for writes: they complete in it; 0B: they complete when the members have
    /// them.
    pub cache: Bytes,
    /// Rows that are written out of the cache at a time.
    pub destage_depth: u32,
    /// Time to compute a page from the rest of its row.
    pub xor: Duration,
    /// The member that fails; none if it is not among the members.
    pub fail_member: u32,
    /// When it fails; 0s: it never does.
    pub fail_at: Duration,
    /// When an empty drive takes its place, counted from the failure; 0s: none does.
    pub replace_after: Duration,
    /// Rows that are rebuilt at a time.
    pub rebuild_depth: u32,
}

/// Parities of a code that says nothing else.
const PARITIES: u32 = 3;

fn is_usual(parities: &u32) -> bool {
    *parities == PARITIES
}

fn is_none(reads: &u32) -> bool {
    *reads == 0
}

impl Default for ArraySpec {
    fn default() -> Self {
        Self {
            members: 1,
            level: RaidLevel::Raid5,
            parities: PARITIES,
            extra_reads: 0,
            chunk: Bytes::kib(4),
            strategy: ReadStrategy::Direct,
            brought: External::default(),
            window: Duration::from_ms(100),
            guard: Duration::ZERO,
            window_norm: Duration::ZERO,
            hedge_after: Duration::ZERO,
            slo: Duration::from_us(1_500),
            cache: Bytes::default(),
            destage_depth: 32,
            xor: Duration::ZERO,
            fail_member: 0,
            fail_at: Duration::ZERO,
            replace_after: Duration::ZERO,
            rebuild_depth: 4,
        }
    }
}

impl ArraySpec {
    /// True when there is more than a drive.
    pub fn is_on(&self) -> bool {
        self.members > 1
    }

    /// Bytes that the host sees of members with `user` bytes each.
    pub fn user_bytes(&self, user: Bytes) -> Bytes {
        if !self.is_on() {
            return user;
        }
        let data = self.members - self.level.parities(self.members, self.parities);
        Bytes::new(user.get() / self.chunk.get() * self.chunk.get() * u64::from(data))
    }
}
