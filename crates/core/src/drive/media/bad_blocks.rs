//! Bad blocks at work: what an operation that failed costs, and the drive that turns read-only.
//!
//! Which operations fail is in `flash/faults.rs`, what becomes of the blocks in `ftl/retire.rs`. A
//! program or an erase that fails took its time; the status says so at its end.
//!
//! **A program**: the same pages are queued again for another row of their lane; the buffer still
//! has them (host rows, parity in place), or the collection does (copies). The block closes, its
//! other pages are moved, and it is retired without being erased. A page that the scrubber writes
//! anew stays where it is. **An erase**: the block is retired. With log blocks only erases fail:
//! the block leaves its lane.
//!
//! **Read-only.** A failure that leaves a pool fewer blocks than it needs ([`crate::ftl::Needs`])
//! turns the drive read-only: writes and deallocations complete with
//! [`Status::NamespaceWriteProtected`], those that wait for room in the buffer, too. What was
//! acknowledged, and not yet on flash, is written as by a flush; the pool still has the blocks for
//! that, and collects. Further failures may use these up. Then pages stay in the buffer
//! (*stranded*): they are read from there, and a durable write or a flush that waits for them on
//! flash completes with an error. With log blocks nothing is stranded: a lane without spare erases
//! a block again and again until that succeeds.
//!
//! **Wear-out** ends with read-only: a drive that writes out its buffer takes worn blocks for it.
//! Else a lane of log blocks without spare would erase its worn block for ever.
//!
//! **Order.** Read-only changes requests in an event of its own ([`Task::Settle`]), at the same
//! instant: a failure may be met in the middle of another change.
//!
//! Not modelled: a program that fails is not read back; a drive that turned read-only has no spare
//! to come back with.

use crate::drive::dies::queues::{FlashOp, Owner};
use crate::drive::later::Task;
use crate::drive::{Drive, OpId};
use crate::flash::{Block, FaultDraws, FaultSpec};
use crate::ftl::Stream;
use crate::stats::{FaultCounters, WearCounters};
use crate::units::{Instant, Lane, Pool, Ppn};

/// The state of a drive whose blocks may be bad.
#[derive(Clone, Debug)]
pub(in crate::drive) struct Faults {
    draws: FaultDraws,
    read_only_at: Option<Instant>,
    /// Pages may stay in the buffer for ever: nobody waits for them any more.
    strands: bool,
    /// Copied-out blocks that failed and that nobody reads any more.
    pub(super) leaving: Vec<Block>,
    /// Lanes whose chain found no row for its copies.
    pub(super) stopping: Vec<Lane>,
    /// [`Task::Settle`] is among what completes later.
    pub(super) is_timed: bool,
    pub(super) counters: FaultCounters,
}

impl Faults {
    pub fn is_read_only(&self) -> bool {
        self.read_only_at.is_some()
    }

    /// The state after a power loss: the table of bad blocks is on flash, and nothing is under way.
    pub fn after_power_loss(self) -> Self {
        Self { strands: false, leaving: Vec::new(), stopping: Vec::new(), is_timed: false, ..self }
    }
}

impl Drive {
    /// Blocks are bad and operations fail as `spec` says; the map was made with it.
    pub(in crate::drive) fn fail_blocks(&mut self, spec: &FaultSpec, seed: u64) {
        if !spec.is_on() {
            return;
        }
        self.faults = Some(Box::new(Faults {
            draws: FaultDraws::new(spec, self.rating, seed),
            read_only_at: None,
            strands: false,
            leaving: Vec::new(),
            stopping: Vec::new(),
            is_timed: false,
            counters: FaultCounters::default(),
        }));
        self.count_spare(Instant::START);
    }

    /// How often the blocks were erased, and the cycles for which they are rated.
    pub fn wear(&self) -> WearCounters {
        let erases = self.ftl.block_erases().iter().map(|erases| u64::from(*erases));
        let wear = WearCounters::of(erases);
        self.rating.map_or(wear, |rating| wear.rated(rating.cycles, rating.before))
    }

    /// True when pages may stay in the buffer for ever.
    pub(in crate::drive) fn strands_pages(&self) -> bool {
        self.faults.as_ref().is_some_and(|faults| faults.strands)
    }

    /// Counters of failures so far.
    pub(in crate::drive) fn fault_counters(&self) -> FaultCounters {
        let Some(faults) = &self.faults else { return FaultCounters::default() };
        let (factory_bad, retired) = self.ftl.bad_blocks();
        FaultCounters {
            factory_bad: factory_bad.into(),
            retired,
            spare_least: self.ftl.spare_groups(),
            stranded: if faults.strands { self.buffer.occupied.into() } else { 0 },
            read_only_at: faults.read_only_at,
            ..faults.counters
        }
    }

