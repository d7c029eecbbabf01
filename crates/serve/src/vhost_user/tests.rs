//! A driver from the specification's text, in a file that stands for a guest's memory; and whatever
//! a client may send.

use super::session::Device;
use crate::front::{Ask, Desk, Done, Kind, Stretch};
use manx_core::drive::Status;
use manx_core::sim::Rng;
use rustix::event::{EventfdFlags, eventfd};
use std::fs::{File, OpenOptions};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;

/// Bytes of the device.
const SIZE: u64 = 1 << 20;

/// The guest's memory: its address there, and in the front-end.
const GUEST: u64 = 0x10_0000;
const USER: u64 = 0x7000_0000_0000;
const MEMORY: u64 = 1 << 20;

/// Rings and a queue's size.
const AVAILABLE: u64 = GUEST + 0x1000;
const USED: u64 = GUEST + 0x2000;
const ENTRIES: u16 = 16;

const NEXT: u16 = 1;
const WRITE: u16 = 2;
const INDIRECT: u16 = 4;
const FEATURES: u64 = 1 << 32 | 1 << 30 | 1 << 29 | 1 << 28 | 1 << 9;

/// Address, bytes, flags, the next.
type Buffer = (u64, u32, u16, u16);

/// A desk with bytes, which does what it is asked at once and tells later.
struct Disk {
    bytes: Vec<u8>,
    waiting: Vec<Ask>,
    asked: usize,
}

impl Desk for Disk {
    fn size(&self, _: u32) -> u64 {
        SIZE
    }

    fn submit(&mut self, ask: Ask, data: &[u8]) {
        let end = ask.offset + ask.length;
        assert!(end <= SIZE && ask.length.is_multiple_of(512));
        let place = &mut self.bytes[ask.offset as usize..end as usize];
        match ask.kind {
            Kind::Write => place.copy_from_slice(data),
            Kind::Zero { .. } | Kind::Trim => place.fill(0),
            Kind::Read | Kind::Flush => {}
        }
        self.asked += 1;
        self.waiting.push(ask);
    }

    fn stretches(&self, _: u32, _: u64, _: u64, _: usize) -> Vec<Stretch> {
        Vec::new()
    }

    fn zeros_are_fast(&self) -> bool {
        true
    }
}

struct Guest {
    device: Device,
    disk: Disk,
    memory: File,
    kick: OwnedFd,
    call: OwnedFd,
    available: u16,
}

fn message(request: u32, flags: u32, payload: &[u8]) -> Vec<u8> {
    let head = [request, flags, payload.len() as u32].map(u32::to_le_bytes).concat();
    [head, payload.to_vec()].concat()
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn longs(longs: &[u64]) -> Vec<u8> {
    longs.iter().flat_map(|long| long.to_le_bytes()).collect()
}

/// A new file of `length` bytes, without a name.
fn file(length: u64) -> File {
    static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let number = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let path = std::env::temp_dir().join(format!("manx-vhost-{}-{number}", std::process::id()));
    let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path).unwrap();
    std::fs::remove_file(path).unwrap();
    file.set_len(length).unwrap();
    file
}

fn event() -> OwnedFd {
    eventfd(0, EventfdFlags::NONBLOCK).unwrap()
}

impl Guest {
    fn new() -> Self {
        Self {
            device: Device::new("a disk".into(), 4096),
            disk: Disk { bytes: vec![0; SIZE as usize], waiting: Vec::new(), asked: 0 },
            memory: file(MEMORY),
            kick: event(),
            call: event(),
            available: 0,
        }
    }

