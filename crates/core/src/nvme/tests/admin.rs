//! Features, logs and Abort: bytes and refusals.

use super::*;
use crate::drive::{DriveConfig, WindowSchedule};
use crate::nvme::plm::{ArrayType, Config, Schedule, Window, event};
use crate::nvme::{feature, log};
use crate::sim::Rng;

/// RAID-5 of four, member 2, 100 ms each, from 1.000000001 s on, guard 50 ms.
fn schedule() -> Schedule {
    let windows = WindowSchedule {
        members: 4,
        index: 2,
        length: Duration::from_ms(100),
        cycle_start: Instant::from_ns(1_000_000_001),
        guard: Duration::from_ms(50),
    };
    Schedule { array: ArrayType::SingleParity, windows }
}

/// 100 ms are 05F5_E100h ns; 1.000000001 s are 3B9A_CA01h; 50 ms are 02FA_F080h.
fn config_bytes() -> [u8; 512] {
    laid_out(&[
        (0, &[0x07, 0xc0]),
        (32, &[0x01, 0x02]),
        (40, &[0x03]),
        (48, &[0x04]),
        (480, &[5, 4, 2, 0]),
        (488, &[0x00, 0xe1, 0xf5, 0x05]),
        (496, &[0x01, 0xca, 0x9a, 0x3b]),
        (504, &[0x80, 0xf0, 0xfa, 0x02]),
    ])
}

fn config() -> Config {
    Config {
        events: event::ALL,
        reads_threshold: 0x0201,
        writes_threshold: 3,
        time_threshold: 4,
        schedule: Some(schedule()),
    }
}

#[test]
fn feature_13h_lies_as_the_specification_says_with_the_schedule_at_480() {
    assert_eq!(config().encode().unwrap(), config_bytes());
    assert_eq!(Config::decode(&config_bytes()), Ok(config()));
    assert_eq!(schedule().encode().unwrap(), config_bytes()[480..]);
}

#[test]
fn feature_13h_reads_back_what_was_set() {
    let mut controller = controller();
    let get = Sqe::get_features(0x13, 1);
    let before = done(&mut controller, ms(0), &get, &[]);
    assert_eq!((before.result, &before.data[..]), (0, &[0; 512][..]), "off and empty by default");
    let set = Sqe::set_features(0x13, 1, 1);
    // Opcode 09h, FID in CDW10, NVMSETID in CDW11, LPE in CDW12.
    let expected: [u8; 64] = laid_out(&[(0, &[0x09]), (40, &[0x13]), (44, &[1]), (48, &[1])]);
    assert_eq!(zerocopy::IntoBytes::as_bytes(&set), expected);
    assert_eq!(status(&mut controller, ms(0), &set, &config_bytes()), StatusField::SUCCESS);
    let after = done(&mut controller, ms(0), &get, &[]);
    assert_eq!((after.result, &after.data[..]), (1, &config_bytes()[..]));
    // Off again, and the values stay.
    assert_eq!(
        status(&mut controller, ms(0), &Sqe::set_features(0x13, 1, 0), &config_bytes()).0,
        0
    );
    let off = done(&mut controller, ms(0), &get, &[]);
    assert_eq!((off.result, &off.data[..]), (0, &config_bytes()[..]));
}

