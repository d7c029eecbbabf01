//! One request, or a few, on a drive that does nothing else.

use super::{
    Bench, LANES, OTHER_CHANNEL, OTHER_CHIP, Op, PAGE, SAME_CHIP, Status, start, ttflash_256g,
    write_through,
};
use crate::drive::{CommandId, DriveSpec};
use crate::units::{Bandwidth, Bytes, Duration, Instant, Lane};

#[test]
fn an_unloaded_page_read_takes_142_575_ns() {
    let bench = Bench::plain(DriveSpec::default());
    assert_eq!(
        bench.times().page_read(),
        Duration::from_ns(142_575),
        "175 + 40,000 + 4096 x 25 ns"
    );
    assert_eq!(bench.latency_of_read(start(), 5), bench.times().page_read());
}

#[test]
fn an_unaligned_read_over_two_pages_takes_what_its_larger_part_takes() {
    let mut bench = Bench::plain(DriveSpec::default());
    let id = bench.submit(start(), Op::Read, 3, PAGE, false);
    // 5 sectors of page 0 and 3 of page 1, which lies on another channel.
    let larger = bench.device.channel.rate.time_for(5 * 512);
    assert_eq!(bench.end_of(id), start() + bench.times().command + bench.times().read + larger);
    assert_eq!(bench.drive.counters().units_read, 2);
}

#[test]
fn a_large_read_uses_its_channels_side_by_side() {
    let mut bench = Bench::plain(DriveSpec::default());
    let id = bench.submit(start(), Op::Read, 0, 8 * PAGE, false);
    assert_eq!(bench.end_of(id), start() + bench.times().page_read(), "8 pages on 8 channels");
    let mut bench = Bench::plain(DriveSpec::default());
    let id = bench.submit(start(), Op::Read, 0, 16 * PAGE, false);
    let end = start() + bench.times().page_read() + bench.times().transfer;
    assert_eq!(
        bench.end_of(id),
        end,
        "two pages on each channel, the arrays side by side, one transfer after the other"
    );
}

#[test]
fn pages_of_one_array_read_are_read_together() {
    let mut device = ttflash_256g(4);
    (device.geometry.page, device.geometry.pages) = (Bytes::kib(16), 64);
    let gc = crate::ftl::GcSpec { soft: 0.0.into(), hard: 0.0.into(), ..Default::default() };
    let ftl = crate::ftl::FtlSpec { stripe: crate::ftl::Stripe::ProgramUnit, ..Default::default() };
    let mut map = crate::ftl::PageMap::new(&device, &ftl, &gc, 1_024, 1);
    let row = map.open_row(Lane(0), crate::ftl::Stream::Host).unwrap();
    (0..4).for_each(|k| map.commit(crate::units::Lpn(k), crate::units::Ppn(row.0 + k)));
    map.row_programmed(row);
    let drive = crate::drive::Drive::new(&device, &DriveSpec::default(), &gc, map, false);
    let mut bench = Bench { device, drive, done: Vec::new(), next_id: 0 };
    let id = bench.submit(start(), Op::Read, 0, 4 * PAGE, false);
    // The transfer of the table's page is the whole 16 KiB.
    assert_eq!(bench.end_of(id), start() + bench.times().page_read());
    assert_eq!(bench.drive.flash().operations().reads, 1);
}

#[test]
fn a_page_in_the_buffer_is_read_and_overwritten_in_one_microsecond() {
    let hit = DriveSpec::default().buffer_hit;
    let mut bench = Bench::plain(DriveSpec::default());
    let (write, later) = (bench.write(start(), 5), start() + Duration::from_us(50));
    let (read, again) = (bench.read(later, 5), bench.write(later, 5));
    assert_eq!(
        [write, read, again].map(|id| bench.end_of(id)),
        [start() + hit, later + hit, later + hit]
    );
    assert_eq!(hit, Duration::from_us(1));
    let counters = bench.drive.counters();
    assert_eq!((counters.buffer.read_hits, counters.buffer.write_hits), (1, 1));
}

#[test]
fn a_page_never_written_is_answered_without_the_flash() {
    let mut bench = Bench::plain(DriveSpec::default());
    let id = bench.read(start(), 600);
    assert_eq!(bench.end_of(id), start() + DriveSpec::default().buffer_hit);
    assert_eq!(bench.drive.counters().unwritten_reads, 1);
}

