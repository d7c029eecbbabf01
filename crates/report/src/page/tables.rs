//! The tables of the page.

use super::escape;
use crate::number::{bytes, count, latency, rate, three_digits};
use manx_core::stats::{LatencySummary, Outcome, RunResult, RunSet};
use manx_lab::state;
use manx_lab::table::RECORDED;
use std::fmt::Write;

/// Cell of a number that does not exist.
const NONE: &str = "<td class=\"none\"><span title=\"no such number\">–</span></td>";
const TOO_FEW: &str =
    "<td class=\"none\"><span title=\"fewer than 10 samples lie beyond it\">–</span></td>";

/// One kind of request of a run.
pub(super) type Of = fn(&RunResult) -> &LatencySummary;

/// A table that scrolls by itself where it is too wide for a phone; `rows` are whole `<tr>`s.
pub(super) fn table(caption: &str, heads: &[&str], rows: &str) -> String {
    let heads: String = heads.iter().map(|head| format!("<th scope=\"col\">{head}</th>")).collect();
    let label = escape(caption);
    format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{label}\"><table>\
         <caption>{label}</caption><thead><tr>{heads}</tr></thead>\n\
         <tbody>{rows}</tbody></table></div>\n"
    )
}

/// Percentiles of reads and writes.
pub(super) fn headline(set: &RunSet) -> String {
    let mut html =
        "<section aria-labelledby=\"h-latency\">\n<h2 id=\"h-latency\">Latency</h2>\n".to_string();
    let recorded = set.recorded();
    html +=
        &headline_of("Reads", &set.runs, |run| &run.read, recorded.map(|recorded| &recorded.read));
    html += &headline_of(
        "Writes",
        &set.runs,
        |run| &run.write,
        recorded.map(|recorded| &recorded.write),
    );
    if let Some(recorded) = recorded {
        let span = escape(&recorded.span);
        let _ = writeln!(
            html,
            "<p class=\"note\">{RECORDED}: what the trace says of the device it \
             was taken on, {span}</p>"
        );
    }
    html + "</section>\n"
}

fn headline_of(
    name: &str,
    runs: &[RunResult],
    of: Of,
    recorded: Option<&LatencySummary>,
) -> String {
    if runs.iter().all(|run| of(run).count == 0) {
        return format!("<p class=\"note\">{name}: none.</p>\n");
    }
    let deep = runs.iter().any(|run| of(run).p99_999_us.is_some());
    let recorded = recorded.filter(|recorded| recorded.count > 0);
    let is_compared = runs.len() > 1 || recorded.is_some();
    let mut heads = vec!["policy", "p50", "p90", "p99", "p99.9", "p99.99"];
    heads.extend(deep.then_some("p99.999"));
    let vs = format!("p99.9 vs {}", escape(&runs[0].policy));
    heads.extend(["max", "mean"]);
    heads.extend(is_compared.then_some(vs.as_str()));
    heads.extend(["IOPS", "requests"]);
    let first = runs.first().and_then(|run| of(run).p99_9_us);
    let mut rows = String::new();
    let named = runs.iter().enumerate().map(|(number, run)| (policy_cell(number, run), of(run)));
    let beside = recorded.map(|recorded| {
        (format!("<th scope=\"row\">{}{RECORDED}</th>", super::swatch(runs.len())), recorded)
    });
    for (head, of) in named.chain(beside) {
        let _ = write!(rows, "\n<tr>{head}");
        let mut levels = vec![of.p50_us, of.p90_us, of.p99_us, of.p99_9_us, of.p99_99_us];
        levels.extend(deep.then_some(of.p99_999_us));
        for (place, level) in levels.into_iter().enumerate() {
            let class = if place == 3 { "key" } else { "" };
            rows += &cell(level.map(latency), class, TOO_FEW);
        }
        rows += &cell(of.max_us.map(latency), "", NONE);
        rows += &cell(of.mean_us.map(latency), "", NONE);
        let ratio = of
            .p99_9_us
            .zip(first)
            .filter(|(_, first)| *first > 0.0)
            .map(|(own, first)| own / first);
        if is_compared {
            rows += &cell(ratio.map(|ratio| three_digits(ratio) + "x"), "", NONE);
        }
        rows += &cell(Some(rate(of.iops)), "", NONE);
        rows += &cell(Some(count(of.count)), "", NONE);
        rows += "</tr>";
    }
    let table = table(name, &heads, &rows);
    match flat(runs, of).filter(|_| recorded.is_none()) {
        Some(us) => {
            let said = format!("{name}: {} at every percentile, under every policy", latency(us));
            format!("<details><summary>{said}</summary>{table}</details>\n")
        }
        None => table,
    }
}

