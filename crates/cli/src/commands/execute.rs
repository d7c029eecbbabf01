//! From a list of runs to what is printed and written.
//!
//! stdout carries the results: tables, or with `--json` one document and nothing else. What depends on the machine (the
//! cache, CPU times, progress) goes to stderr.

use super::progress::Bars;
use super::requests_file;
use super::run::RunRequest;
use super::{Failure, print};
use console::Term;
use manx_core::config::ConfigError;
use manx_core::stats::{ActReport, ActRules, Outcome, RunResult, RunSet};
use manx_lab::cache::Cache;
use manx_lab::compare::{Options, compare};
use manx_lab::explain;
use manx_lab::json::to_json;
use manx_lab::run::{Beside, Finished, MakeSink, Moment};
use manx_lab::save::{MadeFolders, make_folder, save};
use manx_lab::state;
use manx_lab::table::{render, tail_chart, warnings};
use std::fmt::Write;
use std::sync::atomic::{AtomicBool, Ordering};

/// Set by Ctrl-C.
pub(super) static STOP: AtomicBool = AtomicBool::new(false);

/// Runs what was asked for, prints the results and writes them.
pub fn execute(request: RunRequest) -> Result<(), Failure> {
    let made = match &request.out {
        // Before the work: a folder that cannot be should not cost a run.
        Some(folder) => make_folder(folder).map_err(|why| ConfigError::new(format!("--out {why}")))?,
        None => MadeFolders::default(),
    };
    stop_on_ctrl_c();
    let finished = run_all(&request).inspect_err(|_| made.remove())?;
    for (run, Finished { preparation, timeline, .. }) in request.runs.iter().zip(&finished) {
        preparation.trouble.iter().for_each(|trouble| eprintln!("{}: {trouble}", run.0));
        timeline.iter().for_each(|timeline| eprintln!("{}: {timeline}", run.0));
    }
    let set = RunSet { runs: finished.into_iter().map(|run| run.result).collect() };
    // Ctrl-C while the drives were prepared: nothing was measured that should take the place of an older result.
    let nothing_measured = set.runs.iter().all(|run| run.outcome == Outcome::Partial && run.requests == 0);
    let saved = match &request.out {
        Some(_) if nothing_measured => {
            made.remove();
            Ok(())
        }
        Some(folder) => save(folder, &set, &request.runs)
            .and_then(|()| super::report::save(folder, &set, &request.runs))
            .map_err(Failure::Work),
        None => Ok(()),
    };
    let width = if request.json { width_of(&Term::stderr()) } else { width_of(&Term::stdout()) };
    let text = report(&set, &request, width);
    if request.json {
        eprint!("{text}");
        print(&to_json(&set))?;
    } else {
        print(&text)?;
    }
    // After the results are printed: a full disk should not take them too.
    saved?;
    match nothing_measured && request.out.is_some() {
        true => Err(Failure::Interrupted("no request was completed, and nothing was written into the folder of --out")),
        false => verdict(&set),
    }
}

/// The first Ctrl-C ends the runs, the second one the program.
pub(super) fn stop_on_ctrl_c() {
    let handler = || {
        if STOP.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    };
    // Without a handler Ctrl-C ends the program at once, which is no reason not to run.
    let _ = ctrlc::set_handler(handler);
}

fn run_all(request: &RunRequest) -> Result<Vec<Finished>, Failure> {
    let cache = if request.cache { Cache::of_user() } else { None };
    let bars = Bars::new(request.runs.iter().map(|(policy, _)| policy.as_str()));
    let observer = |moment: &Moment<'_>| bars.show(moment);
    let options = Options {
        jobs: request.jobs.and_then(|jobs| std::num::NonZero::new(jobs as usize)),
        verify: request.verify,
        cache: cache.as_ref(),
        beside: Beside {
            act_log: request.act_log.as_deref(),
            timeline: request.timeline.as_ref().map(|(file, spec)| (file.as_path(), *spec)),
            requests: request.requests.as_deref().map(|file| (file, requests_file::make as MakeSink)),
        },
        stop: &STOP,
        observer: &observer,
        finished: None,
    };
    let finished = compare(&request.runs, &options);
    bars.clear();
    Ok(finished?)
}

fn width_of(term: &Term) -> Option<usize> {
    term.is_term().then(|| usize::from(term.size().1))
}

/// Everything for a person: capacity, traces, warnings, table, picture.
fn report(set: &RunSet, request: &RunRequest, width: Option<usize>) -> String {
    let mut text = state::first_line(set).map_or(String::new(), |line| line + "\n");
    let mut said: Vec<String> = Vec::new();
    for (_, scenario) in &request.runs {
        let line = format!("{}: {}", scenario.device.name, scenario.capacity());
        if !said.contains(&line) {
            let _ = writeln!(text, "{line}");
            said.push(line);
        }
    }
    for trace in set.runs.iter().filter_map(|run| run.trace.as_ref()) {
        if !said.contains(&trace.text) {
            let _ = write!(text, "{}", trace.text);
            said.push(trace.text.clone());
        }
    }
    let lines = request.overlaid.iter().cloned().chain(state::lines(set, true));
    lines.for_each(|line| text += &(line + "\n"));
    let _ = write!(text, "\n{}\n{}", render(set, width), tail_chart(set));
    let causes = explain::summary(set);
    if !causes.is_empty() {
        let _ = write!(text, "\n{causes}");
    }
    let acts = set.runs.iter().filter_map(|run| Some((run, run.act.as_ref()?)));
    acts.for_each(|(run, act)| text += &act_lines(&run.policy, act));
    for (number, warning) in warnings(&set.runs).iter().enumerate() {
        let space = if number == 0 { "\n" } else { "" };
        let _ = writeln!(text, "{space}warning: {warning}");
    }
    text
}

/// Whether a drive passes as ACT judges it, and why not.
fn act_lines(policy: &str, act: &ActReport) -> String {
    let ActReport { multiplier, slices, slice_s, rules, why, .. } = act;
    let ActRules { act, paper, paper_stress } = rules;
    let (act, paper, stress) = (act.name(), paper.name(), paper_stress.name());
    let plural = if slices.len() == 1 { "" } else { "s" };
    let of = format!("{} slice{plural} of {slice_s} s", slices.len());
    let mut text = format!("act({multiplier}) {policy}: act6.6 {act} ({of}), paper {paper}, paper-stress {stress}\n");
    why.iter().for_each(|why| text += &format!("  {why}\n"));
    text
}

/// What the exit code must tell.
fn verdict(set: &RunSet) -> Result<(), Failure> {
    for RunResult { policy, verify, outcome, power_loss, .. } in &set.runs {
        let broken = power_loss.map_or(0, |loss| loss.broken_promises);
        if broken > 0 {
            let message = format!("{policy}: after the power loss {broken} pages did not hold what was promised");
            return Err(Failure::Work(message));
        }
        if let Some(verify) = verify
            && verify.mismatches > 0
        {
            let (wrong, reads) = (verify.mismatches, verify.reads_checked);
            let message = format!("{policy}: {wrong} pages of {reads} checked reads were not what was written last");
            return Err(Failure::Work(message));
        }
        if *outcome == Outcome::Stuck {
            return Err(Failure::Work(format!("{policy}: requests were left that the drive never completed")));
        }
    }
    match set.runs.iter().any(|run| run.outcome == Outcome::Partial) {
        true => Err(Failure::Interrupted("the results are those until then, marked partial")),
        false => Ok(()),
    }
}
