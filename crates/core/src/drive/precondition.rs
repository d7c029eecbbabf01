//! Preconditioning: what the drive holds when the run starts, made functionally by the run's own
//! translation layer.

use super::{PreconditionSpec, PreconditionState};
use crate::ftl::timeless::{Full, Work, Writer};
use crate::ftl::{PageMap, Stream};
use crate::sim::Rng;
use crate::units::{Lane, Lpn};

/// How the preconditioning went.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Preconditioned {
    /// Pages moved and blocks erased.
    pub work: Work,
    /// WAF of the last window (`steady`), or of everything.
    pub waf: f64,
    /// How often the user capacity was overwritten (`steady`).
    pub passes: f64,
    /// The WAF had settled (`steady`), or nothing had to settle.
    pub settled: bool,
}

/// Writes ahead of which the maps are asked for.
const AHEAD: usize = 32;
/// Of these, how many before a write the old page's block is asked for.
const AHEAD_OLD: usize = 12;
/// Writes between two reports of the progress: what they take is felt as at once.
const PROGRESS_EVERY: u64 = 1 << 18;
/// Windows in which a pass over the user capacity is watched.
const WINDOWS: u32 = 4;

/// Brings `map` into the state that `spec` asks for. `overwrite` gives the pages of `steady`'s
/// overwrites and their placement hints, uniformly random ones without a hint when `None`;
/// `progress` is told the pages programmed now and then, and stops everything by returning false.
pub fn precondition(
    map: &mut PageMap,
    spec: &PreconditionSpec,
    seed: u64,
    overwrite: Option<&mut dyn FnMut() -> (Lpn, u8)>,
    progress: &mut dyn FnMut(u64) -> bool,
) -> Result<Preconditioned, Full> {
    match spec.state {
        PreconditionState::Empty => {
            Ok(Preconditioned { settled: true, ..Preconditioned::default() })
        }
        PreconditionState::Fill => fill(map, progress),
        PreconditionState::Aged => age(map, spec.ratio, progress),
        PreconditionState::Steady => {
            let filled = fill(map, progress)?;
            let (pages, mut rng) = (u64::from(map.logical()), Rng::stream(seed, "precondition"));
            let mut random = || (Lpn(rng.below(pages) as u32), 0);
            let mut next = match overwrite {
                Some(next) => next as &mut dyn FnMut() -> (Lpn, u8),
                None => &mut random,
            };
            let mut steady = settle(map, spec, &mut next, progress)?;
            steady.work.written += filled.work.written;
            steady.work.parity += filled.work.parity;
            steady.work.padded += filled.work.padded;
            Ok(steady)
        }
    }
}

fn fill(map: &mut PageMap, progress: &mut dyn FnMut(u64) -> bool) -> Result<Preconditioned, Full> {
    let pages = map.logical();
    let mut writer = Writer::new(map);
    for lpn in 0..pages {
        writer.write(Lpn(lpn))?;
        if u64::from(lpn) % PROGRESS_EVERY == 0 && !progress(writer.work().programmed()) {
            break;
        }
    }
    // A map that lies on flash is written once, behind the data; the run begins with an empty
    // cache.
    (0..writer.map().translation_pages())
        .map(|page| writer.map().translation_page(page))
        .collect::<Vec<_>>()
        .into_iter()
        .try_for_each(|page| writer.write(page))?;
    writer.finish()?;
    let work = writer.work();
    Ok(Preconditioned { work, waf: waf(&work), passes: 0.0, settled: true })
}

/// Overwrites until two windows in a row agree on the WAF.
fn settle(
    map: &mut PageMap,
    spec: &PreconditionSpec,
    next: &mut dyn FnMut() -> (Lpn, u8),
    progress: &mut dyn FnMut(u64) -> bool,
) -> Result<Preconditioned, Full> {
    let window = (u64::from(map.logical()) / u64::from(WINDOWS)).max(1);
    let mut ahead: [(Lpn, u8); AHEAD] = std::array::from_fn(|_| next());
    let mut writer = Writer::new(map);
    let (mut before, mut settled, mut windows, mut at) = (0.0, false, 0, 0);
    while windows < spec.passes_max * WINDOWS && !settled {
        let (start, mut left) = (writer.work(), window);
        while left > 0 {
            let part = left.min(PROGRESS_EVERY);
            for _ in 0..part {
                let (lpn, stream) = std::mem::replace(&mut ahead[at], next());
                writer.map().prefetch(ahead[at].0);
                at = (at + 1) % AHEAD;
                writer.map().prefetch_old(ahead[(at + AHEAD_OLD) % AHEAD].0);
                writer.set_stream(stream);
                writer.write(lpn)?;
            }
            left -= part;
            if !progress(writer.work().programmed()) {
                writer.finish()?;
                return Ok(Preconditioned { work: writer.work(), ..Preconditioned::default() });
            }
        }
        windows += 1;
        let now = waf(&writer.work().since(&start));
        settled = windows > WINDOWS && (now - before).abs() < spec.settled_below * now;
        before = now;
    }
    writer.finish()?;
    Ok(Preconditioned {
        work: writer.work(),
        waf: before,
        passes: f64::from(windows) / f64::from(WINDOWS),
        settled,
    })
}