    /// One whose queue 0 runs.
    fn running(features: u64) -> Self {
        let mut guest = Self::new();
        guest.ask(2, &longs(&[features]), vec![]).unwrap();
        guest.set_memory(MEMORY).unwrap();
        guest.ask(8, &words(&[0, ENTRIES.into()]), vec![]).unwrap();
        guest.ask(10, &words(&[0, 0]), vec![]).unwrap();
        let at = |guest: u64| guest - GUEST + USER;
        let rings = longs(&[0, at(GUEST), at(USED), at(AVAILABLE), 0]);
        guest.ask(9, &rings, vec![]).unwrap();
        let (kick, call) = (guest.kick.try_clone().unwrap(), guest.call.try_clone().unwrap());
        guest.ask(13, &longs(&[0]), vec![call]).unwrap();
        guest.ask(12, &longs(&[0]), vec![kick]).unwrap();
        guest.ask(18, &words(&[0, 1]), vec![]).unwrap();
        guest
    }

    fn ask(
        &mut self,
        request: u32,
        payload: &[u8],
        files: Vec<OwnedFd>,
    ) -> Result<Vec<u8>, String> {
        self.device.keep(files);
        let (bytes, mut out) = (message(request, 1, payload), Vec::new());
        assert_eq!(Device::message_bytes(&bytes), bytes.len());
        assert_eq!(self.device.hear(&bytes[..11], &mut out, &self.disk), Ok(0), "not whole yet");
        let taken = self.device.hear(&bytes, &mut out, &self.disk)?;
        assert_eq!(taken, bytes.len());
        Ok(out)
    }

    fn set_memory(&mut self, size: u64) -> Result<Vec<u8>, String> {
        let file = self.memory.try_clone().unwrap().into();
        let regions = [longs(&[1]), longs(&[GUEST, size, USER, 0])].concat();
        self.ask(5, &regions, vec![file])
    }

    fn put(&self, at: u64, bytes: &[u8]) {
        self.memory.write_all_at(bytes, at - GUEST).unwrap();
    }

    fn get<const N: usize>(&self, at: u64) -> [u8; N] {
        let mut bytes = [0; N];
        self.memory.read_exact_at(&mut bytes, at - GUEST).unwrap();
        bytes
    }

    fn number(&self, at: u64) -> u16 {
        u16::from_le_bytes(self.get(at))
    }

    fn describe(&self, at: u64, buffers: &[Buffer]) {
        for (number, (address, length, flags, next)) in buffers.iter().enumerate() {
            let entry = [longs(&[*address]), words(&[*length])].concat();
            let rest = [flags.to_le_bytes(), next.to_le_bytes()].concat();
            self.put(at + 16 * number as u64, &[entry, rest].concat());
        }
    }

    /// Makes the chain of that first descriptor available, and kicks.
    fn offer(&mut self, head: u16) {
        let at = AVAILABLE + 4 + 2 * u64::from(self.available % ENTRIES);
        self.put(at, &head.to_le_bytes());
        self.available = self.available.wrapping_add(1);
        self.put(AVAILABLE + 2, &self.available.to_le_bytes());
        rustix::io::write(&self.kick, &1u64.to_ne_bytes()).unwrap();
    }

    /// The device looks after its queues.
    fn work(&mut self) -> Result<(), String> {
        self.device.hear_bell();
        while self.device.fetch(&mut self.disk)? {}
        Ok(())
    }

    /// The model is done with everything.
    fn finish(&mut self, status: Status) -> Vec<u8> {
        let mut out = Vec::new();
        for ask in std::mem::take(&mut self.disk.waiting) {
            let range = ask.offset as usize..(ask.offset + ask.length) as usize;
            let bytes = self.disk.bytes[range].to_vec();
            let done = Done { ask, status, dnr: false, result: 0 };
            self.device.done(&done, &mut out, &|out| out.extend_from_slice(&bytes));
        }
        out
    }

    fn calls(&self) -> u64 {
        let mut count = [0; 8];
        rustix::io::read(&self.call, &mut count).map_or(0, |_| u64::from_ne_bytes(count))
    }

