//! Requests per CPU second of whole drives: what DESIGN.md section 7 promises, measured the same
//! way everywhere.
//!
//! `cargo bench` prints one row a case: a 64-die drive, uniform random 4 KiB, steady state; closed
//! loop, or (`flood`) an open one that asks for far more than the drive can do. `rain` is parity
//! under base GC, `gtr` parity with the policies of ttFlash (`pb+gtr+rgc`); their floor is in flash
//! operations (reads of the array, programs of rows, erases). `cargo bench -- 4` runs only the
//! cases of 4 GiB, `-- 256` those of 256 GiB; `-- rain` those of that name; `-- quick` a tenth of
//! the requests.

use manx_core::drive::precondition::precondition;
use manx_core::drive::{CostRule, DriveConfig, DriveSpec, PreconditionSpec, RainSpec, Reconstruct};
use manx_core::flash::Device;
use manx_core::ftl::{Allocation, FtlSpec, GcMode, GcSpec, MapSpec, PageMap, Rotate};
use manx_core::host::generate::Generator;
use manx_core::host::{Arrival, Driver, Job, JobSpec, Oracle, Pacing};
use manx_core::units::{Bandwidth, Bytes, Duration};
use manx_lab::huge_pages::HugePages;
use manx_lab::machine::{Stopwatch, peak_rss_bytes};

#[global_allocator]
static ALLOCATOR: HugePages = HugePages;

/// One row.
struct Case {
    name: &'static str,
    read_percent: f64,
    queue_depth: u32,
    mode: GcMode,
    requests: u64,
    verify: bool,
    attribution: bool,
    parity: bool,
    /// A host link of 3.2 GB/s and 8 us of the controller for each command.
    port: bool,
    /// DRAM for the map; 0 is all of it.
    map_cache: Bytes,
    /// Requests a second of an open loop; 0 is the closed one.
    rate: f64,
}

fn main() {
    let words: Vec<String> =
        std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let quick = words.iter().any(|word| word == "quick");
    let sizes: Vec<u32> =
        [4, 256].into_iter().filter(|gib| wanted(&words, &gib.to_string())).collect();
    println!(
        "{:<34} {:>9} {:>12} {:>12} {:>7} {:>9}",
        "case", "requests", "req/CPU-s", "flash-op/s", "WAF", "B/page"
    );
    // A whole name is that case alone: "read, QD 16" is a part of others.
    let whole = |word: &String| cases().iter().any(|case| case.name == *word);
    let named = |case: &Case| {
        words.iter().all(|word| match whole(word) {
            true => case.name == *word,
            false => ["4", "256", "quick"].contains(&word.as_str()) || case.name.contains(word),
        })
    };
    for gib in sizes {
        let device = device(gib);
        for parity in [false, true] {
            let cases: Vec<Case> =
                cases().into_iter().filter(|case| case.parity == parity && named(case)).collect();
            let Some(first) = cases.first() else { continue };
            let steady = steady(&device, gib, first);
            for case in &cases {
                run(
                    gib,
                    &device,
                    steady.clone(),
                    case,
                    if quick { case.requests / 10 } else { case.requests },
                );
            }
        }
    }
    if let Some(peak) = peak_rss_bytes() {
        println!("peak resident set {:.2} GiB", peak as f64 / f64::from(1 << 30));
    }
}

fn wanted(words: &[String], size: &str) -> bool {
    let named: Vec<&String> =
        words.iter().filter(|word| ["4", "256"].contains(&word.as_str())).collect();
    named.is_empty() || named.iter().any(|word| *word == size)
}

fn cases() -> Vec<Case> {
    let mut all = without_parity();
    all.extend(with_parity());
    all
}

fn case(
    name: &'static str,
    read_percent: f64,
    queue_depth: u32,
    mode: GcMode,
    requests: u64,
) -> Case {
    Case {
        name,
        read_percent,
        queue_depth,
        mode,
        requests,
        verify: false,
        attribution: false,
        parity: false,
        port: false,
        map_cache: Bytes::kib(0),
        rate: 0.0,
    }
}

