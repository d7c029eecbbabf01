//! Network block device: the fixed newstyle negotiation and the transmission that follows it.
//!
//! Source: the NBD protocol document (`doc/proto.md` of the NetworkBlockDevice project). Not
//! spoken: oldstyle, extended headers, resize.

mod negotiation;
mod transmission;
mod wire;

use crate::front::{Desk, Done, Export, Fault, Front, Session};
use crate::tls::Tls;
use std::net::SocketAddr;
use std::rc::Rc;

/// Largest payload of a request: 32 MiB, the size that a client may count on without asking.
pub const MAX_PAYLOAD: u32 = 32 << 20;

/// The drives of a server, at least one, and whether their bytes may be encrypted.
#[derive(Clone, Debug)]
pub struct Exports {
    /// One for each drive, by its number; the first is also the one without a name.
    pub all: Vec<Export>,
    /// Certificates, where TLS is spoken.
    pub tls: Option<Tls>,
}

/// A connection of an NBD client.
#[derive(Debug)]
pub struct Nbd {
    exports: Rc<Exports>,
    /// The one that the client chose, or for which it chose metadata.
    drive: u32,
    phase: Phase,
    privacy: Privacy,
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

/// Whether the bytes of a connection are encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Privacy {
    Clear,
    /// The client has asked, and the connection does not know yet.
    Asked,
    Encrypted,
}

impl Nbd {
    /// A connection to these exports.
    pub fn new(exports: Rc<Exports>) -> Self {
        Self {
            exports,
            drive: 0,
            phase: Phase::New,
            privacy: Privacy::Clear,
            structured: false,
            allocation: false,
            no_zeroes: false,
        }
    }
}

impl Front for Rc<Exports> {
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
            Phase::Options => self.take_option(bytes, out, desk),
            Phase::Transmission => self.take_request(bytes, out, desk),
        }
    }

    fn done(&mut self, done: &Done, out: &mut Vec<u8>, data: &dyn Fn(&mut Vec<u8>)) {
        self.answer(done, out, data);
    }

    /// Half a connection is enough for the answers.
    fn ends(&self) -> Fault {
        Fault::Finished
    }

    fn encrypts(&mut self) -> Option<Tls> {
        if self.privacy != Privacy::Asked {
            return None;
        }
        self.privacy = Privacy::Encrypted;
        self.exports.tls.clone()
    }

    fn is_settled(&self) -> bool {
        self.phase == Phase::Transmission
    }
}

#[cfg(test)]
mod tests;
