//! A connection: a queue pair. PDUs come in and are checked, commands are carried out when their
//! data are there, data and answers go out.
//!
//! A command whose data did not come with it is asked for them by one R2T, as soon as the data that
//! were asked for before leave room ([`ROOM`]).

use super::crc::crc32c;
use super::pointer::{HostData, SGL_TYPE, TRANSIENT, host_data};
use super::shared::Shared;
use super::wire::{
    Broken, COMMAND_HEAD, DATA_HEAD, H2C_MAX, HEAD, Head, IC, IN_CAPSULE, Terms, flag, kind, le16,
    le32,
};
use crate::front::{Desk, Done, Fault, Session};
use manx_core::drive::Status;
use manx_core::nvme::{Cqe, Sqe, StatusField};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time;
use zerocopy::{FromBytes, IntoBytes};

/// Entries of a queue at most (CAP.MQES and MAXCMD).
pub(super) const ENTRIES: u32 = 128;
/// Bytes of data that one connection is asked for at once.
const ROOM: usize = 8 << 20;

/// How far a connection has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// ICReq is awaited.
    New,
    /// Connect is awaited.
    Initialized,
    Admin,
    Io,
    /// The host said good-bye.
    Gone,
}

/// A command under way.
#[derive(Debug)]
pub(super) struct Flight {
    pub sqe: Sqe,
    /// Data of the host, as far as they are kept.
    pub data: Vec<u8>,
    /// Bytes of them that came by H2CData.
    got: usize,
    /// Bytes that are asked for.
    asked: usize,
    /// Requests of the model that are not done.
    pub left: u32,
    pub status: StatusField,
    pub result: u64,
}

/// A connection of a host.
#[derive(Debug)]
pub(super) struct Queue {
    pub shared: Rc<RefCell<Shared>>,
    pub local: Option<SocketAddr>,
    pub phase: Phase,
    terms: Terms,
    /// The controller that it is a queue of, and which of its lives that was in when it came.
    pub controller: u16,
    pub lives: u32,
    pub id: u16,
    pub entries: u32,
    /// The host has switched off flow control of the submission queue.
    pub has_no_flow: bool,
    head: u32,
    flights: Vec<Option<Flight>>,
    free: Vec<u32>,
    /// Commands that wait to be asked for their data.
    waiting: VecDeque<u32>,
    room_taken: usize,
    /// Event requests under way: place, and identifiers at the drives' controllers.
    pub events: Vec<(u32, Vec<u16>)>,
    /// Keep-alive timeout, if there is one, and the last command.
    pub keep_alive: Option<time::Duration>,
    pub heard: time::Instant,
}

impl Queue {
    pub fn new(shared: Rc<RefCell<Shared>>, local: Option<SocketAddr>) -> Self {
        Self {
            shared,
            local,
            phase: Phase::New,
            terms: Terms::default(),
            controller: 0,
            lives: 0,
            id: 0,
            entries: ENTRIES,
            has_no_flow: false,
            head: 0,
            flights: Vec::new(),
            free: Vec::new(),
            waiting: VecDeque::new(),
            room_taken: 0,
            events: Vec::new(),
            keep_alive: None,
            heard: time::Instant::now(),
        }
    }

    /// Checks a head before its PDU is whole: its type, and all lengths by it.
    fn check(&self, head: &Head) -> Result<(), Broken> {
        let (hlen, longest) = match (self.phase, head.kind) {
            (Phase::New, kind::IC_REQ) => (IC, IC),
            (_, kind::IC_REQ) => return Err(Broken::Sequence),
            (_, kind::H2C_TERM) => (DATA_HEAD, DATA_HEAD + 128),
            (Phase::New, kind::COMMAND | kind::H2C_DATA) => return Err(Broken::Sequence),
            (_, kind::COMMAND) => (COMMAND_HEAD, 256 + IN_CAPSULE + 4),
            (_, kind::H2C_DATA) => (DATA_HEAD, 256 + H2C_MAX as usize + 4),
            _ => return Err(Broken::Field(0)),
        };
        if head.hlen != hlen {
            return Err(Broken::Field(2));
        }
        if head.plen < hlen {
            return Err(Broken::Field(4));
        }
        if head.plen > longest {
            let is_data = head.kind == kind::H2C_DATA;
            return Err(if is_data { Broken::TooMuch } else { Broken::Field(4) });
        }
        if matches!(head.kind, kind::COMMAND | kind::H2C_DATA) {
            return self.terms.check_data(head);
        }
        Ok(())
    }

