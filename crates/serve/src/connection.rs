//! The bytes that go through one connection.

use crate::front::{Ask, Desk, Done, Fault, Kind, Session, Stretch};
use crate::listen::Stream;
use crate::room::Part;
use crate::tls::{Cipher, Tls};
use manx_core::nvme::{AdminCompletion, AdminReply, Sqe};
use std::io::{ErrorKind, Read, Write};
use std::os::fd::BorrowedFd;
use std::time;
use tracing::debug;

/// Requests of one connection under way at once; more wait in its socket.
const DEEPEST: u32 = 1024;

/// Bytes of requests under way and of answers that a client left unread, with which it is heard no
/// more.
const HELD: u64 = 64 << 20;

/// A client.
pub(crate) struct Connection {
    pub(crate) stream: Stream,
    session: Box<dyn Session>,
    /// Between both, where the bytes are encrypted.
    cipher: Option<Box<Cipher>>,
    /// Bytes of a message that is not whole, or that waits for room.
    input: Vec<u8>,
    out: Vec<u8>,
    sent: usize,
    /// Requests under way, and bytes that they write or are to bring.
    under_way: u32,
    bytes_under_way: u64,
    since: time::Instant,
    /// The memory that it holds of what all share.
    part: Part,
    /// When the client last read something, or had read everything.
    read: time::Instant,
    /// Epoll watches for room to write too.
    pub(crate) awaits_room: bool,
    /// Its client has said good-bye: it is not read any more.
    pub(crate) is_leaving: bool,
    /// Its socket is not read until answers have gone.
    pub(crate) is_deaf: bool,
    /// It is not watched for bytes.
    pub(crate) was_deaf: bool,
    /// It had its turn, and there is more to fetch: others come first.
    pub(crate) has_more: bool,
}

impl Connection {
    pub(crate) fn new(stream: Stream, session: Box<dyn Session>, part: Part) -> Self {
        Self {
            stream,
            session,
            cipher: None,
            input: Vec::new(),
            out: Vec::new(),
            sent: 0,
            under_way: 0,
            bytes_under_way: 0,
            since: time::Instant::now(),
            part,
            read: time::Instant::now(),
            awaits_room: false,
            is_leaving: false,
            is_deaf: false,
            was_deaf: false,
            has_more: false,
        }
    }

    /// The client is met with what the protocol begins with.
    pub(crate) fn greet(&mut self, desk: &mut dyn Desk) -> Result<(), Fault> {
        self.session.receive(&[], &mut self.out, desk).map(drop)
    }

    /// Reads what came, up to `scratch`, and acts on it. True when there may be more.
    pub(crate) fn receive(
        &mut self,
        scratch: &mut [u8],
        desk: &mut CountingDesk<'_>,
    ) -> Result<bool, Fault> {
        let wanted = self.session.reads(&self.input).unwrap_or(scratch.len()).min(scratch.len());
        let scratch = &mut scratch[..wanted];
        let is_exact = self.session.reads(&self.input).is_some();
        let read = if is_exact {
            let mut files = Vec::new();
            let read = self.stream.receive(scratch, &mut files);
            self.session.keep(files);
            read
        } else {
            match &mut self.cipher {
                Some(cipher) => cipher.read(&mut self.stream, scratch),
                None => self.stream.read(scratch),
            }
        };
        let read = match read {
            Ok(0) => return Err(self.session.ends()),
            Ok(read) => read,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
            Err(error) if error.kind() == ErrorKind::Interrupted => return Ok(true),
            Err(error) if error.kind() == ErrorKind::InvalidData => {
                return Err(Fault::Protocol(error.to_string()));
            }
            Err(_) => return Err(Fault::Closed),
        };
        if self.input.is_empty() {
            let taken = self.act(&scratch[..read], desk)?;
            self.input.extend_from_slice(&scratch[taken..read]);
        } else {
            self.input.extend_from_slice(&scratch[..read]);
            self.go_on(desk)?;
        }
        self.account();
        // The rest of a message that is read piece by piece may be there; the next is told anew.
        Ok(read == scratch.len() && !(is_exact && self.input.is_empty()))
    }

