//! The library of workloads: every profile loads, is allowed on a small drive, and generates what
//! its figures say.

use manx_config::{
    ConfigError, Input, Override, Scenario, Source, builtin_scenario, builtin_workload, load,
    load_profile, split_parameter, workload_names,
};
use manx_core::drive::Op;
use manx_core::flash::Capacity;
use manx_core::host::fit::Fitter;
use manx_core::host::generate::Generator;
use manx_core::host::{Arrival, JobSpec, Pattern, Request, RequestSource};
use manx_core::units::{Bytes, Duration, SECTOR};
use manx_trace::Record;

/// The scenario `quick` with this workload in place of its own.
fn quick_with(
    source: Source,
    parameter: Option<&str>,
    sets: &[&str],
) -> Result<Scenario, ConfigError> {
    let mut overrides = vec![Override::workload(source, parameter, "--workload w")];
    overrides.extend(sets.iter().map(|set| Override::from_set(set).unwrap()));
    let scenario = builtin_scenario("quick")?;
    load(&Input { scenario: &scenario, device: None, policy: None, overrides: &overrides })
}

fn builtin(name: &str) -> Scenario {
    quick_with(builtin_workload(name).unwrap(), None, &[]).unwrap_or_else(|error| panic!("{error}"))
}

fn text(text: &str) -> Source {
    Source { file: "w.toml".to_string(), text: text.to_string() }
}

fn mean(sizes: &[(Bytes, f64)]) -> f64 {
    let total: f64 = sizes.iter().map(|(_, weight)| weight).sum();
    sizes.iter().map(|(size, weight)| size.get() as f64 * weight / total).sum()
}

#[track_caller]
fn near(what: &str, value: f64, expected: f64, tolerance: f64) {
    assert!(
        (value - expected).abs() <= tolerance * expected.abs(),
        "{what}: {value} instead of {expected}"
    );
}

#[test]
fn every_profile_has_a_summary_a_source_and_loads_on_a_small_drive() {
    assert_eq!(workload_names().count(), 28);
    for name in workload_names() {
        let profile = load_profile(&builtin_workload(name).unwrap(), None).unwrap();
        assert!((16..116).contains(&profile.summary.len()), "{name}: {}", profile.summary);
        assert!(profile.source.len() > 40, "{name}: {}", profile.source);
        let scenario = builtin(name);
        if name == "act" {
            // Bounded by time, as the tool is; its rates are tested where it is built (host::act).
            assert!(
                scenario.workload.act.is_some()
                    && scenario.workload.jobs.iter().all(|job| !job.time.is_zero())
            );
            continue;
        }
        assert_eq!(scenario.workload, profile.workload, "{name}");
        let requests: u64 = scenario.workload.jobs.iter().map(|job| job.requests).sum();
        assert!(requests >= 10_000, "{name}");
        assert_eq!(scenario.measure.warmup_requests, requests / 50, "{name}");
    }
}

#[test]
fn every_profile_generates_the_mix_and_the_sizes_that_it_states() {
    for name in workload_names() {
        let scenario = builtin(name);
        let sectors = Capacity::of(&scenario.device).user.get() / SECTOR;
        for (number, job) in scenario.workload.jobs.iter().enumerate() {
            let bounded = JobSpec { requests: 20_000, ..job.clone() };
            let mut generator = Generator::new(&bounded, sectors, 1, number).unwrap();
            let requests: Vec<Request> = std::iter::from_fn(|| generator.next_request()).collect();
            let of = |op| requests.iter().filter(move |request| request.op == op);
            let bytes = |op| {
                of(op).map(|r| u64::from(r.sectors) * SECTOR).sum::<u64>() as f64
                    / of(op).count() as f64
            };
            let data = requests.len() - of(Op::Flush).count();
            let reads = 100.0 * of(Op::Read).count() as f64 / data as f64;
            assert!(
                (reads - job.read_percent).abs() < 1.5,
                "{name}: {reads} % reads, not {}",
                job.read_percent
            );
            if job.read_percent > 0.0 {
                near(name, bytes(Op::Read), mean(&job.block_sizes), 0.08);
            }
            if job.read_percent < 100.0 {
                let sizes = if job.write_block_sizes.is_empty() {
                    &job.block_sizes
                } else {
                    &job.write_block_sizes
                };
                near(name, bytes(Op::Write), mean(sizes), 0.2);
            }
            assert!(of(Op::Write).all(|write| write.fua == (job.fua_percent > 0.0)), "{name}");
        }
    }
}

