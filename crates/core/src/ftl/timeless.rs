//! The timeless executor: runs the same layer's steps at once, for preconditioning and for the
//! `nogc` baseline.

use super::log::Step as LogStep;
use super::superblock::part_of;
use super::{PageMap, Step, Stream};
use crate::flash::{Block, Flash};
use crate::units::{Lane, Lpn, Pool, Ppn};

/// Where pages go when they are moved functionally: a flash with its content, or nothing at all.
pub trait Medium {
    /// The content of a page.
    fn load(&self, ppn: Ppn) -> u32;
    /// Share of a page in the parity of its stripe.
    fn part(&self, ppn: Ppn) -> u32;
    /// Keeps the content of a page.
    fn put(&mut self, ppn: Ppn, content: u32);
    /// Keeps the content of a page that came from another one.
    fn store(&mut self, from: Ppn, to: Ppn, version: u32);
    /// `block` holds `rows` programmed rows from now on; 0 means that it is erased.
    fn set_rows(&mut self, block: Block, rows: u32);
}

/// Preconditioning moves pages without content; the flash takes over the rows at the end.
#[derive(Clone, Copy, Debug)]
pub struct NoMedium;

impl Medium for NoMedium {
    fn load(&self, _: Ppn) -> u32 {
        0
    }
    fn part(&self, _: Ppn) -> u32 {
        0
    }
    fn put(&mut self, _: Ppn, _: u32) {}
    fn store(&mut self, _: Ppn, _: Ppn, _: u32) {}
    fn set_rows(&mut self, _: Block, _: u32) {}
}

impl Medium for Flash {
    fn load(&self, ppn: Ppn) -> u32 {
        Flash::load(self, ppn)
    }
    fn part(&self, ppn: Ppn) -> u32 {
        part_of(ppn, Flash::load(self, ppn))
    }
    fn put(&mut self, ppn: Ppn, content: u32) {
        Flash::store(self, ppn, content);
    }
    fn store(&mut self, from: Ppn, to: Ppn, version: u32) {
        self.copied(from, to, version);
    }
    fn set_rows(&mut self, block: Block, rows: u32) {
        self.adopt(block, rows);
    }
}

/// The work of an executor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Map units written for the caller.
    pub written: u64,
    /// Map units copied by collections.
    pub copied: u64,
    /// Map units of parity written with them.
    pub parity: u64,
    /// Map units left empty at the end of a row.
    pub padded: u64,
    /// Blocks erased.
    pub erased: u64,
}

impl Work {
    /// Map units programmed.
    pub fn programmed(&self) -> u64 {
        self.written + self.parity + self.copied + self.padded
    }

    /// The work since `earlier`.
    pub fn since(&self, earlier: &Work) -> Work {
        Work {
            written: self.written - earlier.written,
            parity: self.parity - earlier.parity,
            copied: self.copied - earlier.copied,
            padded: self.padded - earlier.padded,
            erased: self.erased - earlier.erased,
        }
    }
}

/// A write found no lane with room, and nothing could be reclaimed: the drive holds more than it
/// can.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

impl std::fmt::Display for Full {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(
            "preconditioning filled the drive and nothing can be reclaimed: raise \
                     device.op, or lower gc.soft",
        )
    }
}

impl std::error::Error for Full {}

/// Writes pages functionally, a row of a lane at a time.
#[derive(Debug)]
pub struct Writer<'a> {
    map: &'a mut PageMap,
    /// Pages that wait for the row of their class and lane to fill; every lane of class 0 first.
    rows: Vec<Vec<Lpn>>,
    /// The hint that the next writes carry.
    stream: u8,
    work: Work,
    /// With parity: the stripes side by side in a lane that were written last, and which of them.
    open: Option<u32>,
    touched: Vec<bool>,
    /// With parity over superblocks: the row that gathers on each lane.
    opened: Vec<Ppn>,
}

impl<'a> Writer<'a> {
    /// A writer to `map`.
    pub fn new(map: &'a mut PageMap) -> Self {
        let (lanes, row) = (map.layout().lanes as usize, map.layout().units_per_row as usize);
        let unit = map.stripes().map_or(0, |stripes| stripes.unit() as usize);
        let rows = vec![Vec::with_capacity(row); lanes * map.host_classes() as usize];
        let opened = vec![Ppn::NONE; if map.superstripes().is_some() { lanes } else { 0 }];
        Self {
            map,
            rows,
            stream: 0,
            work: Work::default(),
            open: None,
            touched: vec![false; unit],
            opened,
        }
    }

    /// The work so far.
    pub fn work(&self) -> Work {
        self.work
    }

    /// The hint of the writes to come (`ftl.placement = "stream"`); 0 before the first call.
    pub fn set_stream(&mut self, stream: u8) {
        self.stream = stream;
    }

