//! The integrity oracle: every read returns a version of each page that it may return.
//!
//! A page's version is the number of writes and deallocations submitted to it. A read may return
//! any version from the newest acknowledged when it was submitted to the newest submitted when it
//! completes. A partial write carries the version that it expects beneath it, so that a merge with
//! stale sectors shows as a torn page, which no read may return.

use super::promises::Promises;
use crate::drive::{Command, Completion, Op, Stamp, Status, Storage};
use crate::units::{Instant, Lpn};
use std::collections::BTreeMap;

/// The expected version of every page, and the reads that were checked against it. Eight bytes a
/// page.
#[derive(Clone, Debug)]
pub struct Oracle {
    unit_sectors: u64,
    /// Deallocations need not be heeded.
    keeps_deallocated: bool,
    pub(super) submitted: Vec<u32>,
    acknowledged: Vec<u32>,
    /// The newest deallocation of a page, as a version.
    deallocated: BTreeMap<u32, u32>,
    /// Commands under way, by identifier.
    pub(super) pending: Vec<Pending>,
    pub(super) promises: Option<Box<Promises>>,
    reads_checked: u64,
    pages_checked: u64,
    mismatches: u64,
    first_mismatch: Option<String>,
}

/// A command under way: per page the version written, or the newest acknowledged at submission of a
/// read.
#[derive(Clone, Debug)]
pub(super) struct Pending {
    op: Op,
    fua: bool,
    first: u32,
    versions: Vec<u32>,
}

impl Default for Pending {
    fn default() -> Self {
        Self { op: Op::Flush, fua: false, first: 0, versions: Vec::new() }
    }
}

impl Oracle {
    /// An oracle of a storage that starts with version 1 in every page that holds data.
    pub fn new(storage: &impl Storage) -> Self {
        let unit_sectors = u64::from(storage.page_sectors());
        let pages = (storage.sectors() / unit_sectors) as u32;
        let start: Vec<u32> = (0..pages).map(|page| u32::from(storage.holds(page))).collect();
        Self {
            unit_sectors,
            keeps_deallocated: storage.keeps_deallocated(),
            acknowledged: start.clone(),
            submitted: start,
            deallocated: BTreeMap::new(),
            pending: Vec::new(),
            promises: None,
            reads_checked: 0,
            pages_checked: 0,
            mismatches: 0,
            first_mismatch: None,
        }
    }

    /// Notes a command, and gives a write its content.
    pub fn submit(&mut self, mut command: Command) -> Command {
        let id = command.id.index();
        if self.pending.len() <= id {
            self.pending.resize(id + 1, Pending::default());
        }
        let mut pending = std::mem::take(&mut self.pending[id]);
        pending.versions.clear();
        (pending.op, pending.first) = (command.op, (command.lba.0 / self.unit_sectors) as u32);
        pending.fua = command.fua;
        let pages = self.pages(&command);
        match command.op {
            Op::Read => pending.versions.extend(pages.map(|lpn| self.acknowledged[lpn as usize])),
            Op::Write => {
                let stamps: Vec<Stamp> = pages.map(|lpn| self.write(lpn)).collect();
                pending.versions.extend(stamps.iter().map(|stamp| stamp.version));
                command.payload = Some(stamps.into_boxed_slice());
            }
            Op::Trim if self.keeps_deallocated => {}
            Op::Trim => {
                let whole = self.whole_pages(&command);
                pending.first = whole.start;
                pending.versions.extend(whole.map(|lpn| {
                    let version = self.write(lpn).version;
                    self.deallocated.insert(lpn, version);
                    version
                }));
            }
            Op::Flush => {
                if let Some(promises) = &mut self.promises {
                    promises.command(command.id);
                }
            }
        }
        self.pending[id] = pending;
        command
    }

    fn write(&mut self, lpn: u32) -> Stamp {
        let before = self.submitted[lpn as usize];
        self.submitted[lpn as usize] += 1;
        let kept = self.promises.as_ref().and_then(|promises| promises.beneath(lpn, before));
        // A deallocated page holds nothing, whatever its version.
        let beneath =
            kept.unwrap_or(if self.deallocated.get(&lpn) == Some(&before) { 0 } else { before });
        Stamp { version: before + 1, beneath }
    }