/// Figures of the sources, independent of the files.
#[test]
fn the_profiles_have_the_published_figures() {
    let one = |name: &str| builtin(name).workload.jobs[0].clone();
    let t2 = one("t2");
    assert_eq!(
        (t2.pattern, t2.tiers, t2.queue_depth),
        (Pattern::Tiers, vec![(0.45, 39.0), (1.1, 37.9)], 1)
    );
    assert_eq!(one("skew-70-30").tiers, [(30.0, 70.0)]);
    // YCSB: reads of all requests; F has 100 reads to 50 writes; a scan of 1 to 100 records has 13
    // pages on average.
    let reads =
        ["a", "b", "c", "d", "e", "f"].map(|letter| one(&format!("ycsb-{letter}")).read_percent);
    assert_eq!(reads, [50.0, 95.0, 100.0, 95.0, 95.0, 66.667]);
    near("scan", mean(&one("ycsb-e").block_sizes), 13.0 * 4096.0, 1e-9);
    // Filebench: reads to writes 1:2, 2:2, 10:1, 3200:321; threads.
    let filebench = ["fileserver", "varmail", "webserver", "filebench-oltp"].map(one);
    for (job, (reads, writes, threads)) in filebench.iter().zip([
        (1.0, 2.0, 50),
        (2.0, 2.0, 16),
        (10.0, 1.0, 100),
        (3200.0, 321.0, 211),
    ]) {
        near("reads", job.read_percent, 100.0 * reads / (reads + writes), 1e-4);
        assert_eq!(job.queue_depth, threads);
    }
    assert_eq!(filebench[1].flush_every, 1);
    // Reads %, KB a read, KB a write, requests per second: DTRS is the measured row, the others the
    // table of IODA.
    let rows = [
        ("dtrs", 89.0, 55.6, 55.6, 423.5),
        ("exch", 24.0, 15.0, 43.0, 1183.4),
        ("lmbe", 89.0, 12.0, 191.0, 1855.3),
        ("msn", 74.0, 8.0, 128.0, 2702.7),
        ("tpcc", 64.0, 8.0, 137.0, 13_888.9),
    ];
    for (name, reads, read_kib, write_kib, rate) in rows {
        let job = one(name);
        assert_eq!((job.read_percent, job.rate), (reads, rate), "{name}");
        near(name, mean(&job.block_sizes), read_kib * 1024.0, 0.01);
        near(name, mean(&job.write_block_sizes), write_kib * 1024.0, 0.02);
    }
    let kv = builtin("kv-cache").workload.jobs;
    near("KV reads", kv[0].rate * mean(&kv[0].block_sizes), 2.0 * f64::from(1 << 30), 1e-9);
    assert_eq!(kv[0].run, Bytes::kib(32 << 10));
}

#[test]
fn a_parameter_sets_the_key_that_the_profile_names() {
    assert_eq!(split_parameter("act(2)"), ("act", Some("2")));
    assert_eq!(split_parameter("./my file(1).toml"), ("./my file(1).toml", None));
    assert_eq!(split_parameter("act()"), ("act()", None));
    let exch = quick_with(builtin_workload("exch").unwrap(), Some("250.5"), &[]).unwrap();
    assert_eq!(exch.workload.jobs[0].rate, 250.5);
    let kv = quick_with(builtin_workload("kv-cache").unwrap(), Some("2000"), &[]).unwrap();
    assert_eq!((kv.workload.jobs[0].rate, kv.workload.jobs[1].rate), (2000.0, 176.0));
    let over =
        quick_with(builtin_workload("exch").unwrap(), Some("250"), &["workload.rate=7"]).unwrap();
    assert_eq!(over.workload.jobs[0].rate, 7.0, "--set goes over it");
}

#[test]
fn nothing_of_the_scenario_s_workload_is_left() {
    // `quick` has Poisson arrivals at 4000 per second, 70 % reads, 50,000 requests.
    let scenario = quick_with(text("[workload]\ntime = \"1s\"\n"), None, &[]).unwrap();
    assert_eq!(
        scenario.workload.jobs,
        [JobSpec { time: Duration::from_s(1), ..JobSpec::default() }]
    );
    assert_eq!((scenario.measure.warmup_requests, scenario.measure.warmup), (0, Duration::ZERO));
    assert_eq!(builtin("t2").workload.jobs[0].arrival, Arrival::Closed);
}