    /// A whole PDU.
    fn take(
        &mut self,
        head: &Head,
        pdu: &[u8],
        out: &mut Vec<u8>,
        desk: &mut dyn Desk,
    ) -> Result<(), Fault> {
        match head.kind {
            kind::IC_REQ => return self.initialize(pdu, out),
            kind::H2C_TERM => {
                let status = le16(pdu, 8);
                let why = format!("the host ended it: fatal error status {status:02x}h");
                return Err(Fault::Protocol(why));
            }
            _ => {}
        }
        let mut data_start = head.hlen;
        if self.terms.header_digest {
            data_start += 4;
            let digest = le32(pdu, head.hlen);
            if digest != crc32c(&pdu[..head.hlen]) {
                return Err(Broken::HeaderDigest(digest).terminate(pdu, out));
            }
        }
        let (mut data, mut is_intact) = (&pdu[pdu.len()..], true);
        if head.plen > data_start {
            let end = head.plen - if self.terms.data_digest { 4 } else { 0 };
            data = &pdu[head.pdo..end];
            is_intact = !self.terms.data_digest || le32(pdu, end) == crc32c(data);
        }
        let taken = match head.kind {
            kind::COMMAND => self.take_command(pdu, data, is_intact, out, desk),
            _ => self.take_data(head, pdu, data, is_intact, out, desk),
        };
        taken.map_err(|broken| broken.terminate(pdu, out))
    }

    fn initialize(&mut self, pdu: &[u8], out: &mut Vec<u8>) -> Result<(), Fault> {
        let (alignment, digests) = (pdu[10], pdu[11]);
        let broken = match () {
            () if le16(pdu, 8) != 0 => Some(Broken::Unsupported(8)),
            () if alignment > 31 => Some(Broken::Field(10)),
            () if digests > 3 => Some(Broken::Field(11)),
            () => None,
        };
        if let Some(broken) = broken {
            return Err(broken.terminate(pdu, out));
        }
        out.extend_from_slice(&[kind::IC_RESP, 0, IC as u8, 0]);
        out.extend_from_slice(&(IC as u32).to_le_bytes());
        out.extend_from_slice(&[0, 0, 0, digests]);
        out.extend_from_slice(&H2C_MAX.to_le_bytes());
        out.resize(out.len() + IC - 16, 0);
        self.terms = Terms {
            header_digest: digests & 1 == 1,
            data_digest: digests & 2 == 2,
            alignment: (usize::from(alignment) + 1) * 4,
        };
        self.phase = Phase::Initialized;
        Ok(())
    }

    fn take_command(
        &mut self,
        pdu: &[u8],
        capsule: &[u8],
        is_intact: bool,
        out: &mut Vec<u8>,
        desk: &mut dyn Desk,
    ) -> Result<(), Broken> {
        let sqe = Sqe::read_from_bytes(&pdu[HEAD..COMMAND_HEAD]).unwrap_or_default();
        if self.flights.len() - self.free.len() >= self.entries as usize {
            return Err(Broken::Sequence);
        }
        self.head = (self.head + 1) % self.entries;
        self.heard = time::Instant::now();
        let place = self.begin(sqe);
        if !is_intact {
            self.refuse(place, TRANSIENT, out, desk);
            return Ok(());
        }
        match host_data(&sqe, capsule) {
            Err(status) => self.refuse(place, status, out, desk),
            Ok(HostData::Here(data)) => self.execute(place, &sqe, data, out, desk),
            Ok(HostData::Awaited(length)) if length > super::io::TRANSFER_MAX => {
                self.refuse(place, StatusField::INVALID_FIELD, out, desk);
            }
            Ok(HostData::Awaited(_)) if self.phase == Phase::Initialized => {
                // The data of Connect come with it.
                self.answer(place, SGL_TYPE, 0, out);
            }
            Ok(HostData::Awaited(length)) => {
                self.flight(place).asked = length;
                self.waiting.push_back(place);
                self.ask_for_data(out);
            }
        }
        Ok(())
    }

