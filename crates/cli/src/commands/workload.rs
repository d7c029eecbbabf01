//! `manx workload`: workload profiles, what they say and what follows from it; one fitted to a
//! trace.

use super::progress::Bar;
use super::{Failure, print};
use crate::args::{FitArgs, FromFioArgs, WorkloadCommand};
use crate::say::{say, say_line};
use crate::screen::Screen;
use crate::signals::{self, STOP};
use manx_config::{
    ConfigError, Override, Source, builtin_workload, load_profile, split_parameter, workload_names,
};
use manx_core::host::fit::{Fit, Fitter};
use manx_core::host::{Arrival, JobSpec};
use manx_core::units::Bytes;
use manx_lab::ask::trace_spec;
use manx_lab::cache::Cache;
use manx_lab::compare::Options;
use manx_lab::convert::{ConvertError, write_output};
use manx_lab::fit_check::{self, Compared};
use manx_lab::from_fio::from_fio;
use manx_lab::load::{read_bounded, read_workload};
use manx_lab::open::opener;
use manx_lab::run::{Moment, Phase};
use manx_trace::{TraceError, survey_each};
use std::fmt::Write;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// Does what was asked.
pub fn run(command: &WorkloadCommand, screen: &Screen) -> Result<(), Failure> {
    match command {
        WorkloadCommand::List => list(),
        WorkloadCommand::Show { name } => show(name),
        WorkloadCommand::Fit(args) => fit(args, screen),
        WorkloadCommand::FromFio(args) => job_file(args),
    }
}

fn list() -> Result<(), Failure> {
    let mut text = String::new();
    for name in workload_names() {
        let profile = load_profile(&builtin_workload(name)?, None)?;
        let shown =
            if profile.parameter.is_some() { format!("{name}(X)") } else { name.to_string() };
        let _ = writeln!(text, "{shown:<16} {}", profile.summary);
    }
    print(&text)
}

fn show(name: &str) -> Result<(), Failure> {
    let (file, parameter) = split_parameter(name);
    let source = read_workload(file)?;
    let profile = load_profile(&source, parameter)?;
    let mut text = format!("{}\n", source.text.trim_end());
    let jobs = &profile.workload.jobs;
    for (number, job) in jobs.iter().enumerate() {
        let _ = match jobs.len() {
            1 => writeln!(text, "\nwhat follows:"),
            _ => writeln!(text, "\nwhat follows for job {number}:"),
        };
        text.push_str(&derived(job));
    }
    print(&text)
}

/// Mean sizes, rates and bytes of a job, one to a line.
fn derived(job: &JobSpec) -> String {
    let reads = job.read_percent / 100.0;
    let writes = 1.0 - reads - job.trim_percent / 100.0;
    let own =
        if job.write_block_sizes.is_empty() { &job.block_sizes } else { &job.write_block_sizes };
    let (read, write) = (mean(&job.block_sizes), mean(own));
    // A flush counts as a request.
    let data =
        if job.flush_every == 0 { 1.0 } else { 1.0 / (1.0 + writes / f64::from(job.flush_every)) };
    let mut text = String::new();
    let mut line = |name: &str, value: String| {
        let _ = writeln!(text, "  {name:<14} {value}");
    };
    line("mix", format!("{:.1} % reads, {:.1} % writes", 100.0 * reads, 100.0 * writes));
    line(
        "mean sizes",
        format!("{:.1} KiB a read, {:.1} KiB a write", read / 1024.0, write / 1024.0),
    );
    match job.arrival {
        Arrival::Poisson
        | Arrival::Fixed
        | Arrival::Bursty
        | Arrival::Phases
        | Arrival::Paced
        | Arrival::PacedSmooth => {
            let rate = job.rate;
            let (down, up) = (rate * data * reads, rate * data * writes);
            line("mean rate", format!("{rate:.1} requests/s: {down:.1} reads/s, {up:.1} writes/s"));
            line(
                "mean bytes",
                format!("{:.3} MB/s read, {:.3} MB/s written", down * read / 1e6, up * write / 1e6),
            );
            if job.arrival == Arrival::Bursty {
                line("in a burst", format!("{:.1} requests/s", rate * job.peak_to_mean));
            }
            if job.requests > 0 {
                line("length", format!("{:.1} s of virtual time", job.requests as f64 / rate));
            }
        }
        Arrival::Closed => {
            line(
                "rate",
                format!(
                    "what the drive does with {} outstanding, {} between",
                    job.queue_depth, job.think
                ),
            );
        }
        Arrival::Trace => line("rate", "the trace's".to_string()),
    }
    if job.requests > 0 {
        let requests = job.requests as f64 * data;
        let (down, up) = (requests * reads * read / 1e9, requests * writes * write / 1e9);
        line("in all", format!("{} requests: {down:.3} GB read, {up:.3} GB written", job.requests));
    }
    text
}

