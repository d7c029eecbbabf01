//! A machine as a guest's disk sees it.

use crate::front::{Ask, Desk, Stretch};
use crate::machine::Machine;
use manx_core::drive::Storage;
use manx_core::units::Instant;

/// A machine at an instant before which everything has been done.
pub(super) struct At<'a, S: Storage> {
    pub machine: &'a mut Machine<S>,
    pub now: Instant,
}

impl<S: Storage> Desk for At<'_, S> {
    fn size(&self, _: u32) -> u64 {
        self.machine.size()
    }

    fn submit(&mut self, ask: Ask, data: &[u8]) {
        self.machine.submit(self.now, 0, ask, data);
    }

    fn stretches(&self, _: u32, offset: u64, length: u64, most: usize) -> Vec<Stretch> {
        self.machine.stretches(offset, length, most)
    }

    fn zeros_are_fast(&self) -> bool {
        self.machine.zeros_are_fast()
    }
}

/// Machines as the streams of a guest see them.
pub(super) struct AllAt<'a, S: Storage> {
    pub machines: &'a mut [Machine<S>],
    pub now: Instant,
}

impl<S: Storage> Desk for AllAt<'_, S> {
    fn size(&self, drive: u32) -> u64 {
        self.machines[drive as usize].size()
    }

    fn submit(&mut self, ask: Ask, data: &[u8]) {
        self.machines[ask.drive as usize].submit(self.now, 0, ask, data);
    }

    fn stretches(&self, drive: u32, offset: u64, length: u64, most: usize) -> Vec<Stretch> {
        self.machines[drive as usize].stretches(offset, length, most)
    }

    fn zeros_are_fast(&self) -> bool {
        self.machines[0].zeros_are_fast()
    }
}
