//! Every two settings of the switches of ttFlash, and of what it composes with, meet in some drive
//! (a pairwise-covering set, made greedily), and the oracle finds nothing in any of them.

use super::{Setup, small};
use crate::drive::{
    CostRule, EraseMode, Evict, FullBuffer, PowerSpec, ProgramMode, RainSpec, Reconstruct,
    ScrubSpec, Update, UpdateReads,
};
use crate::flash::SlcTiming;
use crate::ftl::{
    Allocation, DataPlacement, Frontiers, GcMode, GcWhen, MapSpec, Rotate, Victim, VictimUnit,
};
use crate::host::{JobSpec, Pattern, StreamBy};
use crate::units::{Bytes, Duration, Power};

/// A setting of each switch, by number.
type Row = [usize; SWITCHES.len()];

/// The switches, and how many settings each has.
const SWITCHES: [(&str, usize); 23] = [
    ("mode", 5),
    ("copyback", 2),
    ("rotate", 4),
    ("rain", 5),
    ("reconstruct", 4),
    ("cost rule", 2),
    ("update reads", 2),
    ("buffer", 4),
    ("power-loss protection", 2),
    ("erase", 6),
    ("program", 4),
    ("victim", 6),
    ("frontiers", 2),
    ("cut transfers", 2),
    ("per channel", 2),
    ("hold", 2),
    ("load", 2),
    ("planes", 2),
    ("when", 2),
    ("scrub", 2),
    ("map on flash", 2),
    ("placement", 7),
    ("power", 3),
];

const MODES: [GcMode; 6] = [
    GcMode::PlaneBlocking,
    GcMode::Nogc,
    GcMode::Base,
    GcMode::Controller,
    GcMode::Preemptive,
    GcMode::ChannelPreemptive,
];

/// The switches of what goes with plane-blocking only, with parity only, and not with parity over
/// superblocks.
const OF_PLANES: [usize; 3] = [2, 13, 14];
const OF_PARITY: [usize; 3] = [4, 5, 6];
const OF_PLACE: [usize; 6] = [1, 5, 6, 12, 19, 21];

/// False for rows that validation refuses, and for those in which a switch would change nothing.
fn makes_sense(row: &Row) -> bool {
    let [mode, copyback, _, rain, ..] = *row;
    let off = |switches: &[usize]| switches.iter().all(|switch| row[*switch] == 0);
    let (is_pb, is_preemptive, over_superblocks) = (mode == 0, mode == 4, rain == 4);
    (!is_pb || copyback == 1)
        && (is_pb || off(&OF_PLANES))
        && (rain > 0 || off(&OF_PARITY))
        && !(is_preemptive && row[18] == 1)
        && (!over_superblocks || (off(&OF_PLACE) && !is_pb))
        // Its copies have open blocks of their own, and errors of its cache are not modelled.
        && (row[21] < 6 || (row[12] == 0 && row[19] == 0))
        && (row[20] == 0 || (rain == 0 && row[19] == 0 && row[21] == 0))
}

fn setup_of(row: &Row, requests: u64, seed: u64) -> Setup {
    let mut setup = Setup { seed, ..small() };
    let geometry = &mut setup.device.geometry;
    (geometry.channels, geometry.ways, geometry.planes) = (4, 2, 1 + row[17] as u32);
    setup.device.feature.program_planes = geometry.planes;
    set_gc(&mut setup, row);
    set_rain(&mut setup, row);
    set_buffer(&mut setup, row);
    set_suspension(&mut setup, row);
    if row[19] == 1 {
        // Errors within the reach of correction: a read that fails would be another matter.
        setup.scrub =
            ScrubSpec { rate: 20_000.0, rber: 2e-5, rewrite_at: 1, ..ScrubSpec::default() };
    }
    if row[20] == 1 {
        setup.ftl.map =
            MapSpec { cache: Bytes::new(8 * 150), stored: Bytes::new(64), ..MapSpec::default() };
    }
    if row[16] == 1 {
        setup.jobs[0] = rough(&setup.jobs[0]);
    }
    if row[21] > 0 {
        place_data(&mut setup, row[21]);
    }
    if row[22] > 0 {
        let budget = Power::milliwatts([100, 300][row[22] - 1]);
        let [program, erase] = [80, 100].map(Power::milliwatts);
        setup.drive.power = PowerSpec { budget, program, erase };
    }
    setup.jobs[0].requests = requests;
    setup
}

