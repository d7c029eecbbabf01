//! An NVMe/TCP host for tests, written from the specifications (NVMe/TCP Transport 1.0, NVMe Base
//! 2.1) and not from the server's code.

use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// The name of this host, and of the subsystem that the tests serve.
const HOST: &str = "nqn.2014-08.org.nvmexpress:uuid:0b7d1f7c-5e0a-4c55-9c51-9d6a3ad11c01";
pub const NQN: &str = "nqn.2026-01.io.manx:disk";
pub const DISCOVERY: &str = "nqn.2014-08.org.nvmexpress.discovery";

/// Opcodes.
pub const FLUSH: u8 = 0x00;
pub const WRITE: u8 = 0x01;
pub const READ: u8 = 0x02;
pub const COMPARE: u8 = 0x05;
pub const WRITE_ZEROES: u8 = 0x08;
pub const DATASET_MANAGEMENT: u8 = 0x09;

/// CRC32C, a bit at a time: RFC 3720's polynomial 1EDC6F41h, reflected.
fn digest(bytes: &[u8]) -> [u8; 4] {
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ (0x82f6_3b78 & (crc & 1).wrapping_neg());
        }
    }
    (!crc).to_le_bytes()
}

/// A submission queue entry.
#[derive(Clone, Copy)]
pub struct Entry(pub [u8; 64]);

impl Entry {
    pub fn new(opcode: u8, namespace: u32) -> Self {
        let mut entry = [0; 64];
        (entry[0], entry[1]) = (opcode, 0x40);
        entry[4..8].copy_from_slice(&namespace.to_le_bytes());
        // Transport SGL data block without a length.
        entry[39] = 0x5a;
        Self(entry)
    }

    /// A Fabrics command of that type.
    pub fn fabrics(kind: u8) -> Self {
        let mut entry = Self::new(0x7f, 0);
        entry.0[4] = kind;
        entry
    }

    pub fn dword(mut self, number: usize, value: u32) -> Self {
        self.0[4 * number..4 * number + 4].copy_from_slice(&value.to_le_bytes());
        self
    }

    /// `blocks` of 512 bytes from `lba` on.
    pub fn blocks(self, lba: u64, blocks: u32) -> Self {
        let low = self.dword(10, lba as u32).dword(11, (lba >> 32) as u32);
        let rest = u32::from_le_bytes(low.0[48..52].try_into().unwrap());
        low.dword(12, rest | (blocks - 1))
    }

    fn length(mut self, length: usize) -> Self {
        self.0[32..36].copy_from_slice(&(length as u32).to_le_bytes());
        self
    }
}

/// A completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    pub result: u64,
    pub head: u16,
    pub cid: u16,
    /// Status code type and status code, as in the last byte and a half of what hosts print.
    pub status: u16,
    pub dnr: bool,
}

/// How a host begins a connection.
#[derive(Clone, Copy, Debug, Default)]
pub struct Terms {
    pub header_digest: bool,
    pub data_digest: bool,
    /// HPDA: dwords, 0's based.
    pub alignment: u8,
    /// CATTR: the submission queue has no flow control.
    pub no_flow: bool,
    /// Keep-alive timeout in milliseconds.
    pub keep_alive: u32,
}

/// A PDU from the controller.
#[derive(Debug)]
pub enum Came {
    Completion(Completion),
    Data { cid: u16, offset: u32, bytes: Vec<u8>, is_success: bool },
    Ready { cid: u16, tag: u16, offset: u32, length: u32 },
    Terminated { status: u16, information: u32 },
}

/// A connection: a queue pair of a host.
pub struct Queue {
    pub stream: TcpStream,
    terms: Terms,
    pub h2c_max: usize,
    next: u16,
}

impl Queue {
    /// A connection that is initialized, and not connected yet.
    pub fn open(address: SocketAddr, terms: Terms) -> Self {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let mut request = [0; 128];
        (request[0], request[2], request[4]) = (0, 128, 128);
        request[10] = terms.alignment;
        request[11] = u8::from(terms.header_digest) | u8::from(terms.data_digest) << 1;
        stream.write_all(&request).unwrap();
        let mut response = [0; 128];
        stream.read_exact(&mut response).unwrap();
        assert_eq!(response[..8], [1, 0, 128, 0, 128, 0, 0, 0], "ICResp");
        assert_eq!(response[8..10], [0, 0], "PDU format version");
        assert_eq!(response[11], request[11], "digests as they were asked for");
        let h2c_max = u32::from_le_bytes(response[12..16].try_into().unwrap()) as usize;
        assert!(h2c_max >= 4096, "MAXH2CDATA");
        Self { stream, terms, h2c_max, next: 0 }
    }