#[test]
fn a_write_through_takes_a_program_and_a_partial_one_a_read_before_it() {
    let mut bench = Bench::plain(write_through());
    let whole = bench.write(start(), 5);
    assert_eq!(bench.end_of(whole), start() + bench.times().page_program());
    let now = Instant::from_ns(10_000_000);
    let part = bench.submit(now, Op::Write, 6 * u64::from(PAGE) + 1, 2, false);
    assert_eq!(bench.end_of(part), now + bench.times().page_read() + bench.times().page_program());
    assert_eq!(bench.drive.counters().buffer.rmw_reads, 1);
}

#[test]
fn fua_costs_a_program_without_power_loss_protection_and_nothing_with_it() {
    for protected in [true, false] {
        let spec = DriveSpec { power_loss_protection: protected, ..DriveSpec::default() };
        let mut bench = Bench::plain(spec.clone());
        let id = bench.submit(start(), Op::Write, 0, PAGE, true);
        let expected = if protected { spec.buffer_hit } else { bench.times().page_program() };
        assert_eq!(bench.end_of(id), start() + expected, "protected: {protected}");
    }
}

#[test]
fn a_flush_takes_the_programs_of_the_fullest_chip_or_nothing() {
    for protected in [true, false] {
        for per_chip in [1, 3] {
            let spec = DriveSpec { power_loss_protection: protected, ..DriveSpec::default() };
            let mut bench = Bench::plain(spec.clone());
            // On chips of different channels, so that only the pages of one chip wait for each
            // other.
            for channel in 0..4 {
                (0..per_chip).for_each(|k| _ = bench.write(start(), channel + k * LANES));
            }
            let now = start() + Duration::from_us(10);
            let id = bench.flush(now);
            let expected =
                if protected { spec.buffer_hit } else { bench.times().page_program() * per_chip };
            assert_eq!(
                bench.end_of(id),
                now + expected,
                "protected: {protected}, {per_chip} pages a chip"
            );
            assert_eq!(bench.drive.counters().host_units, if protected { 0 } else { 4 * per_chip });
        }
    }
}

#[test]
fn a_flush_of_an_empty_buffer_costs_a_buffer_hit() {
    let spec = DriveSpec { power_loss_protection: false, ..DriveSpec::default() };
    let mut bench = Bench::plain(spec.clone());
    let id = bench.flush(start());
    assert_eq!(bench.end_of(id), start() + spec.buffer_hit);
}

#[test]
fn queue_depth_one_does_one_command_after_the_other() {
    let ends = |queue_depth| {
        let mut bench = Bench::plain(DriveSpec { queue_depth, ..DriveSpec::default() });
        let ids: Vec<CommandId> = (0..4).map(|lpn| bench.read(start(), lpn)).collect();
        ids.into_iter().map(|id| bench.end_of(id).since(start())).collect::<Vec<_>>()
    };
    let one = Bench::plain(DriveSpec::default()).times().page_read();
    assert_eq!(ends(1), [one, one * 2, one * 3, one * 4]);
    assert_eq!(ends(2), [one, one, one * 2, one * 2]);
    assert_eq!(ends(0), [one; 4], "on four channels");
}

#[test]
fn controller_and_link_add_their_times() {
    let controller = Duration::from_us(7);
    let link = Bandwidth::bytes_per_second(1_000_000_000);
    let spec = DriveSpec { controller, link, ..DriveSpec::default() };
    let crossing = link.time_for(4096);
    let mut bench = Bench::plain(spec.clone());
    let read = bench.read(start(), 0);
    assert_eq!(bench.end_of(read), start() + controller + bench.times().page_read() + crossing);
    let mut bench = Bench::plain(spec.clone());
    let write = bench.write(start(), 0);
    assert_eq!(bench.end_of(write), start() + crossing + controller + spec.buffer_hit);
    // Two reads on two channels meet on the link.
    let mut bench = Bench::plain(spec);
    let ids = [bench.read(start(), 0), bench.read(start(), OTHER_CHANNEL)];
    let first = start() + controller + bench.times().page_read() + crossing;
    assert_eq!(ids.map(|id| bench.end_of(id)), [first, first + crossing]);
}

