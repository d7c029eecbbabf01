//! `manx advise`: from arguments to the lab's search, its progress, and what is printed of it.

use super::progress::Bar;
use super::{Failure, print};
use crate::args::AdviseArgs;
use crate::say::say_line;
use crate::screen::Screen;
use crate::signals::{self, STOP};
use manx_config::ConfigError;
use manx_lab::advise::answer::{Answer, answer};
use manx_lab::advise::question::Question;
use manx_lab::advise::shots::{Shots, Stop};
use manx_lab::advise::{bounds, page, show};
use manx_lab::cache::Cache;
use manx_lab::campaign::{Campaign, lock};
use manx_lab::compare::Options;
use manx_lab::run::Beside;
use manx_lab::save::{make_folder, write};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

/// Files of an answer, and the journal of its runs.
const FILES: [&str; 2] = ["advise.json", "advise.html"];
const JOURNAL: &str = "journal.jsonl";

/// Does what was asked.
pub fn run(args: &AdviseArgs, screen: &Screen) -> Result<(), Failure> {
    let question = Question::new(args.asked()?)?;
    bounds::refuse(&question)?;
    signals::listen();
    let mut invalid = question.plan.invalid(true, &STOP);
    if STOP.load(Ordering::Relaxed) {
        return Err(stopped(args));
    }
    if invalid.len() == question.plan.settings() {
        let (first, why) = invalid.remove(0);
        let point = question.plan.describe(first);
        let why = why.replace("--grid ", "--over ");
        return Err(ConfigError::new(format!("no setting can be run; {point}: {why}")).into());
    }
    let folder = Folder::of(args.out.as_deref())?;
    let journal = folder.path.join(JOURNAL);
    let _locked = lock(&journal).map_err(ConfigError::new)?;
    let campaign = Campaign::open(&journal).map_err(ConfigError::new)?;
    let cache = if args.no_cache { None } else { Cache::of_user() };
    let bar = Bar::new(screen, "advise", "settings");
    let tell = |decided: usize, of: usize, best: Option<(usize, f64)>| {
        let best = best.map_or("none keeps the goals yet".to_string(), |(_, price)| {
            format!("least so far {price:.2}")
        });
        bar.show(decided as u64, Some(of as u64), &best);
    };
    let options = Options {
        jobs: args.jobs.and_then(|jobs| NonZero::new(jobs as usize)),
        verify: false,
        cache: cache.as_ref(),
        beside: Beside::default(),
        stop: &STOP,
        observer: &|_| {},
        finished: None,
        limits: None,
    };
    let shots = Shots::new(&question, campaign, options);
    let answered = answer(&question, shots, &invalid, &tell);
    bar.clear();
    let answer = answered.map_err(|stop| match stop {
        Stop::Asked => stopped(args),
        Stop::Run(error) => error.into(),
    })?;
    tell_of(&answer, args)
}

/// Prints and writes the answer.
fn tell_of(answer: &Answer, args: &AdviseArgs) -> Result<(), Failure> {
    let plain = |text: String| text.replace(|c: char| c.is_control() && c != '\n', " ");
    if let Some(folder) = &args.out {
        for (name, text) in FILES.iter().zip([show::document(answer), page::html(answer)]) {
            write(&folder.join(name), &text).map_err(Failure::Work)?;
        }
        say_line(&format!("advise.json and advise.html in {}", folder.display()));
    }
    print(&if args.json { show::document(answer) } else { plain(show::text(answer)) })?;
    match &answer.impossible {
        None => Ok(()),
        Some(_) => {
            let nothing = show::nothing(answer).replace('N', "n");
            Err(Failure::Work(format!("{nothing}; the answer says why")))
        }
    }
}

fn stopped(args: &AdviseArgs) -> Failure {
    Failure::Stopped(match &args.out {
        Some(_) => {
            "interrupted: the runs so far are in the journal; the same command does the rest"
                .to_string()
        }
        None => {
            "interrupted: nothing was kept; with --out DIR the same command goes on".to_string()
        }
    })
}

/// The folder of the journal: the asker's, or one that goes with the process.
struct Folder {
    path: PathBuf,
    is_own: bool,
}

impl Folder {
    fn of(out: Option<&Path>) -> Result<Self, Failure> {
        let own = || std::env::temp_dir().join(format!("manx-advise-{}", std::process::id()));
        let (path, is_own) = out.map_or_else(|| (own(), true), |out| (out.to_path_buf(), false));
        // A journal says that the files are an earlier answer's.
        let is_there = |name: &&&str| path.join(name).exists();
        if let Some(name) = FILES.iter().find(is_there).filter(|_| !path.join(JOURNAL).exists()) {
            return Err(ConfigError::new(format!(
                "--out {}: {name} is there and no {JOURNAL} of manx advise: nothing is \
                 overwritten; name another folder, or move it away",
                path.display()
            ))
            .into());
        }
        let _made = make_folder(&path).map_err(|why| ConfigError::new(format!("--out {why}")))?;
        Ok(Self { path, is_own })
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if self.is_own {
            // Remains in a folder for temporary files are no reason to fail.
            let _ = std::fs::remove_dir_all(&self.path);
        }
    }
}