    /// A whole request of head, data to the device, and room for data and the status; its status
    /// and the data.
    fn request(&mut self, kind: u32, sector: u64, data: &[u8], room: u32) -> (u8, Vec<u8>) {
        let (head, body, answer) = (GUEST + 0x4000, GUEST + 0x5000, GUEST + 0x40000);
        self.put(head, &[words(&[kind, 0]), longs(&[sector])].concat());
        self.put(body, data);
        self.put(answer, &vec![0xee; room as usize + 1]);
        let length = data.len() as u32;
        let before = self.number(USED + 2);
        self.describe(
            GUEST,
            &[(head, 16, NEXT, 1), (body, length, NEXT, 2), (answer, room + 1, WRITE, 0)],
        );
        self.offer(0);
        self.work().unwrap();
        self.finish(Status::Success);
        assert_eq!(self.number(USED + 2), before.wrapping_add(1), "it is answered");
        let mut bytes = vec![0; room as usize + 1];
        self.memory.read_exact_at(&mut bytes, answer - GUEST).unwrap();
        (bytes.pop().unwrap(), bytes)
    }
}

#[test]
fn a_front_end_is_told_what_the_device_is() {
    let mut guest = Guest::new();
    let features = guest.ask(1, &[], vec![]).unwrap();
    let offered = u64::from_le_bytes(features[12..].try_into().unwrap());
    assert_eq!(features[..12], words(&[1, 5, 8]));
    assert_eq!(offered & FEATURES, FEATURES);
    assert_eq!(guest.ask(15, &[], vec![]).unwrap()[12..], longs(&[0x229]));
    assert_eq!(guest.ask(17, &[], vec![]).unwrap()[12..], longs(&[16]));
    let config = guest.ask(24, &[words(&[0, 60, 0]), vec![0; 60]].concat(), vec![]).unwrap();
    assert_eq!(config[12..24], words(&[0, 60, 0]));
    let config = &config[24..];
    assert_eq!(config[..8], longs(&[SIZE / 512]));
    assert_eq!((&config[20..24], config[24]), (&words(&[512])[..], 3));
    assert_eq!(config[34..36], 16u16.to_le_bytes(), "queues");
    assert_eq!(guest.ask(16, &longs(&[8]), vec![]).unwrap(), vec![0u8; 0]);
    let (owner, mut out) = (message(3, 9, &[]), Vec::new());
    assert_eq!(guest.device.hear(&owner, &mut out, &guest.disk), Ok(12));
    assert_eq!(out, message(3, 5, &longs(&[0])), "an acknowledgement, as it was asked for");
}

#[test]
fn requests_are_done_and_errors_told() {
    for features in [FEATURES, 1 << 30] {
        let mut guest = Guest::running(features);
        let data: Vec<u8> = (0..8192).map(|at| (at / 7) as u8).collect();
        assert_eq!(guest.request(1, 8, &data, 0), (0, vec![]));
        assert_eq!(guest.request(0, 8, &[], 8192), (0, data));
        assert_eq!(guest.request(4, 0, &[], 0).0, 0);
        assert_eq!(guest.request(8, 0, &[], 20).1, *b"a disk\0\0\0\0\0\0\0\0\0\0\0\0\0\0");
        let range = |sector, sectors, flags| [longs(&[sector]), words(&[sectors, flags])].concat();
        let two = [range(8, 1, 0), range(10, 1, 0)].concat();
        assert_eq!(guest.request(11, 0, &two, 0).0, 0);
        assert_eq!(guest.request(13, 0, &range(12, 1, 1), 0).0, 0);
        let bytes = guest.request(0, 8, &[], 4096).1;
        for (at, is_zero) in [true, false, true, false, true].into_iter().enumerate() {
            assert_eq!(bytes[512 * at..512 * (at + 1)] == [0; 512], is_zero, "{at}");
        }
        let last = SIZE / 512;
        for (kind, sector, data, room, status) in [
            (0, last, vec![], 512, 1),
            (0, u64::MAX, vec![], 512, 1),
            (0, 0, vec![], 511, 1),
            (0, 0, vec![], 0, 1),
            (1, last - 1, vec![1; 1024], 0, 1),
            (11, 0, range(0, 1, 1), 0, 2),
            (11, 0, range(last, 1, 0), 0, 1),
            (11, 0, range(0, 0, 0), 0, 1),
            (13, 0, range(0, 1, 2), 0, 2),
            (13, 0, vec![0; 17 * 16], 0, 1),
            (99, 0, vec![], 0, 2),
        ] {
            assert_eq!(guest.request(kind, sector, &data, room).0, status, "{kind} {sector}");
        }
        assert_eq!(guest.request(4, 0, &[], 0).0, 0, "it goes on");
    }
}

