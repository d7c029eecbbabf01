//! The settings of the drive around the flash: buffer, scheduler, queue, controller, link,
//! preconditioning.

use crate::drive::{FirmwareSpec, PowerSpec};
use crate::flash::{ChannelOrder, ChannelTake};
use crate::units::{Bandwidth, Bytes, Duration, share, share_schema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The drive around the flash.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DriveSpec {
    /// DRAM write buffer.
    pub buffer: Bytes,
    /// Time to serve a page from the buffer, or to take one into it.
    pub buffer_hit: Duration,
    /// Pages are written to flash in the background while more than this share of the buffer is
    /// dirty.
    #[serde(deserialize_with = "share")]
    #[schemars(schema_with = "share_schema")]
    pub flush_above: f64,
    /// Pages are written to flash in the background; otherwise only when a write waits for room in
    /// the buffer.
    pub background_flush: bool,
    /// Without a flush in the background: what a write waits for that finds the buffer full.
    pub full_buffer: FullBuffer,
    /// A write completes when it is on flash, not when it is in the buffer.
    pub write_through: bool,
    /// Power-loss protection: what is in the buffer counts as durable, so FLUSH and FUA cost
    /// nothing more.
    pub power_loss_protection: bool,
    /// Which waiting flash operation a die serves next.
    pub scheduler: Scheduler,
    /// The order in which a channel serves the commands and data that wait for it.
    pub channel_order: ChannelOrder,
    /// When an operation takes its die: as soon as that is free, or with its slot on the channel.
    pub channel_take: ChannelTake,
    /// Commands that the drive works on at once; more wait in their order. 0 is unlimited.
    pub queue_depth: u32,
    /// Controller time of each command (a delay; what commands share is in `firmware`).
    pub controller: Duration,
    /// The controller as a shared resource.
    #[serde(skip_serializing_if = "FirmwareSpec::is_off")]
    pub firmware: FirmwareSpec,
    /// Programs and erases that are under way at once, by their power.
    #[serde(skip_serializing_if = "PowerSpec::is_off")]
    pub power: PowerSpec,
    /// Data rate of the host link, each direction.
    pub link: Bandwidth,
    /// Bytes with which the drive asks for a command: they queue behind data that was read.
    pub link_fetch: Bytes,
    /// Bytes of a command on the link, before the data of a write.
    pub link_command: Bytes,
    /// Bytes of a completion on the link, behind the data of a read.
    pub link_completion: Bytes,
    /// How the busy remaining time of a read that fails fast is found.
    pub brt: BusyRemaining,
    /// Operations of the drive that fail a read fast.
    pub fast_fail: FastFail,
}

impl Default for DriveSpec {
    fn default() -> Self {
        Self {
            buffer: Bytes::kib(64 << 10),
            buffer_hit: Duration::from_us(1),
            flush_above: 0.8,
            background_flush: true,
            full_buffer: FullBuffer::Any,
            write_through: false,
            power_loss_protection: true,
            scheduler: Scheduler::ReadFirst,
            channel_order: ChannelOrder::FirstCome,
            channel_take: ChannelTake::Early,
            queue_depth: 0,
            controller: Duration::ZERO,
            firmware: FirmwareSpec::default(),
            power: PowerSpec::default(),
            link: Bandwidth::default(),
            link_fetch: Bytes::new(0),
            link_command: Bytes::new(0),
            link_completion: Bytes::new(0),
            brt: BusyRemaining::Forecast,
            fast_fail: FastFail::Gc,
        }
    }
}

/// How a drive finds the busy remaining time of a read that fails fast.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BusyRemaining {
    /// As firmware could: from what is under way and what is sure to follow.
    Forecast,
    /// By simulating a copy of the whole drive ahead, to which nothing else comes: what no drive
    /// can do, and slow.
    Exact,
}

