//! A whole drive under a log-block FTL: one [`LogBlocks`] for each lane, pages striped over them by
//! the placement.
//!
//! A page of such an FTL is what one program writes, so the map unit is a row (`manx-config` sees
//! to it), and a lane's pages and blocks count like the layout's. Consecutive pages of a lane are a
//! logical block.

use super::{LogBlocks, LogPolicy, LogSpec, Shape, Step};
use crate::flash::{Block, FaultSpec, Layout};
use crate::ftl::recovery::Role;
use crate::ftl::{FtlSpec, PageMap, Translation};
use crate::sim::Divisor;
use crate::stats::LogCounters;
use crate::units::{Lane, Lpn, Ppn};

/// The lanes of a drive.
#[derive(Clone, Debug)]
pub struct LogLanes {
    pub(super) lanes: Vec<LogBlocks>,
    by_lanes: Divisor,
    pub(super) units_per_lane: u32,
    blocks: u32,
    pages: u32,
    spec: LogSpec,
    /// Blocks that each lane can lose, where blocks are bad or go bad.
    spares: Vec<u32>,
    /// The blocks of each lane that are out of service.
    bad: Vec<Vec<Block>>,
    factory_bad: u32,
    retired: u64,
    /// Counters when the run began.
    before: LogCounters,
}

/// The blocks that lanes have lost.
#[derive(Clone, Debug)]
pub struct Losses {
    spares: Vec<u32>,
    bad: Vec<Vec<Block>>,
    factory_bad: u32,
    retired: u64,
}

impl LogLanes {
    /// Empty lanes of a drive of which the host sees `logical` pages. The error names the key, its
    /// value and what is allowed.
    pub fn new(ftl: &FtlSpec, layout: &Layout, logical: u32) -> Result<Self, String> {
        assert_eq!(layout.units_per_row, 1, "a log-block FTL maps what one program writes");
        let of_lane = logical.div_ceil(layout.lanes);
        let spec = ftl.log.fitted(of_lane, layout.rows, layout.blocks);
        let mut lane = LogBlocks::new(&spec, layout.rows, layout.blocks, of_lane)?;
        lane.level(ftl);
        Ok(Self {
            lanes: vec![lane; layout.lanes as usize],
            by_lanes: Divisor::new(layout.lanes),
            units_per_lane: layout.units_per_lane(),
            blocks: layout.blocks,
            pages: layout.rows,
            spec,
            spares: Vec::new(),
            bad: vec![Vec::new(); layout.lanes as usize],
            factory_bad: 0,
            retired: 0,
            before: LogCounters::default(),
        })
    }

    /// Writes that complete on flash wait for the work that they cause.
    pub fn write_waits(&self) -> bool {
        self.spec.write_waits
    }

    #[inline]
    fn local(&self, lpn: Lpn) -> Lpn {
        Lpn(self.by_lanes.quotient(lpn.0))
    }

    #[inline]
    fn ppn(&self, lane: Lane, local: Ppn) -> Ppn {
        Ppn(lane.0 * self.units_per_lane + local.0)
    }

    /// Where the newest version of a page of `lane` is that flash has.
    #[inline]
    pub fn translate(&self, lane: Lane, lpn: Lpn) -> Option<Ppn> {
        self.lanes[lane.index()].translate(self.local(lpn)).map(|at| self.ppn(lane, at))
    }

    /// The page whose spare area must be read before a page of `lane` can be translated for a host
    /// read, if any.
    #[inline]
    pub fn look_up(&mut self, lane: Lane, lpn: Lpn) -> Option<Ppn> {
        let local = self.local(lpn);
        let spare = self.lanes[lane.index()].look_up(local)?;
        Some(self.ppn(lane, spare))
    }

    /// A host write of a page of `lane` begins, of a request of `request_pages`.
    #[inline]
    pub fn write(&mut self, lane: Lane, lpn: Lpn, request_pages: u32) {
        let local = self.local(lpn);
        self.lanes[lane.index()].write_of(local, request_pages);
    }

