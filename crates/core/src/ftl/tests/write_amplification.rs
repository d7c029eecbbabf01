//! The write amplification of greedy under uniformly random writes, against its closed form.

use super::{device, map};
use crate::ftl::timeless::{NoMedium, Work, Writer};
use crate::ftl::{FreeBlock, FtlSpec, GcSpec, PageMap, Victim};
use crate::sim::Rng;
use crate::sim::math::exp;
use crate::units::{Lpn, Pool};

/// The finite-block greedy fixed point: `user` pages on `usable` blocks of `b` pages.
///
/// In the steady state let `r` blocks be reclaimed for each page that the host writes, and x_j
/// blocks hold j valid pages. A host write invalidates one of the `user` valid pages, any with the
/// same chance, so a block of level j falls to j - 1 at the rate j / user. Blocks enter at level b
/// at the rate r (each reclaimed one is written again, full of valid pages), and all of them pass
/// every level above the victims': x_j j / user = r, that is x_j = r user / j. Greedy takes what
/// has fewest valid pages: some m, reached by a share f of the blocks, and m + 1 for the others, so
/// x_(m+1) = f r user / (m + 1) and nothing is left below. A victim brings b - (m f + (m + 1)(1 -
/// f)) = b - m - 1 + f free pages, and the host uses them: r = 1 / that. The blocks add up: r (user
/// / usable) (H_b - H_(m+1) + f / (m + 1)) = 1, which is linear in f. Everything programmed is r b.
fn greedy_fixed_point(user: f64, usable: f64, b: u32) -> f64 {
    let harmonic = |n: u32| (1..=n).map(|k| 1.0 / f64::from(k)).sum::<f64>();
    for m in 0..b {
        let (load, gap) = (user / usable, f64::from(b - m - 1));
        let f = (gap - load * (harmonic(b) - harmonic(m + 1))) / (load / f64::from(m + 1) - 1.0);
        if (0.0..=1.0).contains(&f) && gap + f > 0.0 {
            return f64::from(b) / (gap + f);
        }
    }
    panic!("{user} pages do not fit {usable} blocks of {b}");
}

/// WAF of a settled run of uniformly random overwrites: five times the user pages to settle, four
/// to measure.
fn measured(blocks: u32, b: u32, user: u32, gc: &GcSpec) -> f64 {
    let ftl = FtlSpec { free_block: FreeBlock::Fifo, ..FtlSpec::default() };
    let mut map = map(&device(blocks, b), &ftl, gc, user);
    let (mut rng, mut writer) = (Rng::stream(1, "waf"), Writer::new(&mut map));
    (0..user).for_each(|lpn| writer.write(Lpn(lpn)).expect("room"));
    let mut overwrite = |times: u32| {
        (0..times * user)
            .for_each(|_| writer.write(Lpn(rng.below(u64::from(user)) as u32)).expect("room"));
        writer.work()
    };
    let (settled, end) = (overwrite(5), overwrite(4));
    let work = end.since(&settled);
    work.programmed() as f64 / work.written as f64
}

/// With large blocks the fixed point becomes the mean-field limit: victims are valid to the share a
/// that solves (1 - a) / -ln a = user / raw, and WAF = 1 / (1 - a) (Desnoyers, SYSTOR 2012).
#[test]
fn the_fixed_point_of_large_blocks_is_the_mean_field_limit() {
    for load in [0.5, 0.8, 0.9f64] {
        let share = (0..2_000).fold(0.5, |a: f64, _| exp(-(1.0 - a) / load));
        let large = greedy_fixed_point(4096.0 * load * 100.0, 100.0, 4096);
        assert!(
            (large * (1.0 - share) - 1.0).abs() < 0.005,
            "{load}: {large} and {}",
            1.0 / (1.0 - share)
        );
    }
}

