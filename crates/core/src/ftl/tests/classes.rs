//! Data placement: every decision against a naive model of the rule, the room that classes need,
//! what they bring, and the defects of the DAC firmware that was published (OpenSSD, Jasmine,
//! ftl_dac).

use super::reference::{Pair, devices};
use super::{device, map};
use crate::flash::Layout;
use crate::ftl::timeless::{NoMedium, Work, Writer};
use crate::ftl::{
    DataPlacement, Frontiers, FtlSpec, GcSpec, OpenBlocks, PageMap, Stream, StreamCopies,
    Translation, Victim, VictimUnit,
};
use crate::sim::Rng;
use crate::units::{Lane, Lpn, Pool};
use std::collections::{BTreeMap, BTreeSet};

/// The classes that each rule should give, from the history of pages, with l as a real number.
pub(super) struct NaiveClasses {
    ftl: FtlSpec,
    logical: u32,
    /// The class of each page's newest version on flash, and that of each block with data.
    pages: BTreeMap<u32, u32>,
    blocks: BTreeMap<u32, u32>,
    /// When pages were written and blocks opened, in writes of the host.
    now: u64,
    written_at: BTreeMap<u32, u64>,
    opened_at: BTreeMap<u32, u64>,
    lives: Vec<f64>,
    l: f64,
    /// Pages that were read out of a victim, and the class that each should have.
    on_their_way: BTreeMap<u32, u32>,
    /// How often l was set; how many rows mixed classes; copies by their class.
    pub means: u32,
    pub mixed: u32,
    pub copies: BTreeMap<u32, u32>,
    pub writes: BTreeMap<u32, u32>,
}

impl NaiveClasses {
    pub fn new(ftl: &FtlSpec, logical: u32) -> Self {
        Self {
            ftl: ftl.clone(),
            logical,
            pages: BTreeMap::new(),
            blocks: BTreeMap::new(),
            now: 0,
            written_at: BTreeMap::new(),
            opened_at: BTreeMap::new(),
            lives: Vec::new(),
            l: f64::INFINITY,
            on_their_way: BTreeMap::new(),
            means: 0,
            mixed: 0,
            copies: BTreeMap::new(),
            writes: BTreeMap::new(),
        }
    }

    fn age(&self, lpn: u32) -> f64 {
        (self.now - self.written_at[&lpn]) as f64
    }

    fn is_young(&self, lpn: u32) -> bool {
        self.ftl.dac_age == 0.0
            || self.age(lpn) <= (self.ftl.dac_age * f64::from(self.logical)).floor()
    }

    pub fn of_write(&mut self, lpn: u32, stream: u8, is_update: bool) -> u32 {
        let class = match self.ftl.placement {
            DataPlacement::None
            | DataPlacement::TwoRegions
            | DataPlacement::TwoRegionsSecondChance
            | DataPlacement::Pslc => 0,
            DataPlacement::Stream if u32::from(stream) < self.ftl.streams => stream.into(),
            DataPlacement::Stream => 0,
            DataPlacement::Dac if !is_update => 0,
            DataPlacement::Dac => match self.pages[&lpn] {
                region if !self.is_young(lpn) || region + 1 == self.ftl.dac_regions => region,
                region => region + 1,
            },
            DataPlacement::Sepbit if is_update && self.age(lpn) < self.l => 0,
            DataPlacement::Sepbit => 1,
        };
        *self.writes.entry(class).or_default() += 1;
        class
    }

    pub fn written(&mut self, lpn: u32) {
        self.written_at.insert(lpn, self.now);
        self.now += 1;
    }

    /// A page was read out of block `from`.
    pub fn read(&mut self, lpn: u32, from: u32) {
        let from = self.blocks[&from];
        let class = match (self.ftl.placement, from) {
            (DataPlacement::None, _) => 0,
            (DataPlacement::Dac, 0) => 0,
            (DataPlacement::Dac, region) if self.ftl.dac_age > 0.0 && self.is_young(lpn) => region,
            (DataPlacement::Dac, region) => region - 1,
            (DataPlacement::Sepbit, 0) => 2,
            (DataPlacement::Sepbit, _) if self.age(lpn) < 4.0 * self.l => 3,
            (DataPlacement::Sepbit, _) if self.age(lpn) < 16.0 * self.l => 4,
            (DataPlacement::Sepbit, _) => 5,
            (DataPlacement::TwoRegions | DataPlacement::Pslc, _) => 1,
            (DataPlacement::TwoRegionsSecondChance, 0) => 1,
            (DataPlacement::TwoRegionsSecondChance, _) => 2,
            (DataPlacement::Stream, stream) if self.ftl.stream_copies == StreamCopies::Own => {
                stream
            }
            (DataPlacement::Stream, _) => self.ftl.streams,
        };
        self.on_their_way.insert(lpn, class);
    }

