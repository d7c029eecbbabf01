//! The parsers of what `manx serve` reads of strangers, on whatever bytes: NBD, NVMe over TCP,
//! vhost-user, a store. For `corpora.rs`, and under coverage for `fuzz/`.
//!
//! A request that comes through must lie within the device, in whole sectors, with its data; what a
//! session holds must stay bounded; nothing may panic.

use crate::capsules::{NQN, capsule, connect, entry, ic_request};
use manx_core::drive::Status;
use manx_core::nvme::{Attributes, Options};
use manx_core::units::Duration;
use manx_serve::nbd::{Exports, Nbd};
use manx_serve::nvme_tcp::{Subsystem, Target};
use manx_serve::vhost_user::Block;
use manx_serve::{Ask, Desk, Done, Export, Front, Kind, Session, Stretch, inspect};
use rustix::fs::MemfdFlags;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::LazyLock;

/// Bytes of the device.
const SIZE: u64 = 1 << 20;
/// Bytes of an answer at most, for an input of some KiB: a read of the whole device, often.
const ANSWER: usize = 64 << 20;
/// Requests that lie in a guest's queues, at most.
const FETCHES: usize = 256;

/// Feeds the bytes to what the name says: `serve-nbd`, `serve-nvme-tcp`, `serve-vhost-user`,
/// `serve-store`.
pub fn check(name: &str, data: &[u8]) {
    match name {
        "serve-nbd" => nbd(data),
        "serve-nvme-tcp" => nvme_tcp(data),
        "serve-vhost-user" => vhost_user(data),
        "serve-store" => store(data),
        other => panic!("{other}: no such format"),
    }
}

/// A desk that notes requests, and looks at each.
#[derive(Default)]
struct Notes {
    asked: Vec<Ask>,
}

impl Desk for Notes {
    fn size(&self, _: u32) -> u64 {
        SIZE
    }

    fn submit(&mut self, ask: Ask, data: &[u8]) {
        let end = ask.offset.checked_add(ask.length).expect("a range that ends");
        assert!(end <= SIZE && (ask.offset | ask.length).is_multiple_of(512), "{ask:?}");
        let carried = if ask.kind == Kind::Write { ask.length } else { 0 };
        assert_eq!(data.len() as u64, carried, "{ask:?}");
        self.asked.push(ask);
    }

    fn stretches(&self, _: u32, _: u64, length: u64, _: usize) -> Vec<Stretch> {
        vec![Stretch { length, has_bytes: true }]
    }

    fn zeros_are_fast(&self) -> bool {
        true
    }
}

/// Answers everything that was asked for.
fn answer(session: &mut dyn Session, desk: &mut Notes, out: &mut Vec<u8>) {
    for (number, ask) in std::mem::take(&mut desk.asked).into_iter().enumerate() {
        let status = if number % 5 == 4 { Status::UnrecoveredRead } else { Status::Success };
        let dnr = status != Status::Success;
        let data = |out: &mut Vec<u8>| out.resize(out.len() + ask.length as usize, 1);
        session.done(&Done { ask, status, dnr, result: 0 }, out, &data);
    }
    assert!(out.len() <= ANSWER, "{} bytes of answers", out.len());
    out.clear();
}

/// Feeds it bytes in pieces of `step`, as a socket brings them.
fn feed(session: &mut dyn Session, desk: &mut Notes, bytes: &[u8], step: usize) {
    let (mut held, mut out) = (Vec::new(), Vec::new());
    for piece in bytes.chunks(step.max(1)) {
        held.extend_from_slice(piece);
        loop {
            match session.receive(&held, &mut out, desk) {
                Err(_) => return,
                Ok(0) => break,
                Ok(taken) => drop(held.drain(..taken)),
            }
        }
        answer(session, desk, &mut out);
    }
}