    /// A queue that is connected, number 0 being the admin queue.
    pub fn connect(address: SocketAddr, terms: Terms, subsystem: &str, ids: (u16, u16)) -> Self {
        let mut queue = Self::open(address, terms);
        let done = queue.try_connect(subsystem, ids, 63);
        assert_eq!(done.status, 0, "Connect");
        queue
    }

    /// Connect: `ids` are the controller and the queue.
    pub fn try_connect(&mut self, subsystem: &str, ids: (u16, u16), size: u16) -> Completion {
        let mut data = vec![0; 1024];
        data[..16].copy_from_slice(&[7; 16]);
        data[16..18].copy_from_slice(&ids.0.to_le_bytes());
        data[256..256 + subsystem.len()].copy_from_slice(subsystem.as_bytes());
        data[512..512 + HOST.len()].copy_from_slice(HOST.as_bytes());
        let no_flow = u32::from(self.terms.no_flow) << 18;
        let entry = Entry::fabrics(1)
            .dword(10, u32::from(ids.1) << 16)
            .dword(11, u32::from(size) | no_flow)
            .dword(12, self.terms.keep_alive);
        self.ask(entry, &data, 0).0
    }

    /// Sends a command, its data with it where they are no more than 8 KiB.
    pub fn send(&mut self, entry: Entry, data: &[u8], read: usize) -> u16 {
        let cid = self.next;
        self.next = (self.next + 1) % 0x8000;
        let is_inside = !data.is_empty() && data.len() <= 8192;
        let mut entry = entry.length(data.len() + read);
        entry.0[2..4].copy_from_slice(&cid.to_le_bytes());
        if is_inside {
            entry.0[39] = 0x01;
        }
        let inside = if is_inside { data } else { &[] };
        self.put(4, 0, &entry.0, inside);
        cid
    }

    /// A PDU: its head after the first eight bytes, and data.
    pub fn put(&mut self, kind: u8, flags: u8, fields: &[u8], data: &[u8]) {
        let hlen = 8 + fields.len();
        let digest_bytes = 4 * usize::from(self.terms.header_digest);
        let pdo = if data.is_empty() { 0 } else { hlen + digest_bytes };
        let has_digest = self.terms.data_digest && !data.is_empty();
        let plen = hlen + digest_bytes + data.len() + 4 * usize::from(has_digest);
        let flags = flags | u8::from(self.terms.header_digest) | u8::from(has_digest) << 1;
        let mut pdu = vec![kind, flags, hlen as u8, pdo as u8];
        pdu.extend_from_slice(&(plen as u32).to_le_bytes());
        pdu.extend_from_slice(fields);
        if self.terms.header_digest {
            pdu.extend_from_slice(&digest(&pdu));
        }
        pdu.extend_from_slice(data);
        if has_digest {
            pdu.extend_from_slice(&digest(data));
        }
        self.stream.write_all(&pdu).unwrap();
    }

