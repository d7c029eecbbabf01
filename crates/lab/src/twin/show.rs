//! The report of a fit: measured beside modelled, in sample and out of it, and what the data cannot
//! tell. For the terminal, and as JSON.

use super::Twin;
use super::contradict::contradictions;
use super::device::chosen;
use super::doubt::Range;
use super::known::Known;
use super::latency::{Figures, errors, left_out};
use super::reads::{EXPLAINED, ReadRun, Reads};
use super::small::Way;
use super::space::Space;
use super::windows::{Fits, WindowFit};
use super::writes::Writes;
use crate::json::indented;
use crate::measure::{Measured, Measurement};
use serde_json::{Value, json};
use std::fmt::Write;

/// Names of the figures of a run.
const FIGURES: [&str; 6] = ["p50_us", "p90_us", "p99_us", "p99_9_us", "iops", "p10_us"];
/// Windows of a capacity that are printed; all of them are in the JSON.
const PRINTED: usize = 24;

/// The report for a terminal.
pub fn text(twin: &Twin, measurements: &[Measurement]) -> String {
    let mut text = String::new();
    let partial = if twin.is_partial { " (stopped: the best so far)" } else { "" };
    let _ = writeln!(text, "{}: fitted from {}{partial}", twin.name, twin.base.name);
    if let Some(reads) = &twin.reads {
        read_runs(reads, measurements, &mut text);
        parameters(&reads.space, &reads.point, &|number| reads.range(number), &mut text);
        pairs(&reads.space, &reads.doubt.pairs, &mut text);
        structures(reads, &mut text);
        for said in contradictions(measurements) {
            let _ = writeln!(text, "\nSuspect: {said}");
        }
    }
    if let Some(writes) = &twin.writes {
        windows(writes, measurements, &mut text);
        let range = |number: usize| writes.doubt.ranges.get(number).copied();
        parameters(&writes.space, &writes.point, &range, &mut text);
        pairs(&writes.space, &writes.doubt.pairs, &mut text);
        for (Way { unit, victim, superblocks, fold }, distance) in &writes.ways {
            let fold = fold.map_or(String::new(), |fold| format!(", ftl.pslc.fold = {fold}"));
            let _ = writeln!(
                text,
                "  gc.unit = {unit}, gc.victim = {victim}, {superblocks} superblocks{fold}: \
                 {:.1} % off",
                100.0 * distance
            );
        }
    }
    let mut outside = measurements
        .iter()
        .filter_map(|measurement| Some((&measurement.name, left_out(measurement)?)))
        .peekable();
    if outside.peek().is_some() {
        text.push_str("\nNot among the fitted:\n");
    }
    for (name, why) in outside {
        let _ = writeln!(text, "  {name}: {why}");
    }
    text
}