    /// The class of a row of copies: of all its pages, or where they differ that of most, the
    /// lowest of equals.
    pub fn of_row(&mut self, pages: &[u32]) -> u32 {
        let mut votes: BTreeMap<u32, usize> = BTreeMap::new();
        for lpn in pages {
            let class = self.on_their_way[lpn];
            *votes.entry(class).or_default() += 1;
            *self.copies.entry(class).or_default() += 1;
        }
        self.mixed += u32::from(votes.len() > 1);
        let most = *votes.values().max().unwrap();
        *votes.iter().find(|(_, votes)| **votes == most).unwrap().0
    }

    /// A row of `block` was taken for `class`; the `first` one opens it.
    pub fn row_taken(&mut self, block: u32, first: bool, class: u32) {
        if first {
            self.blocks.insert(block, class);
            self.opened_at.insert(block, self.now);
        }
        assert_eq!(self.blocks[&block], class, "all rows of block {block} are of one class");
    }

    pub fn put(&mut self, lpn: u32, class: u32) {
        self.pages.insert(lpn, class);
    }

    pub fn collected(&mut self, blocks: &[u32]) {
        if self.ftl.placement != DataPlacement::Sepbit || self.blocks[&blocks[0]] != 0 {
            return;
        }
        let opened = blocks.iter().map(|block| self.opened_at[block]).min().unwrap();
        self.lives.push((self.now - opened) as f64);
        if self.lives.len() == 16 {
            self.l = self.lives.drain(..).sum::<f64>() / 16.0;
            self.means += 1;
        }
    }

    /// The group blocks of the cold region, where there are two.
    pub fn cold_groups(&self, group: impl Fn(u32) -> (Pool, u32)) -> Option<BTreeSet<(Pool, u32)>> {
        let cold = match self.ftl.placement {
            DataPlacement::TwoRegions => 1,
            DataPlacement::TwoRegionsSecondChance => 2,
            _ => return None,
        };
        Some(
            self.blocks
                .iter()
                .filter(|(_, class)| **class == cold)
                .map(|(block, _)| group(*block))
                .collect(),
        )
    }
}

fn placed(placement: DataPlacement) -> FtlSpec {
    FtlSpec { placement, ..FtlSpec::default() }
}

/// Every rule, with each of its keys both ways.
fn rules() -> Vec<FtlSpec> {
    vec![
        placed(DataPlacement::Dac),
        FtlSpec { dac_age: 0.4, dac_regions: 3, ..placed(DataPlacement::Dac) },
        placed(DataPlacement::Sepbit),
        placed(DataPlacement::TwoRegions),
        placed(DataPlacement::TwoRegionsSecondChance),
        placed(DataPlacement::Stream),
        FtlSpec {
            stream_copies: StreamCopies::Shared,
            streams: 3,
            ..placed(DataPlacement::Stream)
        },
    ]
}

fn play(ftl: &FtlSpec, victim: Victim) {
    let (mut means, mut mixed, mut seen) = (0, 0, BTreeSet::new());
    for frontiers in [Frontiers::Separate, Frontiers::Shared] {
        for (number, (device, unit)) in devices(48).into_iter().enumerate() {
            if frontiers == Frontiers::Shared && unit != VictimUnit::Block {
                continue;
            }
            let ftl = FtlSpec { frontiers, ..ftl.clone() };
            let gc = GcSpec {
                victim,
                unit,
                soft: 0.1.into(),
                hard: 0.0.into(),
                window: 4,
                choices: 3,
                ..GcSpec::default()
            };
            let logical = Layout::new(&device).total_units() * 60 / 100;
            let mut pair = Pair::new(&device, &ftl, gc, logical, number as u64);
            pair.run(7_000);
            assert!(pair.overtaken > 0, "some copies were overtaken");
            let classes = &pair.classes;
            seen.extend(classes.writes.keys().chain(classes.copies.keys()).copied());
            (means, mixed) = (means + classes.means, mixed + classes.mixed);
            assert!(classes.mixed == 0 || Layout::new(&device).units_per_row > 1);
        }
    }
    // No copy of these small drives is as old as 16 l, which needs a page that stays for a very
    // long time.
    let is_sepbit = ftl.placement == DataPlacement::Sepbit;
    let least = if is_sepbit { 5 } else { OpenBlocks::of(ftl).classes };
    assert!((0..least).all(|class| seen.contains(&class)), "every class was met: {seen:?} {ftl:?}");
    assert_eq!(means > 0, is_sepbit, "{means} means of lifespans");
    // Old blocks hold old copies only: there `dac_age` tells none apart.
    let splits = is_sepbit || ftl.dac_age > 0.0;
    assert!(mixed == 0 || splits, "{mixed} mixed rows");
    assert!(mixed > 0 || !splits || victim != Victim::Greedy, "{ftl:?}");
}