/// Operations of the drive that fail a read which must not wait for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FastFail {
    /// Those of garbage collection: also of wear levelling and of refreshed blocks.
    Gc,
    /// Every operation but the reads of the host's reads: also flushes of the write buffer, parity,
    /// the journal and scrubbing.
    Internal,
}

/// Pages that a write waits for when it finds the buffer full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FullBuffer {
    /// Any room, for whichever write it was made.
    Any,
    /// Also for the pages that left on its account, as in the ttFlash authors' code.
    Own,
}

/// Which waiting flash operation a die serves next (garbage collection has rules of its own, see
/// `gc`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Scheduler {
    /// Each die serves waiting reads before waiting programs.
    ReadFirst,
    /// Each die serves its own operations in arrival order, dies overtake each other.
    OutOfOrder,
    /// Strict arrival order over the whole drive: an operation starts only after all before it have
    /// started.
    Fifo,
}

/// How reads suspend an erase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct EraseSpec {
    /// The policy.
    pub mode: EraseMode,
    /// `t-es`: from so long after its issue on an erase is suspended at safe points only.
    pub timeout: Duration,
    /// From the stop of a pulse to the first read (voltage recovery).
    pub suspend: Duration,
    /// `es`: before the rest of a pulse (voltage ramp).
    pub resume: Duration,
    /// `i-es`, `t-es`: before a pulse that begins anew (verify).
    pub verify: Duration,
    /// Reads of garbage collection suspend an erase too.
    pub gc_reads: bool,
    /// Safe points in a step, its end included: an erase that may stop inside a step at multiples
    /// of step / points.
    pub safe_points: u32,
    /// The most suspensions of one erase, which then runs to its end; 0 is any number.
    pub max_suspensions: u32,
    /// An erase that was suspended runs for so long before it may be suspended again.
    pub min_run: Duration,
    /// By this share the raw bit error rate of a block has grown after 1000 erase suspensions that
    /// cost a ramp.
    pub rber_per_1000: f64,
    /// An erase starts only when its die has had no host read for this long, unless space is
    /// urgent; 0 is off.
    pub hold: Duration,
    /// An erase held back for so long starts whatever the reads do.
    pub hold_max: Duration,
    /// Victims of a pool that may be copied before the first of them is erased, while erases are
    /// held back.
    pub hold_victims: u32,
    /// How long an erase takes: the worst case of the device table, or what its block needs.
    pub length: EraseLength,
    /// `adaptive`: the least that a new block needs, as a share of the worst case.
    pub need_least: f64,
    /// `adaptive`: by how much new blocks differ, as such a share.
    pub need_spread: f64,
    /// `adaptive`: erases after which a block needs the worst case, growing linearly; 0 is never.
    pub need_all_at: u32,
    /// `adaptive`: parts of a step in which a pulse is measured.
    pub fractions: u32,
    /// `adaptive`: fractions of the first, shallow pulse, which is followed by `verify`; 0 is none.
    pub shallow: u32,
}

impl Default for EraseSpec {
    fn default() -> Self {
        Self {
            mode: EraseMode::None,
            timeout: Duration::from_ms(64),
            suspend: Duration::from_us(100),
            resume: Duration::from_us(100),
            verify: Duration::from_us(100),
            gc_reads: false,
            safe_points: 1,
            max_suspensions: 0,
            min_run: Duration::ZERO,
            // Kim et al., ATC '19, section 2.1, of sub-20nm TLC, citing a case study.
            rber_per_1000: 0.144,
            hold: Duration::ZERO,
            hold_max: Duration::from_ms(100),
            hold_victims: 4,
            length: EraseLength::Fixed,
            // Assumed: AERO says that most blocks need less than the worst case, and more when
            // worn.
            need_least: 0.4,
            need_spread: 0.4,
            need_all_at: 5000,
            // AERO: a shallow pulse of 1 ms where a step is 3.5 ms.
            fractions: 7,
            shallow: 2,
        }
    }
}

