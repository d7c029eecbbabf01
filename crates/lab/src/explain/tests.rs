//! Stories and sums in words, golden.

use super::*;
use manx_core::stats::{AttributionReport, RunResult};

fn slow() -> SlowRequest {
    SlowRequest {
        op: "read".to_string(),
        lpn: 1234,
        sectors: 8,
        at_s: 1.204,
        latency_us: 4200.0,
        parts_us: CauseTimes { erase: 4100.0, service: 90.0, reads: 10.0, ..Default::default() },
        flash: Some(SlowFlash {
            die: 3,
            met: "erase".to_string(),
            block: Some(77),
            since_s: 1.2035,
            came_s: 1.204,
            began_s: 1.2081,
            ended_s: 1.2082,
            ..Default::default()
        }),
        ..Default::default()
    }
}

#[test]
fn a_story_names_the_culprit_and_the_place() {
    assert_eq!(
        story(&slow()),
        "read of LPN 1234 at 1.204000 s: 4.100ms of 4.200ms behind the erase of block 77 on die 3, \
         begun at 1.203500 s, 90.00us own work, 10.00us other"
    );
    let held = SlowRequest {
        parts_us: CauseTimes { gc_copy: 4000.0, service: 200.0, ..Default::default() },
        flash: slow().flash.map(|flash| SlowFlash {
            met: "closed".to_string(),
            block: None,
            ..flash
        }),
        sectors: 16,
        ..slow()
    };
    assert_eq!(
        story(&held),
        "read of 16 sectors from LPN 1234 at 1.204000 s: \
         4.000ms of 4.200ms behind garbage collection, which kept the channel of die \
         3 for itself from 1.203500 s on, 200.0us own work"
    );
    let flush = SlowRequest {
        op: "flush".to_string(),
        parts_us: CauseTimes { buffer: 4200.0, ..Default::default() },
        flash: None,
        ..slow()
    };
    assert_eq!(
        story(&flush),
        "flush at 1.204000 s: 4.200ms of 4.200ms waiting for the write buffer to reach flash"
    );
}

#[test]
fn a_story_says_that_garbage_collection_was_forced_and_that_a_write_waited_for_room() {
    let flash = SlowFlash {
        met: "gc_copy".to_string(),
        forced: true,
        makes_room: true,
        ..slow().flash.unwrap()
    };
    let parts_us =
        CauseTimes { gc_copy: 4000.0, program: 190.0, service: 10.0, ..Default::default() };
    let write =
        SlowRequest { op: "write".to_string(), parts_us, flash: Some(flash.clone()), ..slow() };
    assert_eq!(
        story(&write),
        "write of LPN 1234 at 1.204000 s: 4.000ms of 4.200ms behind garbage collection: \
         it met the copying of block 77 on die 3, begun at 1.203500 s, 190.0us behind programs on \
         die 3, 10.00us other; it waited for room in the write buffer, longest for a row on die 3; \
         garbage collection was forced: at the critical watermark (gc.hard) it goes before the host"
    );
    // Where garbage collection has no part of it, nothing was forced upon the request.
    let read = SlowRequest {
        parts_us: CauseTimes { reads: 4190.0, service: 10.0, ..Default::default() },
        flash: Some(SlowFlash { makes_room: false, ..flash }),
        ..slow()
    };
    assert_eq!(
        story(&read),
        "read of LPN 1234 at 1.204000 s: 4.190ms of 4.200ms behind other \
         reads on die 3, 10.00us other"
    );
}

