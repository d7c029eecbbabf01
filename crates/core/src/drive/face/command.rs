//! Commands and completions as they cross the host interface: thin NVMe commands and completions
//! (NVMe Base 2.1, 3.3.3: SQE and CQE).

use crate::units::{Instant, Lba, Op, SECTOR};

/// The predictable-latency flag of a read (IODA: fast-fail instead of waiting for garbage
/// collection).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PredictableLatency {
    /// An ordinary command.
    #[default]
    Off,
    /// May be failed fast.
    On,
    /// Must be served whatever the wait.
    MustWait,
}

crate::id! {
    /// The host's identifier of a command, unique among its commands under way.
    pub CommandId
}

impl From<u32> for CommandId {
    fn from(number: u32) -> Self {
        Self(number)
    }
}

/// A command as the host submits it. `id` is the host's own and comes back in the completion.
#[derive(Clone, Debug)]
pub struct Command {
    /// The host's identifier, unique among its commands under way.
    pub id: CommandId,
    /// The operation.
    pub op: Op,
    /// First sector.
    pub lba: Lba,
    /// Number of sectors; 0 for a flush.
    pub sectors: u32,
    /// Force unit access: complete only when durable.
    pub fua: bool,
    /// Predictable-latency flag.
    pub predictable: PredictableLatency,
    /// Write stream (placement hint).
    pub stream: u8,
    /// The host's queue from which it comes: one for each job.
    pub queue: u16,
    /// Versions that the pages hold, where the run carries content; `None` in a run that only
    /// measures.
    pub payload: Option<Payload>,
}

/// The content of a write, one stamp for each map unit that it touches.
pub type Payload = Box<[Stamp]>;

impl Command {
    /// An ordinary command: no FUA, no predictable-latency flag, stream 0, no content.
    pub fn new(id: impl Into<CommandId>, op: Op, lba: Lba, sectors: u32) -> Self {
        Self {
            id: id.into(),
            op,
            lba,
            sectors,
            fua: false,
            predictable: PredictableLatency::Off,
            stream: 0,
            queue: 0,
            payload: None,
        }
    }

    /// Bytes in the range.
    pub fn bytes(&self) -> u64 {
        u64::from(self.sectors) * SECTOR
    }
}

/// The content of one logical page, as far as correctness needs it: which version of the page it
/// is.
///
/// A partial write also says which version it expects beneath it, so that a read-modify-write that
/// merged into a stale page is caught: the merged page is [`Stamp::TORN`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamp {
    /// The version; 0 is a page never written.
    pub version: u32,
    /// The version beneath a partial write.
    pub beneath: u32,
}

impl Stamp {
    /// A page whose sectors are not all of one history.
    pub const TORN: u32 = u32::MAX;
}

/// How a command ended (NVMe Base 2.1, 4.2.3: status field).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Done.
    Success,
    /// SCT 0h SC 80h: a sector beyond the device.
    LbaOutOfRange,
    /// SCT 0h SC 07h: aborted at the host's request.
    Aborted,
    /// SCT 0h SC 20h: the drive has too few good blocks left and takes no writes any more.
    NamespaceWriteProtected,
    /// SCT 2h SC 81h: bit errors beyond correction, and no parity that helps.
    UnrecoveredRead,
    /// SCT 3h SC 00h (internal path error): an array has lost too many members, and nobody was
    /// asked.
    MembersLost,
    /// SCT 7h (vendor) SC 01h: a read with [`PredictableLatency::On`] would have waited for garbage
    /// collection and was failed fast; the completion's result is the busy remaining time.
    PredictableLatencyNotMet,
}

impl Status {
    /// False where the request was turned away: how long that took is no latency.
    #[inline]
    pub fn is_served(self) -> bool {
        !matches!(self, Status::NamespaceWriteProtected | Status::MembersLost)
    }
}

/// A completion.
#[derive(Clone, Debug)]
pub struct Completion {
    /// The command's identifier.
    pub id: CommandId,
    /// When it reached the host.
    pub at: Instant,
    /// How it ended.
    pub status: Status,
    /// Do not retry.
    pub dnr: bool,
    /// Command-specific result (DW0 and DW1): busy remaining time in ns with a fast-fail.
    pub result64: u64,
    /// Some garbage collection lay in the command's wait (any nanosecond of it).
    pub gc_blocked: bool,
    /// Some garbage collection held a target of the command when it was split (the ttFlash code's
    /// metric).
    pub gc_blocked_at_split: bool,
    /// The versions read, where the run carries content.
    pub payload: Option<Box<[u32]>>,
}
