//! Bytes by hand from the specifications, and whatever a host may send.

use super::{Subsystem, Target};
use crate::front::{Ask, Desk, Done, Fault, Front, Kind, Session, Stretch};
use manx_core::drive::{PredictableLatency, Status};
use manx_core::nvme::{AdminCompletion, AdminReply, Attributes, Options, Sqe, StatusField};
use manx_core::sim::Rng;
use manx_core::units::{Duration, Instant};

#[path = "../../tests/all/capsules.rs"]
mod capsules;

use capsules::{NQN, capsule, connect, entry, ic_request};

const SIZE: u64 = 1 << 20;

/// A desk that only notes.
#[derive(Default)]
struct Notes {
    asked: Vec<(Ask, Vec<u8>)>,
}

impl Desk for Notes {
    fn size(&self, _: u32) -> u64 {
        SIZE
    }

    fn submit(&mut self, ask: Ask, data: &[u8]) {
        assert!(ask.offset + ask.length <= SIZE && ask.length.is_multiple_of(512));
        let has_data = ask.kind == Kind::Write;
        assert_eq!(data.len() as u64, if has_data { ask.length } else { 0 });
        self.asked.push((ask, data.to_vec()));
    }

    fn stretches(&self, _: u32, _: u64, length: u64, _: usize) -> Vec<Stretch> {
        vec![Stretch { length, has_bytes: true }]
    }

    fn zeros_are_fast(&self) -> bool {
        true
    }

    /// A log that is read from its end on.
    fn admin(&mut self, _: u32, sqe: &Sqe, _: &[u8]) -> Option<AdminReply> {
        let told = AdminCompletion::new(sqe.cid.get(), Instant::START, StatusField::SUCCESS);
        (sqe.opcode == 0x02).then_some(AdminReply::Done(told))
    }
}

fn target() -> Target {
    let attributes = Attributes {
        sectors: SIZE / 512,
        map_unit_sectors: 8,
        is_cache_volatile: true,
        read_typical: Duration::from_us(80),
        optimal_write: 65_536,
        dtwin_reads: 1,
        dtwin_writes: 1,
        dtwin_time_ms: 1,
        ndwin_high_ms: 1,
        ndwin_low_ms: 1,
    };
    let options = Options { name: NQN.to_string(), ..Options::default() };
    Target::new(Subsystem { drives: 1, attributes, options, has_controller: true, address: None })
}

/// Feeds it bytes as one piece; what it answered, and whether it goes on.
fn feed(session: &mut dyn Session, desk: &mut Notes, bytes: &[u8]) -> (Vec<u8>, Option<Fault>) {
    let (mut out, mut at) = (Vec::new(), 0);
    loop {
        match session.receive(&bytes[at..], &mut out, desk) {
            Ok(0) => return (out, None),
            Ok(taken) => at += taken,
            Err(fault) => return (out, Some(fault)),
        }
    }
}

/// The answer to a command: result, head, queue, command, status with its phase.
fn answer(result: u64, head: u16, queue: u16, cid: u16, status: u16) -> Vec<u8> {
    [
        &[5, 0, 24, 0, 24, 0, 0, 0][..],
        &result.to_le_bytes(),
        &head.to_le_bytes(),
        &queue.to_le_bytes(),
        &cid.to_le_bytes(),
        &(status << 1).to_le_bytes(),
    ]
    .concat()
}

/// Property Set of the controller's configuration.
fn configure(cid: u16, config: u32) -> Vec<u8> {
    let mut set = entry(0x7f, cid, 0, 0, 0x5a);
    set[44] = 0x14;
    set[48..52].copy_from_slice(&config.to_le_bytes());
    capsule(&set, &[])
}

/// A write of two sectors at 1024, whose data are in the capsule if they are not awaited.
fn write(cid: u16, is_awaited: bool) -> Vec<u8> {
    let mut write = entry(0x01, cid, 1, 1024, if is_awaited { 0x5a } else { 0x01 });
    (write[40], write[48]) = (2, 1);
    capsule(&write, if is_awaited { &[] } else { &[3; 1024] })
}

/// H2CData of the command at place 0, of 1024 bytes that are awaited.
fn data_of(cid: u16, range: std::ops::Range<u16>) -> Vec<u8> {
    let length = range.end - range.start;
    let mut part = vec![6, if range.end == 1024 { 4 } else { 0 }, 24, 24];
    part.extend_from_slice(&(24 + u32::from(length)).to_le_bytes());
    for field in [cid, 0, range.start, 0, length, 0, 0, 0] {
        part.extend_from_slice(&field.to_le_bytes());
    }
    part.resize(part.len() + usize::from(length), 7);
    part
}

