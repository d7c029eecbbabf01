//! Erases held back while their die serves a burst of reads, and done one after the other when it
//! is over.
//!
//! Kim et al. (USENIX ATC '19, section 2.3) name the remedy for reads that meet erase after erase:
//! batching backlogged erases after serving the bursty reads first. The paper gives no rule; this
//! one is ours. An erase starts when no host read waits for or works on its die, none did for
//! `erase.hold`, and no other erase is about to run there; or when it was held for
//! `erase.hold_max`, or its pool is urgent, whatever the reads do. Meanwhile the pool may copy
//! further victims, up to `erase.hold_victims` ([`crate::ftl::PageMap::may_collect`]).
//!
//! Traps: nobody else wakes a resting die, so each die with a held erase has a timer; every held
//! erase therefore ends its wait. The rule is asked for each erase anew: a read that comes during
//! the first of a backlog keeps the others.

use crate::drive::Drive;
use crate::drive::dies::queues::{Class, FlashOp, Owner};
use crate::drive::spec::EraseSpec;
use crate::flash::Block;
use crate::sim::Timers;
use crate::units::{Die, Duration, Instant, Pool};
use std::collections::VecDeque;

/// Erases held back, and the reads that are the reason.
#[derive(Clone, Debug)]
pub(in crate::drive) struct Holds {
    quiet: Duration,
    longest: Duration,
    dies: Vec<DieHold>,
    /// Erases held back, by pool.
    by_pool: Vec<u32>,
    timers: Timers,
}

#[derive(Clone, Debug)]
struct DieHold {
    /// Host reads that wait for it or run.
    reads: u32,
    /// Without a read from now on, the burst is over then.
    quiet_from: Instant,
    /// Erases that were let go and are not done.
    erasing: u32,
    /// Erases held back, and since when.
    held: VecDeque<(Block, Instant)>,
}

impl DieHold {
    fn is_quiet(&self, now: Instant) -> bool {
        self.reads == 0 && self.erasing == 0 && self.quiet_from <= now
    }

    /// When its first held erase starts if nothing else happens.
    fn wakes_at(&self, longest: Duration) -> Option<Instant> {
        let (_, since) = self.held.front()?;
        let quiet =
            if self.reads == 0 && self.erasing == 0 { self.quiet_from } else { Instant::NEVER };
        Some(quiet.min(*since + longest))
    }
}

impl Holds {
    /// A host read waits for the die from now on.
    pub fn read_arrived(&mut self, die: Die) {
        self.dies[die.index()].reads += 1;
        self.set_timer(die);
    }

    fn read_left(&mut self, now: Instant, die: Die) {
        let d = &mut self.dies[die.index()];
        d.reads -= 1;
        d.quiet_from = now + self.quiet;
        self.set_timer(die);
    }

    /// An erase of the die is done.
    pub fn erase_done(&mut self, die: Die) {
        self.dies[die.index()].erasing -= 1;
    }

    /// When the next held erase is looked at.
    pub fn next_at(&self) -> Instant {
        self.timers.next_at()
    }

    fn set_timer(&mut self, die: Die) {
        match self.dies[die.index()].wakes_at(self.longest) {
            Some(at) => self.timers.set(die.index(), at),
            None => self.timers.clear(die.index()),
        }
    }
}

impl Drive {
    /// Erases wait for the end of a burst of reads as `spec` says.
    pub(in crate::drive) fn hold_erases(&mut self, spec: &EraseSpec) {
        if spec.hold.is_zero() {
            return;
        }
        let dies = self.flash.layout.dies as usize;
        let die =
            DieHold { reads: 0, quiet_from: Instant::START, erasing: 0, held: VecDeque::new() };
        self.ftl.let_victims_wait(spec.hold_victims);
        self.holds = Some(Box::new(Holds {
            quiet: spec.hold,
            longest: spec.hold_max,
            dies: vec![die; dies],
            by_pool: vec![0; self.ftl.pools() as usize],
            timers: Timers::new(dies),
        }));
    }

    /// A host read of the die is done.
    #[inline]
    pub(in crate::drive) fn read_left(&mut self, now: Instant, die: Die) {
        if let Some(holds) = &mut self.holds {
            holds.read_left(now, die);
            self.set_alarm();
        }
    }

