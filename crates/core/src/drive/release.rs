//! When garbage collection lets go of a die: the busy remaining time (BRT) of a read that it keeps.
//!
//! IODA (SOSP '21) hands it to the host in the completion of a read that failed fast. Who fails, and when, is in
//! `predictable.rs`; here is only the prediction. It is asked once for every die of every read that fails, so it
//! allocates nothing.

use super::Drive;
use super::queues::Owner;
use crate::units::{Duration, Instant, Ppn};

impl Drive {
    /// For how long garbage collection keeps a read of `page` that comes now: the busy remaining time.
    ///
    /// It is the time to the *release*: the first instant at which [`Drive::gc_keeps_die`] is false of the page's die
    /// while this read waits there and nothing else comes; where only the channel keeps it, the end of the
    /// collections' transfers that have their place. At least 1 ns. (A read of a page of the victim itself goes before
    /// the erase, which waits for it.)
    ///
    /// Exact where pages read and program alike, no program of the host that is under way makes pages of the victim
    /// stale, and transfers of the host do not come between those of the collection (none can where the channel is
    /// held; there victims of several lanes are played ahead, `replay.rs`). An estimate otherwise: page types, by their
    /// means; a victim that is not yet chosen, by the emptiest block; erases that wait for reads of others. With
    /// windows at most what is left of the window, unless the collection is forced.
    pub fn gc_release(&self, now: Instant, page: Ppn) -> Duration {
        let (layout, die) = (&self.flash.layout, self.die_of_page(page));
        let keeps = self.erases_keep() && self.holds.is_none();
        let erase = if keeps { self.flash.timing().erase() } else { Duration::ZERO };
        let block = layout.block_of(page);
        // What is erased on the die after a copy: not the block that this read keeps.
        let erases = |pool: u32| {
            let lanes = self.ftl.lanes_of(pool).filter(|lane| layout.die_of(*lane) == die);
            let copies = |lane: &u32| self.ftl.is_copying(*lane);
            erase * lanes.filter(|lane| !(copies(lane) && self.ftl.victim_block(*lane) == block)).count() as u64
        };
        let keeper = self.collector.keeper_of(die);
        let held = keeper.filter(|(pool, holds)| *holds && self.ftl.lanes_of(*pool).len() > 1 && self.faults.is_none());
        let replayed = held.and_then(|(pool, _)| self.replayed(now, pool, die, erase, block.0));
        let is_of_victim = |pool: u32| self.ftl.lanes_of(pool).any(|lane| layout.die_of(lane) == die);
        let mut left = match held.filter(|(pool, _)| replayed.is_some() && is_of_victim(*pool)) {
            Some(_) => Duration::ZERO,
            None => self.collections_left(now, die, erase, &erases),
        };
        if let Some((pool, holds)) = keeper {
            let mut copied = match (replayed, holds) {
                (Some(outcome), _) => outcome.copied,
                (None, true) => self.victim_copy_left(now, pool),
                (None, false) => self.drain_left(now, pool) + self.victim_copy_ahead(pool),
            };
            left = left.max(replayed.map_or(copied + erases(pool), |outcome| outcome.free));
            let follows = !replayed.is_some_and(|outcome| outcome.paused);
            for next in self.collector.follow_after(die).filter(|_| follows) {
                if self.ftl.wants_collection(next) && self.ftl.may_collect(next) && !self.ftl.is_hopeless(next) {
                    let is_here = self.ftl.lanes_of(next).any(|lane| layout.die_of(lane) == die);
                    copied = if is_here { left } else { copied } + self.victim_copy_ahead(next);
                    left = left.max(copied + erases(next));
                }
            }
        }
        if let Some(pool) = self.collector.planes.as_ref().and_then(|planes| planes.drains(die)) {
            let drained = self.flash.operation_left(now, die).map_or(Duration::ZERO, |(_, left)| left);
            left = left.max(drained) + self.victim_copy_ahead(pool) + erase;
        }
        left = left.max(self.flash.gc_keeps_channel_for(now, die));
        if let Some(window) = self.window_left(now, die) {
            left = left.min(window);
        }
        left.max(Duration::from_ns(1))
    }

