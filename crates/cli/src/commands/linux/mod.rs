//! `manx linux`: a command in a Linux whose disks are the model, in exact virtual time.

mod cuts;

use super::progress::Bar;
use super::{Failure, outputs, report, requests_file};
use crate::args::{CostOf, Defect, LinuxArgs};
use crate::say::{say, say_line};
use crate::screen::Screen;
use crate::signals::{self, STOP};
use manx_config::{ConfigError, Override, Scenario};
use manx_core::drive::Storage;
use manx_core::host::{BlockRequest, Driver};
use manx_core::nvme::{Attributes, Options};
use manx_core::stats::{Outcome, RunSet, VerifyReport};
use manx_core::units::{Duration, Instant};
use manx_lab::ask::quoted;
use manx_lab::cache::Cache;
use manx_lab::load::Request;
use manx_lab::memory::timeline_refusal;
use manx_lab::run::{Back, Beside, ClientRun, Finished, Handed, MakeSink, Moment, Phase, RunError};
use manx_lab::save::{documents, make_folder};
use manx_serve::guest::{
    Calendar, Cost, Ended, FileSystem, Guest, Image, Mission, OneCore, RootImage, Terms, Told,
};
use manx_serve::nvme_tcp::Subsystem;
use manx_serve::{Machine, Transport};
use std::io::Write;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time;

/// Name of the subsystem of `--nvme`.
const SUBSYSTEM: &str = "nqn.2026-01.io.manx:linux";

/// Lines of a dead guest's console that are told.
const LAST_WORDS: usize = 12;

/// Runs the command; its exit code is ours.
pub fn run(args: &LinuxArgs, screen: &Screen) -> Result<(), Failure> {
    let scenario = scenario(args)?;
    if args.cut_at.is_some() || args.cuts.is_some() {
        signals::listen();
        return cuts::run(args, &scenario, screen);
    }
    let policy = args.policy.clone().unwrap_or_else(|| "as-written".to_string());
    let runs = vec![(policy, scenario)];
    check(args, &runs)?;
    let image = image(args)?;
    if let Some(folder) = &args.out {
        // Before the work: a folder that cannot be should not cost a run. What it made stays.
        let _ = make_folder(folder).map_err(|why| ConfigError::new(format!("--out {why}")))?;
    }
    signals::listen();
    let cache = if args.no_cache { None } else { Cache::of_user() };
    let bar = Bar::new(screen, "preparing the drive", "pages");
    let observer = |moment: &Moment<'_>| {
        if moment.phase == Phase::Preconditioning {
            bar.show(moment.done, None, "");
        }
    };
    let (policy, scenario) = &runs[0];
    let run = ClientRun {
        policy,
        scenario,
        client: name(&args.command),
        drives: args.drives,
        cache: cache.as_ref(),
        beside: Beside {
            act_log: None,
            timeline: args
                .timeline
                .file
                .as_deref()
                .zip(args.timeline.request().map(|(_, spec)| spec)),
            requests: args.record.as_deref().map(|file| (file, requests_file::make as MakeSink)),
            watcher: None,
        },
        stop: &STOP,
        observer: &observer,
    };
    let mut how = None;
    let finished = run.run(&mut |handed| {
        bar.clear();
        let (back, ended) = play(args, &image, scenario, screen, handed)?;
        how = Some(ended);
        Ok(back)
    });
    bar.clear();
    let (Some(finished), Some(how)) = (finished?, how) else {
        return Err(Failure::Interrupted("no guest was started"));
    };
    tell(args, &runs, finished, &how, screen)
}

/// How a guest's run went.
struct How {
    ended: Ended,
    words: Vec<String>,
    now: Instant,
    begun: Instant,
    answered: u64,
    wall: time::Duration,
    boot: time::Duration,
    /// Its addresses are those of every run.
    is_fixed: bool,
    /// Requests of its block layer, for a timeline.
    asked: Vec<BlockRequest>,
}

fn scenario(args: &LinuxArgs) -> Result<Scenario, Failure> {
    let device = args
        .device
        .as_deref()
        .map(|device| Override::new("device.name", quoted(device), format!("--device {device}")));
    let mut overrides: Vec<Override> = device.into_iter().collect();
    // A guest's boot is short, and a command that is to be measured says itself from when on.
    for (key, value) in [("measure.warmup", "\"0s\""), ("measure.warmup_requests", "0")] {
        overrides.push(Override::new(key, value.to_string(), "manx linux"));
    }
    if args.attribution {
        overrides.push(Override::new("measure.attribution", "true", "--attribution"));
    }
    if args.cut_at.is_some() || args.cuts.is_some() {
        overrides.push(Override::new("recovery.keep", "true", "--cuts"));
    }
    overrides.extend(args.keys.overrides()?);
    let request = Request::read(&args.scenario, overrides)?;
    let scenario = match &args.policy {
        Some(policy) => request.under(policy)?,
        None => request.plain()?,
    };
    let refuse = |why: &str| Err(ConfigError::new(why.to_string()).into());
    if args.check.is_some() && args.cut_at.is_none() && args.cuts.is_none() {
        return refuse("--check: it judges after a power loss: give --cuts or --cut-at");
    }
    if scenario.array.is_on() && args.drives > 1 {
        let why = format!("--drives {}: an array is one drive: leave it out", args.drives);
        return refuse(&why);
    }
    if scenario.recovery.cut_at.is_some() {
        return refuse("recovery.cut_at: the drive of a guest has none");
    }
    if scenario.workload.act.is_some() {
        return refuse("workload.act: a guest's command is the load");
    }
    Ok(scenario)
}