    /// The layer written to.
    pub fn map(&self) -> &PageMap {
        self.map
    }

    /// Writes `lpn` and collects what that makes necessary. With parity, pages of a stripe that
    /// follow one another are one update: its parity is written when a page of another stripe
    /// comes.
    #[inline]
    pub fn write(&mut self, lpn: Lpn) -> Result<(), Full> {
        if let Some(stripes) = self.map.stripes() {
            let stripe = stripes.member_of(lpn).0;
            self.touch(stripe)?;
        }
        self.put(lpn)
    }

    /// Notes that a page of the stripe is written.
    fn touch(&mut self, stripe: u32) -> Result<(), Full> {
        let unit = self.touched.len() as u32;
        if self.open != Some(stripe / unit) {
            self.write_parity()?;
            self.open = Some(stripe / unit);
        }
        self.touched[(stripe % unit) as usize] = true;
        Ok(())
    }

    /// Writes the parity of the stripes written last.
    fn write_parity(&mut self) -> Result<(), Full> {
        let Some(open) = self.open.take() else { return Ok(()) };
        for at in 0..self.touched.len() {
            let stripe = open * self.touched.len() as u32 + at as u32;
            if std::mem::take(&mut self.touched[at])
                && let Some(parity) = self.map.stripes().map(|stripes| stripes.parity(stripe))
            {
                self.put(parity)?;
            }
        }
        Ok(())
    }

    /// Log blocks: the page's write and all that it causes.
    fn put_in_log(&mut self, lpn: Lpn) {
        let lane = self.map.striped_lane(lpn);
        self.map.log_write(lane, lpn, 1);
        loop {
            match self.map.log_step(lane) {
                LogStep::Read { .. } => {}
                LogStep::Copy { .. } => self.work.copied += 1,
                LogStep::Program { .. } => self.work.written += 1,
                LogStep::Erase { block } => {
                    self.work.erased += 1;
                    self.map.log_erased(block);
                    continue;
                }
                LogStep::Done => return,
            }
            self.map.log_done(lane);
        }
    }

    #[inline]
    fn put(&mut self, lpn: Lpn) -> Result<(), Full> {
        if !self.opened.is_empty() {
            return self.put_in_stripe(lpn);
        }
        if self.map.log_blocks().is_some() {
            self.put_in_log(lpn);
            return Ok(());
        }
        let class = self.map.class_of_write(lpn, self.stream);
        let lane = match self.map.place(lpn, class, |_| 0) {
            Some(lane) => lane,
            None => self.find_lane(lpn, class)?,
        };
        self.map.note_write(lpn);
        if self.map.layout().units_per_row == 1 {
            let row = self.open_row(lane, class)?;
            self.map.commit(lpn, row);
            self.count(lpn);
            self.map.row_programmed(row);
            self.collect(lane);
            return Ok(());
        }
        let at = (class * self.map.layout().lanes + lane.0) as usize;
        self.rows[at].push(lpn);
        if self.rows[at].len() == self.map.layout().units_per_row as usize {
            self.program_row(lane, class)?;
        }
        Ok(())
    }

    /// Parity over superblocks: a row is opened with its first page.
    fn put_in_stripe(&mut self, lpn: Lpn) -> Result<(), Full> {
        let place = self.map.place_in_stripe().or_else(|| {
            self.reclaim_all();
            self.map.place_in_stripe()
        });
        let (lane, opened) = place.ok_or(Full)?;
        if let Some(row) = opened {
            self.opened[lane.index()] = row;
        }
        self.rows[lane.index()].push(lpn);
        if self.rows[lane.index()].len() == self.map.layout().units_per_row as usize {
            self.program_row(lane, 0)?;
        }
        Ok(())
    }

    /// The row of `lane` is programmed: so is the parity that waited for it.
    fn seal(&mut self, lane: Lane) {
        self.map.row_sealed(lane);
        self.map.refresh_taking(lane, false);
        while let Some(parity) = self.map.due_parity(lane, Stream::Host) {
            let row = self.map.open_host_parity(parity);
            self.work.parity += u64::from(self.map.layout().units_per_row);
            self.map.row_programmed(row);
            self.map.refresh_taking(parity, false);
        }
    }

    #[inline]
    fn count(&mut self, lpn: Lpn) {
        let is_parity = lpn.0 >= self.map.logical();
        self.work.parity += u64::from(is_parity);
        self.work.written += u64::from(!is_parity);
    }

    /// Dynamic allocation found no lane with room: every pool that wants to reclaims.
    #[cold]
    fn find_lane(&mut self, lpn: Lpn, class: u32) -> Result<Lane, Full> {
        self.reclaim_all();
        self.map.place(lpn, class, |_| 0).ok_or(Full)
    }

