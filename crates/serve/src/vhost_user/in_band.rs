//! The disk of a guest in virtual time: kicks are messages that are answered when the queues have
//! been looked at, calls are messages that the guest answers, so that both sides stand at one
//! instant whenever something passes between them (vhost-user protocol, "In-band notifications").

use super::session::Device;
use super::socket::Socket;
use super::wire::{HEADER, Header, PAYLOAD_MAX, State, VRING_CALL, flag, protocol};
use crate::front::{Desk, Done, Front};
use crate::listen::Stream;
use rustix::io::{read, write};
use std::io::{self, ErrorKind, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use zerocopy::{FromBytes, IntoBytes};

/// A guest's connection to one disk.
pub(crate) struct Disk {
    stream: Stream,
    device: Device,
    input: Vec<u8>,
    out: Vec<u8>,
}

impl Disk {
    /// A disk that was just connected to; `page` is the best size of a request. One that `lies`
    /// answers a FLUSH at once.
    pub fn new(stream: Stream, name: String, page: u32, lies: bool) -> Self {
        let mut device = Device::new(name, page);
        device.offered |= protocol::IN_BAND;
        device.lies = lies;
        Self { stream, device, input: Vec::new(), out: Vec::new() }
    }

    /// No disk, but streams to the server of a protocol.
    pub fn of_streams(stream: Stream, front: Box<dyn Front>) -> Self {
        let mut disk = Self::new(stream, String::new(), 0, false);
        disk.device.socket = Some(Box::new(Socket::new(front)));
        disk
    }

    /// Readable when the guest says something.
    pub fn socket(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }

    /// The channel of the disk's own messages, once the guest has given one.
    pub fn channel(&self) -> Option<BorrowedFd<'_>> {
        self.device.requests.as_ref().map(OwnedFd::as_fd)
    }

    /// Reads what there is of a message and acts on a whole one, whose answer stays here until
    /// [`Disk::answer`]; false: it is not whole.
    pub fn hear(&mut self, desk: &mut dyn Desk) -> Result<bool, Gone> {
        let wanted = Device::message_bytes(&self.input) - self.input.len();
        let mut files = Vec::new();
        let mut bytes = [0; HEADER + PAYLOAD_MAX];
        match self.stream.receive(&mut bytes[..wanted], &mut files) {
            Ok(0) => return Err(Gone::Closed),
            Ok(count) => self.input.extend_from_slice(&bytes[..count]),
            Err(error) if is_short(&error) => return Ok(false),
            Err(_) => return Err(Gone::Closed),
        }
        self.device.keep(files);
        if self.input.len() < Device::message_bytes(&self.input) {
            return Ok(false);
        }
        let taken = self.device.hear(&self.input, &mut self.out, desk).map_err(Gone::Wrong)?;
        self.input.drain(..taken);
        while self.device.fetch(desk).map_err(Gone::Wrong)? {}
        self.device.send_packets().map_err(Gone::Wrong)?;
        Ok(true)
    }

    /// Sends what the guest waits for.
    pub fn answer(&mut self) -> io::Result<()> {
        let sent = self.stream.write_all(&self.out);
        self.out.clear();
        sent
    }

    /// A request is done: its bytes go into the guest's memory.
    pub fn done(&mut self, done: &Done, data: &dyn Fn(&mut Vec<u8>)) -> Result<(), Gone> {
        if self.device.socket.is_some() {
            self.device.stream_done(done, data);
            return self.device.send_packets().map_err(Gone::Wrong);
        }
        self.device.done(done, &mut self.out, data);
        Ok(())
    }

    /// Tells the guest of used entries of one queue, if it wants to hear; whether it will answer.
    pub fn call(&mut self) -> io::Result<bool> {
        let calls = self.device.calls;
        let Some(channel) = self.device.requests.as_ref().filter(|_| calls != 0) else {
            return Ok(false);
        };
        let state = State { index: calls.trailing_zeros().into(), value: 0.into() };
        self.device.calls &= calls - 1;
        let header = Header {
            request: VRING_CALL.into(),
            flags: (flag::VERSION | flag::NEED_REPLY).into(),
            size: (size_of::<State>() as u32).into(),
        };
        let message = [header.as_bytes(), state.as_bytes()].concat();
        write(channel, &message)?;
        Ok(true)
    }

    /// Takes the guest's answer to a call.
    pub fn answered(&mut self) -> Result<(), Gone> {
        let Some(channel) = &self.device.requests else { return Ok(()) };
        let mut bytes = [0; HEADER + 8];
        let mut count = 0;
        while count < bytes.len() {
            match read(channel, &mut bytes[count..]) {
                Ok(0) => return Err(Gone::Closed),
                Ok(more) => count += more,
                Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => std::hint::spin_loop(),
                Err(_) => return Err(Gone::Closed),
            }
        }
        match Header::read_from_prefix(&bytes) {
            Ok((header, _)) if header.request.get() == VRING_CALL && bytes[HEADER..] == [0; 8] => {
                Ok(())
            }
            _ => Err(Gone::Wrong("the guest did not take an interrupt".to_string())),
        }
    }
}

/// Why a connection ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Gone {
    /// The guest closed it.
    Closed,
    /// It broke the protocol.
    Wrong(String),
}

fn is_short(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}
