//! Streams between a guest and servers of its host: virtio's socket device (Virtio 1.2, 5.10).
//!
//! Each stream of the guest to the one port is a connection of a protocol. A side sends no more
//! than the other has room for (5.10.6.3); what comes in is acted on at once, so that the room
//! here is always whole.

use super::chain::{pieces, total};
use super::ring::outside;
use super::session::Device;
use crate::front::{Ask, Desk, Done, Front, Session, Stretch};
use manx_core::nvme::{AdminCompletion, AdminReply, Sqe};
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, little_endian as le};

/// The queues: packets to the guest, and from it; of the third, events, there are none.
const TO_GUEST: usize = 0;
pub(super) const FROM_GUEST: usize = 1;

/// Numbers of the host and of the guest.
const HOST: u64 = 2;
const GUEST: u64 = 3;

/// The configuration: the guest's number.
pub(super) const CONFIG: [u8; 8] = GUEST.to_le_bytes();

/// The port of the one server.
pub(crate) const PORT: u32 = 4420;

/// Bytes that are taken of a stream before they are acted on.
const ROOM: u32 = 256 << 10;

/// Bytes of a packet at most, its header aside: as much as there is room for.
const DATA_MAX: u64 = ROOM as u64;

/// Streams at once.
const PEERS_MAX: usize = 64;

/// Type of a stream.
const STREAM: u16 = 1;

/// Kinds of packets.
mod op {
    pub const REQUEST: u16 = 1;
    pub const RESPONSE: u16 = 2;
    pub const RESET: u16 = 3;
    pub const DATA: u16 = 5;
    pub const CREDIT: u16 = 6;
    pub const ASK_CREDIT: u16 = 7;
}

/// The header of a packet (`struct virtio_vsock_hdr`).
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct Head {
    from: le::U64,
    to: le::U64,
    from_port: le::U32,
    to_port: le::U32,
    length: le::U32,
    kind: le::U16,
    op: le::U16,
    flags: le::U32,
    room: le::U32,
    taken: le::U32,
}

const HEAD: usize = size_of::<Head>();

/// A stream of the guest.
struct Peer {
    session: Box<dyn Session>,
    /// Bytes of a message that is not whole.
    input: Vec<u8>,
    /// Bytes for the guest, and how many of them are sent.
    out: Vec<u8>,
    sent: usize,
    /// Bytes that came in, and as many as the guest was last told.
    taken: u32,
    told: u32,
    /// The guest's room, what it has taken, and what was sent to it.
    room: u32,
    has_taken: u32,
    given: u32,
    /// It ends when everything is sent.
    is_ending: bool,
}

/// The device's streams.
pub(super) struct Socket {
    front: Box<dyn Front>,
    /// By the guest's port.
    peers: BTreeMap<u32, Peer>,
    /// Packets without data: the guest's port, ours, and the kind.
    plain: VecDeque<(u32, u32, u16)>,
}

impl fmt::Debug for Socket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Socket of {} streams", self.peers.len())
    }
}

/// The desk of one stream: the names of its requests have its port above.
struct Of<'a> {
    desk: &'a mut dyn Desk,
    port: u32,
}

impl Desk for Of<'_> {
    fn size(&self, drive: u32) -> u64 {
        self.desk.size(drive)
    }

    fn submit(&mut self, ask: Ask, data: &[u8]) {
        let cookie = u64::from(self.port) << 32 | u64::from(ask.cookie as u32);
        self.desk.submit(Ask { cookie, ..ask }, data);
    }

    fn stretches(&self, drive: u32, offset: u64, length: u64, most: usize) -> Vec<Stretch> {
        self.desk.stretches(drive, offset, length, most)
    }

    fn zeros_are_fast(&self) -> bool {
        self.desk.zeros_are_fast()
    }

    fn admin(&mut self, drive: u32, sqe: &Sqe, data: &[u8]) -> Option<AdminReply> {
        self.desk.admin(drive, sqe, data)
    }

    fn take_admin_completion(&mut self) -> Option<AdminCompletion> {
        self.desk.take_admin_completion()
    }
}

