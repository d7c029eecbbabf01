//! A timeline by arithmetic: which slices a read, a write and a collection of known size leave, and
//! when.

use super::collections::{FREE, about_to_collect, mark};
use super::{Bench, LANES, OTHER_CHANNEL, OTHER_CHIP, start, write_through};
use crate::drive::{Collection, Recorded, TimelineSpec};
use crate::flash::{Act, Slice};
use crate::ftl::{GcMode, GcSpec};
use crate::units::{Cause, Channel, Die, Duration, Instant, Pool};

const EVERYTHING: TimelineSpec =
    TimelineSpec { from: Instant::START, to: Instant::NEVER, slow: None, limit: 1_000_000 };
const NS: Duration = Duration::from_ns(1);

/// From, to and kind of the slices of a die, or of a channel, in order of time.
fn slices(recorded: &Recorded<'_>, on: impl Fn(&Slice) -> bool) -> Vec<(u64, u64, Act)> {
    let mut found: Vec<_> = recorded.slices.iter().filter(|slice| on(slice)).collect();
    found.sort_by_key(|slice| slice.start);
    found.iter().map(|slice| (slice.start.as_ns(), slice.end.as_ns(), slice.act)).collect()
}

#[test]
fn two_reads_on_one_channel_leave_their_commands_arrays_wait_and_data() {
    let mut bench = Bench::plain(write_through());
    let times = bench.times();
    bench.drive.keep_timeline(&TimelineSpec { slow: Some(times.page_read() + NS), ..EVERYTHING });
    let (first, second) = (bench.read(start(), 0), bench.read(start(), OTHER_CHIP));
    let (first, second) = (bench.end_of(first).as_ns(), bench.end_of(second).as_ns());
    let recorded = bench.drive.recorded(Instant::from_ns(second)).unwrap();
    // Datasheet of ttflash-256g: command 175 ns, tR 40 us, 4 KiB at 40 MB/s 102.4 us.
    assert_eq!((first, second), (142_575, 244_975));
    assert_eq!(
        slices(&recorded, |s| s.die == Die(0) && !s.act.is_on_channel()),
        [(175, 40_175, Act::Read)]
    );
    let other = slices(&recorded, |s| s.die == Die(1) && !s.act.is_on_channel());
    assert_eq!(
        other,
        [(0, 175, Act::Wait), (350, 40_350, Act::Read), (40_350, 142_575, Act::Wait)]
    );
    let channel = [
        (0, 175, Act::ReadCommand),
        (175, 350, Act::ReadCommand),
        (40_175, 142_575, Act::DataOut),
        (142_575, 244_975, Act::DataOut),
    ];
    assert_eq!(slices(&recorded, |s| s.act.is_on_channel()), channel);
    let slow: Vec<_> = recorded
        .requests
        .iter()
        .map(|slow| (slow.lba.0, slow.start.as_ns(), slow.end.as_ns()))
        .collect();
    assert_eq!(slow, [(64, 0, 244_975)], "only the second is slower than a read alone");
    assert_eq!(bench.drive.unloaded_read(), times.page_read());
}

