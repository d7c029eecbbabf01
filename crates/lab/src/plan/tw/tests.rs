//! The published arithmetic (the project's notes on IODA, section 1.7, "Computed values"), and what
//! must be monotone.

use super::*;
use manx_config::{builtin_device, device_names, load_device};
use manx_core::ftl::GcMode;
use proptest::prelude::*;

fn device(name: &str) -> Device {
    load_device(&builtin_device(name).unwrap()).unwrap()
}

/// `name` with 4 drives, a share of valid pages, and what it reclaims together.
fn inputs(name: &str, drives: u32, valid: f64, unit: GcUnit, dwpd: f64) -> Inputs {
    let device = device(name);
    let gc = GcSpec { unit: unit.victim(), ..GcSpec::default() };
    let inputs = Inputs::of(&device, drives, &gc);
    Inputs { valid, dwpd, parallel: Parallel::of_unit(unit, &inputs.flash), ..inputs }
}

/// A time as a text like `printed`: in its unit, with as many decimals.
fn like(time: Option<Duration>, printed: &str) -> String {
    let Some(time) = time else { return "none".to_string() };
    let (number, unit) = printed.split_once(' ').unwrap_or(("0", "ms"));
    let decimals = number.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let scale = if unit == "s" { 1e9 } else { 1e6 };
    format!("{:.decimals$} {unit}", time.as_ns() as f64 / scale)
}

/// Likewise a rate in MB/s of 10^6 bytes.
fn mb_like(rate: f64, printed: &str) -> String {
    mb(rate, printed.split_once('.').map_or(0, |(_, decimals)| decimals.len()))
}

fn ms(time: Option<Duration>, decimals: usize) -> String {
    time.map_or("none".to_string(), |time| format!("{:.decimals$}", time.as_ns() as f64 / 1e6))
}

fn mb(rate: f64, decimals: usize) -> String {
    format!("{:.decimals$}", rate / 1e6)
}

/// T_gc, B_gc and B_burst [MB/s], TW_burst, TW_norm, B_gc/N [MB/s], as the notes print them.
#[track_caller]
fn assert_row(inputs: &Inputs, row: [&str; 6]) {
    let side = inputs.bounds().actual;
    let got = [
        like(Some(side.unit), row[0]),
        mb_like(side.gc_rate, row[1]),
        mb_like(side.burst.rate, row[2]),
        like(side.burst.spare.credited, row[3]),
        like(side.norm.spare.credited, row[4]),
        mb_like(side.sustained, row[5]),
    ];
    assert_eq!(got, row);
    assert_eq!(side.norm.sustainable, row[4] == "none");
}

#[test]
fn the_rows_of_iodas_artefact_come_out_as_in_the_notes() {
    let line = |drives, valid| inputs("femu", drives, valid, GcUnit::Superblock, 5.0);
    // The notes print 1025 MB/s, cut off: half of 64 MiB in 32.72 ms is 1025.502.
    assert_row(&line(4, 0.5), ["32.7 ms", "1025.502", "1311", "1018 ms", "none", "256"]);
    assert_row(&line(4, 0.75), ["48.1 ms", "349", "1311", "878 ms", "none", "87"]);
    let formula = inputs("femu", 4, 0.75, GcUnit::Channel, 5.0);
    assert_row(&formula, ["48.1 ms", "43.6", "1311", "826 ms", "none", "10.9"]);
    assert_row(&line(8, 0.75), ["48.1 ms", "349", "1311", "424 ms", "none", "43.6"]);
}

#[test]
fn the_row_of_the_real_reserve_comes_out_from_13_lines_and_from_the_marks_that_they_are() {
    let line = inputs("femu", 4, 0.75, GcUnit::Superblock, 5.0);
    let line = Inputs { reserve: Bytes::new(13 * (64 << 20)), ..line };
    assert_eq!(ms(line.bounds().actual.burst.usable.credited, 0), "178");
    let slow = Inputs { link: "500MB/s".parse().unwrap(), ..line };
    assert_eq!(ms(slow.bounds().actual.burst.usable.credited, 0), "528");
    // FEMU counts whole lines, 25 and 12 of 256; a share of the pages, as here, is 12.8 lines for
    // 10 % and 5 %.
    let marks = |soft, hard| {
        let gc = GcSpec { soft, hard, unit: VictimUnit::Superblock, ..GcSpec::default() };
        reserve(&device("femu"), &gc)
    };
    assert_eq!(marks((25.0 / 256.0).into(), (12.0 / 256.0).into()), Bytes::new(832 << 20));
    let (pages, share) = (64u64 * 256 * 256, marks(0.10.into(), 0.05.into()).get() / 4096);
    assert!(share.abs_diff(pages / 20) <= 1, "{share}");
}

