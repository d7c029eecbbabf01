use super::*;
use manx_core::stats::{Outcome, TraceReport};

fn look(width: Option<usize>) -> Look {
    Look { width, ..Look::default() }
}

#[test]
fn three_policies_have_at_most_nine_columns_and_those_that_say_nothing_leave() {
    let drawn = render(&example::three_policies(), &look(None));
    let expected = "
                          read     read     read     read    p99.9    write  GC-blocked
policy      outcome        p99    p99.9   p99.99  p99.999  vs nogc    p99.9     reads %
---------------------------------------------------------------------------------------
nogc        completed  142.6us  182.6us  218.6us  222.6us    1.00x  520.0us           0
base        completed  30.14ms  48.89ms  50.14ms  50.14ms     268x  30.02ms        2.50
preemptive  partial    1.343ms  2.093ms        -        -    11.5x  2.020ms        2.50
baseline: nogc, a bound that no drive can have: its GC takes no time
the same for all: read p50 142.6us, WAF 2.50
-: too few samples (a percentile needs 10 beyond it)
not shown (--wide): read max, read mean, 95 % CI of p99.9, p99.99 vs nogc, write p99, write max, erases, requests/CPU-s
";
    assert_eq!(format!("\n{drawn}"), expected, "\n{drawn}");
}

#[test]
fn the_wide_table_has_every_column() {
    let drawn = render(&example::three_policies(), &Look { wide: true, ..look(None) });
    let expected = "
                          read     read     read     read        95 % CI of     read     read     read    p99.9   p99.99    write    write    write                GC-blocked  requests
policy      outcome       mean      p50      p99    p99.9             p99.9   p99.99  p99.999      max  vs nogc  vs nogc      p99    p99.9      max   WAF  erases     reads %    /CPU-s
---------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------
nogc        completed  142.7us  142.6us  142.6us  182.6us  180.6us..186.6us  218.6us  222.6us  222.6us    1.00x    1.00x  20.00us  520.0us  1.020ms  2.50     900           0     4.32M
base        completed  783.2us  142.6us  30.14ms  48.89ms  48.89ms..48.89ms  50.14ms  50.14ms  50.14ms     268x     229x  20.00us  30.02ms  60.02ms  2.50     900        2.50     3.48M
preemptive  partial    168.1us  142.6us  1.343ms  2.093ms  2.043ms..2.093ms        -        -  2.143ms    11.5x        -  20.00us  2.020ms  4.020ms  2.50     900        2.50     6.50M
baseline: nogc, a bound that no drive can have: its GC takes no time
-: too few samples (a percentile needs 10 beyond it)
";
    assert_eq!(format!("\n{drawn}"), expected, "\n{drawn}");
}

#[test]
fn a_terminal_of_eighty_columns_shows_what_matters_most() {
    let drawn = render(&example::three_policies(), &look(Some(80)));
    let expected = "
                          read     read     read    p99.9    write  GC-blocked
policy      outcome        p99    p99.9   p99.99  vs nogc    p99.9     reads %
------------------------------------------------------------------------------
nogc        completed  142.6us  182.6us  218.6us    1.00x  520.0us           0
base        completed  30.14ms  48.89ms  50.14ms     268x  30.02ms        2.50
preemptive  partial    1.343ms  2.093ms        -    11.5x  2.020ms        2.50
baseline: nogc, a bound that no drive can have: its GC takes no time
the same for all: read p50 142.6us, WAF 2.50
-: too few samples (a percentile needs 10 beyond it)
not shown (--wide): read p99.999, read max, read mean, 95 % CI of p99.9, p99.99
  vs nogc, write p99, write max, erases, requests/CPU-s
";
    assert_eq!(format!("\n{drawn}"), expected, "\n{drawn}");
}

#[test]
fn no_width_wraps_a_digit_or_loses_the_p99_9() {
    let set = example::three_policies();
    for (width, wide) in (0..200).flat_map(|width| [(width, false), (width, true)]) {
        let drawn = render(&set, &Look { wide, ..look(Some(width)) });
        assert!(
            width < 30 || drawn.lines().all(|line| line.chars().count() <= width),
            "{width}\n{drawn}"
        );
        assert!(
            drawn.lines().any(|row| row.starts_with("base") && row.contains("48.89ms")),
            "{width}\n{drawn}"
        );
        // No space inside a cell.
        let base = drawn.lines().find(|row| row.starts_with("base ")).unwrap();
        assert!(wide || base.split_whitespace().count() <= 9, "{width}\n{drawn}");
    }
}

