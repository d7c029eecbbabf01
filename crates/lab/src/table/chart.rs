//! The tail as a picture of text: one bar a policy and percentile, on a logarithmic scale, for the terminal and the
//! README.

use super::{RECORDED, cell};
use manx_core::stats::{LEVELS, LatencySummary, RunSet};

/// Columns of the longest bar.
const BAR: usize = 48;

/// A logarithmic axis of [`BAR`] columns: from the power of ten at or below the shortest latency to the longest one.
struct Axis {
    low: f64,
    decades: f64,
}

impl Axis {
    fn over(latencies: &[f64]) -> Self {
        let ns = |us: f64| (us * 1e3).max(1.0);
        let shortest = latencies.iter().copied().map(ns).fold(f64::MAX, f64::min);
        let longest = latencies.iter().copied().map(ns).fold(1.0, f64::max);
        let low = shortest.log10().floor();
        // At least one decade, so that a difference of a few percent does not look like a cliff.
        Self { low, decades: (longest.log10() - low).max(1.0) }
    }

    fn column(&self, us: f64) -> usize {
        let decades = (us * 1e3).max(1.0).log10() - self.low;
        (decades / self.decades * BAR as f64).round() as usize
    }

    /// The powers of ten on the axis: column and label.
    fn ticks(&self) -> impl Iterator<Item = (usize, String)> + '_ {
        (0..=self.decades.floor() as i32).map(|decade| {
            let us = 10f64.powi(self.low as i32 + decade - 3);
            let label = cell::latency(us);
            let digits = label.trim_end_matches(char::is_alphabetic);
            let unit = &label[digits.len()..];
            (self.column(us), digits.trim_end_matches('0').trim_end_matches('.').to_string() + unit)
        })
    }

    fn head(&self) -> String {
        let mut line = String::new();
        for (column, label) in self.ticks() {
            // A label that would run into the one before is left out; its tick stays in the rows.
            if line.is_empty() || line.len() < column {
                line = format!("{line:column$}{label}");
            }
        }
        line
    }

    fn bar(&self, us: f64) -> String {
        let filled = self.column(us).max(1);
        let mut cells: Vec<char> = (0..BAR).map(|column| if column < filled { '█' } else { ' ' }).collect();
        for (column, _) in self.ticks() {
            if (filled..BAR).contains(&column) {
                cells[column] = '·';
            }
        }
        cells.into_iter().collect()
    }
}

/// The latencies of reads (of writes, where nothing was read), one line a policy and percentile from p50 to p99.99, as
/// bars on a logarithmic scale. Percentiles that no policy supports are left out; the text is empty where there is
/// nothing to draw.
pub fn tail_chart(set: &RunSet) -> String {
    let any_read = set.runs.iter().any(|run| run.read.count > 0);
    let kind = if any_read { "read" } else { "write" };
    let of = |read, write| if any_read { read } else { write };
    let mut shown: Vec<(&str, &LatencySummary)> =
        set.runs.iter().map(|run| (run.policy.as_str(), of(&run.read, &run.write))).collect();
    shown.extend(set.recorded().map(|recorded| (RECORDED, of(&recorded.read, &recorded.write))));
    let levels = LEVELS.iter().enumerate().filter(|(_, level)| !["p95", "p99.999"].contains(&level.name));
    let rows: Vec<(&str, Vec<Option<f64>>)> = levels
        .map(|(at, level)| (level.name, shown.iter().map(|(_, summary)| summary.percentiles.all()[at].us).collect()))
        .filter(|(_, values): &(_, Vec<Option<f64>>)| values.iter().any(Option::is_some))
        .collect();
    let drawn: Vec<f64> = rows.iter().flat_map(|(_, values)| values.iter().flatten().copied()).collect();
    if drawn.is_empty() {
        return String::new();
    }
    let axis = Axis::over(&drawn);
    let names = shown.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let mut text = format!("{kind} latency, logarithmic\n{:1$}{2}\n", "", 8 + names + 2, axis.head());
    for (level, values) in rows {
        for (place, ((name, _), value)) in shown.iter().zip(values).enumerate() {
            let level = if place == 0 { level } else { "" };
            let (bar, shown) = match value {
                Some(us) => (axis.bar(us), cell::latency(us)),
                None => (axis.bar(0.0).replace('█', " "), "- (too few samples)".to_string()),
            };
            text += &format!("{level:<8}{name:<names$}  {bar}  {shown}\n");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::example;

    #[test]
    fn the_tail_of_three_policies_is_a_picture() {
        let drawn = tail_chart(&example::three_policies());
        let expected = "
read latency, logarithmic
                    100us             1ms               10ms
p50     nogc        ███               ·                 ·             142.6us
        base        ███               ·                 ·             142.6us
        preemptive  ███               ·                 ·             142.6us
p90     nogc        ███               ·                 ·             142.6us
        base        ███               ·                 ·             142.6us
        preemptive  ███               ·                 ·             142.6us
p99     nogc        ███               ·                 ·             142.6us
        base        ████████████████████████████████████████████      30.14ms
        preemptive  ████████████████████                ·             1.343ms
p99.9   nogc        █████             ·                 ·             182.6us
        base        ████████████████████████████████████████████████  48.89ms
        preemptive  ███████████████████████             ·             2.093ms
p99.99  nogc        ██████            ·                 ·             218.6us
        base        ████████████████████████████████████████████████  50.14ms
        preemptive                    ·                 ·             - (too few samples)
";
        assert_eq!(format!("\n{drawn}"), expected, "\n{drawn}");
    }

    #[test]
    fn nothing_to_draw_is_an_empty_picture() {
        assert_eq!(tail_chart(&RunSet::default()), "");
    }

    #[test]
    fn a_constant_latency_is_drawn_inside_one_decade() {
        let drawn = tail_chart(&example::constant());
        let bars: Vec<usize> = drawn.lines().skip(2).map(|line| line.matches('█').count()).collect();
        assert_eq!(bars, [7; 4], "\n{drawn}");
        assert!(drawn.contains("100us") && drawn.contains("142.6us"), "\n{drawn}");
    }
}
