//! The common state of the connections of one subsystem: controllers, and commands that the
//! drive's controller answers late.

use super::Subsystem;
use manx_core::nvme::{AdminCompletion, Sqe};
use std::collections::{BTreeMap, BTreeSet};

/// I/O queues of a controller at most.
pub(super) const QUEUES: u16 = 16;
/// Controllers at once.
const CONTROLLERS: usize = 64;
/// Identifiers of controllers end here; the last sixteen are reserved.
const LAST_CONTROLLER: u16 = 0xffef;

/// CC: the controller is enabled, and the shutdown that is asked for.
pub(super) const ENABLE: u32 = 1;
pub(super) const SHUTDOWN: u32 = 0b11 << 14;

/// The controller of one host.
#[derive(Debug)]
pub(super) struct HostController {
    pub is_discovery: bool,
    pub host_id: [u8; 16],
    pub host_name: Vec<u8>,
    /// Controller Configuration.
    pub config: u32,
    /// It was shut down, and not reset since.
    pub is_shut: bool,
    /// It was reset or shut down so often: I/O queues of an earlier time end.
    pub lives: u32,
    /// I/O queues that were granted.
    pub granted: u16,
    pub connected: BTreeSet<u16>,
    /// Answers of the drive's controller that came later, each with the command's place.
    pub answered: Vec<(u32, AdminCompletion)>,
}

impl HostController {
    /// It carries out commands: it is enabled, and was not shut down.
    pub fn is_ready(&self) -> bool {
        self.config & ENABLE != 0 && !self.is_shut
    }

    /// Takes a value of its Configuration. True: it was reset or shut down, and with that its I/O
    /// queues and the commands under way are gone (NVMe Base 2.1, 3.7.2).
    pub fn configure(&mut self, config: u32) -> bool {
        let was_ready = self.is_ready();
        self.config = config;
        // Nothing but a reset ends a shutdown.
        self.is_shut = config & ENABLE != 0 && (self.is_shut || config & SHUTDOWN != 0);
        let ends = was_ready && !self.is_ready();
        if ends {
            self.lives += 1;
            self.connected.clear();
            self.granted = QUEUES;
            self.answered.clear();
        }
        ends
    }
}

/// A command that is answered later: whose controller's, at which place of its queue, and the drive
/// that was asked.
#[derive(Clone, Copy, Debug)]
struct Late {
    controller: u16,
    place: u32,
    drive: u32,
}

/// State of a subsystem.
#[derive(Debug)]
pub(super) struct Shared {
    pub subsystem: Subsystem,
    pub controllers: BTreeMap<u16, HostController>,
    last: u16,
    /// Commands that a drive's controller answers later, under identifiers of our own.
    late: BTreeMap<u16, Late>,
    next_late: u16,
    /// A controller was reset or shut down: its I/O queues are to end.
    pub has_ended: bool,
}

impl Shared {
    pub fn new(subsystem: Subsystem) -> Self {
        Self {
            subsystem,
            controllers: BTreeMap::new(),
            last: 0,
            late: BTreeMap::new(),
            next_late: 0,
            has_ended: false,
        }
    }

    /// A new controller's identifier; `None` when there are too many.
    pub fn admit(&mut self, controller: HostController) -> Option<u16> {
        if self.controllers.len() >= CONTROLLERS {
            return None;
        }
        loop {
            self.last = if self.last >= LAST_CONTROLLER { 1 } else { self.last + 1 };
            if !self.controllers.contains_key(&self.last) {
                self.controllers.insert(self.last, controller);
                return Some(self.last);
            }
        }
    }

    /// An identifier for a command that may be answered later.
    pub fn late(&mut self, controller: u16, place: u32, drive: u32) -> u16 {
        while self.late.contains_key(&self.next_late) {
            self.next_late = self.next_late.wrapping_add(1);
        }
        self.late.insert(self.next_late, Late { controller, place, drive });
        self.next_late
    }

    /// It was answered at once, or no answer is wanted any more; the drive that was asked.
    pub fn not_late(&mut self, identifier: u16) -> Option<u32> {
        self.late.remove(&identifier).map(|late| late.drive)
    }

    /// An answer came: it waits for its controller's connection.
    pub fn answered(&mut self, done: AdminCompletion) {
        let Some(late) = self.late.remove(&done.cid) else { return };
        if let Some(controller) = self.controllers.get_mut(&late.controller) {
            controller.answered.push((late.place, done));
        }
    }

    /// Commands of controllers that are gone, as Abort takes them back, with their drives.
    pub fn orphans(&mut self) -> Vec<(u32, Sqe)> {
        let Self { controllers, late, .. } = self;
        let gone = late.extract_if(.., |_, late| !controllers.contains_key(&late.controller));
        gone.map(|(identifier, late)| (late.drive, abort(identifier))).collect()
    }

    /// Commands of one controller, likewise.
    pub fn late_of(&mut self, controller: u16) -> Vec<(u32, Sqe)> {
        let gone = self.late.extract_if(.., |_, late| late.controller == controller);
        gone.map(|(identifier, late)| (late.drive, abort(identifier))).collect()
    }
}

/// Abort of an admin command of the drive's controller.
pub(super) fn abort(identifier: u16) -> Sqe {
    let opcode = manx_core::nvme::admin::opcode::ABORT;
    Sqe { opcode, cdw10: (u32::from(identifier) << 16).into(), ..Sqe::default() }
}