fn read_runs(reads: &Reads, measurements: &[Measurement], text: &mut String) {
    let all = reads.runs.iter().chain(&reads.tested);
    let width = all.map(|run| measurements[run.measurement].name.len()).max();
    let width = width.unwrap_or(0).max(4);
    let is_write =
        |run: &ReadRun| measurements[run.measurement].latencies().is_some_and(|of| !of.is_read);
    let loads = match reads.runs.iter().any(is_write) {
        true => "Reads, and writes to a fresh drive",
        false => "Reads",
    };
    let _ = writeln!(
        text,
        "\n{loads}, measured > modelled (latencies in us; error: mean of the four percentiles; \
         held out: fitted\nwithout that run)\n\n{:width$} {:>13} {:>13} {:>13} {:>13} {:>15} {:>6} \
         {:>6} {:>8}",
        "run", "p50", "p90", "p99", "p99.9", "kIOPS", "error", "IOPS", "held out"
    );
    reads.runs.iter().for_each(|run| read_run(run, measurements, width, text));
    let all = sums(reads.runs.iter());
    let explained = sums(reads.runs.iter().filter(|run| run.is_explained()));
    for (what, sums) in [("all", &all), ("explained", &explained)] {
        let Sums { runs, percentiles, iops, held_percentiles, held_iops } = *sums;
        if what == "explained" && (runs == 0 || runs == all.runs) {
            continue;
        }
        let _ = write!(
            text,
            "\nmean error of {runs} runs ({what}): percentiles {:.1} %, IOPS {:.1} %",
            100.0 * percentiles,
            100.0 * iops
        );
        if let (Some(percentiles), Some(iops)) = (held_percentiles, held_iops) {
            let (percentiles, iops) = (100.0 * percentiles, 100.0 * iops);
            let _ = write!(text, "; each left out: {percentiles:.1} %, {iops:.1} %");
            let other = |run: &&ReadRun| run.held_structure.is_some_and(|of| of != reads.structure);
            let others = reads.runs.iter().filter(other).count();
            if what == "all" && others > 0 {
                let _ = write!(text, " ({others} of them with another structure)");
            }
        }
    }
    text.push('\n');
    if reads.tested.is_empty() {
        return;
    }
    let _ = writeln!(text, "\nHeld out by name, and predicted:\n");
    for run in &reads.tested {
        read_run(run, measurements, width, text);
        between(run, width, text);
    }
    let Sums { runs, percentiles, iops, .. } = sums(reads.tested.iter());
    let (percentiles, iops) = (100.0 * percentiles, 100.0 * iops);
    let _ = writeln!(
        text,
        "\nmean error of {runs} runs held out by name: percentiles {percentiles:.1} %, IOPS \
         {iops:.1} %"
    );
}

fn read_run(run: &ReadRun, measurements: &[Measurement], width: usize, text: &mut String) {
    let name = &measurements[run.measurement].name;
    let _ = write!(text, "{name:width$}");
    for number in 0..4 {
        let cell = format!("{:.0}>{:.0}", run.measured[number], run.modelled[number]);
        let _ = write!(text, " {cell:>13}");
    }
    let cell = format!("{:.1}>{:.1}", run.measured[4] / 1e3, run.modelled[4] / 1e3);
    let (error, iops) = errors(&run.measured, &run.modelled);
    let held = run.held_out.map_or("-".to_string(), |found| {
        format!("{:.1} %", 100.0 * errors(&run.measured, &found).0)
    });
    // No parameters were looked for that explain a run which is predicted.
    let is_tested = run.between.is_some() || run.held_out == Some(run.modelled);
    let far = if is_tested { "  missed" } else { "  not explained" };
    let mut remark = if run.is_explained() { "" } else { far }.to_string();
    if !run.beyond.is_empty() {
        let _ = write!(remark, "  (beyond the fit: {})", run.beyond.join("; "));
    }
    let _ = writeln!(
        text,
        " {cell:>15} {:>5.1}% {:>5.1}% {held:>8}{remark}",
        100.0 * error,
        100.0 * iops
    );
}

/// Points that fit the other runs as well: their predictions, under the one of the fit.
fn between(run: &ReadRun, width: usize, text: &mut String) {
    let Some([low, high]) = run.between else { return };
    let _ = write!(text, "{:>width$}", "as well:");
    for number in 0..4 {
        let cell = format!("{:.0}..{:.0}", low[number], high[number]);
        let _ = write!(text, " {cell:>13}");
    }
    let cell = format!("{:.1}..{:.1}", low[4] / 1e3, high[4] / 1e3);
    let _ = writeln!(text, " {cell:>15}");
}

/// Mean errors over runs.
#[derive(Clone, Copy, Debug)]
struct Sums {
    runs: usize,
    percentiles: f64,
    iops: f64,
    held_percentiles: Option<f64>,
    held_iops: Option<f64>,
}

