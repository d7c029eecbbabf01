//! Translation pages: read when an entry is missed, read and programmed when flash should know what
//! has changed.
//!
//! DFTL (Gupta et al., ASPLOS 2009), section 3; the cache that misses and changes come from is in
//! `dftl`. Translation pages are logical pages behind the host's: the same placement, rows and
//! collections serve them, and the directory that finds them (the paper's GTD, in DRAM) is their
//! part of the map. Other than in the paper they have no blocks of their own; they share rows with
//! the host's pages.
//!
//! **A round** writes a translation page: it is read, unless it was never written or DRAM holds it
//! (on its way to flash), then staged in its lane's row. When that takes off, what has changed by
//! then is in it: all dirty entries of that page and everything owed (without `ftl.map.batch` each
//! entry that leaves has a round of its own). What changes later is the next round's. An awaited
//! row is programmed at once, with padding, unless a row of that lane is on its way; then when that
//! is done. What only collections owe waits for its row to fill.

use crate::drive::buffer::slots::WriteBuffer;
use crate::drive::dies::queues::{Class, FlashOp, Owner};
use crate::drive::map_cache::misses::{Dftl, Miss, Misses};
use crate::drive::{Drive, OpId, SlotId};
use crate::ftl::{Mapping, MissId, PageMap};
use crate::sim::Slab;
use crate::stats::MapCounters;
use crate::units::{Instant, Lane, Lpn, Pool};
use std::collections::VecDeque;

/// Where a translation page is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Phase {
    /// On flash, or nowhere.
    #[default]
    Idle,
    /// It is being read.
    Reading,
    /// In DRAM; no lane could take it yet.
    Homeless,
    /// In DRAM; the row of its lane gathers, or waits for its die.
    Staged,
    /// It is being programmed: what changes now is not in it.
    Flying,
}

/// The stage of a translation page.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Page {
    pub(super) phase: Phase,
    /// Rounds that should begin, or take off.
    pub(super) owed: u32,
    /// One of these is for collections only.
    of_collections: bool,
    /// Its read, while it is read.
    op: OpId,
    lane: Lane,
    /// Misses that want to read it.
    pub(super) readers: Misses,
    /// Misses that wait for a round that has not taken off, and for the one that has.
    pub(super) writers: Misses,
    pub(super) flying: Misses,
}

impl Page {
    /// The lane of its read, or of the row that has it.
    pub(super) fn lane_of_its_operation(&self, ops: &Slab<OpId, FlashOp>) -> Option<Lane> {
        match self.phase {
            Phase::Idle | Phase::Homeless => None,
            Phase::Reading => Some(ops[self.op].lane),
            Phase::Staged | Phase::Flying => Some(self.lane),
        }
    }

    /// True when nobody else wants the next round.
    fn is_for_collections(&self) -> bool {
        self.writers.is_empty() && self.of_collections
    }
}

/// All translation pages.
#[derive(Clone, Debug)]
pub(in crate::drive) struct Pages {
    pub(super) all: Vec<Page>,
    /// The buffer slot of the first one on its way to flash.
    first_slot: SlotId,
    /// Those that no lane could take yet.
    homeless: VecDeque<u32>,
    /// By lane: a translation page in the row that gathers has waiters.
    pub(super) awaited: Vec<bool>,
    /// By pool: what its collection owes; and by page, the pool (plus one) that has it in its list.
    gathered: Vec<Vec<u32>>,
    gathered_by: Vec<u32>,
}

impl Pages {
    pub fn new(pages: u32, first_slot: SlotId, lanes: u32, pools: u32) -> Self {
        Self {
            all: vec![Page::default(); pages as usize],
            first_slot,
            homeless: VecDeque::new(),
            awaited: vec![false; lanes as usize],
            gathered: vec![Vec::new(); pools as usize],
            gathered_by: vec![0; pages as usize],
        }
    }

    /// Notes that a collection of the pool changed what a translation page says.
    pub fn gather(&mut self, pool: Pool, page: u32) {
        let by = std::mem::replace(&mut self.gathered_by[page as usize], pool.0 + 1);
        if by != pool.0 + 1 {
            self.gathered[pool.index()].push(page);
        }
    }

    /// True when a change of the page will come to flash.
    pub fn is_owed(&self, page: u32) -> bool {
        self.all[page as usize].owed > 0 || self.gathered.iter().any(|pages| pages.contains(&page))
    }

    /// Translation pages that are being programmed.
    pub fn flying(&self) -> Vec<u32> {
        let flying = (0..).zip(&self.all).filter(|(_, page)| page.phase == Phase::Flying);
        flying.map(|(page, _)| page).collect()
    }

    /// The translation page of a slot of the buffer, if it is one's.
    pub(super) fn of_slot(&self, slot: SlotId) -> Option<u32> {
        slot.0.checked_sub(self.first_slot.0).filter(|page| (*page as usize) < self.all.len())
    }
}

