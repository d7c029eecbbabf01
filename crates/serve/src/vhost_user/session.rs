//! A connection of a front-end: its messages, its queues, and requests under way.

use super::chain::{Span, total};
use super::memory::Memory;
use super::ring::{Places, Ring, outside};
use super::socket::{self, Socket};
use super::wire::{
    Addresses, Header, NO_DESCRIPTOR, PAYLOAD_MAX, QUEUE_SIZE_MAX, QUEUES, REGIONS, RegionEntry,
    State, answer, chosen, feature, flag, number, protocol, request, status,
};
use crate::front::{Desk, Done};
use rustix::event::epoll;
use rustix::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::rc::Rc;
use tracing::debug;
use zerocopy::{FromBytes, IntoBytes};

/// A chain that was taken from a queue.
#[derive(Debug)]
pub(super) struct Flight {
    queue: usize,
    head: u16,
    /// The queue's stops when it was taken.
    stops: u32,
    pub readable: Vec<Span>,
    pub writable: Vec<Span>,
    /// Requests of it under way.
    pub left: u32,
    pub is_read: bool,
    pub status: u8,
    /// The table by which its addresses were checked.
    pub memory: Rc<Memory>,
}

/// A device as one front-end has it.
#[derive(Debug)]
pub(super) struct Device {
    pub name: String,
    /// Bytes of a page of the model.
    pub page: u32,
    /// Features that the driver has taken.
    pub features: u64,
    pub protocol: u64,
    pub memory: Rc<Memory>,
    pub rings: Vec<Ring>,
    pub flights: Vec<Flight>,
    /// Flights that are free.
    free: Vec<usize>,
    /// Watches the kicks of all queues.
    bell: Option<OwnedFd>,
    /// Descriptors that came with the message that is not whole yet.
    files: Vec<OwnedFd>,
    /// Where requests of the device's own go; its end would be an error to some front-ends.
    pub requests: Option<OwnedFd>,
    /// Protocol features that it offers.
    pub offered: u64,
    /// A planted defect: a FLUSH is answered at once.
    pub lies: bool,
    /// It carries the streams of a network, and is no disk.
    pub socket: Option<Box<Socket>>,
    /// Queues of which the driver is to hear, a bit each: where notifications are in-band.
    pub calls: u64,
    /// The queue whose end waits for its requests.
    ending: Option<usize>,
    /// The queue that is looked at next.
    turn: usize,
    pub has_spoken: bool,
    /// Why the connection has to end.
    fault: Option<String>,
    /// Bytes on their way between the client's memory and the model.
    pub bytes: Vec<u8>,
}

/// The answer to a message.
enum Reply {
    /// Nothing, or a word of success where the front-end asks for it.
    None,
    Number(u64),
    Bytes(Vec<u8>),
    /// The answer comes when the queue's requests are done.
    Later,
}

impl Device {
    pub fn new(name: String, page: u32) -> Self {
        Self {
            name,
            page,
            features: 0,
            protocol: 0,
            memory: Rc::new(Memory::default()),
            rings: (0..QUEUES).map(|_| Ring::default()).collect(),
            flights: Vec::new(),
            free: Vec::new(),
            bell: epoll::create(epoll::CreateFlags::CLOEXEC).ok(),
            files: Vec::new(),
            requests: None,
            offered: protocol::OFFERED,
            lies: false,
            socket: None,
            calls: 0,
            ending: None,
            turn: 0,
            has_spoken: false,
            fault: None,
            bytes: Vec::new(),
        }
    }

