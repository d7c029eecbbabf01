//! The work of a recovery on flash: what is read, what is repaired, how long both take, and a power
//! loss in its midst.
//!
//! Everything is done by real operations on all dies at once, each die's in order; a phase ends
//! with the last of them. Reads are tried on flash of the same kind. Repairs are done on the cells
//! themselves, so a second power loss tears what it finds under way like the first
//! ([`CrashImage::cut_again`]). DRAM does not outlive it: a recovery begins again, with what the
//! first one left on flash.

use crate::drive::OpId;
use crate::drive::crash::recovery::CrashImage;
use crate::flash::{Block, Flash, Operation, Run, Spare, What};
use crate::ftl::recovery::{Rebuilt, Repair, Role};
use crate::ftl::{FtlKind, PageMap, Reads, Translation};
use crate::sim::Rng;
use crate::stats::PowerLossReport;
use crate::units::{Die, Duration, Instant, Lpn, Ppn};
use std::collections::VecDeque;

/// An operation of a recovery.
#[derive(Clone, Copy, Debug)]
enum Task {
    /// So many sectors of a page.
    Read {
        page: Ppn,
        sectors: u32,
    },
    /// The pages read at `from` are programmed at `to`.
    Program {
        from: Ppn,
        to: Ppn,
        sectors: u32,
    },
    Erase {
        block: Block,
    },
}

impl Task {
    fn what(self) -> What {
        match self {
            Task::Read { page, sectors } => What::Read { page, sectors },
            Task::Program { to, sectors, .. } => What::Program { row: to, sectors },
            Task::Erase { block } => What::Erase { block },
        }
    }
}

/// Operations of each die, in their order.
type Work = Vec<VecDeque<Task>>;

fn us(time: Duration) -> u64 {
    time.as_ns().div_ceil(1000)
}

impl CrashImage {
    /// Reads a checkpoint if there is one, the journal and the dump, spare areas, and with a map on
    /// flash translation pages; how long that takes. `reads` are those of the spare areas, where
    /// there is a checkpoint.
    pub(in crate::drive) fn read(
        &self,
        map: &PageMap,
        reads: Option<&Reads>,
        report: &mut PowerLossReport,
    ) -> Duration {
        let checkpoint = self.phase(self.checkpoint_reads(report));
        let journal = self.phase(self.journal_reads());
        let scan = match reads {
            Some(reads) => self.scan_since(reads, report),
            None => self.phase(self.scan_reads(map, report)),
        };
        let translation = self.phase(self.map_reads(map, report));
        report.checkpoint_us = us(checkpoint);
        (report.journal_us, report.scan_us, report.map_us) =
            (us(journal), us(scan), us(translation));
        checkpoint + journal + scan + translation
    }

    /// Pages of the system area, in turn on all dies.
    fn system_reads(&self, pages: u64, sectors: u32) -> Work {
        let (layout, mut work) = (&self.flash.layout, self.no_work());
        for page in 0..pages {
            let die = Die((page % u64::from(layout.dies)) as u32);
            let page = layout.first_page(layout.block(layout.lanes_on(die).first(), 0));
            work[die.index()].push_back(Task::Read { page, sectors });
        }
        work
    }

    /// The last page of each of the two says whether it is whole; of the newest whole one the
    /// others are read.
    fn checkpoint_reads(&self, report: &mut PowerLossReport) -> Work {
        let Some(checkpoints) = &self.checkpoints else { return self.no_work() };
        let layout = &self.flash.layout;
        let pages = 2 + checkpoints.newest().map_or(0, |(_, pages, _)| pages - 1);
        report.checkpoint_reads = pages * u64::from(layout.units_per_row / layout.units_per_read);
        self.system_reads(report.checkpoint_reads, layout.unit_sectors * layout.units_per_read)
    }

