//! A machine against bytes kept plainly, with many requests under way.

use super::{Ask, Kind, Machine};
use crate::control::Change;
use crate::engine::Engine;
use manx_config::{Input, Override, Scenario, builtin_scenario, load};
use manx_core::array::Array;
use manx_core::drive::{Drive, PredictableLatency, Status};
use manx_core::nvme::{Attributes, Controller, Options};
use manx_core::sim::Rng;
use manx_core::units::{Duration, Instant};
use std::collections::BTreeMap;

pub(crate) fn scenario(sets: &[&str]) -> Scenario {
    let scenario = builtin_scenario("quick").unwrap();
    let all =
        ["device.geometry.channels=1", "device.geometry.pages=32", "device.geometry.blocks=24"];
    let overrides: Vec<Override> =
        all.iter().chain(sets).map(|set| Override::from_set(set).unwrap()).collect();
    load(&Input { scenario: &scenario, device: None, policy: None, overrides: &overrides }).unwrap()
}

pub(crate) fn drive(scenario: &Scenario) -> Drive {
    let config = scenario.drive_config();
    config.build(config.empty_map(), true)
}

fn array() -> Array {
    let scenario = scenario(&["array.members=4"]);
    let member = || {
        let drive = drive(&scenario);
        let attributes = Attributes::of(&drive, &scenario.drive, &scenario.gc);
        Controller::new(drive, attributes, Options::default())
    };
    Array::new(&scenario.array, (0..4).map(|_| member()).collect(), None, true, 1)
}

pub(crate) fn ask(kind: Kind, offset: u64, length: u64) -> Ask {
    Ask {
        cookie: 0,
        drive: 0,
        kind,
        offset,
        length,
        fua: false,
        predictable: PredictableLatency::Off,
    }
}

/// Does everything, and gives the bytes of the last read.
pub(crate) fn settle<E: Engine>(machine: &mut E, now: &mut Instant) -> Vec<u8> {
    let mut bytes = Vec::new();
    while machine.under_way() > 0 {
        *now = machine.next_event_at().max(*now) + Duration::from_ns(1);
        while let Some(finished) = machine.advance_before(*now) {
            assert_eq!(finished.done.status, Status::Success);
            if finished.done.ask.kind == Kind::Read {
                bytes.clear();
                machine.data(&finished, &mut bytes);
            }
        }
    }
    bytes
}

/// Requests that overlap no other under way, many at once, over a device kept plainly.
pub(crate) fn agrees_with_plain_bytes<E: Engine>(machine: &mut E, rounds: u32) {
    agrees_between(machine, rounds, |_, _, _| {});
}

/// As [`agrees_with_plain_bytes`]; before each round something happens to the device.
fn agrees_between<E: Engine>(
    machine: &mut E,
    rounds: u32,
    mut happens: impl FnMut(&mut E, u32, Instant),
) {
    let size = machine.size();
    let (mut plain, mut rng) = (vec![0u8; size as usize], Rng::stream(7, "serve"));
    let (mut now, mut busy): (_, BTreeMap<u64, (u64, Ask)>) = (Instant::START, BTreeMap::new());
    for round in 0..rounds {
        happens(machine, round, now);
        let sectors = 1 + rng.next_u64() % 40;
        let offset = rng.next_u64() % (size / 512 - sectors) * 512;
        let length = sectors * 512;
        let is_free = busy.values().all(|(_, other)| {
            offset + length <= other.offset || other.offset + other.length <= offset
        });
        if is_free {
            let kind = match rng.next_u64() % 8 {
                0 => Kind::Zero { may_deallocate: true },
                1 => Kind::Zero { may_deallocate: false },
                2 => Kind::Flush,
                3..5 => Kind::Read,
                _ => Kind::Write,
            };
            let cookie = u64::from(round);
            let fua = rng.next_u64() % 4 == 0;
            let (offset, length) = if kind == Kind::Flush { (0, 0) } else { (offset, length) };
            let data: Vec<u8> = (0..length).map(|at| (cookie * 31 + at / 512) as u8).collect();
            let range = offset as usize..(offset + length) as usize;
            match kind {
                Kind::Write => plain[range].copy_from_slice(&data),
                Kind::Zero { .. } => plain[range].fill(0),
                _ => {}
            }
            let ask = Ask { cookie, fua, ..ask(kind, offset, length) };
            machine.submit(now, 1, ask, if kind == Kind::Write { &data } else { &[] });
            busy.insert(cookie, (offset, ask));
        }
        now += Duration::from_ns(rng.next_u64() % 200_000);
        while let Some(finished) = machine.advance_before(now) {
            let Ask { cookie, kind, offset, length, .. } = finished.done.ask;
            assert_eq!(finished.done.status, Status::Success, "{:?}", finished.done);
            busy.remove(&cookie).expect("it is completed once");
            if kind == Kind::Read {
                let mut bytes = Vec::new();
                machine.data(&finished, &mut bytes);
                let range = offset as usize..(offset + length) as usize;
                assert!(bytes == plain[range], "request {cookie} at {offset} + {length}");
            }
        }
    }
    settle(machine, &mut now);
    machine.submit(now, 1, ask(Kind::Read, 0, size), &[]);
    assert!(settle(machine, &mut now) == plain, "the whole device");
    assert_eq!(machine.first_mismatch(), None);
    assert!(machine.advance_before(now).is_none());
}

