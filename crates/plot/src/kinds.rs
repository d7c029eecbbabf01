//! The four charts.

use super::chart::{Chart, Sample, bounds, fitted, log10, width_of};
use super::{Op, Plot};
use manx_core::stats::{AttributionBand, RunResult};
use manx_core::units::Cause;
use manx_report::number::latency;
use manx_report::page::told;
use manx_report::style::{band_words, cause_colour, cause_words, policy_colour, policy_dash};

const LEFT: f64 = 44.0;
const BOTTOM: f64 = 24.0;
/// The lowest chart that can be read.
const LEAST: f64 = 40.0;
/// The lowest bar whose name does not touch the next.
const ROW: f64 = 6.0;

fn lines<'a>(runs: &'a [RunResult]) -> Vec<(&'a str, &'a str, Sample)> {
    let entry = |(number, run): (usize, &'a RunResult)| {
        (run.policy.as_str(), policy_colour(number), Sample::Line(policy_dash(number)))
    };
    runs.iter().enumerate().map(entry).collect()
}

/// The name of an axis position that counts nines: 0.99 is 2.
fn nines_name(nines: i32) -> String {
    match nines {
        0 => "0".to_string(),
        1 => "90".to_string(),
        2 => "99".to_string(),
        more => format!("99.{}", "9".repeat(more as usize - 2)),
    }
}

pub(super) fn cdf(plot: &Plot<'_>) -> Result<String, String> {
    let curves = || plot.runs.iter().map(|run| &plot.op.summary(run).curve);
    let bounds = bounds(curves().flat_map(|curve| curve.us.iter().copied()))
        .ok_or_else(|| plot.nothing("a distribution"))?;
    let last = curves()
        .filter_map(|curve| curve.beyond.last())
        .map(|beyond| -log10(*beyond))
        .fold(1.0, f64::max);
    let mut chart = Chart::new(plot, (LEFT, 10.0, BOTTOM), &lines(plot.runs), LEAST)?;
    let mut ticks =
        vec![(0.0, nines_name(0)), (std::f64::consts::LOG10_2 / last, "50".to_string())];
    ticks.extend((1..=last as i32).map(|nines| (f64::from(nines) / last, nines_name(nines))));
    chart.latency_axis(bounds, &format!("{} latency", plot.op.word()));
    chart.bottom_axis(&ticks, true, "percentile (%)");
    for (number, curve) in curves().enumerate() {
        let points = curve
            .beyond
            .iter()
            .zip(&curve.us)
            .map(|(beyond, us)| (chart.x(-log10(*beyond) / last), chart.y(*us, bounds)));
        chart.line(&points.collect::<Vec<_>>(), policy_colour(number), policy_dash(number));
    }
    Ok(chart.finish())
}

pub(super) fn time(plot: &Plot<'_>) -> Result<String, String> {
    let of = |run: &RunResult| {
        plot.op.slices(run).map(|slices| slices.p99_us.clone()).unwrap_or_default()
    };
    let bounds = bounds(plot.runs.iter().flat_map(of).flatten())
        .ok_or_else(|| plot.nothing("latencies over time"))?;
    let ends = plot.runs.iter().filter_map(|run| {
        let over = run.over_time.as_ref()?;
        Some((over.start_s, over.start_s + over.slice_s * of(run).len() as f64))
    });
    let (from, to) =
        ends.fold((f64::MAX, f64::MIN), |(from, to), (start, end)| (from.min(start), to.max(end)));
    let span = (to - from).max(1e-9);
    let mut chart = Chart::new(plot, (LEFT, 10.0, BOTTOM), &lines(plot.runs), LEAST)?;
    chart.latency_axis(bounds, &format!("p99 {} latency", plot.op.word()));
    chart.bottom_axis(&time_ticks(from, to), true, "time (s)");
    for (number, run) in plot.runs.iter().enumerate() {
        let Some(over) = &run.over_time else { continue };
        let mut piece: Vec<(f64, f64)> = Vec::new();
        // A slice in which nothing completed is a gap.
        for (slice, us) in of(run).into_iter().chain([None]).enumerate() {
            let at = |place: f64| {
                chart.x((over.start_s + (slice as f64 + place) * over.slice_s - from) / span)
            };
            match us {
                Some(us) => piece.push((at(0.5), chart.y(us, bounds))),
                None => {
                    // A slice alone between gaps makes no line: as long as it lasts, or as a dash
                    // that can be seen.
                    if let [(x, y)] = piece[..] {
                        let half = ((at(1.0) - at(0.0)) / 2.0).max(0.6);
                        piece = vec![(x - half, y), (x + half, y)];
                        chart.line(&piece, policy_colour(number), &[]);
                    } else {
                        chart.line(&piece, policy_colour(number), policy_dash(number));
                    }
                    piece.clear();
                }
            }
        }
    }
    Ok(chart.finish())
}