    /// With a checkpoint: the heads say what is still as it was, the scan finds what came since,
    /// and some of what it finds is compared with what the checkpoint lists.
    fn scan_since(&self, reads: &Reads, report: &mut PowerLossReport) -> Duration {
        let layout = &self.flash.layout;
        let sectors = (self.config.recovery.read.get() / 512) as u32 * layout.units_per_read;
        report.blocks_scanned = reads.blocks.into();
        let phases = [&reads.heads, &reads.scan, &reads.listed].map(|pages| {
            let mut work = self.no_work();
            report.reads += pages.len() as u64;
            for page in pages.iter().copied() {
                let die = layout.die_of(layout.lane_of(layout.block_of(page)));
                work[die.index()].push_back(Task::Read { page, sectors });
            }
            self.phase(work)
        });
        phases.into_iter().fold(Duration::ZERO, |sum, phase| sum + phase)
    }

    fn no_work(&self) -> Work {
        vec![VecDeque::new(); self.flash.layout.dies as usize]
    }

    /// The journal, if there is a checkpoint what was written of it since, and the dump.
    fn journal_reads(&self) -> Work {
        let older =
            self.checkpoints.as_ref().and_then(|all| all.newest()).map_or(0, |(_, _, older)| older);
        self.system_reads(
            self.journal_pages - older + self.dump.len() as u64,
            self.flash.layout.unit_sectors,
        )
    }

    fn scan_reads(&self, map: &PageMap, report: &mut PowerLossReport) -> Work {
        let (layout, mut work, out) = (&self.flash.layout, self.no_work(), map.out_of_service());
        let spare = (self.config.recovery.read.get() / 512) as u32 * layout.units_per_read;
        let in_order = self.config.ftl.kind == FtlKind::Page;
        for block in (0..layout.total_blocks()).map(Block).filter(|block| !out[block.0 as usize]) {
            let rows = self.flash.rows_written(block);
            report.blocks_scanned += u64::from(rows > 0);
            // One that is erased ends the block, where rows are programmed in order.
            let rows = if in_order { layout.rows.min(rows + 1) } else { layout.rows };
            let die = layout.die_of(layout.lane_of(block)).index();
            let first = layout.first_page(block).0;
            for page in
                (first..first + rows * layout.units_per_row).step_by(layout.units_per_read as usize)
            {
                work[die].push_back(Task::Read { page: Ppn(page), sectors: spare });
                report.reads += 1;
            }
        }
        work
    }

    /// Each translation page is read, to be held against what the scan found.
    fn map_reads(&self, map: &PageMap, report: &mut PowerLossReport) -> Work {
        let (layout, mut work) = (&self.flash.layout, self.no_work());
        for page in 0..map.translation_pages() {
            let Some(ppn) = map.member_at(map.translation_page(page)) else { continue };
            let die = layout.die_of(layout.lane_of(layout.block_of(ppn)));
            work[die.index()].push_back(Task::Read { page: ppn, sectors: layout.unit_sectors });
            report.map_reads += 1;
        }
        work
    }

    /// How long the work takes on flash of the same kind.
    fn phase(&self, work: Work) -> Duration {
        let mut flash = self.flash.stopwatch(&self.config.device);
        play(&mut flash, work, Instant::NEVER, |_, _, _| {})
    }