#[test]
fn greedy_and_every_rule_decide_as_the_naive_model() {
    rules().iter().for_each(|ftl| play(ftl, Victim::Greedy));
}

#[test]
fn cost_benefit_and_every_rule_decide_as_the_naive_model() {
    rules().iter().for_each(|ftl| play(ftl, Victim::CostBenefit));
}

#[test]
fn fifo_and_random_victims_and_every_rule_decide_as_the_naive_model() {
    rules().iter().for_each(|ftl| play(ftl, Victim::Fifo));
    rules().iter().for_each(|ftl| play(ftl, Victim::Random));
}

/// A page written ever again climbs to the hottest region and a page that is only copied sinks to
/// the coldest: the regions of DAC in one picture.
#[test]
fn pages_climb_by_writes_and_sink_by_copies() {
    let ftl = FtlSpec { frontiers: Frontiers::Shared, ..placed(DataPlacement::Dac) };
    let gc = GcSpec { soft: 0.1.into(), hard: 0.0.into(), ..GcSpec::default() };
    let mut map = map(&device(64, 16), &ftl, &gc, 600);
    let mut writer = Writer::new(&mut map);
    (0..600).for_each(|lpn| writer.write(Lpn(lpn)).unwrap());
    // Twice, pages 300 to 599 are written again; then only pages 0 to 9.
    (300..600).chain(300..600).for_each(|lpn| writer.write(Lpn(lpn)).unwrap());
    let region = |map: &PageMap, lpn| match map.translate(Lpn(lpn)) {
        Translation::Ready(ppn) => map.classes().unwrap().of_block(map.layout().block_of(ppn)),
        Translation::Unwritten => panic!("page {lpn} is written"),
    };
    assert!((300..600).all(|lpn| region(writer.map(), lpn) <= 2));
    assert!((300..600).any(|lpn| region(writer.map(), lpn) == 2));
    (0..40_000).for_each(|write| writer.write(Lpn(write % 10)).unwrap());
    assert!((0..10).all(|lpn| region(writer.map(), lpn) == 3), "what is written is hot");
}

/// The host and copies of any rule find room on a drive as full as validation allows, whatever is
/// written.
#[test]
fn a_drive_as_full_as_allowed_never_runs_out_of_room() {
    let none = [placed(DataPlacement::None)];
    for ftl in rules().iter().chain(&none) {
        for frontiers in [Frontiers::Separate, Frontiers::Shared] {
            for (seed, (device, unit)) in (0..).zip(devices(30)) {
                if frontiers == Frontiers::Separate || unit == VictimUnit::Block {
                    let ftl = FtlSpec { frontiers, ..ftl.clone() };
                    fill_to_the_brim(&device, &ftl, unit, seed);
                }
            }
        }
    }
}

fn fill_to_the_brim(device: &crate::flash::Device, ftl: &FtlSpec, unit: VictimUnit, seed: u64) {
    use crate::ftl::Allocation;
    let (layout, open) = (Layout::new(device), OpenBlocks::of(ftl));
    let ahead = if unit == VictimUnit::Block { 0 } else { open.host };
    let held = (open.open + open.reserve + ahead).max(3);
    // The most that `validate::space` of `manx-config` allows.
    let full = (layout.blocks - held) * (layout.units_per_block - layout.units_per_row);
    let allocation =
        if unit == VictimUnit::Block { Allocation::Static } else { Allocation::Dynamic };
    let ftl = FtlSpec { allocation, ..ftl.clone() };
    let gc = GcSpec { unit, soft: 0.001.into(), hard: 0.0.into(), ..GcSpec::default() };
    let mut map = PageMap::new(device, &ftl, &gc, (full - 1) * layout.lanes, seed);
    let (pages, mut rng) = (u64::from(map.logical()), Rng::stream(seed, "brim"));
    let mut writer = Writer::new(&mut map);
    (0..pages as u32)
        .for_each(|lpn| writer.write(Lpn(lpn)).unwrap_or_else(|_| panic!("{ftl:?} {unit:?}")));
    for number in 0..12 * pages {
        // Phases of uniform writes, of a hot tenth, and of a sweep.
        let lpn = match number / (2 * pages) % 3 {
            0 => rng.below(pages),
            1 => rng.below(pages / 10),
            _ => number % pages,
        };
        writer.set_stream(rng.below(u64::from(ftl.streams)) as u8);
        writer
            .write(Lpn(lpn as u32))
            .unwrap_or_else(|_| panic!("write {number} of {pages} pages: {ftl:?} {unit:?}"));
    }
    writer.finish().unwrap();
    map.check_laws();
}

