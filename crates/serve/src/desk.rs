//! The model as a session sees it, at an instant.

use crate::front::{Ask, Desk, Stretch};
use crate::machine::Machine;
use manx_core::array::Array;
use manx_core::drive::{Drive, Storage};
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
}

impl Served for Drive {}

impl Served for Array {}

impl Served for Controller {
    fn controller(&mut self) -> Option<&mut Controller> {
        Some(self)
    }

    fn has_news(&self) -> bool {
        self.has_admin_completions()
    }
}

/// The machine at an instant before which everything has been done.
pub(crate) struct AtNow<'a, S: Served> {
    pub(crate) machine: &'a mut Machine<S>,
    pub(crate) now: Instant,
    pub(crate) owner: u64,
}

impl<S: Served> Desk for AtNow<'_, S> {
    fn size(&self) -> u64 {
        self.machine.size()
    }

    fn submit(&mut self, ask: Ask, data: &[u8]) {
        self.machine.submit(self.now, self.owner, ask, data);
    }

    fn stretches(&self, offset: u64, length: u64, most: usize) -> Vec<Stretch> {
        self.machine.stretches(offset, length, most)
    }

    fn zeros_are_fast(&self) -> bool {
        self.machine.zeros_are_fast()
    }

    fn admin(&mut self, sqe: &Sqe, data: &[u8]) -> Option<AdminReply> {
        let now = self.now;
        self.machine.storage_mut().controller().map(|controller| controller.admin(now, sqe, data))
    }

    fn take_admin_completion(&mut self) -> Option<AdminCompletion> {
        self.machine.storage_mut().controller()?.take_admin_completion()
    }
}