#[test]
fn a_schedule_that_makes_no_sense_is_refused() {
    let refused = |changes: &[(usize, &[u8])]| {
        let mut bytes = config_bytes();
        for (offset, value) in changes {
            bytes[*offset..offset + value.len()].copy_from_slice(value);
        }
        assert_eq!(Config::decode(&bytes), Err(StatusField(0x4002)), "{changes:?}");
    };
    refused(&[(0, &[0x08])]);
    refused(&[(2, &[1])]);
    refused(&[(31, &[1])]);
    refused(&[(56, &[1])]);
    refused(&[(479, &[1])]);
    refused(&[(480, &[0])]);
    refused(&[(480, &[2])]);
    refused(&[(481, &[0])]);
    refused(&[(482, &[4])]);
    refused(&[(483, &[1])]);
    refused(&[(484, &[1])]);
    refused(&[(488, &[0; 8])]);
    refused(&[(488, &[0xff; 8])]);
    refused(&[(503, &[0xff])]);
    refused(&[(504, &[0x01, 0xe1, 0xf5, 0x05])]); // One more than TW.
    assert_eq!(Config::decode(&config_bytes()[..511]), Err(StatusField(0x400f)));
    // And the host is told before it sends it.
    let too_wide = WindowSchedule { members: 256, ..schedule().windows };
    assert_eq!(Schedule { windows: too_wide, ..schedule() }.encode(), None);
    let no_time =
        WindowSchedule { length: Duration::ZERO, guard: Duration::ZERO, ..schedule().windows };
    assert_eq!(Schedule { windows: no_time, ..schedule() }.encode(), None);
}

#[test]
fn configurations_come_back_from_their_bytes() {
    let mut rng = Rng::stream(8, "configurations");
    for _ in 0..10_000 {
        let members = 1 + rng.below(255);
        let length = 1 + rng.below(1 << 50);
        let windows = WindowSchedule {
            members: members as u32,
            index: rng.below(members) as u32,
            length: Duration::from_ns(length),
            cycle_start: Instant::from_ns(rng.below(1 << 60)),
            guard: Duration::from_ns(rng.below(length + 1)),
        };
        let array = [ArrayType::Mirror, ArrayType::SingleParity, ArrayType::DoubleParity]
            [rng.below(3) as usize];
        let config = Config {
            events: rng.next_u64() as u16 & event::ALL,
            reads_threshold: rng.next_u64(),
            writes_threshold: rng.next_u64(),
            time_threshold: rng.next_u64(),
            schedule: (rng.below(3) > 0).then_some(Schedule { array, windows }),
        };
        assert_eq!(Config::decode(&config.encode().unwrap()), Ok(config));
    }
}

#[test]
fn features_take_what_they_say_and_no_more() {
    let mut controller = controller();
    let mut set = |feature, cdw11, cdw12| {
        status(&mut controller, ms(0), &Sqe::set_features(feature, cdw11, cdw12), &[0; 512]).0
    };
    assert_eq!(set(0x0b, 1 << 12, 0), 0);
    assert_eq!(set(0x0b, 1 << 8, 0), 0x4002, "a notice that is not there");
    for level in 0..17 {
        assert_eq!(
            set(0x12, 1, level),
            if level == 4 || level == 15 { 0 } else { 0x4002 },
            "level {level}"
        );
    }
    assert_eq!(set(0x12, 2, 4), 0x4002, "no such set");
    assert_eq!(set(0x13, 0, 1), 0x4002);
    assert_eq!(set(0x13, 2, 1), 0x4002);
    assert_eq!(set(0x13, 1, 2), 0x4002);
    assert_eq!(set(0x14, 1, 1), 0x4002, "the mode is off");
    assert_eq!(set(0x13, 1, 1), 0);
    for window in [0, 3, 4, 7] {
        assert_eq!(set(0x14, 1, window), 0x4002, "window {window} is reserved");
    }
    assert_eq!(set(0x14, 2, 2), 0x4002);
    assert_eq!(set(0x14, 1, 2), 0);
    for feature in [0x00, 0x01, 0x02, 0x04, 0x06, 0x07, 0x08, 0x0e, 0x0f, 0x10, 0x16, 0x80, 0xc0] {
        assert_eq!(set(feature, 1, 0), 0x4002, "feature {feature:x}");
    }
}

