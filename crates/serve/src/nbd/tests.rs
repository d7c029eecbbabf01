//! Bytes by hand from the protocol's text, and whatever a client may send.

use super::{Exports, Nbd};
use crate::front::{Ask, Desk, Done, Export, Fault, Kind, Session, Stretch};
use manx_core::drive::{PredictableLatency, Status};
use manx_core::sim::Rng;
use std::rc::Rc;

/// A desk that only notes.
#[derive(Default)]
struct Notes {
    asked: Vec<(Ask, Vec<u8>)>,
    keeps_deallocated: bool,
}

const SIZE: u64 = 1 << 20;

impl Desk for Notes {
    fn size(&self, _: u32) -> u64 {
        SIZE
    }

    fn submit(&mut self, ask: Ask, data: &[u8]) {
        assert!(ask.offset + ask.length <= SIZE && ask.length.is_multiple_of(512));
        self.asked.push((ask, data.to_vec()));
    }

    fn stretches(&self, _: u32, _: u64, length: u64, most: usize) -> Vec<Stretch> {
        let halves = [(length / 2, true), (length - length / 2, false)];
        let all = halves.map(|(length, has_bytes)| Stretch { length, has_bytes });
        all[..most.min(2)].to_vec()
    }

    fn zeros_are_fast(&self) -> bool {
        !self.keeps_deallocated
    }
}

fn done(ask: Ask, status: Status) -> Done {
    Done { ask, status, dnr: false, result: 0 }
}

fn session() -> Nbd {
    let (name, description) = ("disk".to_string(), "words".to_string());
    let all = vec![Export { name, description, preferred: 4096 }];
    Nbd::new(Rc::new(Exports { all, tls: None }))
}

/// Feeds it bytes as one piece; what it answered.
fn feed(nbd: &mut Nbd, desk: &mut Notes, mut bytes: &[u8]) -> Result<Vec<u8>, Fault> {
    let mut out = Vec::new();
    loop {
        let taken = nbd.receive(bytes, &mut out, desk)?;
        bytes = &bytes[taken..];
        if taken == 0 {
            return Ok(out);
        }
    }
}

fn option(number: u32, data: &[u8]) -> Vec<u8> {
    let length = (data.len() as u32).to_be_bytes();
    [b"IHAVEOPT", &number.to_be_bytes()[..], &length, data].concat()
}

fn reply(option: u32, kind: u32, data: &[u8]) -> Vec<u8> {
    let length = (data.len() as u32).to_be_bytes();
    let magic = 0x3e889045565a9u64.to_be_bytes();
    [&magic[..], &option.to_be_bytes(), &kind.to_be_bytes(), &length, data].concat()
}

fn request(flags: u16, command: u16, cookie: u64, offset: u64, length: u32) -> Vec<u8> {
    let magic = 0x25609513u32.to_be_bytes();
    [
        &magic[..],
        &flags.to_be_bytes(),
        &command.to_be_bytes(),
        &cookie.to_be_bytes(),
        &offset.to_be_bytes(),
        &length.to_be_bytes(),
    ]
    .concat()
}

/// GO for the export without a name, with these items.
fn go(items: &[u16]) -> Vec<u8> {
    let mut data = [&0u32.to_be_bytes()[..], &(items.len() as u16).to_be_bytes()].concat();
    items.iter().for_each(|item| data.extend_from_slice(&item.to_be_bytes()));
    option(7, &data)
}

/// A session in its transmission phase.
fn transmitting(desk: &mut Notes, structured: bool) -> Nbd {
    let mut nbd = session();
    feed(&mut nbd, desk, &[]).unwrap();
    feed(&mut nbd, desk, &[0, 0, 0, 3]).unwrap();
    if structured {
        assert_eq!(feed(&mut nbd, desk, &option(8, &[])).unwrap(), reply(8, 1, &[]));
    }
    feed(&mut nbd, desk, &go(&[])).unwrap();
    assert!(nbd.is_settled());
    nbd
}

#[test]
fn the_greeting_and_the_information_are_the_protocols() {
    let (mut nbd, mut desk) = (session(), Notes::default());
    let greeting = feed(&mut nbd, &mut desk, &[]).unwrap();
    assert_eq!(greeting, [&b"NBDMAGICIHAVEOPT"[..], &[0, 3]].concat());
    assert!(feed(&mut nbd, &mut desk, &[0, 0, 0, 3]).unwrap().is_empty());
    let listed = [&4u32.to_be_bytes()[..], b"disk", b"words"].concat();
    let expected = [reply(3, 2, &listed), reply(3, 1, &[])].concat();
    assert_eq!(feed(&mut nbd, &mut desk, &option(3, &[])).unwrap(), expected);
    let flags = 0b1101_0110_1101u16;
    let export = [&[0, 0][..], &SIZE.to_be_bytes(), &flags.to_be_bytes()].concat();
    let sizes = [&[0, 3, 0, 0, 2, 0, 0, 0, 16, 0][..], &(32u32 << 20).to_be_bytes()].concat();
    let expected = [reply(7, 3, &export), reply(7, 3, &sizes), reply(7, 1, &[])].concat();
    assert_eq!(feed(&mut nbd, &mut desk, &go(&[3])).unwrap(), expected);
    assert!(nbd.is_settled());
}

