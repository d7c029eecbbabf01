//! When garbage collection lets go of a die: the busy remaining time (BRT) of a read that it keeps.
//!
//! IODA (SOSP '21) hands it to the host in the completion of a read that failed fast. Who fails,
//! and when, is in `predictable.rs`; here is only the prediction. It is asked once for every die of
//! every read that fails, so it allocates nothing.

use crate::drive::dies::queues::Owner;
use crate::drive::gc::replay::Outcome;
use crate::drive::{Drive, OpId};
use crate::flash::Block;
use crate::units::{Channel, Die, Duration, Instant, Lane, Pool, Ppn};

/// The die, and the block, that garbage collection keeps from a read.
#[derive(Clone, Copy, Debug)]
pub(in crate::drive) struct Kept {
    pub die: Die,
    /// The read keeps it from being erased.
    pub block: Block,
}

impl Drive {
    /// For how long garbage collection keeps a read of `page` that comes now: the busy remaining
    /// time.
    ///
    /// It is the time to the *release*, while this read waits on the page's die and nothing else
    /// comes: the first instant at which [`Drive::gc_keeps_die`] is false of the die, or an
    /// operation of the host begins there; where only the channel keeps it, the end of the
    /// collections' transfers that have their place. At least 1 ns. (A read of a page of the victim
    /// itself goes before the erase, which waits for it.)
    ///
    /// Exact where pages read and program alike, no program of the host that is under way makes
    /// pages of the victim stale, and transfers of the host do not come between those of the
    /// collection (none can where the channel is held; there a dry run covers victims of several
    /// lanes, `replay.rs`). An estimate otherwise: page types, by their means; a victim that is not
    /// yet chosen, by the emptiest block; erases that wait for reads of others. With windows at
    /// most what is left of the window, unless the collection is forced.
    pub fn gc_release(&self, now: Instant, page: Ppn) -> Duration {
        let kept = Kept { die: self.die_of_page(page), block: self.flash.layout.block_of(page) };
        let die = kept.die;
        let keeper = self.collector.keeper_of(die);
        let mut end = self.own_collections_end(now, kept, keeper.map(|(pool, _)| pool));
        if let Some((pool, holds)) = keeper {
            end = end.max(self.keeper_end(now, kept, pool, holds, end));
        }
        if let Some(pool) = self.collector.planes.as_ref().and_then(|planes| planes.drains(die)) {
            let drained = self.flash.operation_left(now, die).map_or(now, |(_, left)| now + left);
            end = self.erases_end(end.max(drained) + self.victim_copy_ahead(pool), kept, pool);
        }
        let mut left = end.since(now).max(self.flash.gc_keeps_channel_for(now, die));
        if let Some(window) = self.window_left(now, die) {
            left = left.min(window);
        }
        left.max(Duration::from_ns(1))
    }

    /// When the host gets the die back from the collection of `pool`, for which its domain drains
    /// or is held, and from those that follow. `busy` is until when the die's own operations go
    /// before.
    fn keeper_end(
        &self,
        now: Instant,
        kept: Kept,
        pool: Pool,
        holds: bool,
        busy: Instant,
    ) -> Instant {
        let is_replayed = holds && self.ftl.lanes_of(pool).len() > 1 && self.faults.is_none();
        let (opens, free, paused) =
            match is_replayed.then(|| self.replayed(now, pool, kept)).flatten() {
                Some(Outcome { copied, free, paused }) => (copied, free, paused),
                None => {
                    let copied = match holds {
                        true => now + self.victim_copy_left(now, pool),
                        false if self.is_paused(pool) => {
                            now + self.drain_left(now, pool) + self.victim_copy_left(now, pool)
                        }
                        false => now + self.drain_left(now, pool) + self.victim_copy_ahead(pool),
                    };
                    (copied, self.erases_end(copied, kept, pool), false)
                }
            };
        let free = free.max(busy);
        if paused { opens.max(free) } else { self.followers_end(opens, free, kept) }
    }

    /// The end when the domain opens at `opens` and the die is free at `free`. A die that is free
    /// when the domain opens goes to the host; otherwise the next collection closes it again before
    /// its erases have ended.
    fn followers_end(&self, opens: Instant, free: Instant, kept: Kept) -> Instant {
        let (mut opens, mut free) = (opens, free);
        for next in self.collector.follow_after(kept.die) {
            if opens >= free {
                break;
            }
            if !self.ftl.wants_collection(next)
                || !self.ftl.may_collect(next)
                || self.ftl.is_hopeless(next)
            {
                continue;
            }
            let is_here =
                self.ftl.lanes_of(next).any(|lane| self.flash.layout.die_of(lane) == kept.die);
            let begins = opens + self.reads_between(next);
            opens = if is_here { begins.max(free) } else { begins } + self.victim_copy_ahead(next);
            if is_here {
                free = self.erases_end(opens, kept, next);
            }
        }
        opens.max(free)
    }