#[test]
fn buffers_may_lie_anywhere_and_an_error_brings_no_bytes() {
    let mut guest = Guest::running(FEATURES);
    guest.disk.bytes[..1024].fill(7);
    let (head, table, answer) = (GUEST + 0x4000, GUEST + 0x6000, GUEST + 0x8000);
    guest.put(head, &[0; 16]);
    // The head in two, the data in three, the status at the end of the third, all in a table.
    guest.describe(
        table,
        &[
            (head, 5, NEXT, 1),
            (head + 5, 11, NEXT, 2),
            (answer, 1, NEXT | WRITE, 4),
            (0, 0, 0, 0),
            (answer + 100, 600, NEXT | WRITE, 5),
            (answer + 1000, 424, WRITE, 0),
        ],
    );
    guest.describe(GUEST, &[(0, 0, 0, 0), (table, 96, INDIRECT, 0)]);
    for (status, code, byte) in [(Status::Success, 0, 7), (Status::UnrecoveredRead, 1, 0)] {
        guest.offer(1);
        guest.work().unwrap();
        guest.finish(status);
        assert_eq!(guest.get::<1>(answer), [byte]);
        assert!(guest.get::<600>(answer + 100) == [byte; 600]);
        let last = guest.get::<424>(answer + 1000);
        assert!(last[..423] == [byte; 423]);
        assert_eq!(last[423], code);
    }
    assert_eq!(guest.get::<8>(USED + 4), *words(&[1, 1025]));
}

#[test]
fn notifications_are_those_that_were_asked_for() {
    let mut guest = Guest::running(FEATURES);
    let event = AVAILABLE + 4 + 2 * u64::from(ENTRIES);
    guest.put(event, &2u16.to_le_bytes());
    let calls = [0, 1, 2, 3].map(|_| {
        guest.request(4, 0, &[], 0);
        guest.calls()
    });
    assert_eq!(calls, [0, 0, 1, 0], "of the third");
    assert_eq!(guest.number(USED + 4 + 8 * u64::from(ENTRIES)), 4, "kick me at the fifth");
    let mut plain = Guest::running(1 << 30);
    plain.request(4, 0, &[], 0);
    plain.put(AVAILABLE, &1u16.to_le_bytes());
    plain.request(4, 0, &[], 0);
    assert_eq!(plain.calls(), 1, "the second wanted none");
}

#[test]
fn a_queue_ends_when_its_requests_are_done_and_begins_where_it_was() {
    let mut guest = Guest::running(FEATURES);
    guest.describe(GUEST, &[(GUEST + 0x4000, 16, NEXT, 1), (GUEST + 0x5000, 513, WRITE, 0)]);
    guest.put(GUEST + 0x4000, &[0; 16]);
    guest.offer(0);
    guest.work().unwrap();
    assert_eq!(guest.ask(11, &words(&[0, 0]), vec![]).unwrap(), vec![0u8; 0], "one is under way");
    guest.offer(0);
    guest.work().unwrap();
    assert_eq!(guest.disk.waiting.len(), 1, "no more is taken");
    assert_eq!(guest.finish(Status::Success), message(11, 5, &words(&[0, 1])));
    guest.ask(10, &words(&[0, 1]), vec![]).unwrap();
    let kick = guest.kick.try_clone().unwrap();
    guest.ask(12, &longs(&[0]), vec![kick]).unwrap();
    guest.work().unwrap();
    guest.finish(Status::Success);
    assert_eq!(guest.number(USED + 2), 2, "the one that waited");
}