impl Socket {
    pub fn new(front: Box<dyn Front>) -> Self {
        Self { front, peers: BTreeMap::new(), plain: VecDeque::new() }
    }

    /// Acts on a packet.
    fn hear(&mut self, packet: &[u8], desk: &mut dyn Desk) -> Result<(), String> {
        let Ok((head, data)) = Head::read_from_prefix(packet) else {
            return Err(format!("has a packet of {} bytes", packet.len()));
        };
        let (length, op) = (head.length.get() as usize, head.op.get());
        if length != data.len() {
            return Err(format!("has a packet of {length} bytes in {}", data.len()));
        }
        let (port, ours) = (head.from_port.get(), head.to_port.get());
        let is_ours = (head.from.get(), head.to.get(), head.kind.get()) == (GUEST, HOST, STREAM);
        if !is_ours || ours != PORT {
            self.refuse(port, ours, op);
            return Ok(());
        }
        match op {
            op::REQUEST if self.peers.len() < PEERS_MAX && !self.peers.contains_key(&port) => {
                let session = self.front.session(None);
                self.peers.insert(port, Peer::new(session));
                self.plain.push_back((port, ours, op::RESPONSE));
            }
            op::RESET => drop(self.peers.remove(&port)),
            op::DATA | op::CREDIT | op::ASK_CREDIT if self.peers.contains_key(&port) => {}
            _ => {
                self.peers.remove(&port);
                self.refuse(port, ours, op);
            }
        }
        let Some(peer) = self.peers.get_mut(&port) else { return Ok(()) };
        (peer.room, peer.has_taken) = (head.room.get(), head.taken.get());
        if op == op::DATA {
            peer.taken = peer.taken.wrapping_add(length as u32);
            peer.hear(data, &mut Of { desk, port });
            if peer.is_ending && peer.out.is_empty() {
                self.peers.remove(&port);
                self.refuse(port, ours, op);
                return Ok(());
            }
        }
        let is_late = peer.taken.wrapping_sub(peer.told) > ROOM / 2;
        if op == op::ASK_CREDIT || is_late {
            self.plain.push_back((port, ours, op::CREDIT));
        }
        Ok(())
    }

    fn refuse(&mut self, port: u32, ours: u32, op: u16) {
        if op != op::RESET {
            self.plain.push_back((port, ours, op::RESET));
        }
    }

    /// A request of a stream is done; its stream may be gone.
    fn done(&mut self, done: &Done, data: &dyn Fn(&mut Vec<u8>)) {
        let (port, cookie) = ((done.ask.cookie >> 32) as u32, done.ask.cookie as u32);
        if let Some(peer) = self.peers.get_mut(&port) {
            let ask = Ask { cookie: cookie.into(), ..done.ask };
            peer.session.done(&Done { ask, ..done.clone() }, &mut peer.out, data);
        }
    }

    fn has_packets(&self) -> bool {
        !self.plain.is_empty() || self.peers.values().any(|peer| peer.may_send() > 0)
    }

    /// The next packet, of so many bytes at most.
    fn next_packet(&mut self, most: usize) -> Vec<u8> {
        if let Some((port, ours, op)) = self.plain.pop_front() {
            let head = Head { from_port: ours.into(), to_port: port.into(), ..Head::default() };
            let head = Head { op: op.into(), ..head };
            return self.peers.get_mut(&port).map_or(head, |peer| peer.credit(head)).to_bytes();
        }
        let Some((port, peer)) = self.peers.iter_mut().find(|(_, peer)| peer.may_send() > 0) else {
            return Vec::new();
        };
        let port = *port;
        let count = peer.may_send().min(most - HEAD);
        let data = peer.out[peer.sent..peer.sent + count].to_vec();
        (peer.sent, peer.given) = (peer.sent + count, peer.given.wrapping_add(count as u32));
        if peer.sent == peer.out.len() {
            peer.out.clear();
            peer.sent = 0;
        }
        let head = Head {
            from_port: PORT.into(),
            to_port: port.into(),
            length: (count as u32).into(),
            op: op::DATA.into(),
            ..Head::default()
        };
        let packet = [peer.credit(head).to_bytes(), data].concat();
        if peer.is_ending && peer.out.is_empty() {
            self.peers.remove(&port);
            self.plain.push_back((port, PORT, op::RESET));
        }
        packet
    }
}