/// An enabled controller's admin session and an I/O session.
fn sessions(target: &mut Target, desk: &mut Notes) -> (Box<dyn Session>, Box<dyn Session>) {
    let (mut admin, mut io) = (target.session(None), target.session(None));
    let mut enable = entry(0x7f, 2, 0, 0, 0x5a);
    (enable[44], enable[48]) = (0x14, 1);
    let bytes = [ic_request(0), connect(0xffff, 0), capsule(&enable, &[])].concat();
    let (out, fault) = feed(&mut *admin, desk, &bytes);
    assert_eq!(fault, None);
    let mut response = vec![1, 0, 128, 0, 128, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0];
    response.resize(128, 0);
    assert_eq!(out[..128], response, "256 KiB of data in a PDU");
    assert_eq!(out[128..], [answer(1, 1, 0, 1, 0), answer(0, 2, 0, 2, 0)].concat());
    let (out, fault) = feed(&mut *io, desk, &[ic_request(0), connect(1, 1)].concat());
    assert_eq!((&out[128..], fault), (&answer(1, 1, 1, 1, 0)[..], None));
    (admin, io)
}

fn done(ask: Ask, status: Status) -> Done {
    Done { ask, status, dnr: status != Status::Success, result: 0 }
}

#[test]
fn a_write_is_asked_for_its_data_and_a_read_brings_them() {
    let (mut target, mut desk) = (target(), Notes::default());
    let (_admin, mut io) = sessions(&mut target, &mut desk);
    let mut write = entry(0x01, 0x1234, 1, 1024, 0x5a);
    (write[40], write[48], write[51]) = (8, 1, 0x40);
    let (out, fault) = feed(&mut *io, &mut desk, &capsule(&write, &[]));
    assert_eq!(fault, None);
    let r2t = [9, 0, 24, 0, 24, 0, 0, 0, 0x34, 0x12, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0];
    assert_eq!(out, r2t);
    assert!(desk.asked.is_empty());
    let mut part = vec![6, 0, 24, 24, 0, 0, 0, 0, 0x34, 0x12, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0];
    part.resize(24, 0);
    (part[4], part[5]) = (24, 2);
    part.extend_from_slice(&[7; 512]);
    let mut last = part.clone();
    (last[1], last[13]) = (4, 2);
    last[24..].fill(8);
    let (out, fault) = feed(&mut *io, &mut desk, &[part, last].concat());
    assert_eq!((out, fault), (vec![], None));
    let ask = Ask {
        cookie: 0,
        drive: 0,
        kind: Kind::Write,
        offset: 4096,
        length: 1024,
        fua: true,
        predictable: PredictableLatency::Off,
    };
    assert_eq!(desk.asked, [(ask, [[7; 512], [8; 512]].concat())]);
    let mut out = Vec::new();
    io.done(&done(ask, Status::Success), &mut out, &|_| ());
    assert_eq!(out, answer(0, 2, 1, 0x1234, 0));

    let mut read = entry(0x02, 9, 1, 512, 0x5a);
    read[8] = 1;
    feed(&mut *io, &mut desk, &capsule(&read, &[]));
    let (ask, _) = desk.asked[1];
    assert_eq!((ask.kind, ask.predictable), (Kind::Read, PredictableLatency::On));
    let mut out = Vec::new();
    io.done(&done(ask, Status::Success), &mut out, &|out| out.extend_from_slice(&[6; 512]));
    let mut head = vec![7, 4, 24, 24, 24, 2, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0];
    head.resize(24, 0);
    assert_eq!(out, [&head[..], &[6; 512], &answer(0, 3, 1, 9, 0)].concat());

    // Failed fast: the vendor's status, do not retry, and the busy time in DW0 and DW1.
    feed(&mut *io, &mut desk, &capsule(&read, &[]));
    let (ask, _) = desk.asked[2];
    let (status, dnr, result) = (Status::PredictableLatencyNotMet, true, 77_000);
    let mut out = Vec::new();
    io.done(&Done { ask, status, dnr, result }, &mut out, &|_| panic!("no data"));
    assert_eq!(out, answer(77_000, 4, 1, 9, 0x4701));
}

const ENABLE: u32 = 0x46_0001;