fn sums<'a>(runs: impl Iterator<Item = &'a ReadRun>) -> Sums {
    let runs: Vec<&ReadRun> = runs.collect();
    let mean = |values: Vec<f64>| values.iter().sum::<f64>() / values.len().max(1) as f64;
    let (percentiles, iops): (Vec<f64>, Vec<f64>) =
        runs.iter().map(|run| errors(&run.measured, &run.modelled)).unzip();
    let held: Option<Vec<(f64, f64)>> =
        runs.iter().map(|run| Some(errors(&run.measured, &run.held_out?))).collect();
    let held: Option<(Vec<f64>, Vec<f64>)> = held.map(|held| held.into_iter().unzip());
    let (held_percentiles, held_iops) = held.unzip();
    Sums {
        runs: runs.len(),
        percentiles: mean(percentiles),
        iops: mean(iops),
        held_percentiles: held_percentiles.map(mean),
        held_iops: held_iops.map(mean),
    }
}

fn parameters(
    space: &Space,
    point: &[f64],
    range: &dyn Fn(usize) -> Option<Range>,
    text: &mut String,
) {
    text.push_str("\nParameters\n");
    for (number, parameter) in space.parameters.iter().enumerate() {
        let (_, source) = chosen(space, point, range(number), number);
        let _ = writeln!(text, "  {:<42} {source}", parameter.name());
    }
    for known in space.exact() {
        let _ = writeln!(text, "  {:<42} {known}, {}", known.key, Known::SOURCE);
    }
}

fn pairs(space: &Space, pairs: &[(usize, usize, f64)], text: &mut String) {
    if pairs.is_empty() {
        return;
    }
    text.push_str("\nPairs that trade off: the data tell them together better than each\n");
    for (a, b, together) in pairs {
        let [a, b] = [*a, *b].map(|number| space.parameters[number].name());
        let _ = writeln!(text, "  {a} and {b} (correlation {together:.2})");
    }
}

fn structures(reads: &Reads, text: &mut String) {
    text.push_str("\nStructures, the best first (mean distance after a short search)\n");
    for (structure, distance) in reads.structures.iter().take(6) {
        let (dies, channels, planes) = (structure.dies(), structure.channels, structure.planes);
        let next = if structure.ways_first { "dies of a channel" } else { "channels" };
        let percent = 100.0 * distance;
        let _ = writeln!(
            text,
            "  {dies} dies on {channels} channels, {planes} planes read one after the other, \
             then {next}: {percent:.1} %"
        );
    }
}

fn windows(writes: &Writes, measurements: &[Measurement], text: &mut String) {
    let name = &measurements[writes.measurement].name;
    let _ = writeln!(
        text,
        "\n{name}: WAF and rate by window, measured > modelled (of {}; * held out)\n",
        writes.windows.len()
    );
    let step = writes.windows.len().div_ceil(PRINTED).max(1);
    for window in writes.windows.iter().step_by(step) {
        let WindowFit { measured, modelled, is_held_out } = window;
        let _ = writeln!(
            text,
            "  {:>7.3} {:>6} > {:<6.2} {:>6.2} > {:<6.2} GB/s{}",
            measured.to,
            measured.waf.map_or("-".to_string(), |waf| format!("{waf:.2}")),
            modelled.waf,
            measured.bytes_per_s / 1e9,
            modelled.bytes_per_s / 1e9,
            if *is_held_out { " *" } else { "" }
        );
    }
    text.push('\n');
    for (what, fits) in parts(writes) {
        let Fits { windows, waf, rate, near } = fits;
        let rate = 100.0 * rate;
        let waf = waf.map_or("not measured".to_string(), |waf| format!("{:.1} % off", 100.0 * waf));
        let _ = writeln!(
            text,
            "  {what}: {windows} windows, WAF {waf}, rate {rate:.1} % off, {near} rates within \
             15 %"
        );
    }
    if let (Some(measured), Some(modelled)) = (
        period(writes, &|window| window.measured.waf.unwrap_or(0.0)),
        period(writes, &|window| window.modelled.waf),
    ) {
        let _ = writeln!(
            text,
            "  peaks of the WAF are {measured:.2} capacities apart as measured, {modelled:.2} as \
             modelled"
        );
    }
}

