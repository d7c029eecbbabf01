//! Timelines of drives drawn at random: what is on them is what the drive did, and nothing twice.

use super::{Setup, drawn};
use crate::drive::{Drive, EraseLength, EraseMode, ProgramMode, Recorded, TimelineSpec};
use crate::flash::{Act, BlockStress, ChannelOrder, Slice};
use crate::ftl::{GcMode, Pace};
use crate::host::Driver;
use crate::stats::SuspensionCounters;
use crate::units::{Duration, Instant};

pub(super) const EVERYTHING: TimelineSpec = TimelineSpec {
    from: Instant::START,
    to: Instant::NEVER,
    slow: Some(Duration::ZERO),
    limit: u64::MAX,
};

/// The drive after its last event, and what it counted when the driver was done.
fn played(setup: &Setup, spec: Option<&TimelineSpec>) -> (Drive, Driver) {
    let mut drive = setup.drive();
    if let Some(spec) = spec {
        drive.keep_timeline(spec);
    }
    let mut driver = setup.driver_of(drive);
    driver.play_to_the_end();
    let mut drive = driver.drive().clone();
    while drive.advance_before(Instant::NEVER).is_some() {}
    (drive, driver)
}

fn assert_apart<'a>(slices: impl Iterator<Item = &'a Slice>, what: &str) {
    let mut slices: Vec<_> = slices.collect();
    slices.sort_by_key(|slice| slice.start);
    for pair in slices.windows(2) {
        assert!(pair[0].end <= pair[1].start, "{what}: {:?} and {:?}", pair[0], pair[1]);
    }
}

fn check(
    drive: &Drive,
    recorded: &Recorded<'_>,
    (as_steps, programs_too): (bool, bool),
    seed: u64,
) {
    let (flash, layout) = (drive.flash(), &drive.flash().layout);
    for die in layout.each_die() {
        let on = |s: &&Slice| s.die == die && !s.act.is_on_channel() && s.act != Act::Suspended;
        assert_apart(recorded.slices.iter().filter(on), &format!("seed {seed}, die {die}"));
    }
    for channel in layout.each_channel() {
        let on = |s: &&Slice| layout.channel_of(s.die) == channel && s.act.is_on_channel();
        assert_apart(recorded.slices.iter().filter(on), &format!("seed {seed}, channel {channel}"));
    }
    for slice in recorded.slices {
        assert!(slice.start < slice.end, "seed {seed}: {slice:?}");
        assert_eq!(layout.die_of(layout.lane_of(slice.block)), slice.die, "seed {seed}: {slice:?}");
        let (timing, time) = (flash.timing(), slice.end.since(slice.start));
        match slice.act {
            Act::Read => assert_eq!(time, timing.read(layout, slice.page), "seed {seed}"),
            Act::Program if !programs_too => {
                assert_eq!(time, timing.program(layout, slice.page), "seed {seed}")
            }
            Act::Erase if !as_steps => {
                assert_eq!(time, timing.erase_step * u64::from(timing.erase_steps), "seed {seed}")
            }
            _ => {}
        }
    }
    let count = |act| recorded.slices.iter().filter(|slice| slice.act == act).count() as u64;
    let done = flash.operations();
    assert_eq!((count(Act::Read), count(Act::DataIn)), (done.reads, done.programs));
    let SuspensionCounters { suspensions, aborted, program_suspensions, aborted_phases, .. } =
        drive.counters().suspended;
    let timing = flash.timing();
    let of = |act| recorded.slices.iter().filter(move |slice| slice.act == act);
    let spent = |act| of(act).fold(Duration::ZERO, |sum, slice| sum + slice.end.since(slice.start));
    let fixed = timing.erase_step * (u64::from(timing.erase_steps) * done.erases);
    let sum =
        |blocks: &[BlockStress]| blocks.iter().fold(Duration::ZERO, |sum, block| sum + block.pulse);
    let whole = if as_steps { sum(flash.stress()) } else { fixed };
    assert_eq!(spent(Act::Erase), whole + aborted, "seed {seed}");
    let whole =
        of(Act::DataIn).fold(Duration::ZERO, |sum, slice| sum + timing.program(layout, slice.page));
    assert_eq!(spent(Act::Program), whole + aborted_phases, "seed {seed}");
    let suspensions = suspensions + program_suspensions;
    assert!(
        count(Act::Suspended) <= suspensions && count(Act::Resuming) <= suspensions,
        "seed {seed}"
    );
    assert!(suspensions == 0 || count(Act::Suspended) > 0, "seed {seed}");
    assert!(as_steps || count(Act::Erase) == done.erases, "seed {seed}");
    assert!(count(Act::Program) <= done.programs + program_suspensions, "seed {seed}");
}