impl Dftl {
    /// The program of a row begins: translation pages in it hold what has changed by now. Where the
    /// drive keeps what a recovery needs (`numbers`), each has a number of its own.
    pub fn row_takes_off(
        &mut self,
        first_slot: SlotId,
        buffer: &mut WriteBuffer,
        ftl: &PageMap,
        numbers: bool,
        counters: &mut MapCounters,
    ) {
        let mut slot = first_slot;
        while slot != SlotId::NIL {
            if let Some(page) = self.pages.of_slot(slot) {
                if numbers {
                    buffer.slot_mut(slot).born = buffer.number();
                }
                self.page_takes_off(page, ftl.mapping(), counters);
            }
            slot = buffer.row_next(slot);
        }
    }

    fn page_takes_off(&mut self, page: u32, mapping: &Mapping, counters: &mut MapCounters) {
        let p = &mut self.pages.all[page as usize];
        debug_assert!(p.phase == Phase::Staged && p.flying.is_empty());
        p.phase = Phase::Flying;
        let for_collections = p.is_for_collections();
        counters.collection_programs += u64::from(for_collections);
        p.of_collections &= !self.batch && !for_collections;
        let mut stored = self.stored.as_deref_mut();
        if self.batch {
            p.owed = 0;
            p.flying = std::mem::take(&mut p.writers);
            self.cmt.clean_page(page, |lpn| {
                if let Some(stored) = &mut stored {
                    stored.tell(mapping, lpn);
                }
            });
        } else {
            p.owed -= 1;
            if let Some(miss) = p.writers.pop(&self.misses) {
                p.flying.push(&mut self.misses, miss);
            }
        }
        // Without batches one change is paid for, and the content takes what is owed as a whole.
        if let Some(stored) = stored {
            for lpn in self.cmt.span_of(page, self.first).map(Lpn) {
                if stored.owed[lpn.0 as usize] {
                    stored.tell(mapping, lpn);
                }
            }
        }
    }
}

impl Drive {
    pub(super) fn translation_page_mut(
        &mut self,
        page: u32,
    ) -> Option<(&mut Page, &mut Slab<MissId, Miss>)> {
        let dftl = self.dftl.as_mut()?;
        Some((&mut dftl.pages.all[page as usize], &mut dftl.misses))
    }

    /// A miss wants an entry; true when DRAM holds its translation page, or no such page was ever
    /// written.
    pub(in crate::drive) fn load(&mut self, now: Instant, miss: MissId) -> bool {
        let Some(dftl) = &mut self.dftl else { return true };
        let Miss { lpn, urgent, .. } = dftl.misses[miss];
        let number = dftl.cmt.page_of(lpn);
        let page = &mut dftl.pages.all[number as usize];
        match page.phase {
            Phase::Homeless | Phase::Staged | Phase::Flying => true,
            Phase::Reading => {
                page.readers.push(&mut dftl.misses, miss);
                self.awaits_page(now, miss, number);
                if urgent {
                    self.hasten(now, lpn);
                }
                false
            }
            Phase::Idle => {
                let is_written = self.ftl.member_at(self.ftl.translation_page(number)).is_some();
                if is_written {
                    page.readers.push(&mut dftl.misses, miss);
                    self.read_page_of_map(now, number, urgent);
                    self.awaits_page(now, miss, number);
                }
                !is_written
            }
        }
    }

    /// The entry that a miss made leave must come to flash first.
    pub(in crate::drive) fn owe_to(&mut self, now: Instant, page: u32, miss: MissId, urgent: bool) {
        if let Some((page, misses)) = self.translation_page_mut(page) {
            page.writers.push(misses, miss);
        }
        self.owe(now, page, false);
        self.awaits_page(now, miss, page);
        let Some((p, _)) = self.translation_page_mut(page) else { return };
        match p.phase {
            Phase::Reading if urgent => self.hasten_page(now, page),
            Phase::Staged => self.hurry_row(now, page),
            _ => {}
        }
    }

    /// An entry of a translation page has changed, and not only in the cache: the page begins a
    /// round, unless one is about to.
    pub(in crate::drive) fn owe(&mut self, now: Instant, page: u32, of_collection: bool) {
        let Some(dftl) = &mut self.dftl else { return };
        let p = &mut dftl.pages.all[page as usize];
        match (dftl.batch, of_collection) {
            (true, _) => {
                p.of_collections = of_collection && (p.owed == 0 || p.of_collections);
                p.owed = 1;
            }
            // Updates that GC runs owe are one round in any case: the paper's batch updates.
            (false, true) if p.of_collections => {}
            (false, _) => {
                p.of_collections |= of_collection;
                p.owed += 1;
            }
        }
        if p.phase == Phase::Idle {
            self.begin_round(now, page);
        }
    }

    /// A collection's victim is copied out: what it owes begins.
    pub(in crate::drive) fn owe_gathered(&mut self, now: Instant, pool: Pool) {
        let Some(dftl) = &mut self.dftl else { return };
        let mut gathered = std::mem::take(&mut dftl.pages.gathered[pool.index()]);
        for page in &gathered {
            if let Some(dftl) = &mut self.dftl {
                dftl.pages.gathered_by[*page as usize] = 0;
            }
            self.owe(now, *page, true);
        }
        gathered.clear();
        if let Some(dftl) = &mut self.dftl {
            dftl.pages.gathered[pool.index()] = gathered;
        }
    }