fn set_gc(setup: &mut Setup, row: &Row) {
    let [mode, copyback, rotate, ..] = *row;
    setup.gc.mode = MODES[mode];
    setup.gc.copyback = copyback == 1;
    setup.gc.rotate = [Rotate::Off, Rotate::Static, Rotate::Static, Rotate::Dynamic][rotate];
    setup.gc.rotate_urgent = rotate == 2;
    setup.gc.rotate_window = Duration::from_ms(20);
    setup.gc.cut_transfers = row[13] == 0;
    setup.gc.per_channel = 1 - row[14] as u32;
    setup.gc.when = if row[18] == 1 { GcWhen::Foreground } else { GcWhen::Background };
    let victims = [
        Victim::Greedy,
        Victim::CostBenefit,
        Victim::Fifo,
        Victim::WindowedGreedy,
        Victim::DChoices,
        Victim::Random,
        Victim::Uniform,
    ];
    setup.gc.victim = victims[row[11]];
    setup.ftl.frontiers = if row[12] == 1 { Frontiers::Shared } else { Frontiers::Separate };
}

fn set_rain(setup: &mut Setup, row: &Row) {
    let [_, _, _, rain, reconstruct, rule, updates, ..] = *row;
    if rain == 4 {
        (setup.ftl.allocation, setup.gc.unit) = (Allocation::Dynamic, VictimUnit::Superblock);
    }
    let rules = [Reconstruct::Never, Reconstruct::Full, Reconstruct::Cost, Reconstruct::Always];
    setup.rain = RainSpec {
        width: [0, 4, 2, 4, 4][rain],
        update: if rain == 4 { Update::Superblock } else { Update::InPlace },
        evict: if rain == 3 { Evict::Page } else { Evict::Stripe },
        reconstruct: rules[reconstruct],
        cost_rule: if rule == 1 { CostRule::Rotation } else { CostRule::Estimate },
        update_reads: if updates == 1 { UpdateReads::Reconstruct } else { UpdateReads::Wait },
        ..RainSpec::default()
    };
}

fn set_buffer(setup: &mut Setup, row: &Row) {
    let (buffer, protected) = (row[7], row[8]);
    setup.drive.background_flush = buffer == 0 || buffer == 2;
    setup.drive.full_buffer = if buffer == 3 { FullBuffer::Own } else { FullBuffer::Any };
    setup.drive.write_through = buffer == 2;
    setup.drive.power_loss_protection = protected == 0;
}

fn set_suspension(setup: &mut Setup, row: &Row) {
    let (erase, program) = (row[9], row[10]);
    let erases = [
        EraseMode::None,
        EraseMode::Ideal,
        EraseMode::Es,
        EraseMode::IEs,
        EraseMode::DEs,
        EraseMode::TEs,
    ];
    setup.erase.mode = erases[erase];
    setup.erase.timeout = Duration::from_ms(4);
    setup.erase.hold = Duration::from_us(300 * row[15] as u64);
    setup.program.mode =
        [ProgramMode::None, ProgramMode::Ideal, ProgramMode::Ips, ProgramMode::Ipc][program];
}

/// A load of all sizes, with deallocations and flushes.
fn rough(job: &JobSpec) -> JobSpec {
    JobSpec {
        block_sizes: [(512, 2.0), (4096, 4.0), (6144, 2.0), (40_960, 1.0)]
            .map(|(bytes, weight)| (Bytes::new(bytes), weight))
            .to_vec(),
        align: Bytes::new(512),
        trim_percent: 5.0,
        fua_percent: 10.0,
        flush_every: 40,
        ..job.clone()
    }
}

