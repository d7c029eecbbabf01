//! A command while the drive works on it.

use crate::drive::{Command, CommandId, Drive, DriveSpec, Op, Payload, PredictableLatency, Status};
use crate::ftl::Translation;
use crate::units::Die;
use crate::units::{Lba, Lpn, Ppn, SECTOR};

crate::id! {
    /// A request: its place among those under way.
    pub(in crate::drive) RequestId, or NIL
}

/// A command under way. A backlog holds millions of them, so it is small: what pages hold is in a
/// box of its own, in runs that carry content.
#[derive(Clone, Debug)]
pub(in crate::drive) struct Request {
    pub command: Asked,
    /// Flash operations (reads) or pages (durable writes) that it still waits for.
    pub remaining: u32,
    /// A write's next page to go into the buffer.
    pub next_unit: u32,
    pub gc_blocked: bool,
    pub gc_blocked_at_split: bool,
    /// A page of it could not be read.
    pub unrecovered: bool,
    /// It was failed fast and has completed; operations of it may be under way.
    pub failed: bool,
    /// The drive turned read-only before it was done.
    pub refused: bool,
    pub content: Option<Box<Content>>,
}

const _: () = assert!(size_of::<Request>() <= 48, "a backlog of requests is small");

/// A command without what its pages hold.
#[derive(Clone, Copy, Debug)]
pub(in crate::drive) struct Asked {
    pub lba: Lba,
    pub id: CommandId,
    pub sectors: u32,
    pub op: Op,
    pub fua: bool,
    pub predictable: PredictableLatency,
    pub stream: u8,
}

impl Asked {
    /// Bytes in the range.
    pub fn bytes(&self) -> u64 {
        u64::from(self.sectors) * SECTOR
    }
}

/// Content of the pages of a command in flight.
#[derive(Clone, Debug)]
pub(in crate::drive) enum Content {
    /// They are written so.
    Written(Payload),
    /// Those that are read, as far as they are known.
    Read(Box<[u32]>),
}

impl Request {
    /// True when a write completes only on flash.
    pub fn is_durable(&self, spec: &DriveSpec) -> bool {
        let fua = self.command.fua && !spec.power_loss_protection;
        fua || spec.write_through
    }

    /// Page `number` of a read holds `version`, where the run carries content.
    #[inline]
    pub fn note_version(&mut self, number: u32, version: u32) {
        if let Some(Content::Read(versions)) = self.content.as_deref_mut() {
            versions[number as usize] = version;
        }
    }

    pub fn new(command: Command) -> Self {
        let content = command.payload.map(|payload| Box::new(Content::Written(payload)));
        Self { content, ..Self::of(&Command { payload: None, ..command }) }
    }

    /// A request without what the command's pages hold.
    #[inline]
    pub fn of(command: &Command) -> Self {
        let Command { id, op, lba, sectors, fua, predictable, stream, .. } = *command;
        Self {
            command: Asked { lba, id, sectors, op, fua, predictable, stream },
            remaining: 0,
            next_unit: 0,
            gc_blocked: false,
            gc_blocked_at_split: false,
            unrecovered: false,
            failed: false,
            refused: false,
            content: None,
        }
    }

    /// Takes the versions of the pages that it read.
    pub fn take_read(&mut self) -> Option<Box<[u32]>> {
        match *self.content.take()? {
            Content::Read(versions) => Some(versions),
            Content::Written(_) => None,
        }
    }
}

/// The part of a request that lies in one mapping unit.
#[derive(Clone, Copy, Debug)]
pub(in crate::drive) struct Unit {
    pub lpn: Lpn,
    /// First sector within the unit.
    pub first: u32,
    /// Sectors asked for.
    pub sectors: u32,
}

impl Unit {
    /// The sectors as a mask.
    pub fn mask(self) -> u64 {
        (u64::MAX >> (64 - self.sectors)) << self.first
    }
}

impl Drive {
    /// Mapping units that the request touches.
    #[inline]
    pub(in crate::drive) fn units(&self, request: RequestId) -> u32 {
        let (command, shift) = (&self.requests[request].command, self.flash.layout.unit_shift);
        let last = (command.lba.0 + u64::from(command.sectors) - 1) >> shift;
        (last - (command.lba.0 >> shift)) as u32 + 1
    }

    /// Mapping unit `number` of the request.
    #[inline]
    pub(in crate::drive) fn unit(&self, request: RequestId, number: u32) -> Unit {
        let (command, shift) = (&self.requests[request].command, self.flash.layout.unit_shift);
        let page = (command.lba.0 >> shift) + u64::from(number);
        let start = (page << shift).max(command.lba.0);
        let end = ((page + 1) << shift).min(command.lba.0 + u64::from(command.sectors));
        Unit {
            lpn: Lpn(page as u32),
            first: (start - (page << shift)) as u32,
            sectors: (end - start) as u32,
        }
    }

    /// How a read ends.
    #[inline]
    pub(in crate::drive) fn read_status(&mut self, request: RequestId) -> Status {
        if !self.requests[request].unrecovered {
            return Status::Success;
        }
        if let Some(scrub) = &mut self.scrub {
            scrub.note_failed_read();
        }
        Status::UnrecoveredRead
    }

    /// How a write or a deallocation ends.
    #[inline]
    pub(in crate::drive) fn write_status(&self, request: RequestId) -> Status {
        if self.requests[request].refused {
            Status::NamespaceWriteProtected
        } else {
            Status::Success
        }
    }

    /// True when writes are refused.
    #[inline]
    pub fn is_read_only(&self) -> bool {
        self.faults.as_ref().is_some_and(|faults| faults.is_read_only())
    }

    /// Where page `number` of a read is on flash, if it needs that: not what is in the buffer or
    /// was never written.
    pub(in crate::drive) fn page_of_unit(&self, request: RequestId, number: u32) -> Option<Ppn> {
        let unit = self.unit(request, number);
        let covers = |slot| self.buffer.slot(slot).mask & unit.mask() == unit.mask();
        if self.buffer.find(unit.lpn).is_some_and(covers) {
            return None;
        }
        match self.ftl.translate(unit.lpn) {
            Translation::Unwritten => None,
            Translation::Ready(page) => Some(page),
        }
    }

    pub(in crate::drive) fn die_of_page(&self, page: Ppn) -> Die {
        let layout = &self.flash.layout;
        layout.die_of(layout.lane_of(layout.block_of(page)))
    }
}