#[test]
fn a_column_that_is_the_same_for_all_is_said_once_and_the_p99_9_stays() {
    let mut set = example::three_policies();
    let first = set.runs[0].clone();
    for run in &mut set.runs {
        (run.read, run.write, run.outcome) =
            (first.read.clone(), first.write.clone(), Outcome::Completed);
    }
    let drawn = render(&set, &look(None));
    assert!(drawn.contains("base        182.6us"), "\n{drawn}");
    assert!(drawn.contains("the same for all: read mean 142.7us, read p50 142.6us"), "\n{drawn}");
    assert!(drawn.contains("p99.9 vs nogc 1.00x"), "\n{drawn}");
}

#[test]
fn the_best_and_the_worst_that_a_drive_can_have_are_painted_and_only_where_there_is_colour() {
    let set = example::three_policies();
    let (plain, painted) =
        (render(&set, &look(None)), render(&set, &Look { colour: true, ..look(None) }));
    assert!(!plain.contains('\x1b'), "\n{plain}");
    // Of base and preemptive: `nogc` is a bound, and neither best nor worst.
    assert!(
        painted.contains("\x1b[31m48.89ms\x1b[0m") && painted.contains("\x1b[32m2.093ms\x1b[0m"),
        "\n{painted}"
    );
    assert!(
        painted.contains("\x1b[2mnogc\x1b[0m") && painted.contains("\x1b[2m182.6us\x1b[0m"),
        "\n{painted}"
    );
    let bare = ["\x1b[31m", "\x1b[32m", "\x1b[2m", "\x1b[0m"]
        .iter()
        .fold(painted, |text, code| text.replace(code, ""));
    assert_eq!(bare, plain, "colour moves nothing");
    // One policy is neither.
    let alone = render(&example::constant(), &Look { colour: true, ..look(None) });
    assert!(!alone.contains('\x1b'), "\n{alone}");
}

#[test]
fn a_bound_is_told_wherever_it_stands() {
    let mut set = example::three_policies();
    set.runs.rotate_left(1);
    let drawn = render(&set, &look(None));
    assert!(drawn.contains("baseline: base\n") && drawn.contains("vs base"), "\n{drawn}");
    assert!(drawn.contains("nogc: a bound that no drive can have"), "\n{drawn}");
    set.runs[0].policy = "base/t-es(16ms)+rain".to_string();
    assert!(render(&set, &look(None)).contains("vs first"));
}

#[test]
fn a_set_that_only_reads_has_no_columns_about_writes_and_one_row_no_ratios() {
    let drawn = render(&example::constant(), &look(None));
    assert!(
        !drawn.contains("write") && !drawn.contains("WAF") && !drawn.contains("baseline"),
        "\n{drawn}"
    );
    assert!(drawn.contains("142.6us"), "\n{drawn}");
    assert_eq!(render(&RunSet::default(), &look(None)), "no runs\n");
}

#[test]
fn a_set_that_only_writes_is_told_by_its_writes() {
    let mut set = example::three_policies();
    set.runs.iter_mut().for_each(|run| run.read = Default::default());
    let drawn = render(&set, &look(None));
    assert!(
        drawn.contains("write") && drawn.contains("p99.99") && !drawn.contains("read"),
        "\n{drawn}"
    );
    assert!(drawn.contains("vs nogc"), "\n{drawn}");
}

#[test]
fn what_the_trace_recorded_stands_below_the_policies_in_table_picture_and_document() {
    let mut set = example::three_policies();
    let mut read = set.runs[0].read.clone();
    (read.p99_9_us, read.percentiles.p99_9.us) = (Some(5_000.0), Some(5_000.0));
    let recorded = RecordedReport {
        span: "from issue to completion (D2C)".into(),
        read,
        ..Default::default()
    };
    for run in &mut set.runs {
        run.trace = Some(TraceReport { recorded: Some(recorded.clone()), ..Default::default() });
    }
    let drawn = render(&set, &Look { wide: true, ..look(None) });
    let rows: Vec<Vec<&str>> =
        drawn.lines().skip(3).map(|row| row.split_whitespace().collect()).collect();
    assert_eq!(
        rows[3][..6],
        ["recorded", "142.7us", "142.6us", "142.6us", "5.000ms", "218.6us"],
        "\n{drawn}"
    );
    // A ratio to the first policy; no write, no WAF.
    assert!(rows[3].contains(&"27.4x") && !rows[3].contains(&"2.50"), "\n{drawn}");
    assert!(drawn.contains("taken on, from issue to completion (D2C)"), "\n{drawn}");
    // Four rows leave room for four percentiles.
    assert_eq!(
        tail_chart(&set, &look(None)).lines().filter(|line| line.contains("recorded")).count(),
        4
    );
    assert!(render(&set, &look(None)).contains("\nrecorded "), "in the narrow table too");
    // Runs that replayed something else have no such row in common.
    set.runs[1].trace = None;
    assert!(!render(&set, &look(None)).contains("recorded"));
}
