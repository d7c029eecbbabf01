//! The model with its content: requests with bytes go in, and come out done.
//!
//! Every read is checked as it goes by: the integrity oracle gives each write its versions and
//! looks at each version that a read brings. A mismatch, which would be a fault of Manx, is an
//! error to the client and never wrong bytes.

mod crash;
mod stored;

use crate::content::{self, Content};
use crate::engine::Finished;
use crate::front::{Ask, Done, Kind, Stretch};
use crate::store::Store;
pub use crash::Crashed;
use crash::Journal;
use manx_core::drive::{Command, CommandId, Completion, Op, Status, Storage};
use manx_core::host::{Oracle, Record, Records};
use manx_core::nvme::Sqe;
use manx_core::sim::Slab;
use manx_core::units::{Instant, Lba, SECTOR};
use std::collections::{BTreeSet, VecDeque};

/// Bytes of one command at most: a longer request is several.
const LONGEST: u64 = 4 << 20;

/// A request under way.
#[derive(Clone, Copy, Debug)]
struct Open {
    owner: u64,
    ask: Ask,
    came: Instant,
    left: u32,
    status: Status,
    dnr: bool,
    result: u64,
    /// A flush follows its other commands.
    is_flushed_after: bool,
    /// The store takes no more: it is to change nothing.
    is_refused: bool,
}

manx_core::id! {
    /// A request: its place among those under way.
    OpenId
}

/// A command of a request.
#[derive(Clone, Copy, Debug)]
struct Part {
    open: OpenId,
    at: Instant,
    op: Op,
    lba: u64,
    sectors: u32,
    /// Reads are numbered in their order.
    sequence: u64,
    /// Commands are numbered in theirs.
    number: u64,
}

/// Versions that a command of a read brought.
#[derive(Debug)]
struct Gathered {
    open: OpenId,
    lba: u64,
    sequence: u64,
    versions: Box<[u32]>,
}

/// The way from the map in a store to a drive.
pub type Builder<S> = Box<dyn Fn(&[u8]) -> Result<S, String>>;

/// A drive or an array that holds data.
pub struct Machine<S: Storage> {
    storage: S,
    oracle: Oracle,
    content: Content,
    page_sectors: u64,
    open: Slab<OpenId, Open>,
    parts: Slab<CommandId, Part>,
    /// Reads under way, by number: versions that one of them may bring are kept.
    reads: BTreeSet<u64>,
    next_read: u64,
    /// Pages whose older versions go when all reads below a number are done.
    overtaken: VecDeque<(u64, u32, u32)>,
    /// Versions that the commands of reads have brought, until the last of a request's is done.
    gathered: Vec<Gathered>,
    /// Numbers of the read that was handed out last: its versions are still wanted.
    handed: Vec<u64>,
    records: Option<Records>,
    /// The commands of the records, by number.
    recorded: Vec<u64>,
    next_part: u64,
    /// A server that is killed comes back with what lies here.
    store: Option<Box<Store>>,
    /// Admin commands by which hosts have set the controller, the last of each kind.
    features: Vec<(Sqe, Box<[u8]>)>,
    /// Makes the model of the store's map.
    builder: Option<Builder<S>>,
    /// Bytes of the read that was handed out last, where they may come from the store.
    fetched: Vec<u8>,
    /// Every command so far, where the power may fail.
    journal: Option<Box<Journal>>,
    /// Nothing but the model is wanted: no bytes.
    is_bare: bool,
    /// A sum over every completion so far: a replay comes to the same.
    sum: u64,
    /// Everything before this instant has been done.
    done_until: Instant,
}

impl<S: Storage> Machine<S> {
    /// A machine around `storage`, which carries content.
    pub fn new(storage: S) -> Self {
        let page_sectors = storage.page_sectors();
        let pages = (storage.sectors() / u64::from(page_sectors)) as u32;
        let content = Content::new(pages, page_sectors, |page| storage.holds(page));
        Self::with_content(storage, content)
    }