#[test]
fn a_queue_of_a_controller_that_was_reset_or_shut_down_carries_nothing_out() {
    for (config, status) in [(ENABLE & !1, 0), (ENABLE | 1 << 14, 0b1001)] {
        let next: [&dyn Fn() -> Vec<u8>; 3] =
            [&|| write(8, false), &|| data_of(7, 512..1024), &|| configure(9, ENABLE)];
        for bytes in next {
            let (mut target, mut desk) = (target(), Notes::default());
            let (mut admin, mut io) = sessions(&mut target, &mut desk);
            let half = [write(7, true), data_of(7, 0..512)].concat();
            assert_eq!(feed(&mut *io, &mut desk, &half).1, None);
            assert!(!target.calls());
            let (out, _) = feed(&mut *admin, &mut desk, &configure(3, config));
            assert_eq!(out, answer(0, 3, 0, 3, 0));
            assert!(target.calls(), "the others act at once");
            let mut get = entry(0x7f, 4, 4, 0, 0x5a);
            get[44] = 0x1c;
            let (out, _) = feed(&mut *admin, &mut desk, &capsule(&get, &[]));
            assert_eq!(out, answer(status, 4, 0, 4, 0));
            // A new life is none for the old queue.
            feed(&mut *admin, &mut desk, &configure(5, ENABLE & !1));
            feed(&mut *admin, &mut desk, &configure(6, ENABLE));
            assert_eq!(feed(&mut *io, &mut desk, &bytes()), (vec![], Some(Fault::Closed)));
            assert_eq!(io.tick(&mut vec![], &mut desk), Err(Fault::Closed));
            assert!(desk.asked.is_empty(), "{:?}", desk.asked);
        }
    }
}

#[test]
fn nothing_but_a_reset_ends_a_shutdown() {
    let (mut target, mut desk) = (target(), Notes::default());
    let (mut admin, _io) = sessions(&mut target, &mut desk);
    let mut join = |desk: &mut Notes| {
        let (out, _) =
            feed(&mut *target.session(None), desk, &[ic_request(0), connect(1, 1)].concat());
        out[128 + 22] >> 1
    };
    feed(&mut *admin, &mut desk, &configure(3, ENABLE | 1 << 14));
    feed(&mut *admin, &mut desk, &configure(4, ENABLE));
    let keep_alive = capsule(&entry(0x18, 5, 0, 0, 0x5a), &[]);
    assert_eq!(feed(&mut *admin, &mut desk, &keep_alive).0, answer(0, 5, 0, 5, 0x400c));
    assert_eq!(join(&mut desk), 0x0c, "Command Sequence Error");
    feed(&mut *admin, &mut desk, &configure(6, 0));
    feed(&mut *admin, &mut desk, &configure(7, ENABLE));
    assert_eq!(join(&mut desk), 0);
}

#[test]
fn a_reset_discards_what_the_admin_queue_has_under_way() {
    let (mut target, mut desk) = (target(), Notes::default());
    let (mut admin, _io) = sessions(&mut target, &mut desk);
    let event = |cid| capsule(&entry(0x0c, cid, 0, 0, 0x5a), &[]);
    for cid in 0..8 {
        let (out, _) = feed(&mut *admin, &mut desk, &event(cid));
        let is_refused = cid % 5 == 4;
        assert_eq!(out.is_empty(), !is_refused, "four may wait, not {cid}");
        if is_refused {
            let resets = [configure(9, 0), configure(10, ENABLE)].concat();
            assert_eq!(feed(&mut *admin, &mut desk, &resets).0.len(), 48, "answers of its own");
        }
    }
}

#[test]
fn a_transfer_is_as_long_as_its_sgl() {
    let (mut target, mut desk) = (target(), Notes::default());
    let (mut admin, mut io) = sessions(&mut target, &mut desk);
    let mut ask = |opcode, length, kind, has_data| {
        let mut entry = entry(opcode, 7, 1, length, kind);
        if opcode == 0x06 {
            entry[40] = 1;
        }
        let data = vec![0; if has_data { length as usize } else { 0 }];
        let session = if opcode == 0x06 { &mut admin } else { &mut io };
        let (out, fault) = feed(&mut **session, &mut desk, &capsule(&entry, &data));
        assert_eq!(fault, None);
        (out.get(22).map(|status| status >> 1), std::mem::take(&mut desk.asked).len())
    };
    // Data SGL Length Invalid: a read, a write and a comparison of one sector, and Identify.
    for length in [508, 516, 1024] {
        assert_eq!(ask(0x02, length, 0x5a, false), (Some(0x0f), 0));
        assert_eq!(ask(0x01, length, 0x01, true), (Some(0x0f), 0));
        assert_eq!(ask(0x05, length, 0x01, true), (Some(0x0f), 0));
    }
    assert_eq!(ask(0x06, 4100, 0x5a, false), (Some(0x0f), 0));
    assert_eq!(ask(0x02, 512, 0x5a, false), (None, 1));
    assert_eq!(ask(0x01, 512, 0x01, true), (None, 1));
    // Deallocation of one range, with the room that Linux has for 256; none is filled.
    assert_eq!(ask(0x09, 4096, 0x01, true).0, Some(0));
}