#[test]
fn a_collection_of_seven_pages_is_seven_copies_and_an_erase() {
    for (mode, held) in [
        (GcMode::Base, 1),
        (GcMode::Controller, 8),
        (GcMode::Preemptive, 0),
        (GcMode::ChannelPreemptive, 0),
    ] {
        let gc = GcSpec { mode, soft: mark(FREE).into(), hard: 0.0.into(), ..GcSpec::default() };
        let mut bench = about_to_collect(7, gc);
        bench.drive.attribute();
        bench.drive.keep_timeline(&TimelineSpec { slow: Some(Duration::from_ms(2)), ..EVERYTHING });
        let times = bench.times();
        bench.write(start(), 600 * LANES);
        let begins = start() + times.page_program();
        let copies = (times.command * 2 + times.transfer * 2 + times.read + times.program) * 7;
        let (erasing, end) = (begins + copies, begins + copies + times.erase_command + times.erase);
        // A read behind the whole erase: the only slow request.
        let asked = erasing + times.erase_command;
        bench.read(asked, 255 * LANES);
        bench.run();
        let recorded = bench.drive.recorded(end).unwrap();
        let expected = Collection {
            pool: Pool(0),
            block: recorded.collections[0].block,
            draining: begins,
            copying: begins,
            erasing,
            end,
            valid: 7,
            copied: 7,
            forced: false,
            held: (Channel(0), held),
            unfinished: false,
        };
        assert_eq!(recorded.collections, [expected], "{mode:?}");
        let sum = |act, gc| {
            let of = recorded.slices.iter().filter(|s| s.act == act && s.gc == gc);
            of.fold((0, Duration::ZERO), |(count, time), s| {
                (count + 1, time + s.end.since(s.start))
            })
        };
        assert_eq!(sum(Act::Read, true), (7, times.read * 7), "{mode:?}");
        assert_eq!(sum(Act::Program, true), (7, times.program * 7));
        assert_eq!(sum(Act::Erase, true), (1, times.erase));
        assert_eq!(
            (sum(Act::Read, false), sum(Act::Program, false)),
            ((1, times.read), (1, times.program))
        );
        assert_eq!(sum(Act::DataOut, true), (7, times.transfer * 7));
        assert_eq!(sum(Act::DataIn, true), (7, (times.command + times.transfer) * 7));
        assert_eq!(sum(Act::Wait, false), (0, Duration::ZERO));
        let erase = recorded.slices.iter().find(|s| s.act == Act::Erase).unwrap();
        assert_eq!((erase.block, erase.end), (recorded.collections[0].block, end));
        let [slow] = recorded.requests else { panic!("{mode:?}: {:?}", recorded.requests) };
        assert_eq!((slow.start, slow.end), (asked, end + times.page_read()), "{mode:?}");
        assert_eq!(slow.attributed.unwrap().split.get(Cause::Erase), times.erase, "{mode:?}");
    }
}

#[test]
fn a_slow_request_carries_its_parts_where_the_drive_attributes() {
    for attribute in [false, true] {
        let mut bench = Bench::plain(write_through());
        if attribute {
            bench.drive.attribute();
        }
        bench
            .drive
            .keep_timeline(&TimelineSpec { slow: Some(Duration::from_us(200)), ..EVERYTHING });
        bench.read(start(), 0);
        bench.read(start(), OTHER_CHIP);
        bench.run();
        let recorded = bench.drive.recorded(start() + Duration::from_s(1)).unwrap();
        let total = recorded.requests[0].attributed.map(|attributed| attributed.split.total());
        assert_eq!(total, attribute.then_some(Duration::from_ns(244_975)));
    }
}

#[test]
fn nothing_outside_the_window_is_kept_and_the_limit_says_what_it_left_out() {
    let play = |spec: TimelineSpec| {
        let mut bench = Bench::plain(write_through());
        bench.drive.keep_timeline(&TimelineSpec { slow: Some(Duration::from_us(1)), ..spec });
        // Three slices and a request each, a millisecond apart.
        for n in 0..10 {
            bench.read(start() + Duration::from_ms(n), n * OTHER_CHANNEL);
        }
        bench.run();
        let recorded = bench.drive.recorded(start() + Duration::from_ms(10)).unwrap();
        let kept = (recorded.slices.len(), recorded.requests.len());
        assert_eq!(recorded.room.kept, (kept.0 + kept.1) as u64);
        (kept, recorded.room.left_out, recorded.room.full_at)
    };
    assert_eq!(play(EVERYTHING), ((30, 10), 0, None));
    let ms = |ms| start() + Duration::from_ms(ms);
    assert_eq!(play(TimelineSpec { from: ms(3), to: ms(5), ..EVERYTHING }), ((6, 2), 0, None));
    // From the middle of the fourth read's tR: its command is over.
    let from = ms(3) + Duration::from_us(20);
    assert_eq!(play(TimelineSpec { from, to: ms(5), ..EVERYTHING }), ((5, 2), 0, None));
    // Two whole reads, then the command and tR of the third; what is left out began with that read
    // itself.
    assert_eq!(play(TimelineSpec { limit: 10, ..EVERYTHING }), ((8, 2), 30, Some(ms(2))));
}