/// Blocks of the drives that are compared, and pages in each; the host sees 82 % of these.
const BLOCKS: u32 = 320;
const PAGES: u32 = 64;

/// WAF of overwrites in a settled state on `blocks` blocks: `share` of the pages, scattered, get
/// `asked` of the writes.
fn waf(blocks: u32, ftl: &FtlSpec, victim: Victim, (share, asked): (f64, f64)) -> f64 {
    let user = BLOCKS * PAGES * 82 / 100;
    let gc = GcSpec { victim, soft: 0.005.into(), hard: 0.0.into(), ..GcSpec::default() };
    let mut map = map(&device(blocks, PAGES), ftl, &gc, user);
    let mut rng = Rng::stream(7, "skew");
    let hot = (share * f64::from(user)) as u64;
    // A bijection that scatters ranks over the pages: `user` and 7919 share no divisor.
    let page = |rank: u64| (rank * 7919 % u64::from(user)) as u32;
    let mut writer = Writer::new(&mut map);
    (0..user).for_each(|lpn| writer.write(Lpn(lpn)).expect("room"));
    let mut overwrite = |times: u32| {
        for _ in 0..times * user {
            let is_hot = rng.below(1_000_000) < (asked * 1e6) as u64;
            let rank = if is_hot { rng.below(hot) } else { hot + rng.below(u64::from(user) - hot) };
            writer.set_stream(u8::from(!is_hot));
            writer.write(Lpn(page(rank))).expect("room");
        }
        writer.work()
    };
    let (settled, end) = (overwrite(10), overwrite(5));
    let work = end.since(&settled);
    work.programmed() as f64 / work.written as f64
}

/// The policies as users name them: placement, frontiers, victim.
fn contenders() -> Vec<(&'static str, FtlSpec, Victim)> {
    let shared = |ftl: FtlSpec| FtlSpec { frontiers: Frontiers::Shared, ..ftl };
    let two_streams = FtlSpec { streams: 2, ..placed(DataPlacement::Stream) };
    vec![
        ("none, shared, greedy", shared(placed(DataPlacement::None)), Victim::Greedy),
        ("none, separate, greedy", placed(DataPlacement::None), Victim::Greedy),
        ("cost-benefit", placed(DataPlacement::None), Victim::CostBenefit),
        ("dac", shared(placed(DataPlacement::Dac)), Victim::CostBenefit),
        ("dac, greedy", shared(placed(DataPlacement::Dac)), Victim::Greedy),
        ("dac, separate", placed(DataPlacement::Dac), Victim::CostBenefit),
        (
            "dac, dac_age 1",
            FtlSpec { dac_age: 1.0, ..shared(placed(DataPlacement::Dac)) },
            Victim::CostBenefit,
        ),
        ("sepbit", placed(DataPlacement::Sepbit), Victim::Greedy),
        ("sepbit, cost-benefit", placed(DataPlacement::Sepbit), Victim::CostBenefit),
        ("2r", placed(DataPlacement::TwoRegions), Victim::Greedy),
        ("2r(fifo)", placed(DataPlacement::TwoRegions), Victim::Fifo),
        ("2r++", placed(DataPlacement::TwoRegionsSecondChance), Victim::Greedy),
        ("2r++(fifo)", placed(DataPlacement::TwoRegionsSecondChance), Victim::Fifo),
        ("streams", two_streams.clone(), Victim::Greedy),
        (
            "streams, shared copies",
            FtlSpec { stream_copies: StreamCopies::Shared, ..two_streams },
            Victim::Greedy,
        ),
    ]
}

/// `cargo test -p manx-core --lib classes::skewed -- --nocapture` prints the figures.
#[test]
fn skewed_writes_amplify_less_with_every_rule_than_with_one_log() {
    let mut plain = 0.0;
    for (name, ftl, victim) in contenders() {
        let skewed = waf(BLOCKS, &ftl, victim, (0.1, 0.9));
        println!("{name:24} 90/10 {skewed:.3}");
        if plain == 0.0 {
            plain = skewed;
        } else {
            assert!(skewed < 0.97 * plain, "{name}: {skewed:.3}, greedy with one log {plain:.3}");
        }
    }
}

