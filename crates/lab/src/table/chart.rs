//! The tail as a picture of text: one bar a policy and percentile, on a logarithmic scale, for the
//! terminal and the README.

use super::{Look, RECORDED, cell};
use manx_core::stats::{LEVELS, LatencySummary, RunSet};

/// Columns of the longest bar.
const BAR: usize = 48;

/// A bar that is shorter says nothing.
const BAR_LEAST: usize = 12;

/// Lines of a chart of several percentiles.
const LINES: usize = 16;

/// The percentiles in the order in which they are worth their lines.
const WORTH: [&str; 5] = ["p99.9", "p99.99", "p99", "p50", "p90"];

/// Columns of a percentile's name.
const LEVEL: usize = 8;

/// Columns of a latency.
const LATENCY: usize = 7;

/// A logarithmic axis of some columns: from the power of ten at or below the shortest latency to
/// the longest one.
struct Axis {
    low: f64,
    decades: f64,
    columns: usize,
    bar: char,
    tick: char,
}

impl Axis {
    fn over(latencies: &[f64], columns: usize, ascii: bool) -> Self {
        let ns = |us: f64| (us * 1e3).max(1.0);
        let shortest = latencies.iter().copied().map(ns).fold(f64::MAX, f64::min);
        let longest = latencies.iter().copied().map(ns).fold(1.0, f64::max);
        let low = shortest.log10().floor();
        let (bar, tick) = if ascii { ('#', '.') } else { ('█', '·') };
        // At least one decade, so that a difference of a few percent does not look like a cliff.
        Self { low, decades: (longest.log10() - low).max(1.0), columns, bar, tick }
    }

    fn column(&self, us: f64) -> usize {
        let decades = (us * 1e3).max(1.0).log10() - self.low;
        (decades / self.decades * self.columns as f64).round() as usize
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

    /// The columns of a bar; `None` is no bar.
    fn bar(&self, us: Option<f64>) -> String {
        let filled = us.map_or(0, |us| self.column(us).max(1));
        let mut cells: Vec<char> =
            (0..self.columns).map(|column| if column < filled { self.bar } else { ' ' }).collect();
        for (column, _) in self.ticks() {
            if (filled.max(1)..self.columns).contains(&column) {
                cells[column] = self.tick;
            }
        }
        cells.into_iter().collect()
    }
}

/// The latencies of reads (of writes, where nothing was read), one line a policy and percentile, as
/// bars on a logarithmic scale: from p50 to p99.99, and the more policies, the fewer percentiles.
/// Those that no policy supports are left out; the text is empty where there is nothing to draw, or
/// no room.
pub fn tail_chart(set: &RunSet, look: &Look) -> String {
    let any_read = set.runs.iter().any(|run| run.read.count > 0);
    let kind = if any_read { "read" } else { "write" };
    let of = |read, write| if any_read { read } else { write };
    let mut shown: Vec<(&str, &LatencySummary)> =
        set.runs.iter().map(|run| (run.policy.as_str(), of(&run.read, &run.write))).collect();
    shown.extend(set.recorded().map(|recorded| (RECORDED, of(&recorded.read, &recorded.write))));
    let most = (LINES / shown.len().max(1)).max(1);
    let values =
        |at: usize| shown.iter().map(|(_, summary)| summary.percentiles.all()[at].us).collect();
    let levels = LEVELS.iter().enumerate().map(|(at, level)| (level.name, values(at)));
    let mut rows: Vec<(&str, Vec<Option<f64>>)> = levels
        .filter(|(_, values): &(_, Vec<Option<f64>>)| values.iter().any(Option::is_some))
        .collect();
    let kept: Vec<&str> = WORTH
        .into_iter()
        .filter(|name| rows.iter().any(|(row, _)| row == name))
        .take(most)
        .collect();
    rows.retain(|(name, _)| kept.contains(name));
    let drawn: Vec<f64> =
        rows.iter().flat_map(|(_, values)| values.iter().flatten().copied()).collect();
    let names = shown.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let beside = LEVEL + names + 2 + 2 + LATENCY;
    let columns = look.width.map_or(BAR, |width| width.saturating_sub(beside).min(BAR));
    if drawn.is_empty() || columns < BAR_LEAST {
        return String::new();
    }
    let axis = Axis::over(&drawn, columns, look.ascii);
    let mut text =
        format!("{kind} latency, logarithmic\n{:1$}{2}\n", "", LEVEL + names + 2, axis.head());
    for (level, values) in rows {
        for (place, ((name, _), value)) in shown.iter().zip(values).enumerate() {
            let level = if place == 0 { level } else { "" };
            let said = value.map_or("-".to_string(), cell::latency);
            text += &format!("{level:<LEVEL$}{name:<names$}  {}  {said}\n", axis.bar(value));
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
        let drawn = tail_chart(&example::three_policies(), &Look::default());
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
        preemptive                    ·                 ·             -
";
        assert_eq!(format!("\n{drawn}"), expected, "\n{drawn}");
    }

    #[test]
    fn nothing_to_draw_is_an_empty_picture() {
        assert_eq!(tail_chart(&RunSet::default(), &Look::default()), "");
    }

    #[test]
    fn a_constant_latency_is_drawn_inside_one_decade() {
        let drawn = tail_chart(&example::constant(), &Look::default());
        let bars: Vec<usize> =
            drawn.lines().skip(2).map(|line| line.matches('█').count()).collect();
        assert_eq!(bars, [7; 4], "\n{drawn}");
        assert!(drawn.contains("100us") && drawn.contains("142.6us"), "\n{drawn}");
    }

    #[test]
    fn the_more_policies_the_fewer_percentiles_and_p99_9_is_always_there() {
        let mut set = example::three_policies();
        let base = set.runs[1].clone();
        for policies in 1..=44 {
            set.runs = vec![base.clone(); policies];
            let drawn = tail_chart(&set, &Look::default());
            assert!(drawn.lines().count() <= 2 + LINES.max(policies), "{policies}\n{drawn}");
            assert!(drawn.lines().any(|line| line.starts_with("p99.9 ")), "{policies}\n{drawn}");
        }
    }

    #[test]
    fn a_narrow_terminal_has_shorter_bars_and_no_line_is_wider() {
        let set = example::three_policies();
        for width in 0..120 {
            let drawn = tail_chart(&set, &Look { width: Some(width), ..Look::default() });
            assert!(drawn.lines().all(|line| line.chars().count() <= width), "{width}\n{drawn}");
            assert!(
                drawn.is_empty() == (width < 8 + 10 + 2 + BAR_LEAST + 2 + 7),
                "{width}\n{drawn}"
            );
        }
    }

    #[test]
    fn without_utf_8_there_is_nothing_but_ascii() {
        let drawn =
            tail_chart(&example::three_policies(), &Look { ascii: true, ..Look::default() });
        assert!(drawn.is_ascii() && drawn.contains("###") && drawn.contains("  .  "), "\n{drawn}");
    }
}