    /// The rest of the copy of the pool's victim. Chains of several lanes go side by side, and share channels.
    fn victim_copy_left(&self, now: Instant, pool: u32) -> Duration {
        let die_of = |lane: u32| self.flash.layout.die_of(lane);
        let of_die = |die| self.ftl.lanes_of(pool).filter(move |lane| die_of(*lane) == die);
        let on_die = |die| of_die(die).fold(Duration::ZERO, |sum, lane| sum + self.lane_copy_left(now, lane));
        let longest = self.ftl.lanes_of(pool).map(|lane| on_die(die_of(lane))).max().unwrap_or_default();
        if self.ftl.lanes_of(pool).len() == 1 || self.collector.copies_inside() {
            return longest;
        }
        let (layout, timing) = (&self.flash.layout, self.flash.timing());
        let of_channel = |channel: u32| {
            let lanes = self.ftl.lanes_of(pool).filter(|lane| layout.channel_of(layout.die_of(*lane)) == channel);
            let row = timing.command + timing.transfer(layout.units_per_row * layout.unit_sectors);
            lanes.filter_map(|lane| self.ftl.copies_left(lane)).fold(Duration::ZERO, |sum, left| {
                sum + timing.transfer(layout.unit_sectors) * u64::from(left.units)
                    + timing.command * u64::from(left.reads)
                    + row * u64::from(left.rows)
            })
        };
        let channels = self.ftl.lanes_of(pool).map(|lane| layout.channel_of(layout.die_of(lane)));
        let busiest = channels.map(of_channel).max().unwrap_or_default();
        let (read, program) = timing.means();
        longest.max(busiest + read + program)
    }

    /// The copy of a victim that is not yet chosen: chains on one die go one after the other.
    fn victim_copy_ahead(&self, pool: u32) -> Duration {
        let first = self.flash.layout.die_of(self.ftl.lanes_of(pool).start);
        let lanes = self.ftl.lanes_of(pool).filter(|lane| self.flash.layout.die_of(*lane) == first).count();
        self.copy_ahead(pool) * lanes as u64
    }

    /// What collections on the die's own lanes have before them that goes before reads.
    fn collections_left(&self, now: Instant, die: u32, erase: Duration, erases: &dyn Fn(u32) -> Duration) -> Duration {
        let mut left = Duration::ZERO;
        let under_way = self.flash.gc_operation_left(now, die);
        // What is under way, unless a copy that is counted below includes it; then erases that wait.
        let mut counted = None;
        let lanes = self.flash.layout.lanes_per_die;
        for lane in die * lanes..(die + 1) * lanes {
            let pool = self.ftl.pool_of(lane);
            let is_first = lane == die * lanes || self.ftl.pool_of(lane - 1) != pool;
            let copies = self.ftl.lanes_of(pool).any(|lane| self.ftl.is_copying(lane));
            let takes =
                self.collector.takes_the_die() || (self.ftl.is_urgent(pool) && !self.collector.yields_to_reads(true));
            if is_first && copies && takes && !self.is_paused(pool) {
                left += self.victim_copy_left(now, pool) + erases(pool);
                if under_way.is_some_and(|(op, _)| self.copies_for(op) == Some(pool)) {
                    counted = under_way;
                }
            }
        }
        if counted.is_none()
            && let Some((_, rest)) = under_way.filter(|(op, _)| !self.gives_way_now(*op))
        {
            left += rest;
        }
        let waiting = self.queues[die as usize].gc.iter(&self.ops);
        let is_erase = |op: &u32| matches!(self.ops[*op].owner, Owner::ChainErase { .. } | Owner::MergeErase { .. });
        left + erase * waiting.filter(is_erase).filter(|op| self.goes_before_reads(now, *op)).count() as u64
    }

    /// The pool for whose copies the operation works.
    fn copies_for(&self, op: u32) -> Option<u32> {
        if matches!(self.ops[op].owner, Owner::ChainErase { .. }) { None } else { self.chain_pool(op) }
    }

    /// Until a domain that drains for `pool` is held: reads under way bring their data, and the victim's dies are free.
    pub(super) fn drain_left(&self, now: Instant, pool: u32) -> Duration {
        let reads = self.collector.channels_of(pool).map(|channel| self.flash.host_reads_left(now, channel)).max();
        let layout = &self.flash.layout;
        let operation =
            |lane| self.flash.operation_left(now, layout.die_of(lane)).map_or(Duration::ZERO, |(_, left)| left);
        let dies = self.ftl.lanes_of(pool).map(operation).max();
        reads.unwrap_or_default().max(dies.unwrap_or_default())
    }
}