/// How long an erase takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EraseLength {
    /// All steps, always.
    Fixed,
    /// The length that the block needs, as a shallow first pulse tells (Cho et al., AERO, ASPLOS
    /// '24).
    Adaptive,
}

/// Which erases are suspended where (Kim et al., ATC '19, section 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EraseMode {
    /// None: a read waits for the end of the erase.
    None,
    /// Any point, and it costs nothing: a baseline that no drive can have.
    Ideal,
    /// Any point; the rest of the pulse follows later (Wu & He, FAST '12).
    Es,
    /// Any point; the step in progress is given up and begins anew later.
    #[serde(rename = "i-es")]
    IEs,
    /// The end of the step in progress.
    #[serde(rename = "d-es")]
    DEs,
    /// As `i-es` until `timeout` after the erase was issued, then as `d-es`.
    #[serde(rename = "t-es")]
    TEs,
}

impl EraseMode {
    /// Its name in scenarios.
    pub const fn name(self) -> &'static str {
        match self {
            EraseMode::None => "none",
            EraseMode::Ideal => "ideal",
            EraseMode::Es => "es",
            EraseMode::IEs => "i-es",
            EraseMode::DEs => "d-es",
            EraseMode::TEs => "t-es",
        }
    }
}

/// Parity inside the drive (RAIN; ttFlash, FAST '17, section 4.2).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RainSpec {
    /// Members of a stripe, one of which is parity; 0 is no parity.
    pub width: u32,
    /// How the parity of a stripe comes to flash.
    pub update: Update,
    /// Pages that leave the write buffer together.
    pub evict: Evict,
    /// Which pages of user reads are computed from the other members of their stripe.
    pub reconstruct: Reconstruct,
    /// `full` and `cost`: how a stripe is judged.
    pub cost_rule: CostRule,
    /// How the reads of a parity update deal with garbage collection.
    pub update_reads: UpdateReads,
    /// From the last member's arrival to the page: the XOR.
    pub xor: Duration,
    /// Engines of the controller that compute pages; 0 is one for each page.
    pub xor_engines: u32,
}

impl Default for RainSpec {
    fn default() -> Self {
        Self {
            width: 0,
            update: Update::InPlace,
            evict: Evict::Stripe,
            reconstruct: Reconstruct::Never,
            cost_rule: CostRule::Estimate,
            update_reads: UpdateReads::Wait,
            xor: Duration::from_us(10),
            xor_engines: 0,
        }
    }
}

impl RainSpec {
    /// True when reads, or parity updates, look at garbage collection in their way.
    pub fn is_tolerant(&self) -> bool {
        matches!(self.reconstruct, Reconstruct::Full | Reconstruct::Cost)
            || self.update_reads == UpdateReads::Reconstruct
    }
}

/// How the parity of a stripe comes to flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Update {
    /// Stripes of addresses: written pages change their stripe's parity, which is read and
    /// programmed again.
    InPlace,
    /// Stripes of rows in a superblock: parity is programmed once, behind the data, and erased with
    /// it.
    Superblock,
}

/// Pages that leave the write buffer together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Evict {
    /// All dirty pages of the oldest page's stripe.
    Stripe,
    /// The oldest page alone.
    Page,
    /// All dirty pages of the stripe of which a page was written, or read from the buffer, longest
    /// ago (reference: tinyTailFlash, flash.c insert2buffer_modified, whose nodes are stripes).
    StripeLru,
}

/// Which pages of user reads are computed from the other members of their stripe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Reconstruct {
    /// None.
    Never,
    /// Where a request asks for a whole stripe: the page that garbage collection would keep
    /// longest.
    Full,
    /// The same, and of a part of a stripe where that is expected to be faster than to wait (the
    /// paper's rule).
    Cost,
    /// Every one that can be, at most one of a stripe in a request: what parity is worth, tested at
    /// its hardest.
    Always,
}

