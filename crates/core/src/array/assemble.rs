//! How an array comes to be: from models, which it may fill, or from links to drives elsewhere.

use super::link::{MemberLink, Stamps};
use super::members::MemberDrive;
use super::rows::Rows;
use super::under_way::Timer;
use super::{Array, ArrayLayout, ArraySpec, strategy, write};
use crate::drive::Storage;
use crate::nvme::Controller;
use crate::sim::{Rng, Slab};
use crate::stats::ArrayCounters;
use crate::units::{Instant, Member};
use std::collections::{BinaryHeap, VecDeque};

/// Properties of the members that an array has to know.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Sectors of a page.
    pub page_sectors: u32,
    /// Pages of the smallest.
    pub pages: u32,
    /// Bytes that each takes between the mark at which it begins to collect and the critical one.
    pub reserve: u64,
}

/// The root seed of a member's drive: that of the run for the first one.
pub fn member_seed(seed: u64, member: Member) -> u64 {
    if member == Member(0) {
        seed
    } else {
        Rng::stream(seed, &format!("member {member}")).next_u64()
    }
}

impl Array {
    /// An array of `drives`, all of one size, as `spec` says. With `with_content` they carry
    /// content, and their parity is made here. `spare` takes the place of a drive that fails.
    pub fn new(
        spec: &ArraySpec,
        drives: Vec<Controller>,
        spare: Option<Controller>,
        with_content: bool,
        seed: u64,
    ) -> Self {
        let page_sectors = Storage::page_sectors(drives[0].drive());
        let pages = drives
            .iter()
            .map(|drive| (drive.drive().sectors() / u64::from(page_sectors)) as u32)
            .min()
            .unwrap_or(0);
        let reserve = drives.iter().map(Controller::reserve).min().unwrap_or(0);
        let shape = Shape { page_sectors, pages, reserve };
        let mut array = Self::unset(spec, shape, drives, spare, Stamps, seed);
        array.content = with_content;
        if with_content {
            array.make_parity();
        }
        array.set_out();
        array
    }

    /// Counters from the start on.
    pub fn counters(&self) -> ArrayCounters {
        let contract_violations =
            (0..self.drives()).map(|number| self.drive(number).violations()).sum();
        let others = |number| self.drive(number).counters().predictable.fast_fails_other;
        let fast_fails_other = (0..self.drives()).map(others).sum();
        ArrayCounters { contract_violations, fast_fails_other, ..self.own_counters() }
    }
}

impl<L: MemberLink> Array<L> {
    /// An array of drives elsewhere, which hold pages that `matter` names; their redundancy is
    /// what it should be.
    pub fn over(
        spec: &ArraySpec,
        shape: Shape,
        links: Vec<L>,
        matter: L::Matter,
        seed: u64,
    ) -> Self {
        let mut array = Self::unset(spec, shape, links, None, matter, seed);
        array.content = true;
        array.set_out();
        array
    }

    /// An array whose windows are not set.
    fn unset(
        spec: &ArraySpec,
        shape: Shape,
        links: Vec<L>,
        spare: Option<L>,
        matter: L::Matter,
        seed: u64,
    ) -> Self {
        let Shape { page_sectors, pages, reserve } = shape;
        let chunk =
            (spec.chunk.get() / (u64::from(page_sectors) * crate::units::SECTOR)).max(1) as u32;
        let layout =
            ArrayLayout::new((spec.level, spec.parities), spec.members, chunk, page_sectors, pages);
        let mut strategy = strategy::of(spec, seed);
        strategy.reserve(reserve);
        Self {
            rows: Rows::new(layout.rows),
            writes: write::WriteBack::new(spec, &layout),
            strategy,
            members: links.into_iter().map(MemberDrive::new).collect(),
            matter,
            spec: spec.clone(),
            requests: Slab::default(),
            ios: Slab::default(),
            pieces: Slab::default(),
            rebuilds: Slab::default(),
            timers: BinaryHeap::new(),
            sequence: 0,
            done: VecDeque::new(),
            content: false,
            spare,
            replaced: Member(0),
            retired: None,
            restored: 0,
            is_impaired: false,
            failures: Vec::new(),
            seen: (Instant::START, 0),
            counters: ArrayCounters::default(),
            books: None,
            timeline: None,
            layout,
        }
    }

    /// Members get their windows, and the one that fails its time.
    fn set_out(&mut self) {
        for member in (0..self.spec.members).map(Member) {
            self.members[member.index()].set_windows(
                Instant::START,
                self.strategy.windows(member),
                self.spec.level,
            );
        }
        if !self.spec.fail_at.is_zero() {
            self.set_timer(Instant::START + self.spec.fail_at, Timer::Fail);
        }
    }
}