    /// The next step of the write under way on `lane`, in the numbers of the drive (but the host's
    /// page in those of the lane).
    #[inline]
    pub fn step(&mut self, lane: Lane) -> Step {
        match self.lanes[lane.index()].step() {
            Step::Copy { from, to } => {
                Step::Copy { from: self.ppn(lane, from), to: self.ppn(lane, to) }
            }
            Step::Program { page, to } => Step::Program { page, to: self.ppn(lane, to) },
            Step::Read { page } => Step::Read { page: self.ppn(lane, page) },
            Step::Erase { block } => Step::Erase { block: Block(lane.0 * self.blocks + block.0) },
            Step::Done => Step::Done,
        }
    }

    /// The step that [`LogLanes::step`] gave is done.
    #[inline]
    pub fn done(&mut self, lane: Lane) {
        self.lanes[lane.index()].done();
    }

    /// The host gives a page of `lane` back.
    pub fn trim(&mut self, lane: Lane, lpn: Lpn) {
        let local = self.local(lpn);
        self.lanes[lane.index()].trim(local);
    }

    /// Rows up to the last one that is programmed in a block.
    pub fn rows_programmed(&self, lane: Lane, block: u32) -> u32 {
        self.lanes[lane.index()].written(Block(block))
    }

    /// The role that a block was opened for.
    pub fn role(&self, lane: Lane, block: u32) -> Role {
        self.lanes[lane.index()].role(Block(block))
    }

    /// Bytes of RAM that a drive spends on these maps: 4 for each data block and 8 for each page of
    /// the log (which page, and where); for BAST 4 for each log block and 1 for each of its pages;
    /// for the superblock FTL 4 for each block and 2 for each page whose table is cached; for page
    /// mapping 4 for each page.
    pub fn map_ram(&self) -> u64 {
        let (Shape { data, blocks, .. }, lane) = (self.lanes[0].shape(), &self.spec);
        let (data, all, pages) = (u64::from(data), u64::from(blocks), u64::from(self.pages));
        let log = all - data;
        let of_lane = match lane.policy {
            LogPolicy::Bast => 4 * data + log * (4 + pages),
            LogPolicy::Superblock if lane.superblock_cache == 0 => 4 * all + 2 * data * pages,
            LogPolicy::Superblock => 4 * all + 2 * 8 * u64::from(lane.superblock_cache),
            LogPolicy::PageMapping => 4 * data * pages,
            LogPolicy::Fast | LogPolicy::Faster | LogPolicy::Last => 4 * data + 8 * log * pages,
        };
        of_lane * self.lanes.len() as u64
    }

    /// Takes the blocks out of service that are bad from the start. A lane without enough others is
    /// left as it was: validation sees to it that there is none.
    fn take_factory_bad(&mut self, spec: &FaultSpec, layout: &Layout, seed: u64) {
        for (number, lane) in layout.each_lane().zip(&mut self.lanes) {
            let bad = spec.factory_bad_blocks(layout, number, seed);
            let spares = (layout.blocks - bad.len() as u32).checked_sub(lane.shape().blocks);
            self.spares.push(spares.unwrap_or(0));
            if spares.is_some() {
                self.factory_bad += bad.len() as u32;
                bad.iter().for_each(|block| lane.withdraw(Block(*block)));
                self.bad[number.index()] = bad.into_iter().map(Block).collect();
            }
        }
    }

    /// The blocks that the lanes have lost.
    pub(in crate::ftl) fn losses(&self) -> Losses {
        let Self { spares, bad, factory_bad, retired, .. } = self.clone();
        Losses { spares, bad, factory_bad, retired }
    }

    /// Restores the losses of fresh lanes; their blocks are sorted by [`PageMap::rebuild`].
    pub(in crate::ftl) fn take_losses(&mut self, losses: &Losses) {
        let Losses { spares, bad, factory_bad, retired } = losses.clone();
        (self.spares, self.bad, self.factory_bad, self.retired) =
            (spares, bad, factory_bad, retired);
    }

