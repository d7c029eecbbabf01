//! The program `manx-plot`: results as a picture for a paper. `manx plot` hands over to it.

#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

use clap::Parser;
use manx_cli::answer;
use manx_cli::args::PlotArgs;
use manx_cli::commands::Failure;
use manx_cli::commands::read_result::read_result;
use manx_cli::say::say_line;
use manx_cli::screen::Screen;
use manx_config::ConfigError;
use manx_core::stats::{RunResult, RunSet};
use manx_lab::save;
use manx_lab::state::mixed_axes;
use manx_plot::{Format, Kind, Length, Op, Plot};
use std::process::ExitCode;

/// Draw results of manx for a paper: SVG, PDF or PNG
#[derive(Debug, Parser)]
#[command(name = "manx plot", version)]
struct Program {
    #[command(flatten)]
    args: PlotArgs,
    /// Options that every command understands; none of them concerns a picture.
    #[command(flatten)]
    _screen: Screen,
}

fn main() -> ExitCode {
    answer(Program::try_parse(), |program| draw(&program.args))
}

/// Reads the results, draws them, writes the file.
fn draw(args: &PlotArgs) -> Result<(), Failure> {
    let format = Format::of(&args.output)
        .map_err(|why| input(format!("-o {}: {why}", args.output.display())))?;
    let kind =
        Kind::named(&args.kind).map_err(|why| input(format!("--kind {}: {why}", args.kind)))?;
    let op = Op::named(&args.op).map_err(|why| input(format!("--op {}: {why}", args.op)))?;
    let width = Length::parse(&args.width)
        .map_err(|why| input(format!("--width {}: {why}", args.width)))?;
    let height = Length::parse(&args.height)
        .map_err(|why| input(format!("--height {}: {why}", args.height)))?;
    let mut runs: Vec<RunResult> = Vec::new();
    for said in &args.results {
        runs.extend(read_result(said)?);
    }
    let twice = runs
        .iter()
        .enumerate()
        .find(|(at, run)| runs[..*at].iter().any(|other| other.policy == run.policy));
    if let Some((_, run)) = twice {
        let (all, name) = (args.results.join(", "), &run.policy);
        return Err(input(format!(
            "{all}: two runs are called `{name}`; NAME=RESULT gives those of a file another name"
        )));
    }
    if let Some(mixed) = mixed_axes(&RunSet { runs: runs.clone() }) {
        say_line(&mixed);
        // Where more than one thing differs, a name alone would be taken for it.
        for run in runs.iter_mut().filter(|run| run.path != run.policy) {
            run.policy = format!("{} ({})", run.policy, run.path);
        }
    }
    let plot = Plot { runs: &runs, kind, op, title: args.title.as_deref(), width, height };
    let bytes =
        plot.draw(format).map_err(|why| input(format!("{}: {why}", args.results.join(", "))))?;
    save::write(&args.output, bytes).map_err(Failure::Work)
}

fn input(message: String) -> Failure {
    ConfigError::new(message).into()
}
