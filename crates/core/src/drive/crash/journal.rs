//! The journal of deallocations: what is in DRAM, in flight, and on flash; [`super::recovery`] says
//! why.
//!
//! A flush waits for what was deallocated before it, and an erase for what may lie in its block.
//! Only full map units have an entry. Nothing here is done unless the drive keeps what a recovery
//! needs.

use crate::drive::buffer::slot::State;
use crate::drive::dies::queues::{Class, FlashOp, Owner};
use crate::drive::{Drive, RequestId};
use crate::flash::Block;
use crate::units::{Die, Instant, Lpn, Ppn};
use std::collections::BTreeMap;

/// Bytes of a deallocation in the journal: a logical page and its number.
pub const JOURNAL_ENTRY: u32 = 16;

/// Deallocations: those on flash, those in DRAM.
#[derive(Clone, Debug, Default)]
pub(in crate::drive) struct Journal {
    pub durable: BTreeMap<u32, u64>,
    /// In DRAM, and the lowest number of any since it was empty.
    pending: BTreeMap<u32, u64>,
    pub(super) oldest: Option<u64>,
    /// On their way, as so many pages.
    pub(super) flying: BTreeMap<u32, u64>,
    pub(super) flying_oldest: Option<u64>,
    pub(super) pages_flying: u32,
    /// Writes whose page was deallocated before it came to flash, by the number of the
    /// deallocation.
    pub(super) waiters: Vec<(u64, RequestId)>,
    pub next_die: Die,
    /// Pages programmed so far: what recovery reads.
    pub pages: u64,
}

impl Journal {
    /// The journal that was on flash when the power failed.
    pub fn again(durable: BTreeMap<u32, u64>, pages: u64, next_die: Die) -> Self {
        Self { durable, pages, next_die, ..Self::default() }
    }

    /// Deallocations that are not on flash: the newest of each page.
    pub fn in_dram(&mut self) -> BTreeMap<u32, u64> {
        let mut in_dram = std::mem::take(&mut self.flying);
        in_dram.append(&mut self.pending);
        in_dram
    }

    /// The newest deallocation of each page, wherever it is.
    pub fn all(&self) -> BTreeMap<u32, u64> {
        let mut all = self.durable.clone();
        for (lpn, number) in self.flying.iter().chain(&self.pending) {
            let newest = all.entry(*lpn).or_insert(0);
            *newest = (*newest).max(*number);
        }
        all
    }

    /// These are on flash.
    pub fn on_flash<'a>(&mut self, landed: impl IntoIterator<Item = (&'a u32, &'a u64)>) {
        for (lpn, number) in landed {
            let newest = self.durable.entry(*lpn).or_insert(0);
            *newest = (*newest).max(*number);
        }
    }

    /// The lowest number of a deallocation that is not on flash.
    fn oldest(&self) -> Option<u64> {
        self.flying_oldest.into_iter().chain(self.oldest).min()
    }
}

impl Drive {
    /// A page is deallocated: the journal takes a note. What is in the buffer and may never come to
    /// flash now counts as done when the note is on flash: for the write that waits for it, and for
    /// a flush.
    pub(in crate::drive) fn note_trim(&mut self, now: Instant, lpn: Lpn) {
        let Some(kept) = &mut self.kept else { return };
        let (number, slot) = (self.buffer.number(), self.buffer.find(lpn));
        let (protected, waiting) = (self.spec.power_loss_protection, !self.writes.is_flushed());
        let journal = &mut kept.journal;
        journal.pending.insert(lpn.0, number);
        let mut oldest = number;
        let mut hurry = waiting;
        if let Some(slot) = slot
            && self.buffer.slot(slot).state != State::Flying
            && !protected
        {
            oldest = self.buffer.slot(slot).born;
            while let Some(request) = self.buffer.pop_waiter(slot) {
                journal.waiters.push((number, request));
                hurry = true;
            }
        }
        journal.oldest = Some(journal.oldest.map_or(oldest, |before| before.min(oldest)));
        if hurry {
            self.write_journal(now);
        }
    }

    /// True while a deallocation numbered up to `up_to` is not on flash.
    #[inline]
    pub(in crate::drive) fn journal_lags(&self, up_to: u64) -> bool {
        self.kept
            .as_ref()
            .is_some_and(|kept| kept.journal.oldest().is_some_and(|oldest| oldest <= up_to))
    }

    /// A flush waits for the journal: what is in DRAM is programmed, unless a part of it is on its
    /// way already.
    pub(in crate::drive) fn write_journal(&mut self, now: Instant) {
        let layout = &self.flash.layout;
        let (unit, sectors, dies) = (layout.unit_bytes, layout.unit_sectors, layout.dies);
        let Some(kept) = &mut self.kept else { return };
        let journal = &mut kept.journal;
        if journal.pages_flying > 0 || journal.pending.is_empty() {
            return;
        }
        journal.flying = std::mem::take(&mut journal.pending);
        journal.flying_oldest = journal.oldest.take();
        let pages = (journal.flying.len() as u32).div_ceil(unit / JOURNAL_ENTRY);
        (journal.pages_flying, journal.pages) = (pages, journal.pages + u64::from(pages));
        let first = journal.next_die.0;
        journal.next_die = Die((first + pages) % dies);
        for page in 0..pages {
            let lane = self.flash.layout.lanes_on(Die((first + page) % dies)).first();
            let op = FlashOp::new(Owner::Journal, Class::Write, lane, Ppn::NONE, 1, sectors);
            let op = self.ops.insert(op);
            self.enqueue(now, op);
        }
    }

    /// True while the block may hold pages whose deallocation is not on flash: were it erased now,
    /// a power loss would bring back what was there before them.
    pub(in crate::drive) fn journal_holds(&mut self, now: Instant, block: Block) -> bool {
        let up_to = self.buffer.latest_birth();
        let Some(kept) = self.kept.as_mut().filter(|_| !self.spec.power_loss_protection) else {
            return false;
        };
        let up_to = *kept.held.entry(block.0).or_insert(up_to);
        if kept.journal.oldest().is_none_or(|oldest| oldest > up_to) {
            kept.held.remove(&block.0);
            return false;
        }
        self.write_journal(now);
        true
    }

    /// The baseline that collects at zero cost also writes the journal at zero cost.
    pub(in crate::drive) fn journal_settles(&mut self) {
        if let Some(kept) = &mut self.kept {
            let journal = &mut kept.journal;
            journal.durable.extend(&journal.flying);
            journal.durable.extend(std::mem::take(&mut journal.pending));
            (journal.oldest, journal.flying_oldest) = (None, None);
        }
    }
}