    /// True when the operation that ends now has failed.
    #[inline]
    pub(in crate::drive) fn op_fails(&mut self, op: OpId) -> bool {
        self.faults.is_some() && self.draws_failure(op)
    }

    #[inline(never)]
    fn draws_failure(&mut self, op: OpId) -> bool {
        let FlashOp { owner, ppn, .. } = self.ops[op];
        let Some(faults) = &mut self.faults else { return false };
        let erases = || self.ftl.block_erases()[self.flash.layout.block_of(ppn).0 as usize];
        match owner {
            Owner::Row { .. } | Owner::ChainProgram { .. } | Owner::Rewrite => {
                faults.draws.program_fails(erases())
            }
            Owner::ChainErase { .. } | Owner::MergeErase { .. } => {
                let erases = erases();
                let is_worn = faults.read_only_at.is_none() && faults.draws.is_worn(erases);
                faults.counters.worn_out += u64::from(is_worn);
                faults.draws.erase_fails(erases) || is_worn
            }
            _ => false,
        }
    }

    pub(in crate::drive) fn count_erase_failure(&mut self) {
        if let Some(faults) = &mut self.faults {
            faults.counters.erase_failures += 1;
        }
    }

    /// The copied-out `block`, which nobody reads any more, failed: it is not erased, and leaves
    /// service.
    pub(in crate::drive) fn leaves_service(&mut self, now: Instant, block: Block) {
        if let Some(faults) = &mut self.faults {
            faults.leaving.push(block);
        }
        self.settle_later(now);
    }

    fn settle_later(&mut self, now: Instant) {
        if let Some(faults) = &mut self.faults
            && !std::mem::replace(&mut faults.is_timed, true)
        {
            self.later.put(now, Task::Settle);
        }
    }

    /// Requests ended with an error because the drive is read-only.
    pub(in crate::drive) fn count_refused(&mut self, requests: u64) {
        if let Some(faults) = &mut self.faults {
            faults.counters.refused += requests;
        }
    }

    /// Blocks were lost: the drive may have too few.
    pub(in crate::drive) fn count_spare(&mut self, now: Instant) {
        if self.ftl.spare_groups() < 0 {
            self.turn_read_only(now);
        }
    }

    pub(in crate::drive) fn turn_read_only(&mut self, now: Instant) {
        let hopeless =
            self.ftl.each_pool().any(|pool| self.ftl.is_hopeless(pool) || self.ftl.is_dead(pool));
        let Some(faults) = &mut self.faults else { return };
        faults.read_only_at.get_or_insert(now);
        faults.strands |= hopeless;
        self.settle_later(now);
    }

    /// An operation is about to start; true when it is a copy that finds no row.
    pub(in crate::drive) fn finds_no_row(&mut self, now: Instant, op: OpId) -> bool {
        let FlashOp { owner: Owner::ChainProgram { lane }, lane: to, ppn: Ppn::NONE, .. } =
            self.ops[op]
        else {
            return false;
        };
        if let Some(row) = self.ftl.open_row(to, Stream::Copy) {
            self.ops[op].ppn = row;
            return false;
        }
        self.give_up_copies(now, lane);
        true
    }

    /// The chain of `lane` finds no row for its copies: its GC run is given up, and the chain ends
    /// with the event ([`Drive::stop_given_up`]).
    pub(in crate::drive) fn give_up_copies(&mut self, now: Instant, lane: Lane) {
        self.ftl.give_up(self.ftl.pool_of(lane));
        if let Some(faults) = &mut self.faults {
            faults.stopping.push(lane);
        }
        self.watches = true;
        self.turn_read_only(now);
    }

    /// A row of copies is on flash.
    pub(in crate::drive) fn count_moved(&mut self, lane: Lane, units: u32) {
        if let Some(faults) = &mut self.faults
            && self.ftl.moves_failed(lane)
        {
            faults.counters.pages_moved += u64::from(units);
        }
    }

    /// A collection of the pool would gain nothing.
    #[inline(never)]
    pub(in crate::drive) fn nothing_gained(&mut self, now: Instant, pool: Pool) {
        if self.faults.is_none() {
            return;
        }
        // A zero-cost GC run passes over blocks that are being read: it may gain something when
        // they are not.
        let lost = match self.collector.takes_no_time() {
            true => self.ftl.has_lost_reserve(pool),
            false => self.ftl.has_failed_groups(pool),
        };
        if lost && !self.ftl.is_dead(pool) {
            self.ftl.give_up(pool);
            self.turn_read_only(now);
        } else if self.is_read_only() && !self.strands_pages() {
            self.turn_read_only(now);
        }
    }
}