#[test]
fn fragments_may_be_forbidden_where_replies_are_structured() {
    for structured in [false, true] {
        let (mut nbd, mut desk) = (session(), Notes::default());
        feed(&mut nbd, &mut desk, &[]).unwrap();
        feed(&mut nbd, &mut desk, &[0, 0, 0, 3]).unwrap();
        if structured {
            feed(&mut nbd, &mut desk, &option(8, &[])).unwrap();
        }
        let export = feed(&mut nbd, &mut desk, &option(1, &[])).unwrap();
        assert_eq!(export[9] >> 7 & 1, u8::from(structured), "{export:?}");
    }
}

#[test]
fn the_old_way_to_an_export_has_its_padding_unless_waived() {
    for (flags, length) in [(1, 10 + 124), (3, 10)] {
        let (mut nbd, mut desk) = (session(), Notes::default());
        feed(&mut nbd, &mut desk, &[]).unwrap();
        feed(&mut nbd, &mut desk, &[0, 0, 0, flags]).unwrap();
        assert_eq!(feed(&mut nbd, &mut desk, &option(1, b"disk")).unwrap().len(), length);
    }
}

#[test]
fn options_that_are_wrong_are_refused_and_the_next_is_answered() {
    let (mut nbd, mut desk) = (session(), Notes::default());
    feed(&mut nbd, &mut desk, &[]).unwrap();
    feed(&mut nbd, &mut desk, &[0, 0, 0, 3]).unwrap();
    let other = [&5u32.to_be_bytes()[..], b"other", &[0, 0]].concat();
    let long = [&9u32.to_be_bytes()[..], b"other", &[0, 0]].concat();
    let unset = [&0u32.to_be_bytes()[..], &1u32.to_be_bytes(), &[0, 0, 0, 1, b'x']].concat();
    for (number, data, kind) in [
        (5, &[][..], 1),
        (99, b"x", 1),
        (3, b"x", 3),
        (8, b"x", 3),
        (7, &other, 6),
        (7, &long, 3),
        (7, &[0, 0, 0, 0, 0, 1], 3),
        (10, &unset, 3),
    ] {
        let answer = feed(&mut nbd, &mut desk, &option(number, data)).unwrap();
        let head = [&number.to_be_bytes()[..], &((1u32 << 31) + kind).to_be_bytes()].concat();
        assert_eq!(answer[8..16], head, "option {number}");
    }
    let mut out = Vec::new();
    assert_eq!(nbd.receive(&option(2, &[]), &mut out, &mut desk), Err(Fault::Finished));
    assert_eq!(out, reply(2, 1, &[]), "ABORT is acknowledged");
}

#[test]
fn reads_and_writes_are_asked_and_answered() {
    let mut desk = Notes::default();
    let mut nbd = transmitting(&mut desk, false);
    let write = [request(1, 1, 42, 4096, 512), vec![9; 512]].concat();
    assert!(feed(&mut nbd, &mut desk, &write[..100]).unwrap().is_empty());
    assert!(desk.asked.is_empty(), "the payload is not whole");
    feed(&mut nbd, &mut desk, &write).unwrap();
    let asked = Ask {
        cookie: 42,
        drive: 0,
        kind: Kind::Write,
        offset: 4096,
        length: 512,
        fua: true,
        predictable: PredictableLatency::Off,
    };
    assert_eq!(desk.asked.pop().unwrap(), (asked, vec![9; 512]));
    let mut out = Vec::new();
    nbd.done(&done(asked, Status::Success), &mut out, &|_| ());
    let simple = |error: u32| {
        [&0x67446698u32.to_be_bytes()[..], &error.to_be_bytes(), &42u64.to_be_bytes()].concat()
    };
    assert_eq!(out, simple(0));
    out.clear();
    let read = Ask { kind: Kind::Read, fua: false, ..asked };
    nbd.done(&done(read, Status::UnrecoveredRead), &mut out, &|_| ());
    assert_eq!(out, simple(5), "EIO");
    out.clear();
    let data = |out: &mut Vec<u8>| out.resize(out.len() + 512, 3);
    nbd.done(&done(read, Status::Success), &mut out, &data);
    assert_eq!(out, [simple(0), vec![3; 512]].concat());

    let mut nbd = transmitting(&mut desk, true);
    out.clear();
    nbd.done(&done(read, Status::Success), &mut out, &data);
    let head = [
        &0x668e33efu32.to_be_bytes()[..],
        &[0, 1, 0, 1],
        &42u64.to_be_bytes(),
        &520u32.to_be_bytes(),
        &4096u64.to_be_bytes(),
    ];
    assert_eq!(out, [head.concat(), vec![3; 512]].concat());
}