/// Four to ten round times.
fn time_ticks(from: f64, to: f64) -> Vec<(f64, String)> {
    let span = (to - from).max(1e-9);
    let decade = manx_core::sim::math::pow(10.0, log10(span / 4.0).floor());
    let step = [5.0, 2.0, 1.0]
        .map(|step| step * decade)
        .into_iter()
        .find(|step| *step <= span / 4.0)
        .unwrap_or(decade);
    let decimals = (-log10(step * 1.000_001).floor()).max(0.0) as usize;
    let (first, last) = ((from / step).ceil() as i64, (to / step).floor() as i64);
    (first..=last)
        .map(|number| number as f64 * step)
        .map(|at| ((at - from) / span, format!("{at:.decimals$}")))
        .collect()
}

pub(super) fn bars(plot: &Plot<'_>) -> Result<String, String> {
    let levels = |run: &RunResult| {
        let of = plot.op.summary(run);
        [
            ("p50", of.p50_us),
            ("p90", of.p90_us),
            ("p99", of.p99_us),
            ("p99.9", of.p99_9_us),
            ("p99.99", of.p99_99_us),
        ]
    };
    let all: Vec<_> = plot.runs.iter().map(levels).collect();
    let (low, high) = bounds(all.iter().flatten().filter_map(|(_, us)| *us))
        .ok_or_else(|| plot.nothing("a percentile"))?;
    // The shortest bar must be seen too.
    let bounds = (low / 2.0, high);
    let legend: Vec<_> = plot
        .runs
        .iter()
        .enumerate()
        .map(|(number, run)| (run.policy.as_str(), policy_colour(number), Sample::Box))
        .collect();
    let mut chart = Chart::new(plot, (LEFT, 6.0, BOTTOM - 8.0), &legend, LEAST)?;
    let used: Vec<usize> =
        (0..5).filter(|level| all.iter().any(|run| run[*level].1.is_some())).collect();
    chart.latency_axis(bounds, &format!("{} latency", plot.op.word()));
    let groups = used.len() as f64;
    let ticks: Vec<_> = used
        .iter()
        .enumerate()
        .map(|(at, level)| ((at as f64 + 0.5) / groups, all[0][*level].0.to_string()))
        .collect();
    chart.bottom_axis(&ticks, false, "");
    let group = (chart.right - chart.left) / groups;
    let wide = group * 0.8 / plot.runs.len() as f64;
    for (at, level) in used.iter().enumerate() {
        for (number, run) in all.iter().enumerate() {
            let Some(us) = run[*level].1 else { continue };
            let x = chart.left + group * (at as f64 + 0.1) + wide * number as f64;
            let y = chart.y(us, bounds);
            chart.rect(x, y, wide, chart.bottom - y, policy_colour(number));
        }
    }
    Ok(chart.finish())
}

pub(super) fn attribution(plot: &Plot<'_>) -> Result<String, String> {
    let bands = |run: &'_ RunResult| -> Vec<AttributionBand> {
        let of = run
            .attribution
            .as_ref()
            .map(|all| if plot.op == Op::Read { &all.read } else { &all.write });
        of.map(|bands| told(bands).cloned().collect()).unwrap_or_default()
    };
    let mut rows: Vec<(String, AttributionBand)> = Vec::new();
    for name in ["all", "p99", "p99_9", "p99_99"] {
        for run in plot.runs {
            let own = bands(run).into_iter().filter(|band| band.band == name);
            rows.extend(own.map(|band| (format!("{} {}", run.policy, band_words(name)), band)));
        }
    }
    if rows.is_empty() {
        return Err(plot.nothing("an attribution (measure.attribution=true)"));
    }
    let occurs = |cause: &Cause| rows.iter().any(|(_, band)| band.mean_us.get(*cause) > 0.0);
    let legend: Vec<_> = Cause::ALL
        .into_iter()
        .filter(occurs)
        .map(|cause| (cause_words(cause), cause_colour(cause), Sample::Box))
        .collect();
    let left =
        rows.iter().map(|(name, _)| width_of(name)).fold(0.0, f64::max).min(plot.width.0 / 2.0)
            + 6.0;
    let mut chart = Chart::new(plot, (left, 36.0, BOTTOM), &legend, ROW * rows.len() as f64)?;
    let high = (chart.bottom - chart.top) / rows.len() as f64;
    let ticks: Vec<_> = [0, 25, 50, 75, 100]
        .map(|percent| (f64::from(percent) / 100.0, percent.to_string()))
        .to_vec();
    chart.bottom_axis(&ticks, true, &format!("share of the mean {} latency (%)", plot.op.word()));
    for (number, (name, band)) in rows.iter().enumerate() {
        let (top, middle) =
            (chart.top + high * number as f64, chart.top + high * (number as f64 + 0.5) + 2.6);
        chart.text(chart.left - 3.0, middle, "end", &fitted(name, chart.left - 5.0));
        let total: f64 = band.mean_us.all().iter().map(|(_, us)| us).sum();
        let mut before = 0.0;
        for (cause, us) in band.mean_us.all().into_iter().filter(|(_, us)| *us > 0.0) {
            let (from, to) = (chart.x(before / total), chart.x((before + us) / total));
            chart.rect(from, top + high * 0.12, to - from, high * 0.76, cause_colour(cause));
            before += us;
        }
        chart.text(chart.right + 3.0, middle, "start", &latency(total));
    }
    Ok(chart.finish())
}
