//! From a list of runs to what is printed and written.
//!
//! stdout carries the results: tables, or with `--json` one document and nothing else. What depends
//! on the machine (the cache, CPU times, progress) goes to stderr.

use super::progress::Bars;
use super::requests_file;
use super::run::RunRequest;
use super::{Failure, print};
use crate::say::say;
use crate::screen::Screen;
use crate::signals::{self, STOP};
use console::Term;
use manx_config::{ConfigError, Scenario};
use manx_core::host::{Arrival, JobSpec};
use manx_core::stats::{ActReport, ActRules, Outcome, RunSet};
use manx_lab::about;
use manx_lab::cache::Cache;
use manx_lab::compare::{Options, compare, defect};
use manx_lab::explain;
use manx_lab::json::to_json;
use manx_lab::pts;
use manx_lab::run::{Beside, Finished, MakeSink, Moment};
use manx_lab::save::{MadeFolders, documents, make_folder};
use manx_lab::state;
use manx_lab::table::{Look, render, tail_chart, warnings, wrap};
use std::fmt::Write;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// Columns of a name in the lines above a table.
const HEAD: usize = 12;

/// Runs what was asked for, writes the results and prints them.
pub fn execute(request: RunRequest, screen: &Screen) -> Result<(), Failure> {
    let made = match &request.out {
        // Before the work: a folder that cannot be should not cost a run.
        Some(folder) => {
            make_folder(folder).map_err(|why| ConfigError::new(format!("--out {why}")))?
        }
        None => MadeFolders::default(),
    };
    signals::listen();
    let ended = Ended::new(&request);
    let mut failed = run_all(&request, &ended, screen).err();
    let (runs, finished) = ended.take();
    if let Some(failure) = failed.take_if(|_| finished.is_empty()) {
        made.remove();
        return Err(failure);
    }
    let said: String =
        runs.iter().zip(&finished).map(|(run, finished)| in_words(&run.0, finished)).collect();
    let set = RunSet { runs: finished.into_iter().map(|run| run.result).collect() };
    // Stopped while the drives were prepared: nothing was measured that should take the place of an
    // older result.
    let nothing_measured =
        set.runs.iter().all(|run| run.outcome == Outcome::Partial && run.requests == 0);
    // Before anything is said: who closed the terminal wants the results all the same.
    let saved = match &request.out {
        Some(_) if nothing_measured => {
            made.remove();
            Ok(())
        }
        Some(folder) => save(folder, &set, &request, &runs).map_err(Failure::Work),
        None => Ok(()),
    };
    say(&said);
    let look =
        screen.look(&if request.json { Term::stderr() } else { Term::stdout() }, request.wide);
    let text = report(&set, &runs, &request, &look);
    let printed = match request.json {
        true => {
            say(&text);
            print(&to_json(&set))
        }
        false => print(&text),
    };
    // After the results are printed: a full disk should not take them too.
    saved?;
    if let Some(failure) = failed {
        return Err(failure);
    }
    match nothing_measured && request.out.is_some() {
        true => Err(Failure::Interrupted(
            "no request was completed, and nothing was written into the folder of --out",
        )),
        false => verdict(&set).and(printed),
    }
}

/// `result.json`, the report and the scenarios, together. `ended` are the runs that have a result.
fn save(
    folder: &Path,
    set: &RunSet,
    request: &RunRequest,
    ended: &[(String, Scenario)],
) -> Result<(), String> {
    let mut files = documents(set, &request.runs)?;
    files.push(super::report::page(set, request.workload.as_deref(), ended)?);
    super::report::save(folder, files)
}

/// The runs that have ended. What one measured is saved at once: a later one may end the program.
struct Ended<'a> {
    request: &'a RunRequest,
    runs: Mutex<Vec<Option<Finished>>>,
}

impl<'a> Ended<'a> {
    fn new(request: &'a RunRequest) -> Self {
        Self { request, runs: Mutex::new(vec![None; request.runs.len()]) }
    }

    /// One more.
    fn add(&self, number: usize, finished: &Finished) {
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        let mut finished = finished.clone();
        if self.request.pts {
            let scenario = &self.request.runs[number].1;
            finished.result.pts = Some(pts::judge(&finished.result, is_open(scenario)));
        }
        let outcome = finished.result.outcome;
        runs[number] = Some(finished);
        // The last one is saved with all of them, and so is what a signal ended.
        let is_last = runs.iter().all(Option::is_some) || outcome == Outcome::Partial;
        let Some(folder) = self.request.out.as_ref().filter(|_| !is_last) else { return };
        let (ended, finished) = with_results(&self.request.runs, &runs);
        let set = RunSet { runs: finished.into_iter().map(|run| run.result).collect() };
        // A mistake in the folder is told at the end.
        let _ = save(folder, &set, self.request, &ended);
    }

    /// The runs that ended, in their order, and what they came to.
    fn take(self) -> (Vec<(String, Scenario)>, Vec<Finished>) {
        let runs = self.runs.into_inner().unwrap_or_else(PoisonError::into_inner);
        with_results(&self.request.runs, &runs)
    }
}

fn with_results(
    runs: &[(String, Scenario)],
    finished: &[Option<Finished>],
) -> (Vec<(String, Scenario)>, Vec<Finished>) {
    runs.iter()
        .zip(finished)
        .filter_map(|(run, finished)| Some((run.clone(), finished.clone()?)))
        .unzip()
}