/// At 1 GB/s a byte takes a nanosecond: a command is asked for, comes, and its completion follows
/// the data. A command that comes while data leaves is asked for behind that.
#[test]
fn commands_and_completions_have_bytes_on_the_link() {
    let bytes = |ns: u64| Duration::from_ns(ns);
    let spec = DriveSpec {
        link: Bandwidth::bytes_per_second(1_000_000_000),
        link_fetch: Bytes::new(32),
        link_command: Bytes::new(92),
        link_completion: Bytes::new(44),
        ..DriveSpec::default()
    };
    let mut bench = Bench::plain(spec.clone());
    let first = bench.read(start(), 0);
    let flash = start() + bytes(32 + 92) + bench.times().page_read();
    let second = bench.read(flash + bytes(100), OTHER_CHANNEL);
    let leaves = flash + bytes(4096 + 44);
    assert_eq!(bench.end_of(first), leaves);
    let asked = leaves + bytes(32);
    let comes = asked + bytes(92) + bench.times().page_read();
    assert_eq!(bench.end_of(second), comes + bytes(4096 + 44));
    let mut bench = Bench::plain(spec.clone());
    let write = bench.write(start(), 0);
    assert_eq!(bench.end_of(write), start() + bytes(32 + 92 + 4096 + 44) + spec.buffer_hit);
}

#[test]
fn two_reads_meet_on_their_channel_or_on_their_chip() {
    let both = |other| {
        let mut bench = Bench::plain(DriveSpec::default());
        let ids = [bench.read(start(), 0), bench.read(start(), other)];
        ids.map(|id| bench.end_of(id).since(start()))
    };
    let times = Bench::plain(DriveSpec::default()).times();
    let one = times.page_read();
    assert_eq!(both(OTHER_CHANNEL), [one, one]);
    assert_eq!(both(OTHER_CHIP), [one, one + times.transfer]);
    assert_eq!(both(SAME_CHIP), [one, one * 2]);
}

#[test]
fn cached_reads_of_one_chip_take_a_transfer_each_where_the_channel_is_slower() {
    let mut device = ttflash_256g(4);
    device.feature.cache_read = true;
    let mut bench = Bench::on(device, DriveSpec::default());
    let ids: Vec<CommandId> = (0..6).map(|k| bench.read(start(), k * LANES)).collect();
    let (times, first) = (bench.times(), start() + bench.times().page_read());
    assert!(times.transfer > times.read);
    for (k, id) in (0..).zip(ids) {
        // Each command goes ahead of the data before it; the last page has no command behind it.
        let commands = times.command * (k + 1).min(5);
        assert_eq!(bench.end_of(id), first + times.transfer * k + commands, "read {k}");
    }
}

#[test]
fn a_range_beyond_the_device_or_without_sectors_is_refused() {
    let mut bench = Bench::plain(DriveSpec::default());
    let end = bench.drive.sectors();
    for (first, sectors) in [(end, 1), (end - 1, 2), (0, 0), (u64::MAX, 2)] {
        let id = bench.submit(start(), Op::Read, first, sectors, false);
        assert_eq!(bench.completion(id).status, Status::LbaOutOfRange, "{first} + {sectors}");
    }
    let last = bench.submit(start(), Op::Read, end - 1, 1, false);
    assert_eq!(bench.completion(last).status, Status::Success);
}

#[test]
fn abort_takes_back_what_is_queued_and_nothing_else() {
    let mut bench = Bench::plain(DriveSpec { queue_depth: 1, ..DriveSpec::default() });
    let ids: Vec<CommandId> = (0..3).map(|lpn| bench.read(start(), lpn)).collect();
    let now = start() + Duration::from_us(1);
    bench.advance_to(now);
    assert!(!bench.drive.abort(now, ids[0]), "it is being worked on");
    assert!(!bench.drive.abort(now, CommandId(99)), "there is none such");
    assert!(bench.drive.abort(now, ids[1]));
    assert!(!bench.drive.abort(now, ids[1]), "it is no longer queued");
    assert_eq!(bench.completion(ids[1]).status, Status::Aborted);
    assert_eq!(bench.completion(ids[1]).at, now);
    let one = bench.times().page_read();
    assert_eq!([ids[0], ids[2]].map(|id| bench.end_of(id)), [start() + one, start() + one * 2]);
    assert_eq!((bench.done.len(), bench.drive.outstanding()), (3, 0));
}