#[test]
fn what_is_wrong_with_a_profile_is_said_with_its_line() {
    let refusal = |body: &str, parameter: Option<&str>| {
        let message = quick_with(text(body), parameter, &[]).expect_err(body).to_string();
        assert!(!message.contains('\n'), "{message}");
        message
    };
    let rows: [(&str, Option<&str>, &[&str]); 13] = [
        (
            "[workload]\nread_percent = 1.0\n",
            None,
            &["w.toml: ", "workload.requests", "bound is needed"],
        ),
        ("summary = \"x\"\n", None, &["w.toml: ", "[workload]"]),
        (
            "summry = \"x\"\n[workload]\nrequests = 1\n",
            None,
            &["w.toml:1: ", "summry", "did you mean summary?"],
        ),
        ("summary = 3\n[workload]\nrequests = 1\n", None, &["w.toml:1: ", "summary = 3", "text"]),
        (
            "[workload]\nrequests = 1\nraet = 3\n",
            None,
            &["w.toml:3: ", "workload.raet", "did you mean workload.rate?"],
        ),
        (
            "parameter = \"gc.soft\"\n[workload]\nrequests = 1\n",
            None,
            &["w.toml:1: ", "gc.soft", "workload.rate"],
        ),
        ("[workload]\nrequests = 1\n", Some("2"), &["--workload w: ", "no parameter"]),
        (
            "[workload]\nrequests = 9\npattern = \"hot-cold\"\n",
            None,
            &["w.toml:3: ", "hot-cold", "tiers"],
        ),
        (
            "[workload]\nrequests = 9\ntiers = [[50, 10], [60, 10]]\n",
            None,
            &["w.toml:3: ", "60", "110"],
        ),
        ("[workload]\nrequests = 9\ntiers = [[0, 10]]\n", None, &["w.toml:3: ", "above 0"]),
        ("[workload]\nrequests = 9\ntiers = [[100, 10]]\n", None, &["w.toml:3: ", "sum to 100"]),
        (
            "[workload]\nrequests = 9\narrival = \"bursty\"\nrate = 10.0\npeak_to_mean = 0.5\n",
            None,
            &["w.toml:5: ", "workload.peak_to_mean", "at least 1"],
        ),
        (
            "[workload]\nrequests = 9\narrival = \"bursty\"\nrate = 10.0\nburst = \"1us\"\n",
            None,
            &["w.toml:5: ", "workload.burst", "hundredth"],
        ),
    ];
    for (body, parameter, pieces) in rows {
        let message = refusal(body, parameter);
        pieces
            .iter()
            .for_each(|piece| assert!(message.contains(piece), "`{piece}` is not in: {message}"));
    }
    assert!(builtin_workload("ycsb-aa").unwrap_err().to_string().contains("did you mean ycsb-a?"));
}

#[test]
fn a_fitted_profile_is_a_workload_file_that_says_what_was_fitted() {
    let mut specs = Vec::new();
    for name in ["varmail", "tpcc-like", "lmbe", "ycsb-e", "filebench-oltp"] {
        specs.push(JobSpec { requests: 20_000, ..builtin(name).workload.jobs[0].clone() });
    }
    for spec in specs {
        let mut generator = Generator::new(&spec, 1 << 18, 1, 0).unwrap();
        let mut fitter = Fitter::default();
        while let Some(Request { at, op, lba, sectors, fua, .. }) = generator.next_request() {
            let at = Duration::from_ns(at.as_ns());
            fitter.add(&Record { at, op, lba, sectors, fua, device: 0, latency: None });
        }
        let fit = fitter.fit();
        for name in [None, Some("my trace")] {
            let toml = fit.to_toml(name, None);
            assert!(toml.lines().all(|line| line.len() <= 120), "{toml}");
            let profile =
                load_profile(&text(&toml), None).unwrap_or_else(|error| panic!("{error}\n{toml}"));
            assert_eq!(profile.workload.jobs, std::slice::from_ref(&fit.job), "{toml}");
            assert_eq!(profile.summary.contains("my trace"), name.is_some());
        }
        quick_with(text(&fit.to_toml(None, None)), None, &[])
            .unwrap_or_else(|error| panic!("{error}"));
    }
}