    fn with_content(storage: S, content: Content) -> Self {
        let page_sectors = storage.page_sectors();
        Self {
            oracle: Oracle::new(&storage),
            content,
            page_sectors: u64::from(page_sectors),
            storage,
            open: Slab::default(),
            parts: Slab::default(),
            reads: BTreeSet::new(),
            next_read: 0,
            overtaken: VecDeque::new(),
            gathered: Vec::new(),
            handed: Vec::new(),
            records: None,
            recorded: Vec::new(),
            next_part: 0,
            store: None,
            features: Vec::new(),
            builder: None,
            fetched: Vec::new(),
            journal: None,
            is_bare: false,
            sum: 0,
            done_until: Instant::START,
        }
    }

    /// Keeps a record of every command.
    pub fn with_records(self) -> Self {
        Self { records: Some(Records::default()), ..self }
    }

    /// Records since this was last asked, if they are kept: in the order in which the commands were
    /// handed in, which decides between those of one instant.
    pub fn take_records(&mut self) -> Option<Records> {
        let mut records = self.records.as_mut().map(std::mem::take)?;
        let requests = std::mem::take(&mut records.requests);
        let mut numbered: Vec<_> = self.recorded.drain(..).zip(requests).collect();
        numbered.sort_by_key(|(number, _)| *number);
        records.requests = numbered.into_iter().map(|(_, record)| record).collect();
        Some(records)
    }

    /// Records that wait to be taken.
    pub fn records(&self) -> usize {
        self.records.as_ref().map_or(0, |records| records.requests.len())
    }

    /// Everything before this instant has been done.
    pub fn done_until(&self) -> Instant {
        self.done_until
    }

    /// The model.
    pub fn storage(&self) -> &S {
        &self.storage
    }

    /// The model, to be asked what is no command.
    pub fn storage_mut(&mut self) -> &mut S {
        &mut self.storage
    }

    /// The bytes.
    pub fn content(&self) -> &Content {
        &self.content
    }

    /// Reads that brought what they may not, in words.
    pub fn first_mismatch(&self) -> Option<&str> {
        self.oracle.first_mismatch()
    }

    /// Bytes of the device: whole pages.
    pub fn size(&self) -> u64 {
        self.storage.sectors() / self.page_sectors * self.page_sectors * SECTOR
    }

    /// Bytes of a page.
    pub fn page_bytes(&self) -> u64 {
        self.page_sectors * SECTOR
    }

    /// Requests under way.
    pub fn under_way(&self) -> usize {
        self.open.len()
    }

    /// When the model does something next.
    pub fn next_event_at(&self) -> Instant {
        self.storage.next_event_at()
    }

    /// Whether zeros can be had by deallocating.
    pub fn zeros_are_fast(&self) -> bool {
        !self.storage.keeps_deallocated()
    }

    /// Hands in a request of `owner` at `now`, before which everything has been done.
    pub fn submit(&mut self, now: Instant, owner: u64, ask: Ask, data: &[u8]) {
        let deallocates = match ask.kind {
            Kind::Trim => true,
            Kind::Zero { may_deallocate } => may_deallocate && self.zeros_are_fast(),
            _ => false,
        };
        if let Some(store) = &mut self.store {
            store.note(now, &ask, data);
        }
        // The store may have failed at this one.
        let is_refused = self.refuses(&ask);
        let is_flushed_after = ask.fua && deallocates && !is_refused;
        if let Some(journal) = &mut self.journal {
            journal.note(&ask, data);
        }
        if !self.is_bare && !is_refused {
            self.content.take(&ask, data, self.zeros_are_fast());
        }
        let open = self.open.insert(Open {
            owner,
            ask,
            came: now,
            left: 1,
            status: Status::Success,
            dnr: false,
            result: 0,
            is_flushed_after,
            is_refused,
        });
        let (offset, end) = (ask.offset, ask.offset + ask.length);
        match ask.kind {
            // The model answers in its time, and is asked for no change.
            _ if is_refused => self.begin(now, open, Op::Flush, 0, 0),
            Kind::Flush => self.begin(now, open, Op::Flush, 0, 0),
            Kind::Read => self.each(now, open, Op::Read, offset..end),
            Kind::Write => self.each(now, open, Op::Write, offset..end),
            Kind::Trim => self.begin(now, open, Op::Trim, offset, ask.length),
            Kind::Zero { .. } if deallocates => {
                let page = self.page_bytes();
                let (first, last) = (offset.next_multiple_of(page), end / page * page);
                if first >= last {
                    self.each(now, open, Op::Write, offset..end);
                } else {
                    self.each(now, open, Op::Write, offset..first);
                    self.begin(now, open, Op::Trim, first, last - first);
                    self.each(now, open, Op::Write, last..end);
                }
            }
            Kind::Zero { .. } => self.each(now, open, Op::Write, offset..end),
        }
        // The one that the request itself stood for; the model completes nothing before it is
        // advanced.
        self.open[open].left -= 1;
    }

