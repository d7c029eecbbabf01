//! `manx plot`: results as a picture for a paper.

use super::Failure;
use crate::args::PlotArgs;
use manx_core::config::ConfigError;
use manx_core::stats::{RunResult, RunSet};
use manx_lab::{json, save};
use manx_report::plot::{Format, Kind, Length, Op, Plot};
use std::path::{Path, PathBuf};

/// Reads the results, draws them, writes the file.
pub fn run(args: &PlotArgs) -> Result<(), Failure> {
    let format = Format::of(&args.output).map_err(|why| input(format!("-o {}: {why}", args.output.display())))?;
    let kind = Kind::named(&args.kind).map_err(|why| input(format!("--kind {}: {why}", args.kind)))?;
    let op = Op::named(&args.op).map_err(|why| input(format!("--op {}: {why}", args.op)))?;
    let width = Length::parse(&args.width).map_err(|why| input(format!("--width {}: {why}", args.width)))?;
    let height = Length::parse(&args.height).map_err(|why| input(format!("--height {}: {why}", args.height)))?;
    let mut runs: Vec<RunResult> = Vec::new();
    for said in &args.results {
        runs.extend(read(said)?);
    }
    let plot = Plot { runs: &runs, kind, op, title: args.title.as_deref(), width, height };
    let bytes = plot.draw(format).map_err(|why| input(format!("{}: {why}", args.results.join(", "))))?;
    save::write(&args.output, bytes).map_err(Failure::Work)
}

fn input(message: String) -> Failure {
    ConfigError::new(message).into()
}

/// The runs of `PATH` or `NAME=PATH`. A path that is there is a path, whatever it holds.
fn read(said: &str) -> Result<Vec<RunResult>, Failure> {
    let (name, path) = match said.split_once('=') {
        Some((name, path)) if !name.is_empty() && !Path::new(said).exists() => (Some(name), path),
        _ => (None, said),
    };
    let path = if Path::new(path).is_dir() { Path::new(path).join("result.json") } else { PathBuf::from(path) };
    let shown = path.display();
    let text = std::fs::read_to_string(&path).map_err(|error| input(format!("{shown}: cannot read it: {error}")))?;
    let RunSet { mut runs } =
        json::from_json(&text).map_err(|error| input(format!("{shown}: not a result: {error}")))?;
    if runs.is_empty() {
        return Err(input(format!("{shown}: it holds no run")));
    }
    if let Some(name) = name {
        let alone = runs.len() == 1;
        for run in &mut runs {
            run.policy = if alone { name.to_string() } else { format!("{name} {}", run.policy) };
        }
    }
    Ok(runs)
}