    fn reclaim_all(&mut self) {
        for pool in self.map.each_pool() {
            self.reclaim(pool);
        }
    }

    /// Writes the last parity, and programs the rows that are not full, with padding.
    pub fn finish(&mut self) -> Result<(), Full> {
        self.write_parity()?;
        let lanes = self.map.layout().lanes;
        for at in 0..self.rows.len() as u32 {
            if !self.rows[at as usize].is_empty() {
                self.program_row(Lane(at % lanes), at / lanes)?;
            }
        }
        Ok(())
    }

    fn program_row(&mut self, lane: Lane, class: u32) -> Result<(), Full> {
        let row = match self.opened.get(lane.index()) {
            Some(row) => *row,
            None => self.open_row(lane, class)?,
        };
        let at = (class * self.map.layout().lanes + lane.0) as usize;
        let pages = self.rows[at].len() as u64;
        for slot in 0..self.rows[at].len() {
            let lpn = self.rows[at][slot];
            self.map.commit(lpn, Ppn(row.0 + slot as u32));
            self.count(lpn);
        }
        self.rows[at].clear();
        self.work.padded += u64::from(self.map.layout().units_per_row) - pages;
        self.map.row_programmed(row);
        if !self.opened.is_empty() {
            self.seal(lane);
        }
        self.collect(lane);
        Ok(())
    }

    #[inline]
    fn open_row(&mut self, lane: Lane, class: u32) -> Result<Ppn, Full> {
        match self.map.open_row_of(lane, Stream::Host, class) {
            Some(row) => Ok(row),
            None => self.make_room(lane, class),
        }
    }

    #[cold]
    fn make_room(&mut self, lane: Lane, class: u32) -> Result<Ppn, Full> {
        let pool = self.map.pool_of(lane);
        while self.map.collect_now(pool, &mut NoMedium, &mut self.work) {
            if let Some(row) = self.map.open_row_of(lane, Stream::Host, class) {
                return Ok(row);
            }
        }
        Err(Full)
    }

    #[inline]
    fn collect(&mut self, lane: Lane) {
        self.reclaim(self.map.pool_of(lane));
        while let Some(pool) = self.map.take_revived() {
            self.reclaim(pool);
        }
    }

    #[inline]
    fn reclaim(&mut self, pool: Pool) {
        while self.map.wants_collection(pool)
            && self.map.collect_now(pool, &mut NoMedium, &mut self.work)
        {}
    }
}

impl PageMap {
    /// Reclaims one victim of `pool` at zero cost, passing over blocks that are being read; false
    /// when nothing would be gained.
    pub fn collect_now(&mut self, pool: Pool, medium: &mut impl Medium, work: &mut Work) -> bool {
        if self.has_lost_reserve(pool) {
            self.set_hopeless(pool, true);
            return false;
        }
        if !self.start_collection(pool, true) {
            return false;
        }
        for lane in self.lanes_of(pool) {
            loop {
                match self.step(lane) {
                    Step::Read { .. } => self.read_done(lane, |page| medium.load(page)),
                    Step::Program { lane: to, units } => {
                        let row = self
                            .open_copy_row(lane, to)
                            .expect("the reserve holds a victim's copies");
                        work.copied += u64::from(units);
                        work.padded += u64::from(self.layout().units_per_row - units);
                        medium.set_rows(self.layout().block_of(row), self.layout().row_of(row) + 1);
                        self.copied(lane, row, |from, to, version| medium.store(from, to, version));
                        self.write_parity_now(to, medium, work);
                    }
                    Step::Copied => break,
                }
            }
            self.lane_copied(lane);
        }
        for lane in self.lanes_of(pool) {
            work.erased += 1;
            let block = self.victim_block(lane);
            medium.set_rows(block, 0);
            self.erased(block);
        }
        true
    }

    /// Parity over superblocks: writes the parity that the last row of copies on `lane` made due,
    /// at zero cost.
    fn write_parity_now(&mut self, lane: Lane, medium: &mut impl Medium, work: &mut Work) {
        while let Some(to) = self.due_parity(lane, Stream::Copy) {
            let row = self.open_row(to, Stream::Copy).expect("its stripe is open");
            medium.set_rows(self.layout.block_of(row), self.layout.row_of(row) + 1);
            for page in (row.0..row.0 + self.layout.units_per_row).map(Ppn) {
                let fellows =
                    self.superstripes().into_iter().flat_map(|stripes| stripes.stripe_of(page));
                let sum = fellows
                    .filter(|fellow| *fellow != page)
                    .fold(0, |sum, fellow| sum ^ medium.part(fellow));
                medium.put(page, sum);
            }
            work.parity += u64::from(self.layout.units_per_row);
            self.row_programmed(row);
        }
    }
}
