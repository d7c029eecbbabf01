//! The page as text: what is in it, what is escaped, how large it is.

use manx_core::stats::{
    Attribution, MachineReport, OpStats, OverTime, RunResult, RunSet, RunTotals, SlowRequest,
    SplitStats, TraceReport,
};
use manx_core::units::{Cause, Duration, Split};
use manx_report::page::Page;

const EVIL: &str = "</script><script>alert(1)</script>&\"'";

/// Reads of 100 us, of which every hundredth waits `wait_us` for an erase.
fn run(policy: &str, scenario: &str, wait_us: u64) -> RunResult {
    let (mut read, mut split, mut over) =
        (OpStats::default(), SplitStats::default(), OverTime::default());
    for number in 0..20_000u64 {
        let wait = if number % 100 == 0 { wait_us } else { 0 };
        let latency = Duration::from_us(100 + wait);
        let mut parts = Split::NONE;
        parts.add(Cause::Service, Duration::from_us(100));
        parts.add(Cause::Erase, Duration::from_us(wait));
        read.record(latency, 4096);
        split.record(latency, &parts);
        over.record(manx_core::stats::Kind::Read, Duration::from_ms(number), latency);
    }
    let slowest = vec![SlowRequest {
        op: "read".into(),
        lpn: 77_001,
        latency_us: 5100.0,
        ..Default::default()
    }];
    RunTotals {
        scenario: scenario.into(),
        policy: policy.into(),
        span: Duration::from_s(20),
        read,
        over_time: over,
        attribution: Some(Attribution { read: split, slowest, ..Default::default() }),
        warnings: vec![format!("beware {EVIL}")],
        trace: Some(TraceReport {
            counts: [(EVIL.to_string(), 3)].into(),
            text: EVIL.into(),
            recorded: None,
        }),
        ..Default::default()
    }
    .into_result()
}

fn page(set: &RunSet) -> String {
    let scenarios: Vec<_> =
        set.runs.iter().map(|run| (run.policy.clone(), format!("name = '{EVIL}'"))).collect();
    let (command, drives) = (format!("manx compare '{EVIL}'"), [EVIL.to_string()]);
    Page {
        title: "",
        set,
        command: &command,
        drives: &drives,
        workload: EVIL,
        scenarios: &scenarios,
        claims: &[],
    }
    .html()
}

fn four() -> RunSet {
    RunSet {
        runs: ["nogc", "base", "a", EVIL]
            .into_iter()
            .zip(1..)
            .map(|(p, n)| run(p, EVIL, n * 1000))
            .collect(),
    }
}

#[test]
fn nothing_that_a_user_named_becomes_markup() {
    let html = page(&four());
    assert!(!html.contains("<script>alert"), "a name became a script");
    assert!(html.contains("&lt;/script&gt;&lt;script&gt;alert(1)"));
    // Data, the small script, the library, the page's own: each begins and ends once.
    assert_eq!((html.matches("<script").count(), html.matches("</script>").count()), (3, 3));
    let data = html.split_once("id=\"data\">").unwrap().1.split_once("</script>").unwrap().0;
    let data: serde_json::Value = serde_json::from_str(data).unwrap();
    assert_eq!(data["policies"][3]["name"], EVIL);
}

#[test]
fn the_page_asks_for_nothing_and_is_small() {
    let html = page(&four());
    let outside =
        ["src=\"", "@import", "url(http", "<link rel=\"stylesheet", "fetch(", "XMLHttpRequest"];
    outside.iter().for_each(|ask| assert!(!html.contains(ask), "{ask}"));
    assert!(html.len() < 300_000, "{} bytes", html.len());
}

#[test]
fn curves_and_tables_hold_the_percentiles() {
    let set = RunSet { runs: vec![run("nogc", "s", 0), run("base", "s", 5000)] };
    let html = page(&set);
    let data = html.split_once("id=\"data\">").unwrap().1.split_once("</script>").unwrap().0;
    let data: serde_json::Value = serde_json::from_str(data).unwrap();
    let cdf = &data["policies"][1]["read"]["cdf"];
    let at = cdf["beyond"].as_array().unwrap().iter().position(|beyond| beyond == 0.001).unwrap();
    // One in a hundred takes 5.1 ms, so p99.9 is that.
    assert!((cdf["us"][at].as_f64().unwrap() / 5100.0 - 1.0).abs() < 0.01);
    assert!(html.contains("<td class=\"key\">5.100ms</td>"), "p99.9 of base");
    assert!(html.contains(">51.0x</td>"), "5100 us to 100 us");
    // Beyond p99.9: 20 requests, 5000 of 5100 us behind an erase.
    assert!(html.contains("title=\"erase 5.000ms (98.0\u{a0}%)\""));
    assert!(html.contains("77001"), "the slowest request");
}

#[test]
fn only_the_end_of_the_page_depends_on_the_machine() {
    let (mut one, mut two) = (four(), four());
    one.runs.iter_mut().for_each(|run| run.machine = MachineReport::timed(1.0, 2.0, 3));
    two.runs.iter_mut().for_each(|run| run.machine = MachineReport::timed(9.0, 8.0, 7));
    let (one, two) = (page(&one), page(&two));
    assert_ne!(one, two);
    let before = |page: &str| page.split_once("<section id=\"machine\"").unwrap().0.to_string();
    assert!(before(&one) == before(&two));
    let rest = one.split_once("<section id=\"machine\"").unwrap().1;
    assert_eq!(rest.matches("<section").count(), 0, "machine is the last section");
}

#[test]
fn a_set_of_nothing_is_a_page_too() {
    let empty = RunSet { runs: vec![RunTotals::default().into_result()] };
    assert!(page(&empty).contains("there is nothing to draw"));
    assert!(page(&RunSet::default()).ends_with("</html>\n"));
}

#[test]
fn the_first_sentence_says_what_came_out_and_of_what_drive_and_load() {
    let set = RunSet {
        runs: vec![run("nogc", "s", 0), run("base", "s", 5000), run("preemptive", "s", 900)],
    };
    let html = page(&set);
    let headline = html.split_once("class=\"headline\">").unwrap().1.split_once("</p>").unwrap().0;
    // 100 us and the wait, 5.1 times as long; `nogc` is a bound.
    let pieces = [
        "<b>1.000ms</b> with <code>preemptive</code>",
        "<b>5.100ms</b>, 5.10 times as long, with <code>base</code>",
        "<code>nogc</code>, a bound that no drive can have, it is 100.0us",
        "Of the slowest reads under <code>base</code>, 98.0&nbsp;% of the time is erase.",
    ];
    pieces
        .iter()
        .for_each(|piece| assert!(headline.contains(piece), "`{piece}` is not in {headline}"));
    assert!(html.contains("<dt>Drive</dt>") && html.contains("<dt>Workload</dt>"));
    assert!(html.contains("<th scope=\"col\">p99.9 vs nogc</th>"));
}

#[test]
fn what_is_the_same_everywhere_is_folded_away() {
    let mut set = RunSet { runs: vec![run("nogc", "s", 0), run("base", "s", 5000)] };
    let constant = run("constant", "s", 0).read;
    set.runs.iter_mut().for_each(|run| run.write = constant.clone());
    let html = page(&set);
    assert!(html.contains(
        "<details><summary>Writes: 100.0us at every percentile, under every policy</summary>"
    ));
    assert!(
        html.contains("data-op=\"read\"") && !html.contains("data-op=\"write\""),
        "no chart of a constant"
    );
}