/// The notes let all 128 planes program at once: 128 x 8 KiB / 750 us. In this table a die programs
/// one at a time.
#[test]
fn the_rows_of_mqsim_come_out_with_the_burst_of_all_planes_and_the_table_itself_says_half_of_it() {
    let planes = Some(Bandwidth::bytes_per_second((128.0 * 8192.0 / 750e-6) as u64));
    let row =
        |valid| Inputs { burst: planes, ..inputs("mqsim-default", 4, valid, GcUnit::Channel, 1.0) };
    assert_row(&row(0.5), ["116 ms", "72.5", "1398", "6.97 s", "none", "18"]);
    assert_row(&row(0.75), ["172 ms", "24.4", "1398", "6.91 s", "826 s", "6.1"]);
    let table = inputs("mqsim-default", 4, 0.5, GcUnit::Channel, 1.0).bounds().actual;
    assert_eq!(mb(table.burst.rate, 0), "699");
    assert_eq!(ms(table.burst.spare.credited, 0), "14129");
}

#[test]
fn commands_are_counted_as_the_drive_takes_them_though_the_formula_leaves_them_out() {
    let with = inputs("mqsim-default", 4, 0.5, GcUnit::Channel, 1.0);
    let without = Inputs { flash: Flash { commands: Duration::ZERO, ..with.flash }, ..with };
    let took = |inputs: &Inputs| inputs.bounds().actual.unit.as_ns();
    // 128 copies of a read and a program command of 175 ns each.
    assert_eq!(took(&with) - took(&without), 128 * 350);
}

#[test]
fn the_least_window_is_a_collection_and_the_guard_and_a_shorter_reserve_may_leave_none() {
    let line = inputs("femu", 4, 0.75, GcUnit::Superblock, 5.0);
    assert_eq!(line.bounds().actual.lower, Duration::from_us(48_080));
    let guarded = Inputs { guard: Duration::from_ms(50), ..line };
    assert_eq!(guarded.bounds().actual.lower, Duration::from_us(98_080));
    let narrow = Inputs { reserve: Bytes::new(64 << 20), ..guarded };
    let side = narrow.bounds().actual;
    assert!(!side.burst.fits(side.lower) && guarded.bounds().actual.burst.fits(side.lower));
    // 64 MiB / (4 x 1310.72 - 348.9...) MB/s.
    assert_eq!(ms(side.burst.usable.credited, 2), "13.71");
    assert_eq!(
        side.burst.lasts(4).unwrap().as_ns(),
        4 * side.burst.usable.credited.unwrap().as_ns()
    );
}

#[test]
fn the_windows_of_the_others_must_be_borne_before_the_own_one_even_by_a_sustained_load() {
    let side = inputs("femu", 4, 0.5, GcUnit::Superblock, 5.0).bounds().actual;
    // 4 GiB / (3 x 1310.72 MB/s).
    assert_eq!(ms(side.burst.spare.conservative, 0), "1092");
    assert_eq!(side.burst.spare.both(), side.burst.spare.credited);
    // 2.237 MB/s are sustained for ever, but the other three windows must be borne: 4 GiB / (3 x
    // 2.237 MB/s).
    assert_eq!((side.norm.spare.credited, side.norm.sustainable), (None, true));
    assert_eq!(ms(side.norm.spare.both(), 0), "640000");
}

#[test]
fn blocks_of_a_die_follow_one_another_and_those_of_a_channel_share_it() {
    // Two unsynchronised planes a die: twice the time, and the same rate as one block of each die.
    let die = inputs("mqsim-default", 4, 0.5, GcUnit::Block, 1.0);
    let both = inputs("mqsim-default", 4, 0.5, GcUnit::Superblock, 1.0);
    let (die, both) = (die.bounds().actual, both.bounds().actual);
    assert_eq!((die.parallel.blocks, both.parallel.blocks), (64, 128));
    assert_eq!(die.unit * 2, both.unit);
    assert!((die.gc_rate / both.gc_rate - 1.0).abs() < 1e-9);
    // 8 chips on a channel of 40 MB/s: 8 x (2 x 102.4 us + 2 x 175 ns) > 40 us + 800 us + 205.15
    // us.
    let side = inputs("ttflash-256g", 4, 0.75, GcUnit::Block, 1.0).bounds().actual;
    assert_eq!(side.unit, Duration::from_ns(192 * 8 * 205_150 + 2_000_125));
}

#[test]
fn what_collects_at_once_follows_from_the_settings_of_gc() {
    let flash = Flash::of(&device("mqsim-default"), false);
    let blocks = |mode, unit, per_channel| {
        Parallel::of(&GcSpec { mode, unit, per_channel, ..GcSpec::default() }, &flash)
    };
    let [block, group, line] = [VictimUnit::Block, VictimUnit::PlaneGroup, VictimUnit::Superblock];
    assert_eq!(blocks(GcMode::Base, block, 1), Parallel::formula(&flash));
    assert_eq!(blocks(GcMode::Base, group, 1), Parallel { blocks: 16, per_channel: 2, per_die: 2 });
    assert_eq!(
        blocks(GcMode::Controller, block, 1),
        Parallel { blocks: 1, per_channel: 1, per_die: 1 }
    );
    assert_eq!(
        blocks(GcMode::Preemptive, block, 1),
        Parallel { blocks: 64, per_channel: 8, per_die: 1 }
    );
    assert_eq!(
        blocks(GcMode::Preemptive, group, 1),
        Parallel { blocks: 128, per_channel: 16, per_die: 2 }
    );
    assert_eq!(
        blocks(GcMode::PlaneBlocking, block, 3),
        Parallel { blocks: 24, per_channel: 3, per_die: 1 }
    );
    assert_eq!(
        blocks(GcMode::Base, line, 1),
        Parallel { blocks: 128, per_channel: 16, per_die: 2 }
    );
    assert_eq!(blocks(GcMode::ChannelPreemptive, block, 0), Parallel::formula(&flash));
    for mode in [GcMode::Nogc, GcMode::PlaneBlocking] {
        let all = Parallel { blocks: 64, per_channel: 8, per_die: 1 };
        assert_eq!(blocks(mode, block, 0), all, "{mode:?}");
    }
}