/// The files can be written, and the root is a folder.
fn check(args: &LinuxArgs, runs: &[(String, Scenario)]) -> Result<(), Failure> {
    if let Some(file) = &args.record {
        requests_file::check(file)
            .map_err(|why| ConfigError::new(format!("--record {}: {why}", file.display())))?;
    }
    if let (Some(file), Some(why)) = (&args.timeline.file, timeline_refusal(args.timeline.limit)) {
        let message =
            format!("--timeline-limit {} ({}): {why}", args.timeline.limit, file.display());
        return Err(ConfigError::new(message).into());
    }
    check_root(args)?;
    let beside = [
        ("--timeline", &args.timeline.file, ("timeline", "pftrace")),
        ("--record", &args.record, ("requests", "parquet")),
    ];
    let named = [Some(args.scenario.as_str()), args.device.as_deref()];
    outputs::check_files(&named, args.out.as_deref(), &beside, args.force, runs)?;
    Ok(())
}

/// The guest's root is a folder, or a file system.
fn check_root(args: &LinuxArgs) -> Result<(), ConfigError> {
    if let Some(image) = &args.image {
        let shown = image.display();
        let kind = FileSystem::of(image);
        return kind.map(drop).map_err(|why| ConfigError::new(format!("--image {shown}: {why}")));
    }
    match args.root.is_dir() {
        true => Ok(()),
        false => {
            let why = format!("--root {}: this is no folder", args.root.display());
            Err(ConfigError::new(why))
        }
    }
}

/// The guest that `make linux` left.
fn image(args: &LinuxArgs) -> Result<Image, ConfigError> {
    let of_cache = || Cache::of_user().map(|cache| cache.folder().join("guest").join("current"));
    let folder = args.guest.clone().or_else(of_cache);
    let Some(image) = folder.as_deref().map(Image::of) else {
        return Err(ConfigError::new("no folder for a guest is known: --guest DIR"));
    };
    let Some(missing) = image.missing().map(Path::display) else { return Ok(image) };
    Err(ConfigError::new(match &args.guest {
        Some(folder) => format!("--guest {}: {missing}: no such file", folder.display()),
        None => format!(
            "there is no guest, or an older one, {missing}: no such file: `make linux` in Manx's \
             folder builds it"
        ),
    }))
}

/// The command's name without its folder.
fn name(command: &[String]) -> &str {
    command.first().map_or("", |word| word.rsplit('/').next().unwrap_or(word))
}

fn play(
    args: &LinuxArgs,
    image: &Image,
    scenario: &Scenario,
    screen: &Screen,
    handed: Handed,
) -> Result<(Back, How), RunError> {
    let failed = RunError::Write;
    match handed {
        Handed::Drives(drives) => {
            let (drives, verify, how) =
                guest(args, image, scenario, screen, drives).map_err(failed)?;
            Ok(back(args, Handed::Drives(drives), verify, how))
        }
        Handed::Array(array) => {
            let (array, verify, how) =
                guest(args, image, scenario, screen, vec![*array]).map_err(failed)?;
            let Some(array) = array.into_iter().next() else {
                return Err(RunError::Write("the array is gone".to_string()));
            };
            Ok(back(args, Handed::Array(Box::new(array)), verify, how))
        }
    }
}

fn back(args: &LinuxArgs, handed: Handed, verify: VerifyReport, mut how: How) -> (Back, How) {
    let outcome = match how.ended {
        Ended::Exit(_) => Outcome::Completed,
        _ => Outcome::Partial,
    };
    let Cost { syscall, request } = cost(args);
    let processor = match syscall.is_zero() && request.is_zero() {
        true => "the guest's processor time is free: its clock moves only with its timers, with \
                 what its drives take, and by 256 ns when it is read"
            .to_string(),
        false => format!(
            "the guest's processor takes {syscall} for each system call and {request} for each \
             request of a disk, by --cpu-cost; all else of it is free"
        ),
    };
    let lies = args.defect.map(|Defect::LyingFlush| {
        "a defect is planted: the drives answer a FLUSH at once, and make nothing durable"
    });
    let random = (!how.is_fixed).then_some(RANDOM);
    let others = lies.into_iter().chain(random).map(ToString::to_string);
    let warnings = [processor].into_iter().chain(others).collect();
    let asked = std::mem::take(&mut how.asked);
    (Back { handed, outcome, verify, warnings, asked }, how)
}

