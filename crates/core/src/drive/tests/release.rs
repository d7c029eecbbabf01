//! When a die is given back (`gc_release`), beside when a read that waits there is served.

use super::super::precondition::precondition;
use super::collections::copy_of_a_page;
use super::{
    Bench, LANES, OTHER_CHIP, PAGE, SAME_CHIP, start, ttflash_256g, write_before_the_run,
    write_through,
};
use crate::drive::{Drive, PreconditionSpec, PreconditionState};
use crate::flash::Layout;
use crate::ftl::{Allocation, FtlSpec, GcMode, GcSpec, GcWhen, PageMap, VictimUnit};
use crate::sim::Rng;
use crate::units::{Duration, Lpn};

/// Chip 0 copies, chip 1 is next, and reads of other chips wait for the channel between the two.
#[test]
fn reads_that_wait_go_between_two_runs_and_the_release_of_the_first_chip_counts_them() {
    let (valid, lanes) = (7, LANES as u32);
    let soft = super::collections::mark(super::collections::FREE).into();
    let gc = GcSpec { when: GcWhen::Foreground, soft, hard: 0.0.into(), ..GcSpec::default() };
    for waiting in [0, 1, 3] {
        let mut bench = Bench::new(ttflash_256g(6), write_through(), gc.clone(), |map| {
            for page in (0..256).chain(valid..256).chain(256..256 + valid) {
                [0, OTHER_CHIP as u32]
                    .iter()
                    .for_each(|chip| write_before_the_run(map, page * lanes + chip));
            }
            (2..8).for_each(|chip| write_before_the_run(map, chip * OTHER_CHIP as u32));
        });
        let times = bench.times();
        let copy = copy_of_a_page(times, false) * u64::from(valid);
        [0, OTHER_CHIP].iter().for_each(|chip| _ = bench.write(start(), 600 * LANES + chip));
        let released = start() + times.page_program() + copy;
        let now = released - copy_of_a_page(times, false);
        for chip in 0..waiting {
            bench.read(now, (2 + chip) * OTHER_CHIP);
        }
        bench.advance_to(now + Duration::from_ns(1));
        let page = bench.drive.ftl().mapping().physical(Lpn(SAME_CHIP as u32 * 255));
        let between = match waiting {
            0 => Duration::ZERO,
            _ => (times.command + times.transfer) * waiting + times.read,
        };
        let said = now + bench.drive.gc_release(now, page);
        assert_eq!(said, released + between + copy, "{waiting} reads wait");
        let read = bench.read(now, SAME_CHIP * 255);
        // But for the commands of the erases on the channel.
        let begun = start() + bench.end_of(read).since(start() + times.page_read());
        let off = said.since(begun.min(said)).max(begun.since(said.min(begun)));
        assert!(off <= times.erase_command * 2, "said {said:?}, begun {begun:?}");
    }
}

/// A full drive of eight chips on one channel, whose pools are superblocks of them all.
fn superblocks() -> Bench {
    let mut device = ttflash_256g(24);
    (device.geometry.channels, device.geometry.ways, device.geometry.pages) = (1, 8, 16);
    let ftl = FtlSpec { allocation: Allocation::Dynamic, ..FtlSpec::default() };
    let (soft, hard) = (0.15.into(), 0.08.into());
    let (mode, unit) = (GcMode::Base, VictimUnit::Superblock);
    let gc = GcSpec { mode, unit, soft, hard, ..GcSpec::default() };
    let logical = Layout::new(&device).total_units() / 4 * 3;
    let mut map = PageMap::new(&device, &ftl, &gc, logical, 1);
    let state = PreconditionSpec { state: PreconditionState::Fill, ..PreconditionSpec::default() };
    precondition(&mut map, &state, 1, None, &mut |_| true).expect("room");
    map.begin_run(&ftl, &gc, &device, 1);
    let drive = Drive::new(&device, &write_through(), &gc, map, false);
    Bench { device, drive, done: Vec::new(), next_id: 0 }
}

/// Eight chains side by side have one channel. Where no dry run is made (`replay`; here the drive
/// has no windows, and one with faults makes none either) the forecast is of the channel's
/// transfers: an estimate, 16 % short of what happens here.
#[test]
fn the_chains_of_a_superblock_share_their_channel_in_a_forecast_without_a_dry_run() {
    let (mut bench, mut rng) = (superblocks(), Rng::stream(1, "release"));
    let pages = bench.drive.sectors() / u64::from(PAGE);
    let (mut now, mut runs, mut said, mut real) = (start(), 0, Duration::ZERO, Duration::ZERO);
    let mut collections = 0;
    for _ in 0..20_000 {
        if runs == 40 {
            break;
        }
        now += Duration::from_us(300);
        bench.write(now, rng.below(pages));
        bench.advance_to(now + Duration::from_ns(1));
        if bench.drive.counters().collections == collections {
            continue;
        }
        collections = bench.drive.counters().collections;
        let lpn = rng.below(pages);
        let page = bench.drive.ftl().mapping().physical(Lpn(lpn as u32));
        let (latency, read) = (bench.latency_of_read(now, lpn), bench.times().page_read());
        // (A page of the write buffer does not wait.)
        if latency > read {
            said += bench.drive.gc_release(now, page);
            real += latency - read;
            runs += 1;
        }
    }
    assert_eq!(runs, 40);
    assert!(said * 10 > real * 8 && said * 10 < real * 9, "{said} said, {real} real");
}