/// Classes of data, and room for them.
fn place_data(setup: &mut Setup, placement: usize) {
    let rules = [
        DataPlacement::None,
        DataPlacement::Dac,
        DataPlacement::Sepbit,
        DataPlacement::TwoRegions,
        DataPlacement::TwoRegionsSecondChance,
        DataPlacement::Stream,
        DataPlacement::Pslc,
    ];
    setup.ftl.placement = rules[placement];
    if placement == 6 {
        setup.device.slc = Some(SlcTiming {
            bits: 3,
            read: Duration::from_us(20),
            program: Duration::from_us(200),
        });
        (setup.ftl.pslc.static_blocks, setup.ftl.pslc.dynamic_blocks) = (3, 6);
        setup.ftl.pslc.idle = Duration::from_us(200);
    }
    setup.device.geometry.blocks = 48;
    setup.drive.buffer = Bytes::kib(1024);
    let job = &mut setup.jobs[0];
    (job.pattern, job.stream_by) = (Pattern::Tiers, StreamBy::Tier);
}

/// Two settings that meet in a row.
type Pair = ((usize, usize), (usize, usize));

fn pairs_of(row: &Row) -> impl Iterator<Item = Pair> + use<'_> {
    let count = SWITCHES.len();
    (0..count).flat_map(move |a| (a + 1..count).map(move |b| ((a, row[a]), (b, row[b]))))
}

/// Every two settings of two switches.
fn all_pairs() -> impl Iterator<Item = Pair> {
    let settings = || {
        SWITCHES
            .iter()
            .enumerate()
            .flat_map(|(switch, (_, count))| (0..*count).map(move |x| (switch, x)))
    };
    settings()
        .flat_map(move |one| settings().filter(move |two| two.0 > one.0).map(move |two| (one, two)))
}

/// `row` with the two settings of `pair`, and what these need; `None` if they can never meet.
fn mended(row: Row, ((a, x), (b, y)): Pair) -> Option<Row> {
    let is_free = |switch: usize| switch != a && switch != b;
    let with = |mode: Option<usize>, rain: Option<usize>| {
        let mut row = row;
        (row[a], row[b]) = (x, y);
        for (switch, setting) in [(0, mode), (3, rain)] {
            row[switch] = setting.filter(|_| is_free(switch)).unwrap_or(row[switch]);
        }
        let on_flash = row[20] > 0;
        for switch in [3, 19, 21].into_iter().filter(|switch| on_flash && is_free(*switch)) {
            row[switch] = 0;
        }
        let (is_pb, rain) = (row[0] == 0, row[3]);
        let mut clear = |switches: &[usize]| {
            switches.iter().filter(|switch| is_free(**switch)).for_each(|switch| row[*switch] = 0);
        };
        if !is_pb {
            clear(&OF_PLANES);
        }
        if rain == 0 {
            clear(&OF_PARITY);
        }
        if rain == 4 {
            clear(&OF_PLACE);
        }
        if row[0] == 4 && is_free(18) {
            row[18] = 0;
        }
        if is_pb && is_free(1) {
            row[1] = 1;
        }
        makes_sense(&row).then_some(row)
    };
    // As it is, or under plane-blocking or Base, or with parity in place.
    let modes = [None, Some(0), Some(2)];
    modes
        .iter()
        .flat_map(|mode| [None, Some(1)].map(|rain| (*mode, rain)))
        .find_map(|(mode, rain)| with(mode, rain))
}

/// Rows in which every two settings that may meet do.
fn covering() -> Vec<Row> {
    let can_meet = |pair: &Pair| mended([0; SWITCHES.len()], *pair).is_some();
    let mut missing: std::collections::BTreeSet<Pair> = all_pairs().filter(can_meet).collect();
    let mut rows = Vec::new();
    let mut rng = crate::sim::Rng::stream(6, "switches");
    while let Some(first) = missing.first().copied() {
        let candidates = (0..60).filter_map(|_| {
            let row = std::array::from_fn(|switch| rng.below(SWITCHES[switch].1 as u64) as usize);
            mended(row, first)
        });
        let gain = |row: &Row| pairs_of(row).filter(|pair| missing.contains(pair)).count();
        let best = candidates.max_by_key(gain).expect("the pair can be met");
        pairs_of(&best).for_each(|pair| {
            missing.remove(&pair);
        });
        rows.push(best);
    }
    rows
}