    /// Does the repairs on the cells, until `limit`; how long that took.
    pub(in crate::drive) fn repair(
        &mut self,
        repairs: &[Repair],
        limit: Instant,
        report: &mut PowerLossReport,
    ) -> Duration {
        let Self { config, flash: cells, headers, erases, .. } = self;
        let mut flash = cells.clone().power_on(&config.device);
        let layout = flash.layout.clone();
        let mut work: Work = vec![VecDeque::new(); layout.dies as usize];
        let sectors = layout.unit_sectors * layout.units_per_row;
        let die_of = |block| layout.die_of(layout.lane_of(block)).index();
        for repair in repairs {
            match *repair {
                // The table of bad blocks says so: nothing is done on flash.
                Repair::Replace { block } => flash.replace(block),
                Repair::Erase { block } => {
                    report.erases += 1;
                    work[die_of(block)].push_back(Task::Erase { block });
                }
                Repair::Copy { from, to } => {
                    report.copies += 1;
                    let queue = &mut work[die_of(layout.block_of(to))];
                    queue.push_back(Task::Read { page: from, sectors });
                    queue.push_back(Task::Program { from, to, sectors });
                }
            }
        }
        let time = play(&mut flash, work, limit, |flash, task, is_done| match (task, is_done) {
            (Task::Program { to, .. }, false) if !headers.is_open(layout.block_of(to)) => {
                headers.open(layout.block_of(to), Role::Data);
            }
            (Task::Program { from, to, .. }, true) => flash.copied(from, to, flash.load(from)),
            (Task::Erase { block }, true) => {
                headers.close(block);
                erases[block.0 as usize] += 1;
            }
            _ => {}
        });
        if flash.next_at() != Instant::NEVER {
            flash.power_off(limit, |_| Run::default());
        }
        *cells = flash.power_on(&config.device);
        report.repair_us = us(time);
        time
    }

    /// The power came back, and failed again `after` that, before the drive took a command, or just
    /// then.
    pub fn cut_again(mut self, after: Duration) -> Self {
        let rebuilt = self.rebuild();
        let report = &mut PowerLossReport::default();
        let read = self.read(&rebuilt.map, rebuilt.reads.as_ref(), report);
        if after > read {
            self.repair(&rebuilt.repairs, Instant::START + (after - read), report);
        }
        self.at += after;
        self
    }

    /// Rows become illegible, up to `rows` of those that hold nothing that counts: a recovery may
    /// not depend on them. Says how many.
    pub fn spoil(&mut self, rng: &mut Rng, rows: u32) -> u32 {
        let Rebuilt { map, repairs, .. } = self.rebuild();
        let (layout, mut spoilt) = (self.flash.layout.clone(), 0);
        let mut counts = vec![false; layout.total_units() as usize];
        let pages = map.logical() + map.translation_pages();
        for lpn in (0..pages).map(Lpn) {
            if let Translation::Ready(page) = map.translate(lpn) {
                counts[page.0 as usize] = true;
            }
        }
        // The maps count on the copies that are to be made.
        for repair in repairs {
            if let Repair::Copy { from, .. } = repair {
                counts[from.0 as usize] = true;
            }
        }
        for _ in 0..rows {
            let row = rng.below(u64::from(layout.total_units() / layout.units_per_row)) as u32;
            let pages = || (row * layout.units_per_row..(row + 1) * layout.units_per_row).map(Ppn);
            if pages().all(|page| self.flash.spare(page) != Spare::Erased)
                && !pages().any(|page| counts[page.0 as usize])
            {
                self.flash.spoil(Ppn(row * layout.units_per_row));
                spoilt += 1;
            }
        }
        spoilt
    }
}

/// Does the work of each die, in order, all dies at once, until `limit`; when the last operation
/// ended. `told` hears of each when it begins (false) and when it is done (true).
fn play(
    flash: &mut Flash,
    mut work: Work,
    limit: Instant,
    mut told: impl FnMut(&mut Flash, Task, bool),
) -> Duration {
    let mut under_way: Work = vec![VecDeque::new(); work.len()];
    let mut free: Vec<Die> = (0..work.len() as u32).map(Die).collect();
    let mut now = Instant::START;
    loop {
        for die in free.drain(..) {
            if let Some(task) = work[die.index()].pop_front() {
                told(flash, task, false);
                flash.start(
                    now,
                    die,
                    Operation { what: task.what(), token: OpId(die.0), gc: false },
                );
                under_way[die.index()].push_back(task);
            }
            flash.rest(die);
        }
        if flash.next_at() >= limit {
            return now.since(Instant::START);
        }
        let (at, fired) = flash.fire();
        now = at;
        if let Some(task) = fired.done().and_then(|die| under_way[die.index()].pop_front()) {
            told(flash, task, true);
        }
        free.extend(fired.free());
    }
}
