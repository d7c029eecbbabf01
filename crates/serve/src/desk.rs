//! The model as a session sees it, at an instant.

use crate::fleet::Fleet;
use crate::front::{Ask, Desk, Stretch};
use manx_core::array::Array;
use manx_core::drive::{Drive, Rest, Storage};
use manx_core::nvme::{AdminCompletion, AdminReply, Controller, Sqe};
use manx_core::units::Instant;

/// A model that can be served; some have an NVMe controller to ask.
pub trait Served: Storage {
    /// The controller, if there is one.
    fn controller(&mut self) -> Option<&mut Controller> {
        None
    }

    /// The controller has answered an admin command later.
    fn has_news(&self) -> bool {
        false
    }

    /// The drive shut down at `now`, with nothing under way; `None`: it is not one that a store
    /// keeps.
    fn rest(&self, _now: Instant) -> Option<Rest> {
        None
    }
}

impl Served for Drive {
    fn rest(&self, now: Instant) -> Option<Rest> {
        self.recovers().then(|| self.clone().shut_down(now))
    }
}

impl Served for Array {}

impl Served for Controller {
    fn controller(&mut self) -> Option<&mut Controller> {
        Some(self)
    }

    fn has_news(&self) -> bool {
        self.has_admin_completions()
    }
}

/// The machines at an instant before which everything has been done.
pub(crate) struct AtNow<'a, S: Served> {
    pub(crate) fleet: &'a mut Fleet<S>,
    pub(crate) now: Instant,
    pub(crate) owner: u64,
}

impl<S: Served> Desk for AtNow<'_, S> {
    fn size(&self, drive: u32) -> u64 {
        self.fleet.of(drive).size()
    }

    fn submit(&mut self, ask: Ask, data: &[u8]) {
        self.fleet.of_mut(ask.drive).submit(self.now, self.owner, ask, data);
    }

    fn stretches(&self, offset: u64, length: u64, most: usize) -> Vec<Stretch> {
        self.fleet.of(0).stretches(offset, length, most)
    }

    fn zeros_are_fast(&self) -> bool {
        self.fleet.of(0).zeros_are_fast()
    }

    fn admin(&mut self, drive: u32, sqe: &Sqe, data: &[u8]) -> Option<AdminReply> {
        let (now, machine) = (self.now, self.fleet.of_mut(drive));
        machine.storage_mut().controller().map(|controller| controller.admin(now, sqe, data))
    }

    fn take_admin_completion(&mut self) -> Option<AdminCompletion> {
        self.fleet.take_admin_completion()
    }
}
