//! A scenario: everything that determines a run.

use crate::array::ArraySpec;
use crate::drive::{
    DriveConfig, DriveSpec, EraseSpec, PreconditionSpec, ProgramSpec, RainSpec, RecoverySpec,
    ScrubSpec,
};
use crate::flash::{AgeingSpec, Capacity, Device, FaultSpec, RetrySpec};
use crate::ftl::{FtlSpec, GcSpec};
use crate::host::{HostSpec, WorkloadSpec};
use crate::units::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Everything that determines a run, with the device table and a policy already merged in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// The scenario's name.
    pub name: String,
    /// One line: what it shows.
    #[serde(default)]
    pub summary: String,
    /// The root seed of every random stream.
    #[serde(default = "default_seed")]
    #[schemars(range(max = 9_223_372_036_854_775_807_u64))]
    pub seed: u64,
    /// The policies that `compare` runs, the first being the baseline.
    #[serde(default = "default_policies")]
    pub policies: Vec<String>,
    /// The device: in a file, `name` picks a table of the library and the other keys override it.
    pub device: Device,
    /// Placement.
    #[serde(default)]
    pub ftl: FtlSpec,
    /// Reclaiming.
    #[serde(default)]
    pub gc: GcSpec,
    /// Parity inside the drive.
    #[serde(default)]
    pub rain: RainSpec,
    /// How reads suspend an erase.
    #[serde(default)]
    pub erase: EraseSpec,
    /// How reads suspend a program.
    #[serde(default)]
    pub program: ProgramSpec,
    /// Bit errors and scrubbing.
    #[serde(default)]
    pub scrub: ScrubSpec,
    /// Reads that do not decode at once.
    #[serde(default)]
    pub retry: RetrySpec,
    /// The age of the flash, which the reads of `[retry]` meet.
    #[serde(default)]
    pub ageing: AgeingSpec,
    /// Bad blocks: factory bad ones, and programs and erases that fail.
    #[serde(default)]
    pub faults: FaultSpec,
    /// The drive around the flash.
    #[serde(default)]
    pub drive: DriveSpec,
    /// Metadata that a drive keeps to recover from a power loss, and when there is one.
    #[serde(default)]
    pub recovery: RecoverySpec,
    /// The array, where there are several drives.
    #[serde(default)]
    pub array: ArraySpec,
    /// The state of the drive at the start.
    #[serde(default)]
    pub precondition: PreconditionSpec,
    /// The requests of the host.
    pub workload: WorkloadSpec,
    /// The host's driver, when a request waits too long.
    #[serde(default, skip_serializing_if = "HostSpec::is_default")]
    pub host: HostSpec,
    /// The measured part of the run.
    #[serde(default)]
    pub measure: MeasureSpec,
}

impl Scenario {
    /// Names of the parts that the program brought along: what they do is in no text.
    pub fn brought(&self) -> impl Iterator<Item = &str> {
        self.brought_to_drives().chain(self.array.brought.name())
    }

    /// Those of them that are in each drive, and so in its preconditioned state.
    pub fn brought_to_drives(&self) -> impl Iterator<Item = &str> {
        let Self { gc, ftl, .. } = self;
        [gc.brought.name(), gc.onset.name(), ftl.brought.name()].into_iter().flatten()
    }

    /// Every setting of one drive.
    pub fn drive_config(&self) -> DriveConfig {
        let Self {
            device,
            ftl,
            gc,
            drive,
            rain,
            erase,
            program,
            scrub,
            retry,
            ageing,
            faults,
            recovery,
            seed,
            ..
        } = self.clone();
        DriveConfig {
            device,
            ftl,
            gc,
            drive,
            rain,
            erase,
            program,
            scrub,
            retry,
            ageing,
            faults,
            recovery,
            seed,
        }
    }

    /// The capacities of the drive: those of its device, less what parity takes.
    pub fn capacity(&self) -> Capacity {
        Capacity::of(&self.device).behind_parity(self.rain.width)
    }
}

/// The measured part of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MeasureSpec {
    /// Warm-up: requests that arrive before this time are issued but not counted.
    pub warmup: Duration,
    /// Warm-up: so many first requests are issued but not counted.
    pub warmup_requests: u64,
    /// Split every latency into what it was spent on; a run takes 1.4 to 1.9 times as long.
    pub attribution: bool,
    /// A request that waits longer than this ends the run as starved, or makes the host reset the
    /// drive (`host.on_timeout`); 0s: never.
    pub timeout: Duration,
}

impl Default for MeasureSpec {
    fn default() -> Self {
        let (warmup, timeout) = (Duration::ZERO, Duration::from_s(30));
        Self { warmup, warmup_requests: 0, attribution: false, timeout }
    }
}

fn default_seed() -> u64 {
    1
}

fn default_policies() -> Vec<String> {
    ["nogc", "base", "preemptive"].map(String::from).to_vec()
}