    /// Commands for a range.
    fn each(&mut self, now: Instant, open: OpenId, op: Op, range: std::ops::Range<u64>) {
        let mut at = range.start;
        while at < range.end {
            let length = (LONGEST - at % self.page_bytes()).min(range.end - at);
            self.begin(now, open, op, at, length);
            at += length;
        }
    }

    fn begin(&mut self, now: Instant, open: OpenId, op: Op, offset: u64, length: u64) {
        let (lba, sectors) = (offset / SECTOR, (length / SECTOR) as u32);
        let sequence = self.next_read;
        if op == Op::Read {
            self.next_read += 1;
            self.reads.insert(sequence);
        }
        let number = self.next_part;
        self.next_part += 1;
        let part = Part { open, at: now, op, lba, sectors, sequence, number };
        let id = self.parts.insert(part);
        self.open[open].left += 1;
        let fua = op == Op::Write && self.open[open].ask.fua;
        let predictable = self.open[open].ask.predictable;
        let command = Command { fua, predictable, ..Command::new(id, op, Lba(lba), sectors) };
        let command = self.oracle.submit(command);
        self.storage.submit(now, command);
    }

    /// The range as pages: each with its first byte in the page and its bytes.
    fn pages(
        &self,
        offset: u64,
        length: u64,
    ) -> impl Iterator<Item = (u32, usize, usize)> + use<S> {
        content::pages(self.page_bytes(), offset, length)
    }

    /// Does what is due before `limit`, up to the first request that is done.
    pub fn advance_before(&mut self, limit: Instant) -> Option<Finished> {
        if !self.handed.is_empty() {
            while let Some(read) = self.handed.pop() {
                self.reads.remove(&read);
            }
            self.forget();
        }
        loop {
            let Some(completion) = self.storage.advance_before(limit) else {
                self.done_until = self.done_until.max(limit);
                return None;
            };
            if let Some(finished) = self.complete(completion) {
                return Some(finished);
            }
        }
    }

    fn complete(&mut self, completion: Completion) -> Option<Finished> {
        let before = self.oracle.mismatches();
        self.oracle.complete(&completion);
        self.sum = scatter(self.sum ^ completion.at.as_ns()).wrapping_add(completion.status as u64);
        let part = self.parts[completion.id];
        self.parts.release(completion.id);
        if !self.open[part.open].is_refused {
            self.record(&part, &completion);
        }
        let open = &mut self.open[part.open];
        open.left -= 1;
        if completion.status != Status::Success {
            open.status = completion.status;
            (open.dnr, open.result) = (completion.dnr, completion.result64);
        } else if self.oracle.mismatches() > before {
            open.status = Status::UnrecoveredRead;
        }
        let Open { owner, ask, came, left, status, dnr, result, is_flushed_after, .. } = *open;
        let mut versions = Box::default();
        match part.op {
            Op::Read => {
                let Part { open, lba, sectors, sequence, .. } = part;
                let brought = completion.payload.unwrap_or_default();
                if ask.length == u64::from(sectors) * SECTOR {
                    self.handed.push(sequence);
                    versions = brought;
                } else {
                    self.gathered.push(Gathered { open, lba, sequence, versions: brought });
                    if left == 0 {
                        versions = self.gather(open);
                    }
                }
            }
            Op::Write | Op::Trim => self.overtake(&part, completion.status),
            Op::Flush => {}
        }
        if left > 0 {
            return None;
        }
        if is_flushed_after {
            self.open[part.open].is_flushed_after = false;
            self.begin(completion.at, part.open, Op::Flush, 0, 0);
            return None;
        }
        self.open.release(part.open);
        let status = self.answer(&ask, status, &versions);
        let done = Done { ask, status, dnr, result };
        Some(Finished { owner, done, came, at: completion.at, versions })
    }

