//! The array as a server serves it: requests with bytes in, and out done.

use super::Elsewhere;
use super::address::MemberAddress;
use super::ledger::{SECTORS_MOST, Shared};
use super::member::Remote;
use crate::clock::Clock;
use crate::content;
use crate::engine::{Engine, Finished};
use crate::front::{Ask, Done, Kind, Stretch};
use manx_core::array::{Array, ArraySpec, Shape};
use manx_core::drive::{Command, CommandId, Completion, Drive, Op, Stamp, Status};
use manx_core::host::{Record, Records};
use manx_core::sim::Slab;
use manx_core::stats::ArrayCounters;
use manx_core::units::{Instant, Lba, Member, SECTOR};
use std::fmt;
use std::os::fd::BorrowedFd;
use std::time;

/// Bytes of one command at most: a longer request is several.
const LONGEST: u64 = 1 << 20;
/// Sockets of a member.
const SOCKETS: u32 = 2;
/// Stamps that are taken before it is asked which of them are wanted.
const STAMPS: usize = 4096;
/// How long members may take to answer what the array asks of them at its start.
const PATIENCE: time::Duration = time::Duration::from_secs(5);

/// Why an array of such members cannot be served, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectError(String);

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ConnectError {}

/// A request under way.
#[derive(Clone, Debug)]
struct Open {
    owner: u64,
    ask: Ask,
    came: Instant,
    left: u32,
    status: Status,
    dnr: bool,
    /// The bytes of a read, as far as they came.
    bytes: Vec<u8>,
    /// A flush follows.
    is_flushed_after: bool,
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
}

/// An array of remote members, or of others that carry bytes.
#[derive(Debug)]
pub struct ArrayHost<L: Elsewhere = Remote> {
    array: Array<L>,
    ledger: Shared,
    page_sectors: u64,
    open: Slab<OpenId, Open>,
    parts: Slab<CommandId, Part>,
    records: Option<Records>,
    /// Bytes of the read that was handed out last.
    handed: Vec<u8>,
    /// Stamps that were taken when it was last asked which are wanted.
    swept: usize,
    done_until: Instant,
    members: usize,
    told_failures: usize,
}

impl ArrayHost {
    /// Connects to the members; their clocks must run as fast as `clock`. `page_sectors` is the
    /// unit in which the array keeps parity.
    ///
    /// # Errors
    /// Which member, and why.
    pub fn connect(
        spec: &ArraySpec,
        members: &[MemberAddress],
        page_sectors: u32,
        clock: &Clock,
        seed: u64,
    ) -> Result<Self, ConnectError> {
        let refused = |why: &str| Err(ConnectError(why.to_string()));
        if page_sectors > SECTORS_MOST {
            return refused("pages of the map have more than 32 KiB");
        }
        if spec.chunk.get() > LONGEST {
            return refused("array.chunk is more than 1MiB, which no command transfers");
        }
        let ledger = Shared::new(page_sectors);
        let host = format!("nqn.2026-01.io.manx:host-{}", std::process::id());
        let mut links = Vec::new();
        for address in members {
            let link = Remote::connect(address, &host, &ledger, page_sectors, clock)
                .map_err(|why| ConnectError(format!("{address}: {why}")))?;
            links.push(link);
        }
        let facts = links.iter().map(Remote::facts);
        let sectors = facts.clone().map(|facts| facts.sectors).min().unwrap_or(0);
        let reserve = facts.map(|facts| facts.reserve).min().unwrap_or(0);
        let pages = u32::try_from(sectors / u64::from(page_sectors)).unwrap_or(u32::MAX);
        if u64::from(pages) * u64::from(page_sectors) * SECTOR < spec.chunk.get() {
            return refused("the smallest has no room for one array.chunk");
        }
        let shape = Shape { page_sectors, pages, reserve };
        let mut host = Self::over(spec, shape, links, ledger, seed);
        host.set_out(clock)?;
        Ok(host)
    }

    /// Waits until the members have answered what was asked of them.
    fn set_out(&mut self, clock: &Clock) -> Result<(), ConnectError> {
        let until = time::Instant::now() + PATIENCE;
        loop {
            let now = clock.now();
            (0..self.members).for_each(|member| self.hear(2 * member, now));
            self.send(now);
            if let Some(why) = self.take_news().into_iter().next() {
                return Err(ConnectError(why));
            }
            let asked = self.links().find(|link| link.is_asked()).map(|link| link.name());
            let Some(name) = asked else { return Ok(()) };
            if time::Instant::now() > until {
                return Err(ConnectError(format!("{name}: no answer")));
            }
            std::thread::sleep(time::Duration::from_millis(1));
        }
    }
}

