//! vhost-user: a guest's virtio block device, in the memory that its machine shares.
//!
//! Sources: the vhost-user protocol document (of QEMU's interoperability pages), and Virtio 1.2
//! (2.7 split virtqueues, 5.2 block device). QEMU and User Mode Linux are front-ends.
//!
//! In reading order: [`wire`] has the messages and structures; [`memory`] maps the guest's memory,
//! and [`shrunk`] outlives a guest that takes it away; [`ring`] is a queue and [`chain`] the
//! buffers of a request in it; [`session`] is a connection; [`block`] has the requests and
//! [`config`] the device's configuration.
//!
//! [`in_band`] is the device of a guest in virtual time, and [`socket`] its streams.
//!
//! Not here: packed queues, migration (dirty logs), queues that are polled, requests of the
//! device's own but for calls.

mod block;
mod chain;
mod config;
pub(crate) mod in_band;
mod memory;
mod ring;
mod session;
mod shrunk;
mod socket;
mod wire;

use crate::front::{Desk, Done, Fault, Front, Session};
use session::Device;
use std::net::SocketAddr;
use std::os::fd::{BorrowedFd, OwnedFd};

/// The device as its guests see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Its name, of which a driver sees 20 bytes.
    pub name: String,
    /// The best size of a request: a page of the map.
    pub preferred: u32,
}

impl Front for Block {
    fn session(&mut self, _: Option<SocketAddr>) -> Box<dyn Session> {
        Box::new(Device::new(self.name.clone(), self.preferred))
    }
}

impl Session for Device {
    fn receive(
        &mut self,
        bytes: &[u8],
        out: &mut Vec<u8>,
        desk: &mut dyn Desk,
    ) -> Result<usize, Fault> {
        Ok(self.hear(bytes, out, desk)?)
    }

    fn done(&mut self, done: &Done, out: &mut Vec<u8>, data: &dyn Fn(&mut Vec<u8>)) {
        Device::done(self, done, out, data);
    }

    fn is_settled(&self) -> bool {
        self.has_spoken
    }

    fn tick(&mut self, _: &mut Vec<u8>, _: &mut dyn Desk) -> Result<(), Fault> {
        Ok(self.look()?)
    }

    fn reads(&self, held: &[u8]) -> Option<usize> {
        Some(Device::message_bytes(held).saturating_sub(held.len()))
    }

    fn keep(&mut self, files: Vec<OwnedFd>) {
        Device::keep(self, files);
    }

    fn bell(&self) -> Option<BorrowedFd<'_>> {
        Device::bell(self)
    }

    fn hear_bell(&mut self) {
        Device::hear_bell(self);
    }

    fn fetch(&mut self, desk: &mut dyn Desk) -> Result<bool, Fault> {
        Ok(Device::fetch(self, desk)?)
    }
}

#[cfg(test)]
mod tests;
