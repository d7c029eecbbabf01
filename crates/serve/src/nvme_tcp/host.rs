//! The host's side of a queue pair: commands go out, data and completions come in.
//!
//! Without digests. Until it is connected a pair waits for each answer; from then on it never
//! waits: [`Pair::send`] keeps what the socket does not take, [`Pair::hear`] takes what came.

use super::fabrics::{self, CONNECT_DATA, DYNAMIC, NO_FLOW};
use super::wire::{COMMAND_HEAD, DATA_HEAD, HEAD, Head, IC, flag, kind, le16, le32};
use manx_core::nvme::{Cqe, Sqe, StatusField};
use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};
use zerocopy::{FromBytes, IntoBytes};

/// Entries of a queue that is asked for.
const ENTRIES: u16 = 128;
/// A PDU of a target is no longer: the longest read, and room for heads.
const LONGEST: usize = (1 << 20) + 4096;
/// Bytes read from a socket in one call.
const SCRATCH: usize = 256 << 10;
/// Where data of a command are: in the capsule, or wherever the transport brings them.
const SGL_IN_CAPSULE: u8 = 0x01;
const SGL_TRANSPORT: u8 = 0x5a;
/// Flags of a command: its pointer is an SGL.
const WITH_SGL: u8 = 0x40;

/// The end of a command.
#[derive(Clone, Debug)]
pub(crate) struct Said {
    /// The number that it was sent with.
    pub tag: u64,
    pub status: StatusField,
    pub result: u64,
    /// Data that a read brought.
    pub data: Vec<u8>,
}

/// A command under way.
#[derive(Debug)]
struct Flight {
    tag: u64,
    /// Bytes that the target asks for, and how many of them were given: each is once.
    write: Vec<u8>,
    given: usize,
    /// Bytes that it brings, and how many of them came.
    read: Vec<u8>,
    got: usize,
}

/// How a host names itself, and the subsystem that it wants.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Names<'a> {
    pub host: &'a str,
    pub subsystem: &'a str,
}

/// One connection: a queue pair.
#[derive(Debug)]
pub(crate) struct Pair {
    stream: TcpStream,
    scratch: Box<[u8]>,
    input: Vec<u8>,
    out: Vec<u8>,
    sent: usize,
    /// Bytes of an H2CData PDU, and of data within a command, at most.
    h2c_max: usize,
    in_capsule: usize,
    flights: Vec<Option<Flight>>,
    free: Vec<u16>,
    said: VecDeque<Said>,
}

impl Pair {
    /// Connects and initializes; everything within `patience`.
    pub fn open(address: SocketAddr, patience: Duration) -> Result<Self, String> {
        let why = |error: std::io::Error| error.to_string();
        let mut stream = TcpStream::connect_timeout(&address, patience).map_err(why)?;
        stream.set_nodelay(true).map_err(why)?;
        stream.set_read_timeout(Some(patience)).map_err(why)?;
        let mut request = [0; IC];
        (request[0], request[2], request[4]) = (kind::IC_REQ, IC as u8, IC as u8);
        stream.write_all(&request).map_err(why)?;
        let mut response = [0; IC];
        stream.read_exact(&mut response).map_err(|error| match error.kind() {
            ErrorKind::WouldBlock => "no answer".to_string(),
            _ => "it speaks no NVMe/TCP".to_string(),
        })?;
        let head = Head::of(&response);
        if (head.kind, head.hlen, head.plen) != (kind::IC_RESP, IC, IC) || response[11] != 0 {
            return Err("it speaks no NVMe/TCP".to_string());
        }
        stream.set_nonblocking(true).map_err(why)?;
        Ok(Self {
            stream,
            scratch: vec![0; SCRATCH].into_boxed_slice(),
            input: Vec::new(),
            out: Vec::new(),
            sent: 0,
            h2c_max: (le32(&response, 12) as usize).clamp(4096, 1 << 20),
            in_capsule: 0,
            flights: (1..ENTRIES).map(|_| None).collect(),
            free: (0..ENTRIES - 1).rev().collect(),
            said: VecDeque::new(),
        })
    }

