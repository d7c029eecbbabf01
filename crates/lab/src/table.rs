//! A comparison for the terminal: one row a policy, and the tail as a picture.
//!
//! Plain text without colours or frames, no space inside a cell: it reads the same in a terminal, in a pipe and in a
//! commit message. On a narrow terminal the least important columns are left out and named below the table; digits are
//! never wrapped.

pub(crate) mod cell;
mod chart;
#[cfg(test)]
pub(crate) mod example;

pub use cell::three_digits;
pub use chart::tail_chart;

use comfy_table::{CellAlignment, LineStyle, Table, TableStyle};
use manx_core::stats::{BEYOND_MIN, LatencySummary, Outcome, RecordedReport, RunResult, RunSet};

/// The warnings, each once, headed by the policies that it is about where it is not about all.
pub fn warnings(runs: &[RunResult]) -> Vec<String> {
    let mut all: Vec<(&str, Vec<&str>)> = Vec::new();
    for run in runs {
        for warning in &run.warnings {
            match all.iter_mut().find(|(text, _)| text == warning) {
                Some((_, policies)) => policies.push(&run.policy),
                None => all.push((warning, vec![&run.policy])),
            }
        }
    }
    let headed = |(warning, policies): (&str, Vec<&str>)| {
        if policies.len() == runs.len() { warning.to_string() } else { format!("{}: {warning}", policies.join(", ")) }
    };
    all.into_iter().map(headed).collect()
}

/// How the latencies that a trace recorded are named beside the policies.
pub const RECORDED: &str = "recorded";

/// Why a cell has no value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Missing {
    TooFewSamples,
    NoRequests,
    NotMeasured,
}

type Value = Result<String, Missing>;

/// One column: what stands above it, when it is left out, how a run fills it.
struct Column {
    /// Two lines.
    head: &'static str,
    /// Columns with a higher number leave first where the terminal is narrow; 0 never leaves.
    expendable: u8,
    /// False where the column would say nothing about this set.
    applies: fn(&RunSet) -> bool,
    /// The cell of a run; the second argument is the first run of the set.
    value: fn(&RunResult, &RunResult) -> Value,
}

const COLUMNS: [Column; 18] = [
    Column { head: "\npolicy", expendable: 0, applies: |_| true, value: |run, _| Ok(run.policy.clone()) },
    Column { head: "\noutcome", expendable: 10, applies: |_| true, value: |run, _| Ok(outcome(run).to_string()) },
    Column { head: "read\nmean", expendable: 11, applies: any_read, value: |run, _| time(&run.read, run.read.mean_us) },
    Column { head: "read\np50", expendable: 14, applies: any_read, value: |run, _| time(&run.read, run.read.p50_us) },
    Column { head: "read\np99", expendable: 3, applies: any_read, value: |run, _| time(&run.read, run.read.p99_us) },
    Column {
        head: "read\np99.9",
        expendable: 0,
        applies: any_read,
        value: |run, _| time(&run.read, run.read.p99_9_us),
    },
    Column {
        head: "read\np99.99",
        expendable: 1,
        applies: any_read,
        value: |run, _| time(&run.read, run.read.p99_99_us),
    },
    Column {
        head: "read\np99.999",
        expendable: 4,
        applies: |set| set.runs.iter().any(|run| run.read.p99_999_us.is_some()),
        value: |run, _| time(&run.read, run.read.p99_999_us),
    },
    Column { head: "read\nmax", expendable: 6, applies: any_read, value: |run, _| time(&run.read, run.read.max_us) },
    Column {
        head: "p99.9\nratio",
        expendable: 2,
        applies: reads_compared,
        value: |run, first| ratio(&run.read, run.read.p99_9_us, &first.read, first.read.p99_9_us),
    },
    Column {
        head: "p99.99\nratio",
        expendable: 5,
        applies: reads_compared,
        value: |run, first| ratio(&run.read, run.read.p99_99_us, &first.read, first.read.p99_99_us),
    },
    Column {
        head: "write\np99",
        expendable: 13,
        applies: any_write,
        value: |run, _| time(&run.write, run.write.p99_us),
    },
    Column {
        head: "write\np99.9",
        expendable: 8,
        applies: any_write,
        value: |run, _| time(&run.write, run.write.p99_9_us),
    },
    Column {
        head: "\nWAF",
        expendable: 7,
        applies: any_write,
        value: |run, _| run.flash.waf.map(cell::three_digits).ok_or(Missing::NoRequests),
    },
    Column {
        head: "ramps\n/erase",
        expendable: 16,
        applies: |set| set.runs.iter().any(|run| run.stress.is_some_and(|stress| stress.extra_ramps > 0)),
        value: |run, _| extra_ramps(run),
    },
    Column { head: "\nerases", expendable: 15, applies: |_| true, value: |run, _| Ok(run.flash.erases.to_string()) },
    Column {
        head: "blocked\nreads%",
        expendable: 9,
        applies: any_read,
        value: |run, _| run.gc.blocked_reads_percent.map(cell::three_digits).ok_or(Missing::NoRequests),
    },
    Column {
        head: "requests\n/CPU-s",
        expendable: 12,
        applies: |_| true,
        value: |run, _| run.machine.requests_per_cpu_s.map(cell::rate).ok_or(Missing::NotMeasured),
    },
];