#[test]
fn wrong_requests_get_the_protocols_errors_and_the_session_lives() {
    let mut desk = Notes { keeps_deallocated: true, ..Notes::default() };
    let mut nbd = transmitting(&mut desk, false);
    for (flags, command, offset, length, error) in [
        (0, 0, SIZE, 512, 22),
        (0, 6, SIZE - 512, 1024, 28),
        (0, 0, u64::MAX, 512, 22),
        (0, 0, 100, 512, 22),
        (0, 0, 0, 100, 22),
        (0, 0, 0, 0, 22),
        (4, 0, 0, 512, 22),
        (16, 6, 0, 512, 95),
        (32, 6, 0, 512, 22),
        (0, 7, 0, 512, 22),
        (0, 99, 0, 512, 22),
    ] {
        let bytes = request(flags, command, 7, offset, length);
        let answer = feed(&mut nbd, &mut desk, &bytes).unwrap();
        assert_eq!(answer[4..8], u32::to_be_bytes(error), "{flags} {command} {offset} {length}");
    }
    // The last of them ends beyond what 64 bits hold.
    for offset in [SIZE, SIZE - 512, u64::MAX - 511] {
        let write = [request(0, 1, 7, offset, 1024), vec![1; 1024]].concat();
        assert_eq!(feed(&mut nbd, &mut desk, &write).unwrap()[4..8], 28u32.to_be_bytes());
    }
    assert!(desk.asked.is_empty());
    feed(&mut nbd, &mut desk, &request(0, 3, 7, 0, 0)).unwrap();
    assert_eq!(desk.asked.pop().unwrap().0.kind, Kind::Flush);
    let large = request(0, 1, 7, 0, (32 << 20) + 512);
    assert!(matches!(feed(&mut nbd, &mut desk, &large), Err(Fault::Protocol(_))));
    assert_eq!(feed(&mut nbd, &mut desk, &request(0, 2, 7, 0, 0)), Err(Fault::Finished));
}

#[test]
fn allocation_is_told_to_who_chose_it() {
    let mut desk = Notes::default();
    let mut nbd = session();
    feed(&mut nbd, &mut desk, &[]).unwrap();
    feed(&mut nbd, &mut desk, &[0, 0, 0, 3]).unwrap();
    feed(&mut nbd, &mut desk, &option(8, &[])).unwrap();
    let query = |queries: &[&[u8]]| {
        let mut data = [&0u32.to_be_bytes()[..], &(queries.len() as u32).to_be_bytes()].concat();
        for query in queries {
            data.extend_from_slice(&(query.len() as u32).to_be_bytes());
            data.extend_from_slice(query);
        }
        data
    };
    let none = feed(&mut nbd, &mut desk, &option(10, &query(&[b"qemu:dirty"]))).unwrap();
    assert_eq!(none, reply(10, 1, &[]));
    let context = [&[0, 0, 0, 1], &b"base:allocation"[..]].concat();
    let chosen = [reply(10, 4, &context), reply(10, 1, &[])].concat();
    let set = option(10, &query(&[b"base:allocation"]));
    assert_eq!(feed(&mut nbd, &mut desk, &set).unwrap(), chosen);
    feed(&mut nbd, &mut desk, &go(&[])).unwrap();
    let told = feed(&mut nbd, &mut desk, &request(0, 7, 1, 0, 8192)).unwrap();
    assert_eq!(told[4..8], [0, 1, 0, 5]);
    let extents = [1u32, 4096, 0, 4096, 3].map(u32::to_be_bytes).concat();
    assert_eq!(told[20..], extents);
    let one = feed(&mut nbd, &mut desk, &request(8, 7, 1, 0, 8192)).unwrap();
    assert_eq!(one.len(), 20 + 12);
}

#[test]
fn whatever_a_client_sends_is_answered_or_ends_the_session() {
    let mut rng = Rng::stream(3, "nbd");
    for _ in 0..20_000 {
        let mut desk = Notes::default();
        let mut nbd = match rng.next_u64() % 3 {
            0 => session(),
            1 => transmitting(&mut desk, false),
            _ => transmitting(&mut desk, true),
        };
        let mut bytes = Vec::new();
        for _ in 0..rng.next_u64() % 6 {
            let noise: Vec<u8> =
                (0..rng.next_u64() % 40).map(|_| (rng.next_u64() % 8) as u8).collect();
            let [number, flags] = [(); 2].map(|()| rng.next_u64());
            match number % 4 {
                0 => bytes.extend_from_slice(&noise),
                1 => bytes.extend(option((flags % 12) as u32, &noise)),
                2 => bytes.extend([0, 0, 0, 3]),
                _ => {
                    let [offset, length] = [(); 2].map(|()| rng.next_u64() >> (flags % 64));
                    let command = (number >> 8) as u16 % 9;
                    bytes.extend(request(flags as u16 % 40, command, 1, offset, length as u32));
                }
            }
        }
        let _ = feed(&mut nbd, &mut desk, &bytes);
    }
}