/// The first byte says how the bytes arrive.
fn nbd(data: &[u8]) {
    let Some((how, bytes)) = data.split_first() else { return };
    let (name, description) = ("manx".to_string(), "fuzzed".to_string());
    let all = vec![Export { name, description, preferred: 4096 }];
    let mut session = Nbd::new(Rc::new(Exports { all, tls: None }));
    let (mut desk, mut out) = (Notes::default(), Vec::new());
    let _ = session.receive(&[], &mut out, &mut desk);
    let step = if how & 1 == 0 { usize::MAX } else { usize::from(how >> 1) };
    feed(&mut session, &mut desk, bytes, step);
}

/// The first byte says how the bytes arrive, and whether the connection is an I/O queue already.
fn nvme_tcp(data: &[u8]) {
    let Some((how, bytes)) = data.split_first() else { return };
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
    let (drives, has_controller, address) = (1 + u32::from(how >> 2 & 1), true, None);
    let subsystem = Subsystem { drives, attributes, options, has_controller, address };
    let mut target = Target::new(subsystem);
    let (mut desk, step) = (Notes::default(), if how & 1 == 0 { usize::MAX } else { 64 });
    let mut admin = target.session(None);
    if how & 2 == 0 {
        return feed(&mut *admin, &mut desk, bytes, step);
    }
    let begun = [ic_request(0), connect(0xffff, 0), enable()].concat();
    feed(&mut *admin, &mut desk, &begun, usize::MAX);
    let mut io = target.session(None);
    let mut whole = [ic_request(0), connect(1, 1)].concat();
    whole.extend_from_slice(bytes);
    feed(&mut *io, &mut desk, &whole, step);
}

/// Property Set of the controller's configuration.
fn enable() -> Vec<u8> {
    let mut command = entry(0x7f, 0, 0, 0, 0x5a);
    command[44] = 0x14;
    command[48..52].copy_from_slice(&0x0046_0001u32.to_le_bytes());
    capsule(&command, &[])
}

/// Messages: files that come with one, its length, its bytes; all of it is the guest's memory, too.
fn vhost_user(data: &[u8]) {
    let memory = || {
        let file = rustix::fs::memfd_create("guest", MemfdFlags::CLOEXEC).ok()?;
        let file = File::from(file);
        file.set_len(SIZE).ok()?;
        file.write_all_at(data, 0x1000).ok()?;
        Some(file.into())
    };
    let mut block = Block { name: "disk".to_string(), preferred: 4096 };
    let mut session = block.session(None);
    let (mut desk, mut rest, mut out) = (Notes::default(), data, Vec::new());
    while let [files, length, behind @ ..] = rest {
        let (message, behind) = behind.split_at(behind.len().min(usize::from(*length)));
        rest = behind;
        session.keep((0..files % 3).filter_map(|_| memory()).collect());
        match session.receive(message, &mut out, &mut desk) {
            Err(_) => return,
            Ok(taken) => assert!(taken <= message.len()),
        }
        session.hear_bell();
        for _ in 0..FETCHES {
            match session.fetch(&mut desk) {
                Ok(true) => {}
                Ok(false) => break,
                Err(_) => return,
            }
        }
        answer(&mut *session, &mut desk, &mut out);
    }
}

/// Lengths of a head and of a base, and they, and a log.
fn store(data: &[u8]) {
    static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
        let folder = std::env::temp_dir().join(format!("manx-fuzz-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder for the store");
        folder
    });
    let Some((lengths, rest)) = data.split_first_chunk::<4>() else { return };
    let length = |at: usize| usize::from(u16::from_le_bytes([lengths[at], lengths[at + 1]]));
    let (head, rest) = rest.split_at(rest.len().min(length(0)));
    let (base, log) = rest.split_at(rest.len().min(length(2)));
    let write = |name: &str, bytes: &[u8]| std::fs::write(FOLDER.join(name), bytes);
    write("store.json", head).expect("written");
    write("base-0", base).expect("written");
    write("log-0", log).expect("written");
    let bytes = File::create(FOLDER.join("data")).and_then(|file| file.set_len(SIZE));
    bytes.expect("written");
    let _ = inspect(&FOLDER);
}