fn any_read(set: &RunSet) -> bool {
    set.runs.iter().any(|run| run.read.count > 0)
}

fn any_write(set: &RunSet) -> bool {
    set.runs.iter().any(|run| run.write.count > 0)
}

fn reads_compared(set: &RunSet) -> bool {
    set.runs.len() > 1 && any_read(set)
}

fn outcome(run: &RunResult) -> &'static str {
    match run.outcome {
        Outcome::Completed => "completed",
        Outcome::Starved => "starved",
        Outcome::Stuck => "stuck",
        Outcome::Partial => "partial",
    }
}

/// Voltage ramps that suspensions cost: none where no erase can be suspended, unknown where none came to its end.
fn extra_ramps(run: &RunResult) -> Value {
    let mean = run.stress.map_or(Some(0.0), |stress| stress.extra_ramps_per_erase_mean);
    mean.map(cell::three_digits).ok_or(Missing::NotMeasured)
}

fn known(of: &LatencySummary, us: Option<f64>) -> Result<f64, Missing> {
    us.ok_or(if of.count == 0 { Missing::NoRequests } else { Missing::TooFewSamples })
}

fn time(of: &LatencySummary, us: Option<f64>) -> Value {
    known(of, us).map(cell::latency)
}

fn ratio(of: &LatencySummary, us: Option<f64>, first: &LatencySummary, first_us: Option<f64>) -> Value {
    match (known(of, us)?, known(first, first_us)?) {
        (_, 0.0) => Err(Missing::NotMeasured),
        (us, first_us) => Ok(cell::three_digits(us / first_us)),
    }
}

/// The table of a comparison, for a terminal of `width` columns; with `None` (a pipe) every column is shown.
pub fn render(set: &RunSet, width: Option<usize>) -> String {
    let Some(first) = set.runs.first() else {
        return "no runs\n".to_string();
    };
    let mut shown: Vec<&Column> = COLUMNS.iter().filter(|column| (column.applies)(set)).collect();
    let mut left_out = Vec::new();
    loop {
        let table = draw(set, first, &shown);
        let widest = table.lines().map(|line| line.chars().count()).max().unwrap_or(0);
        let fits = width.is_none_or(|width| widest <= width);
        let next = shown.iter().enumerate().max_by_key(|(_, column)| column.expendable);
        match next {
            Some((at, column)) if !fits && column.expendable > 0 => {
                left_out.push(column.head.trim().replace("\n/", "/").replace('\n', " "));
                shown.remove(at);
            }
            _ => return table + &footnotes(set, first, &shown, &left_out),
        }
    }
}

