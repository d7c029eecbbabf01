//! The answer in words, and as one JSON document.

use super::ask::{Modelled, Why};
use super::finding::{Episode, Findings};
use crate::advise::show::shares;
use crate::json::indented;
use crate::table::cell;
use std::fmt::Write;

/// Episodes that are listed.
const EPISODES_MAX: usize = 5;

/// Everything for a person.
pub fn text(why: &Why) -> String {
    let mut text = format!("trace  {}\ndrive  {}\n\n", why.trace, why.drive);
    match &why.recorded {
        None => text += "The trace has no latencies of its own: the model alone speaks.\n",
        Some(findings) => text += &recorded(why, findings),
    }
    text += "\nThe same requests on the model\n";
    text += &table(&why.rows);
    for row in &why.rows {
        let told = [("reads", &row.read_causes), ("writes", &row.write_causes)];
        for (kind, causes) in told.into_iter().filter(|(_, causes)| !causes.is_empty()) {
            let _ = writeln!(text, "  {}: slowest {kind}: {}", row.name, shares(causes));
        }
    }
    for remark in &why.remarks {
        let _ = writeln!(text, "note: {remark}");
    }
    text
}

/// One document. Ends in a newline.
pub fn document(why: &Why) -> String {
    // Numbers, text and lists, none of which serde_json can refuse.
    indented(&serde_json::to_value(why).expect("plain data"))
}

fn recorded(why: &Why, findings: &Findings) -> String {
    let Findings { requests, p50_us, p99_us, p99_9_us, max_us, episodes, causes, .. } = findings;
    let mut text = format!(
        "Recorded: {} requests, p50 {}, p99 {}, p99.9 {}, longest {}\n",
        cell::count(*requests as u64),
        cell::latency(*p50_us),
        cell::latency(*p99_us),
        cell::latency(*p99_9_us),
        cell::latency(*max_us)
    );
    if causes.is_empty() {
        text += "nothing to find: the tail is short for its median, or no cause explains a tenth \
                 of it\n";
        return text;
    }
    for (number, (cause, remedy)) in causes.iter().zip(&why.remedies).enumerate() {
        let _ = writeln!(
            text,
            "{}. {:.1} % of the slow time: {} ({} requests; p99.9 without them {})\n   {}",
            number + 1,
            cause.share_percent,
            cause.text,
            cell::count(cause.requests as u64),
            cell::latency(cause.without_p99_9_us),
            remedy.text
        );
    }
    let _ = writeln!(text, "unexplained: {:.1} %", findings.unexplained_percent);
    if !episodes.is_empty() {
        let _ = writeln!(text, "slow episodes: {}, the longest first", episodes.len());
    }
    let mut longest: Vec<&Episode> = episodes.iter().collect();
    let length = |episode: &Episode| episode.to_s - episode.from_s;
    longest.sort_by(|one, other| length(other).total_cmp(&length(one)));
    for episode in longest.into_iter().take(EPISODES_MAX) {
        let _ = writeln!(
            text,
            "  {:.3} s to {:.3} s: {:.1} times as long as else, {:.2} MB written since the one \
             before",
            episode.from_s,
            episode.to_s,
            episode.times,
            episode.written as f64 / 1e6
        );
    }
    text
}

fn table(rows: &[Modelled]) -> String {
    let heads = ["", "read p50", "p99", "p99.9", "max", "write p50", "p99", "p99.9", "max"];
    let mut cells: Vec<Vec<String>> = vec![heads.map(str::to_string).to_vec()];
    for row in rows {
        let numbers = row.read_us.iter().chain(&row.write_us);
        let told = numbers.map(|us| us.map_or("-".to_string(), cell::latency));
        cells.push([row.name.clone()].into_iter().chain(told).collect());
    }
    let width = |at: usize| cells.iter().map(|row| row[at].len()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..heads.len()).map(width).collect();
    let mut text = String::new();
    for row in &cells {
        let _ = write!(text, "  {:<1$}", row[0], widths[0]);
        for (cell, width) in row.iter().zip(&widths).skip(1) {
            let _ = write!(text, "  {cell:>width$}");
        }
        text.push('\n');
    }
    text
}