    /// Connect: queue 0 is the admin queue, whose controller the target chooses and this returns.
    pub fn connect(
        &mut self,
        names: Names,
        controller: Option<u16>,
        queue: u16,
        patience: Duration,
    ) -> Result<u16, String> {
        let mut data = vec![0; CONNECT_DATA];
        let id = names.host.bytes().fold(1u128, |id, byte| id.wrapping_mul(257) + u128::from(byte));
        data[..16].copy_from_slice(&id.to_le_bytes());
        data[16..18].copy_from_slice(&controller.unwrap_or(DYNAMIC).to_le_bytes());
        data[256..256 + names.subsystem.len()].copy_from_slice(names.subsystem.as_bytes());
        data[512..512 + names.host.len()].copy_from_slice(names.host.as_bytes());
        let size = if queue == 0 { 31 } else { ENTRIES - 1 };
        let cattr = if queue == 0 { 0 } else { u32::from(NO_FLOW) << 16 };
        let sqe = Sqe {
            opcode: fabrics::OPCODE,
            nsid: u32::from(fabrics::kind::CONNECT).into(),
            cdw10: (u32::from(queue) << 16).into(),
            cdw11: (u32::from(size) | cattr).into(),
            ..Sqe::default()
        };
        self.in_capsule = CONNECT_DATA;
        let said = self.ask(sqe, &data, 0, patience)?;
        if queue == 0 {
            // Until Identify says more.
            self.in_capsule = 0;
            self.free.retain(|place| *place < size);
        }
        match said.status {
            StatusField::SUCCESS => Ok(said.result as u16),
            status => Err(format!("Connect is refused: {}", named(status))),
        }
    }

    /// Data of so many bytes may go with a command.
    pub fn carry(&mut self, in_capsule: usize) {
        self.in_capsule = in_capsule;
    }

    /// There is room for another command.
    pub fn has_room(&self) -> bool {
        !self.free.is_empty()
    }

    /// Sends a command; there is room for it.
    pub fn send(&mut self, tag: u64, sqe: Sqe, data: &[u8], read: usize) {
        let Some(cid) = self.free.pop() else { return };
        let is_inside = !data.is_empty() && data.len() <= self.in_capsule;
        let mut sqe = Sqe { cid: cid.into(), flags: WITH_SGL, ..sqe };
        sqe.pointer[8..12].copy_from_slice(&((data.len() + read) as u32).to_le_bytes());
        sqe.pointer[15] = if is_inside { SGL_IN_CAPSULE } else { SGL_TRANSPORT };
        let (inside, write) =
            if is_inside { (data, Vec::new()) } else { (&data[..0], data.to_vec()) };
        self.put(kind::COMMAND, 0, sqe.as_bytes(), inside);
        self.flights[usize::from(cid)] =
            Some(Flight { tag, write, given: 0, read: vec![0; read], got: 0 });
    }

    /// A PDU: what follows the first eight bytes of its head, and data.
    fn put(&mut self, kind: u8, flags: u8, fields: &[u8], data: &[u8]) {
        let hlen = HEAD + fields.len();
        let pdo = if data.is_empty() { 0 } else { hlen };
        self.out.extend_from_slice(&[kind, flags, hlen as u8, pdo as u8]);
        self.out.extend_from_slice(&((hlen + data.len()) as u32).to_le_bytes());
        self.out.extend_from_slice(fields);
        self.out.extend_from_slice(data);
    }