#[test]
fn features_are_read_and_never_saved() {
    let mut controller = controller();
    let mut get = |feature, select: u32, set| {
        let sqe = Sqe::get_features(feature, set);
        let sqe = Sqe { cdw10: (u32::from(feature) | select << 8).into(), ..sqe };
        let done = done(&mut controller, ms(0), &sqe, &[]);
        (done.status.0, done.result)
    };
    assert_eq!(get(0x0b, 0, 0), (0, 0));
    assert_eq!(get(0x12, 0, 1), (0, 4));
    assert_eq!(get(0x12, 0, 2), (0x4002, 0));
    assert_eq!(get(0x13, 1, 1), (0x4002, 0), "Select is not supported");
    assert_eq!(get(0x14, 0, 1), (0x4002, 0), "the mode is off");
    assert_eq!(get(0x06, 0, 0), (0x4002, 0), "the buffer keeps its pages without power");
    let save = Sqe { cdw10: (0x8000_0013u32).into(), ..Sqe::set_features(0x13, 1, 1) };
    assert_eq!(status(&mut controller, ms(0), &save, &[0; 512]), StatusField(0x410d));
    assert_eq!(
        status(&mut controller, ms(0), &Sqe::set_features(0x13, 1, 1), &[0; 8]),
        StatusField(0x400f)
    );
}

#[test]
fn a_volatile_cache_says_so_and_stays_on() {
    let spec = DriveSpec { power_loss_protection: false, ..spec() };
    let drive = drive(0);
    let attributes = Attributes::of(&drive, &spec, &gc());
    let mut controller = Controller::new(drive, attributes, Options::default());
    assert_eq!(done(&mut controller, ms(0), &Sqe::identify(1, 0, 0), &[]).data[525], 7);
    assert_eq!(done(&mut controller, ms(0), &Sqe::get_features(6, 0), &[]).result, 1);
    assert_eq!(status(&mut controller, ms(0), &Sqe::set_features(6, 1, 0), &[]).0, 0);
    assert_eq!(status(&mut controller, ms(0), &Sqe::set_features(6, 0, 0), &[]).0, 0x410e);
}

/// Every offset by hand from the table of log 0Ah; the values are those of
/// `what_the_drive_promises..`.
#[test]
fn log_0ah_lies_as_the_specification_says() {
    let mut controller = controller();
    controller.set_predictable(ms(0), &Config::default(), true).unwrap();
    let sqe = Sqe::get_log_page(0x0a, 1, true, 512);
    // nvme-cli sends the same: CDW10 007F_000Ah (here with RAE, bit 15), CDW11 set << 16.
    assert_eq!((sqe.cdw10.get(), sqe.cdw11.get()), (0x007f_800a, 0x0001_0000));
    let log = done(&mut controller, ms(0), &sqe, &[]).data;
    let (reads, time) = (45_760u64.to_le_bytes(), 102u64.to_le_bytes());
    let mut expected: [u8; 512] = laid_out(&[
        (0, &[2]),
        (32, &reads),
        (40, &[0x00, 0x20]),
        (48, &time),
        (56, &[0x10, 0x01]),
        (64, &[0x0e, 0x01]),
        (128, &reads),
        (136, &[0x00, 0x20]),
        (144, &time),
    ]);
    assert_eq!(log, expected);
    // Off: status 0, nothing left of a window that is none.
    controller.set_predictable(ms(0), &Config::default(), false).unwrap();
    expected[0] = 0;
    expected[128..152].fill(0);
    assert_eq!(done(&mut controller, ms(0), &sqe, &[]).data, expected);
}

#[test]
fn log_0bh_lists_its_sets_ascending_and_without_zeros() {
    let expected = [3, 0, 0, 0, 0, 0, 0, 0, 2, 0, 7, 0, 0, 1];
    assert_eq!(log::event_aggregate(&[7, 0x0100, 2, 7]), expected);
    let log = done(&mut controller(), ms(0), &Sqe::get_log_page(0x0b, 0, true, 12), &[]).data;
    assert_eq!(log, [0; 8], "no events, no entries");
}

