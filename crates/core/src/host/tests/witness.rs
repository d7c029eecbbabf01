//! An independent witness of busy windows: every flash operation of garbage collection, from the
//! slices of dies and channels, against a schedule that is computed here, in integers, from the
//! bytes of feature 13h.

use super::predictable::{Game, requests};
use super::{Setup, drawn};
use crate::drive::{EraseMode, ProgramMode, Windows};
use crate::flash::{Act, ChannelOrder, Slice};
use crate::ftl::FtlKind;
use crate::nvme::plm::Schedule;
use crate::stats::PredictableCounters;
use crate::units::{Duration, Instant};

/// The vendor's 32 bytes as a host writes them: array type, width, index, window, start of the
/// cycle and guard in ns.
fn bytes(width: u8, index: u16, [window, start, guard]: [u64; 3]) -> [u8; 32] {
    let mut bytes = [0; 32];
    (bytes[0], bytes[1]) = (5, width);
    bytes[2..4].copy_from_slice(&index.to_le_bytes());
    for (at, field) in [(8, window), (16, start), (24, guard)] {
        bytes[at..at + 8].copy_from_slice(&field.to_le_bytes());
    }
    bytes
}

/// The windows that the drive decodes from them.
fn windows(bytes: &[u8; 32]) -> Windows {
    let schedule = Schedule::decode(bytes).expect("valid").expect("a schedule");
    Windows::Scheduled(schedule.windows)
}

/// True when `start..end` lies in one slot of the drive whose bytes these are, less the guard.
fn lies_inside(bytes: &[u8; 32], start: Instant, end: Instant) -> bool {
    let field = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    let (width, index) = (u64::from(bytes[1]), u64::from(u16::from_le_bytes([bytes[2], bytes[3]])));
    let (window, cycle_start, guard) = (field(8), field(16), field(24));
    let Some(after) = start.as_ns().checked_sub(cycle_start) else { return false };
    let slot = after / window;
    slot % width == index && end.as_ns() + guard <= cycle_start + (slot + 1) * window
}

/// The operations of garbage collection on each die, from its command's wait to the end of what it
/// does last. Each begins with its command, or with the wait for that; what takes no time has no
/// slice.
fn collections(slices: &[Slice]) -> Vec<(Instant, Instant)> {
    let mut slices: Vec<&Slice> = slices.iter().filter(|slice| slice.gc).collect();
    slices.sort_by_key(|slice| (slice.die, slice.start, slice.end));
    let mut operations: Vec<(Instant, Instant)> = Vec::new();
    let (mut before, mut awaits_command): (Option<&Slice>, bool) = (None, false);
    for slice in slices {
        let before = before.replace(slice).filter(|before| before.die == slice.die);
        let continues = match slice.act {
            Act::Read | Act::Program | Act::Erase | Act::DataOut => true,
            // Data that was read waits, or a command.
            Act::Wait => {
                before.is_some_and(|before| before.act == Act::Read && before.page == slice.page)
            }
            Act::ReadCommand | Act::EraseCommand | Act::DataIn => awaits_command,
            other => panic!("{other:?} of garbage collection"),
        };
        awaits_command = slice.act == Act::Wait && !continues;
        match operations.last_mut().filter(|_| continues && before.is_some()) {
            Some((_, end)) => *end = slice.end,
            None => operations.push((slice.start, slice.end)),
        }
    }
    operations
}

/// A drive that keeps each operation whole, so that its end is known when it begins.
fn whole(seed: u64) -> Option<Setup> {
    let mut setup = requests(drawn(seed), 500);
    (setup.erase.mode, setup.program.mode) = (EraseMode::None, ProgramMode::None);
    // Nothing goes before it on its channel that came later.
    setup.drive.channel_order = ChannelOrder::FirstCome;
    (setup.ftl.kind != FtlKind::LogBlock).then_some(setup)
}

/// Plays a drive under a schedule of its own; how many operations there were, how many did not lie
/// inside its windows, and what the drive counted.
fn watch(setup: &Setup, spacing: Duration) -> (u64, u64, PredictableCounters) {
    let members = 2 + (setup.seed % 15) as u8;
    let window = [3_000_000, 8_000_001, 40_000_000][setup.seed as usize % 3];
    let bytes = bytes(members, setup.seed as u16 % u16::from(members), [window, 12_345, 50_000]);
    let windows = windows(&bytes);
    let played = Game { windows, spacing, timeline: true, ..Game::new(setup) }.play();
    let operations = collections(&played.slices);
    let outside =
        operations.iter().filter(|(start, end)| !lies_inside(&bytes, *start, *end)).count();
    (operations.len() as u64, outside as u64, played.counters)
}

/// Random drives under random schedules. Each operation that does not lie inside the window was
/// forced, and told as a violation; where the drive tells of none, none is outside. (Let the gate's
/// `lets` say `schedule.is_busy(now)`, the artefact's test, and seed 0 alone has 152 too many.)
#[test]
fn no_operation_of_garbage_collection_lies_outside_of_the_window_unless_it_is_forced() {
    let (mut drives, mut kept, mut inside, mut forced) = (0, 0, 0, 0);
    for setup in (0..150).filter_map(whole) {
        for spacing in [400, 4_000] {
            let (all, outside, counted) = watch(&setup, Duration::from_us(spacing));
            let seed = setup.seed;
            assert_eq!(
                all,
                counted.steps_in_window + counted.violations,
                "seed {seed}: every operation is counted"
            );
            assert!(
                outside <= counted.violations,
                "seed {seed}: {outside} of {all} outside, {counted:?}\n{setup:?}"
            );
            (drives, inside, forced) = (drives + 1, inside + all - outside, forced + outside);
            kept += u64::from(counted.violations == 0 && all > 0);
        }
    }
    println!(
        "{drives} drives, {kept} of which keep to their windows; {inside} operations inside, \
         {forced} outside"
    );
    assert!(
        drives >= 200 && kept >= 20 && inside > 5_000 && forced > 1_000,
        "{drives} {kept} {inside} {forced}"
    );
}