impl Peer {
    fn new(session: Box<dyn Session>) -> Self {
        Self {
            session,
            input: Vec::new(),
            out: Vec::new(),
            sent: 0,
            taken: 0,
            told: 0,
            room: 0,
            has_taken: 0,
            given: 0,
            is_ending: false,
        }
    }

    fn hear(&mut self, data: &[u8], desk: &mut dyn Desk) {
        self.input.extend_from_slice(data);
        while !self.is_ending {
            match self.session.receive(&self.input, &mut self.out, desk) {
                Ok(0) => return,
                Ok(taken) => drop(self.input.drain(..taken)),
                // Its last words are sent.
                Err(_) => self.is_ending = true,
            }
        }
    }

    /// Bytes that it has for the guest, and for which that has room.
    fn may_send(&self) -> usize {
        let under_way = self.given.wrapping_sub(self.has_taken);
        (self.out.len() - self.sent).min(self.room.saturating_sub(under_way) as usize)
    }

    /// The header with the room here.
    fn credit(&mut self, head: Head) -> Head {
        self.told = self.taken;
        Head { taken: self.taken.into(), ..head }
    }
}

impl Head {
    fn to_bytes(self) -> Vec<u8> {
        let (from, to, kind) = (HOST.into(), GUEST.into(), STREAM.into());
        Self { from, to, kind, room: ROOM.into(), ..self }.as_bytes().to_vec()
    }
}

impl Device {
    /// Acts on the packet in the chain of a flight.
    pub(super) fn hear_packet(&mut self, place: usize, desk: &mut dyn Desk) -> Result<(), String> {
        let flight = &self.flights[place];
        let length = total(&flight.readable);
        if length > HEAD as u64 + DATA_MAX {
            return Err(format!("has a packet of {length} bytes, at most {DATA_MAX}"));
        }
        self.bytes.resize(length as usize, 0);
        flight.gather(0, &mut self.bytes);
        match &mut self.socket {
            Some(socket) => socket.hear(&self.bytes, desk),
            None => Ok(()),
        }
    }

    /// A request of a stream is done.
    pub(super) fn stream_done(&mut self, done: &Done, data: &dyn Fn(&mut Vec<u8>)) {
        if let Some(socket) = &mut self.socket {
            socket.done(done, data);
        }
    }

    /// Sends what there is, as far as the guest has given buffers for it.
    pub(super) fn send_packets(&mut self) -> Result<(), String> {
        let wrong = |why: String| format!("queue {TO_GUEST} {why}");
        let Some(socket) = &mut self.socket else { return Ok(()) };
        let ring = &mut self.rings[TO_GUEST];
        while ring.runs() && socket.has_packets() {
            let Some(head) = ring.take(&self.memory).map_err(wrong)? else { return Ok(()) };
            let (mut readable, mut writable) = (Vec::new(), Vec::new());
            ring.chain(&self.memory, head, &mut readable, &mut writable).map_err(wrong)?;
            let most = usize::try_from(total(&writable)).unwrap_or(usize::MAX);
            if most <= HEAD {
                return Err(wrong(format!("has a buffer of {most} bytes for a packet")));
            }
            let packet = socket.next_packet(most);
            for (at, from, length) in pieces(&writable, 0, packet.len() as u64) {
                let written = self.memory.write(at, &packet[from..from + length]);
                written.map_err(|why| wrong(outside(why)))?;
            }
            let wants = ring.give(&self.memory, head, packet.len() as u32);
            self.calls |= u64::from(wants.map_err(|why| wrong(outside(why)))?) << TO_GUEST;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
