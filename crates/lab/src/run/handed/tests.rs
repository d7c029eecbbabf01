//! A client that reads, beside other observers, other storages, and none.

use super::*;
use crate::load::Request;
use crate::run::Moment;
use manx_config::Override;
use manx_core::drive::{Command, TimelineSpec};
use manx_core::units::{Duration, Instant, Lba, Op};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

const READS: u64 = 200;

fn scenario(policy: &str, keys: &[(&str, &str)]) -> Scenario {
    let none = [("measure.warmup", "\"0s\""), ("measure.warmup_requests", "0")];
    let keys = keys.iter().chain(&none);
    let overrides = keys.map(|(key, value)| Override::new(*key, *value, "a test")).collect();
    Request::read("quick", overrides).unwrap().under(policy).unwrap()
}

/// Reads one page after the other, each when the one before is there.
fn read_all<S: Storage>(driver: &mut Driver<S>) -> Instant {
    let (page, mut now) = (driver.page_sectors(), Instant::START);
    for id in 0..READS {
        driver.submit(now, Command::new(id as u32, Op::Read, Lba(id * u64::from(page)), page));
        now = driver.advance_before(Instant::NEVER).unwrap().at;
    }
    driver.end(now);
    now
}

fn asked(now: Instant) -> Vec<BlockRequest> {
    let disk = "vda".to_string();
    let (lba, at) = (Lba(0), Instant::START);
    vec![BlockRequest {
        disk,
        process: 1,
        op: Op::Read,
        lba,
        sectors: 8,
        queued: at,
        issued: at + Duration::from_ns(5),
        ended: now,
    }]
}

fn played(
    scenario: &Scenario,
    drives: u32,
    timeline: Option<(&Path, TimelineSpec)>,
) -> Result<Option<Finished>, RunError> {
    let stop = AtomicBool::new(false);
    let run = ClientRun {
        policy: "a policy",
        scenario,
        client: "a client",
        drives,
        cache: None,
        beside: Beside { timeline, ..Beside::default() },
        stop: &stop,
        observer: &|_: &Moment<'_>| {},
    };
    run.run(&mut |mut handed| {
        let now = match &mut handed {
            Handed::Drives(drives) => drives.iter_mut().map(read_all).max().unwrap(),
            Handed::Array(array) => read_all(array.as_mut()),
        };
        let (outcome, warnings) = (Outcome::Completed, vec!["its own".to_string()]);
        let verify = VerifyReport { reads_checked: 7, mismatches: 0 };
        Ok(Back { handed, outcome, verify, warnings, asked: asked(now) })
    })
}

#[test]
fn a_client_is_counted_as_any_load() {
    let one = played(&scenario("nogc", &[]), 1, None).unwrap().unwrap().result;
    assert_eq!((one.read.count, one.write.count), (READS, 0));
    assert_eq!(one.outcome, Outcome::Completed);
    assert!(one.title.starts_with("a client on "), "{}", one.title);
    assert_eq!(one.verify.map(|verify| verify.reads_checked), Some(7));
    assert!(one.warnings.contains(&"its own".to_string()), "{:?}", one.warnings);
    // Reads one by one meet nobody: all take as long, and no other drive changes that.
    assert_eq!(one.read.p50_us, one.read.max_us);
    let two = played(&scenario("nogc", &[]), 2, None).unwrap().unwrap().result;
    assert_eq!(two.read.count, 2 * READS);
    assert_eq!((two.read.p50_us, two.read.max_us), (one.read.p50_us, one.read.max_us));
    assert!(two.title.contains("2 x "), "{}", two.title);
}

#[test]
fn an_array_is_one_storage_and_observers_move_nothing() {
    let keys: &[_] = &[("array.members", "4")];
    let bare = played(&scenario("ioda", keys), 1, None).unwrap().unwrap().result;
    assert_eq!(bare.read.count, READS);
    let folder = std::env::temp_dir().join(format!("manx-handed-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file: PathBuf = folder.join("t.pftrace");
    let spec = |limit| TimelineSpec { from: Instant::START, to: Instant::NEVER, slow: None, limit };
    let seen = played(&scenario("ioda", keys), 1, Some((&file, spec(1_000_000)))).unwrap().unwrap();
    let text = std::fs::read(&file).unwrap();
    let holds = |piece: &str| text.windows(piece.len()).any(|window| window == piece.as_bytes());
    assert!(["block layer of the host", "vda", "at the drive", "process"].into_iter().all(holds));
    let with = played(&scenario("ioda", &[keys[0], ("measure.attribution", "true")]), 1, None);
    for result in [seen.result, with.unwrap().unwrap().result] {
        assert_eq!((result.read.p50_us, result.read.max_us), (bare.read.p50_us, bare.read.max_us));
        assert_eq!(result.flash, bare.flash);
    }
    // Where nothing of it lies in the window, or the limit is none, that is told.
    let late = TimelineSpec { from: Instant::from_ns(1 << 60), ..spec(10) };
    let report = |spec| {
        let run = played(&scenario("nogc", &[]), 1, Some((file.as_path(), spec)));
        run.unwrap().unwrap().timeline.unwrap()
    };
    assert_eq!(report(late).kept, 0);
    let full = report(spec(0));
    assert!(full.kept == 0 && full.left_out > 1 && full.full_at == Some(Instant::START));
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_client_that_fails_or_is_stopped_leaves_no_result() {
    let scenario = scenario("nogc", &[]);
    let stop = AtomicBool::new(false);
    let run = ClientRun {
        policy: "a policy",
        scenario: &scenario,
        client: "a client",
        drives: 1,
        cache: None,
        beside: Beside::default(),
        stop: &stop,
        observer: &|_: &Moment<'_>| {},
    };
    let failed = run.run(&mut |_| Err(RunError::Write("it died".to_string())));
    assert_eq!(failed.unwrap_err(), RunError::Write("it died".to_string()));
    stop.store(true, Ordering::Relaxed);
    let stopped = run.run(&mut |_| panic!("it is not begun"));
    assert!(stopped.unwrap().is_none());
}