#[test]
fn a_drive_holds_what_was_written_while_it_collects() {
    let drive = drive(&scenario(&[]));
    let mut machine = Machine::new(drive);
    agrees_with_plain_bytes(&mut machine, 20_000);
    let live = machine.content().live_bytes();
    assert!(live <= machine.size(), "older versions are dropped");
}

/// Times ten times as long and back, watermarks up and down, GC paused and not: nothing is lost,
/// and nothing panics, whatever was under way.
#[test]
fn a_drive_that_is_changed_at_work_holds_what_was_written() {
    for sets in [
        &["gc.mode=\"base\""][..],
        &["gc.mode=\"preemptive\"", "gc.when=\"background\""],
        &["gc.mode=\"controller\""],
        &["gc.mode=\"preemptive\"", "gc.when=\"background\"", "drive.scheduler=\"fifo\""],
        &["gc.mode=\"nogc\""],
    ] {
        let scenario = scenario(sets);
        let mut slow = scenario.device.clone();
        slow.timing.read.iter_mut().for_each(|time| *time = *time * 10);
        slow.timing.program.iter_mut().for_each(|time| *time = *time * 10);
        slow.timing.erase_step = slow.timing.erase_step * 10;
        slow.channel.command = Duration::from_us(5);
        let mut rng = Rng::stream(24, "change");
        let mut machine = Machine::new(drive(&scenario));
        agrees_between(&mut machine, 6_000, |machine, _, now| {
            if rng.below(40) > 0 {
                return;
            }
            let device = if rng.below(2) == 0 { &slow } else { &scenario.device };
            let (device, is_paused) = (device.clone(), rng.below(3) == 0);
            let change = Change { device, gc: scenario.gc.clone(), is_paused };
            machine.may_change(&change).unwrap();
            Engine::change(machine, now, &change);
        });
    }
}

#[test]
fn commands_of_one_instant_are_recorded_in_the_order_in_which_they_came() {
    let mut machine = Machine::new(drive(&scenario(&[]))).with_records();
    let (mut now, mut rng) = (Instant::START, Rng::stream(5, "records"));
    for _ in 0..20 {
        let asked: Vec<Ask> = (0..40)
            .map(|_| {
                let kind = if rng.below(2) == 0 { Kind::Read } else { Kind::Write };
                ask(kind, rng.below(200) * 4096, (1 + rng.below(8)) * 512)
            })
            .collect();
        for ask in &asked {
            let data = vec![1; if ask.kind == Kind::Write { ask.length as usize } else { 0 }];
            machine.submit(now, 1, *ask, &data);
        }
        settle(&mut machine, &mut now);
        let records = machine.take_records().unwrap().requests;
        let places: Vec<u64> = records.iter().map(|record| record.lba.0 * 512).collect();
        assert_eq!(places, asked.iter().map(|ask| ask.offset).collect::<Vec<u64>>());
    }
}

#[test]
fn log_blocks_hold_what_was_written() {
    let sets = ["ftl.kind=\"log-block\"", "ftl.log.policy=\"fast\"", "device.op=0.5"];
    agrees_with_plain_bytes(&mut Machine::new(drive(&scenario(&sets))), 8_000);
}

#[test]
fn an_array_holds_what_was_written() {
    agrees_with_plain_bytes(&mut Machine::new(array()), 8_000);
}

#[test]
fn a_trim_reads_as_zeros_where_pages_are_whole_and_keeps_the_rest() {
    let (mut machine, mut now) = (Machine::new(drive(&scenario(&[]))), Instant::START);
    machine.submit(now, 1, ask(Kind::Write, 0, 12_288), &[5; 12_288]);
    settle(&mut machine, &mut now);
    machine.submit(now, 1, Ask { fua: true, ..ask(Kind::Trim, 2_048, 8_192) }, &[]);
    settle(&mut machine, &mut now);
    machine.submit(now, 1, ask(Kind::Read, 0, 12_288), &[]);
    let bytes = settle(&mut machine, &mut now);
    assert_eq!(bytes[..4_096], [5; 4_096]);
    assert_eq!(bytes[4_096..8_192], [0; 4_096]);
    assert_eq!(bytes[8_192..], [5; 4_096]);
    let stretches = machine.stretches(2_048, 8_192, 9);
    let told: Vec<_> = stretches.iter().map(|part| (part.length, part.has_bytes)).collect();
    assert_eq!(told, [(2_048, true), (4_096, false), (2_048, true)]);
    assert_eq!(machine.stretches(0, 12_288, 1).len(), 1);
}

#[test]
fn a_read_brings_what_was_acknowledged_before_it_came() {
    let (mut machine, mut now) = (Machine::new(drive(&scenario(&[]))), Instant::START);
    machine.submit(now, 1, ask(Kind::Write, 0, 4_096), &[1; 4_096]);
    settle(&mut machine, &mut now);
    // A read under way, and a write that overtakes it: either is an answer, no third.
    machine.submit(now, 1, ask(Kind::Read, 0, 4_096), &[]);
    machine.submit(now, 1, ask(Kind::Write, 0, 4_096), &[2; 4_096]);
    let bytes = settle(&mut machine, &mut now);
    assert!(bytes == [1; 4_096] || bytes == [2; 4_096]);
    machine.submit(now, 1, ask(Kind::Read, 0, 4_096), &[]);
    assert_eq!(settle(&mut machine, &mut now), [2; 4_096]);
    assert_eq!(machine.content().memory_bytes(), 8_192, "a place of each version at once");
}