impl<L: Elsewhere> ArrayHost<L> {
    fn links(&self) -> impl Iterator<Item = &L> {
        (0..self.members as u32).map(|member| self.array.link(Member(member)))
    }

    pub(super) fn over(
        spec: &ArraySpec,
        shape: Shape,
        links: Vec<L>,
        ledger: Shared,
        seed: u64,
    ) -> Self {
        let members = links.len();
        Self {
            array: Array::over(spec, shape, links, ledger.clone(), seed),
            ledger,
            page_sectors: shape.page_sectors.into(),
            open: Slab::default(),
            parts: Slab::default(),
            records: None,
            handed: Vec::new(),
            swept: 0,
            done_until: Instant::START,
            members,
            told_failures: 0,
        }
    }

    /// Keeps a record of every command.
    pub fn with_records(self) -> Self {
        Self { records: Some(Records::default()), ..self }
    }

    fn page(&self) -> u64 {
        self.page_sectors * SECTOR
    }

    fn hand_in(&mut self, now: Instant, owner: u64, ask: Ask, data: &[u8]) {
        let writes = matches!(ask.kind, Kind::Write | Kind::Zero { .. });
        let reads = if ask.kind == Kind::Read { ask.length as usize } else { 0 };
        let open = self.open.insert(Open {
            owner,
            ask,
            came: now,
            left: 1,
            status: Status::Success,
            dnr: false,
            bytes: vec![0; reads],
            is_flushed_after: ask.fua && writes,
        });
        let op = match ask.kind {
            Kind::Read => Op::Read,
            Kind::Write | Kind::Zero { .. } => Op::Write,
            Kind::Trim => Op::Trim,
            Kind::Flush => Op::Flush,
        };
        if op == Op::Flush {
            self.begin(now, open, op, 0, 0, &[]);
        }
        let (mut at, end) = (ask.offset, ask.offset + ask.length);
        while at < end {
            let length = (LONGEST - at % self.page()).min(end - at);
            let from = (at - ask.offset) as usize;
            let bytes = if ask.kind == Kind::Write { &data[from..] } else { &[] };
            self.begin(now, open, op, at, length, bytes);
            at += length;
        }
        // The one that the request itself stood for.
        self.open[open].left -= 1;
    }

    fn begin(
        &mut self,
        now: Instant,
        open: OpenId,
        op: Op,
        offset: u64,
        length: u64,
        bytes: &[u8],
    ) {
        let (lba, sectors) = (offset / SECTOR, (length / SECTOR) as u32);
        let id = self.parts.insert(Part { open, at: now, op, lba, sectors });
        self.open[open].left += 1;
        let page = self.page();
        let payload = (op == Op::Write).then(|| {
            let (mut ledger, mut rest) = (self.ledger.0.borrow_mut(), bytes);
            let stamp = |(_, from, length): (u32, usize, usize)| {
                let version = match rest.split_at_checked(length) {
                    Some((part, behind)) => {
                        rest = behind;
                        ledger.put(from, part)
                    }
                    None => ledger.put_zeros(from, length),
                };
                Stamp { version, beneath: 0 }
            };
            content::pages(page, offset, length).map(stamp).collect()
        });
        let command = Command { payload, ..Command::new(id, op, Lba(lba), sectors) };
        self.array.submit(now, command);
    }

    fn complete(&mut self, completion: Completion) -> Option<Finished> {
        let part = self.parts[completion.id];
        self.parts.release(completion.id);
        self.record(&part, &completion);
        let page = self.page();
        let open = &mut self.open[part.open];
        open.left -= 1;
        if completion.status != Status::Success {
            (open.status, open.dnr) = (completion.status, completion.dnr);
        } else if part.op == Op::Read {
            let (offset, length) = (part.lba * SECTOR, u64::from(part.sectors) * SECTOR);
            let mut at = (offset - open.ask.offset) as usize;
            let (ledger, stamps) = (self.ledger.0.borrow(), completion.payload.iter().flatten());
            for ((_, from, length), stamp) in content::pages(page, offset, length).zip(stamps) {
                match ledger.get(*stamp, from, length) {
                    Some(bytes) => open.bytes[at..at + length].copy_from_slice(bytes),
                    // A page that was not computed from all that it needs: no wrong bytes.
                    None => open.status = Status::UnrecoveredRead,
                }
                at += length;
            }
        }
        if open.left > 0 {
            return None;
        }
        if open.is_flushed_after && open.status == Status::Success {
            open.is_flushed_after = false;
            self.begin(completion.at, part.open, Op::Flush, 0, 0, &[]);
            return None;
        }
        let Open { owner, ask, came, status, dnr, .. } = *open;
        self.handed = std::mem::take(&mut open.bytes);
        self.open.release(part.open);
        let done = Done { ask, status, dnr, result: 0 };
        Some(Finished { owner, done, came, at: completion.at, versions: Box::default() })
    }

