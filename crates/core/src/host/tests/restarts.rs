//! A power loss together with others of a drive's troubles: it fails again during the recovery,
//! rows become illegible, blocks are bad and go bad, the map lies on flash.

use super::recovery::{
    NS, RECOVERED, any, campaign_of, cut_everywhere, driver, look, mixed, with_log,
};
use super::{Setup, one_of, small};
use crate::drive::{Drive, PreconditionState, Recovered};
use crate::flash::FaultSpec;
use crate::ftl::log::Compaction;
use crate::ftl::{Allocation, GcMode, MapSpec, VictimUnit};
use crate::host::{JobSpec, Pattern};
use crate::sim::Rng;
use crate::stats::PowerLossReport;
use crate::units::{Bytes, Duration, Instant, Lpn};

/// The power fails again at 13 times of the recovery of every tenth event; how often that met a
/// repair, and how often it left an erase, or a copy, half done.
pub(super) fn cut_recoveries(setup: &Setup) -> (u32, u32, u32) {
    let mut driver = driver(setup);
    let (mut met, mut erases, mut copies) = (0, 0, 0);
    for event in 0.. {
        let at = driver.next_event_at();
        if at == Instant::NEVER {
            break;
        }
        if event % 10 == 0 {
            let remains = driver.drive().clone().power_cut(at);
            let once = remains.clone().recover();
            let (time, repair) = (once.ready.since(at).as_ns(), 1000 * once.report.repair_us);
            for part in 0..=12 {
                let after = Duration::from_ns(time.saturating_sub(repair * part / 12));
                let twice = remains.clone().cut_again(after).recover();
                twice.drive.ftl().check_laws();
                for lpn in (0..twice.drive.ftl().logical()).map(Lpn) {
                    let versions = [&once, &twice].map(|recovered| recovered.drive.version_of(lpn));
                    assert_eq!(
                        versions[0], versions[1],
                        "{lpn:?} {after} after {at:?} in {setup:?}"
                    );
                }
                let again = PowerLossReport { cut_ns: once.report.cut_ns, ..twice.report };
                assert!(
                    part < 12 || again == once.report,
                    "nothing was repaired yet: {again:?} {:?}",
                    once.report
                );
                met += u32::from(repair > 0);
                erases += u32::from(twice.report.illegible_blocks > once.report.illegible_blocks);
                copies += u32::from(twice.report.torn_rows > once.report.torn_rows);
            }
        }
        driver.play_before(at + NS);
    }
    (met, erases, copies)
}

#[test]
fn power_that_fails_again_during_a_recovery_changes_nothing() {
    let mut setup = mixed(200);
    setup.gc.mode = GcMode::Preemptive;
    let (met, erases, _) = cut_recoveries(&setup);
    assert!(met > 200 && erases > 20, "{met} {erases}");
    for policy in RECOVERED {
        let mut setup = with_log(mixed(200), policy);
        let log = &mut setup.ftl.log;
        (log.superblock_blocks, log.superblock_updates) = (4, 1);
        log.superblock_compaction = Compaction::All;
        let (met, _, copies) = cut_recoveries(&setup);
        assert!(met > 100 && copies > 10, "{policy:?}: {met} {copies}");
    }
}

#[test]
fn a_cut_before_the_first_event_leaves_what_the_drive_began_with() {
    let setup = mixed(10);
    let mut driver = driver(&setup);
    let before = driver.drive().clone();
    let outage = driver.power_cut(Instant::START);
    assert_eq!(
        (outage.report.cut_ns, outage.report.commands_lost, outage.report.torn_rows),
        (0, 0, 0)
    );
    for lpn in (0..before.ftl().logical()).map(Lpn) {
        assert_eq!(driver.drive().version_of(lpn), before.version_of(lpn));
    }
    driver.play_to_the_end();
    assert_eq!(driver.progress().completed, 10);
}

#[test]
fn rows_that_hold_nothing_that_counts_are_not_missed() {
    let (mut rng, mut spoilt) = (Rng::stream(1, "spoilt"), 0);
    for seed in 0..30 {
        let mut driver = driver(&any(seed));
        for _ in 0..20 {
            let at = driver.next_event_at();
            if at == Instant::NEVER {
                break;
            }
            driver.play_before(at + Duration::from_us(rng.below(5_000)));
            let at = driver.next_event_at();
            if at == Instant::NEVER {
                break;
            }
            let mut remains = driver.drive().clone().power_cut(at);
            let before = remains.clone().recover().drive;
            spoilt += remains.spoil(&mut rng, 60);
            let after = remains.recover().drive;
            after.ftl().check_laws();
            for lpn in (0..before.ftl().logical()).map(Lpn) {
                assert_eq!(
                    after.version_of(lpn),
                    before.version_of(lpn),
                    "{lpn:?} at {at:?}, seed {seed}"
                );
            }
        }
    }
    assert!(spoilt > 1_000, "{spoilt}");
}

/// Drives of page mapping whose blocks are bad and go bad.
pub(super) fn faulty(seed: u64) -> Setup {
    let mut rng = Rng::stream(seed, "faulty");
    let mut setup = mixed(900);
    setup.seed = seed;
    (setup.device.geometry.blocks, setup.device.op) = (28, 0.6);
    setup.device.geometry.planes = one_of(&mut rng, &[1, 2]);
    setup.faults = FaultSpec {
        factory_bad: 0.02,
        program_fail: 0.01,
        erase_fail: 0.02,
        ..FaultSpec::default()
    };
    setup.gc.mode = one_of(&mut rng, &[GcMode::Base, GcMode::Controller, GcMode::Preemptive]);
    setup.ftl.allocation = Allocation::Dynamic;
    setup.gc.unit =
        one_of(&mut rng, &[VictimUnit::Block, VictimUnit::PlaneGroup, VictimUnit::Superblock]);
    setup.drive.buffer = Bytes::kib(256);
    setup.drive.power_loss_protection = rng.below(3) == 0;
    setup.precondition.state = PreconditionState::Steady;
    setup
}