fn play(requests: u64) {
    let rows = covering();
    let (mut checked, mut copied, mut computed, mut suspended, mut rewritten) = (0, 0, 0, 0, 0);
    for (seed, row) in (1..).zip(&rows) {
        let setup = setup_of(row, requests, seed);
        let result = std::panic::catch_unwind(|| setup.play());
        let named: Vec<_> = SWITCHES
            .iter()
            .zip(row)
            .map(|((name, _), setting)| format!("{name} {setting}"))
            .collect();
        let Ok(driver) = result else { panic!("{}", named.join(", ")) };
        let counters = driver.drive().counters();
        checked += driver.oracle().unwrap().reads_checked();
        copied += counters.copied_units + counters.free_copies;
        computed += counters.rain.reconstructed_pages;
        suspended += counters.suspended.suspensions + counters.suspended.program_suspensions;
        rewritten += counters.scrub.rewrites;
    }
    println!(
        "{} drives, {checked} reads checked, {copied} copies, {computed} computed pages",
        rows.len()
    );
    let drives = rows.len() as u64;
    assert!(
        checked > drives * requests / 3 && copied > drives * requests / 20,
        "{checked} {copied}"
    );
    assert!(computed > drives * requests / 50 && suspended > drives, "{computed} {suspended}");
    assert!(rewritten > drives, "{rewritten}");
}

#[test]
fn every_two_settings_meet_in_a_row_that_makes_sense() {
    let rows = covering();
    assert!(rows.iter().all(makes_sense));
    assert!(rows.len() >= 36 && rows.len() < 90, "{}: 6 x 6 at least", rows.len());
    let met: std::collections::BTreeSet<Pair> = rows.iter().flat_map(pairs_of).collect();
    // Pairs that validation refuses, by hand: PB without copyback, turns and what they go with
    // elsewhere, rules without parity, preemption in the foreground, what superblocks with parity
    // do not go with, a map on flash with parity or scrubbing, and a cache of blocks with one bit
    // a cell with shared blocks or scrubbing. The rest meets.
    let refused = |((a, x), (b, y)): Pair| match (a, b) {
        (0, 1) => x == 0 && y == 0,
        (0, 2 | 13 | 14) => x > 0 && y > 0,
        (0, 3) => x == 0 && y == 4,
        (1, 2 | 13 | 14) => x == 0 && y > 0,
        (3, 4) => x == 0 && y > 0,
        (3, 5 | 6) => (x == 0 || x == 4) && y > 0,
        (0, 18) => x == 4 && y == 1,
        (1, 3) => x == 1 && y == 4,
        (2, 3) => x > 0 && y == 4,
        (3, 12 | 13 | 14 | 19 | 21) => x == 4 && y > 0,
        (3 | 4 | 5 | 6 | 19, 20) => x > 0 && y > 0,
        (20, 21) => x > 0 && y > 0,
        (12 | 19, 21) => x > 0 && y == 6,
        _ => false,
    };
    for ((a, x), (b, y)) in all_pairs() {
        let pair = ((a, x), (b, y));
        assert_eq!(
            met.contains(&pair),
            !refused(pair),
            "{} {x}, {} {y}",
            SWITCHES[a].0,
            SWITCHES[b].0
        );
    }
}

#[test]
fn drives_of_every_two_settings_complete_every_request_and_keep_the_data() {
    play(1_500);
}

/// `cargo test --release -p manx-core --lib switches -- --ignored --nocapture`: ten million
/// requests in all.
#[test]
// `make test` checks this, too, on the same drives with 1,500 requests each (above): this is only
// longer.
#[ignore = "a campaign of three minutes; the same drives play 1,500 requests each in every test \
            run"]
fn ten_million_requests_on_drives_of_every_two_settings() {
    play(10_000_000 / covering().len() as u64 + 1);
}
