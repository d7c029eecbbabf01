//! Parity over superblocks at work: rows are given their place when they begin to gather, and
//! parity goes behind them.
//!
//! Which rows form a stripe, when a lane may take what, and why nothing waits in a circle:
//! `ftl/superblock.rs`. Here the controller adds up what is on its way: a row is *sealed* when it
//! leaves the buffer (its pages are frozen then, not when its die is free, as without parity) or
//! when a chain has a row of copies. With the last of a stripe its parity is queued behind what its
//! lane was given before. It takes no slot of the write buffer: it is made in the sums of its
//! stripe, a row of RAM for each open one. The XOR on the way to flash takes no time.
//!
//! Parity of copies belongs to their collection: what holds a channel holds it until that is on
//! flash, too.
//!
//! A flush does not close stripes: data of an open stripe is on flash without parity, and is not
//! reconstructed.
//!
//! **Trap: content.** Sums are kept for what a page holds on flash, so padding, which no host
//! wrote, adds nothing.
//!
//! Not modelled: a power cut (the sums of open stripes are in RAM).

use crate::drive::buffer::rows::ROWS_WAITING_MAX;
use crate::drive::dies::queues::{Class, FlashOp, Owner};
use crate::drive::features::Scheme;
use crate::drive::parity::RebuildId;
use crate::drive::parity::log_structured_read::{Asked, Rebuild};
use crate::drive::parity::xor::XorEngines;
use crate::drive::{Drive, OpId, RainSpec, SlotId, Update};
use crate::flash::Block;
use crate::ftl::{PageMap, Stream, part_of};
use crate::sim::Slab;
use crate::units::{Instant, Lane, Ppn};
use std::collections::BTreeMap;

/// The state of parity over superblocks.
#[derive(Clone, Debug)]
pub(in crate::drive) struct Superblock {
    pub spec: RainSpec,
    pub(super) engines: XorEngines,
    /// By lane: the row that gathers.
    gathers: Vec<Ppn>,
    /// By lane and stream: rows that are opened and not yet on flash.
    under_way: Vec<[u32; 2]>,
    /// Where the run carries content: by the first page of the parity's row, the sums of what is
    /// sealed.
    pub(super) sums: BTreeMap<Ppn, Vec<u32>>,
    pub rebuilds: Slab<RebuildId, Rebuild>,
    /// The read that begins: what it asks of flash, stripe by stripe.
    pub asked: Vec<Asked>,
    /// For each of these stripes the page of the request that is computed, or `NIL`.
    pub computed: Vec<u32>,
}

impl Superblock {
    /// The lane that takes a page, in a row that gathers or one that it opens; `None` when there is
    /// none now.
    #[inline]
    pub fn place(&mut self, ftl: &mut PageMap) -> Option<Lane> {
        let (lane, opened) = ftl.place_in_stripe()?;
        if let Some(row) = opened {
            self.gathers[lane.index()] = row;
            self.under_way[lane.index()][Stream::Host as usize] += 1;
        }
        Some(lane)
    }

    /// A page of a sealed row, whose parity is at `parity`, holds `version`.
    fn add(&mut self, parity: Ppn, at: u32, units_per_row: u32, part: u32) {
        let sums = self.sums.entry(parity).or_insert_with(|| vec![0; units_per_row as usize]);
        sums[at as usize] ^= part;
    }
}

impl Drive {
    /// Parity is kept over superblocks, if `spec` says so; the map was made with it. Call it before
    /// the first command.
    pub(in crate::drive) fn keep_superblock_parity(&mut self, spec: &RainSpec) {
        let lanes = self.flash.layout.lanes as usize;
        if spec.update != Update::Superblock || self.ftl.superstripes().is_none() {
            return;
        }
        assert_eq!(self.scheme, Scheme::Page, "settings choose one scheme");
        self.scheme = Scheme::Superblock;
        self.superblock = Some(Box::new(Superblock {
            spec: spec.clone(),
            engines: XorEngines::new(spec),
            gathers: vec![Ppn::NONE; lanes],
            under_way: vec![[0; 2]; lanes],
            sums: BTreeMap::new(),
            rebuilds: Slab::default(),
            asked: Vec::new(),
            computed: Vec::new(),
        }));
        self.make_superblock_parity();
    }

