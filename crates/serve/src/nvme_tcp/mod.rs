//! NVMe over TCP: a discovery subsystem and one subsystem, with a namespace for each drive.
//!
//! Sources: NVM Express TCP Transport Specification 1.0 (PDUs, digests, errors), NVM Express Base
//! Specification 2.1 (Fabrics commands, properties, Identify, logs, features), NVM Command Set
//! Specification. What the drive itself answers (its Identify, its logs, Predictable Latency Mode)
//! comes from its controller in the model, byte for byte.
//!
//! In reading order: [`wire`] has the PDUs and [`crc`] their digest; [`queue`] is a connection, a
//! queue pair: commands in, data and answers out; [`pointer`] says where data are; [`fabrics`]
//! connects it, [`admin`] and [`io`] carry out commands; [`host`] is the other side
//! of a connection; [`identify`] and [`drives`] have what the
//! model's controllers answer; [`shared`] is the common state of one subsystem's connections.
//!
//! Not here: TLS, authentication, fused commands, reservations, SGLs of several
//! segments, abortion of reads and writes (Abort answers that it did not).

mod admin;
mod crc;
mod drives;
mod fabrics;
pub(crate) mod host;
mod identify;
mod io;
mod pointer;
mod queue;
mod shared;
mod wire;

use crate::front::{Desk, Front, Session};
use manx_core::nvme::{Attributes, Options};
use shared::Shared;
use std::cell::RefCell;
use std::net::SocketAddr;
use std::rc::Rc;

/// The name of every discovery subsystem (NVMe Base 2.1, 4.7).
pub const DISCOVERY: &str = "nqn.2014-08.org.nvmexpress.discovery";

/// A subsystem: drives of one kind, or an array, under a name.
#[derive(Clone, Debug)]
pub struct Subsystem {
    /// Drives: namespaces 1 to this, each in the NVM Set of its number.
    pub drives: u32,
    /// Promises of a drive, for Identify; of an array, its size is looked at alone.
    pub attributes: Attributes,
    /// Its name, serial number and terms.
    pub options: Options,
    /// A namespace is a drive behind a controller of the model: it has an NVM Set and windows.
    pub has_controller: bool,
    /// Where it listens, for the discovery log.
    pub address: Option<SocketAddr>,
}

/// The front-end: what its connections share.
#[derive(Debug)]
pub struct Target {
    shared: Rc<RefCell<Shared>>,
}

impl Target {
    /// A target with that subsystem.
    pub fn new(subsystem: Subsystem) -> Self {
        Self { shared: Rc::new(RefCell::new(Shared::new(subsystem))) }
    }
}

impl Front for Target {
    fn session(&mut self, local: Option<SocketAddr>) -> Box<dyn Session> {
        Box::new(queue::Queue::new(self.shared.clone(), local))
    }

    fn calls(&mut self) -> bool {
        std::mem::take(&mut self.shared.borrow_mut().has_ended)
    }

    fn look(&mut self, desk: &mut dyn Desk) {
        let mut shared = self.shared.borrow_mut();
        for (drive, sqe) in shared.orphans() {
            desk.admin(drive, &sqe, &[]);
        }
        while let Some(done) = desk.take_admin_completion() {
            shared.answered(done);
        }
    }
}

#[cfg(test)]
mod tests;