/// The latency that all requests of all runs have, to the digits that are shown: nothing to look
/// at.
pub(super) fn flat(runs: &[RunResult], of: Of) -> Option<f64> {
    let first = of(runs.first()?).mean_us?;
    let is_first = |us: Option<f64>| us.is_none_or(|us| latency(us) == latency(first));
    let all = |of: &LatencySummary| {
        is_first(of.mean_us)
            && is_first(of.max_us)
            && of.percentiles.all().iter().all(|level| is_first(level.us))
    };
    runs.iter().all(|run| all(of(run))).then_some(first)
}

fn policy_cell(number: usize, run: &RunResult) -> String {
    let outcome = match run.outcome {
        Outcome::Completed => "",
        Outcome::Starved => " <em>starved</em>",
        Outcome::Stuck => " <em>stuck</em>",
        Outcome::Partial => " <em>partial</em>",
    };
    // The path that the name stands for, where it says more than the name.
    let path = Some(&run.path).filter(|path| !path.is_empty() && **path != run.policy);
    let path = path.map_or(String::new(), |path| format!("<br><small>{}</small>", escape(path)));
    format!(
        "<th scope=\"row\">{}{}{outcome}{path}</th>",
        super::swatch(number),
        escape(&run.policy)
    )
}

pub(super) fn cell(value: Option<String>, class: &str, missing: &str) -> String {
    match value {
        Some(text) if class.is_empty() => format!("<td>{text}</td>"),
        Some(text) => format!("<td class=\"{class}\">{text}</td>"),
        None => missing.to_string(),
    }
}

/// Table of flash operations and GC.
pub(super) fn flash(runs: &[RunResult]) -> String {
    let heads = [
        "policy",
        "WAF",
        "erases",
        "GC runs",
        "forced",
        "pages copied",
        "reads blocked by GC",
        "pages programmed",
        "padded",
        "suspensions",
        "wear min–max",
    ];
    let mut rows = String::new();
    for (number, run) in runs.iter().enumerate() {
        let (gc, flash) = (&run.gc, &run.flash);
        let _ = write!(rows, "\n<tr>{}", policy_cell(number, run));
        rows += &cell(flash.waf.map(three_digits), "key", NONE);
        for number_of in [flash.erases, gc.runs, gc.forced, gc.pages_copied] {
            rows += &cell(Some(count(number_of)), "", NONE);
        }
        rows += &cell(
            gc.blocked_reads_percent.map(|share| format!("{}&nbsp;%", three_digits(share))),
            "key",
            NONE,
        );
        for number_of in [flash.pages_programmed, flash.pages_padded, flash.suspensions] {
            rows += &cell(Some(count(number_of)), "", NONE);
        }
        let wear = &flash.wear;
        rows +=
            &cell(Some(format!("{}–{}", count(wear.erases_min), count(wear.erases_max))), "", NONE);
        rows += "</tr>";
    }
    let mut html = "<section aria-labelledby=\"h-flash\">\n\
                    <h2 id=\"h-flash\">Flash and garbage collection</h2>\n"
        .to_string();
    html += &table("What was done to the flash", &heads, &rows);
    html + "</section>\n"
}

/// Whether anything was collected at all, from which state the drives began, whether they were
/// steady.
pub(super) fn state(set: &RunSet) -> String {
    let mut html = String::new();
    if let Some(line) = state::first_line(set) {
        let _ = writeln!(html, "<p class=\"facts\"><strong>{}</strong></p>", escape(&line));
    }
    for line in state::lines(set, false) {
        let _ = writeln!(html, "<p class=\"facts\">{}</p>", escape(&line));
    }
    for line in set.runs.iter().filter_map(manx_lab::pts::line) {
        let _ = writeln!(html, "<p class=\"facts\">{}</p>", escape(&line));
    }
    html
}

/// The warnings.
pub(super) fn warnings(runs: &[RunResult]) -> String {
    let items: String = manx_lab::table::warnings(runs)
        .iter()
        .map(|warning| format!("<li>{}</li>", escape(warning)))
        .collect();
    if items.is_empty() {
        return items;
    }
    format!("<aside class=\"warnings\" aria-label=\"Warnings\"><ul>{items}</ul></aside>\n")
}

