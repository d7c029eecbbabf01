//! Rotating collection: of the planes over which a stripe spreads, one collects at a time.
//!
//! ttFlash (Yan et al., FAST '17), section 4.3, so that a stripe of N never misses more than one
//! member. Taking turns costs throughput: N planes reclaim one after the other, each ppb - V pages
//! in T_GC, so a group keeps up with at most (ppb - V) / (N x T_GC) page writes a plane. The paper
//! switches it off when free space runs short; the authors' code compares a time per page with a
//! sum over all planes and never does (reference, 2.8), so the rule is ours: `dynamic` is off while
//! writes come faster than that, and as soon as any plane is at or below the hard mark; it is on
//! again after a window without either, in which the rate lay below the limit by a margin.
//!
//! Rates are counted row by row; V is the mean of the last victims, T_GC is the device table's.
//! Nothing has a timer: a window is over with the first row after it.

use crate::flash::Flash;
use crate::ftl::{GcSpec, PageMap, Rotate};
use crate::stats::RotationCounters;
use crate::units::{Duration, Instant, Pool};
use std::collections::VecDeque;

/// Victims of which V is the mean.
const VICTIMS: usize = 64;

/// The turns of all plane groups.
#[derive(Clone, Debug)]
pub(in crate::drive) struct Rotation {
    erases_count: bool,
    urgent_waits: bool,
    /// The planes, group by group, in the order of their channels, and how many each has.
    planes: Vec<Pool>,
    width: u32,
    /// By plane: its place in `planes`.
    places: Vec<u32>,
    /// By plane: it collects.
    collects: Vec<bool>,
    /// By group: how many do.
    collecting: Vec<u32>,
    /// By plane: since when only the others of its group keep it from collecting.
    postponed: Vec<Option<Instant>>,
    rate: Option<Rate>,
}

/// When turns are taken at all.
#[derive(Clone, Debug)]
struct Rate {
    window: Duration,
    /// Per million of the limit up to which it is switched on again.
    on_below: u64,
    began: Instant,
    /// Map units programmed in this window but for copies, and what a row adds.
    written: u64,
    units_per_row: u64,
    was_urgent: bool,
    /// Off, and counted as such up to then.
    off: Option<Instant>,
    victims: VecDeque<u32>,
    valid: u64,
    times: Times,
}

/// Times of a GC run, from the device table.
#[derive(Clone, Copy, Debug)]
struct Times {
    /// Map units of a block.
    block: u64,
    planes: u64,
    width: u64,
    /// An array read and a program with their commands, and how many map units each moves.
    read: (u64, u64),
    program: (u64, u64),
    erase: u64,
}

impl Times {
    fn new(flash: &Flash, width: u32) -> Self {
        let (layout, timing) = (&flash.layout, flash.timing());
        let (read, program) = timing.means();
        Self {
            block: layout.units_per_block.into(),
            planes: layout.lanes.into(),
            width: width.into(),
            read: ((timing.command + read).as_ns(), layout.units_per_read.into()),
            program: ((timing.command + program).as_ns(), layout.units_per_row.into()),
            erase: (timing.erase_command + timing.erase_step * u64::from(timing.erase_steps))
                .as_ns(),
        }
    }

    /// True when `written` map units in `time` are more than `millionths` of what turns can keep up
    /// with, if `victims` held `valid` map units: written / planes / time > (block - V) / (N x
    /// T_GC).
    fn exceeded_by(
        &self,
        written: u64,
        time: Duration,
        (valid, victims): (u64, u64),
        millionths: u64,
    ) -> bool {
        let [valid, victims, written] = [valid, victims, written].map(u128::from);
        let part = |(time, units): (u64, u64)| valid * u128::from(time) / u128::from(units);
        let collecting = part(self.read) + part(self.program) + victims * u128::from(self.erase);
        let gained = (u128::from(self.block) * victims).saturating_sub(valid);
        let per_plane = written * u128::from(self.width) * collecting * 1_000_000;
        per_plane
            > gained * u128::from(self.planes) * u128::from(time.as_ns()) * u128::from(millionths)
    }
}

impl Rate {
    fn exceeds(&self, time: Duration, millionths: u64) -> bool {
        let victims = (self.valid, self.victims.len() as u64);
        self.times.exceeded_by(self.written, time, victims, millionths)
    }

    /// It has been off up to `now`.
    fn count(&mut self, now: Instant, counters: &mut RotationCounters) {
        if let Some(since) = &mut self.off {
            counters.off += now.since(*since);
            *since = now;
        }
    }
}