    /// Gives the socket what it takes.
    pub fn flush(&mut self) -> Result<(), String> {
        while self.sent < self.out.len() {
            match self.stream.write(&self.out[self.sent..]) {
                Ok(sent) => self.sent += sent,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error.to_string()),
            }
        }
        self.sent = 0;
        self.out.clear();
        Ok(())
    }

    /// Takes everything that came.
    pub fn hear(&mut self) -> Result<(), String> {
        loop {
            match self.stream.read(&mut self.scratch) {
                Ok(0) => return Err("it closed the connection".to_string()),
                Ok(read) => {
                    self.input.extend_from_slice(&self.scratch[..read]);
                    self.act()?;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error.to_string()),
            }
        }
    }

    fn act(&mut self) -> Result<(), String> {
        let (input, mut taken) = (std::mem::take(&mut self.input), 0);
        while input.len() >= taken + HEAD {
            let head = Head::of(&input[taken..]);
            let is_whole = head.plen >= DATA_HEAD && head.plen <= LONGEST;
            if !is_whole || (head.hlen != DATA_HEAD && head.kind != kind::C2H_TERM) {
                return Err("a PDU without a valid length".to_string());
            }
            let Some(pdu) = input.get(taken..taken + head.plen) else { break };
            self.take(&head, pdu)?;
            taken += head.plen;
        }
        self.input = input;
        self.input.drain(..taken);
        Ok(())
    }

    fn take(&mut self, head: &Head, pdu: &[u8]) -> Result<(), String> {
        match head.kind {
            kind::RESPONSE => {
                let cqe = Cqe::read_from_bytes(&pdu[HEAD..DATA_HEAD]).unwrap_or_default();
                self.end(cqe.cid.get(), cqe.status(), cqe.result())
            }
            kind::C2H_DATA => {
                let (cid, offset) = (le16(pdu, 8), le32(pdu, 12) as usize);
                let length = le32(pdu, 16) as usize;
                let data = pdu.get(head.pdo.max(DATA_HEAD)..).and_then(|data| data.get(..length));
                let flight = self.flights.get_mut(usize::from(cid)).and_then(Option::as_mut);
                let (Some(data), Some(flight)) = (data, flight) else {
                    return Err("data of no command".to_string());
                };
                let end = offset + length;
                if length == 0 || offset != flight.got || end > flight.read.len() {
                    return Err("data beyond what was asked for".to_string());
                }
                flight.read[offset..end].copy_from_slice(data);
                flight.got = end;
                match head.flags & flag::SUCCESS != 0 {
                    true => self.end(cid, StatusField::SUCCESS, 0),
                    false => Ok(()),
                }
            }
            kind::R2T => self.give(pdu),
            kind::C2H_TERM => Err(format!("it ended the connection: {:02x}h", le16(pdu, 8))),
            kind => Err(format!("a PDU of type {kind:02x}h")),
        }
    }

    /// Answers an R2T: a target asks for data in their order, each of them once. One that could
    /// ask again and again would fill the memory with answers.
    fn give(&mut self, pdu: &[u8]) -> Result<(), String> {
        let (cid, from) = (le16(pdu, 8), le32(pdu, 12) as usize);
        let to = from + le32(pdu, 16) as usize;
        let flight = self.flights.get_mut(usize::from(cid)).and_then(Option::as_mut);
        let is_next = |flight: &&mut Flight| from == flight.given && to <= flight.write.len();
        let Some(flight) = flight.filter(is_next).filter(|_| from < to) else {
            return Err("it asks for data of no command".to_string());
        };
        flight.given = to;
        let write = std::mem::take(&mut flight.write);
        for at in (from..to).step_by(self.h2c_max) {
            let part = &write[at..to.min(at + self.h2c_max)];
            let mut fields = [0; DATA_HEAD - HEAD];
            fields[..4].copy_from_slice(&pdu[8..12]);
            fields[4..8].copy_from_slice(&(at as u32).to_le_bytes());
            fields[8..12].copy_from_slice(&(part.len() as u32).to_le_bytes());
            let last = if at + part.len() == to { flag::LAST } else { 0 };
            self.put(kind::H2C_DATA, last, &fields, part);
        }
        if let Some(Some(flight)) = self.flights.get_mut(usize::from(cid)) {
            flight.write = write;
        }
        Ok(())
    }

    fn end(&mut self, cid: u16, status: StatusField, result: u64) -> Result<(), String> {
        let Some(flight) = self.flights.get_mut(usize::from(cid)).and_then(Option::take) else {
            return Err("the end of no command".to_string());
        };
        if status.is_success() && flight.got < flight.read.len() {
            return Err("a read without its data".to_string());
        }
        self.free.push(cid);
        self.said.push_back(Said { tag: flight.tag, status, result, data: flight.read });
        Ok(())
    }

    /// The next command that has ended.
    pub fn next(&mut self) -> Option<Said> {
        self.said.pop_front()
    }

    /// Sends a command and waits for its end; others may end meanwhile, and are kept.
    pub fn ask(
        &mut self,
        sqe: Sqe,
        data: &[u8],
        read: usize,
        patience: Duration,
    ) -> Result<Said, String> {
        if !self.has_room() {
            return Err("too many commands are under way".to_string());
        }
        self.send(u64::MAX, sqe, data, read);
        let until = Instant::now() + patience;
        loop {
            self.flush()?;
            self.hear()?;
            if let Some(at) = self.said.iter().position(|said| said.tag == u64::MAX)
                && let Some(said) = self.said.remove(at)
            {
                return Ok(said);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err("no answer".to_string());
            }
            self.wait(left.min(Duration::from_millis(100)));
        }
    }

    /// Waits until something comes, no longer than that.
    fn wait(&self, most: Duration) {
        let flags = rustix::event::PollFlags::IN;
        let mut polled = [rustix::event::PollFd::new(&self.stream, flags)];
        let most = rustix::event::Timespec {
            tv_sec: most.as_secs().cast_signed(),
            tv_nsec: most.subsec_nanos().into(),
        };
        // Whatever it says, the socket is looked at.
        let _ = rustix::event::poll(&mut polled, Some(&most));
    }
}

