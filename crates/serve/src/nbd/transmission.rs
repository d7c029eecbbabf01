//! The transmission: requests in, replies out, in the order in which they are done.

use super::wire::{
    ALLOCATION, CHUNK_MAGIC, Errno, HOLE_AND_ZERO, Put, REQUEST_MAGIC, SIMPLE_REPLY_MAGIC, be16,
    be32, be64, chunk, command, flag,
};
use super::{MAX_PAYLOAD, Nbd};
use crate::front::{Ask, Desk, Done, Fault, Kind};
use manx_core::drive::{PredictableLatency, Status};
use manx_core::units::SECTOR;

/// Bytes of a request before its payload.
const HEADER: usize = 28;

/// Stretches in one answer about allocation.
const STRETCHES: usize = 4096;

/// Fields of a request.
#[derive(Clone, Copy, Debug)]
struct Request {
    flags: u16,
    command: u16,
    cookie: u64,
    offset: u64,
    length: u32,
}

impl Nbd {
    pub(super) fn take_request(
        &mut self,
        bytes: &[u8],
        out: &mut Vec<u8>,
        desk: &mut dyn Desk,
    ) -> Result<usize, Fault> {
        if bytes.len() < HEADER {
            return Ok(0);
        }
        if be32(bytes, 0) != REQUEST_MAGIC {
            return Err(Fault::Protocol("a request without its magic number".into()));
        }
        let request = Request {
            flags: be16(bytes, 4),
            command: be16(bytes, 6),
            cookie: be64(bytes, 8),
            offset: be64(bytes, 16),
            length: be32(bytes, 24),
        };
        let payload = if request.command == command::WRITE { request.length } else { 0 };
        if payload > MAX_PAYLOAD {
            let why = format!("a write of {payload} bytes, at most {MAX_PAYLOAD}");
            return Err(Fault::Protocol(why));
        }
        let end = HEADER + payload as usize;
        if bytes.len() < end {
            return Ok(0);
        }
        if request.command == command::DISCONNECT {
            return Err(Fault::Finished);
        }
        match self.understand(&request, desk) {
            Err(error) => {
                desk.refuse();
                self.fail(request.cookie, error, out);
            }
            Ok(None) if request.command == command::BLOCK_STATUS => {
                self.tell_allocation(&request, out, desk);
            }
            Ok(None) => self.succeed(request.cookie, out),
            Ok(Some(kind)) => {
                let fua = request.flags & flag::FUA != 0;
                let Request { cookie, offset, length, .. } = request;
                let (offset, length) =
                    if kind == Kind::Flush { (0, 0) } else { (offset, u64::from(length)) };
                let predictable = PredictableLatency::Off;
                let ask = Ask { cookie, drive: self.drive, kind, offset, length, fua, predictable };
                desk.submit(ask, &bytes[HEADER..end]);
            }
        }
        Ok(end)
    }

    /// The kind of the request; none of the model is needed for some.
    fn understand(&self, request: &Request, desk: &dyn Desk) -> Result<Option<Kind>, Errno> {
        let Request { flags, command, offset, length, .. } = *request;
        let allowed = match command {
            command::READ => flag::FUA | flag::DF,
            command::WRITE_ZEROES => flag::FUA | flag::NO_HOLE | flag::FAST_ZERO,
            command::BLOCK_STATUS => flag::FUA | flag::REQ_ONE,
            _ => flag::FUA,
        };
        if flags & !allowed != 0 || (flags & flag::DF != 0 && !self.structured) {
            return Err(Errno::Invalid);
        }
        if command == command::FLUSH {
            return Ok(Some(Kind::Flush));
        }
        let end = offset.checked_add(u64::from(length));
        if end.is_none_or(|end| end > desk.size(self.drive)) {
            let writes = matches!(command, command::WRITE | command::WRITE_ZEROES);
            return Err(if writes { Errno::NoSpace } else { Errno::Invalid });
        }
        if length == 0 || offset % SECTOR != 0 || u64::from(length) % SECTOR != 0 {
            return Err(Errno::Invalid);
        }
        match command {
            command::READ if length > MAX_PAYLOAD => Err(Errno::Invalid),
            command::READ => Ok(Some(Kind::Read)),
            command::WRITE => Ok(Some(Kind::Write)),
            command::TRIM => Ok(Some(Kind::Trim)),
            command::WRITE_ZEROES => {
                let may_deallocate = flags & flag::NO_HOLE == 0;
                let is_fast = may_deallocate && desk.zeros_are_fast();
                if flags & flag::FAST_ZERO != 0 && !is_fast {
                    return Err(Errno::Unsupported);
                }
                Ok(Some(Kind::Zero { may_deallocate }))
            }
            command::CACHE => Ok(None),
            command::BLOCK_STATUS if self.allocation => Ok(None),
            _ => Err(Errno::Invalid),
        }
    }

    fn tell_allocation(&self, request: &Request, out: &mut Vec<u8>, desk: &dyn Desk) {
        let most = if request.flags & flag::REQ_ONE != 0 { 1 } else { STRETCHES };
        let (offset, length) = (request.offset, u64::from(request.length));
        let stretches = desk.stretches(self.drive, offset, length, most);
        header(out, chunk::BLOCK_STATUS, request.cookie, 4 + 8 * stretches.len() as u32);
        out.put32(ALLOCATION);
        for stretch in stretches {
            out.put32(stretch.length as u32);
            out.put32(if stretch.has_bytes { 0 } else { HOLE_AND_ZERO });
        }
    }

    pub(super) fn answer(&self, done: &Done, out: &mut Vec<u8>, data: &dyn Fn(&mut Vec<u8>)) {
        let Ask { cookie, kind, offset, length, .. } = done.ask;
        if done.status != Status::Success {
            return self.fail(cookie, errno(done.status, kind), out);
        }
        if kind != Kind::Read {
            return self.succeed(cookie, out);
        }
        match self.structured {
            true => {
                header(out, chunk::OFFSET_DATA, cookie, 8 + length as u32);
                out.put64(offset);
            }
            false => simple(out, cookie, 0),
        }
        data(out);
    }

    fn succeed(&self, cookie: u64, out: &mut Vec<u8>) {
        match self.structured {
            true => header(out, chunk::NONE, cookie, 0),
            false => simple(out, cookie, 0),
        }
    }

    fn fail(&self, cookie: u64, error: Errno, out: &mut Vec<u8>) {
        if !self.structured {
            return simple(out, cookie, error as u32);
        }
        header(out, chunk::ERROR, cookie, 6);
        out.put32(error as u32);
        out.put16(0);
    }
}

fn errno(status: Status, kind: Kind) -> Errno {
    match status {
        Status::NamespaceWriteProtected => Errno::Permission,
        Status::LbaOutOfRange if kind == Kind::Read => Errno::Invalid,
        Status::LbaOutOfRange => Errno::NoSpace,
        _ => Errno::Io,
    }
}

fn simple(out: &mut Vec<u8>, cookie: u64, error: u32) {
    out.put32(SIMPLE_REPLY_MAGIC);
    out.put32(error);
    out.put64(cookie);
}

/// The head of the only chunk of a reply.
fn header(out: &mut Vec<u8>, kind: u16, cookie: u64, length: u32) {
    out.put32(CHUNK_MAGIC);
    out.put16(chunk::DONE);
    out.put16(kind);
    out.put64(cookie);
    out.put32(length);
}