/// The mean of weighted sizes, in bytes.
fn mean(sizes: &[(Bytes, f64)]) -> f64 {
    let total: f64 = sizes.iter().map(|(_, weight)| weight).sum();
    let sum: f64 = sizes.iter().map(|(size, weight)| size.get() as f64 * weight).sum();
    if total > 0.0 { sum / total } else { 0.0 }
}

fn fit(args: &FitArgs, screen: &Screen) -> Result<(), Failure> {
    let FitArgs { trace, reading, output, force, name, stationary, check } = args;
    let overrides = reading.overrides(&trace.to_string_lossy());
    let spec = trace_spec(overrides.clone())?;
    let fitted = || -> Result<Fit, TraceError> {
        let mut fitter = Fitter::default();
        survey_each(&spec, &mut opener(&spec.file), &mut |record| fitter.add(record))?;
        Ok(if *stationary { fitter.stationary() } else { fitter.fit() })
    };
    let text = |fit: &Fit, told: Option<&str>| fit.to_toml(name.as_deref(), told);
    let to = output.as_deref().filter(|path| *path != Path::new("-"));
    if !check {
        let plain = || fitted().map(|fit| text(&fit, None));
        return match to {
            None => print(&plain().map_err(ConvertError::from)?),
            Some(path) => Ok(write_output(path, trace, *force, plain)?),
        };
    }
    let fit = fitted().map_err(ConvertError::from)?;
    let compared = compare_both(&overrides, &fit, screen)?;
    fit_check::table(&compared).lines().for_each(say_line);
    let text = text(&fit, Some(&fit_check::verdict(&compared)));
    match to {
        None => print(&text),
        Some(path) => Ok(write_output(path, trace, *force, || Ok(text))?),
    }
}

fn job_file(FromFioArgs { file, output, force }: &FromFioArgs) -> Result<(), Failure> {
    let input = |why: String| Failure::Input(ConfigError::new(why));
    let name = file.display().to_string();
    let bytes =
        read_bounded(file).map_err(|why| input(format!("{name}: cannot read it: {why}")))?;
    let text = String::from_utf8(bytes)
        .map_err(|_| input(format!("{name}: not UTF-8 text: a job file of fio is expected")))?;
    let found = from_fio(&name, &text).map_err(|error| input(error.to_string()))?;
    found.remarks.iter().for_each(|remark| say(remark));
    let toml = || -> Result<String, TraceError> { Ok(found.toml.clone()) };
    match output.as_deref().filter(|path| *path != Path::new("-")) {
        None => print(&found.toml),
        Some(path) => Ok(write_output(path, file, *force, toml)?),
    }
}

/// Trace and profile on the drives of the check.
fn compare_both(trace: &[Override], fit: &Fit, screen: &Screen) -> Result<Vec<Compared>, Failure> {
    signals::listen();
    let bar = Bar::new(screen, "workload fit: checking", "runs");
    let ended = AtomicU64::new(0);
    let observer = |moment: &Moment<'_>| {
        let more = u64::from(matches!(moment.phase, Phase::Finished));
        let done = ended.fetch_add(more, Ordering::Relaxed) + more;
        let all = 2 * (fit_check::DRIVES.len() * fit_check::SEEDS.len()) as u64;
        bar.show_part(done, Some(all), None, &format!("now {}", moment.policy));
    };
    let cache = Cache::of_user();
    let options = Options { observer: &observer, ..Options::plain(cache.as_ref(), &STOP) };
    let profile = Source { file: "the fitted profile".to_string(), text: fit.to_toml(None, None) };
    let compared = fit_check::check(trace, &profile, fit.figures.footprint_pages, &options);
    bar.clear();
    compared?.ok_or(Failure::Interrupted("the profile was not checked"))
}
