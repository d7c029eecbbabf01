//! `manx plot`: results as a picture for a paper.

use super::Failure;
use super::read_result::read_result;
use crate::args::PlotArgs;
use manx_core::config::ConfigError;
use manx_core::stats::RunResult;
use manx_lab::save;
use manx_report::plot::{Format, Kind, Length, Op, Plot};

/// Reads the results, draws them, writes the file.
pub fn run(args: &PlotArgs) -> Result<(), Failure> {
    let format = Format::of(&args.output).map_err(|why| input(format!("-o {}: {why}", args.output.display())))?;
    let kind = Kind::named(&args.kind).map_err(|why| input(format!("--kind {}: {why}", args.kind)))?;
    let op = Op::named(&args.op).map_err(|why| input(format!("--op {}: {why}", args.op)))?;
    let width = Length::parse(&args.width).map_err(|why| input(format!("--width {}: {why}", args.width)))?;
    let height = Length::parse(&args.height).map_err(|why| input(format!("--height {}: {why}", args.height)))?;
    let mut runs: Vec<RunResult> = Vec::new();
    for said in &args.results {
        runs.extend(read_result(said)?);
    }
    let twice = runs.iter().enumerate().find(|(at, run)| runs[..*at].iter().any(|other| other.policy == run.policy));
    if let Some((_, run)) = twice {
        let (all, name) = (args.results.join(", "), &run.policy);
        return Err(input(format!(
            "{all}: two runs are called `{name}`; NAME=RESULT gives those of a file another name"
        )));
    }
    let plot = Plot { runs: &runs, kind, op, title: args.title.as_deref(), width, height };
    let bytes = plot.draw(format).map_err(|why| input(format!("{}: {why}", args.results.join(", "))))?;
    save::write(&args.output, bytes).map_err(Failure::Work)
}

fn input(message: String) -> Failure {
    ConfigError::new(message).into()
}
