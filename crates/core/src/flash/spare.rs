//! The spare area of every page, kept where a run may lose its power, and what a power loss leaves
//! on flash.
//!
//! A program writes data and spare area at once: which logical page it is, and the number under
//! which the drive took that version of it. A copy takes both along: it must not look newer than a
//! write that came meanwhile. A row is torn from the start of its program to the end, so what a cut
//! finds under way needs no repair, except what had not begun ([`Flash::power_off`]): data still on
//! its way over the channel, copies that a run (`runs`) declared at its start.
//!
//! A torn row is unreadable and taken as programmed until its block is erased; so is every row of a
//! block whose erase was cut. That a scan can tell them is an assumption: error correction refuses
//! such a page. Not modelled: a row that looks erased or whole after a cut, and pages of the same
//! word line that an earlier program had filled (paired pages of program units below a word line).

use super::die::{OpId, Operation, Phase, What};
use super::runs::Run;
use super::{Block, Device, Flash, GARBAGE};
use crate::units::{Instant, Lpn, Ppn};

const ERASED: u32 = u32::MAX;
const TORN: u32 = u32::MAX - 1;
const PADDING: u32 = u32::MAX - 2;

/// The content of a page's spare area, as a scan finds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spare {
    /// It is erased.
    Erased,
    /// A program or an erase of it was cut.
    Torn,
    /// It is programmed with nothing of use.
    Padding,
    /// It holds a version of a logical page.
    Data {
        /// The logical page.
        lpn: Lpn,
        /// The number of the version: a higher one is newer.
        sequence: u64,
    },
}

/// The spare areas of all pages.
#[derive(Clone, Debug)]
pub(super) struct Spares {
    lpns: Vec<u32>,
    sequences: Vec<u64>,
    units_per_row: u32,
}

impl Spares {
    #[inline]
    fn at(&self, ppn: Ppn) -> Spare {
        match self.lpns[ppn.0 as usize] {
            ERASED => Spare::Erased,
            TORN => Spare::Torn,
            PADDING => Spare::Padding,
            lpn => Spare::Data { lpn: Lpn(lpn), sequence: self.sequences[ppn.0 as usize] },
        }
    }

    fn row(&self, row: Ppn) -> std::ops::Range<usize> {
        row.0 as usize..(row.0 + self.units_per_row) as usize
    }

    /// The row is programmed from now on.
    pub(super) fn begins(&mut self, row: Ppn) {
        let row = self.row(row);
        assert!(
            self.lpns[row.clone()].iter().all(|lpn| *lpn == ERASED),
            "row {row:?} is programmed without an erase"
        );
        self.lpns[row].fill(TORN);
    }

    /// The program of the row is done: what is not said to hold data is padding.
    pub(super) fn ends(&mut self, row: Ppn) {
        let row = self.row(row);
        self.lpns[row].fill(PADDING);
    }

    pub(super) fn copied(&mut self, from: Ppn, to: Ppn) {
        self.lpns[to.0 as usize] = self.lpns[from.0 as usize];
        self.sequences[to.0 as usize] = self.sequences[from.0 as usize];
    }

    /// Zero-cost work left so many rows programmed.
    pub(super) fn adopted(&mut self, rows: std::ops::Range<usize>) {
        self.lpns[rows].iter_mut().filter(|lpn| **lpn == ERASED).for_each(|lpn| *lpn = PADDING);
    }

    fn fill(&mut self, pages: std::ops::Range<usize>, with: u32) {
        self.lpns[pages].fill(with);
    }

    pub(super) fn erased(&mut self, pages: std::ops::Range<usize>) {
        self.fill(pages, ERASED);
    }
}

impl Flash {
    /// Keeps the spare area of every page from now on; `found` says what is in those that are
    /// programmed already.
    pub fn keep_spares(&mut self, found: impl Fn(Ppn) -> Spare) {
        let units = self.layout.total_units() as usize;
        let units_per_row = self.layout.units_per_row;
        let mut spares =
            Spares { lpns: vec![ERASED; units], sequences: vec![0; units], units_per_row };
        for block in (0..self.layout.total_blocks()).map(Block) {
            let first = self.layout.first_page(block).0;
            for page in first..first + self.rows_written(block) * units_per_row {
                let (lpn, sequence) = match found(Ppn(page)) {
                    Spare::Erased => (ERASED, 0),
                    Spare::Torn => (TORN, 0),
                    Spare::Padding => (PADDING, 0),
                    Spare::Data { lpn, sequence } => (lpn.0, sequence),
                };
                (spares.lpns[page as usize], spares.sequences[page as usize]) = (lpn, sequence);
            }
        }
        self.spares = Some(Box::new(spares));
        self.look_for_features();
    }

    /// True where the spare areas are kept.
    #[inline]
    pub fn has_spares(&self) -> bool {
        self.spares.is_some()
    }

    /// The spare area of a page; erased where none are kept.
    pub fn spare(&self, ppn: Ppn) -> Spare {
        self.spares.as_ref().map_or(Spare::Erased, |spares| spares.at(ppn))
    }