    /// True when the block is out of service.
    pub(super) fn is_bad(&self, lane: Lane, block: Block) -> bool {
        self.bad[lane.index()].contains(&block)
    }

    /// Blocks that the worst lane can lose.
    pub fn spare_blocks(&self) -> u32 {
        self.spares.iter().copied().min().unwrap_or(0)
    }

    /// Blocks that are bad from the start, and those that were retired since.
    pub fn bad_blocks(&self) -> (u32, u64) {
        (self.factory_bad, self.retired)
    }

    /// Counters of all lanes since the run began, added up; the largest values are of all time.
    pub fn counters(&self) -> LogCounters {
        self.counters_of_all_time().since(&self.before)
    }

    fn counters_of_all_time(&self) -> LogCounters {
        let mut all = LogCounters::default();
        self.lanes.iter().for_each(|lane| all.add(lane.counters()));
        all
    }

    /// Bytes of the maps in the simulator.
    pub fn bytes(&self) -> usize {
        self.lanes.iter().map(LogBlocks::bytes).sum()
    }
}

impl PageMap {
    /// This map with log blocks in place of page mapping: call it before anything is written. The
    /// error names the key, its value and what is allowed.
    pub fn with_log_blocks(mut self, ftl: &FtlSpec) -> Result<Self, String> {
        self.log = Some(Box::new(LogLanes::new(ftl, &self.layout, self.user)?));
        Ok(self)
    }

    /// The run begins: a log-block FTL counts from now on.
    pub(crate) fn count_from_now(&mut self) {
        if let Some(log) = &mut self.log {
            log.before = log.counters_of_all_time();
        }
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
        log.translate(self.striped_lane(lpn), lpn)
            .map_or(Translation::Unwritten, Translation::Ready)
    }

    /// The page whose spare area must be read before a host read of `lpn` can be translated, if
    /// any.
    #[inline]
    pub fn log_look_up(&mut self, lpn: Lpn) -> Option<Ppn> {
        let lane = self.striped_lane(lpn);
        self.lanes_mut().look_up(lane, lpn)
    }

    /// A host write of `lpn`, of a request of `request_pages`, begins on its lane, where none is
    /// under way.
    #[inline]
    pub fn log_write(&mut self, lane: Lane, lpn: Lpn, request_pages: u32) {
        self.lanes_mut().write(lane, lpn, request_pages);
    }

    /// The next step of the write under way on `lane`; it stays until it is done.
    #[inline]
    pub fn log_step(&mut self, lane: Lane) -> Step {
        let step = self.lanes_mut().step(lane);
        if let (Step::Copy { to, .. } | Step::Program { to, .. }, Some(headers)) =
            (step, &mut self.headers)
        {
            let block = self.layout.block_of(to);
            if let (false, Some(log)) = (headers.is_open(block), &self.log) {
                headers.open(block, log.role(lane, self.layout.index_of(block)));
            }
        }
        step
    }

    /// The step that [`PageMap::log_step`] gave is done: only now do the maps change.
    #[inline]
    pub fn log_done(&mut self, lane: Lane) {
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

    /// Blocks of the log-block FTL that are bad from the start.
    pub(in crate::ftl) fn take_factory_bad_of_log(&mut self, spec: &FaultSpec, seed: u64) {
        if let Some(log) = &mut self.log {
            log.take_factory_bad(spec, &self.layout, seed);
        }
    }

    /// The erase of a merge's block has failed. True: the block is out of service. False: its lane
    /// has none to spare, and erases it again.
    pub fn log_erase_failed(&mut self, block: Block) -> bool {
        let (lane, index) = (self.layout.lane_of(block), self.layout.index_of(block));
        let log = self.lanes_mut();
        let Some(left) = log.spares[lane.index()].checked_sub(1) else {
            self.blocks.erased(block);
            return false;
        };
        (log.spares[lane.index()], log.retired) = (left, log.retired + 1);
        log.lanes[lane.index()].lose();
        log.bad[lane.index()].push(Block(index));
        self.log_erased(block);
        true
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
