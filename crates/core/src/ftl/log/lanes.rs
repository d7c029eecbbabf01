//! A whole drive under a log-block FTL: one [`LogBlocks`] for each lane, pages striped over them by the placement.
//!
//! A page of such an FTL is what one program writes, so the map unit is a row (`config::validate` sees to it), and a
//! lane's pages and blocks count like the layout's. Consecutive pages of a lane are a logical block.

use super::{LogBlocks, LogCounters, LogSpec, Step};
use crate::flash::{Block, Layout};
use crate::ftl::recovery::Role;
use crate::ftl::{PageMap, Translation};
use crate::sim::Divisor;
use crate::units::{Lpn, Ppn};

/// The lanes of a drive.
#[derive(Clone, Debug)]
pub struct LogLanes {
    pub(super) lanes: Vec<LogBlocks>,
    by_lanes: Divisor,
    pub(super) units_per_lane: u32,
    blocks: u32,
    write_waits: bool,
}

impl LogLanes {
    /// Empty lanes of a drive of which the host sees `logical` pages. The error names the key, its value and what is
    /// allowed.
    pub fn new(spec: &LogSpec, layout: &Layout, logical: u32) -> Result<Self, String> {
        assert_eq!(layout.units_per_row, 1, "a log-block FTL maps what one program writes");
        let of_lane = logical.div_ceil(layout.lanes);
        let spec = spec.fitted(of_lane, layout.rows, layout.blocks);
        let lane = LogBlocks::new(&spec, layout.rows, layout.blocks, of_lane)?;
        Ok(Self {
            lanes: vec![lane; layout.lanes as usize],
            by_lanes: Divisor::new(layout.lanes),
            units_per_lane: layout.units_per_lane(),
            blocks: layout.blocks,
            write_waits: spec.write_waits,
        })
    }

    /// Writes that complete on flash wait for the work that they cause.
    pub fn write_waits(&self) -> bool {
        self.write_waits
    }

    #[inline]
    fn local(&self, lpn: Lpn) -> Lpn {
        Lpn(self.by_lanes.quotient(lpn.0))
    }

    #[inline]
    fn ppn(&self, lane: u32, local: Ppn) -> Ppn {
        Ppn(lane * self.units_per_lane + local.0)
    }

    /// Where the newest version of a page of `lane` is that flash has.
    #[inline]
    pub fn translate(&self, lane: u32, lpn: Lpn) -> Option<Ppn> {
        self.lanes[lane as usize].translate(self.local(lpn)).map(|at| self.ppn(lane, at))
    }

    /// A host write of a page of `lane` begins.
    #[inline]
    pub fn write(&mut self, lane: u32, lpn: Lpn) {
        let local = self.local(lpn);
        self.lanes[lane as usize].write(local);
    }

    /// What the write under way on `lane` needs next, in the numbers of the drive (but the host's page in those of the
    /// lane).
    #[inline]
    pub fn step(&mut self, lane: u32) -> Step {
        match self.lanes[lane as usize].step() {
            Step::Copy { from, to } => Step::Copy { from: self.ppn(lane, from), to: self.ppn(lane, to) },
            Step::Program { page, to } => Step::Program { page, to: self.ppn(lane, to) },
            Step::Erase { block } => Step::Erase { block: Block(lane * self.blocks + block.0) },
            Step::Done => Step::Done,
        }
    }

    /// The step that [`LogLanes::step`] gave is done.
    #[inline]
    pub fn done(&mut self, lane: u32) {
        self.lanes[lane as usize].done();
    }

    /// The host gives a page of `lane` back.
    pub fn trim(&mut self, lane: u32, lpn: Lpn) {
        let local = self.local(lpn);
        self.lanes[lane as usize].trim(local);
    }

    /// Rows up to the last one that is programmed in a block.
    pub fn rows_programmed(&self, lane: u32, block: u32) -> u32 {
        self.lanes[lane as usize].written(Block(block))
    }

    /// What a block was opened for.
    pub fn role(&self, lane: u32, block: u32) -> Role {
        self.lanes[lane as usize].role(Block(block))
    }

    /// What all lanes did, added up.
    pub fn counters(&self) -> LogCounters {
        self.lanes.iter().fold(LogCounters::default(), |sum, lane| sum.plus(lane.counters()))
    }

    /// Bytes of the maps in the simulator.
    pub fn bytes(&self) -> usize {
        self.lanes.iter().map(LogBlocks::bytes).sum()
    }
}

impl PageMap {
    /// The same drive with log blocks in place of page mapping: call it before anything is written. The error names the
    /// key, its value and what is allowed.
    pub fn with_log_blocks(mut self, spec: &LogSpec) -> Result<Self, String> {
        self.log = Some(Box::new(LogLanes::new(spec, &self.layout, self.user)?));
        Ok(self)
    }

    /// The log-block FTL, where the drive has one.
    #[inline]
    pub fn log_blocks(&self) -> Option<&LogLanes> {
        self.log.as_deref()
    }

    #[inline]
    fn lanes_mut(&mut self) -> &mut LogLanes {
        self.log.as_mut().expect("the drive has a log-block FTL")
    }

    #[inline(never)]
    pub(in crate::ftl) fn translate_in_log(&self, log: &LogLanes, lpn: Lpn) -> Translation {
        log.translate(self.striped_lane(lpn), lpn).map_or(Translation::Unwritten, Translation::Ready)
    }

    /// A host write of `lpn` begins on its lane, where none is under way.
    #[inline]
    pub fn log_write(&mut self, lane: u32, lpn: Lpn) {
        self.lanes_mut().write(lane, lpn);
    }

    /// What the write under way on `lane` needs next; the same until it is done.
    #[inline]
    pub fn log_step(&mut self, lane: u32) -> Step {
        let step = self.lanes_mut().step(lane);
        if let (Step::Copy { to, .. } | Step::Program { to, .. }, Some(headers)) = (step, &mut self.headers) {
            let block = self.layout.block_of(to);
            if let (false, Some(log)) = (headers.is_open(block), &self.log) {
                headers.open(block, log.role(lane, self.layout.index_of(block)));
            }
        }
        step
    }

    /// The step that [`PageMap::log_step`] gave is done: only now do the maps change.
    #[inline]
    pub fn log_done(&mut self, lane: u32) {
        self.lanes_mut().done(lane);
    }

    /// A merge's block is erased.
    pub fn log_erased(&mut self, block: Block) {
        self.blocks.erased(block);
        if let Some(headers) = &mut self.headers {
            headers.close(block);
        }
        let lane = self.layout.lane_of(block);
        self.log_done(lane);
    }

    /// True while a read of the block is under way.
    #[inline]
    pub fn is_being_read(&self, block: Block) -> bool {
        self.blocks.is_being_read(block)
    }

    pub(in crate::ftl) fn trim_in_log(&mut self, lpn: Lpn) {
        let lane = self.striped_lane(lpn);
        self.lanes_mut().trim(lane, lpn);
    }
}