fn run_all(request: &RunRequest, ended: &Ended<'_>, screen: &Screen) -> Result<(), Failure> {
    let cache = if request.cache { Cache::of_user() } else { None };
    let bars = Bars::new(screen, request.runs.iter().map(|(policy, _)| policy.as_str()));
    let observer = |moment: &Moment<'_>| bars.show(moment);
    let tell = |number: usize, finished: &Finished| ended.add(number, finished);
    let options = Options {
        jobs: request.jobs.and_then(|jobs| std::num::NonZero::new(jobs as usize)),
        verify: request.verify,
        cache: cache.as_ref(),
        beside: Beside {
            act_log: request.act_log.as_deref(),
            timeline: request.timeline.as_ref().map(|(file, spec)| (file.as_path(), *spec)),
            requests: request
                .requests
                .as_deref()
                .map(|file| (file, requests_file::make as MakeSink)),
            watcher: None,
        },
        stop: &STOP,
        observer: &observer,
        finished: Some(&tell),
        limits: None,
    };
    let finished = compare(&request.runs, &options);
    bars.clear();
    finished?;
    Ok(())
}

/// Trouble with the cache, and a line of the timeline.
fn in_words(policy: &str, Finished { preparation, timeline, .. }: &Finished) -> String {
    let timeline = timeline.as_ref().map(ToString::to_string);
    let lines = [preparation.trouble.clone(), timeline].into_iter().flatten();
    lines.map(|line| format!("{policy}: {line}").replace(char::is_control, " ") + "\n").collect()
}

/// Everything for a person: drive and workload, traces, the state they began in, table, picture,
/// causes, warnings.
fn report(set: &RunSet, runs: &[(String, Scenario)], request: &RunRequest, look: &Look) -> String {
    let plain = |text: &str| text.replace(|c: char| c.is_control() && c != '\n', " ");
    let lines = |text: &str, indent| -> String {
        plain(text).lines().map(|line| wrap(line, look.width, indent) + "\n").collect()
    };
    let mut text = state::first_line(set).map_or(String::new(), |line| lines(&line, 2));
    for drive in about::drives(runs) {
        text += &lines(&format!("drive       {drive}"), HEAD);
    }
    if let Some((_, scenario)) = runs.first() {
        let workload = about::workload(request.workload.as_deref(), scenario);
        text += &lines(&format!("workload    {workload}"), HEAD);
    }
    let mut said: Vec<&str> = Vec::new();
    for trace in set.runs.iter().filter_map(|run| run.trace.as_ref()) {
        if !said.contains(&trace.text.as_str()) {
            text += &lines(&trace.text, HEAD);
            said.push(&trace.text);
        }
    }
    let more = request.overlaid.iter().cloned().chain(state::lines(set, true));
    more.for_each(|line| text += &lines(&line, 2));
    let chart = tail_chart(set, look);
    let _ =
        write!(text, "\n{}{}{chart}", render(set, look), if chart.is_empty() { "" } else { "\n" });
    let causes = explain::summary(set);
    if !causes.is_empty() {
        let _ = write!(text, "\n{}", lines(&causes, 2));
    }
    let acts = set.runs.iter().filter_map(|run| Some((run, run.act.as_ref()?)));
    acts.for_each(|(run, act)| text += &lines(&act_lines(&run.policy, act), 4));
    let steady = set.runs.iter().filter_map(pts::line);
    steady.for_each(|line| text += &lines(&line, 4));
    for (number, warning) in warnings(&set.runs).iter().enumerate() {
        let space = if number == 0 { "\n" } else { "" };
        let _ = write!(text, "{space}{}", lines(&format!("warning: {warning}"), 2));
    }
    text
}

/// The host sets the rate, and the drive the latency: of all jobs that write or, where none does,
/// of all.
fn is_open(scenario: &Scenario) -> bool {
    let jobs = &scenario.workload.jobs;
    let writes = |job: &&JobSpec| job.trace.is_some() || job.read_percent < 100.0;
    let is_open = |job: &JobSpec| job.arrival != Arrival::Closed;
    match jobs.iter().any(|job| writes(&job)) {
        true => jobs.iter().filter(writes).all(is_open),
        false => jobs.iter().all(is_open),
    }
}

/// Whether a drive passes as ACT judges it, and why not.
fn act_lines(policy: &str, act: &ActReport) -> String {
    let ActReport { multiplier, slices, slice_s, rules, why, .. } = act;
    let ActRules { act, paper, paper_stress } = rules;
    let (act, paper, stress) = (act.name(), paper.name(), paper_stress.name());
    let plural = if slices.len() == 1 { "" } else { "s" };
    let of = format!("{} slice{plural} of {slice_s} s", slices.len());
    let mut text = format!(
        "act({multiplier}) {policy}: act6.6 {act} ({of}), paper {paper}, paper-stress {stress}\n"
    );
    why.iter().for_each(|why| text += &format!("  {why}\n"));
    text
}

/// The exit code of a set of runs.
fn verdict(set: &RunSet) -> Result<(), Failure> {
    if let Some(defect) = set.runs.iter().find_map(defect) {
        return Err(Failure::Work(defect));
    }
    match set.runs.iter().any(|run| run.outcome == Outcome::Partial) {
        true => Err(Failure::Interrupted("the results are those until then, marked partial")),
        false => Ok(()),
    }
}
