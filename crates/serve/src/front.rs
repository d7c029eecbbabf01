//! The seam between the protocols and the model.
//!
//! A front-end is a [`Session`] for each connection: bytes of the client come in, requests go to
//! the [`Desk`], and what was done comes back as a value. Connections of one protocol share a
//! [`Front`]. A new transport is a folder and a line of [`Transport`].

use crate::tls::Tls;
use crate::{nbd, nvme_tcp, vhost_user};
use manx_core::drive::{PredictableLatency, Status};
use manx_core::nvme::{AdminCompletion, AdminReply, Sqe};
use std::net::SocketAddr;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::rc::Rc;

/// Kinds of requests to a block device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Bytes out.
    Read,
    /// Bytes in.
    Write,
    /// Zeros in; the drive may deallocate what lies there where that reads as zeros.
    Zero {
        /// It may.
        may_deallocate: bool,
    },
    /// The bytes are wanted no more.
    Trim,
    /// Everything that was acknowledged is to be durable.
    Flush,
}

/// A request of a client; offsets and lengths are bytes, whole sectors of 512.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask {
    /// The session's own name for it.
    pub cookie: u64,
    /// The drive, where there are several, from 0 on.
    pub drive: u32,
    /// Its kind.
    pub kind: Kind,
    /// First byte.
    pub offset: u64,
    /// Bytes; 0 for a flush.
    pub length: u64,
    /// Acknowledged when it is durable, not before.
    pub fua: bool,
    /// Whether a read may be failed fast.
    pub predictable: PredictableLatency,
}

/// A request that is done.
#[derive(Clone, Debug)]
pub struct Done {
    /// The request.
    pub ask: Ask,
    /// How it ended.
    pub status: Status,
    /// It would end so again: do not retry.
    pub dnr: bool,
    /// The busy remaining time of a read that was failed fast, in nanoseconds.
    pub result: u64,
}

/// A stretch of the device, by what is known of its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// Bytes.
    pub length: u64,
    /// A client wrote bytes there; otherwise it reads as zeros.
    pub has_bytes: bool,
}

/// Where a session hands in requests.
pub trait Desk {
    /// Bytes of a drive.
    fn size(&self, drive: u32) -> u64;
    /// Hands in a request that lies within the device, with the bytes of a write.
    fn submit(&mut self, ask: Ask, data: &[u8]);
    /// A request was answered with an error, and not handed in.
    fn refuse(&mut self) {}
    /// Stretches of a range of a drive, at least one, up to `most`; they may end before it does.
    fn stretches(&self, drive: u32, offset: u64, length: u64, most: usize) -> Vec<Stretch>;
    /// Whether zeros can be had by deallocating.
    fn zeros_are_fast(&self) -> bool;
    /// The answer of a drive's NVMe controller to an admin command; `None`: there is none.
    fn admin(&mut self, _: u32, _: &Sqe, _: &[u8]) -> Option<AdminReply> {
        None
    }
    /// The next admin command that a drive's controller answers later.
    fn take_admin_completion(&mut self) -> Option<AdminCompletion> {
        None
    }
}

/// Why a connection ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The client is gone.
    Closed,
    /// The client said good-bye: it is heard no more, and what it asked before is answered.
    Finished,
    /// It broke the protocol.
    Protocol(String),
}

/// One connection of a protocol.
pub trait Session {
    /// Takes at most one message of the client from the front of `bytes`, answers into `out`;
    /// returns how many bytes it took, 0 when the message is not whole yet.
    fn receive(
        &mut self,
        bytes: &[u8],
        out: &mut Vec<u8>,
        desk: &mut dyn Desk,
    ) -> Result<usize, Fault>;

    /// Answers a request that is done; `data` appends the bytes of a read.
    fn done(&mut self, done: &Done, out: &mut Vec<u8>, data: &dyn Fn(&mut Vec<u8>));

    /// The client has come so far that it may stay silent.
    fn is_settled(&self) -> bool;

    /// The client has shut its way to the server: how its connection ends.
    fn ends(&self) -> Fault {
        Fault::Closed
    }

    /// Acts on the time that passed, once a second, and on what [`Front::look`] saw.
    fn tick(&mut self, _: &mut Vec<u8>, _: &mut dyn Desk) -> Result<(), Fault> {
        Ok(())
    }

    /// Bytes that are read next, behind those that are `held`, where descriptors come with them:
    /// one message's, never of two. `None`: as many as there are, and no descriptors.
    fn reads(&self, _: &[u8]) -> Option<usize> {
        None
    }

    /// Takes descriptors that came with what is read.
    fn keep(&mut self, _: Vec<OwnedFd>) {}

    /// From now on the connection's bytes are encrypted: asked after each message, told once.
    fn encrypts(&mut self) -> Option<Tls> {
        None
    }

    /// Readable when there is something to do that the socket does not tell.
    fn bell(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    /// The bell rang.
    fn hear_bell(&mut self) {}

    /// Takes at most one request that lies ready elsewhere than in the socket; false: none does.
    fn fetch(&mut self, _: &mut dyn Desk) -> Result<bool, Fault> {
        Ok(false)
    }
}

/// The common part of the connections of one protocol.
pub trait Front {
    /// The session of a new connection to `local`, where that is an address of TCP.
    fn session(&mut self, local: Option<SocketAddr>) -> Box<dyn Session>;

    /// Looks after what the sessions share: once a second, and when an admin command was answered
    /// later.
    fn look(&mut self, _: &mut dyn Desk) {}

    /// Told once: a message to one session concerns others, which are to act on it at once.
    fn calls(&mut self) -> bool {
        false
    }
}

/// A drive as a protocol shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Export {
    /// Its name; a client may also leave it out.
    pub name: String,
    /// Words for who lists it.
    pub description: String,
    /// The best size of a request: a page of the map.
    pub preferred: u32,
}

/// The protocols.
#[derive(Clone, Debug)]
pub enum Transport {
    /// Network block device.
    Nbd(nbd::Exports),
    /// NVMe over TCP.
    NvmeTcp(Box<nvme_tcp::Subsystem>),
    /// A guest's virtio block device.
    VhostUser(vhost_user::Block),
}

impl Transport {
    /// The front-end of that protocol.
    pub fn front(self) -> Box<dyn Front> {
        match self {
            Transport::Nbd(exports) => Box::new(Rc::new(exports)),
            Transport::NvmeTcp(subsystem) => Box::new(nvme_tcp::Target::new(*subsystem)),
            Transport::VhostUser(block) => Box::new(block),
        }
    }
}
