//! Checkpoints of the map: a recovery from one finds what a scan of everything finds, reads what it
//! must and no more, and takes the one before when the newest is torn.

use super::recovery::{NS, any, campaign_of, cut_everywhere, driver, look, mixed, play_some};
use super::restarts::{cut_recoveries, faulty};
use super::{Setup, one_of, small};
use crate::drive::{CrashImage, PreconditionState, Recovered};
use crate::ftl::{FtlKind, GcMode};
use crate::host::{JobSpec, Pattern};
use crate::sim::Rng;
use crate::units::{Bytes, Duration, Instant, Lpn};

fn with_checkpoints(mut setup: Setup, every: Bytes) -> Setup {
    setup.recovery.checkpoint_every = Some(every);
    setup
}

/// Drives of page mapping of many kinds, with checkpoints from one that never ends to one that is
/// never due.
fn any_with_checkpoints(seed: u64) -> Option<Setup> {
    let every = one_of(&mut Rng::stream(seed, "every"), &[4, 16, 40, 100, 400, 100_000]);
    Some(any(seed))
        .filter(|setup| setup.ftl.kind == FtlKind::Page)
        .map(|setup| with_checkpoints(setup, Bytes::kib(every)))
}

/// How two recoveries compare.
#[derive(Default)]
struct Compared {
    recoveries: u32,
    /// Of those, where the checkpoint spared reads, and where every page counts in the very same
    /// place.
    spared: u32,
    same: u32,
}

impl Compared {
    /// Recovers with the checkpoint and without it. A collection that was cut and begun again may
    /// leave two copies of a version that are the same in all; which of them counts is the one
    /// difference that there may be: the checkpoint knows it, the scan takes the first.
    fn compare(&mut self, remains: &CrashImage, setup: &Setup) {
        let [with, without] =
            [remains.clone(), remains.clone().without_checkpoints()].map(CrashImage::recover);
        let [a, b] = [&with, &without].map(|recovered| recovered.drive.ftl());
        let at = || format!("at {:?}, seed {} in {setup:?}", remains.at(), setup.seed);
        for lpn in (0..a.logical()).map(Lpn) {
            let [x, y] = [a, b].map(|ftl| ftl.mapping().physical(lpn));
            let spares = [x, y].map(|page| page.is_some().then(|| remains.flash().spare(page)));
            assert!(
                x == y || (spares[0] == spares[1] && spares[0].is_some()),
                "{lpn:?}: {x:?}, {y:?} {}",
                at()
            );
            assert_eq!(
                with.drive.version_of(lpn),
                without.drive.version_of(lpn),
                "{lpn:?} {}",
                at()
            );
        }
        let is_same = a.mapping().table() == b.mapping().table();
        for pool in a.each_pool().filter(|_| is_same) {
            assert_eq!(a.describe_pool(pool), b.describe_pool(pool), "{}", at());
        }
        let repairs =
            |recovered: &Recovered| (recovered.report.erases, recovered.report.illegible_blocks);
        assert!(!is_same || repairs(&with) == repairs(&without), "{}", at());
        self.recoveries += 1;
        self.same += u32::from(is_same);
        self.spared += u32::from(with.report.reads < without.report.reads);
    }

    fn are_many(&self, least: u32) {
        let Self { recoveries, spared, same } = *self;
        assert!(
            recoveries > least && 3 * spared > recoveries && 10 * same > 8 * recoveries,
            "{recoveries} {spared} {same}"
        );
    }
}

/// Cuts the run again and again, at instants in the midst of anything; each time the recoveries are
/// compared, also behind a second cut and rows that were spoilt.
fn compare_often(setup: &Setup, seed: u64, cuts: u32, compared: &mut Compared) {
    let mut driver = driver(setup);
    let mut rng = Rng::stream(seed, "compared");
    for _ in 0..cuts {
        let at = play_some(&mut driver, &mut rng, 250);
        if at == Instant::NEVER {
            break;
        }
        let mut remains = driver.drive().clone().power_cut(at);
        compared.compare(&remains, setup);
        remains.spoil(&mut rng, 20);
        compared.compare(&remains, setup);
        let whole = remains.clone().recover().ready.since(at).as_ns();
        remains = remains.cut_again(Duration::from_ns(whole - rng.below(whole + 1)));
        compared.compare(&remains, setup);
        // Every other time the drive itself loses its power.
        if rng.below(2) == 0 {
            let outage = driver.power_cut(at);
            assert!(outage.broken.is_empty());
        }
    }
    driver.play_to_the_end();
    assert_eq!(driver.oracle().expect("there is one").mismatches(), 0);
}

#[test]
fn a_checkpoint_and_a_scan_of_everything_leave_the_same_maps() {
    let mut compared = Compared::default();
    for seed in 0..90 {
        let Some(setup) = any_with_checkpoints(seed) else { continue };
        compare_often(&setup, seed, 8, &mut compared);
    }
    compared.are_many(1_000);
}

#[test]
fn with_blocks_that_go_bad_they_leave_the_same_maps() {
    let mut compared = Compared::default();
    for seed in 0..30 {
        let every = one_of(&mut Rng::stream(seed, "every"), &[8, 40, 100, 400]);
        let setup = with_checkpoints(faulty(seed), Bytes::kib(every));
        compare_often(&setup, seed, 8, &mut compared);
        campaign_of(&setup, seed, 6);
    }
    compared.are_many(400);
}

#[test]
fn page_mapping_with_checkpoints_survives_a_cut_at_every_event() {
    for (mode, every) in [
        (GcMode::Base, 16),
        (GcMode::Preemptive, 60),
        (GcMode::PlaneBlocking, 30),
        (GcMode::Nogc, 60),
    ] {
        let mut setup = with_checkpoints(mixed(150), Bytes::kib(every));
        setup.gc.mode = mode;
        setup.gc.copyback = mode == GcMode::PlaneBlocking;
        let cuts = cut_everywhere(&setup);
        assert!(cuts > 500, "{mode:?}: {cuts}");
    }
}