/// Processor time that the command line asks for; of two the last.
fn cost(args: &LinuxArgs) -> Cost {
    let mut all = Cost::default();
    for (of, cost) in &args.cpu_cost {
        match of {
            CostOf::Syscall => all.syscall = *cost,
            CostOf::Request => all.request = *cost,
        }
    }
    all
}

/// Said where a guest's addresses could not be fixed.
const RANDOM: &str = "this system refuses fixed addresses (personality ADDR_NO_RANDOMIZE): the \
                      guest's memory has another size in every run, and two runs may differ";

/// The guest's task, as the command line says.
fn mission(args: &LinuxArgs, seed: u64, disks: usize) -> Result<Mission, String> {
    let root = args.image.as_ref().unwrap_or(&args.root);
    let mut root = std::path::absolute(root).map_err(|error| error.to_string())?;
    if args.image.is_some() {
        // A link would be looked up from the guest's root.
        root = root.canonicalize().map_err(|error| format!("{}: {error}", root.display()))?;
    }
    let mut image = None;
    if let Some(path) = &args.image {
        let kind = FileSystem::of(path)?;
        let file = root.file_name().unwrap_or_default().to_os_string();
        image = Some(RootImage { file, kind });
        root.pop();
    }
    Ok(Mission {
        root,
        work: std::env::current_dir().unwrap_or_else(|_| "/".into()),
        command: args.command.iter().map(|word| word.as_bytes().to_vec()).collect(),
        memory: args.mem.get(),
        seed,
        disks,
        network: args.nvme.then(|| (SUBSYSTEM.to_string(), args.drives as usize)),
        before: None,
        image,
        cost: cost(args),
        has_events: args.timeline.file.is_some(),
    })
}

/// When its run ends, at the latest.
fn terms(args: &LinuxArgs) -> Terms {
    Terms {
        protocol: args.calendar.into(),
        cut: None,
        until: Instant::START + args.until,
        wall: args.wall.map(|wall| time::Duration::from_nanos(wall.as_ns())),
        lies: args.defect == Some(Defect::LyingFlush),
    }
}

/// A guest's remains: its drivers, the oracle's verdict, how it went.
type Left<S> = (Vec<Driver<S>>, VerifyReport, How);

fn guest<S: Storage>(
    args: &LinuxArgs,
    image: &Image,
    scenario: &Scenario,
    screen: &Screen,
    storages: Vec<Driver<S>>,
) -> Result<Left<S>, String> {
    let disks = if args.nvme { 1 } else { storages.len() };
    let mission = mission(args, scenario.seed, disks)?;
    let subsystem = Subsystem {
        drives: storages.len() as u32,
        attributes: Attributes::of(storages[0].storage().drive(0), &scenario.drive, &scenario.gc),
        options: Options { name: SUBSYSTEM.to_string(), ..Options::default() },
        has_controller: false,
        address: None,
    };
    let mut machines: Vec<_> = storages.into_iter().map(Machine::new).collect();
    let mut guest = Guest::prepare(image, &mission)?;
    let (clock, disks) = guest.sockets(disks)?;
    let began = time::Instant::now();
    let _one = OneCore::here();
    let mut calendar = Calendar::new(&mut machines, clock, disks, terms(args))?;
    if args.nvme {
        calendar.serve(Transport::NvmeTcp(Box::new(subsystem)).front());
    }
    guest.start(image, &mission)?;
    let mut watch = Terminal { guest: &mut guest, bar: Bar::new(screen, "linux", "requests") };
    let ended = calendar.run(&mut watch);
    watch.bar.clear();
    let (now, begun, answered) = (calendar.now(), calendar.begun(), calendar.answered());
    let boot = calendar.boot().unwrap_or_default();
    drop(calendar);
    let ended = ended.map_err(|why| {
        let words = guest.last_words(LAST_WORDS).join("\n  ");
        format!("the guest and the calendar do not understand each other: {why}\n  {words}")
    })?;
    let mut words = Vec::new();
    if !matches!(ended, Ended::Exit(_)) {
        if ended == Ended::Died {
            words.extend(guest.ended().map(|status| format!("the guest's process: {status}")));
        }
        words.extend(guest.last_words(LAST_WORDS));
    }
    guest.kill();
    pass_on(&mut guest);
    let begun = begun.unwrap_or_default();
    let is_fixed = guest.has_fixed_addresses();
    let asked = guest.asked();
    let wall = began.elapsed();
    let how = How { ended, words, now, begun, answered, wall, boot, is_fixed, asked };
    let (mut checked, mut mismatches, mut drivers) = (0, 0, Vec::new());
    for machine in machines {
        let (mut driver, oracle) = machine.into_parts();
        driver.end(now);
        (checked, mismatches) =
            (checked + oracle.reads_checked(), mismatches + oracle.mismatches());
        drivers.push(driver);
    }
    Ok((drivers, VerifyReport { reads_checked: checked, mismatches }, how))
}