/// The windows that were fitted, the two capacities behind them, and all behind them.
fn parts(writes: &Writes) -> Vec<(&'static str, Fits)> {
    let (fitted, held): (Vec<&WindowFit>, Vec<&WindowFit>) =
        writes.windows.iter().partition(|window| !window.is_held_out);
    let end = fitted.last().map_or(0.0, |window| window.measured.to);
    let mut parts = vec![("fitted", Fits::of(fitted.iter().copied()))];
    if !held.is_empty() {
        let next = held.iter().copied().filter(|window| window.measured.to <= end + 2.1);
        parts.push(("held out, the next 2 capacities", Fits::of(next)));
        parts.push(("held out, all", Fits::of(held.iter().copied())));
    }
    parts
}

/// The mean distance of the highest windows, one in each capacity.
fn period(writes: &Writes, waf: &dyn Fn(&WindowFit) -> f64) -> Option<f64> {
    let last = writes.windows.last()?.measured.to.floor() as usize;
    let peaks: Vec<f64> = (1..last)
        .filter_map(|pass| {
            let inside = |window: &&WindowFit| window.measured.from.floor() as usize == pass;
            let within = writes.windows.iter().filter(inside);
            let peak = within.max_by(|a, b| waf(a).total_cmp(&waf(b)))?;
            (waf(peak) > 1.5).then_some(0.5 * (peak.measured.from + peak.measured.to))
        })
        .collect();
    let count = peaks.len().checked_sub(1).filter(|count| *count > 0)?;
    Some((peaks[count] - peaks[0]) / count as f64)
}

/// The report as JSON.
pub fn document(twin: &Twin, measurements: &[Measurement]) -> String {
    let reads = twin.reads.as_ref().map(|reads| read_document(reads, measurements));
    let writes = twin.writes.as_ref().map(|writes| write_document(writes, measurements));
    let outside: Vec<Value> = measurements
        .iter()
        .filter_map(|measurement| {
            Some(json!({"name": measurement.name, "why": left_out(measurement)?}))
        })
        .collect();
    let states: Vec<Value> = measurements
        .iter()
        .map(|of| json!({"name": of.name, "state": of.state.to_string(), "kind": kind(of)}))
        .collect();
    indented(&json!({
        "name": twin.name,
        "base": twin.base.name,
        "partial": twin.is_partial,
        "measurements": states,
        "reads": reads,
        "writes": writes,
        "not_fitted": outside,
    }))
}

fn kind(of: &Measurement) -> &'static str {
    match of.what {
        Measured::Latencies(_) => "latencies",
        Measured::Windows(_) => "windows",
    }
}