    fn pages(&self, command: &Command) -> std::ops::Range<u32> {
        if command.sectors == 0 {
            return 0..0;
        }
        let last = (command.lba.0 + u64::from(command.sectors) - 1) / self.unit_sectors;
        (command.lba.0 / self.unit_sectors) as u32..last as u32 + 1
    }

    fn whole_pages(&self, command: &Command) -> std::ops::Range<u32> {
        let first = command.lba.0.div_ceil(self.unit_sectors);
        let end = (command.lba.0 + u64::from(command.sectors)) / self.unit_sectors;
        first as u32..end.max(first) as u32
    }

    /// Checks a completion.
    pub fn complete(&mut self, completion: &Completion) {
        let pending = std::mem::take(&mut self.pending[completion.id.index()]);
        if completion.status == Status::Success {
            match pending.op {
                Op::Write | Op::Trim => {
                    for (lpn, version) in (pending.first..).zip(&pending.versions) {
                        let newest = &mut self.acknowledged[lpn as usize];
                        *newest = (*newest).max(*version);
                        if let Some(promises) = &mut self.promises {
                            promises.written(lpn, *version, pending.fua, pending.op == Op::Trim);
                        }
                    }
                }
                Op::Read => self.check(&pending, completion),
                Op::Flush => {
                    if let Some(promises) = &mut self.promises {
                        promises.flushed(completion.id);
                    }
                }
            }
        }
        self.pending[completion.id.index()] = pending;
    }

    fn check(&mut self, pending: &Pending, completion: &Completion) {
        self.reads_checked += 1;
        let read = completion.payload.as_deref().unwrap_or_default();
        assert_eq!(read.len(), pending.versions.len(), "a checked read brings one version a page");
        for ((lpn, acknowledged), got) in (pending.first..).zip(&pending.versions).zip(read) {
            self.pages_checked += 1;
            if !self.may_return(lpn, *acknowledged, *got) {
                self.mismatches += 1;
                let submitted = self.submitted[lpn as usize];
                self.first_mismatch.get_or_insert_with(|| {
                    let at = completion.at.since(Instant::START);
                    format!(
                        "page {lpn} at {at}: version {got}, allowed {acknowledged} to {submitted}"
                    )
                });
            }
        }
    }

    pub(super) fn may_return(&self, lpn: u32, acknowledged: u32, got: u32) -> bool {
        let deallocated = self.deallocated.get(&lpn).copied();
        let newest = self.submitted[lpn as usize];
        let decided = self
            .promises
            .as_ref()
            .and_then(|promises| promises.may_hold(lpn, acknowledged, got, newest, deallocated));
        if let Some(decided) = decided {
            return decided;
        }
        if got == 0 {
            return acknowledged == 0 || deallocated >= Some(acknowledged);
        }
        (acknowledged..=newest).contains(&got) && deallocated != Some(got)
    }

    /// Pages whose newest acknowledged version would be gone if only what `left` says were left of
    /// each.
    pub fn lost(&self, left: impl Fn(Lpn) -> u32) -> Vec<Lpn> {
        let pages = (0..).zip(&self.acknowledged);
        let is_lost = |(lpn, acknowledged): &(u32, &u32)| {
            !self.may_return(*lpn, **acknowledged, left(Lpn(*lpn)))
        };
        pages.filter(is_lost).map(|(lpn, _)| Lpn(lpn)).collect()
    }

    /// The newest acknowledged version of the page: no read that begins now may bring an older one.
    pub fn acknowledged(&self, page: u32) -> Option<u32> {
        self.acknowledged.get(page as usize).copied()
    }

    /// Reads checked.
    pub fn reads_checked(&self) -> u64 {
        self.reads_checked
    }

    /// Pages of those reads.
    pub fn pages_checked(&self) -> u64 {
        self.pages_checked
    }

    /// Pages that no read may return.
    pub fn mismatches(&self) -> u64 {
        self.mismatches
    }

    /// The first of them, in words.
    pub fn first_mismatch(&self) -> Option<&str> {
        self.first_mismatch.as_deref()
    }
}