/// Where no page differs from another there is nothing to gain, and classes cost the blocks that
/// they keep open and free: no more than `none` with the same victims has with so many blocks less.
#[test]
fn uniform_writes_amplify_as_on_a_drive_without_the_blocks_that_classes_hold() {
    for (name, ftl, victim) in contenders() {
        let OpenBlocks { open, reserve, .. } = OpenBlocks::of(&ftl);
        let (uniform, none) = (waf(BLOCKS, &ftl, victim, (0.5, 0.5)), placed(DataPlacement::None));
        let less = waf(BLOCKS - (open + reserve).saturating_sub(3), &none, victim, (0.5, 0.5));
        println!(
            "{name:24} uniform {uniform:.3}, none with {open} + {reserve} - 3 blocks less {less:.3}"
        );
        assert!(uniform < 1.04 * less, "{name}: {uniform:.3} and {less:.3}");
    }
}

/// Jasmine's greedy selector never kept the count of the best candidate so far, so it took the last
/// one.
#[test]
fn jasmine_dac_took_the_last_candidate_and_not_the_emptiest() {
    let mut map = map(&device(16, 4), &placed(DataPlacement::Dac), &GcSpec::default(), 32);
    for lpn in 0..16 {
        let row = map.open_row(Lane(0), Stream::Host).unwrap();
        map.commit(Lpn(lpn), row);
        map.row_programmed(row);
    }
    // Blocks of 4, 1, 3 and 2 valid pages.
    [4, 5, 6, 8, 12, 13].into_iter().for_each(|lpn| map.trim(Lpn(lpn)));
    let Translation::Ready(left) = map.translate(Lpn(7)) else { panic!("page 7 is written") };
    assert!(map.start_collection(Pool(0), false));
    assert_eq!(map.victim_block(Lane(0)), map.layout().block_of(left));
    assert_eq!(map.valid_left(Pool(0)), 1);
}

/// Jasmine let a collection start between taking the old page off its block's count and mapping the
/// new one: it copied the obsolete page and counted it in both blocks.
#[test]
fn jasmine_dac_collected_between_unmapping_the_old_page_and_mapping_the_new() {
    let ftl = FtlSpec { frontiers: Frontiers::Shared, ..placed(DataPlacement::Dac) };
    let mut map = map(&device(16, 4), &ftl, &GcSpec::default(), 32);
    for lpn in 0..8 {
        let row = map.open_row(Lane(0), Stream::Host).unwrap();
        map.commit(Lpn(lpn), row);
        map.row_programmed(row);
    }
    (1..4).for_each(|lpn| map.trim(Lpn(lpn)));
    // Page 0 is being written again, to region 1, when its block is reclaimed.
    let class = map.class_of_write(Lpn(0), 0);
    let row = map.open_row_of(Lane(0), Stream::Host, class).unwrap();
    let Translation::Ready(old) = map.translate(Lpn(0)) else { panic!("page 0 is written") };
    let mut work = Work::default();
    assert!(map.collect_now(Pool(0), &mut NoMedium, &mut work));
    assert_eq!(
        (work.copied, work.erased, map.block_erases()[map.layout().block_of(old).0 as usize]),
        (1, 1, 1)
    );
    map.check_laws();
    map.commit(Lpn(0), row);
    map.check_laws();
    assert_eq!((class, map.translate(Lpn(0))), (1, Translation::Ready(row)));
    let valid = map.mapping().count_valid(0, map.layout().total_units());
    assert_eq!(valid, 5, "pages 0, 4, 5, 6 and 7, each once");
}

/// Jasmine counted each collection twice.
#[test]
fn jasmine_dac_counted_each_collection_twice() {
    let ftl = FtlSpec { frontiers: Frontiers::Shared, ..placed(DataPlacement::Dac) };
    let mut map = map(&device(32, 8), &ftl, &GcSpec::default(), 100);
    super::fill_and_overwrite(&mut map, 500, &mut Rng::stream(3, "twice"));
    let before: u32 = map.block_erases().iter().sum();
    let (mut work, mut collections) = (Work::default(), 0);
    while collections < 5 && map.collect_now(Pool(0), &mut NoMedium, &mut work) {
        collections += 1;
    }
    let erases: u32 = map.block_erases().iter().sum();
    assert_eq!((u64::from(erases - before), work.erased), (collections, collections));
    assert!(collections > 0);
}