    /// The program of a page's row is done, and this is what it holds.
    #[inline]
    pub fn note(&mut self, ppn: Ppn, lpn: Lpn, sequence: u64) {
        if let Some(spares) = &mut self.spares {
            (spares.lpns[ppn.0 as usize], spares.sequences[ppn.0 as usize]) = (lpn.0, sequence);
        }
    }

    /// The row becomes illegible.
    pub fn spoil(&mut self, row: Ppn) {
        if let Some(spares) = &mut self.spares {
            let row = spares.row(row);
            spares.fill(row.clone(), TORN);
            if let Some(pages) = self.content.get_mut(row) {
                pages.fill(GARBAGE);
            }
        }
    }

    /// Bytes of the spare areas in the simulator.
    pub fn spare_bytes(&self) -> usize {
        self.spares.as_ref().map_or(0, |spares| 4 * spares.lpns.len() + 8 * spares.sequences.len())
    }

    /// The power fails at `now`; everything before it has been done. `run` gives the copies of a
    /// run ([`What::Copies`]) by its token.
    pub fn power_off(&mut self, now: Instant, run: impl Fn(OpId) -> Run) {
        for slot in 0..self.dies.len() {
            if let Some(next) = self.dies[slot].preloaded_operation() {
                self.never_began(&next);
            }
            let phase = self.dies[slot].phase;
            if let Some(work) = self.suspendable_work(slot)
                && phase != Phase::EraseCommand
            {
                self.breaks_off(&work);
            }
            let (operation, started, _) = self.dies[slot].issued();
            let due = self.timers.due(slot).unwrap_or(now);
            match (phase, operation.what) {
                (Phase::TransferringIn, What::Program { .. }) => self.never_began(&operation),
                (Phase::Programming, What::Program { row, .. })
                    if self.timing.is_one_pass()
                        && due >= now + self.timing.program(&self.layout, row) =>
                {
                    self.never_began(&operation);
                }
                (Phase::Programming, What::Copies { .. }) => {
                    self.undo_run(started, now, &run(operation.token))
                }
                (Phase::Erasing { steps_left }, What::Erase { .. }) => {
                    let first = steps_left + 1 == self.timing.erase_steps;
                    if !(first && due >= now + self.timing.erase_step) {
                        self.breaks_off(&operation);
                    }
                }
                _ => {}
            }
        }
        self.count_rows();
    }

    /// The array has not begun with it.
    fn never_began(&mut self, operation: &Operation) {
        if let (What::Program { row, .. }, Some(spares)) = (operation.what, &mut self.spares) {
            let row = spares.row(row);
            spares.fill(row, ERASED);
        }
    }

    /// It ends here, half done. A row under way is torn already.
    fn breaks_off(&mut self, operation: &Operation) {
        if let What::Erase { block } = operation.what {
            self.erase_content(block);
            let pages = self.pages_of(block);
            if let Some(spares) = &mut self.spares {
                spares.fill(pages, TORN);
            }
        }
    }

    /// Takes back the copies of a run that was under way since `started`, as far as they had not
    /// been done.
    fn undo_run(&mut self, started: Instant, now: Instant, run: &Run) {
        let mut end = started;
        for (from, to) in run.copies.iter().copied() {
            end += self.copy_time(from, to, run.sectors);
            if end < now {
                continue;
            }
            let begun = end < now + self.timing.program(&self.layout, to);
            self.store(to, GARBAGE);
            if let Some(spares) = &mut self.spares {
                let row = spares.row(to);
                spares.fill(row, if begun { TORN } else { ERASED });
            }
        }
    }

    pub(super) fn pages_of(&self, block: Block) -> std::ops::Range<usize> {
        let first = self.layout.first_page(block).0 as usize;
        first..first + self.layout.units_per_block as usize
    }

    /// Rows up to the last one that is not erased.
    fn count_rows(&mut self) {
        for block in (0..self.layout.total_blocks()).map(Block) {
            let Some(spares) = &self.spares else { return };
            let pages = &spares.lpns[self.pages_of(block)];
            let last = pages.iter().rposition(|lpn| *lpn != ERASED);
            let rows = last.map_or(0, |last| last as u32 / self.layout.units_per_row + 1);
            self.set_rows_written(block, rows);
        }
    }

    /// These cells with the power back: nothing is under way, and nothing has been counted.
    pub fn power_on(self, device: &Device) -> Self {
        let Self { ends, content, spares, any_order, .. } = self;
        let mut flash = Self { ends, content, spares, any_order, ..Self::new(device, false) };
        flash.look_for_features();
        flash
    }

    /// A flash of the same kind to try out how long something takes: every page of it may be read
    /// and programmed.
    pub fn stopwatch(&self, device: &Device) -> Self {
        let mut flash = Self { any_order: true, ..Self::new(device, false) };
        for block in (0..self.layout.total_blocks()).map(Block) {
            flash.set_rows_written(block, self.layout.rows);
        }
        flash
    }
}