    /// Asks for data as far as there is room.
    fn ask_for_data(&mut self, out: &mut Vec<u8>) {
        while let Some(place) = self.waiting.front().copied() {
            let flight = self.flight(place);
            let (cid, length) = (flight.sqe.cid.get(), flight.asked);
            if self.room_taken + length > ROOM {
                return;
            }
            self.waiting.pop_front();
            self.room_taken += length;
            self.flight(place).data = Vec::with_capacity(length);
            let mut fields = [0; DATA_HEAD - HEAD];
            fields[..2].copy_from_slice(&cid.to_le_bytes());
            fields[2..4].copy_from_slice(&(place as u16).to_le_bytes());
            fields[8..12].copy_from_slice(&(length as u32).to_le_bytes());
            self.terms.write_head(kind::R2T, &fields, out);
        }
    }

    fn take_data(
        &mut self,
        head: &Head,
        pdu: &[u8],
        data: &[u8],
        is_intact: bool,
        out: &mut Vec<u8>,
        desk: &mut dyn Desk,
    ) -> Result<(), Broken> {
        let (cid, place) = (le16(pdu, 8), u32::from(le16(pdu, 10)));
        let (offset, length) = (le32(pdu, 12) as usize, le32(pdu, 16) as usize);
        let flight = self.flights.get_mut(place as usize).and_then(Option::as_mut);
        // One that was asked for: it has a place for its data.
        let Some(flight) = flight.filter(|flight| flight.data.capacity() > 0 && flight.left == 0)
        else {
            return Err(Broken::Field(10));
        };
        if flight.sqe.cid.get() != cid {
            return Err(Broken::Field(8));
        }
        if length != data.len() || length == 0 {
            return Err(Broken::Field(16));
        }
        if offset != flight.got || offset + length > flight.asked {
            return Err(Broken::OutOfRange);
        }
        let is_last = offset + length == flight.asked;
        if is_last != (head.flags & flag::LAST != 0) {
            return Err(Broken::Field(1));
        }
        flight.got += length;
        flight.data.extend_from_slice(data);
        if !is_intact {
            flight.status = TRANSIENT;
        }
        if is_last {
            let (sqe, data, status) = (flight.sqe, std::mem::take(&mut flight.data), flight.status);
            self.room_taken -= data.len();
            match status {
                StatusField::SUCCESS => self.execute(place, &sqe, &data, out, desk),
                status => self.refuse(place, status, out, desk),
            }
            self.ask_for_data(out);
        }
        Ok(())
    }

    /// Carries out a command whose data are there.
    fn execute(
        &mut self,
        place: u32,
        sqe: &Sqe,
        data: &[u8],
        out: &mut Vec<u8>,
        desk: &mut dyn Desk,
    ) {
        match self.phase {
            Phase::Io if sqe.opcode != super::fabrics::OPCODE => {
                self.execute_io(place, sqe, data, out, desk);
            }
            Phase::Admin if sqe.opcode != super::fabrics::OPCODE => {
                self.execute_admin(place, sqe, data, out, desk);
            }
            _ => self.execute_fabrics(place, sqe, data, out, desk),
        }
    }

    fn begin(&mut self, sqe: Sqe) -> u32 {
        let flight = Flight {
            sqe,
            data: Vec::new(),
            got: 0,
            asked: 0,
            left: 0,
            status: StatusField::SUCCESS,
            result: 0,
        };
        let place = self.free.pop().unwrap_or_else(|| {
            self.flights.push(None);
            (self.flights.len() - 1) as u32
        });
        self.flights[place as usize] = Some(flight);
        place
    }

    /// The command at a place that is taken.
    pub fn flight(&mut self, place: u32) -> &mut Flight {
        self.flights[place as usize].as_mut().expect("a command is under way there")
    }

    /// Ends a command.
    pub fn answer(&mut self, place: u32, status: StatusField, result: u64, out: &mut Vec<u8>) {
        let Some(flight) = self.flights[place as usize].take() else { return };
        self.free.push(place);
        let head = if self.has_no_flow { u16::MAX } else { self.head as u16 };
        let cqe = Cqe::new(self.id, flight.sqe.cid.get(), status, result).in_queue(head, false);
        self.terms.write_head(kind::RESPONSE, cqe.as_bytes(), out);
    }