#[test]
fn chains_that_may_not_be_end_the_connection() {
    let (inside, table) = (GUEST + 0x4000, GUEST + 0x6000);
    let cases: [(&[Buffer], u16, &str); 12] = [
        (&[(inside, 16, NEXT, 1), (inside, 16, NEXT, 0)], 0, "more than 16 descriptors"),
        (&[(inside, 16, NEXT, 99)], 0, "descriptor 99"),
        (&[], 16, "descriptor 16 of 16"),
        (&[(GUEST + MEMORY - 8, 16, 0, 0)], 0, "not in the memory table"),
        (&[(0, 16, 0, 0)], 0, "0x0"),
        (&[(u64::MAX - 3, 16, 0, 0)], 0, "not in the memory table"),
        (&[(inside, u32::MAX, 0, 0)], 0, "not in the memory table"),
        (&[(inside, 16, 0, 0)], 0, "without a byte for the status"),
        (&[(inside, 16, NEXT | WRITE, 1), (inside, 16, 0, 0)], 0, "behind one to write"),
        (&[(table, 15, INDIRECT, 0)], 0, "table of 15 bytes"),
        (&[(table, 16, INDIRECT | NEXT, 1)], 0, "table of 16 bytes"),
        (&[(table, 32, INDIRECT, 0)], 0, "table of 32 bytes"),
    ];
    for (buffers, head, words) in cases {
        let mut guest = Guest::running(FEATURES);
        guest.describe(table, &[(inside, 16, NEXT, 1), (table, 32, INDIRECT, 0)]);
        guest.describe(GUEST, buffers);
        guest.offer(head);
        let why = guest.work().unwrap_err();
        assert!(why.contains(words), "{why} has no {words}");
    }
    let mut guest = Guest::running(FEATURES);
    guest.put(AVAILABLE + 2, &17u16.to_le_bytes());
    rustix::io::write(&guest.kick, &1u64.to_ne_bytes()).unwrap();
    assert!(guest.work().unwrap_err().contains("17 new entries"));
}

#[test]
fn messages_that_may_not_be_are_faults_with_their_reason() {
    let rings = |at: u64| longs(&[0, at, at, at, 0]);
    for (request, payload, files, words) in [
        (99, vec![], 0, "not spoken"),
        (1, vec![], 1, "descriptor"),
        (2, longs(&[1]), 0, "0x1 were not offered"),
        (2, vec![0; 7], 0, "7 bytes"),
        (5, vec![0; 7], 0, "7 bytes"),
        (5, longs(&[9]), 0, "9 regions"),
        (5, longs(&[1, GUEST, MEMORY, USER, 0]), 0, "0 descriptors"),
        (5, longs(&[1, GUEST, MEMORY, USER, 0]), 1, "no file"),
        (5, longs(&[1, GUEST, u64::MAX, USER, 0]), 1, "beyond the last address"),
        (8, words(&[0, 3]), 0, "started"),
        (8, words(&[1, 3]), 0, "a power of two"),
        (8, words(&[1, 2048]), 0, "a power of two"),
        (8, words(&[16, 2]), 0, "queue 16"),
        (10, words(&[1, 70_000]), 0, "base 70000"),
        (9, rings(USER), 0, "started"),
        (9, rings(5), 0, "0x5"),
        (12, longs(&[1]), 1, "without a size"),
        (12, longs(&[1 << 8]), 0, "not polled"),
        (12, longs(&[0]), 0, "missing"),
        (13, longs(&[1 << 20]), 1, "no queue"),
        (18, words(&[0, 2]), 0, "enable 2"),
        (24, words(&[0, 600, 0]), 0, "600 bytes"),
    ] {
        let mut guest = Guest::running(FEATURES);
        let files = (0..files).map(|_| event()).collect();
        let why = guest.ask(request, &payload, files).unwrap_err();
        assert!(why.contains(words), "{request}: {why} has no {words}");
    }
    let mut guest = Guest::new();
    assert!(guest.set_memory(MEMORY + 1).unwrap_err().contains("of a file of"));
    for (bytes, words) in
        [(message(1, 5, &[]), "version"), (words(&[1, 1, 1 << 30]), "at most 512")]
    {
        let why = guest.device.hear(&bytes, &mut Vec::new(), &guest.disk).unwrap_err();
        assert!(why.contains(words), "{why} has no {words}");
    }
}

