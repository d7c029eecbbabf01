//! Streams to a server that says everything back, and guests that break the protocol.

use super::*;
use crate::front::{Fault, Kind};
use manx_core::drive::{PredictableLatency, Status};
use std::net::SocketAddr;

/// It says back what it hears; `!` breaks its protocol, `?` asks the drive.
struct Echo;

impl Session for Echo {
    fn receive(
        &mut self,
        bytes: &[u8],
        out: &mut Vec<u8>,
        desk: &mut dyn Desk,
    ) -> Result<usize, Fault> {
        match bytes.first() {
            Some(b'!') => {
                out.extend(b"bye");
                return Err(Fault::Protocol("!".to_string()));
            }
            Some(b'.') => return Err(Fault::Closed),
            Some(b'?') => desk.submit(ask(7), &[]),
            _ => out.extend(bytes),
        }
        Ok(bytes.len())
    }

    fn done(&mut self, done: &Done, out: &mut Vec<u8>, data: &dyn Fn(&mut Vec<u8>)) {
        out.extend(done.ask.cookie.to_string().bytes());
        data(out);
    }

    fn is_settled(&self) -> bool {
        true
    }
}

impl Front for Echo {
    fn session(&mut self, _: Option<SocketAddr>) -> Box<dyn Session> {
        Box::new(Echo)
    }
}

fn ask(cookie: u64) -> Ask {
    let predictable = PredictableLatency::Off;
    Ask { cookie, drive: 0, kind: Kind::Read, offset: 0, length: 512, fua: false, predictable }
}

/// The names of requests that were handed in.
#[derive(Default)]
struct Asked(Vec<u64>);

impl Desk for Asked {
    fn size(&self, _: u32) -> u64 {
        1 << 20
    }

    fn submit(&mut self, ask: Ask, _: &[u8]) {
        self.0.push(ask.cookie);
    }

    fn stretches(&self, _: u32, _: u64, _: u64, _: usize) -> Vec<Stretch> {
        Vec::new()
    }

    fn zeros_are_fast(&self) -> bool {
        false
    }
}

fn head(port: u32, op: u16, length: usize) -> Head {
    Head {
        from: GUEST.into(),
        to: HOST.into(),
        from_port: port.into(),
        to_port: PORT.into(),
        length: (length as u32).into(),
        kind: STREAM.into(),
        op: op.into(),
        room: 100_000.into(),
        ..Head::default()
    }
}

fn packet(head: Head, data: &[u8]) -> Vec<u8> {
    [head.as_bytes(), data].concat()
}

struct Guest {
    socket: Socket,
    desk: Asked,
}

impl Guest {
    fn new() -> Self {
        Self { socket: Socket::new(Box::new(Echo)), desk: Asked::default() }
    }

    /// Sends a packet; the packets that come back, by port, kind and data.
    fn say(&mut self, head: Head, data: &[u8]) -> Vec<(u32, u16, Vec<u8>)> {
        self.socket.hear(&packet(head, data), &mut self.desk).unwrap();
        self.heard()
    }

    fn heard(&mut self) -> Vec<(u32, u16, Vec<u8>)> {
        let mut all = Vec::new();
        while self.socket.has_packets() {
            let packet = self.socket.next_packet(HEAD + 4096);
            let (head, data) = Head::read_from_prefix(&packet).unwrap();
            assert_eq!((head.from.get(), head.to.get()), (HOST, GUEST));
            assert_eq!((head.length.get() as usize, head.room.get()), (data.len(), ROOM));
            all.push((head.to_port.get(), head.op.get(), data.to_vec()));
        }
        all
    }
}

fn plain(port: u32, op: u16) -> Vec<(u32, u16, Vec<u8>)> {
    vec![(port, op, Vec::new())]
}