fn check_times(drive: &Drive, recorded: &Recorded<'_>, cached: bool, seed: u64) {
    let sum = |on_channel| {
        let of = recorded.slices.iter().filter(|slice| slice.act.is_on_channel() == on_channel);
        let of = of.filter(|slice| slice.act != Act::Suspended);
        of.fold(Duration::ZERO, |sum, slice| sum + slice.end.since(slice.start))
    };
    let (dies, channels) = drive.flash().busy();
    assert_eq!(sum(true), channels, "seed {seed}: the channels' time");
    if !cached {
        // Without cache registers a die is busy with its array, with its data on the channel, or
        // waits for the channel.
        // Commands of a suspension cross beside its work, or in the time in which it resumes.
        let beside = |slice: &&Slice| matches!(slice.act, Act::SuspendCommand | Act::ResumeCommand);
        let beside = recorded.slices.iter().filter(beside);
        let dies = beside.fold(dies, |sum, slice| sum + slice.end.since(slice.start));
        assert_eq!(sum(false) + sum(true), dies, "seed {seed}: the dies' time");
    }
}

#[test]
fn slices_of_a_die_or_channel_never_overlap_and_add_up_to_its_busy_time() {
    let (mut cached, mut collections, mut slow) = (0, [0; GcMode::ALL.len()], 0);
    for seed in 0..120 {
        let mut setup = drawn(seed);
        setup.jobs[0].requests = 600;
        let (drive, driver) = played(&setup, Some(&EVERYTHING));
        let recorded = drive.recorded(Instant::from_ns(u64::MAX - 1)).expect("it was asked for");
        let as_steps =
            setup.erase.mode != EraseMode::None || setup.erase.length != EraseLength::Fixed;
        let suspends = (as_steps, setup.program.mode != ProgramMode::None);
        check(&drive, &recorded, suspends, seed);
        let feature = &setup.device.feature;
        check_times(&drive, &recorded, feature.cache_read || feature.cache_program, seed);
        cached += u32::from(feature.cache_read && feature.cache_program);
        assert_eq!(
            recorded.requests.len() as u64,
            driver.progress().completed,
            "seed {seed}: every request is slow"
        );
        slow += recorded.requests.iter().filter(|slow| slow.end > slow.start).count();
        let ended = recorded.collections.iter().filter(|c| !c.unfinished);
        let erased: u32 = ended.clone().map(|c| drive.ftl().lanes_of(c.pool).len() as u32).sum();
        assert_eq!(
            u64::from(erased),
            drive.flash().operations().erases,
            "seed {seed}: every erase has its collection"
        );
        let copied: u64 = recorded.collections.iter().map(|c| u64::from(c.copied)).sum();
        assert_eq!(copied, drive.counters().copied_units, "seed {seed}");
        // A collection that waits for the host's writes waits for ever when they end.
        let may_wait = setup.gc.pace == Pace::Writes;
        assert!(may_wait || ended.clone().count() == recorded.collections.len(), "seed {seed}");
        for c in ended {
            assert!(
                c.draining <= c.copying && c.copying <= c.erasing && c.erasing < c.end,
                "seed {seed}: {c:?}"
            );
            assert!(c.copied <= c.valid, "seed {seed}: {c:?}");
        }
        collections[setup.gc.mode as usize] += recorded.collections.len();
    }
    assert_eq!(collections[GcMode::Nogc as usize], 0, "nogc collects in no time");
    assert!(
        collections.iter().filter(|count| **count > 50).count() == GcMode::ALL.len() - 1,
        "{collections:?}"
    );
    assert!(cached > 3 && slow > 10_000, "{cached} {slow}");
}

#[test]
fn a_timeline_changes_nothing_and_a_window_of_it_is_a_part_of_the_whole() {
    for seed in 0..24 {
        let mut setup = drawn(seed);
        setup.jobs[0].requests = 400;
        let (_, bare) = played(&setup, None);
        let (whole, driver) = played(&setup, Some(&EVERYTHING));
        assert_eq!(super::digest(&bare), super::digest(&driver), "seed {seed}");
        let now = driver.now();
        let (from, to) = (Instant::from_ns(now.as_ns() / 3), Instant::from_ns(now.as_ns() / 2));
        let (part, _) = played(&setup, Some(&TimelineSpec { from, to, ..EVERYTHING }));
        let (whole, part) = (whole.recorded(now).unwrap(), part.recorded(now).unwrap());
        let expected: Vec<_> =
            whole.slices.iter().filter(|s| s.end > from && s.start < to).copied().collect();
        // A slice at the edge may have been moved over it by a cut, or by who goes first.
        let cuts = (setup.gc.mode == GcMode::PlaneBlocking && setup.gc.cut_transfers)
            || setup.drive.channel_order != ChannelOrder::FirstCome;
        assert!(cuts || part.slices == expected, "seed {seed}");
        let expected: Vec<_> =
            whole.requests.iter().filter(|s| s.end > from && s.start < to).copied().collect();
        assert_eq!(part.requests, expected, "seed {seed}");
        let (few, _) = played(&setup, Some(&TimelineSpec { limit: 100, ..EVERYTHING }));
        let few = few.recorded(now).unwrap().room;
        assert_eq!((few.kept, few.kept + few.left_out), (100, whole.room.kept), "seed {seed}");
    }
}
