//! The engines as a session sees them, at an instant.

use crate::engine::Engine;
use crate::fleet::Fleet;
use crate::front::{Ask, Desk, Stretch};
use manx_core::array::Array;
use manx_core::drive::{Drive, Rest, Storage};
use manx_core::nvme::{AdminCompletion, AdminReply, Controller, Sqe};
use manx_core::units::{Duration, Instant, Member};

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

    /// Does something with each of its drives, which may then have something to do.
    fn each_drive(&mut self, action: &mut dyn FnMut(&mut Drive));

    /// The array, if it is one.
    fn array(&self) -> Option<&Array> {
        None
    }

    /// The drive shut down after what is under way at `now`, so many commands; `None`: no store
    /// keeps it.
    fn rest(&self, _now: Instant, _under_way: usize) -> Option<Rest> {
        None
    }
}

/// A model that a store keeps: one drive.
pub trait Kept: Served {
    /// The drive of it.
    fn into_drive(self) -> Drive;
}

impl Kept for Drive {
    fn into_drive(self) -> Drive {
        self
    }
}

impl Kept for Controller {
    fn into_drive(self) -> Drive {
        Controller::into_drive(self)
    }
}

impl Served for Drive {
    fn each_drive(&mut self, action: &mut dyn FnMut(&mut Drive)) {
        action(self);
    }

    fn rest(&self, now: Instant, under_way: usize) -> Option<Rest> {
        if !self.recovers() {
            return None;
        }
        let (mut drive, mut at) = (self.clone(), now);
        for _ in 0..under_way {
            let done = Storage::advance_before(&mut drive, Instant::NEVER);
            at = done.map_or(at, |done| at.max(done.at + Duration::from_ns(1)));
        }
        Some(drive.shut_down(at))
    }
}

impl Served for Array {
    fn each_drive(&mut self, action: &mut dyn FnMut(&mut Drive)) {
        for member in 0..self.members() as u32 {
            self.with_link(Member(member), |controller| action(controller.drive_mut()));
        }
    }

    fn array(&self) -> Option<&Array> {
        Some(self)
    }
}

impl Served for Controller {
    fn each_drive(&mut self, action: &mut dyn FnMut(&mut Drive)) {
        action(self.drive_mut());
    }

    fn controller(&mut self) -> Option<&mut Controller> {
        Some(self)
    }

    fn has_news(&self) -> bool {
        self.has_admin_completions()
    }

    fn rest(&self, now: Instant, under_way: usize) -> Option<Rest> {
        self.drive().rest(now, under_way)
    }
}

/// The engines at an instant before which everything has been done.
pub(crate) struct AtNow<'a, E: Engine> {
    pub(crate) fleet: &'a mut Fleet<E>,
    pub(crate) now: Instant,
    pub(crate) owner: u64,
}

impl<E: Engine> Desk for AtNow<'_, E> {
    fn size(&self, drive: u32) -> u64 {
        self.fleet.of(drive).size()
    }

    fn submit(&mut self, ask: Ask, data: &[u8]) {
        self.fleet.of_mut(ask.drive).submit(self.now, self.owner, ask, data);
    }

    fn stretches(&self, drive: u32, offset: u64, length: u64, most: usize) -> Vec<Stretch> {
        self.fleet.of(drive).stretches(offset, length, most)
    }

    fn zeros_are_fast(&self) -> bool {
        self.fleet.of(0).zeros_are_fast()
    }

    fn admin(&mut self, drive: u32, sqe: &Sqe, data: &[u8]) -> Option<AdminReply> {
        self.fleet.of_mut(drive).admin(self.now, sqe, data)
    }

    fn take_admin_completion(&mut self) -> Option<AdminCompletion> {
        self.fleet.take_admin_completion()
    }
}