/// A lane as SSDsim's make_aged leaves it, in mapping units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AgedLane {
    /// Half of `ratio` of the lane: so much is valid, and at least so much stale.
    pub half: u32,
    /// Rows with which a block begins that are stale: its loop goes on while
    /// `n < page_block * aged_ratio + 1`, so a part of a page is a page.
    pub stale_rows: u32,
    /// Stale: the block with which `half` is reached has all of its stale rows.
    pub stale: u32,
}

impl AgedLane {
    /// A lane of `units`, in blocks of so many rows of so many mapping units.
    pub fn of(units: u32, (rows, units_per_row): (u32, u32), ratio: f64) -> Self {
        let half = (f64::from(units) * ratio / 2.0) as u32;
        let stale_rows = ((f64::from(rows) * ratio + 1.0).ceil() as u32).min(rows);
        let each = stale_rows * units_per_row;
        Self { half, stale_rows, stale: half.div_ceil(each) * each }
    }
}

/// SSDsim's make_aged: in each lane, blocks begin with stale pages until half of `ratio` of the
/// lane is stale, and pages in address order follow until another half is valid (reference:
/// tinyTailFlash, ssd.c make_aged, pagemap.c pre_set_page).
fn age(
    map: &mut PageMap,
    ratio: f64,
    progress: &mut dyn FnMut(u64) -> bool,
) -> Result<Preconditioned, Full> {
    let layout = map.layout().clone();
    let AgedLane { half, stale_rows, .. } =
        AgedLane::of(layout.units_per_lane(), (layout.rows, layout.units_per_row), ratio);
    let mut lanes = vec![Ageing::default(); layout.lanes as usize];
    let mut work = Work::default();
    // With parity, that of a row of stripes follows its last data page.
    let stripes = map.stripes().cloned();
    let round = stripes.as_ref().map_or(u32::MAX, |stripes| stripes.data() * stripes.unit());
    for lpn in 0..map.logical() {
        let stopped = u64::from(lpn) % PROGRESS_EVERY == 0 && !progress(work.programmed());
        if stopped || lanes.iter().all(|lane| lane.valid >= half) {
            break;
        }
        let mut place = |map: &mut PageMap, lpn| {
            let lane = map.striped_lane(lpn);
            lanes[lane.index()].place(map, lpn, lane, half, stale_rows, &mut work)
        };
        place(map, Lpn(lpn))?;
        if let Some(stripes) = stripes.as_ref().filter(|_| lpn % round == round - 1) {
            let first = lpn / round * stripes.unit();
            (first..first + stripes.unit())
                .try_for_each(|stripe| place(map, stripes.parity(stripe)))?;
        }
    }
    for lpn in
        (0..map.translation_pages()).map(|page| map.translation_page(page)).collect::<Vec<_>>()
    {
        // Beyond the share that is used: the map of what was written must be somewhere.
        let lane = map.striped_lane(lpn);
        let ageing = &mut lanes[lane.index()];
        let half = half.max(ageing.valid + 1);
        ageing.place(map, lpn, lane, half, stale_rows, &mut work)?;
    }
    for ageing in lanes.iter().filter(|ageing| ageing.filled > 0) {
        work.padded += u64::from(layout.units_per_row - ageing.filled);
        map.row_programmed(ageing.row);
    }
    Ok(Preconditioned { waf: waf(&work), work, passes: 0.0, settled: true })
}

#[derive(Clone, Debug, Default)]
struct Ageing {
    stale: u32,
    valid: u32,
    /// The open block begins with stale rows.
    begins_stale: bool,
    row: crate::units::Ppn,
    /// Pages of the row that are written.
    filled: u32,
}

impl Ageing {
    /// Puts a page on the lane, unless that holds enough.
    fn place(
        &mut self,
        map: &mut PageMap,
        lpn: Lpn,
        lane: Lane,
        half: u32,
        stale_rows: u32,
        work: &mut Work,
    ) -> Result<(), Full> {
        if self.valid >= half {
            return Ok(());
        }
        if self.filled == 0 {
            self.open_row(map, lane, half, stale_rows, work)?;
        }
        map.commit(lpn, crate::units::Ppn(self.row.0 + self.filled));
        self.filled = (self.filled + 1) % map.layout().units_per_row;
        self.valid += 1;
        let is_parity = lpn.0 >= map.logical();
        work.parity += u64::from(is_parity);
        work.written += u64::from(!is_parity);
        if self.filled == 0 {
            map.row_programmed(self.row);
        }
        Ok(())
    }

    /// Opens the row for the next valid pages; while there are not enough stale ones, a block
    /// begins with `stale_rows`, all of them.
    fn open_row(
        &mut self,
        map: &mut PageMap,
        lane: Lane,
        half: u32,
        stale_rows: u32,
        work: &mut Work,
    ) -> Result<(), Full> {
        let units = map.layout().units_per_row;
        loop {
            self.row =
                map.open_row_of(lane, Stream::Host, map.class_of_first_write()).ok_or(Full)?;
            let row = map.layout().row_of(self.row);
            if row == 0 {
                self.begins_stale = self.stale < half;
            }
            if !self.begins_stale || row >= stale_rows {
                return Ok(());
            }
            self.stale += units;
            work.padded += u64::from(units);
            map.row_programmed(self.row);
        }
    }
}

fn waf(work: &Work) -> f64 {
    if work.written == 0 { 0.0 } else { work.programmed() as f64 / work.written as f64 }
}