#[test]
fn a_data_pdu_beyond_its_maximum_is_told() {
    for (length, status) in [(256u32 << 10, None), ((256 << 10) + 4, Some(5))] {
        let (mut target, mut desk) = (target(), Notes::default());
        let (_admin, mut io) = sessions(&mut target, &mut desk);
        let mut write = entry(0x01, 7, 1, 512 << 10, 0x5a);
        write[48..50].copy_from_slice(&1023u16.to_le_bytes());
        let mut part = vec![6, 0, 24, 24];
        for field in [24 + length, 7, 0, length, 0] {
            part.extend_from_slice(&field.to_le_bytes());
        }
        part.resize(part.len() + length as usize, 7);
        feed(&mut *io, &mut desk, &capsule(&write, &[]));
        let (out, fault) = feed(&mut *io, &mut desk, &part);
        assert_eq!((out.get(8).copied(), fault.is_some()), (status, status.is_some()));
    }
}

#[test]
fn features_of_the_transport_are_not_saved_and_have_one_value() {
    let (mut target, mut desk) = (target(), Notes::default());
    let (mut admin, _io) = sessions(&mut target, &mut desk);
    for feature in [0x07, 0x0f] {
        // Feature Identifier Not Saveable, and Invalid Field.
        for (opcode, at, value, status) in [(0x09, 43, 0x80, 0x410du16), (0x0a, 41, 3, 0x4002)] {
            let mut entry = entry(opcode, 9, 0, 0, 0x5a);
            (entry[40], entry[at]) = (feature, value);
            let (out, _) = feed(&mut *admin, &mut desk, &capsule(&entry, &[]));
            assert_eq!(out[22..], (status << 1).to_le_bytes(), "feature {feature:02x}h");
        }
    }
}

#[test]
fn a_keep_alive_timeout_is_told_as_it_was_set_in_whole_seconds() {
    let (mut target, mut desk) = (target(), Notes::default());
    let (mut admin, _io) = sessions(&mut target, &mut desk);
    for (set, told) in [(0, 0), (1, 1000), (2000, 2000), (4_294_967_000, 4_294_967_000)]
        .into_iter()
        .chain([(4_294_967_001, u32::MAX), (u32::MAX, u32::MAX)])
    {
        let mut feature = entry(0x09, 9, 0, 0, 0x5a);
        feature[40] = 0x0f;
        feature[44..48].copy_from_slice(&u32::to_le_bytes(set));
        feed(&mut *admin, &mut desk, &capsule(&feature, &[]));
        feature[0] = 0x0a;
        let (out, _) = feed(&mut *admin, &mut desk, &capsule(&feature, &[]));
        assert_eq!(out[8..12], u32::to_le_bytes(told), "{set} ms");
    }
}

#[test]
fn a_log_from_its_end_on_brings_the_zeros_that_were_asked_for() {
    let (mut target, mut desk) = (target(), Notes::default());
    let (mut admin, _io) = sessions(&mut target, &mut desk);
    // The error log is the transport's and 64 bytes long, log 02h is a drive's.
    for (page, offset) in [(0x01, 64), (0x02, 0)] {
        let mut log = entry(0x02, 9, 0, 8, 0x5a);
        (log[40], log[42], log[48]) = (page, 1, offset);
        let (out, fault) = feed(&mut *admin, &mut desk, &capsule(&log, &[]));
        assert_eq!((out[0], out.len(), fault), (7, 24 + 8 + 24, None), "log {page:02x}h");
        assert_eq!((&out[24..32], &out[54..]), (&[0; 8][..], &[0, 0][..]));
    }
}

