//! For how long garbage collection keeps a die from reads: the controller's forecast.
//!
//! ttFlash (Yan et al., FAST '17), section 4.2, estimates the rest of a collection from the valid
//! pages that are left: V x (two commands, tR, tPROG, and the transfers where copies cross the
//! channel) and the erase. The operation under way counts with what is left of it. Where all pages
//! of a table read (and program) alike, the channel is the collection's own and nothing overtakes
//! it, the forecast is exact (`drive/tests/tolerant.rs`).
//!
//! The dies that a read finds kept depend on the mode. `base` and `controller` keep every die of
//! what they hold until the copy is done, and the victim's until its erase is; `plane-blocking`
//! keeps the victim's die, from its draining on. Where reads pass between a collection's operations
//! (`preemptive`, above the hard mark), only the operation under way keeps them. Operations that
//! give way block no read: erases and programs that may be suspended, erases held back.
//!
//! Not foreseen: other reads that wait, whatever comes later, collections that have not begun to
//! drain.

use crate::drive::Drive;
use crate::drive::dies::queues::Owner;
use crate::flash::Suspendable;
use crate::units::{Die, Duration, Instant, Lane, Lpn, Pool};

/// The forecast for a die.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::drive) struct Forecast {
    /// For so long it keeps the die.
    pub left: Duration,
    /// It still copies; otherwise only the erase is left.
    pub copying: bool,
}

/// Steps of a lane's chain that are left.
#[derive(Clone, Copy, Debug)]
struct StepsLeft {
    /// The rest of the one under way, or all of the one that comes next.
    first: Duration,
    /// A program is under way.
    programs: bool,
    /// Array reads after that, the units that they bring, and programs of rows.
    reads: u32,
    units: u32,
    rows: u32,
}

impl Drive {
    /// For how long garbage collection will keep a read that comes to `die` now: the controller's
    /// forecast.
    pub fn gc_remaining(&self, now: Instant, die: Die) -> Duration {
        self.gc_forecast(now, die).left
    }

    /// The same, and whether it copies.
    pub(in crate::drive) fn gc_forecast(&self, now: Instant, die: Die) -> Forecast {
        let mut all = Forecast::default();
        for pool in self.ftl.pools_on(die) {
            if self.ftl.is_collecting(pool) {
                let of_pool = self.collection_left(now, die, pool);
                all.left += of_pool.left;
                all.copying |= of_pool.copying;
            }
        }
        if let Some((pool, holds)) = self.collector.keeper_of(die) {
            let copy = if holds { self.copy_left(now, pool) } else { self.copy_ahead(pool) };
            all = Forecast { left: all.left.max(copy), copying: true };
        }
        if let Some(pool) = self.collector.planes.as_ref().and_then(|planes| planes.drains(die)) {
            let erase =
                if self.erases_keep() { self.flash.timing().erase() } else { Duration::ZERO };
            all = Forecast { left: all.left + self.copy_ahead(pool) + erase, copying: true };
        }
        all
    }

    /// For how long a collection on one of the die's lanes keeps it.
    fn collection_left(&self, now: Instant, die: Die, pool: Pool) -> Forecast {
        let under_way = self.flash.gc_operation_left(now, die);
        let own = under_way.filter(|(op, _)| self.chain_pool(*op) == Some(pool));
        let copying = self.ftl.lanes_of(pool).any(|lane| self.ftl.is_copying(lane));
        let erasing = own.filter(|(op, _)| matches!(self.ops[*op].owner, Owner::ChainErase { .. }));
        if !self.gc_goes_before(pool, true) {
            let kept = own.filter(|(op, _)| !self.gives_way_now(*op));
            let left = kept.map_or(Duration::ZERO, |(_, left)| left);
            return Forecast { left, copying: copying && erasing.is_none() };
        }
        let copy = if copying { self.copy_left(now, pool) } else { Duration::ZERO };
        Forecast { left: copy + self.erases_left(pool, erasing.map(|(_, left)| left)), copying }
    }

    /// True when a read has to wait for the end of an erase.
    pub(in crate::drive) fn erases_keep(&self) -> bool {
        !self.suspension.as_ref().is_some_and(|suspension| suspension.gives_way(Suspendable::Erase))
    }

    /// True when a read has to wait for erases that have not begun, too: none is held back for it.
    pub(in crate::drive) fn waiting_erases_keep(&self) -> bool {
        self.erases_keep() && self.holds.is_none()
    }

    /// The rest of the pool's erases, `under_way` being what is left of one.
    fn erases_left(&self, pool: Pool, under_way: Option<Duration>) -> Duration {
        if !self.erases_keep() {
            return Duration::ZERO;
        }
        let begun = u32::from(under_way.is_some());
        let waiting =
            if self.waiting_erases_keep() { self.ftl.erases_left(pool) - begun } else { 0 };
        self.flash.timing().erase() * u64::from(waiting) + under_way.unwrap_or_default()
    }