    /// Gives parity that preconditioning left its content, and open stripes their sums. Copies at
    /// zero cost need none: their executor reads the flash.
    pub(in crate::drive) fn make_superblock_parity(&mut self) {
        let Some(superblock) = self.superblock.as_mut().filter(|_| self.flash.has_content()) else {
            return;
        };
        superblock.sums.clear();
        let layout = self.flash.layout.clone();
        let sums_copies = !self.collector.takes_no_time();
        for block in (0..layout.total_blocks()).map(Block) {
            let (lane, index) = (layout.lane_of(block), layout.index_of(block));
            let sums = sums_copies || self.ftl.writes_to(block) != Some(Stream::Copy);
            for row in 0..layout.rows {
                if !self.is_parity_row(lane, row) {
                    continue;
                }
                let start = layout.row_start(block, row);
                let written = self.flash.rows_written(layout.block(lane, index)) > row;
                let begun = self.rows_of_stripe(start).any(|row| self.is_written(row));
                for at in (0..layout.units_per_row).filter(|_| begun) {
                    let sum = self.sum_of_fellows(Ppn(start.0 + at));
                    match &mut self.superblock {
                        Some(superblock) if sums && !written => {
                            superblock.add(start, at, layout.units_per_row, sum)
                        }
                        _ if !written => {}
                        _ => self.flash.store(Ppn(start.0 + at), sum),
                    }
                }
            }
        }
    }

    fn is_parity_row(&self, lane: Lane, row: u32) -> bool {
        self.ftl.superstripes().is_some_and(|stripes| stripes.is_parity(lane, row))
    }