/// Table of the traces read, each text once.
pub(super) fn traces(runs: &[RunResult]) -> String {
    let mut said: Vec<&str> = Vec::new();
    let mut html = String::new();
    for trace in runs.iter().filter_map(|run| run.trace.as_ref()) {
        if said.contains(&trace.text.as_str()) {
            continue;
        }
        said.push(&trace.text);
        let _ = writeln!(html, "<pre tabindex=\"0\"><code>{}</code></pre>", escape(&trace.text));
        let rows: String = trace
            .counts
            .iter()
            .map(|(name, records)| {
                format!(
                    "\n<tr><th scope=\"row\">{}</th><td>{}</td></tr>",
                    escape(name),
                    count(*records)
                )
            })
            .collect();
        html += &table("Records of the trace", &["what", "records"], &rows);
    }
    if html.is_empty() {
        return html;
    }
    format!(
        "<section aria-labelledby=\"h-trace\">\n<h2 id=\"h-trace\">Trace</h2>\n{html}</section>\n"
    )
}

/// Verdict of the Aerospike Certification Tool on each run that played its load.
pub(super) fn acts(runs: &[RunResult]) -> String {
    let mut rows = String::new();
    for (number, run) in runs.iter().enumerate() {
        let Some(act) = &run.act else { continue };
        let _ = write!(
            rows,
            "\n<tr>{}<td>{}</td>",
            policy_cell(number, run),
            three_digits(act.multiplier)
        );
        for verdict in [act.rules.act, act.rules.paper, act.rules.paper_stress] {
            let _ = write!(rows, "<td>{}</td>", escape(verdict.name()));
        }
        let why: Vec<String> = act.why.iter().map(|why| escape(why)).collect();
        let _ = write!(
            rows,
            "<td>{}</td><td class=\"text\">{}</td></tr>",
            act.slices.len(),
            why.join("<br>")
        );
    }
    if rows.is_empty() {
        return rows;
    }
    let heads = ["policy", "load ×", "act 6.6", "paper", "paper, stress", "slices", "why"];
    let table = table("Verdicts of the Aerospike Certification Tool", &heads, &rows);
    format!(
        "<section aria-labelledby=\"h-act\">\n\
         <h2 id=\"h-act\">Aerospike Certification Tool</h2>\n{table}</section>\n"
    )
}

/// Numbers that depend on the machine: the last section.
pub(super) fn machine(runs: &[RunResult]) -> String {
    let heads = [
        "policy",
        "CPU, run",
        "CPU, preconditioning",
        "requests per CPU second",
        "flash operations per CPU second",
        "peak memory",
    ];
    let seconds = |s: f64| latency(s * 1e6);
    let mut rows = String::new();
    for (number, run) in runs.iter().enumerate() {
        let machine = &run.machine;
        let _ = write!(rows, "\n<tr>{}", policy_cell(number, run));
        rows += &cell(machine.cpu_s.map(seconds), "", NONE);
        let cached = if machine.precondition_from_cache { " (cache)" } else { "" };
        rows += &cell(machine.precondition_cpu_s.map(|s| seconds(s) + cached), "", NONE);
        rows += &cell(machine.requests_per_cpu_s.map(rate), "", NONE);
        rows += &cell(machine.flash_ops_per_cpu_s.map(rate), "", NONE);
        rows += &cell(machine.peak_rss_bytes.map(bytes), "", NONE);
        rows += "</tr>";
    }
    let table = table("Cost of the simulation on the machine that ran it", &heads, &rows);
    format!(
        "<section id=\"machine\" aria-labelledby=\"h-machine\">\n\
         <h2 id=\"h-machine\">Machine</h2>\n\
         <p>Only these numbers differ from machine to machine.{}</p>\n{table}</section>\n",
        escape(&programs(runs))
    )
}

/// The programs that computed the runs: one, unless results of several files are shown.
fn programs(runs: &[RunResult]) -> String {
    let mut programs: Vec<String> = Vec::new();
    for program in runs.iter().filter_map(|run| run.machine.program.as_ref()) {
        let commit =
            program.commit.as_ref().map_or(String::new(), |commit| format!(", commit {commit}"));
        let program = format!("manx {}{commit}", program.version);
        if !programs.contains(&program) {
            programs.push(program);
        }
    }
    if programs.is_empty() {
        String::new()
    } else {
        format!(" Computed by {}.", programs.join("; "))
    }
}