#[test]
fn what_breaks_the_protocol_is_told_with_its_head() {
    let desk = &mut Notes::default();
    let early = capsule(&entry(0, 0, 0, 0, 0x5a), &[]);
    let (out, fault) = feed(&mut *target().session(None), desk, &early);
    assert!(matches!(fault, Some(Fault::Protocol(_))));
    let mut term = vec![3, 0, 24, 0, 96, 0, 0, 0, 2, 0];
    term.resize(24, 0);
    assert_eq!(out, [term, early[..72].to_vec()].concat(), "a PDU that may not come yet");
    for (at, value, status, information) in [(8, 1, 6, 8), (10, 32, 1, 10), (11, 4, 1, 11)] {
        let mut request = ic_request(0);
        request[at] = value;
        let (out, fault) = feed(&mut *target().session(None), desk, &request);
        assert!(fault.is_some());
        assert_eq!((out[8], out[10]), (status, information));
    }
    let wrong = [capsule(&entry(0, 0, 0, 0, 0x5a), &[]), vec![1, 2, 3, 4]].concat();
    let mut wrong = [ic_request(1), wrong].concat();
    (wrong[129], wrong[132]) = (1, 76);
    let (out, fault) = feed(&mut *target().session(None), desk, &wrong);
    assert!(fault.is_some());
    assert_eq!(out[128 + 8..128 + 14], [3, 0, 1, 2, 3, 4], "the digest that came");
}

/// A PDU of drawn bytes, most of them nearly right.
fn drawn(rng: &mut Rng) -> Vec<u8> {
    let mut noise = |below: u64| rng.next_u64() % below;
    let opcodes = [0, 1, 2, 2, 5, 8, 9, 0x0c, 0x06, 0x0a, 0x18, 0x7f];
    let opcode = opcodes[noise(opcodes.len() as u64) as usize];
    let length = [0, 512, 1024, 4096, 8192, 9000, 1 << 20, 1 << 31][noise(8) as usize];
    let mut command =
        entry(opcode, noise(4) as u16, [1, 1, 1, 0, 2][noise(5) as usize], length, 0x5a);
    (command[39], command[40]) = ([1, 0x5a, 0x5a, 0][noise(4) as usize], noise(20) as u8);
    command[48] = noise(20) as u8;
    let most = [0, 8192, 8192, 10_000][noise(4) as usize];
    let data = vec![noise(256) as u8; length.min(most) as usize];
    let mut bytes = match noise(40) {
        0 => ic_request(noise(5) as u8),
        1 => connect([0xffff, 1, 2][noise(3) as usize], noise(4) as u16),
        2 => {
            let mut fields = vec![6, 4, 24, 24, 0, 0, 0, 0, noise(4) as u8, 0, noise(4) as u8, 0];
            fields.resize(24, 0);
            fields[16..20].copy_from_slice(&length.to_le_bytes());
            fields.extend_from_slice(&data);
            let plen = fields.len() as u32;
            fields[4..8].copy_from_slice(&plen.to_le_bytes());
            fields
        }
        _ => capsule(&command, &data),
    };
    for _ in 0..[0, 0, 0, 0, 0, 0, 1, 5][noise(8) as usize] {
        let at = noise(bytes.len() as u64) as usize;
        bytes[at] = noise(256) as u8;
    }
    bytes
}

#[test]
fn noise_of_20_000_sessions_is_answered_or_closed() {
    let mut rng = Rng::stream(11, "nvme-tcp");
    let (mut handed, mut faults) = (0, 0);
    let is_long = std::env::var_os("MANX_LONG").is_some();
    let rounds = if is_long { 20_000_000 } else { 20_000u32 };
    for round in 0..rounds {
        let (mut target, mut desk) = (target(), Notes::default());
        let (mut admin, mut io) = sessions(&mut target, &mut desk);
        let mut fresh = target.session(None);
        let session: &mut dyn Session = match round % 4 {
            0 => &mut *fresh,
            1 => &mut *admin,
            _ => &mut *io,
        };
        let mut out = Vec::new();
        for _ in 0..6 {
            let (told, fault) = feed(session, &mut desk, &drawn(&mut rng));
            out.extend_from_slice(&told);
            if fault.is_some() {
                faults += 1;
                break;
            }
            for (ask, _) in std::mem::take(&mut desk.asked) {
                let data = |out: &mut Vec<u8>| out.resize(out.len() + ask.length as usize, 1);
                handed += 1;
                session.done(&done(ask, Status::Success), &mut out, &data);
            }
        }
        // All that went out is whole PDUs.
        let mut at = 0;
        while at < out.len() {
            at += u32::from_le_bytes(out[at + 4..at + 8].try_into().unwrap()) as usize;
        }
        assert_eq!(at, out.len());
    }
    assert!(handed > 2_000 && faults > 5_000, "{handed} requests, {faults} faults");
}
