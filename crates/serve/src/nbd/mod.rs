//! Network block device: the fixed newstyle negotiation and the transmission that follows it.
//!
//! Source: the NBD protocol document (`doc/proto.md` of the NetworkBlockDevice project). Not
//! spoken: TLS, oldstyle, extended headers, resize.

mod negotiation;
mod transmission;
mod wire;

use crate::front::{Desk, Done, Export, Fault, Front, Session};
use std::net::SocketAddr;

/// Largest payload of a request: 32 MiB, the size that a client may count on without asking.
pub const MAX_PAYLOAD: u32 = 32 << 20;

/// A connection of an NBD client.
#[derive(Debug)]
pub struct Nbd {
    export: Export,
    phase: Phase,
    /// The client takes structured replies.
    structured: bool,
    /// It has chosen `base:allocation`.
    allocation: bool,
    /// It wants no zeros behind the export's flags.
    no_zeroes: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The greeting is not sent yet.
    New,
    /// The client's flags are awaited.
    Flags,
    Options,
    Transmission,
}

impl Nbd {
    /// A connection to that export.
    pub fn new(export: Export) -> Self {
        Self { export, phase: Phase::New, structured: false, allocation: false, no_zeroes: false }
    }
}

impl Front for Export {
    fn session(&mut self, _: Option<SocketAddr>) -> Box<dyn Session> {
        Box::new(Nbd::new(self.clone()))
    }
}

impl Session for Nbd {
    fn receive(
        &mut self,
        bytes: &[u8],
        out: &mut Vec<u8>,
        desk: &mut dyn Desk,
    ) -> Result<usize, Fault> {
        match self.phase {
            Phase::New => {
                self.greet(out);
                Ok(0)
            }
            Phase::Flags => self.take_flags(bytes),
            Phase::Options => self.take_option(bytes, out, desk.size(0)),
            Phase::Transmission => self.take_request(bytes, out, desk),
        }
    }

    fn done(&mut self, done: &Done, out: &mut Vec<u8>, data: &dyn Fn(&mut Vec<u8>)) {
        self.answer(done, out, data);
    }

    fn is_settled(&self) -> bool {
        self.phase == Phase::Transmission
    }
}

#[cfg(test)]
mod tests;
