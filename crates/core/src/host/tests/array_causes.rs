//! Attribution of whole arrays under random load: the parts of every request add up to its latency
//! (the driver asserts that, the array that there is no gap between its steps), nothing of a run
//! changes, and every cause and stage occurs.

use super::array::{ALL, driver, random, setup};
use super::draw::part;
use crate::array::{ArraySpec, ReadStrategy};
use crate::drive::{Op, Storage, TimelineSpec, Walked};
use crate::host::{Causes, Records};
use crate::units::{Cause, Duration, Instant, Split, Stage, Stages};

fn sums(causes: &Causes) -> (Split, Stages) {
    let (mut split, mut stages) = (causes.read.total().1, causes.read.total_stages());
    split += causes.write.total().1;
    stages += causes.write.total_stages();
    (split, stages)
}

#[test]
fn the_parts_of_random_arrays_requests_add_up_and_change_nothing() {
    let (mut split, mut stages) = (Split::NONE, Stages::default());
    for seed in 0..part(120) {
        let (mut setup, spec) = random(seed, &ALL);
        // So that a fast failure takes time.
        setup.drive.controller = Duration::from_us(seed % 3);
        let played = |attributes: bool| -> (Records, Instant, Option<(Split, Stages)>) {
            let driver = driver(&setup, &spec).with_records();
            let mut driver = if attributes { driver.with_attribution() } else { driver };
            driver.play_to_the_end();
            let (records, now) = (driver.take_records().expect("asked for"), driver.now());
            (records, now, driver.measured().causes.as_deref().map(sums))
        };
        let (bare, attributed) = (played(false), played(true));
        assert_eq!(
            (&bare.0.requests, bare.1),
            (&attributed.0.requests, attributed.1),
            "seed {seed}"
        );
        let (of_run, stages_of_run) = attributed.2.expect("asked for");
        assert_eq!(
            of_run.total(),
            stages_of_run.total(),
            "seed {seed}: by cause and by stage it is the same time"
        );
        assert_eq!(of_run.get(Cause::Retry), stages_of_run.get(Stage::Retry), "seed {seed}");
        assert_eq!(of_run.get(Cause::Stripe), stages_of_run.get(Stage::Stripe), "seed {seed}");
        for (record, split) in attributed.0.requests.iter().zip(&attributed.0.splits) {
            assert_eq!(split.total(), record.latency, "seed {seed}: {record:?}");
            // A request that no drive says was behind a GC run has no part behind one.
            let behind = split.get(Cause::GcCopy) + split.get(Cause::Erase);
            let blocked = record.gc_blocked || record.op != Op::Read;
            assert!(blocked || behind.is_zero(), "seed {seed}: {record:?} {split:?}");
        }
        split += of_run;
        stages += stages_of_run;
    }
    let wanted = [
        Cause::Service,
        Cause::Erase,
        Cause::GcCopy,
        Cause::Buffer,
        Cause::Reads,
        Cause::Retry,
        Cause::Stripe,
    ];
    for cause in wanted {
        assert!(split.get(cause) > Duration::from_us(100), "{cause:?}: {split:?}");
    }
    for stage in Stage::ALL.into_iter().filter(|stage| *stage != Stage::Flush) {
        assert!(stages.get(stage) > Duration::from_us(100), "{stage:?}: {stages:?}");
    }
}

/// Requests of an array are on its timeline, each with steps that cover it; those of its drives are
/// the commands that it sent. A limit leaves the rest out.
#[test]
fn a_timeline_of_an_array_holds_its_requests_step_by_step() {
    let setup = setup(800);
    let spec = ArraySpec { members: 4, strategy: ReadStrategy::Ioda, ..ArraySpec::default() };
    let played = |limit| {
        let mut driver = driver(&setup, &spec);
        let (from, to, slow) = (Instant::START, Instant::NEVER, Some(Duration::ZERO));
        driver.storage.keep_timeline(&TimelineSpec { from, to, slow, limit });
        let mut driver = driver.with_attribution();
        driver.play_to_the_end();
        driver
    };
    let driver = played(u64::MAX);
    let (room, requests) = driver.storage().slow_requests().expect("asked for");
    assert_eq!((room.kept, requests.len() as u64), (800, driver.progress().completed));
    for Walked { request, steps } in requests {
        let mut at = request.start;
        for step in steps {
            assert!(
                step.from == at && step.to > at && step.split.total() == step.to.since(at),
                "{request:?} {steps:?}"
            );
            at = step.to;
        }
        assert_eq!(at, request.end, "{request:?} {steps:?}");
        assert_eq!(
            request.attributed.expect("books are kept").split.total(),
            request.end.since(request.start)
        );
    }
    let asked: usize = (0..4)
        .map(|n| driver.storage().drive(n).recorded(driver.now()).unwrap().requests.len())
        .sum();
    let counters = driver.storage().counters();
    assert!(
        asked as u64 <= counters.drive_reads + counters.drive_writes && asked > 2_000,
        "{asked} {counters:?}"
    );
    let few = played(100);
    let (room, requests) = few.storage().slow_requests().expect("asked for");
    assert_eq!((room.kept, room.left_out, requests.len()), (100, 700, 100));
}