fn draw(set: &RunSet, first: &RunResult, shown: &[&Column]) -> String {
    let mut table = Table::new();
    table.load_style(TableStyle::new().header_separator(LineStyle::none().fill('-').junction('-')));
    table.set_header(shown.iter().map(|column| column.head));
    for run in &set.runs {
        table.add_row(shown.iter().map(|column| (column.value)(run, first).unwrap_or_else(|_| "-".to_string())));
    }
    if let Some(recorded) = set.recorded() {
        table.add_row(recorded_row(recorded, first, shown));
    }
    for (column, place) in shown.iter().zip(table.column_iter_mut()) {
        let text = column.head == "\npolicy" || column.head == "\noutcome";
        place.set_cell_alignment(if text { CellAlignment::Left } else { CellAlignment::Right });
        place.set_padding(if column.head == "\npolicy" { (0, 0) } else { (1, 0) });
    }
    table.trim_fmt() + "\n"
}

/// The latencies that the trace recorded, in the columns about latencies; nothing else is known of that device.
fn recorded_row(recorded: &RecordedReport, first: &RunResult, shown: &[&Column]) -> Vec<String> {
    let run = RunResult {
        policy: RECORDED.to_string(),
        read: recorded.read.clone(),
        write: recorded.write.clone(),
        ..RunResult::default()
    };
    let is_known = |head: &str| ["\npolicy", "read\n", "write\n"].iter().any(|of| head.starts_with(of));
    let cell = |column: &&Column| match is_known(column.head) || column.head.ends_with("ratio") {
        true => (column.value)(&run, first).unwrap_or_else(|_| "-".to_string()),
        false => String::new(),
    };
    shown.iter().map(cell).collect()
}