#[test]
fn a_guest_that_takes_its_memory_away_loses_its_connection_alone() {
    let mut guest = Guest::running(FEATURES);
    guest.request(4, 0, &[], 0);
    guest.memory.set_len(0).unwrap();
    rustix::io::write(&guest.kick, &1u64.to_ne_bytes()).unwrap();
    let ended = guest.work().and_then(|()| guest.device.look());
    assert!(ended.unwrap_err().contains("smaller"));
    let mut other = Guest::running(FEATURES);
    assert_eq!(other.request(4, 0, &[], 0).0, 0, "others are served");
}

#[test]
fn noise_is_refused_or_answered_and_never_a_panic() {
    let rounds = if std::env::var_os("MANX_LONG").is_some() { 200_000 } else { 4_000 };
    let (mut rng, mut asked) = (Rng::stream(24, "noise"), 0);
    for _ in 0..rounds {
        let mut guest = Guest::running(if rng.below(2) == 0 { FEATURES } else { 1 << 30 });
        for _ in 0..rng.below(12) {
            let near = |rng: &mut Rng| match rng.below(4) {
                0 => rng.next_u64(),
                1 => GUEST + MEMORY - rng.below(64),
                _ => GUEST + rng.below(0x9000),
            };
            let mut entries = [
                (GUEST + 0x4000, 16, NEXT, 1),
                (GUEST + 0x5000, 512, NEXT, 2),
                (GUEST + 0x7000, 513, WRITE, 0),
                (GUEST, 48, INDIRECT, 0),
            ];
            if rng.below(2) == 0 {
                let entry = &mut entries[rng.below(4) as usize];
                match rng.below(4) {
                    0 => entry.0 = near(&mut rng),
                    1 => entry.1 = [0, 1, 15, 512, 1 << 20, u32::MAX][rng.below(6) as usize],
                    2 => entry.2 = rng.below(8) as u16,
                    _ => entry.3 = rng.below(6) as u16,
                }
            }
            guest.describe(GUEST, &entries);
            let kind = [0, 1, 4, 8, 11, 13, 99][rng.below(7) as usize];
            let head = [kind, 0, rng.below(3000) as u32, 0];
            guest.put(GUEST + 0x4000 + rng.below(2) * rng.below(16), &words(&head));
            if rng.below(8) == 0 {
                guest.put(near(&mut rng).clamp(GUEST, GUEST + MEMORY - 8), &[0xff; 8]);
            }
            guest.offer([0, 0, 0, 3, rng.below(17)][rng.below(5) as usize] as u16);
            if rng.below(3) == 0 {
                let payload = longs(&[near(&mut rng) & 0xffff, rng.below(3), rng.next_u64()]);
                let length = [0, 8, 12, 24][rng.below(4) as usize];
                let files = (0..rng.below(2)).map(|_| event()).collect();
                if guest.ask(rng.below(30) as u32, &payload[..length], files).is_err() {
                    break;
                }
            }
            if guest.work().is_err() {
                break;
            }
            if rng.below(2) == 0 {
                guest.finish(Status::Success);
            }
        }
        asked += guest.disk.asked;
    }
    assert!(asked > rounds / 20, "{asked} requests: the noise is too wild");
}