#[test]
fn a_story_of_an_array_goes_step_by_step_and_names_the_drives() {
    let step = |stage: Stage, drive, took_us: f64| SlowStep {
        stage: stage.name().to_string(),
        drive,
        took_us,
        ..Default::default()
    };
    let steps = vec![
        step(Stage::Retry, Some(2), 30.0),
        SlowStep {
            parts_us: CauseTimes { erase: 4100.0, service: 68.0, ..Default::default() },
            flash: slow().flash,
            ..step(Stage::Reconstruct, Some(0), 4168.0)
        },
        step(Stage::Xor, None, 2.0),
    ];
    assert_eq!(
        story(&SlowRequest { steps, ..slow() }),
        "read of LPN 1234 at 1.204000 s took 4.200ms: 30.00us on drive 2, which brought \
         nothing, then 4.168ms reading the rest of its row, drive 0 last (4.100ms of 4.168ms \
         behind the erase of block 77 on die 3, begun at 1.203500 s, 68.00us own work), then \
         2.000us computing the page"
    );
    let steps = vec![
        step(Stage::Stripe, None, 100.0),
        SlowStep {
            parts_us: CauseTimes { service: 4090.0, ..Default::default() },
            ..step(Stage::Write, Some(1), 4090.0)
        },
    ];
    let write = SlowRequest { op: "write".to_string(), steps, ..slow() };
    assert_eq!(
        story(&write),
        "write of LPN 1234 at 1.204000 s took 4.200ms: 100.0us waiting for its row, then 4.090ms \
         writing data and parity, drive 1 last (4.090ms of 4.090ms own work)"
    );
}

#[test]
fn bands_are_sums_of_shares() {
    let band = |name: &str, erase| AttributionBand {
        band: name.to_string(),
        from_us: 1000.0,
        count: if name == "all" { 5000 } else { 50 },
        mean_us: CauseTimes { service: 100.0, erase, link: 0.5, ..Default::default() },
        stages_us: None,
    };
    let write = SlowRequest { op: "write".to_string(), ..slow() };
    let flush = SlowRequest { op: "flush".to_string(), ..slow() };
    let attribution = AttributionReport {
        read: vec![band("all", 0.0), band("p99_9", 299.5)],
        write: vec![band("all", 10.0)],
        slowest: vec![slow(), slow(), write.clone(), flush],
        slowest_reads: vec![slow(), slow(), slow()],
        slowest_writes: vec![write],
    };
    let run = RunResult {
        policy: "base".to_string(),
        attribution: Some(attribution),
        ..Default::default()
    };
    let mut set = RunSet { runs: vec![run] };
    assert_eq!(
        summary(&set),
        "base  50 reads from p99.9 on (1.000ms or more): 400.0us on average = 74.9 % behind \
         erases + 25.0 % own work\n\
         base  all 5000 writes: 110.5us on average = 90.5 % own work + 9.05 % behind erases\n"
    );
    let told = |set: &RunSet, kinds, top| {
        let text = explain(set, kinds, top).unwrap();
        let count = |of: &str| text.matches(of).count();
        ([count("read of LPN 1234"), count("write of LPN 1234"), count(". flush at")], text.clone())
    };
    let (count, text) = told(&set, Kinds::All, 2);
    assert!(text.contains("all 5000 reads: 100.5us on average = 99.5 % own work\n"), "{text}");
    assert_eq!(count, [2, 1, 1], "{text}");
    assert_eq!(told(&set, Kinds::All, 1).0, [1, 1, 1]);
    assert_eq!(told(&set, Kinds::Reads, 20).0, [3, 0, 0]);
    let (count, text) = told(&set, Kinds::Writes, 20);
    assert_eq!((count, text.contains(" reads")), ([0, 1, 0], false), "{text}");
    let none = told(&set, Kinds::All, 0);
    assert_eq!((none.0, none.1.contains("slowest")), ([0, 0, 0], false));
    // A result from before has one list of all.
    let old = set.runs[0].attribution.as_mut().unwrap();
    (old.slowest_reads, old.slowest_writes) = (Vec::new(), Vec::new());
    assert_eq!(told(&set, Kinds::All, 20).0, [2, 1, 1]);
    set.runs[0].attribution = None;
    assert!(explain(&set, Kinds::All, 1).unwrap_err().contains("--attribution"));
    assert_eq!(summary(&set), "");
}