/// What the table cannot say by itself: what a ratio is to, why a cell is `-`, which columns did not fit.
fn footnotes(set: &RunSet, first: &RunResult, shown: &[&Column], left_out: &[String]) -> String {
    let missing: Vec<Missing> =
        set.runs.iter().flat_map(|run| shown.iter().filter_map(|column| (column.value)(run, first).err())).collect();
    let mut notes = Vec::new();
    if shown.iter().any(|column| column.head.ends_with("ratio")) {
        notes.push(format!("ratio: of read latency, to {}", first.policy));
    }
    if let Some(recorded) = set.recorded() {
        notes.push(format!("{RECORDED}: what the trace says of the device it was taken on, {}", recorded.span));
    }
    if missing.contains(&Missing::TooFewSamples) {
        notes.push(format!("-: too few samples (a percentile needs {BEYOND_MIN} beyond it)"));
    }
    if missing.contains(&Missing::NoRequests) {
        notes.push("-: no such request".to_string());
    }
    if missing.contains(&Missing::NotMeasured) {
        notes.push("-: not measured, or over zero".to_string());
    }
    if !left_out.is_empty() {
        notes.push(format!("not shown at this width: {}", left_out.join(", ")));
    }
    notes.into_iter().map(|note| note + "\n").collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use manx_core::stats::TraceReport;

    #[test]
    fn three_policies_in_a_pipe_show_every_column() {
        let drawn = render(&example::three_policies(), None);
        let expected = "
                          read     read     read     read     read     read     read  p99.9  p99.99    write    write                blocked  requests
policy      outcome       mean      p50      p99    p99.9   p99.99  p99.999      max  ratio   ratio      p99    p99.9   WAF  erases   reads%    /CPU-s
------------------------------------------------------------------------------------------------------------------------------------------------------
nogc        completed  142.7us  142.6us  142.6us  182.6us  218.6us  222.6us  222.6us   1.00    1.00  20.00us  520.0us  2.50     900        0     4.32M
base        completed  783.2us  142.6us  30.14ms  48.89ms  50.14ms  50.14ms  50.14ms    268     229  20.00us  30.02ms  2.50     900     2.50     3.48M
preemptive  partial    168.1us  142.6us  1.343ms  2.093ms        -        -  2.143ms   11.5       -  20.00us  2.020ms  2.50     900     2.50     6.50M
ratio: of read latency, to nogc
-: too few samples (a percentile needs 10 beyond it)
";
        assert_eq!(format!("\n{drawn}"), expected, "\n{drawn}");
    }

    #[test]
    fn what_the_trace_recorded_stands_below_the_policies_in_table_picture_and_document() {
        let mut set = example::three_policies();
        let mut read = set.runs[0].read.clone();
        (read.p99_9_us, read.percentiles.p99_9.us) = (Some(5_000.0), Some(5_000.0));
        let recorded = RecordedReport { span: "from issue to completion (D2C)".into(), read, ..Default::default() };
        for run in &mut set.runs {
            run.trace = Some(TraceReport { recorded: Some(recorded.clone()), ..Default::default() });
        }
        let drawn = render(&set, None);
        let rows: Vec<Vec<&str>> = drawn.lines().skip(3).map(|row| row.split_whitespace().collect()).collect();
        assert_eq!(rows[3][..6], ["recorded", "142.7us", "142.6us", "142.6us", "5.000ms", "218.6us"], "\n{drawn}");
        // A ratio to the first policy; no write, no WAF.
        assert!(rows[3].contains(&"27.4") && !rows[3].contains(&"2.50"), "\n{drawn}");
        assert!(drawn.contains("taken on, from issue to completion (D2C)"), "\n{drawn}");
        assert_eq!(tail_chart(&set).lines().filter(|line| line.contains("recorded")).count(), 5);
        // Runs that replayed something else have no such row in common.
        set.runs[1].trace = None;
        assert!(!render(&set, None).contains("recorded"));
    }

    #[test]
    fn a_terminal_of_eighty_columns_shows_what_matters_most() {
        let drawn = render(&example::three_policies(), Some(80));
        let expected = "
               read     read     read     read     read  p99.9  p99.99
policy          p99    p99.9   p99.99  p99.999      max  ratio   ratio   WAF
----------------------------------------------------------------------------
nogc        142.6us  182.6us  218.6us  222.6us  222.6us   1.00    1.00  2.50
base        30.14ms  48.89ms  50.14ms  50.14ms  50.14ms    268     229  2.50
preemptive  1.343ms  2.093ms        -        -  2.143ms   11.5       -  2.50
ratio: of read latency, to nogc
-: too few samples (a percentile needs 10 beyond it)
not shown at this width: erases, read p50, write p99, requests/CPU-s, read mean, outcome, blocked reads%, write p99.9
";
        assert_eq!(format!("\n{drawn}"), expected, "\n{drawn}");
    }

    #[test]
    fn no_width_wraps_a_digit_or_loses_the_p99_9() {
        let set = example::three_policies();
        for width in 0..200 {
            let drawn = render(&set, Some(width));
            let rows: Vec<&str> = drawn.lines().take(3 + set.runs.len()).collect();
            assert!(width < 25 || rows.iter().all(|row| row.len() <= width), "{width}\n{drawn}");
            assert!(rows[4].starts_with("base") && rows[4].contains("48.89ms"), "{width}\n{drawn}");
        }
    }

    #[test]
    fn a_set_that_only_reads_has_no_columns_about_writes_and_one_row_no_ratios() {
        let drawn = render(&example::constant(), None);
        assert!(!drawn.contains("write") && !drawn.contains("WAF") && !drawn.contains("ratio"), "\n{drawn}");
        assert!(drawn.contains("142.6us") && drawn.contains("not measured"), "\n{drawn}");
        assert_eq!(render(&RunSet::default(), None), "no runs\n");
    }
}