#[test]
fn drives_whose_blocks_go_bad_survive_cuts_and_go_on() {
    let (mut cuts, mut retired, mut failed) = (0, 0, 0);
    for seed in 0..40 {
        let (driver, done) = campaign_of(&faulty(seed), seed, 6);
        let faults = driver.drive().counters().faults;
        (cuts, retired, failed) =
            (cuts + done, retired + faults.retired, failed + faults.program_failures);
    }
    assert!(
        cuts > 200 && retired > 100 && failed > 100,
        "{cuts} cuts, {retired} retired, {failed} failed"
    );
}

#[test]
fn log_blocks_that_cannot_be_erased_stay_out_of_service_behind_a_cut() {
    let (mut cuts, mut retired) = (0, 0);
    for seed in 0..16 {
        let mut setup = with_log(mixed(500), RECOVERED[seed as usize % 3]);
        setup.seed = seed;
        (setup.device.geometry.blocks, setup.device.op, setup.ftl.log.log_percent) =
            (34, 0.6, 60.0);
        setup.faults = FaultSpec {
            factory_bad: 0.02,
            program_fail: 0.0,
            erase_fail: 0.02,
            ..FaultSpec::default()
        };
        let (driver, done) = campaign_of(&setup, seed, 6);
        (cuts, retired) = (cuts + done, retired + driver.drive().counters().faults.retired);
    }
    assert!(cuts > 80 && retired > 20, "{cuts} cuts, {retired} retired");
}

/// A map of which DRAM holds `entries`, 32 in a translation page.
fn with_map(mut setup: Setup, entries: u64) -> Setup {
    setup.ftl.map =
        MapSpec { cache: Bytes::new(8 * entries), stored: Bytes::new(128), ..MapSpec::default() };
    setup.device.geometry.blocks = 14;
    setup
}

#[test]
fn a_map_on_flash_survives_a_cut_at_every_event() {
    for (mode, entries) in
        [(GcMode::Base, 4), (GcMode::Preemptive, 40), (GcMode::Nogc, 12), (GcMode::Controller, 1)]
    {
        let mut setup = with_map(mixed(100), entries);
        setup.gc.mode = mode;
        let cuts = cut_everywhere(&setup);
        assert!(cuts > 500, "{mode:?}: {cuts}");
    }
}

#[test]
fn drives_with_a_map_on_flash_survive_cuts_and_go_on() {
    let cuts: u32 = (0..40)
        .map(|seed| {
            let mut rng = Rng::stream(seed, "map");
            let mut setup = with_map(mixed(400), one_of(&mut rng, &[1, 5, 30, 2_000]));
            (setup.ftl.map.batch, setup.ftl.map.lazy) = (rng.below(3) > 0, rng.below(3) > 0);
            setup.gc.mode = one_of(
                &mut rng,
                &[GcMode::Base, GcMode::Controller, GcMode::Preemptive, GcMode::Nogc],
            );
            setup.drive.power_loss_protection = rng.below(3) == 0;
            setup.precondition.state =
                one_of(&mut rng, &[PreconditionState::Empty, PreconditionState::Steady]);
            campaign_of(&setup, seed, 6).1
        })
        .sum();
    assert!(cuts > 200, "{cuts}");
}

/// One die on a channel of its own: each translation page is read whole, after the scan, and those
/// that are out of date are owed when the drive is back.
#[test]
fn the_time_of_a_recovery_counts_the_translation_pages() {
    for (entries, written) in [(2_000, 0), (1, 2)] {
        let mut setup = with_map(mixed(0), entries);
        let geometry = &mut setup.device.geometry;
        (geometry.channels, geometry.ways) = (1, 1);
        setup.precondition.state = PreconditionState::Empty;
        setup.drive.write_through = true;
        setup.jobs[0] = JobSpec {
            requests: 40,
            read_percent: 0.0,
            pattern: Pattern::Sequential,
            queue_depth: 1,
            ..small().jobs[0].clone()
        };
        let mut driver = driver(&setup);
        driver.play_to_the_end();
        let at = driver.now() + NS;
        let Recovered { report, drive, .. } = look(&driver, at, &setup);
        // Nothing was collected: of many versions of a translation page the directory finds the
        // very one it had.
        for page in 0..2 {
            let place = |drive: &Drive| drive.ftl().member_at(drive.ftl().translation_page(page));
            assert_eq!(
                place(&drive),
                place(driver.drive()),
                "{entries} entries, translation page {page}"
            );
        }
        assert_eq!(driver.drive().counters().map.page_programs > 20, entries == 1);
        // 40 pages are written: those of two translation pages. A cache of one entry let all but
        // the last go.
        assert_eq!(
            (report.map_reads, report.map_stale),
            (written, if entries == 1 { 1 } else { 2 })
        );
        // 175 ns, 40 us and the 102.4 us of 4 KiB at 40 MB/s.
        assert_eq!(report.map_us, (written * (175 + 40_000 + 102_400)).div_ceil(1000));
        let parts = report.journal_us + report.scan_us + report.map_us + report.repair_us;
        assert!(report.recovery_us <= parts && parts <= report.recovery_us + 3, "{report:?}");
        driver.power_cut(at);
        driver.drive().check_map();
    }
}