fn without_parity() -> Vec<Case> {
    vec![
        case("read, QD 16", 100.0, 16, GcMode::Preemptive, 8_000_000),
        case("70/30, QD 16, preemptive GC", 70.0, 16, GcMode::Preemptive, 6_000_000),
        case("write, QD 16, preemptive GC", 0.0, 16, GcMode::Preemptive, 4_000_000),
        case("70/30, QD 16, base GC", 70.0, 16, GcMode::Base, 4_000_000),
        case("write, QD 16, base GC", 0.0, 16, GcMode::Base, 3_000_000),
        case("70/30, QD 16, no GC time", 70.0, 16, GcMode::Nogc, 4_000_000),
        case("backlog: write, QD 4096, base GC", 0.0, 4096, GcMode::Base, 3_000_000),
        case("backlog: 70/30, QD 4096, preemptive", 70.0, 4096, GcMode::Preemptive, 4_000_000),
        Case {
            attribution: true,
            ..case("read, attributed, QD 16", 100.0, 16, GcMode::Preemptive, 8_000_000)
        },
        Case {
            attribution: true,
            ..case("70/30, attributed, preemptive GC", 70.0, 16, GcMode::Preemptive, 6_000_000)
        },
        Case {
            attribution: true,
            ..case("write, attributed, preemptive GC", 0.0, 16, GcMode::Preemptive, 4_000_000)
        },
        Case {
            attribution: true,
            ..case("70/30, attributed, base GC", 70.0, 16, GcMode::Base, 4_000_000)
        },
        Case {
            verify: true,
            ..case("70/30, QD 16, preemptive, verify", 70.0, 16, GcMode::Preemptive, 3_000_000)
        },
        Case {
            port: true,
            ..case("read, link and controller", 100.0, 16, GcMode::Preemptive, 8_000_000)
        },
        Case {
            port: true,
            ..case("70/30, link and controller", 70.0, 16, GcMode::Preemptive, 6_000_000)
        },
        Case {
            map_cache: Bytes::kib(1 << 10),
            ..case("70/30, dftl(1MiB)", 70.0, 16, GcMode::Preemptive, 2_000_000)
        },
    ]
}

fn with_parity() -> Vec<Case> {
    let rain = |name, read_percent, queue_depth| Case {
        parity: true,
        ..case(name, read_percent, queue_depth, GcMode::Base, 1_500_000)
    };
    let gtr = |name, read_percent, queue_depth| Case {
        mode: GcMode::PlaneBlocking,
        ..rain(name, read_percent, queue_depth)
    };
    vec![
        rain("rain: read, QD 16", 100.0, 16),
        rain("rain: 70/30, QD 16", 70.0, 16),
        rain("rain: 70/30, QD 256", 70.0, 256),
        rain("rain: write, QD 16", 0.0, 16),
        rain("rain: write, QD 256", 0.0, 256),
        Case { rate: 4e6, ..rain("rain: write, flood", 0.0, 1) },
        Case { rate: 4e6, ..rain("rain: 70/30, flood", 70.0, 1) },
        gtr("gtr: read, QD 16", 100.0, 16),
        gtr("gtr: 70/30, QD 16", 70.0, 16),
        gtr("gtr: 70/30, QD 256", 70.0, 256),
        gtr("gtr: write, QD 16", 0.0, 16),
        gtr("gtr: write, QD 256", 0.0, 256),
        Case { rate: 4e6, ..gtr("gtr: write, flood", 0.0, 1) },
        Case { rate: 4e6, ..gtr("gtr: 70/30, flood", 70.0, 1) },
    ]
}

/// Parity as the policies `rain` and, with planes that take turns, `gtr` and `rgc` have it.
fn parity(case: &Case) -> RainSpec {
    let turns = case.mode == GcMode::PlaneBlocking;
    let reconstruct = if turns { Reconstruct::Cost } else { Reconstruct::Never };
    let cost_rule = if turns { CostRule::Rotation } else { CostRule::Estimate };
    RainSpec {
        width: if case.parity { 8 } else { 0 },
        reconstruct,
        cost_rule,
        ..RainSpec::default()
    }
}

/// Parity needs pages whose addresses say where they live.
fn ftl(case: &Case) -> FtlSpec {
    let allocation = if case.parity { Allocation::Static } else { FtlSpec::default().allocation };
    let map = MapSpec { cache: case.map_cache, ..MapSpec::default() };
    FtlSpec { allocation, map, ..FtlSpec::default() }
}