#[test]
fn drives_with_checkpoints_survive_random_cuts_and_go_on() {
    let setups =
        (100..190).filter_map(|seed| any_with_checkpoints(seed).map(|setup| (seed, setup)));
    let cuts: u32 = setups.map(|(seed, setup)| campaign_of(&setup, seed, 6).1).sum();
    assert!(cuts >= 250, "{cuts}");
}

#[test]
fn power_that_fails_again_during_a_recovery_from_a_checkpoint_changes_nothing() {
    let mut setup = with_checkpoints(mixed(200), Bytes::kib(60));
    setup.gc.mode = GcMode::Preemptive;
    let (met, erases, _) = cut_recoveries(&setup);
    assert!(met > 200 && erases > 20, "{met} {erases}");
}

/// One die on a channel of its own, six blocks of eight rows of a page, written sequentially, with
/// a checkpoint every five rows.
fn one_die() -> Setup {
    let mut setup = with_checkpoints(mixed(0), Bytes::kib(20));
    let geometry = &mut setup.device.geometry;
    (geometry.channels, geometry.ways, geometry.blocks, geometry.pages) = (1, 1, 6, 8);
    setup.precondition.state = PreconditionState::Empty;
    setup.drive.power_loss_protection = false;
    setup.drive.write_through = true;
    setup.jobs[0] = JobSpec {
        requests: 14,
        read_percent: 0.0,
        pattern: Pattern::Sequential,
        queue_depth: 1,
        ..small().jobs[0].clone()
    };
    setup
}

#[test]
fn the_time_of_a_recovery_from_a_checkpoint_is_the_sum_of_its_reads() {
    // A channel of 40 MB/s carries 512 B in 12.8 us and 4 KiB in 102.4 us; a command takes 175 ns
    // and tR 40 us.
    let (spare, page) =
        (Duration::from_ns(175 + 40_000 + 12_800), Duration::from_ns(175 + 40_000 + 102_400));
    let setup = one_die();
    let mut driver = driver(&setup);
    let mut met = [0; 3];
    loop {
        let at = driver.next_event_at();
        if at == Instant::NEVER {
            break;
        }
        let whole = driver.drive().counters().checkpoints;
        let begun = driver.drive().clone().power_cut(at);
        let written: u64 = (0..6)
            .map(|block| u64::from(begun.flash().rows_written(crate::flash::Block(block))))
            .sum();
        let vouched = 5 * whole;
        // The head of each of six blocks, and the rows since. The first row of the second block is
        // a head, and the first erased row of an open block tells that it ends there.
        let since = written
            - vouched
            - u64::from(vouched <= 8 && written > 8)
            - u64::from(vouched == 0 && written > 0);
        let reads = 6 + since + u64::from(!written.is_multiple_of(8));
        let Recovered { ready, report, .. } = look(&driver, at, &setup);
        assert_eq!(report.reads, reads, "{written} rows, {whole} checkpoints: {report:?}");
        // 24 places and 6 blocks fit in a page; the last pages of both places are read, too.
        assert_eq!(report.checkpoint_reads, 3);
        // A block whose only row is torn is erased: a command and five steps of 400 us.
        let erases = Duration::from_ns(125 + 2_000_000) * report.erases;
        assert_eq!(ready.since(at), page * 3 + spare * reads + erases);
        assert_eq!(
            report.blocks_scanned,
            u64::from(written.min(8) > vouched.min(8)) + u64::from(written.max(8) > vouched.max(8))
        );
        met[whole as usize] += 1;
        driver.play_before(at + NS);
    }
    assert!(met.iter().all(|met| *met > 2), "{met:?}");
    assert_eq!(driver.drive().counters().checkpoint_units, 2 * 2);
    assert_eq!(driver.drive().counters().units_programmed(), 14 + 2 * 2);
}

#[test]
fn a_listed_page_is_read_where_only_its_number_can_tell() {
    // Two writes of each of four pages, no checkpoint after the first one, which lists none of
    // them: numbers are new.
    let mut setup = one_die();
    setup.recovery.checkpoint_every = Some(Bytes::kib(1024));
    setup.precondition.state = PreconditionState::Fill;
    let mut driver = driver(&setup);
    driver.play_to_the_end();
    let at = driver.now() + NS;
    let report = look(&driver, at, &setup).report;
    let blocks: u64 = (0..6)
        .map(|block| u64::from(driver.drive().flash().rows_written(crate::flash::Block(block)) > 0))
        .sum();
    assert!(blocks >= 4 && driver.drive().counters().copied_units == 0);
    // 24 pages were there: three blocks; 14 came: eight (one a head) of a block, six (one a head)
    // of another and its end.
    assert_eq!(report.reads, 6 + 7 + 5 + 1, "{report:?}");
}

#[test]
fn deallocations_before_a_checkpoint_are_in_it_and_their_journal_is_not_read() {
    let mut setup = with_checkpoints(mixed(400), Bytes::kib(100));
    setup.jobs[0].trim_percent = 20.0;
    let mut driver = driver(&setup);
    driver.play_to_the_end();
    let at = driver.now() + NS;
    let remains = driver.drive().clone().power_cut(at);
    let [with, without] =
        [remains.clone(), remains.without_checkpoints()].map(|remains| remains.recover().report);
    assert!(
        driver.drive().counters().journal_pages > 10 && driver.drive().counters().checkpoints > 3
    );
    assert!(with.journal_us * 3 < without.journal_us, "{with:?} {without:?}");
}