    /// Asserts that nobody reads as far as the holds know: for tests, of a drive that has completed
    /// everything.
    #[cfg(test)]
    pub(crate) fn check_nobody_reads(&self) {
        let reads = self
            .holds
            .iter()
            .flat_map(|holds| &holds.dies)
            .map(|die| u64::from(die.reads))
            .sum::<u64>();
        assert_eq!(reads, 0, "reads that came and never went");
    }

    /// True when the erase of `block`, which could start now, is held back.
    pub(in crate::drive) fn holds_back(&mut self, now: Instant, block: Block) -> bool {
        let Some(holds) = &mut self.holds else { return false };
        let lane = self.flash.layout.lane_of(block);
        let (die, pool) = (self.flash.layout.die_of(lane), self.ftl.pool_of(lane));
        let d = &mut holds.dies[die.index()];
        if self.ftl.is_urgent(pool) || d.is_quiet(now) {
            d.erasing += 1;
            return false;
        }
        d.held.push_back((block, now));
        holds.by_pool[pool.index()] += 1;
        self.set_hold_timer(die);
        true
    }

    /// The timer of a die with held erases.
    pub(in crate::drive) fn hold_turn(&mut self, now: Instant) {
        let first = self.holds.as_ref().and_then(|holds| holds.timers.first());
        let (_, die) = first.expect("a hold's timer is due");
        self.let_go(now, Die(die as u32));
    }

    /// Starts the erases of a die that need not wait any more.
    pub(in crate::drive) fn let_go(&mut self, now: Instant, die: Die) {
        while let Some(holds) = &mut self.holds {
            let (longest, d) = (holds.longest, &mut holds.dies[die.index()]);
            let Some((block, since)) = d.held.front().copied() else { break };
            if !d.is_quiet(now) && now < since + longest {
                break;
            }
            d.held.pop_front();
            d.erasing += 1;
            self.erase_held(now, block, since);
        }
        self.set_hold_timer(die);
    }

    /// An urgent pool's erases do not wait.
    #[inline(always)]
    pub(in crate::drive) fn hurry_erases(&mut self, now: Instant, pool: Pool) {
        if let Some(holds) = &self.holds
            && holds.by_pool[pool.index()] > 0
            && self.ftl.is_urgent(pool)
        {
            self.erase_all_held(now, pool);
        }
    }

    /// The pool's erases that are held back start.
    fn erase_all_held(&mut self, now: Instant, pool: Pool) {
        for lane in self.ftl.lanes_of(pool) {
            let die = self.flash.layout.die_of(lane);
            while let Self { holds: Some(holds), flash, .. } = self {
                let d = &mut holds.dies[die.index()];
                let is_of_lane = |held: &(Block, Instant)| flash.layout.lane_of(held.0) == lane;
                let Some(at) = d.held.iter().position(is_of_lane) else { break };
                let (block, since) = d.held.remove(at).expect("it was found there");
                d.erasing += 1;
                self.erase_held(now, block, since);
            }
            self.set_hold_timer(die);
        }
    }

    fn erase_held(&mut self, now: Instant, block: Block, since: Instant) {
        if let Some(holds) = &mut self.holds {
            holds.by_pool[self.ftl.pool_of(self.flash.layout.lane_of(block)).index()] -= 1;
        }
        let held = now.since(since);
        self.counters.erases_held += 1;
        self.counters.erases_held_time += held;
        self.counters.erases_held_max = self.counters.erases_held_max.max(held);
        self.enqueue_erase(now, block);
    }

    fn set_hold_timer(&mut self, die: Die) {
        let Some(holds) = &mut self.holds else { return };
        holds.set_timer(die);
        self.set_alarm();
    }

    /// Queues the erase of a victim's block.
    pub(in crate::drive) fn enqueue_erase(&mut self, now: Instant, block: Block) {
        let (lane, page) = (self.flash.layout.lane_of(block), self.flash.layout.first_page(block));
        assert!(!self.flash.is_copied_beside(self.flash.layout.die_of(lane)));
        let op =
            self.ops.insert(FlashOp::new(Owner::ChainErase { lane }, Class::Gc, lane, page, 0, 0));
        self.enqueue(now, op);
    }
}