impl AsFd for Pair {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

/// A status as hosts print it.
pub(crate) fn named(status: StatusField) -> String {
    format!("SCT {:x}h SC {:02x}h", status.sct(), status.sc())
}

const _: () = assert!(COMMAND_HEAD == HEAD + size_of::<Sqe>());

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    const PATIENCE: Duration = Duration::from_secs(20);

    /// A pair, and the target's end of its connection.
    fn connected() -> (Pair, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let target = std::thread::spawn(move || {
            let (mut target, _) = listener.accept().unwrap();
            target.read_exact(&mut [0; IC]).unwrap();
            let mut response = [0; IC];
            (response[0], response[2], response[4]) = (kind::IC_RESP, IC as u8, IC as u8);
            target.write_all(&response).unwrap();
            target
        });
        (Pair::open(address, PATIENCE).unwrap(), target.join().unwrap())
    }

    /// A PDU of a target about the first command.
    fn pdu(kind: u8, offset: u32, length: u32, data: &[u8]) -> Vec<u8> {
        let plen = (DATA_HEAD + data.len()) as u32;
        let fields = [plen, 0, offset, length, 0].map(u32::to_le_bytes).concat();
        [&[kind, 0, DATA_HEAD as u8, DATA_HEAD as u8][..], &fields, data].concat()
    }

    /// Gives a pair these PDUs, one after the other; the bytes that it is about to send.
    fn told(write: usize, read: usize, pdus: &[Vec<u8>]) -> Result<usize, String> {
        let (mut pair, mut target) = connected();
        pair.send(0, Sqe::default(), &vec![7; write], read);
        for pdu in pdus {
            target.write_all(pdu).unwrap();
            pair.wait(PATIENCE);
            pair.hear()?;
        }
        Ok(pair.out.len())
    }

    #[test]
    fn a_target_asks_for_each_byte_once_and_in_order() {
        let r2t = |offset, length| pdu(kind::R2T, offset, length, &[]);
        let command = COMMAND_HEAD;
        let halves = [r2t(0, 4096), r2t(4096, 4096)];
        assert_eq!(told(8192, 0, &halves), Ok(command + 2 * (DATA_HEAD + 4096)));
        let wrong: [&[Vec<u8>]; 4] = [
            &[r2t(0, 4096), r2t(0, 4096)],
            &[r2t(4096, 4096)],
            &[r2t(0, 8196)],
            &[r2t(0, 8192), r2t(8192, 0)],
        ];
        for asked in wrong {
            assert!(told(8192, 0, asked).unwrap_err().contains("asks for data"), "{asked:?}");
        }
    }

    #[test]
    fn data_come_in_order_and_none_is_no_data() {
        let data = |offset, bytes: &[u8]| pdu(kind::C2H_DATA, offset, bytes.len() as u32, bytes);
        assert!(told(0, 8, &[data(0, &[1; 4]), data(4, &[2; 4])]).is_ok());
        for brought in [vec![data(0, &[])], vec![data(4, &[1; 4])], vec![data(0, &[1; 12])]] {
            assert!(told(0, 8, &brought).unwrap_err().contains("beyond what was asked for"));
        }
    }
}
