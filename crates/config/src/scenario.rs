//! A scenario: everything that determines a run.

use manx_core::array::ArraySpec;
use manx_core::drive::{
    DriveConfig, DriveSpec, EraseSpec, PreconditionSpec, ProgramSpec, RainSpec, RecoverySpec,
    ScrubSpec,
};
use manx_core::flash::{AgeingSpec, Capacity, Device, FaultSpec, RetrySpec};
use manx_core::ftl::{FtlSpec, GcSpec};
use manx_core::host::{HostSpec, WorkloadSpec};
use manx_core::units::Duration;
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

    /// Every setting of one drive, of which [`DriveConfig::build`] makes it. The map comes first,
    /// since preconditioning writes to it without a drive:
    ///
    /// ```
    /// use manx_config::{Input, Override, Source, load};
    /// use manx_core::drive::precondition::precondition;
    /// use manx_core::drive::{Command, Op};
    /// use manx_core::units::{Instant, Lba};
    ///
    /// let text = r#"
    /// name = "mine"
    /// [device]
    /// name = "femu"
    /// geometry = { channels = 2, ways = 2, blocks = 32 }
    /// op = 0.25
    /// [gc]
    /// soft = 0.1
    /// hard = 0.05
    /// [workload]  # a scenario has a load, and its bound; the drive does without
    /// requests = 1
    /// "#;
    /// let file = Source { file: "mine.toml".into(), text: text.into() };
    /// let policy = Some("preemptive");
    /// let input = Input { scenario: &file, device: None, policy, overrides: &[] };
    /// let scenario = load(&input).expect("settings that validation accepts");
    ///
    /// let config = scenario.drive_config();
    /// let mut map = config.empty_map();
    /// precondition(&mut map, &scenario.precondition, config.seed, None, &mut |_| true)
    ///     .expect("the drive has room");
    /// let mut drive = config.build(map, false);
    ///
    /// drive.submit(Instant::START, Command::new(7, Op::Read, Lba(0), 8));
    /// let completion = drive.advance_before(Instant::NEVER).expect("the read ends");
    /// assert_eq!((completion.id.0, completion.at > Instant::START), (7, true));
    /// ```
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