/// Effective over-provisioning = (raw - user - reserve - open) / user in pages. The reserve is the
/// soft mark: collecting stops when that share of the raw pages is free, and begins when it no
/// longer is. Free pages are counted in the open blocks too, so of the two open blocks (host,
/// copies) only what is programmed is lost to the victims: half of each, one block in all.
#[test]
fn uniform_random_greedy_meets_the_finite_block_fixed_point_at_three_levels_of_spare_space() {
    let mut table = String::new();
    let mut worst = 0.0f64;
    for (blocks, b, spare) in
        [(2048, 32, 0.08), (2048, 32, 0.15), (2048, 32, 0.28), (1024, 64, 0.15)]
    {
        let gc = GcSpec { soft: 0.01.into(), hard: 0.0.into(), ..GcSpec::default() };
        let raw = blocks * b;
        let (reserve, open) = ((gc.soft.share_of(blocks) * f64::from(raw)).floor(), f64::from(b));
        let user = ((f64::from(raw) - reserve - open) / (1.0 + spare)) as u32;
        let usable = (f64::from(raw) - reserve - open) / f64::from(b);
        let expected = greedy_fixed_point(f64::from(user), usable, b);
        let measured = measured(blocks, b, user, &gc);
        let off = measured / expected - 1.0;
        worst = worst.max(off.abs());
        table += &format!(
            "{blocks:5} x {b:2}  op {spare:.2}  fixed point {expected:.4}  measured {measured:.4}  \
             {:+.2} %\n",
            100.0 * off
        );
    }
    println!("{table}");
    assert!(worst < 0.02, "within 2 %:\n{table}");
}

#[test]
fn more_spare_space_and_later_collection_amplify_less() {
    let waf = |soft: f64, user: u32| {
        measured(
            256,
            32,
            user,
            &GcSpec { soft: soft.into(), hard: 0.0.into(), ..GcSpec::default() },
        )
    };
    let raw = 256 * 32;
    assert!(waf(0.02, raw * 80 / 100) < waf(0.02, raw * 88 / 100));
    assert!(
        waf(0.02, raw * 85 / 100) < waf(0.08, raw * 85 / 100),
        "space kept free is space not used"
    );
}

/// On uniformly random writes nothing beats greedy; d-choices comes close; a window is between fifo
/// and greedy; random is worst.
#[test]
fn victim_policies_amplify_in_their_known_order() {
    let waf = |victim, choices, window| {
        let gc = GcSpec {
            victim,
            choices,
            window,
            soft: 0.02.into(),
            hard: 0.0.into(),
            ..GcSpec::default()
        };
        measured(256, 32, 256 * 32 * 84 / 100, &gc)
    };
    let greedy = waf(Victim::Greedy, 1, 1);
    let (two, ten) = (waf(Victim::DChoices, 2, 1), waf(Victim::DChoices, 10, 1));
    let (fifo, window) = (waf(Victim::Fifo, 1, 1), waf(Victim::WindowedGreedy, 1, 32));
    let random = waf(Victim::Random, 1, 1);
    assert!(greedy < ten && ten < two && two < random, "d-choices: {greedy} {ten} {two} {random}");
    let uniform = waf(Victim::Uniform, 1, 1);
    assert!(random < uniform, "full blocks are copied too: {random} {uniform}");
    assert!(greedy < window && window < fifo, "windowed: {greedy} {window} {fifo}");
    assert!(fifo < random, "the oldest block is emptier than any: {fifo} {random}");
    let whole = waf(Victim::WindowedGreedy, 1, 256);
    assert!(
        (whole / greedy - 1.0).abs() < 0.01,
        "a window over everything is greedy: {whole} {greedy}"
    );
}

/// All blocks are full but one, which has a stale page: full ones are copied whole, 64 in a row at
/// most, and where nothing is stale any more none is chosen.
#[test]
fn uniform_victims_may_be_full_but_a_collector_of_full_ones_ends() {
    let (blocks, pages) = (128, 8);
    let gc = GcSpec { victim: Victim::Uniform, soft: 0.0.into(), ..GcSpec::default() };
    let gc = GcSpec { hard: 0.0.into(), ..gc };
    let mut fruitless = Vec::new();
    for seed in 0..30 {
        let (device, ftl) = (device(blocks, pages), FtlSpec::default());
        let mut map = PageMap::new(&device, &ftl, &gc, 100 * pages, seed);
        let mut writer = Writer::new(&mut map);
        (0..100 * pages).for_each(|lpn| writer.write(Lpn(lpn)).expect("room"));
        writer.finish().expect("room");
        map.trim(Lpn(seed as u32));
        let (mut work, mut before) = (Work::default(), 0);
        while map.collect_now(Pool(0), &mut NoMedium, &mut work) {
            let copied = work.copied - before;
            before = work.copied;
            if copied < u64::from(pages) {
                assert_eq!(copied, u64::from(pages) - 1, "seed {seed}: the one that gains");
                fruitless.push(work.erased - 1);
            }
        }
        assert_eq!(fruitless.len(), seed as usize + 1, "seed {seed}: it gains once");
        map.check_laws();
    }
    assert!(fruitless.iter().all(|full| *full <= 64), "{fruitless:?}");
    assert!(fruitless.contains(&64) && fruitless.iter().any(|full| *full < 64), "{fruitless:?}");
}