    fn record(&mut self, part: &Part, completion: &Completion) {
        let Some(records) = &mut self.records else { return };
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

    fn advance(&mut self, limit: Instant) -> Option<Finished> {
        loop {
            let Some(completion) = self.array.advance_before(limit) else {
                self.done_until = self.done_until.max(limit);
                self.sweep();
                return None;
            };
            if let Some(finished) = self.complete(completion) {
                return Some(finished);
            }
        }
    }

    /// Frees stamps that the array has dropped, when there are twice as many as there were.
    fn sweep(&mut self) {
        if self.ledger.0.borrow().taken() < (2 * self.swept).max(STAMPS) {
            return;
        }
        let mut wanted = Vec::new();
        self.array.each_stamp(|stamp| {
            if stamp != Stamp::TORN {
                let stamp = stamp as usize;
                wanted.resize(wanted.len().max(stamp + 1), false);
                wanted[stamp] = true;
            }
        });
        let mut ledger = self.ledger.0.borrow_mut();
        ledger.keep(wanted);
        self.swept = ledger.taken();
    }
}

impl<L: Elsewhere> Engine for ArrayHost<L> {
    fn size(&self) -> u64 {
        self.array.sectors() * SECTOR
    }

    fn page_bytes(&self) -> u64 {
        self.page()
    }

    fn submit(&mut self, now: Instant, owner: u64, ask: Ask, data: &[u8]) {
        self.hand_in(now, owner, ask, data);
    }

    fn advance_before(&mut self, limit: Instant) -> Option<Finished> {
        self.advance(limit)
    }

    fn data(&self, _: &Finished, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.handed);
    }

    /// Writers are not known here.
    fn stretches(&self, _: u64, length: u64, _: usize) -> Vec<Stretch> {
        vec![Stretch { length, has_bytes: true }]
    }

    fn zeros_are_fast(&self) -> bool {
        false
    }

    fn under_way(&self) -> usize {
        self.open.len()
    }

    fn next_event_at(&self) -> Instant {
        self.array.next_event_at()
    }

    fn done_until(&self) -> Instant {
        self.done_until
    }

    fn content_bytes(&self) -> u64 {
        self.ledger.0.borrow().memory_bytes()
    }

    fn records(&self) -> usize {
        self.records.as_ref().map_or(0, |records| records.requests.len())
    }

    fn take_records(&mut self) -> Option<Records> {
        self.records.as_mut().map(std::mem::take)
    }

    fn keeps_time(&self) -> bool {
        true
    }

    fn drive(&self, _: usize) -> Option<&Drive> {
        None
    }

    fn array_counters(&self) -> Option<ArrayCounters> {
        Some(self.array.own_counters())
    }

    fn sockets(&self) -> Vec<BorrowedFd<'_>> {
        self.links().flat_map(L::sockets).collect()
    }

    fn hear(&mut self, socket: usize, now: Instant) {
        self.array.with_link(Member(socket as u32 / SOCKETS), |link| link.hear(now));
    }

    fn send(&mut self, now: Instant) {
        for member in 0..self.members as u32 {
            self.array.with_link(Member(member), |link| link.send(now));
        }
    }

    fn take_news(&mut self) -> Vec<String> {
        let mut news = Vec::new();
        for member in 0..self.members as u32 {
            news.append(&mut self.array.with_link(Member(member), L::take_news));
        }
        for failure in &self.array.failures()[self.told_failures..] {
            let state = if failure.is_read { "takes no writes" } else { "is failed" };
            news.push(format!("member {} of the array {state}", failure.member.0));
        }
        self.told_failures = self.array.failures().len();
        news
    }
}

#[cfg(test)]
mod tests;
