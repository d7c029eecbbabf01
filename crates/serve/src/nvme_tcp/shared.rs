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

/// The controller of one host.
#[derive(Debug)]
pub(super) struct HostController {
    pub is_discovery: bool,
    pub host_id: [u8; 16],
    pub host_name: Vec<u8>,
    /// Controller Configuration.
    pub config: u32,
    /// It was disabled so often: I/O queues of an earlier time end.
    pub resets: u32,
    /// I/O queues that were granted.
    pub granted: u16,
    pub connected: BTreeSet<u16>,
    /// Answers of the drive's controller that came later, each with the command's place.
    pub answered: Vec<(u32, AdminCompletion)>,
}

impl HostController {
    /// CC.EN.
    pub fn is_enabled(&self) -> bool {
        self.config & 1 == 1
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
}

impl Shared {
    pub fn new(subsystem: Subsystem) -> Self {
        Self {
            subsystem,
            controllers: BTreeMap::new(),
            last: 0,
            late: BTreeMap::new(),
            next_late: 0,
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
}

/// Abort of an admin command of the drive's controller.
pub(super) fn abort(identifier: u16) -> Sqe {
    let opcode = manx_core::nvme::admin::opcode::ABORT;
    Sqe { opcode, cdw10: (u32::from(identifier) << 16).into(), ..Sqe::default() }
}