fn read_document(reads: &Reads, measurements: &[Measurement]) -> Value {
    let figures = |of: &Figures| -> Value {
        FIGURES.iter().zip(of).map(|(name, value)| (name.to_string(), json!(value))).collect()
    };
    let of = |run: &ReadRun| {
        let (percentiles, iops) = errors(&run.measured, &run.modelled);
        json!({
            "name": measurements[run.measurement].name,
            "writes": measurements[run.measurement].latencies().is_some_and(|of| !of.is_read),
            "measured": figures(&run.measured),
            "modelled": figures(&run.modelled),
            "held_out": run.held_out.as_ref().map(figures),
            "error_percentiles": percentiles,
            "error_iops": iops,
            "error_held_out": run.held_out.map(|found| errors(&run.measured, &found).0),
            "explained": run.is_explained(),
            "beyond_the_fit": run.beyond,
            "as_well": run.between.map(|[low, high]| {
                json!({"low": figures(&low), "high": figures(&high)})
            }),
            "held_out_structure": run.held_structure.map(|of| {
                json!({
                    "channels": of.channels, "dies": of.dies(), "planes_in_turn": of.planes,
                    "dies_of_a_channel_next": of.ways_first,
                })
            }),
        })
    };
    let runs: Vec<Value> = reads.runs.iter().map(of).collect();
    let tested: Vec<Value> = reads.tested.iter().map(of).collect();
    let all = sums(reads.runs.iter());
    let explained = sums(reads.runs.iter().filter(|run| run.is_explained()));
    let sums = |of: Sums| {
        json!({
            "runs": of.runs,
            "percentiles": of.percentiles,
            "iops": of.iops,
            "percentiles_held_out": of.held_percentiles,
            "iops_held_out": of.held_iops,
        })
    };
    let structure = reads.structure;
    json!({
        "runs": runs,
        "tested": tested,
        "mean_error": sums(all),
        "mean_error_of_tested": sums(self::sums(reads.tested.iter())),
        "mean_error_of_explained": sums(explained),
        "explained_up_to": EXPLAINED,
        "channels": structure.channels,
        "dies": structure.dies(),
        "planes_in_turn": structure.planes,
        "dies_of_a_channel_next": structure.ways_first,
        "parameters": told(&reads.space, &reads.point, &|number| reads.range(number)),
        "known": known(&reads.space),
        "trade_off": traded(&reads.space, &reads.doubt.pairs),
        "contradictions": contradictions(measurements),
        "evaluations": reads.evaluations,
    })
}

fn write_document(writes: &Writes, measurements: &[Measurement]) -> Value {
    let windows: Vec<Value> = writes
        .windows
        .iter()
        .map(|window| {
            json!({
                "from": window.measured.from,
                "to": window.measured.to,
                "waf": window.measured.waf,
                "waf_modelled": window.modelled.waf,
                "bytes_per_s": window.measured.bytes_per_s,
                "bytes_per_s_modelled": window.modelled.bytes_per_s,
                "held_out": window.is_held_out,
            })
        })
        .collect();
    let errors: Vec<Value> = parts(writes)
        .into_iter()
        .map(|(what, fits)| {
            json!({
                "of": what, "windows": fits.windows, "waf": fits.waf, "rate": fits.rate,
                "rates_within_15_percent": fits.near,
            })
        })
        .collect();
    let range = |number: usize| writes.doubt.ranges.get(number).copied();
    json!({
        "name": measurements[writes.measurement].name,
        "mean_error": errors,
        "gc_unit": writes.way.unit,
        "gc_victim": writes.way.victim,
        "superblocks": writes.way.superblocks,
        "pslc_fold": writes.way.fold,
        "parameters": told(&writes.space, &writes.point, &range),
        "known": known(&writes.space),
        "trade_off": traded(&writes.space, &writes.doubt.pairs),
        "windows": windows,
        "evaluations": writes.evaluations,
    })
}

fn told(space: &Space, point: &[f64], range: &dyn Fn(usize) -> Option<Range>) -> Vec<Value> {
    let each = space.parameters.iter().enumerate();
    each.map(|(number, parameter)| {
        let found = range(number);
        let (value, source) = chosen(space, point, found, number);
        json!({
            "name": parameter.name(),
            "value": value,
            "low": found.map(|range| parameter.at(range.low)),
            "high": found.map(|range| parameter.at(range.high)),
            "determined": found.is_some_and(|range| !range.is_flat()),
            "source": source,
        })
    })
    .collect()
}

fn known(space: &Space) -> Value {
    space.known.iter().map(|of| (of.key.to_string(), json!(of.to_string()))).collect()
}

fn traded(space: &Space, pairs: &[(usize, usize, f64)]) -> Vec<Value> {
    let name = |number: usize| space.parameters[number].name();
    pairs
        .iter()
        .map(|(a, b, together)| json!({"pair": [name(*a), name(*b)], "correlation": together}))
        .collect()
}