#[test]
fn a_word_line_of_several_pages_and_planes_is_one_page_of_the_formula() {
    let flash = Flash::of(&device("tlc-enterprise"), false);
    assert_eq!((flash.page, flash.pages), (Bytes::kib(4 * 3 * 16), 648));
    // 35 + 49 + 66 us, one shot, 192 KiB at 2000 MT/s, three reads and a program.
    assert_eq!((flash.read, flash.program), (Duration::from_us(150), Duration::from_ns(1_228_800)));
    assert_eq!(
        (flash.transfer, flash.commands),
        (Duration::from_ns(98_304), Duration::from_ns(600))
    );
    // 32 dies take 192 KiB in 1228.8 us each: 5.12 GB/s, which 8 channels of 2 GB/s can bring.
    assert_eq!(mb(flash.write_rate(), 0), "5120");
    let slow = Flash { rate: "100MB/s".parse().unwrap(), ..flash };
    assert_eq!(mb(slow.write_rate(), 0), "800");
}

proptest! {
    #[test]
    fn a_window_is_shorter_with_more_drives_and_more_load_and_longer_with_more_space(
        name in prop::sample::select(device_names().collect::<Vec<_>>()),
        drives in 2..64u32,
        valid in 0.0..0.99f64,
        mb in 1..5_000u64,
        part in 0.01..0.99f64,
    ) {
        let base = Inputs {
            burst: Some(Bandwidth::bytes_per_second(mb * 1_000_000)),
            ..inputs(name, drives, valid, GcUnit::Superblock, 1.0)
        };
        // No bound is the longest.
        let longest = |inputs: &Inputs| {
            let burst = inputs.bounds().actual.burst;
            [burst.spare, burst.usable].map(|upper| {
                let all = [upper.credited, upper.conservative]
                    .map(|bound| bound.unwrap_or(Duration::MAX));
                prop_assert!(all[0] >= all[1] || inputs.bounds().actual.gc_rate < burst.rate);
                Ok(all)
            })
            .into_iter()
            .collect::<Result<Vec<_>, TestCaseError>>()
        };
        let check = |shorter: &Inputs, longer: &Inputs| {
            for (shorter, longer) in longest(shorter)?.iter().zip(longest(longer)?) {
                let ordered = shorter[0] <= longer[0] && shorter[1] <= longer[1];
                prop_assert!(ordered, "{shorter:?} {longer:?}");
            }
            Ok(())
        };
        check(&Inputs { drives: drives + 1, ..base }, &base)?;
        check(&Inputs { burst: Some(Bandwidth::bytes_per_second(mb * 1_000_001)), ..base }, &base)?;
        let less = |bytes: Bytes| Bytes::new((bytes.get() as f64 * part) as u64);
        check(&Inputs { spare: less(base.spare), reserve: less(base.reserve), ..base }, &base)?;
        check(&Inputs { valid: (valid + 1.0) / 2.0, ..base }, &base)?;
    }

    #[test]
    fn a_load_has_a_bound_exactly_when_it_is_more_than_what_can_be_sustained(
        mb in 1..3_000u64,
        drives in 2..32u32,
    ) {
        let burst = Some(Bandwidth::bytes_per_second(mb * 1_000_000));
        let inputs = Inputs { burst, ..inputs("femu", drives, 0.5, GcUnit::Superblock, 1.0) };
        let side = inputs.bounds().actual;
        prop_assert_eq!(side.burst.spare.credited.is_none(), side.burst.sustainable);
        let load = (mb * 1_000_000) as f64 * f64::from(drives);
        prop_assert_eq!(side.burst.sustainable, load <= side.gc_rate);
    }
}

#[test]
fn more_over_provisioning_gives_longer_windows_and_a_smaller_rated_load() {
    let mut femu = device("femu");
    let mut last = (Duration::ZERO, f64::MAX);
    for op in [0.05, 0.07, 0.15, 0.25, 0.5] {
        femu.op = op;
        let found = bounds(&femu, 4, &GcSpec::default());
        let now = (found.formula.burst.spare.credited.unwrap(), found.norm_rate);
        assert!(now.0 > last.0 && now.1 < last.1, "{op}: {now:?} {last:?}");
        last = now;
    }
}