    pub fn bell(&self) -> Option<BorrowedFd<'_>> {
        self.bell.as_ref().map(AsFd::as_fd)
    }

    pub fn keep(&mut self, files: Vec<OwnedFd>) {
        self.files.extend(files);
    }

    /// Bytes of the message at the front of `bytes`, as far as they are known.
    pub fn message_bytes(bytes: &[u8]) -> usize {
        let head = Header::read_from_prefix(bytes).map(|(header, _)| header.size.get());
        super::wire::HEADER + head.map_or(0, |size| (size as usize).min(PAYLOAD_MAX))
    }

    /// Takes a message.
    pub fn hear(
        &mut self,
        bytes: &[u8],
        out: &mut Vec<u8>,
        desk: &dyn Desk,
    ) -> Result<usize, String> {
        self.fault.take().map_or(Ok(()), Err)?;
        let Ok((header, rest)) = Header::read_from_prefix(bytes) else { return Ok(0) };
        let (request, flags, size) = (header.request.get(), header.flags.get(), header.size.get());
        if flags & flag::VERSION_MASK != flag::VERSION || flags & flag::REPLY != 0 {
            return Err(format!("a message with flags {flags:#x}: no request of version 1"));
        }
        if size as usize > PAYLOAD_MAX {
            return Err(format!("request {request} of {size} bytes, at most {PAYLOAD_MAX}"));
        }
        let Some(payload) = rest.get(..size as usize) else { return Ok(0) };
        if let Some(queue) = self.ending {
            return Err(format!("request {request} before the end of queue {queue} was answered"));
        }
        self.has_spoken = true;
        debug!(request, size, files = self.files.len(), "message");
        let files = std::mem::take(&mut self.files);
        let reply = self.act(request, payload, files, desk);
        let reply = reply.map_err(|why| format!("request {request}: {why}"))?;
        let wants = flags & flag::NEED_REPLY != 0 && self.protocol & protocol::REPLY_ACK != 0;
        match reply {
            Reply::Number(number) => answer(request, number.as_bytes(), out),
            Reply::Bytes(bytes) => answer(request, &bytes, out),
            Reply::None if wants => answer(request, 0u64.as_bytes(), out),
            Reply::None | Reply::Later => {}
        }
        self.conclude_end(out);
        Ok(super::wire::HEADER + payload.len())
    }

    fn act(
        &mut self,
        request: u32,
        payload: &[u8],
        mut files: Vec<OwnedFd>,
        desk: &dyn Desk,
    ) -> Result<Reply, String> {
        let file = if files.len() == 1 { files.pop() } else { None };
        match request {
            request::SET_MEM_TABLE => self.set_memory(payload, files, file)?,
            request::SET_VRING_KICK | request::SET_VRING_CALL | request::SET_VRING_ERR => {
                if !files.is_empty() {
                    return Err(format!("{} descriptors", files.len()));
                }
                self.set_descriptor(request, number(payload)?, file)?;
            }
            request::SET_BACKEND_REQ_FD if file.is_some() => self.requests = file,
            _ if file.is_some() || !files.is_empty() => return Err("with a descriptor".into()),
            request::GET_FEATURES => return Ok(Reply::Number(self.has())),
            request::SET_FEATURES => self.set_features(number(payload)?)?,
            request::GET_PROTOCOL_FEATURES => return Ok(Reply::Number(self.offered)),
            request::SET_PROTOCOL_FEATURES => {
                self.protocol = chosen(number(payload)?, self.offered)?;
            }
            request::SET_OWNER => {}
            request::RESET_OWNER => self.rings.iter_mut().for_each(Ring::stop),
            request::GET_QUEUE_NUM => return Ok(Reply::Number(QUEUES as u64)),
            request::GET_CONFIG => return self.config(payload, desk.size(0)).map(Reply::Bytes),
            request::SET_VRING_ADDR => self.set_addresses(payload)?,
            request::SET_VRING_NUM
            | request::SET_VRING_BASE
            | request::SET_VRING_ENABLE
            | request::VRING_KICK
            | request::GET_VRING_BASE => return self.set_state(request, payload),
            _ => return Err("it is not spoken here".into()),
        }
        Ok(Reply::None)
    }

    /// Features of its kind.
    fn has(&self) -> u64 {
        if self.socket.is_some() { feature::OF_ALL } else { feature::OFFERED }
    }

    fn set_features(&mut self, wanted: u64) -> Result<(), String> {
        self.features = chosen(wanted, self.has())?;
        for ring in &mut self.rings {
            ring.has_event_index = self.features & feature::EVENT_IDX != 0;
            ring.has_tables = self.features & feature::INDIRECT != 0;
        }
        Ok(())
    }

    fn set_memory(
        &mut self,
        payload: &[u8],
        mut files: Vec<OwnedFd>,
        file: Option<OwnedFd>,
    ) -> Result<(), String> {
        files.extend(file);
        let Ok((head, rest)) = State::read_from_prefix(payload) else {
            return Err(format!("a payload of {} bytes", payload.len()));
        };
        let count = head.index.get() as usize;
        let Ok((regions, _)) = <[RegionEntry]>::ref_from_prefix_with_elems(rest, count) else {
            return Err(format!("{count} regions in {} bytes", payload.len()));
        };
        if files.len() != count {
            return Err(format!("{count} regions with {} descriptors", files.len()));
        }
        if count > REGIONS {
            return Err(format!("{count} regions, at most {REGIONS}"));
        }
        self.memory = Rc::new(Memory::new(regions, files)?);
        // A table lives as long as a request that was checked by it.
        for place in &self.free {
            self.flights[*place].memory = self.memory.clone();
        }
        Ok(())
    }

    fn ring(&mut self, number: u64) -> Result<&mut Ring, String> {
        let count = self.rings.len();
        let ring = usize::try_from(number).ok().and_then(|number| self.rings.get_mut(number));
        ring.ok_or_else(|| format!("queue {number}, there are {count}"))
    }

    fn set_state(&mut self, request: u32, payload: &[u8]) -> Result<Reply, String> {
        let (state, _) = State::read_from_prefix(payload)
            .map_err(|_| format!("a payload of {} bytes", payload.len()))?;
        let (index, value) = (state.index.get(), state.value.get());
        let (memory, is_in_band) = (self.memory.clone(), self.protocol & protocol::IN_BAND != 0);
        let ring = self.ring(index.into())?;
        match request {
            request::VRING_KICK if !is_in_band => return Err("kicks are not in-band".into()),
            request::VRING_KICK => ring.is_pending = ring.runs(),
            request::GET_VRING_BASE => {
                ring.is_enabled &= ring.is_started;
                ring.is_pending = false;
                self.ending = Some(index as usize);
                return Ok(Reply::Later);
            }
            request::SET_VRING_ENABLE if value > 1 => return Err(format!("enable {value}")),
            request::SET_VRING_ENABLE => {
                // Without a kick descriptor nothing else begins it.
                if is_in_band && value == 1 && !ring.is_started {
                    ring.start(&memory).map_err(|why| format!("queue {index} {why}"))?;
                }
                ring.is_enabled = value == 1;
                ring.is_pending = ring.runs();
            }
            _ if ring.is_started => return Err(format!("queue {index} is started")),
            request::SET_VRING_NUM => {
                if !value.is_power_of_two() || value > QUEUE_SIZE_MAX {
                    return Err(format!("size {value}: a power of two to {QUEUE_SIZE_MAX}"));
                }
                ring.size = value as u16;
            }
            _ => ring.next = u16::try_from(value).map_err(|_| format!("base {value}"))?,
        }
        Ok(Reply::None)
    }

    fn set_addresses(&mut self, payload: &[u8]) -> Result<(), String> {
        let (at, _) = Addresses::read_from_prefix(payload)
            .map_err(|_| format!("a payload of {} bytes", payload.len()))?;
        if at.flags.get() != 0 {
            return Err(format!("flags {:#x}: nothing is logged", at.flags.get()));
        }
        let guest = |user: u64| self.memory.guest_of(user).map_err(outside);
        let places = Places {
            descriptors: guest(at.descriptors.get())?,
            available: guest(at.available.get())?,
            used: guest(at.used.get())?,
        };
        let index = at.index.get();
        let ring = self.ring(index.into())?;
        if ring.is_started {
            return Err(format!("queue {index} is started"));
        }
        ring.places = Some(places);
        Ok(())
    }

    fn set_descriptor(
        &mut self,
        request: u32,
        payload: u64,
        file: Option<OwnedFd>,
    ) -> Result<(), String> {
        let queue = payload & (NO_DESCRIPTOR - 1);
        if payload & !(2 * NO_DESCRIPTOR - 1) != 0 {
            return Err(format!("{payload:#x} is no queue"));
        }
        if file.is_some() == (payload & NO_DESCRIPTOR != 0) {
            return Err("its descriptor is missing, or one too many".into());
        }
        if let Some(file) = &file {
            io::ioctl_fionbio(file, true).map_err(|error| format!("its descriptor: {error}"))?;
        }
        let has_protocol = self.features & feature::PROTOCOL_FEATURES != 0;
        let memory = self.memory.clone();
        self.ring(queue)?;
        let (ring, bell) = (&mut self.rings[queue as usize], &self.bell);
        match request {
            request::SET_VRING_CALL => ring.call = file,
            request::SET_VRING_ERR => {}
            _ => {
                let Some(kick) = file else {
                    return Err(format!("queue {queue} without kicks: it is not polled here"));
                };
                let Some(bell) = bell else {
                    return Err("the server has no descriptor left".into());
                };
                if let Some(before) = ring.kick.take() {
                    let _ = epoll::delete(bell, &before);
                }
                let data = epoll::EventData::new_u64(queue);
                epoll::add(bell, &kick, data, epoll::EventFlags::IN)
                    .map_err(|error| format!("its descriptor: {error}"))?;
                ring.kick = Some(kick);
                ring.is_enabled |= !has_protocol;
                if !ring.is_started {
                    ring.start(&memory).map_err(|why| format!("queue {queue} {why}"))?;
                }
                ring.is_pending = true;
            }
        }
        Ok(())
    }

    /// Ends the queue that is to end, once nothing of it is under way.
    fn conclude_end(&mut self, out: &mut Vec<u8>) {
        let Some(queue) = self.ending.filter(|queue| self.rings[*queue].in_flight == 0) else {
            return;
        };
        self.ending = None;
        let ring = &mut self.rings[queue];
        if let (Some(bell), Some(kick)) = (&self.bell, &ring.kick) {
            let _ = epoll::delete(bell, kick);
        }
        ring.stop();
        let state = State { index: (queue as u32).into(), value: u32::from(ring.next).into() };
        answer(request::GET_VRING_BASE, state.as_bytes(), out);
    }

    /// Hears which queues were kicked.
    pub fn hear_bell(&mut self) {
        let Some(bell) = &self.bell else { return };
        let mut events = [epoll::Event {
            flags: epoll::EventFlags::empty(),
            data: epoll::EventData::new_u64(0),
        }; QUEUES];
        let count = epoll::wait(bell, &mut events[..], Some(&rustix::event::Timespec::default()));
        for event in &events[..count.unwrap_or(0)] {
            let Some(ring) = self.rings.get_mut(event.data.u64() as usize) else { continue };
            let Some(kick) = &ring.kick else { continue };
            let mut counter = [0; 4096];
            match io::read(kick, &mut counter) {
                Ok(1..) | Err(io::Errno::AGAIN | io::Errno::INTR) => {}
                // The other end of a pipe is closed: nothing more comes.
                Ok(0) | Err(_) => drop(epoll::delete(bell, kick)),
            }
            ring.is_pending = ring.runs();
        }
    }

    /// Takes the next chain of any queue and acts on it; false when there is none. What is wrong
    /// in memory that was taken away is wrong for that reason.
    pub fn fetch(&mut self, desk: &mut dyn Desk) -> Result<bool, String> {
        let fetched = self.fetch_one(desk);
        self.look().and(fetched)
    }

    fn fetch_one(&mut self, desk: &mut dyn Desk) -> Result<bool, String> {
        for number in 0..self.rings.len() {
            let queue = (self.turn + number) % self.rings.len();
            let ring = &mut self.rings[queue];
            let is_taken = self.socket.is_none() || queue == socket::FROM_GUEST;
            if !ring.is_pending || !ring.runs() || self.ending == Some(queue) || !is_taken {
                continue;
            }
            let taken = ring.take(&self.memory).map_err(|why| format!("queue {queue} {why}"))?;
            let Some(head) = taken else {
                ring.is_pending = false;
                continue;
            };
            self.turn = queue + 1;
            self.begin(queue, head, desk).map_err(|why| format!("queue {queue} {why}"))?;
            return Ok(true);
        }
        Ok(false)
    }

    /// The client's memory is still there.
    pub fn look(&mut self) -> Result<(), String> {
        self.fault.take().map_or(Ok(()), Err)?;
        match self.memory.is_lost() {
            true => Err("the client made the file of its memory smaller".into()),
            false => Ok(()),
        }
    }

    fn begin(&mut self, queue: usize, head: u16, desk: &mut dyn Desk) -> Result<(), String> {
        let place = self.free.pop().unwrap_or_else(|| {
            self.flights.push(Flight {
                queue,
                head,
                stops: 0,
                readable: Vec::new(),
                writable: Vec::new(),
                left: 0,
                is_read: false,
                status: status::OK,
                memory: self.memory.clone(),
            });
            self.flights.len() - 1
        });
        let (flight, ring) = (&mut self.flights[place], &self.rings[queue]);
        (flight.queue, flight.head, flight.stops) = (queue, head, ring.stops);
        (flight.left, flight.is_read, flight.status) = (0, false, status::OK);
        flight.readable.clear();
        flight.writable.clear();
        flight.memory = self.memory.clone();
        ring.chain(&self.memory, head, &mut flight.readable, &mut flight.writable)?;
        if self.socket.is_some() {
            self.hear_packet(place, desk)?;
            self.give_back(place);
            return Ok(());
        }
        if total(&flight.writable) == 0 {
            return Err("has a chain without a byte for the status".into());
        }
        if let Some(status) = self.hand_in(place, desk) {
            if status != status::OK {
                desk.refuse();
            }
            self.flights[place].status = status;
            self.give_back(place);
        }
        Ok(())
    }

    /// Gives the chain of a flight back to its queue.
    fn give_back(&mut self, place: usize) {
        let flight = &self.flights[place];
        let (queue, ring) = (flight.queue, &mut self.rings[flight.queue]);
        if flight.stops == ring.stops && ring.is_started {
            let length = flight.conclude();
            match ring.give(&self.memory, flight.head, length) {
                Ok(wants) => self.calls |= u64::from(wants) << queue,
                Err(why) => self.fault = Some(format!("queue {queue} {}", outside(why))),
            }
        }
        self.free.push(place);
    }

    /// A request is done.
    pub fn done(&mut self, done: &Done, out: &mut Vec<u8>, data: &dyn Fn(&mut Vec<u8>)) {
        if let Some(place) = self.is_last(done, data) {
            self.give_back(place);
            self.conclude_end(out);
        }
    }
}