/// The watch of a command line: what the guest says goes on, and a signal ends it.
struct Terminal<'a> {
    guest: &'a mut Guest,
    bar: Bar,
}

impl Told for Terminal<'_> {
    fn look(&mut self, now: Instant, answered: u64) -> Option<Ended> {
        pass_on(self.guest);
        self.bar.show(answered, None, &now.since(Instant::START).to_string());
        heed(self.guest)
    }
}

/// A signal, or a guest that is gone before it has said a word.
fn heed(guest: &mut Guest) -> Option<Ended> {
    match STOP.load(Ordering::Relaxed) {
        true => Some(Ended::Stopped),
        false => guest.is_gone().then_some(Ended::Died),
    }
}

/// The guest's output is ours. Nobody may be there to read it.
fn pass_on(guest: &mut Guest) {
    let output = guest.output();
    let _ = std::io::stdout().write_all(&output.out).and_then(|()| std::io::stdout().flush());
    let _ = std::io::stderr().write_all(&output.err);
}

/// Writes the results, and tells how it went.
fn tell(
    args: &LinuxArgs,
    runs: &[(String, Scenario)],
    finished: Finished,
    how: &How,
    screen: &Screen,
) -> Result<(), Failure> {
    let timeline = finished.timeline.as_ref().map(ToString::to_string);
    let set = RunSet { runs: vec![finished.result] };
    if let Some(folder) = &args.out {
        let mut files = documents(&set, runs).map_err(Failure::Work)?;
        files.push(report::page(&set, None, runs).map_err(Failure::Work)?);
        report::save(folder, files).map_err(Failure::Work)?;
    }
    timeline.iter().for_each(|line| say_line(line));
    if !screen.quiet {
        say(&summary(&set, how));
    }
    if let Some(verify) = set.runs[0].verify.filter(|verify| verify.mismatches > 0) {
        let wrong = verify.mismatches;
        return Err(Failure::Work(format!("{wrong} reads brought what they may not: a defect")));
    }
    verdict(args, how)
}

fn summary(set: &RunSet, how: &How) -> String {
    let run = &set.runs[0];
    let us = |value: Option<f64>| value.map_or("-".to_string(), |us| format!("{us:.1}"));
    let mut text = String::new();
    for (name, of) in [("read", &run.read), ("write", &run.write)] {
        if of.count > 0 {
            text += &format!(
                "{name:<6} {:>9}  p50 {:>9}  p99 {:>9}  p99.9 {:>9} us\n",
                of.count,
                us(of.p50_us),
                us(of.p99_us),
                us(of.p99_9_us)
            );
        }
    }
    let span = how.now.since(how.begun.min(how.now));
    text + &format!(
        "linux  {} requests, {span} of the guest's time in {:.2} s (start {:.2} s)\n",
        how.answered,
        how.wall.as_secs_f64(),
        how.boot.as_secs_f64()
    )
}

fn verdict(args: &LinuxArgs, how: &How) -> Result<(), Failure> {
    let at = how.now.since(Instant::START);
    let with = |what: String| {
        how.words.iter().for_each(|line| say_line(&format!("  {line}")));
        Err(Failure::Work(what))
    };
    match how.ended {
        Ended::Exit(0) => Ok(()),
        Ended::Exit(code) => Err(Failure::Command(code)),
        Ended::Setup(error) => with(format!(
            "the guest could not be set up: {}; its console's last lines are above",
            std::io::Error::from_raw_os_error(error as i32)
        )),
        Ended::Died => with(format!("the guest died at {at}; its console's last lines are above")),
        Ended::Asleep => with(format!(
            "everything in the guest sleeps for ever since {at}; its console's last lines are above"
        )),
        Ended::Late => with(format!(
            "the guest had not ended at {} of its own time (--until); its console's last lines are \
             above",
            Duration::from_ns(args.until.as_ns())
        )),
        Ended::Slow => with(format!(
            "the guest had not ended in {:.1} s of the wall (--wall), it stood at {at} of its own \
             time; its console's last lines are above",
            how.wall.as_secs_f64()
        )),
        Ended::Cut | Ended::Stopped => {
            Err(Failure::Interrupted("the results are those until then, marked partial"))
        }
    }
}
