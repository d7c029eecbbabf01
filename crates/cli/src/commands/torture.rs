//! `manx torture`: a campaign of power losses, one line a violation.

use super::progress::Bar;
use super::{Failure, print};
use crate::args::TortureArgs;
use crate::screen::Screen;
use crate::signals::{self, STOP};
use manx_config::{ConfigError, Override, Scenario};
use manx_lab::load::Request;
use manx_lab::torture::{Options, Tally, TortureError, check, drawn, torture};
use std::fmt::Write;
use std::num::NonZero;
use std::sync::atomic::Ordering;

/// Does what was asked.
pub fn run(args: &TortureArgs, screen: &Screen) -> Result<(), Failure> {
    let sets =
        args.sets.iter().map(|set| Override::from_set(set)).collect::<Result<Vec<_>, _>>()?;
    let request = args.scenario.as_ref().map(|name| Request::read(name, Vec::new())).transpose()?;
    let scenario = |seed: u64| scenario(request.as_ref(), seed, &sets);
    // A scenario that cannot be played at all is told before anything else.
    check(&scenario(args.seed)?)?;
    signals::listen();
    let bar = Bar::new(screen, "torture", "runs");
    let progress = |done: u32, violations: u32| {
        let violations =
            if violations > 0 { format!("{violations} violations") } else { String::new() };
        bar.show(done.into(), Some(args.seeds.into()), &violations);
    };
    let options = Options {
        scenario: &scenario,
        seed: args.seed,
        seeds: args.seeds,
        cuts: args.cuts,
        jobs: args.jobs.and_then(|jobs| NonZero::new(jobs as usize)),
        stop: &STOP,
        progress: &progress,
    };
    let tally = torture(&options);
    bar.clear();
    let tally = tally.map_err(|error| match error {
        TortureError::Config(error) => Failure::from(error),
        TortureError::Run(error) => Failure::from(error),
    })?;
    print(&in_words(&tally, args))?;
    match tally.violations.len() {
        _ if STOP.load(Ordering::Relaxed) => {
            Err(Failure::Interrupted("the counts are those until then"))
        }
        0 => Ok(()),
        count => {
            Err(Failure::Work(format!("{count} of {} runs violated what was promised", tally.runs)))
        }
    }
}

fn scenario(
    request: Option<&Request>,
    seed: u64,
    sets: &[Override],
) -> Result<Scenario, ConfigError> {
    let Some(request) = request else { return drawn(seed, sets) };
    let said = "torture";
    let own = [
        Override::new("recovery.keep", "true", said),
        Override::new("seed", seed.to_string(), format!("--seed {seed}")),
    ];
    request.with(own.into_iter().chain(sets.iter().cloned())).plain()
}

fn in_words(tally: &Tally, args: &TortureArgs) -> String {
    let mut text = String::new();
    for violation in &tally.violations {
        let (seed, what) = (violation.seed, &violation.what);
        let scenario = args.scenario.as_ref().map_or(String::new(), |name| format!(" {name}"));
        let sets: String = args.sets.iter().map(|set| format!(" --set {set}")).collect();
        let repeat =
            format!("manx torture{scenario}{sets} --seed {seed} --seeds 1 --cuts {}", args.cuts);
        let _ = writeln!(text, "violation: seed {seed}: {what}; repeat: {repeat}");
    }
    let Tally {
        runs,
        cuts,
        cuts_again,
        torn_rows,
        spoilt_rows,
        illegible_blocks,
        bad_blocks,
        read_only,
        ..
    } = tally;
    let Tally { pages_checked, recovery_max_us, checkpoints, from_checkpoint, violations, .. } =
        tally;
    let _ = writeln!(
        text,
        "{runs} runs, {cuts} power losses ({cuts_again} during a recovery), {torn_rows} torn \
         rows, {spoilt_rows} rows spoilt, {illegible_blocks} illegible blocks, {bad_blocks} bad \
         blocks, {read_only} drives turned read-only, {checkpoints} checkpoints, \
         {from_checkpoint} recoveries from one, {pages_checked} pages checked, longest recovery \
         {recovery_max_us} us: {} violations",
        violations.len()
    );
    text
}