/// How a stripe of a read is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CostRule {
    /// By the GC runs' times that are left, of the page and of what else would have to be read.
    Estimate,
    /// As if at most one member of a stripe were collected at a time, as rotating garbage
    /// collection sees to: always while the victim is copied, by time while it is erased.
    Rotation,
    /// As rotation in the ttFlash authors' code (tinyTailFlash), where a victim counts as copied
    /// when its last page begins to be programmed, and that program as the erase.
    RotationAsCoded,
}

/// How the reads of a parity update deal with garbage collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum UpdateReads {
    /// They wait for it.
    Wait,
    /// The parity is made the other way round, from other members, where that is expected to be
    /// faster.
    Reconstruct,
}

/// How reads suspend a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ProgramSpec {
    /// The policy.
    pub mode: ProgramMode,
    /// Loops of ISPP in a program, each a pulse and a verify.
    pub loops: u32,
    /// Percent of a loop that its verify takes.
    pub verify_percent: u32,
    /// `ipc`: from the stop of a phase to the first read (voltage recovery).
    pub suspend: Duration,
    /// Before the next phase (the page register gets the program's data back).
    pub resume: Duration,
    /// Reads of garbage collection suspend a program too.
    pub gc_reads: bool,
    /// The most suspensions of one program, which then runs to its end; 0 is any number.
    pub max_suspensions: u32,
    /// A program that was suspended runs for so long before it may be suspended again.
    pub min_run: Duration,
}

impl Default for ProgramSpec {
    fn default() -> Self {
        Self {
            mode: ProgramMode::None,
            loops: 8,
            verify_percent: 40,
            suspend: Duration::from_us(20),
            resume: Duration::from_us(5),
            gc_reads: false,
            max_suspensions: 0,
            min_run: Duration::ZERO,
        }
    }
}

/// Which programs are suspended where (Wu & He, FAST '12, section 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ProgramMode {
    /// None: a read waits for the end of the program.
    None,
    /// Any point, and it costs nothing: a baseline that no drive can have.
    Ideal,
    /// Inter phase suspension: the end of the phase in progress.
    Ips,
    /// Intra phase cancelation: any point; the phase in progress is given up and begins anew later.
    Ipc,
}

impl ProgramMode {
    /// Its name in scenarios.
    pub const fn name(self) -> &'static str {
        match self {
            ProgramMode::None => "none",
            ProgramMode::Ideal => "ideal",
            ProgramMode::Ips => "ips",
            ProgramMode::Ipc => "ipc",
        }
    }
}

/// State of the drive when the run starts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PreconditionSpec {
    /// The kind of state.
    pub state: PreconditionState,
    /// `aged`: share of the raw pages that are used, half of them valid (SSDsim's make_aged).
    #[serde(deserialize_with = "share")]
    #[schemars(schema_with = "share_schema")]
    pub ratio: f64,
    /// `steady`: give up after overwriting the user capacity this many times.
    pub passes_max: u32,
    /// `steady`: settled when the WAF of two windows in a row differs by less than this share.
    #[serde(deserialize_with = "share")]
    #[schemars(schema_with = "share_schema")]
    pub settled_below: f64,
    /// `steady`: the addresses of the overwrites.
    pub overwrite: Overwrite,
}

impl Default for PreconditionSpec {
    fn default() -> Self {
        Self {
            state: PreconditionState::Steady,
            ratio: 0.66,
            passes_max: 8,
            settled_below: 0.01,
            overwrite: Overwrite::Random,
        }
    }
}

/// The kind of state to start from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PreconditionState {
    /// Fresh: nothing written.
    Empty,
    /// The user capacity written once, in order.
    Fill,
    /// Filled, then overwritten until the WAF settles.
    Steady,
    /// SSDsim's ageing: `ratio` of each lane used, half of it valid.
    Aged,
}

/// The addresses that overwrite a filled drive until it is steady.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Overwrite {
    /// Uniformly random pages.
    #[default]
    Random,
    /// The addresses that the workload writes (trace-shaped), in its order.
    Workload,
}