    fn rows_of_stripe(&self, row: Ppn) -> impl Iterator<Item = Ppn> + '_ {
        self.ftl.superstripes().into_iter().flat_map(move |stripes| stripes.stripe_of(row))
    }

    /// The row's program is done or under way.
    fn is_written(&self, row: Ppn) -> bool {
        self.flash.rows_written(self.flash.layout.block_of(row)) > self.flash.layout.row_of(row)
    }

    /// The parity at `page` by the content of its fellows on flash.
    fn sum_of_fellows(&self, page: Ppn) -> u32 {
        let fellows =
            self.rows_of_stripe(page).filter(|fellow| *fellow != page && self.is_written(*fellow));
        fellows.fold(0, |sum, fellow| sum ^ part_of(fellow, self.flash.load(fellow)))
    }

    /// True when every row of the stripe of `page` is on flash. The page itself is.
    pub(in crate::drive) fn is_whole(&self, page: Ppn) -> bool {
        let Some(superblock) = &self.superblock else { return false };
        let (layout, row) = (&self.flash.layout, self.flash.layout.row_of(page));
        let under_way =
            |lane: Lane, stream: Stream| superblock.under_way[lane.index()][stream as usize];
        self.rows_of_stripe(page)
            .all(|fellow| self.ftl.rows_on_flash(layout.block_of(fellow), under_way) > row)
    }

    /// Asserts that every whole stripe has the parity of its members, and that no parity row holds
    /// the host's data. Slow; for tests.
    pub(in crate::drive) fn check_superblock_parity(&self) {
        if self.scheme != Scheme::Superblock {
            return;
        }
        let layout = &self.flash.layout;
        for block in (0..layout.total_blocks()).map(Block) {
            let lane = layout.lane_of(block);
            for row in
                (0..self.flash.rows_written(block)).filter(|row| self.is_parity_row(lane, *row))
            {
                let start = layout.row_start(block, row);
                // Blocks of a superblock are erased one by one, and rows programmed so.
                let whole = self.rows_of_stripe(start).all(|fellow| self.is_written(fellow))
                    && self.is_whole(start);
                for page in (start.0..start.0 + layout.units_per_row).map(Ppn) {
                    assert!(!self.ftl.mapping().is_valid(page), "{page:?} is parity");
                    if whole && self.flash.has_content() {
                        assert_eq!(
                            self.flash.load(page),
                            self.sum_of_fellows(page),
                            "parity at {page:?}"
                        );
                    }
                }
            }
        }
    }

    /// A row of the buffer is sealed: its pages are frozen, and it has its place.
    pub(in crate::drive) fn enqueue_in_stripe(
        &mut self,
        now: Instant,
        op: OpId,
        first_slot: SlotId,
    ) {
        let lane = self.ops[op].lane;
        let Some(superblock) = &mut self.superblock else { return };
        let row = superblock.gathers[lane.index()];
        self.ops[op].ppn = row;
        self.issue_row(first_slot);
        self.ftl.row_sealed(lane);
        self.refresh_taking(lane);
        self.counters.rain.stripe_pages += u64::from(self.ops[op].units);
        if self.flash.has_content() {
            let (mut slot, mut at) = (first_slot, 0);
            while slot != SlotId::NIL {
                self.add_to_stripe(row, at, self.buffer.slot(slot).stamp.version);
                (slot, at) = (self.buffer.row_next(slot), at + 1);
            }
        }
        self.enqueue(now, op);
        self.write_due_parity(now, lane, Stream::Host);
    }

    /// An operation of a chain is queued; a row of copies is given its place.
    pub(in crate::drive) fn enqueue_copies(&mut self, now: Instant, op: OpId, chain: Lane) {
        let FlashOp { owner, lane, .. } = self.ops[op];
        if !matches!(owner, Owner::ChainProgram { .. }) {
            return self.enqueue(now, op);
        }
        let Some(row) = self.ftl.open_row(lane, Stream::Copy) else {
            return self.give_up_copies(now, chain);
        };
        self.ops[op].ppn = row;
        if let Some(superblock) = &mut self.superblock {
            superblock.under_way[lane.index()][Stream::Copy as usize] += 1;
        }
        if self.flash.has_content() {
            let contents: Vec<u32> = self.ftl.contents_on_their_way(chain).collect();
            (0..).zip(contents).for_each(|(at, version)| self.add_to_stripe(row, at, version));
        }
        self.enqueue(now, op);
        self.write_due_parity(now, lane, Stream::Copy);
    }

    /// Page `at` of a sealed row will hold `version`.
    fn add_to_stripe(&mut self, row: Ppn, at: u32, version: u32) {
        let layout = &self.flash.layout;
        let (lane, number) = (layout.lane_of(layout.block_of(row)), layout.row_of(row));
        let Some(stripes) = self.ftl.superstripes() else { return };
        let parity = stripes.fellow(row, stripes.parity_lane(lane, number));
        if let Some(superblock) = &mut self.superblock {
            superblock.add(parity, at, layout.units_per_row, part_of(Ppn(row.0 + at), version));
        }
    }

    /// The last row of `lane` was sealed: queues the parity that waited for it.
    fn write_due_parity(&mut self, now: Instant, lane: Lane, stream: Stream) {
        while let Some(to) = self.ftl.due_parity(lane, stream) {
            let row = match stream {
                Stream::Host => self.ftl.open_host_parity(to),
                Stream::Copy => self.ftl.open_row(to, stream).expect("its stripe is open"),
            };
            if let Some(superblock) = &mut self.superblock {
                superblock.under_way[to.index()][stream as usize] += 1;
            }
            let class = match stream {
                Stream::Host => {
                    self.writes.rows[to.index()].waiting += 1;
                    self.writes.leaving += 1;
                    self.refresh_taking(to);
                    Class::Write
                }
                Stream::Copy => {
                    self.ftl.parity_begins(self.ftl.pool_of(to));
                    Class::Gc
                }
            };
            let (units, unit_sectors) =
                (self.flash.layout.units_per_row, self.flash.layout.unit_sectors);
            let op = self.ops.insert(FlashOp::new(
                Owner::Parity,
                class,
                to,
                row,
                units,
                units * unit_sectors,
            ));
            self.enqueue(now, op);
        }
    }

    /// Placement passes over a lane that has enough rows waiting, or whose next row is parity.
    fn refresh_taking(&mut self, lane: Lane) {
        self.ftl.refresh_taking(lane, self.writes.rows[lane.index()].waiting >= ROWS_WAITING_MAX);
    }

    /// A row of data is on flash.
    pub(in crate::drive) fn stripe_row_done(&mut self, lane: Lane, stream: Stream) {
        let Some(superblock) = &mut self.superblock else { return };
        superblock.under_way[lane.index()][stream as usize] -= 1;
        if stream == Stream::Host {
            self.refresh_taking(lane);
        }
    }
}
