//! Throttled writes: while a drive lives on what garbage collection gives it, data of the host are
//! admitted no faster than at a rate (`drive.firmware.throttle`).
//!
//! It does from a victim with valid pages on, until the next victim has none, or until its free
//! space lies more than a victim above the soft mark (data were deallocated). A write is held
//! before its data cross the link, and those behind it, deallocations too, keep their order; reads
//! and flushes pass. Each write that is admitted keeps the next one out for as long as its bytes
//! take at the rate.

use crate::drive::{Command, Op};
use crate::ftl::PageMap;
use crate::units::{Bandwidth, Instant, Pool};
use std::collections::VecDeque;

/// Writes that wait to be admitted.
#[derive(Clone, Debug)]
pub(in crate::drive) struct Throttle {
    rate: Bandwidth,
    /// With the time since which each waits.
    held: VecDeque<(Instant, Command)>,
    free_at: Instant,
    /// By pool: its last victim had valid pages.
    copies: Vec<bool>,
}

impl Throttle {
    /// None without a rate.
    pub fn new(rate: Bandwidth) -> Option<Self> {
        (rate != Bandwidth::default()).then(|| Self {
            rate,
            held: VecDeque::new(),
            free_at: Instant::START,
            copies: Vec::new(),
        })
    }

    /// True where such a command is held: it writes, or else would pass one that does.
    pub fn holds(op: Op) -> bool {
        matches!(op, Op::Write | Op::Trim)
    }

    pub fn hold(&mut self, now: Instant, command: Command) {
        self.free_at = self.free_at.max(now);
        self.held.push_back((now, command));
    }

    pub fn held(&self) -> usize {
        self.held.len()
    }

    /// The pool has a victim, of which nothing is copied.
    pub fn has_victim(&mut self, ftl: &PageMap, pool: Pool) {
        if self.copies.is_empty() {
            self.copies = vec![false; ftl.pools() as usize];
        }
        self.copies[pool.index()] = ftl.valid_left(pool) > 0;
    }

    fn is_on(&self, ftl: &PageMap) -> bool {
        let mut pools = ftl.each_pool().zip(&self.copies);
        pools.any(|(pool, copies)| *copies && ftl.lives_on_victims(pool))
    }

    /// When the next one is admitted.
    pub fn next_at(&self) -> Instant {
        if self.held.is_empty() { Instant::NEVER } else { self.free_at }
    }

    /// The command that is admitted at `now`, and since when it was held.
    pub fn admit(&mut self, now: Instant, ftl: &PageMap) -> Option<(Instant, Command)> {
        if self.free_at != now {
            return None;
        }
        let (since, command) = self.held.pop_front()?;
        if command.op == Op::Write && self.is_on(ftl) {
            self.free_at = now + self.rate.time_for(command.bytes());
        }
        Some((since, command))
    }
}
