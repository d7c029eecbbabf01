//! The log of a store: every command with its instant, and the instants up to which the model was
//! done.
//!
//! A record is twelve bytes ahead (the length of the rest, its CRC-32, and the CRC-32 of these two)
//! and the rest, little endian. A server that is killed as it writes leaves the front of a record
//! at the end, never anything else: that is passed over. All else that is not as it was written is
//! damage.

use super::StoreError;
use crate::front::{Ask, Kind};
use manx_core::drive::PredictableLatency;
use manx_core::nvme::Sqe;
use manx_core::units::Instant;
use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use zerocopy::{FromBytes, IntoBytes};

/// First bytes of the file.
const MAGIC: &[u8; 8] = b"MANXLOG1";
/// Bytes ahead of a record.
const AHEAD: usize = 12;
/// Bytes of a command without its data, and of an admin command.
const COMMAND: usize = 27;
const ADMIN: usize = 9 + size_of::<Sqe>();
/// Bytes that are kept before they are written.
const KEPT: usize = 1 << 20;
/// A record is no longer: the longest request of a protocol, and more.
const LONGEST: usize = 128 << 20;

/// An entry of the log.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Record {
    /// A command came.
    Command {
        /// Then.
        now: Instant,
        /// The request; its cookie and its drive are not kept.
        ask: Ask,
        /// The bytes of a write.
        data: Vec<u8>,
    },
    /// A host's admin command that changes the controller came.
    Admin {
        /// Then.
        now: Instant,
        /// The command.
        sqe: Sqe,
        /// The bytes that came with it.
        data: Vec<u8>,
    },
    /// Everything before `now` is done, and the completions before had this sum.
    Until {
        /// Then.
        now: Instant,
        /// The sum.
        sum: u64,
    },
    /// The power failed at the last start, and the base is being made.
    Cut {
        /// Then.
        now: Instant,
    },
    /// The drive shut down, and the base is being made.
    Stop {
        /// Then.
        now: Instant,
    },
}

/// The file, open at its end.
pub(super) struct Log {
    path: PathBuf,
    file: File,
    /// Records that are not written yet.
    kept: Vec<u8>,
    /// Bytes of whole records in the file.
    whole: u64,
}

impl Log {
    /// A new log.
    pub(super) fn create(path: &Path) -> Result<Self, StoreError> {
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(path);
        let mut file = file.map_err(StoreError::at(path))?;
        file.write_all(MAGIC).map_err(StoreError::at(path))?;
        let whole = MAGIC.len() as u64;
        Ok(Self { path: path.to_path_buf(), file, kept: Vec::new(), whole })
    }

    /// One that was written before; [`Log::replay`] brings it to its end.
    pub(super) fn open(path: &Path) -> Result<Self, StoreError> {
        let file = OpenOptions::new().read(true).write(true).open(path);
        let mut file = file.map_err(StoreError::at(path))?;
        let mut magic = [0; MAGIC.len()];
        let is_log = file.read_exact(&mut magic).is_ok() && &magic == MAGIC;
        if !is_log {
            return Err(StoreError::damaged(path, "it does not begin as a log does"));
        }
        let whole = MAGIC.len() as u64;
        Ok(Self { path: path.to_path_buf(), file, kept: Vec::new(), whole })
    }

    /// Bytes written and noted.
    pub(super) fn bytes(&self) -> u64 {
        self.whole + self.kept.len() as u64
    }

    /// True where a record begins in the file.
    pub(super) fn has_records(&self) -> io::Result<bool> {
        self.file.metadata().map(|file| file.len() > MAGIC.len() as u64)
    }

    /// True when it holds no record.
    pub(super) fn is_empty(&self) -> bool {
        self.bytes() == MAGIC.len() as u64
    }

    /// Notes a command.
    pub(super) fn note(&mut self, now: Instant, ask: &Ask, data: &[u8]) -> io::Result<()> {
        self.append(|out| {
            let flags =
                u8::from(ask.fua) | u8::from(ask.predictable == PredictableLatency::On) << 1;
            out.extend_from_slice(&[1, code(ask.kind), flags]);
            for number in [now.as_ns(), ask.offset, ask.length] {
                out.extend_from_slice(&number.to_le_bytes());
            }
            if ask.kind == Kind::Write {
                out.extend_from_slice(data);
            }
        });
        self.send_much()
    }

    /// Writes what was noted where that is much.
    fn send_much(&mut self) -> io::Result<()> {
        if self.kept.len() < KEPT { Ok(()) } else { self.send() }
    }

    /// Notes another record.
    pub(super) fn put(&mut self, record: &Record) -> io::Result<()> {
        match record {
            Record::Command { now, ask, data } => return self.note(*now, ask, data),
            Record::Admin { now, sqe, data } => {
                self.append(|out| {
                    out.push(5);
                    out.extend_from_slice(&now.as_ns().to_le_bytes());
                    out.extend_from_slice(sqe.as_bytes());
                    out.extend_from_slice(data);
                });
                return self.send_much();
            }
            Record::Until { now, sum } => self.append(|out| {
                out.push(2);
                out.extend_from_slice(&now.as_ns().to_le_bytes());
                out.extend_from_slice(&sum.to_le_bytes());
            }),
            Record::Cut { now } | Record::Stop { now } => self.append(|out| {
                out.push(if matches!(record, Record::Cut { .. }) { 3 } else { 4 });
                out.extend_from_slice(&now.as_ns().to_le_bytes());
            }),
        }
        Ok(())
    }