    /// The session's bell, which tells of work beside the socket.
    pub(crate) fn bell(&self) -> Option<BorrowedFd<'_>> {
        self.session.bell()
    }

    /// The bell rang.
    pub(crate) fn hear_bell(&mut self) {
        self.session.hear_bell();
    }

    /// Acts on what was left when there was no room for more.
    pub(crate) fn go_on(&mut self, desk: &mut CountingDesk<'_>) -> Result<(), Fault> {
        let input = std::mem::take(&mut self.input);
        let taken = self.act(&input, desk);
        self.input = input;
        self.input.drain(..taken?);
        if self.input.is_empty() && self.input.capacity() > 1 << 20 {
            self.input = Vec::new();
        }
        Ok(())
    }

    fn act(&mut self, bytes: &[u8], desk: &mut CountingDesk<'_>) -> Result<usize, Fault> {
        let mut taken = 0;
        loop {
            self.is_deaf = self.is_full();
            if self.is_deaf {
                return Ok(taken);
            }
            (desk.submitted, desk.bytes) = (0, 0);
            let message = self.session.receive(&bytes[taken..], &mut self.out, desk)?;
            self.under_way += desk.submitted;
            self.bytes_under_way += desk.bytes;
            self.account();
            taken += message;
            if let Some(tls) = self.session.encrypts() {
                self.encrypt(&tls, taken < bytes.len())?;
            }
            if message == 0 {
                break;
            }
        }
        self.fetch(desk)?;
        Ok(taken)
    }

    /// The answer goes in the clear, and nothing that came before it is read as encrypted.
    fn encrypt(&mut self, tls: &Tls, has_more: bool) -> Result<(), Fault> {
        let broken = |why: &str| Err(Fault::Protocol(format!("TLS: {why}")));
        if !self.send() {
            return Err(Fault::Closed);
        }
        match () {
            () if has_more => broken("bytes in the clear behind the request for it"),
            () if self.has_unsent() => broken("answers before it were not read"),
            () => {
                let cipher = Cipher::new(tls).map_err(Fault::Protocol)?;
                self.cipher = Some(Box::new(cipher));
                debug!("TLS begins");
                Ok(())
            }
        }
    }

    /// From now on it is not read; what was asked is answered.
    pub(crate) fn leave(&mut self) {
        (self.is_leaving, self.is_deaf) = (true, false);
        self.input = Vec::new();
        self.account();
    }

    /// It leaves, and has nothing more to do.
    pub(crate) fn is_over(&self) -> bool {
        self.is_leaving && self.under_way == 0 && !self.has_unsent()
    }

    /// Says good-bye, where the bytes are encrypted.
    pub(crate) fn end(&mut self) {
        if let Some(cipher) = &mut self.cipher {
            cipher.end(&mut self.stream);
        }
    }

    /// Takes requests that lie ready elsewhere, as long as there is room, and no more than may be
    /// under way: who makes more of them ready meanwhile would have the server for himself.
    fn fetch(&mut self, desk: &mut CountingDesk<'_>) -> Result<(), Fault> {
        self.has_more = false;
        for _ in 0..DEEPEST {
            self.is_deaf = self.is_full();
            if self.is_deaf {
                return Ok(());
            }
            (desk.submitted, desk.bytes) = (0, 0);
            let has_more = self.session.fetch(desk)?;
            self.under_way += desk.submitted;
            self.bytes_under_way += desk.bytes;
            if !has_more {
                return Ok(());
            }
        }
        self.has_more = true;
        Ok(())
    }

    /// No more requests are taken from it for now.
    pub(crate) fn is_full(&self) -> bool {
        let unread = (self.out.len() - self.sent) as u64;
        let held = self.bytes_under_way + unread;
        self.under_way >= DEEPEST || held > HELD || self.part.is_full()
    }

    /// Tells how much memory it holds.
    fn account(&mut self) {
        let bytes = self.input.len() + self.out.len();
        self.part.holds(self.bytes_under_way + bytes as u64);
    }

    /// The client has read nothing for `seconds`, and there is something to read.
    pub(crate) fn is_unread(&self, seconds: u64) -> bool {
        self.has_unsent() && self.read.elapsed().as_secs() >= seconds
    }

    pub(crate) fn done(&mut self, done: &Done, data: &dyn Fn(&mut Vec<u8>)) {
        self.under_way -= 1;
        self.bytes_under_way -= bytes_of(&done.ask);
        self.session.done(done, &mut self.out, data);
        self.account();
    }

    /// Sends what there is; false when the client is gone.
    pub(crate) fn send(&mut self) -> bool {
        let before = self.sent;
        if self.cipher.as_mut().is_some_and(|cipher| cipher.flush(&mut self.stream).is_err()) {
            return false;
        }
        while self.sent < self.out.len() {
            let rest = &self.out[self.sent..];
            let sent = match &mut self.cipher {
                Some(cipher) => cipher.write(&mut self.stream, rest),
                None => self.stream.write(rest),
            };
            match sent {
                Ok(0) => return false,
                Ok(sent) => self.sent += sent,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return false,
            }
        }
        if self.sent > before || self.sent == self.out.len() {
            self.read = time::Instant::now();
        }
        if self.sent == self.out.len() {
            self.sent = 0;
            self.out.clear();
            if self.out.capacity() > 4 << 20 {
                self.out = Vec::new();
            }
        }
        self.account();
        true
    }

    /// There are bytes that the socket did not take.
    pub(crate) fn has_unsent(&self) -> bool {
        let is_hidden = self.cipher.as_ref().is_some_and(|cipher| cipher.has_unsent());
        is_hidden || self.sent < self.out.len()
    }

    /// The session acts on time that passed, and on news.
    pub(crate) fn tick(&mut self, desk: &mut dyn Desk) -> Result<(), Fault> {
        self.session.tick(&mut self.out, desk)
    }

    /// The client has not finished its negotiation in `seconds`.
    pub(crate) fn is_slow(&self, seconds: u64) -> bool {
        !self.session.is_settled() && self.since.elapsed().as_secs() >= seconds
    }
}