    /// Sends a command its data, `length` bytes that `data` appends, and ends it.
    pub fn answer_with(
        &mut self,
        place: u32,
        length: usize,
        result: u64,
        data: &dyn Fn(&mut Vec<u8>),
        out: &mut Vec<u8>,
    ) {
        let cid = self.flight(place).sqe.cid.get();
        // Without flow control the host needs no word of the queue's head.
        let is_whole = self.has_no_flow && result == 0;
        let flags = if is_whole { flag::SUCCESS } else { 0 };
        self.terms.write_data(cid, flags, length, data, out);
        if is_whole {
            self.flights[place as usize] = None;
            self.free.push(place);
        } else {
            self.answer(place, StatusField::SUCCESS, result, out);
        }
    }

    /// Late answers of the drive's controller.
    fn tell_late_answers(&mut self, out: &mut Vec<u8>, desk: &mut dyn Desk) {
        let answered = match self.shared.borrow_mut().controllers.get_mut(&self.controller) {
            Some(controller) => std::mem::take(&mut controller.answered),
            None => return,
        };
        for (place, done) in answered {
            self.forget_event(place, desk);
            self.answer(place, done.status, done.result.into(), out);
        }
    }

    /// Its controller is gone, or of another life.
    fn is_orphan(&self) -> bool {
        let shared = self.shared.borrow();
        let controller = shared.controllers.get(&self.controller);
        controller.is_none_or(|controller| controller.lives != self.lives)
    }

    /// The commands under way but one are gone, unanswered.
    pub fn discard_but(&mut self, place: u32) {
        for (other, flight) in (0..).zip(&mut self.flights) {
            if other != place && flight.take().is_some() {
                self.free.push(other);
            }
        }
        self.events.clear();
        self.waiting.clear();
        self.room_taken = 0;
    }
}

impl Session for Queue {
    fn receive(
        &mut self,
        bytes: &[u8],
        out: &mut Vec<u8>,
        desk: &mut dyn Desk,
    ) -> Result<usize, Fault> {
        // No command is begun, and none gets its data, once the queue is gone.
        if self.phase == Phase::Gone || self.phase == Phase::Io && self.is_orphan() {
            return Err(Fault::Closed);
        }
        if bytes.len() < HEAD {
            return Ok(0);
        }
        let head = Head::of(bytes);
        if let Err(broken) = self.check(&head) {
            return Err(broken.terminate(bytes, out));
        }
        let Some(pdu) = bytes.get(..head.plen) else { return Ok(0) };
        self.take(&head, pdu, out, desk)?;
        Ok(head.plen)
    }

    fn done(&mut self, done: &Done, out: &mut Vec<u8>, data: &dyn Fn(&mut Vec<u8>)) {
        let place = done.ask.cookie as u32;
        if done.status != Status::Success {
            let terms = self.shared.borrow().subsystem.terms(0);
            let flight = self.flight(place);
            flight.status = StatusField::of_status(done.status, done.dnr, &terms);
            flight.result = done.result;
        }
        let flight = self.flight(place);
        flight.left -= 1;
        if flight.left == 0 {
            self.finish(place, done.ask.length as usize, data, out);
        }
    }

    fn is_settled(&self) -> bool {
        matches!(self.phase, Phase::Admin | Phase::Io)
    }

    fn tick(&mut self, out: &mut Vec<u8>, desk: &mut dyn Desk) -> Result<(), Fault> {
        match self.phase {
            Phase::Gone => return Err(Fault::Closed),
            Phase::Io if self.is_orphan() => return Err(Fault::Closed),
            Phase::Admin => self.tell_late_answers(out, desk),
            _ => {}
        }
        let is_alive = |timeout: time::Duration| self.heard.elapsed() <= timeout;
        match self.keep_alive.filter(|timeout| !is_alive(*timeout)) {
            Some(timeout) => {
                Err(Fault::Protocol(format!("no keep-alive within {} s", timeout.as_secs())))
            }
            None => Ok(()),
        }
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        let mut shared = self.shared.borrow_mut();
        match self.phase {
            Phase::Admin => {
                shared.controllers.remove(&self.controller);
                shared.has_ended = true;
            }
            _ if self.id > 0 => {
                let controller = shared.controllers.get_mut(&self.controller);
                // After a reset another connection may have its number.
                if let Some(controller) = controller.filter(|held| held.lives == self.lives) {
                    controller.connected.remove(&self.id);
                }
            }
            _ => {}
        }
    }
}