    /// For how long the reads that wait in the domain of the pool keep its next collection from
    /// holding it, once they have begun between two collections: one on each die, all at once.
    fn reads_between(&self, pool: Pool) -> Duration {
        let (timing, layout) = (self.flash.timing(), &self.flash.layout);
        let read = timing.command + timing.transfer(layout.unit_sectors);
        let of_channel = |channel: Channel| {
            let reads = |die: &Die| self.queues[die.index()].read.front().is_some();
            read * layout.dies_on(channel).filter(reads).count() as u64
        };
        let longest = self.collector.channels_of(pool).map(of_channel).max().unwrap_or_default();
        if longest.is_zero() { longest } else { longest + timing.means().0 }
    }

    /// Until when blocks of the pool's victim are erased on the die, one after the other from
    /// `from` on: those that reads do not keep, as far as the window holds them.
    fn erases_end(&self, from: Instant, kept: Kept, pool: Pool) -> Instant {
        let layout = &self.flash.layout;
        let is_erased = |lane: &Lane| {
            let block = self.ftl.victim_block(*lane);
            let waits = || {
                block == kept.block || (self.is_closed(kept.die) && self.ftl.is_being_read(block))
            };
            layout.die_of(*lane) == kept.die && !(self.ftl.is_copying(*lane) && waits())
        };
        let erases = self.ftl.lanes_of(pool).filter(is_erased).count();
        self.erases_in_window(from, erases, self.is_forced(pool))
    }

    /// Until when so many erases last that follow one another from `from` on and keep their die, as
    /// far as the window holds them.
    pub(in crate::drive) fn erases_in_window(
        &self,
        from: Instant,
        erases: usize,
        forced: bool,
    ) -> Instant {
        if !self.waiting_erases_keep() {
            return from;
        }
        let windows = self.schedule().filter(|_| !forced);
        let mut end = from;
        for _ in 0..erases {
            if windows.is_some_and(|windows| !windows.holds(end, self.flash.longest_erase())) {
                break;
            }
            end += self.flash.timing().erase();
        }
        end
    }

    /// The rest of the copy of the pool's victim. Chains of several lanes go side by side, and
    /// share channels.
    fn victim_copy_left(&self, now: Instant, pool: Pool) -> Duration {
        let die_of = |lane: Lane| self.flash.layout.die_of(lane);
        let of_die = |die| self.ftl.lanes_of(pool).filter(move |lane| die_of(*lane) == die);
        let on_die = |die| {
            of_die(die).fold(Duration::ZERO, |sum, lane| sum + self.lane_copy_left(now, lane))
        };
        let longest =
            self.ftl.lanes_of(pool).map(|lane| on_die(die_of(lane))).max().unwrap_or_default();
        if self.ftl.lanes_of(pool).len() == 1 || self.collector.copies_inside() {
            return longest;
        }
        let (layout, timing) = (&self.flash.layout, self.flash.timing());
        let of_channel = |channel: Channel| {
            let lanes = self
                .ftl
                .lanes_of(pool)
                .filter(|lane| layout.channel_of(layout.die_of(*lane)) == channel);
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
    fn victim_copy_ahead(&self, pool: Pool) -> Duration {
        let first = self.flash.layout.die_of(self.ftl.lanes_of(pool).first());
        let lanes =
            self.ftl.lanes_of(pool).filter(|lane| self.flash.layout.die_of(*lane) == first).count();
        self.copy_ahead(pool) * lanes as u64
    }

    /// Until when collections on the die's own lanes, but for that of `keeper`, have what goes
    /// before reads.
    fn own_collections_end(&self, now: Instant, kept: Kept, keeper: Option<Pool>) -> Instant {
        let die = kept.die;
        let mut end = now;
        let under_way = self.flash.gc_operation_left(now, die);
        // The operation under way, unless a copy that is counted includes it; then erases that
        // wait.
        let mut counted = false;
        for pool in self.ftl.pools_on(die) {
            let copies = self.ftl.lanes_of(pool).any(|lane| self.ftl.is_copying(lane));
            let takes = self.gc_goes_before(pool, true);
            if copies && takes && !self.is_paused(pool) {
                counted |= under_way.is_some_and(|(op, _)| self.copies_for(op) == Some(pool));
                if keeper != Some(pool) {
                    end = self.erases_end(end + self.victim_copy_left(now, pool), kept, pool);
                }
            }
        }
        if let Some((_, rest)) = under_way.filter(|(op, _)| !counted && !self.gives_way_now(*op)) {
            end += rest;
        }
        let waiting = self.queues[die.index()].gc.iter(&self.ops);
        let is_erase = |op: &OpId| {
            matches!(self.ops[*op].owner, Owner::ChainErase { .. } | Owner::MergeErase { .. })
        };
        let erases = waiting.filter(is_erase).filter(|op| self.goes_before_reads(now, *op));
        erases.fold(end, |end, op| {
            self.erases_in_window(end, 1, self.is_forced(self.ftl.pool_of(self.ops[op].lane)))
        })
    }

    /// The pool for whose copies the operation works.
    fn copies_for(&self, op: OpId) -> Option<Pool> {
        if matches!(self.ops[op].owner, Owner::ChainErase { .. }) {
            None
        } else {
            self.chain_pool(op)
        }
    }
}