impl Rotation {
    pub fn new(gc: &GcSpec, flash: &Flash, ftl: &PageMap) -> Option<Self> {
        if gc.rotate == Rotate::Off {
            return None;
        }
        let (lanes, width) = ftl.plane_groups();
        let planes: Vec<Pool> = lanes.into_iter().map(|lane| ftl.pool_of(lane)).collect();
        let mut places = vec![0; planes.len()];
        planes.iter().zip(0..).for_each(|(plane, place)| places[plane.index()] = place);
        let rate = (gc.rotate == Rotate::Dynamic).then(|| Rate {
            window: gc.rotate_window,
            on_below: ((1.0 - gc.rotate_hysteresis) * 1e6) as u64,
            began: Instant::START,
            written: 0,
            units_per_row: flash.layout.units_per_row.into(),
            was_urgent: false,
            off: None,
            victims: VecDeque::with_capacity(VICTIMS),
            valid: 0,
            times: Times::new(flash, width),
        });
        Some(Self {
            erases_count: gc.rotate_erases,
            urgent_waits: gc.rotate_urgent,
            collects: vec![false; planes.len()],
            collecting: vec![0; planes.len() / width as usize],
            postponed: vec![None; planes.len()],
            planes,
            width,
            places,
            rate,
        })
    }

    fn group_of(&self, plane: Pool) -> u32 {
        self.places[plane.index()] / self.width
    }

    /// The planes of this one's group.
    pub fn group(&self, plane: Pool) -> &[Pool] {
        let first = (self.group_of(plane) * self.width) as usize;
        &self.planes[first..first + self.width as usize]
    }

    /// The plane whose turn comes after this one's.
    pub fn next_in_group(&self, plane: Pool) -> Pool {
        let group = self.group(plane);
        group[((self.places[plane.index()] + 1) % self.width) as usize]
    }

    /// True while turns are switched off.
    pub fn is_off(&self) -> bool {
        self.rate.as_ref().is_some_and(|rate| rate.off.is_some())
    }

    /// True when the plane may collect now.
    pub fn admits(&self, plane: Pool, urgent: bool) -> bool {
        let others = self.collecting[self.group_of(plane) as usize]
            - u32::from(self.collects[plane.index()]);
        others == 0 || (urgent && !self.urgent_waits) || self.is_off()
    }

    /// Only the others of its group keep the plane from collecting.
    pub fn postpones(&mut self, now: Instant, plane: Pool, counters: &mut RotationCounters) {
        let since = &mut self.postponed[plane.index()];
        counters.postponed += u64::from(since.is_none());
        *since = Some(since.unwrap_or(now));
    }

    /// True when only the others of its group keep the plane from collecting, and that is noted.
    pub fn is_postponed(&self, plane: Pool, urgent: bool) -> bool {
        !self.admits(plane, urgent) && self.postponed[plane.index()].is_some()
    }

    /// The plane does not want to collect any more.
    pub fn forgets(&mut self, plane: Pool) {
        self.postponed[plane.index()] = None;
    }

    /// The plane begins to collect.
    pub fn enters(
        &mut self,
        now: Instant,
        plane: Pool,
        urgent: bool,
        counters: &mut RotationCounters,
    ) {
        debug_assert!(self.admits(plane, urgent), "plane {plane} collects out of turn");
        if let Some(since) = self.postponed[plane.index()].take() {
            counters.postponed_max = counters.postponed_max.max(now.since(since));
        }
        let group = self.group_of(plane) as usize;
        self.collecting[group] += u32::from(!self.collects[plane.index()]);
        self.collects[plane.index()] = true;
    }

    /// The plane's copies are done, and `is_over` its collection; true when the others of its group
    /// may have turns.
    pub fn leaves(&mut self, plane: Pool, is_over: bool) -> bool {
        let leaves = self.collects[plane.index()] && (is_over || !self.erases_count);
        if leaves {
            self.collects[plane.index()] = false;
            let group = self.group_of(plane) as usize;
            self.collecting[group] -= 1;
        }
        leaves
    }

    /// A victim is chosen, with so many valid map units.
    pub fn victim_is_chosen(&mut self, valid: u32) {
        let Some(rate) = &mut self.rate else { return };
        if rate.victims.len() == VICTIMS {
            rate.valid -= u64::from(rate.victims.pop_front().unwrap_or(0));
        }
        rate.victims.push_back(valid);
        rate.valid += u64::from(valid);
    }

    /// A row of the host's data is programmed in `plane`, one of `planes`; true when turns are over
    /// for now.
    pub fn row_was_written(
        &mut self,
        now: Instant,
        mut planes: impl Iterator<Item = Pool>,
        plane: Pool,
        is_urgent: impl Fn(Pool) -> bool,
        counters: &mut RotationCounters,
    ) -> bool {
        let Some(rate) = &mut self.rate else { return false };
        rate.written += rate.units_per_row;
        rate.count(now, counters);
        rate.was_urgent = rate.was_urgent || is_urgent(plane);
        let (was_off, time) = (rate.off.is_some(), now.since(rate.began));
        let mut is_off = was_off || rate.was_urgent;
        if time >= rate.window {
            let urgent = rate.was_urgent || planes.any(is_urgent);
            is_off = urgent || rate.exceeds(time, if was_off { rate.on_below } else { 1_000_000 });
            (rate.began, rate.written, rate.was_urgent) = (now, 0, false);
        }
        if is_off != was_off {
            rate.off = is_off.then_some(now);
            counters.switched_off += u64::from(is_off);
        }
        is_off && !was_off
    }
}