#[test]
fn a_stream_carries_bytes_both_ways_as_far_as_there_is_room() {
    let mut guest = Guest::new();
    assert_eq!(guest.say(head(50, op::REQUEST, 0), &[]), plain(50, op::RESPONSE));
    let hello = guest.say(head(50, op::DATA, 5), b"hello");
    assert_eq!(hello, [(50, op::DATA, b"hello".to_vec())]);
    // Room for three bytes of five, then for the rest.
    let short = Head { room: 8.into(), ..head(50, op::DATA, 5) };
    assert_eq!(guest.say(short, b"world"), [(50, op::DATA, b"wor".to_vec())]);
    let more = Head { room: 8.into(), taken: 8.into(), ..head(50, op::CREDIT, 0) };
    assert_eq!(guest.say(more, &[]), [(50, op::DATA, b"ld".to_vec())]);
    assert_eq!(guest.say(head(50, op::ASK_CREDIT, 0), &[]), plain(50, op::CREDIT));
    // A guest that is told nothing else hears of room here, now and then.
    let silent = Head { room: 0.into(), ..head(50, op::DATA, 4000) };
    let told = (0..40).flat_map(|_| guest.say(silent, &[b'x'; 4000])).collect::<Vec<_>>();
    assert_eq!(told, plain(50, op::CREDIT));
    // Two streams do not mix, and the name of a request has its stream's.
    assert_eq!(guest.say(head(51, op::REQUEST, 0), &[]), plain(51, op::RESPONSE));
    assert_eq!(guest.say(head(51, op::DATA, 1), b"?"), []);
    assert_eq!(guest.desk.0, [51 << 32 | 7]);
    let ask = ask(51 << 32 | 7);
    let done = Done { ask, status: Status::Success, dnr: false, result: 0 };
    guest.socket.done(&done, &|out| out.push(b'+'));
    assert_eq!(guest.heard(), [(51, op::DATA, b"7+".to_vec())]);
    assert_eq!(guest.say(head(51, 4, 0), &[]), plain(51, op::RESET));
    guest.socket.done(&done, &|_| panic!("its stream is gone"));
    assert_eq!(guest.heard(), []);
}

#[test]
fn what_breaks_a_protocol_ends_its_stream_and_no_other() {
    let mut guest = Guest::new();
    for port in [1, 2, 3] {
        guest.say(head(port, op::REQUEST, 0), &[]);
    }
    let bye = [(1, op::DATA, b"bye".to_vec()), (1, op::RESET, Vec::new())];
    assert_eq!(guest.say(head(1, op::DATA, 1), b"!"), bye);
    assert_eq!(guest.say(head(2, op::DATA, 1), b"."), plain(2, op::RESET));
    assert_eq!(guest.say(head(2, op::DATA, 1), b"x"), plain(2, op::RESET));
    assert_eq!(guest.say(head(3, op::DATA, 1), b"x"), [(3, op::DATA, b"x".to_vec())]);
    assert_eq!(guest.say(head(3, op::REQUEST, 0), &[]), plain(3, op::RESET));
    assert_eq!(guest.say(head(9, 77, 0), &[]), plain(9, op::RESET));
    assert_eq!(guest.say(head(9, op::RESET, 0), &[]), []);
    for wrong in [
        Head { to_port: 22.into(), ..head(8, op::REQUEST, 0) },
        Head { to: 7.into(), ..head(8, op::REQUEST, 0) },
        Head { kind: 2.into(), ..head(8, op::REQUEST, 0) },
    ] {
        assert_eq!(guest.say(wrong, &[])[0].1, op::RESET);
    }
    for port in 100..100 + PEERS_MAX as u32 {
        assert_eq!(guest.say(head(port, op::REQUEST, 0), &[]), plain(port, op::RESPONSE));
    }
    assert_eq!(guest.say(head(99, op::REQUEST, 0), &[]), plain(99, op::RESET));
    let long = packet(head(100, op::DATA, 9), b"short");
    for broken in [&long[..], &long[..HEAD - 1], &[]] {
        assert!(guest.socket.hear(broken, &mut guest.desk).is_err());
    }
}