    /// The next PDU.
    pub fn take(&mut self) -> Came {
        let mut head = [0; 8];
        self.stream.read_exact(&mut head).unwrap();
        let plen = u32::from_le_bytes(head[4..8].try_into().unwrap()) as usize;
        let mut pdu = head.to_vec();
        pdu.resize(plen, 0);
        self.stream.read_exact(&mut pdu[8..]).unwrap();
        let (kind, flags, hlen, pdo) = (head[0], head[1], usize::from(head[2]), head[3]);
        let at16 = |at: usize| u16::from_le_bytes([pdu[at], pdu[at + 1]]);
        let at32 = |at: usize| u32::from_le_bytes(pdu[at..at + 4].try_into().unwrap());
        if kind == 3 {
            return Came::Terminated { status: at16(8), information: at32(10) };
        }
        assert_eq!(hlen, 24);
        assert_eq!(flags & 1 == 1, self.terms.header_digest);
        if self.terms.header_digest {
            assert_eq!(pdu[24..28], digest(&pdu[..24]));
        }
        match kind {
            5 => Came::Completion(Completion {
                result: u64::from(at32(12)) << 32 | u64::from(at32(8)),
                head: at16(16),
                cid: at16(20),
                status: at16(22) >> 1 & 0x7ff,
                dnr: at16(22) >> 15 == 1,
            }),
            7 => {
                assert_eq!(flags & 2 == 2, self.terms.data_digest);
                let alignment = 4 * (usize::from(self.terms.alignment) + 1);
                assert!(usize::from(pdo).is_multiple_of(alignment), "HPDA");
                let end = plen - 4 * usize::from(self.terms.data_digest);
                let bytes = pdu[pdo.into()..end].to_vec();
                assert_eq!(bytes.len(), at32(16) as usize);
                if self.terms.data_digest {
                    assert_eq!(pdu[end..], digest(&bytes));
                }
                assert_eq!(flags & 4, 4, "one PDU has all of a command's data");
                let is_success = flags & 8 == 8;
                Came::Data { cid: at16(8), offset: at32(12), bytes, is_success }
            }
            9 => {
                let (tag, offset, length) = (at16(10), at32(12), at32(16));
                Came::Ready { cid: at16(8), tag, offset, length }
            }
            kind => panic!("a PDU of type {kind:02x}h"),
        }
    }

    /// Answers an R2T by as many PDUs as it takes.
    pub fn give(&mut self, came: &Came, data: &[u8]) {
        let Came::Ready { cid, tag, offset, length } = came else { panic!("no R2T: {came:?}") };
        let (from, to) = (*offset as usize, (*offset + *length) as usize);
        let most = self.h2c_max;
        let parts = data[from..to].chunks(most).count();
        for (number, part) in data[from..to].chunks(most).enumerate() {
            let mut fields = [0; 16];
            fields[..2].copy_from_slice(&cid.to_le_bytes());
            fields[2..4].copy_from_slice(&tag.to_le_bytes());
            fields[4..8].copy_from_slice(&((from + number * most) as u32).to_le_bytes());
            fields[8..12].copy_from_slice(&(part.len() as u32).to_le_bytes());
            self.put(6, if number + 1 == parts { 4 } else { 0 }, &fields, part);
        }
    }

    /// A command alone: its completion, and the data that it read.
    pub fn ask(&mut self, entry: Entry, data: &[u8], read: usize) -> (Completion, Vec<u8>) {
        let cid = self.send(entry, data, read);
        let mut brought = Vec::new();
        loop {
            match self.take() {
                Came::Completion(done) => {
                    assert_eq!(done.cid, cid);
                    return (done, brought);
                }
                Came::Data { cid: whose, offset, bytes, is_success } => {
                    assert_eq!((whose, offset), (cid, 0));
                    brought = bytes;
                    if is_success {
                        assert!(self.terms.no_flow, "SUCCESS only without flow control");
                        let done = Completion { result: 0, head: 0, cid, status: 0, dnr: false };
                        return (done, brought);
                    }
                }
                came @ Came::Ready { .. } => self.give(&came, data),
                came => panic!("{came:?}"),
            }
        }
    }

    pub fn property(&mut self, offset: u32, is_long: bool) -> u64 {
        let entry = Entry::fabrics(4).dword(10, u32::from(is_long)).dword(11, offset);
        let (done, _) = self.ask(entry, &[], 0);
        assert_eq!(done.status, 0);
        done.result
    }

    pub fn set_property(&mut self, offset: u32, value: u32) {
        let entry = Entry::fabrics(0).dword(11, offset).dword(12, value);
        assert_eq!(self.ask(entry, &[], 0).0.status, 0);
    }
}

/// A host with its admin queue, enabled, and so many I/O queues.
pub struct Host {
    pub admin: Queue,
    pub queues: Vec<Queue>,
    pub controller: u16,
}

impl Host {
    pub fn new(address: SocketAddr, terms: Terms, queues: u16) -> Self {
        let mut admin = Queue::open(address, terms);
        let done = admin.try_connect(NQN, (0xffff, 0), 31);
        assert_eq!(done.status, 0, "Connect");
        let controller = done.result as u16;
        assert_eq!(admin.property(0x1c, false), 0, "not ready");
        // Entries of 64 and 16 bytes, enabled.
        admin.set_property(0x14, 4 << 20 | 6 << 16 | 1);
        assert_eq!(admin.property(0x1c, false), 1, "ready");
        if queues > 0 {
            let count = u32::from(queues - 1);
            let entry = Entry::new(0x09, 0).dword(10, 0x07).dword(11, count << 16 | count);
            let granted = admin.ask(entry, &[], 0).0.result as u32;
            assert!(granted & 0xffff >= count && granted >> 16 >= count, "queues");
        }
        let io = Terms { keep_alive: 0, ..terms };
        let queues = 1..=queues;
        let queues = queues.map(|id| Queue::connect(address, io, NQN, (controller, id))).collect();
        Self { admin, queues, controller }
    }
}