/// A desk that counts what is handed in.
pub(crate) struct CountingDesk<'a> {
    pub(crate) desk: &'a mut dyn Desk,
    pub(crate) submitted: u32,
    pub(crate) bytes: u64,
    /// Requests that were refused, of all messages.
    pub(crate) refused: u64,
}

impl<'a> CountingDesk<'a> {
    pub(crate) fn new(desk: &'a mut dyn Desk) -> Self {
        Self { desk, submitted: 0, bytes: 0, refused: 0 }
    }
}

/// Bytes that a request holds in memory until it is answered: an answer's, or versions of pages.
fn bytes_of(ask: &Ask) -> u64 {
    match ask.kind {
        Kind::Read | Kind::Write | Kind::Zero { .. } => ask.length,
        Kind::Trim | Kind::Flush => 0,
    }
}

impl Desk for CountingDesk<'_> {
    fn size(&self, drive: u32) -> u64 {
        self.desk.size(drive)
    }

    fn submit(&mut self, ask: Ask, data: &[u8]) {
        self.submitted += 1;
        self.bytes += bytes_of(&ask);
        self.desk.submit(ask, data);
    }

    fn refuse(&mut self) {
        self.refused += 1;
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

#[cfg(test)]
mod tests {
    use super::{Connection, CountingDesk};
    use crate::front::{Ask, Desk, Done, Fault, Kind, Session, Stretch};
    use crate::listen::Stream;
    use crate::room::Room;
    use manx_core::drive::{PredictableLatency, Status};
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    /// Each byte of a client asks for 16 MiB.
    struct Greedy;

    const ASK: Ask = Ask {
        cookie: 0,
        drive: 0,
        kind: Kind::Read,
        offset: 0,
        length: 16 << 20,
        fua: false,
        predictable: PredictableLatency::Off,
    };

    impl Session for Greedy {
        fn receive(
            &mut self,
            bytes: &[u8],
            _: &mut Vec<u8>,
            desk: &mut dyn Desk,
        ) -> Result<usize, Fault> {
            if !bytes.is_empty() {
                desk.submit(ASK, &[]);
            }
            Ok(bytes.len().min(1))
        }

        fn done(&mut self, _: &Done, _: &mut Vec<u8>, _: &dyn Fn(&mut Vec<u8>)) {}

        fn is_settled(&self) -> bool {
            true
        }
    }

    /// Another request lies ready whenever one is taken, and is answered at once.
    struct Endless(u32);

    impl Session for Endless {
        fn receive(&mut self, _: &[u8], _: &mut Vec<u8>, _: &mut dyn Desk) -> Result<usize, Fault> {
            Ok(0)
        }

        fn done(&mut self, _: &Done, _: &mut Vec<u8>, _: &dyn Fn(&mut Vec<u8>)) {}

        fn is_settled(&self) -> bool {
            true
        }

        fn fetch(&mut self, _: &mut dyn Desk) -> Result<bool, Fault> {
            self.0 = self.0.saturating_sub(1);
            Ok(self.0 > 0)
        }
    }

    #[test]
    fn who_always_has_more_has_a_turn_and_no_more() {
        let (_client, server) = UnixStream::pair().unwrap();
        let session = Box::new(Endless(super::DEEPEST + 1));
        let mut connection = Connection::new(Stream::Unix(server), session, Room::new(1).part());
        let mut desk = Nothing;
        let mut desk = CountingDesk::new(&mut desk);
        connection.go_on(&mut desk).unwrap();
        assert!(connection.has_more && !connection.is_deaf);
        connection.go_on(&mut desk).unwrap();
        assert!(!connection.has_more, "the last was taken");
    }

    struct Nothing;

    impl Desk for Nothing {
        fn size(&self, _: u32) -> u64 {
            1 << 40
        }

        fn submit(&mut self, _: Ask, _: &[u8]) {}

        fn stretches(&self, _: u32, _: u64, _: u64, _: usize) -> Vec<Stretch> {
            Vec::new()
        }

        fn zeros_are_fast(&self) -> bool {
            true
        }
    }

    #[test]
    fn a_client_that_asks_for_much_waits_until_it_has_some() {
        let (mut client, server) = UnixStream::pair().unwrap();
        let mut connection =
            Connection::new(Stream::Unix(server), Box::new(Greedy), Room::new(1 << 40).part());
        client.write_all(&[0; 40]).unwrap();
        let mut desk = Nothing;
        let mut desk = CountingDesk::new(&mut desk);
        connection.receive(&mut [0; 64], &mut desk).unwrap();
        assert!(connection.is_deaf);
        assert_eq!((connection.under_way, connection.bytes_under_way), (5, 80 << 20));
        for _ in 0..2 {
            let done = Done { ask: ASK, status: Status::Success, dnr: false, result: 0 };
            connection.done(&done, &|_| {});
        }
        assert!(!connection.is_full(), "48 MiB are under way");
        connection.go_on(&mut desk).unwrap();
        assert_eq!((connection.under_way, connection.input.len()), (5, 33));
    }
}