    fn append(&mut self, rest: impl FnOnce(&mut Vec<u8>)) {
        let at = self.kept.len();
        self.kept.extend_from_slice(&[0; AHEAD]);
        rest(&mut self.kept);
        let (ahead, rest) = self.kept[at..].split_at_mut(AHEAD);
        ahead[..4].copy_from_slice(&(rest.len() as u32).to_le_bytes());
        ahead[4..8].copy_from_slice(&crc32fast::hash(rest).to_le_bytes());
        let own = crc32fast::hash(&ahead[..8]);
        ahead[8..].copy_from_slice(&own.to_le_bytes());
    }

    /// Writes all that was noted; what cannot be written whole is taken back.
    pub(super) fn send(&mut self) -> io::Result<()> {
        let written = self.file.write_all(&self.kept);
        match &written {
            Ok(()) => self.whole += self.kept.len() as u64,
            Err(_) => {
                let _ = self.file.set_len(self.whole);
            }
        }
        self.kept.clear();
        written
    }

    /// Gives every record in its order, from the first on; passes over a front at the end.
    pub(super) fn replay(
        &mut self,
        take: &mut dyn FnMut(Record) -> Result<(), String>,
    ) -> Result<(), StoreError> {
        let path = self.path.clone();
        let at = StoreError::at(&path);
        let length = self.file.metadata().map_err(at)?.len();
        let mut from = MAGIC.len() as u64;
        self.file.seek(SeekFrom::Start(from)).map_err(at)?;
        let mut reader = BufReader::with_capacity(KEPT, &self.file);
        let mut rest = Vec::new();
        while length - from >= AHEAD as u64 {
            let damaged =
                |why: &str| StoreError::damaged(&path, format!("the record at byte {from}: {why}"));
            let mut ahead = [0; AHEAD];
            reader.read_exact(&mut ahead).map_err(at)?;
            let [size, sum, own] = [0, 4, 8].map(|at| {
                u32::from_le_bytes([ahead[at], ahead[at + 1], ahead[at + 2], ahead[at + 3]])
            });
            if crc32fast::hash(&ahead[..8]) != own || size as usize > LONGEST {
                return Err(damaged("its head is wrong"));
            }
            if length - from - (AHEAD as u64) < u64::from(size) {
                break;
            }
            rest.resize(size as usize, 0);
            reader.read_exact(&mut rest).map_err(at)?;
            if crc32fast::hash(&rest) != sum {
                return Err(damaged("its checksum is wrong"));
            }
            let record = parse(&rest).ok_or_else(|| damaged("it says nothing"))?;
            take(record).map_err(|why| damaged(&why))?;
            from += AHEAD as u64 + u64::from(size);
        }
        self.whole = from;
        Ok(())
    }

    /// Goes on behind the last whole record.
    pub(super) fn go_on(&mut self) -> Result<(), StoreError> {
        let gone = self.file.set_len(self.whole);
        let gone = gone.and_then(|()| self.file.seek(SeekFrom::Start(self.whole)));
        gone.map(drop).map_err(StoreError::at(&self.path))
    }
}

fn code(kind: Kind) -> u8 {
    match kind {
        Kind::Read => 0,
        Kind::Write => 1,
        Kind::Zero { may_deallocate: false } => 2,
        Kind::Zero { may_deallocate: true } => 3,
        Kind::Trim => 4,
        Kind::Flush => 5,
    }
}

fn number(bytes: &[u8], at: usize) -> Option<u64> {
    let eight = bytes.get(at..at + 8)?;
    Some(u64::from_le_bytes(eight.try_into().ok()?))
}

fn parse(rest: &[u8]) -> Option<Record> {
    let now = |at| number(rest, at).map(Instant::from_ns);
    match (*rest.first()?, rest.len()) {
        (1, COMMAND..) => {
            let kind = match rest[1] {
                0 => Kind::Read,
                1 => Kind::Write,
                2 => Kind::Zero { may_deallocate: false },
                3 => Kind::Zero { may_deallocate: true },
                4 => Kind::Trim,
                5 => Kind::Flush,
                _ => return None,
            };
            let predictable = match rest[2] & 2 {
                0 => PredictableLatency::Off,
                _ => PredictableLatency::On,
            };
            let (offset, length) = (number(rest, 11)?, number(rest, 19)?);
            let fua = rest[2] & 1 == 1;
            let ask = Ask { cookie: 0, drive: 0, kind, offset, length, fua, predictable };
            let data = rest[COMMAND..].to_vec();
            let expected = if kind == Kind::Write { length } else { 0 };
            (data.len() as u64 == expected).then_some(Record::Command { now: now(3)?, ask, data })
        }
        (5, ADMIN..) => {
            let sqe = Sqe::read_from_bytes(&rest[9..ADMIN]).ok()?;
            Some(Record::Admin { now: now(1)?, sqe, data: rest[ADMIN..].to_vec() })
        }
        (2, 17) => Some(Record::Until { now: now(1)?, sum: number(rest, 9)? }),
        (3, 9) => Some(Record::Cut { now: now(1)? }),
        (4, 9) => Some(Record::Stop { now: now(1)? }),
        _ => None,
    }
}