/// Bytes that differ from one seed to the next, and from block to block.
pub fn pattern(seed: u64, bytes: usize) -> Vec<u8> {
    (0..bytes as u64).map(|at| ((seed * 131 + at / 512) ^ at) as u8).collect()
}

/// Writes and reads of its own part of the device, 32 at once; every read is verified.
pub fn verify_at_depth(queue: &mut Queue, base: u64, rounds: u64) {
    let mut under_way: Vec<(u16, u64, Option<Vec<u8>>)> = Vec::new();
    let mut held = vec![0u64; 64];
    let (mut round, mut done) = (0, 0);
    while done < rounds {
        while round < rounds && under_way.len() < 32 {
            let slot = (round * 7 + round / 64) % 64;
            if under_way.iter().any(|(_, other, _)| *other == slot) {
                break;
            }
            let blocks = 24;
            let lba = base + slot * blocks;
            let is_write = round % 3 != 2 || held[slot as usize] == 0;
            let bytes = blocks as usize * 512;
            if is_write {
                held[slot as usize] = base + round + 1;
                let data = pattern(held[slot as usize], bytes);
                let entry = Entry::new(WRITE, 1).blocks(lba, blocks as u32);
                under_way.push((queue.send(entry, &data, 0), slot, Some(data)));
            } else {
                let entry = Entry::new(READ, 1).blocks(lba, blocks as u32);
                under_way.push((queue.send(entry, &[], bytes), slot, None));
            }
            round += 1;
        }
        let at = |cid| under_way.iter().position(|(other, ..)| *other == cid).expect("its own");
        match queue.take() {
            Came::Completion(completion) => {
                assert_eq!(completion.status, 0);
                under_way.swap_remove(at(completion.cid));
                done += 1;
            }
            Came::Data { cid, bytes, .. } => {
                let (_, slot, _) = under_way[at(cid)];
                assert!(bytes == pattern(held[slot as usize], bytes.len()), "slot {slot}");
            }
            came @ Came::Ready { .. } => {
                let Came::Ready { cid, .. } = came else { unreachable!() };
                let data = under_way[at(cid)].2.clone().unwrap();
                queue.give(&came, &data);
            }
            came => panic!("{came:?}"),
        }
    }
}

/// A server under test, and its address.
pub struct Served {
    child: Child,
    pub address: SocketAddr,
}

impl Served {
    pub fn start(args: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_manx"))
            .args(["serve", "quick", "--no-cache", "--json"])
            .args(["--protocol", "nvme-tcp", "--listen", "127.0.0.1:0"])
            .args(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        while !line.starts_with("serving") {
            line.clear();
            assert_ne!(said.read_line(&mut line).unwrap(), 0, "it ended before it served");
        }
        std::thread::spawn(move || std::io::copy(&mut said, &mut std::io::sink()));
        assert!(line.contains("nvme connect -t tcp -a 127.0.0.1 -s "), "{line}");
        assert!(line.trim_end().ends_with(&format!("-n {NQN}")), "{line}");
        let port = line.split(" -s ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap();
        Self { child, address: format!("127.0.0.1:{port}").parse().unwrap() }
    }

    /// Ends it as a power loss does.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Ends it as Ctrl-C does; its report.
    pub fn end(mut self) -> Value {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
        let mut report = String::new();
        self.child.stdout.take().unwrap().read_to_string(&mut report).unwrap();
        assert!(self.child.wait().unwrap().success());
        serde_json::from_str(&report).unwrap()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn identify(cns: u32, namespace: u32) -> Entry {
    Entry::new(0x06, namespace).dword(10, cns)
}

/// Get Log Page of so many bytes.
pub fn log(page: u32, bytes: u32) -> Entry {
    Entry::new(0x02, 0).dword(10, page | (bytes / 4 - 1) << 16)
}

pub fn le16(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

pub fn le64(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}