    /// A translation page that DRAM does not hold is to be written: it is read before, if there is
    /// one.
    pub(super) fn begin_round(&mut self, now: Instant, page: u32) {
        if self.ftl.member_at(self.ftl.translation_page(page)).is_none() {
            return self.stage_page_of_map(now, page);
        }
        let Some(dftl) = &mut self.dftl else { return };
        let p = &dftl.pages.all[page as usize];
        let urgent = p.writers.iter(&dftl.misses).any(|miss| dftl.misses[miss].urgent);
        self.counters.map.collection_reads += u64::from(p.is_for_collections());
        self.read_page_of_map(now, page, urgent);
    }

    fn read_page_of_map(&mut self, now: Instant, page: u32, urgent: bool) {
        let Some(ppn) = self.ftl.member_at(self.ftl.translation_page(page)) else { return };
        self.ftl.read_started(ppn);
        let layout = &self.flash.layout;
        let (lane, sectors) = (layout.lane_of(layout.block_of(ppn)), layout.unit_sectors);
        let class = if urgent { Class::Read } else { Class::Write };
        let op =
            self.ops.insert(FlashOp::new(Owner::MapRead { page }, class, lane, ppn, 1, sectors));
        if let Some((p, _)) = self.translation_page_mut(page) {
            (p.phase, p.op) = (Phase::Reading, op);
        }
        self.enqueue(now, op);
    }

    /// A read waits for a translation page that is being read for writes: from now on with the
    /// host's reads.
    pub(in crate::drive) fn hasten(&mut self, now: Instant, lpn: Lpn) {
        if let Some(dftl) = &self.dftl {
            self.hasten_page(now, dftl.cmt.page_of(lpn));
        }
    }

    fn hasten_page(&mut self, now: Instant, page: u32) {
        let Some(dftl) = &self.dftl else { return };
        let Page { phase: Phase::Reading, op, .. } = dftl.pages.all[page as usize] else { return };
        let die = self.flash.layout.die_of(self.ops[op].lane);
        if self.ops[op].class == Class::Write
            && self.queues[die.index()].fill.remove(&mut self.ops, op)
        {
            self.ops[op].class = Class::Read;
            self.queues[die.index()].read.push(&mut self.ops, op);
            self.look_at(now, die);
        }
    }

    /// A translation page in DRAM goes to a row, if a lane can take it.
    pub(super) fn stage_page_of_map(&mut self, now: Instant, page: u32) {
        let lpn = self.ftl.translation_page(page);
        let rows = &self.writes.rows;
        let lane = self.ftl.place(lpn, 0, |lane: Lane| rows[lane.index()].waiting);
        let Some(dftl) = &mut self.dftl else { return };
        let p = &mut dftl.pages.all[page as usize];
        let Some(lane) = lane else {
            p.phase = Phase::Homeless;
            return dftl.pages.homeless.push_back(page);
        };
        (p.phase, p.lane) = (Phase::Staged, lane);
        let slot = SlotId(dftl.pages.first_slot.0 + page);
        self.stage(now, slot, lane, 0);
        self.hurry_row(now, page);
    }

    /// Translation pages that no lane could take: perhaps one can now.
    pub(in crate::drive) fn place_homeless(&mut self, now: Instant) {
        let homeless = self.dftl.as_ref().map_or(0, |dftl| dftl.pages.homeless.len());
        for _ in 0..homeless {
            let Some(page) = self.dftl.as_mut().and_then(|dftl| dftl.pages.homeless.pop_front())
            else {
                return;
            };
            self.stage_page_of_map(now, page);
        }
    }

    /// Programs a row that gathers before it is full, if the translation page in it has waiters.
    fn hurry_row(&mut self, now: Instant, page: u32) {
        let Some(dftl) = &mut self.dftl else { return };
        let Page { phase, lane, writers, .. } = dftl.pages.all[page as usize];
        let slot = SlotId(dftl.pages.first_slot.0 + page);
        if phase != Phase::Staged || writers.is_empty() || !self.row_holds(lane, slot) {
            return;
        }
        if self.rows_waiting(lane) == 0 {
            self.seal_row(now, lane.0);
        } else if let Some(dftl) = &mut self.dftl {
            dftl.pages.awaited[lane.index()] = true;
        }
    }

    /// Translation pages that are not idle, in words.
    pub(in crate::drive) fn describe_map(&self) -> String {
        let Some(dftl) = &self.dftl else { return String::new() };
        let busy = (0..).zip(&dftl.pages.all).filter(|(_, page)| page.phase != Phase::Idle).take(8);
        format!(
            "{} misses; translation pages {:?}, homeless {:?}, awaited {:?}\n",
            dftl.misses.len(),
            busy.collect::<Vec<(u32, &Page)>>(),
            dftl.pages.homeless,
            dftl.pages.awaited
        )
    }
}