    /// Versions of all commands of a read, in the order of their pages. A page that two commands
    /// share cannot be: a command ends with a page, but for the last.
    fn gather(&mut self, open: OpenId) -> Box<[u32]> {
        let mut own: Vec<_> = self.gathered.extract_if(.., |part| part.open == open).collect();
        own.sort_by_key(|part| part.lba);
        self.handed.extend(own.iter().map(|part| part.sequence));
        own.into_iter().flat_map(|part| part.versions.into_vec()).collect()
    }

    /// A write was acknowledged: from now on no read may bring what it overtook.
    fn overtake(&mut self, part: &Part, status: Status) {
        if status != Status::Success {
            return;
        }
        let (offset, length) = (part.lba * SECTOR, u64::from(part.sectors) * SECTOR);
        let (sequence, has_reads) = (self.next_read, !self.reads.is_empty());
        for (page, _, _) in self.pages(offset, length) {
            let Some(acknowledged) = self.oracle.acknowledged(page) else { continue };
            match has_reads {
                _ if self.is_bare => {}
                true => self.overtaken.push_back((sequence, page, acknowledged)),
                false => self.content.forget_below(page, acknowledged),
            }
        }
        self.forget();
    }

    fn forget(&mut self) {
        let oldest = self.reads.first().copied().unwrap_or(u64::MAX);
        while let Some((sequence, page, version)) = self.overtaken.front().copied()
            && sequence <= oldest
        {
            self.content.forget_below(page, version);
            self.overtaken.pop_front();
        }
    }

    /// Appends the bytes of a read that was the last to be handed out.
    pub fn data(&self, finished: &Finished, out: &mut Vec<u8>) {
        if self.store.is_some() {
            return out.extend_from_slice(&self.fetched);
        }
        let Ask { offset, length, .. } = finished.done.ask;
        for ((page, from, length), version) in self.pages(offset, length).zip(&finished.versions) {
            // Without a store everything lies in memory.
            let _ = self.content.read(page, *version, from, length, out);
        }
    }

    /// Stretches of a range: where a client wrote bytes, and where it reads as zeros.
    pub fn stretches(&self, offset: u64, length: u64, most: usize) -> Vec<Stretch> {
        let mut all: Vec<Stretch> = Vec::new();
        for (page, _, length) in self.pages(offset, length) {
            let (length, has_bytes) = (length as u64, self.content.has_bytes(page));
            let is_full = all.len() == most;
            match all.last_mut() {
                Some(last) if last.has_bytes == has_bytes => last.length += length,
                _ if is_full => break,
                _ => all.push(Stretch { length, has_bytes }),
            }
        }
        all
    }

    fn record(&mut self, part: &Part, completion: &Completion) {
        let Some(records) = &mut self.records else { return };
        self.recorded.push(part.number);
        records.requests.push(Record {
            at: part.at,
            latency: completion.at.since(part.at),
            op: part.op,
            lba: Lba(part.lba),
            sectors: part.sectors,
            job: 0,
            status: completion.status,
            gc_blocked: completion.gc_blocked,
            counted: true,
        });
    }
}

/// A bijection that scatters.
fn scatter(number: u64) -> u64 {
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
}

#[cfg(test)]
pub(crate) mod tests;