#[test]
fn the_vendors_log_shows_schedule_violations_and_fast_fails() {
    let mut controller = controller();
    let config = Config { schedule: Some(schedule()), ..Config::default() };
    controller.set_predictable(ms(0), &config, true).unwrap();
    for result in [0u64, 1, 1023, 1024, u64::from(u32::MAX), 1 << 40] {
        controller.traffic.failed(crate::drive::Status::PredictableLatencyNotMet, result);
    }
    // Member 2's window begins 200 ms after the start of the cycle.
    let now = Instant::from_ns(1_000_000_001) + Duration::from_ms(250);
    let data = done(&mut controller, now, &Sqe::get_log_page(0xc0, 0, true, 512), &[]).data;
    assert_eq!(data[..2], [1, 2]);
    assert_eq!(data[8..16], now.as_ns().to_le_bytes());
    assert_eq!(data[16..24], (now.as_ns() + 50_000_000).to_le_bytes());
    assert_eq!(data[32..64], config_bytes()[480..]);
    assert_eq!(data[64..72], [0; 8]);
    assert_eq!(data[72..80], 6u64.to_le_bytes());
    assert_eq!(data[80..88], (1 + 1023 + 1024 + 0xffff_ffffu64 + (1 << 40)).to_le_bytes());
    assert_eq!(data[88..96], (1u64 << 40).to_le_bytes());
    let bucket = |i: usize| u64::from_le_bytes(data[128 + i * 8..136 + i * 8].try_into().unwrap());
    let filled: Vec<_> = (0..32).map(|i| (i, bucket(i))).filter(|(_, count)| *count > 0).collect();
    assert_eq!(filled, [(0, 2), (9, 1), (10, 1), (31, 2)]);
    assert_eq!(data[384..], [0; 128]);
    let decoded = controller.vendor_log(now).unwrap();
    assert_eq!((decoded.window, decoded.schedule), (Window::NonDeterministic, Some(schedule())));
    assert_eq!((decoded.violations, decoded.fast_fails.count, decoded.collections), (0, 6, (0, 0)));
}

#[test]
fn smart_counts_commands_and_thousands_of_sectors() {
    let mut controller = controller();
    for id in 0..3 {
        controller.submit(ms(0), command(id, Op::Read, 0, 1000));
    }
    controller.submit(ms(0), command(9, Op::Write, 0, 8));
    advance(&mut controller, Instant::NEVER);
    let hour = Instant::START + Duration::from_s(7200);
    let data = done(&mut controller, hour, &Sqe::get_log_page(2, 0, true, 512), &[]).data;
    let expected: [u8; 512] = laid_out(&[
        (3, &[100]),
        (4, &[10]),
        (32, &[3]),
        (48, &[1]),
        (64, &[3]),
        (80, &[1]),
        (128, &[2]),
    ]);
    assert_eq!(data, expected);
}

#[test]
fn smart_has_the_percentage_used_of_the_rated_cycles_and_saturates() {
    let used = |endurance: u32, pe_cycles: u32| {
        let mut config = DriveConfig::new(device());
        (config.device.endurance, config.ageing.pe_cycles) = (endurance, pe_cycles);
        let drive = config.build(config.empty_map(), false);
        let attributes = Attributes::of(&drive, &config.drive, &config.gc);
        let mut controller = Controller::new(drive, attributes, Options::default());
        let log = Sqe::get_log_page(2, 0, true, 512);
        let data = done(&mut controller, ms(0), &log, &[]).data;
        assert_eq!((data[0], data[3], data[4]), (0, 100, 10), "neither warns nor takes spare");
        data[5]
    };
    for (endurance, pe_cycles, percent) in
        [(0, 700, 0), (3000, 0, 0), (3000, 29, 0), (3000, 30, 1), (3000, 2999, 99)]
    {
        assert_eq!(used(endurance, pe_cycles), percent, "{pe_cycles} of {endurance}");
    }
    assert_eq!(
        [(100, 100), (100, 254), (100, 300)].map(|(all, had)| used(all, had)),
        [100, 254, 255]
    );
}