/// 64 dies as in the measurements behind DESIGN.md section 7: 50/500 us, 3.5 ms, 1.2 GB/s, spare
/// space for a WAF near 3.3.
fn device(gib: u32) -> Device {
    // A small drive has smaller blocks, so that each die still has enough of them.
    let (pages, op) = if gib == 4 { (256, 0.235) } else { (1024, 0.185) };
    let blocks = gib * (1 << 18) / 64 / pages;
    let text = format!(
        "name = \"bench\"\nop = {op}\n[geometry]\nchannels = 8\nways = 8\ndies = 1\nplanes = 1\n\
         blocks = {blocks}\npages = {pages}\n\
         page = \"4KiB\"\nmap_unit = \"4KiB\"\n[timing]\nread = [\"50us\"]\nprogram = [\"500us\"]\n\
         erase_step = \"3.5ms\"\n\
         erase_steps = 1\n[channel]\nrate = \"1200MB/s\"\ncommand = \"200ns\"\n\
         erase_command = \"200ns\"\n"
    );
    toml::from_str(&text).expect("the bench's device is a device")
}

/// The marks are a few blocks a die.
fn gc(gib: u32, mode: GcMode) -> GcSpec {
    let soft = if gib == 4 { 0.06 } else { 0.02 };
    let gc = GcSpec { mode, soft: soft.into(), hard: (soft / 2.0).into(), ..GcSpec::default() };
    match mode {
        GcMode::PlaneBlocking => GcSpec { copyback: true, rotate: Rotate::Dynamic, ..gc },
        _ => gc,
    }
}

/// The drive of a case.
fn config(gib: u32, device: &Device, case: &Case) -> DriveConfig {
    let plain = DriveSpec { buffer: Bytes::kib(8 << 10), ..DriveSpec::default() };
    let (link, controller) = (Bandwidth::bytes_per_second(3_200_000_000), Duration::from_us(8));
    let drive = if case.port { DriveSpec { link, controller, ..plain } } else { plain };
    let gc = gc(gib, case.mode);
    DriveConfig {
        ftl: ftl(case),
        gc,
        drive,
        rain: parity(case),
        ..DriveConfig::new(device.clone())
    }
}

/// The steady state that every case of a size starts from, with the rate at which it was made.
fn steady(device: &Device, gib: u32, case: &Case) -> PageMap {
    let config = DriveConfig { gc: gc(gib, GcMode::Base), ..config(gib, device, case) };
    // Whole stripes.
    let pages = config.mapped_units();
    let mut map = config.empty_map_of(pages - pages.checked_rem(config.rain.width).unwrap_or(0));
    let clock = Stopwatch::start();
    let state = PreconditionSpec { passes_max: 2, ..PreconditionSpec::default() };
    let done =
        precondition(&mut map, &state, 1, None, &mut |_| true).expect("the bench's drive has room");
    let rate = done.work.programmed() as f64 / clock.cpu_s() / 1e6;
    println!("{gib:>3} GiB precondition: {rate:.1} M programmed pages/CPU-s, WAF {:.2}", done.waf);
    map
}

/// The measured part, apart so that callgrind can be told to look at nothing else
/// (`--toggle-collect='engine::play'`).
#[inline(never)]
fn play(driver: &mut Driver) {
    driver.play_to_the_end();
}

fn run(gib: u32, device: &Device, map: PageMap, case: &Case, requests: u64) {
    let bytes_per_page = map.bytes() as f64 / f64::from(map.layout().total_units());
    let drive = config(gib, device, case).build(map, case.verify);
    let arrival = if case.rate > 0.0 { Arrival::Poisson } else { Arrival::Closed };
    let Case { read_percent, queue_depth, rate, .. } = *case;
    let job = JobSpec { read_percent, queue_depth, requests, arrival, rate, ..JobSpec::default() };
    let source = Generator::new(&job, drive.sectors(), 1, 0).expect("the bench's job is a job");
    let oracle = case.verify.then(|| Oracle::new(&drive));
    let jobs = vec![Job::new(Box::new(source), Pacing::of(&job))];
    let driver = Driver::new(drive, jobs, oracle, Duration::ZERO, 0);
    let mut driver = if case.attribution { driver.with_attribution() } else { driver };
    let clock = Stopwatch::start();
    play(&mut driver);
    let seconds = clock.cpu_s();
    let counters = driver.drive().counters();
    let flash = driver.drive().flash().operations().total();
    let written = counters.host_units + counters.copied_units + counters.padded_units;
    println!(
        "{:>3} GiB {:<26} {:>9} {:>10.2} M {:>10.2} M {:>7.2} {:>9.1}{}",
        gib,
        case.name,
        driver.progress().completed,
        requests as f64 / seconds / 1e6,
        flash as f64 / seconds / 1e6,
        written as f64 / (counters.host_bytes_written as f64 / 4096.0).max(1.0),
        bytes_per_page + if case.verify { 12.0 } else { 0.0 },
        driver
            .oracle()
            .map_or(String::new(), |oracle| format!("   {} mismatches", oracle.mismatches())),
    );
}
