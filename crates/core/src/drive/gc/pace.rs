//! Paced collections: when the next row of copies of a GC run may go (`gc.pace = "writes"`).
//!
//! Every FTL that reclaims in the background has some form of it (a ratio of host writes to GC
//! writes, copies owed for each page written), so that free space neither runs out nor is made in
//! bursts. The rule here needs no count of writes. Let a victim of T pages hold V valid ones, and
//! let the free space of its pool lie D pages below the soft mark, what only waits for its erase
//! counted as free. V x D / S copies are then owed, with S = T, or what lies between the soft mark
//! and the first level at which collecting is urgent, if that is less. A lane begins its next row
//! of copies while fewer were let through than are owed; otherwise its chain waits, without an
//! operation, until the pool's space changes. Copies take free pages as writes do, so where S = T
//! that is V / (T - V) copies for each page that the host writes: the victim is copied when it has
//! written as many as the victim gives back. Pages written while a victim is erased are owed for by
//! the next one.
//!
//! At or below the hard mark nothing waits, nor does a run that was not begun for the soft mark
//! (wear levelling, the last block). A chain that waits goes on with the next program of the pool,
//! the host's or a copy, or an erase; nothing has a timer. A host that stops writing leaves a
//! victim half copied.
//!
//! For `preemptive` alone: the other modes keep the host away while they copy, so a run that waited
//! for its writes would keep them out for good.

use crate::ftl::{GcSpec, Pace as Setting, PageMap};
use crate::stats::PaceCounters;
use crate::units::{Lane, Pool};
use std::collections::VecDeque;

/// The accounts of all pools.
#[derive(Clone, Debug)]
pub(in crate::drive) struct Pace {
    /// Free map units of a pool at the soft mark.
    soft: u32,
    /// Map units below it at which all of a victim is owed.
    span: u64,
    units_per_row: u32,
    accounts: Vec<Account>,
    /// By lane: map units that its chain may still read for the row that it began.
    granted: Vec<u32>,
}

/// The run of a pool.
#[derive(Clone, Debug)]
struct Account {
    /// It was begun for the soft mark.
    is_paced: bool,
    /// Valid map units of the victim at the start.
    valid: u64,
    /// Map units let through, in whole rows.
    through: u64,
    /// Lanes whose chains wait, in the order in which they came to that.
    waiting: VecDeque<Lane>,
}

impl Pace {
    /// Accounts for all pools, if collections are paced.
    pub fn new(gc: &GcSpec, ftl: &PageMap) -> Option<Box<Self>> {
        if gc.pace == Setting::Off {
            return None;
        }
        let account = |pool| Account {
            is_paced: false,
            valid: 0,
            through: 0,
            waiting: VecDeque::with_capacity(ftl.lanes_of(pool).count()),
        };
        Some(Box::new(Self {
            soft: ftl.soft_units(),
            span: ftl.units_to_copy_within().into(),
            units_per_row: ftl.layout().units_per_row,
            accounts: ftl.each_pool().map(account).collect(),
            granted: vec![0; ftl.layout().lanes as usize],
        }))
    }

    /// The pool has a victim, of which nothing is copied.
    pub fn begins(&mut self, ftl: &PageMap, pool: Pool) {
        let below = self.below(ftl, pool);
        let account = &mut self.accounts[pool.index()];
        debug_assert!(account.waiting.is_empty(), "the last victim was copied");
        // A fold makes no free space that writes could owe copies for.
        account.is_paced = below > 0 && !ftl.is_folding(ftl.lanes_of(pool).first());
        (account.valid, account.through) = (ftl.valid_left(pool).into(), 0);
        for lane in ftl.lanes_of(pool) {
            self.granted[lane.index()] = 0;
        }
    }

    /// Map units by which the pool's free space lies below the soft mark; what only waits for its
    /// erase is free.
    fn below(&self, ftl: &PageMap, pool: Pool) -> u64 {
        let free = ftl.free_units(pool) + ftl.units_to_erase(pool);
        self.soft.saturating_sub(free).into()
    }

    /// True while fewer copies were let through than are owed.
    fn owes(&self, ftl: &PageMap, pool: Pool) -> bool {
        let Account { is_paced, valid, through, .. } = self.accounts[pool.index()];
        !is_paced || through * self.span < valid * self.below(ftl, pool)
    }

    /// True when the chain of `lane` has to wait: it would begin a row that is not owed.
    pub fn waits(&mut self, ftl: &PageMap, lane: Lane, counters: &mut PaceCounters) -> bool {
        let Some(units) = ftl.next_read(lane) else { return false };
        if self.granted[lane.index()] == 0 {
            let pool = ftl.pool_of(lane);
            let (owed, urgent) = (self.owes(ftl, pool), ftl.is_urgent(pool));
            let account = &mut self.accounts[pool.index()];
            if !owed && !urgent {
                counters.waits += 1;
                account.waiting.push_back(lane);
                return true;
            }
            counters.rows += 1;
            counters.forced_rows += u64::from(urgent);
            account.through += u64::from(self.units_per_row);
            self.granted[lane.index()] = self.units_per_row;
        }
        let granted = &mut self.granted[lane.index()];
        *granted = granted.saturating_sub(units);
        false
    }

    /// A lane of the pool whose chain waits, and may go on now.
    pub fn goes_on(&mut self, ftl: &PageMap, pool: Pool) -> Option<Lane> {
        let waits = !self.accounts[pool.index()].waiting.is_empty();
        let goes = waits && (self.owes(ftl, pool) || ftl.is_urgent(pool) || ftl.is_dead(pool));
        if goes { self.accounts[pool.index()].waiting.pop_front() } else { None }
    }
}
