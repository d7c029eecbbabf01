//! `manx act`: what the Aerospike Certification Tool would rate a drive.

use super::progress::Bar;
use super::{Failure, print};
use crate::args::{ActCommand, RateArgs};
use crate::say::say;
use crate::screen::Screen;
use crate::signals::{self, STOP};
use manx_lab::cache::Cache;
use manx_lab::compare::Options;
use manx_lab::json::indented;
use manx_lab::load::Request;
use manx_lab::rating::{Question, Rated, Rating, Trial, document};
use std::fmt::Write;

/// Does what was asked.
pub fn run(command: &ActCommand, screen: &Screen) -> Result<(), Failure> {
    match command {
        ActCommand::Rate(args) => rate(args, screen),
    }
}

fn rate(args: &RateArgs, screen: &Screen) -> Result<(), Failure> {
    let questions = questions(args)?;
    // A mistake in any of them is told before the first run.
    questions.iter().try_for_each(Question::check)?;
    if let Some(warning) = questions.iter().find_map(Question::warning) {
        say(&format!("warning: {warning}"));
    }
    signals::listen();
    let cache = if args.no_cache { None } else { Cache::of_user() };
    let options = Options::plain(cache.as_ref(), &STOP);
    let bar = Bar::new(screen, "act rate", "trials");
    let (mut ratings, mut trials) = (Vec::new(), 0);
    for question in &questions {
        let mut tell = |policy: &str, trial: &Trial| {
            trials += 1;
            let word = if trial.passes { "passes" } else { "fails" };
            bar.show(trials, None, &format!("{policy} {word} {}x", trial.multiplier));
        };
        let rated = question.rate(&options, &mut tell).inspect_err(|_| bar.clear())?;
        let Rated::Done(rating) = rated else {
            bar.clear();
            return Err(Failure::Interrupted("the rating was not found"));
        };
        ratings.push(rating);
    }
    bar.clear();
    let rule = args.rule.rule();
    print(&if args.json { indented(&document(rule, &ratings)) } else { text(args, &ratings) })
}

fn questions(args: &RateArgs) -> Result<Vec<Question>, Failure> {
    let request = Request::read(&args.scenario, args.overrides()?)?;
    let of = |policy: Option<String>| Question {
        request: request.clone(),
        policy,
        rule: args.rule.rule(),
        least: args.from,
        most: args.to,
    };
    Ok(match args.policies.as_slice() {
        [] => vec![of(None)],
        policies => policies.iter().cloned().map(Some).map(of).collect(),
    })
}

fn text(args: &RateArgs, ratings: &[Rating]) -> String {
    let rule = args.rule.rule().name();
    let mut text = format!("The largest multiplier of ACT that passes, by the rule {rule}\n\n");
    let width = ratings.iter().map(|rating| rating.policy.len()).max().unwrap_or(0);
    for rating in ratings {
        let most = match rating.passed {
            Some(passed) if rating.is_open => format!("{passed}x, the most that was tried"),
            Some(passed) => format!("{passed}x"),
            None => format!("none: {}x fails", args.from),
        };
        let failed = rating.trials.iter().filter(|trial| !trial.passes);
        let next = failed.min_by_key(|trial| trial.multiplier);
        let why = next.and_then(|trial| {
            trial.why.first().map(|why| format!("; at {}x {why}", trial.multiplier))
        });
        let _ = writeln!(text, "{:<width$}  {most}{}", rating.policy, why.unwrap_or_default());
    }
    text
}