#[test]
fn a_log_is_read_in_pieces_and_never_beyond_its_end() {
    let mut controller = controller();
    let whole = done(&mut controller, ms(0), &Sqe::get_log_page(0x0a, 1, true, 512), &[]).data;
    let mut piece = |offset: u64, bytes: u32| {
        let sqe = Sqe {
            cdw12: (offset as u32).into(),
            cdw13: ((offset >> 32) as u32).into(),
            ..Sqe::get_log_page(0x0a, 1, true, bytes)
        };
        done(&mut controller, ms(0), &sqe, &[])
    };
    assert_eq!(piece(32, 8).data, whole[32..40]);
    assert_eq!(piece(508, 512).data, whole[508..]);
    assert!(piece(512, 4).data.is_empty());
    assert_eq!(piece(516, 4).status.0, 0x4002);
    assert_eq!(piece(1 << 40, 4).status.0, 0x4002);
    assert_eq!(piece(2, 4).status.0, 0x4002);
    assert_eq!(piece(0, 1 << 20).data, whole);
    assert_eq!(piece(0, (1 << 20) + 4).status.0, 0x4002, "more than MDTS");
}

#[test]
fn other_logs_commands_and_namespaces_are_refused() {
    let mut controller = controller();
    let mut log =
        |page, set| status(&mut controller, ms(0), &Sqe::get_log_page(page, set, true, 512), &[]).0;
    for page in [0x00, 0x01, 0x03, 0x05, 0x06, 0x09, 0x0c, 0x70, 0x80, 0xc1, 0xff] {
        assert_eq!(log(page, 0), 0x4109, "page {page:x}");
    }
    assert_eq!(log(0x0a, 0), 0x4002, "no set");
    assert_eq!(log(0x0a, 2), 0x4002, "no such set");
    for opcode in [0x00, 0x01, 0x04, 0x05, 0x0d, 0x10, 0x14, 0x18, 0x19, 0x7f, 0x80, 0xef, 0xff] {
        assert_eq!(
            status(&mut controller, ms(0), &Sqe { opcode, ..Sqe::default() }, &[]).0,
            0x4001,
            "{opcode:x}"
        );
    }
    for (nsid, expected) in [(0u32, 0), (1, 0), (0xffff_ffff, 0), (2, 0x400b)] {
        let named = |sqe: Sqe| Sqe { nsid: nsid.into(), ..sqe };
        for sqe in [
            named(Sqe::get_log_page(2, 0, true, 512)),
            named(Sqe::get_features(0x0b, 0)),
            named(Sqe::set_features(0x0b, 0, 0)),
        ] {
            assert_eq!(status(&mut controller, ms(0), &sqe, &[]).0, expected, "namespace {nsid}");
        }
    }
    let fused = Sqe { flags: 1, ..Sqe::get_log_page(2, 0, true, 512) };
    assert_eq!(status(&mut controller, ms(0), &fused, &[]).0, 0x4002);
}

#[test]
fn abort_takes_back_what_still_waits() {
    let device = device();
    let spec = DriveSpec { queue_depth: 1, ..spec() };
    let map = PageMap::new(
        &device,
        &FtlSpec::default(),
        &gc(),
        Layout::new(&device).total_units() / 2,
        1,
    );
    let drive = Drive::new(&device, &spec, &gc(), map, false);
    let attributes = Attributes::of(&drive, &spec, &gc());
    let mut controller = Controller::new(drive, attributes, Options::default());
    for cid in 0..2 {
        controller.submit(ms(0), command(0x0001_0000 | cid, Op::Write, u64::from(cid) * 8, 8));
    }
    // CDW10: queue in 15:0, command in 31:16.
    let mut abort = |cdw10: u32| {
        let sqe = Sqe { opcode: 0x08, cdw10: cdw10.into(), ..Sqe::default() };
        done(&mut controller, ms(0), &sqe, &[]).result
    };
    assert_eq!(abort(0x0001_0001), 0, "it waited");
    assert_eq!(abort(0x0001_0001), 1, "it is gone");
    assert_eq!(abort(0x0000_0001), 1, "it is being worked on");
    let ends = advance(&mut controller, Instant::NEVER);
    let ends: Vec<_> = ends
        .iter()
        .map(|done| (done.id.cid(), StatusField::of(done, &Default::default()).sc()))
        .collect();
    assert!(ends.contains(&(1, 0x07)) && ends.contains(&(0, 0x00)), "{ends:?}");
    assert_eq!(feature::PLM_NOTICES, 0x1000);
}