    /// The rest of the copy of the pool's victim.
    fn copy_left(&self, now: Instant, pool: Pool) -> Duration {
        // The chains of a pool of several dies go side by side.
        self.ftl.lanes_of(pool).map(|lane| self.lane_copy_left(now, lane)).max().unwrap_or_default()
    }

    /// The rest of one lane's chain.
    pub(in crate::drive) fn lane_copy_left(&self, now: Instant, lane: Lane) -> Duration {
        let Some(steps) = self.steps_left(now, lane) else { return Duration::ZERO };
        steps.first + self.copies(steps.reads, steps.units, steps.rows)
    }

    /// The steps of one lane's chain that are left; `None` when it copies nothing.
    fn steps_left(&self, now: Instant, lane: Lane) -> Option<StepsLeft> {
        let chain = self.ftl.copies_left(lane)?;
        let die = self.flash.layout.die_of(lane);
        let under_way = self.flash.gc_operation_left(now, die);
        let own = under_way.filter(|(op, _)| match self.ops[*op].owner {
            Owner::ChainRead { lane: of }
            | Owner::ChainProgram { lane: of }
            | Owner::ChainCopy { lane: of } => of == lane,
            _ => false,
        });
        let is_whole =
            own.is_some_and(|(op, _)| matches!(self.ops[op].owner, Owner::ChainCopy { .. }));
        let is_read = is_whole && self.flash.whole_copy_is_read(now, die);
        // Copies that are over and that the FTL was not yet told of.
        let over = if is_whole { self.flash.copies_over(now, die) } else { 0 };
        let (read, program) = (self.copies(1, 1, 0), self.copies(0, 0, 1));
        Some(StepsLeft {
            first: own.map_or(if chain.reading { read } else { program }, |(_, left)| left),
            programs: own.is_some() && if is_whole { is_read } else { !chain.reading },
            reads: chain.reads - over,
            units: chain.units - over,
            rows: chain.rows - over - u32::from(is_read),
        })
    }

    /// The copy of a victim that is not yet chosen: that of the pool's emptiest block.
    pub(in crate::drive) fn copy_ahead(&self, pool: Pool) -> Duration {
        let (valid, layout) = (self.ftl.fewest_valid(pool), &self.flash.layout);
        self.copies(
            valid.div_ceil(layout.units_per_read),
            valid,
            valid.div_ceil(layout.units_per_row),
        )
    }

    /// The time of so many array reads that bring `units`, and of so many programs of rows, one
    /// after the other.
    fn copies(&self, reads: u32, units: u32, rows: u32) -> Duration {
        let (timing, layout) = (self.flash.timing(), &self.flash.layout);
        let (read, program) = timing.means();
        let array = (timing.command + read) * u64::from(reads)
            + (timing.command + program) * u64::from(rows);
        if self.collector.copies_inside() {
            return array;
        }
        let out = timing.transfer(layout.unit_sectors) * u64::from(units);
        array + out + timing.transfer(layout.units_per_row * layout.unit_sectors) * u64::from(rows)
    }

    /// The forecast for the die of a page of a stripe.
    pub(in crate::drive) fn forecast_of(&self, now: Instant, lpn: Lpn) -> Forecast {
        self.gc_forecast(now, self.flash.layout.die_of(self.ftl.striped_lane(lpn)))
    }

    /// The forecast that the ttFlash authors' code has under rotation (tinyTailFlash: a victim's
    /// pages are counted in `nonblocking_gc` when one moves, and looked at in `convert_to_seq`):
    /// with the last program the copy is over, and the rest of that stands for the erase's.
    pub(in crate::drive) fn coded_forecast_of(&self, now: Instant, lpn: Lpn) -> Forecast {
        match self.steps_left(now, self.ftl.striped_lane(lpn)) {
            Some(StepsLeft { first, programs: true, rows: 0, .. }) => {
                Forecast { left: first, copying: false }
            }
            _ => self.forecast_of(now, lpn),
        }
    }

    /// A page read alone: command, array, `sectors` over the channel.
    pub(in crate::drive) fn read_alone(&self, sectors: u32) -> Duration {
        let timing = self.flash.timing();
        timing.command + timing.means().0 + timing.transfer(sectors)
    }

    /// Until a domain that drains for `pool` is held: reads under way bring their data, and the
    /// victim's dies are free.
    pub(in crate::drive) fn drain_left(&self, now: Instant, pool: Pool) -> Duration {
        let reads = self
            .collector
            .channels_of(pool)
            .map(|channel| self.flash.host_reads_left(now, channel))
            .max();
        let layout = &self.flash.layout;
        let operation = |lane| {
            self.flash
                .operation_left(now, layout.die_of(lane))
                .map_or(Duration::ZERO, |(_, left)| left)
        };
        let dies = self.ftl.lanes_of(pool).map(operation).max();
        reads.unwrap_or_default().max(dies.unwrap_or_default())
    }
}
