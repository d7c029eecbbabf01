//! The answer in words for a terminal, and as one JSON document.

use super::answer::{Answer, Broken, Line, Setting};
use super::bounds::Bound;
use super::causes::Share;
use super::goal::{Goal, Judged};
use super::question::Minimise;
use crate::json::indented;
use crate::table::cell;
use manx_core::units::Bytes;
use std::fmt::Write;

/// Everything for a person.
pub fn text(answer: &Answer) -> String {
    let mut text = head(answer);
    if !answer.bounds.is_empty() {
        let _ = writeln!(text, "\nWhat is possible at all");
    }
    for bound in &answer.bounds {
        let _ = writeln!(text, "  {}", bound_line(answer, bound));
    }
    text.push('\n');
    match (&answer.recommendation, &answer.impossible) {
        (Some(line), _) => text += &recommended(answer, line),
        (None, Some(why)) => {
            let _ = writeln!(text, "{}: {why}.", nothing(answer));
        }
        (None, None) => {}
    }
    if !answer.front.is_empty() {
        let _ = writeln!(text, "\n{}", front_title(answer));
        text += &front_table(answer);
    }
    if !answer.broken.is_empty() {
        let _ = writeln!(text, "\nWhat broke the others: the best try of each policy");
        for broken in &answer.broken {
            let _ = writeln!(text, "  {}", broken_line(broken));
        }
    }
    text += &tail(answer);
    text
}

/// One document. Ends in a newline.
pub fn document(answer: &Answer) -> String {
    // Numbers, text and lists, none of which serde_json can refuse.
    indented(&serde_json::to_value(answer).expect("plain data"))
}

/// That no setting keeps the goals, or that none is known to.
pub fn nothing(answer: &Answer) -> &'static str {
    match answer.effort.unmeasured {
        0 => "Nothing keeps the goals",
        _ => "Nothing is known to keep the goals",
    }
}

fn head(answer: &Answer) -> String {
    let load = &answer.load;
    let share = 100.0 * load.reads as f64 / (load.reads + load.writes).max(1) as f64;
    let mut text = format!(
        "load    {}: {} requests, {share:.0} % reads",
        load.name,
        cell::count(load.requests)
    );
    if let Some(rate) = load.rate_per_s {
        let _ = write!(text, ", {}/s", cell::rate(rate));
    }
    if let Some(rate) = load.write_bytes_s {
        let _ = write!(text, ", {:.2} MB/s written", rate / 1e6);
    }
    if let Some(bytes) = load.footprint_bytes {
        let _ = write!(text, ", {} touched", size(bytes));
    }
    if let Some(idc) = load.idc_10ms {
        let _ = write!(text, ", IDC {} in 10 ms", cell::three_digits(idc));
    }
    let _ = writeln!(text, "\ndrive   {}", answer.drive);
    let goals: Vec<&str> = answer.goals.iter().map(|goal| goal.text.as_str()).collect();
    let _ = writeln!(text, "goals   {}; least {}", goals.join(", "), price_words(answer));
    text
}

/// A size with three digits: 8.59 GB.
fn size(bytes: u64) -> String {
    let value = bytes as f64;
    match value {
        value if value >= 1e12 => format!("{:.2} TB", value / 1e12),
        value if value >= 1e9 => format!("{:.2} GB", value / 1e9),
        value if value >= 1e6 => format!("{:.1} MB", value / 1e6),
        _ => Bytes::new(bytes).to_string(),
    }
}

/// The price to keep small, in words.
pub fn price_words(answer: &Answer) -> String {
    match answer.minimise {
        Minimise::Cost => format!("money for a usable TB in {} years", answer.years),
        Minimise::Op => "over-provisioning (% of user)".to_string(),
        Minimise::Waf => "WAF".to_string(),
        Minimise::Power => "watts for a usable TB".to_string(),
        Minimise::Drives => "drives".to_string(),
    }
}

/// The quantity that is to be small, with its unit.
pub fn price(answer: &Answer, value: f64) -> String {
    match answer.minimise {
        _ if !value.is_finite() => "none".to_string(),
        Minimise::Cost => format!("{value:.2}"),
        Minimise::Op => format!("{value:.1} %"),
        Minimise::Waf | Minimise::Power => format!("{value:.2}"),
        Minimise::Drives => format!("{value:.0}"),
    }
}

/// "read.p99_99 1.72ms (1.60ms to 1.95ms)".
pub fn judged(goal: &Goal, judged: &Judged) -> String {
    let name = goal.text.split([' ', '<', '>']).next().unwrap_or_default();
    let value = match judged.value {
        Some(value) => goal.show(value),
        None if judged.unmeasured => "not measured".to_string(),
        None if judged.used >= 100.0 => "not known".to_string(),
        None => format!("{:.0} % of what it allows", 100.0 * judged.used),
    };
    match (judged.low, judged.high) {
        (Some(low), Some(high)) => {
            format!("{name} {value} (95 %: {} to {})", goal.show(low), goal.show(high))
        }
        _ => format!("{name} {value}"),
    }
}

fn bound_line(answer: &Answer, bound: &Bound) -> String {
    let goals = answer.goals.iter().zip(&bound.judged).map(|(goal, it)| judged(goal, it));
    let goals: Vec<String> = goals.collect();
    let verdict = bound.verdict();
    let set_by = match bound.set_by.as_str() {
        "" => String::new(),
        text => format!(": {text}"),
    };
    format!("{}: {}: {verdict}{set_by}", bound.name, goals.join(", "))
}

/// "base, device.op 0.15, drive.buffer 4MiB".
pub fn name(line: &Line) -> String {
    let keys = line.settings.iter().map(|Setting { key, value }| format!("{key} {value}"));
    [line.policy.clone()].into_iter().chain(keys).collect::<Vec<_>>().join(", ")
}

fn recommended(answer: &Answer, line: &Line) -> String {
    let mut text = format!("Recommended: {}\n", name(line));
    for ((goal, it), margin) in answer.goals.iter().zip(&line.judged).zip(&line.margin_percent) {
        let left = margin.map_or(String::new(), |left| format!(", {left:.1} % of it left"));
        let _ = writeln!(text, "  {}{left}", judged(goal, it));
    }
    for (at, goal) in answer.goals.iter().enumerate().filter(|_| !line.seeds.is_empty()) {
        let seeds = line.seeds.iter().map(|seed| &seed[at]);
        let met =
            seeds.clone().filter(|seed| seed.meets).count() + usize::from(line.judged[at].meets);
        let values: Vec<String> = seeds.filter_map(|seed| Some(goal.show(seed.value?))).collect();
        let _ = writeln!(
            text,
            "  the interval reaches to both sides of {}: of further seeds it is {}; {met} of {} \
             keep it",
            goal.text,
            values.join(", "),
            line.seeds.len() + 1
        );
    }
    for (goal, it) in answer.goals.iter().zip(&line.judged).filter(|_| line.seeds.is_empty()) {
        if it.straddles(goal) {
            let _ = writeln!(
                text,
                "  the interval reaches to both sides of {}: another seed may miss it",
                goal.text
            );
        }
    }
    let cost = &line.cost;
    let _ = writeln!(
        text,
        "  {:.2} for a usable TB in {} years: flash {:.2}, DRAM {:.2}, capacitors {:.2}, drive \
         {:.2}, electricity {:.2}",
        cost.total,
        answer.years,
        cost.flash,
        cost.dram,
        cost.capacitor,
        cost.drives,
        cost.electricity
    );
    let parts = [
        line.op_percent.map(|op| format!("OP {op:.1} % of user")),
        // One of 0 is none: nothing was written to flash.
        line.waf.filter(|waf| *waf > 0.0).map(|waf| format!("WAF {waf:.2}")),
        cost.drive_writes_a_day.map(|dwpd| format!("{dwpd:.3} drive writes a day")),
        cost.wear_percent_a_year.map(|wear| format!("{wear:.2} % of the P/E cycles a year")),
        Some(format!("{:.2} W a usable TB", cost.watts)),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let _ = writeln!(text, "  {}\n  $ {}", parts.join(", "), line.command);
    text
}

/// Whether a setting keeps the goals: "yes", "no", or "?" of one whose WAF nobody knows.
pub fn keeps(line: &Line) -> &'static str {
    let is_open = line.judged.iter().all(|judged| judged.meets || judged.unmeasured);
    match (line.meets, is_open && line.judged.iter().any(|judged| judged.unmeasured)) {
        (true, _) => "yes",
        (false, true) => "?",
        (false, false) => "no",
    }
}

fn front_title(answer: &Answer) -> String {
    format!("What each step costs: the front of {} against the goals", price_words(answer))
}

fn front_table(answer: &Answer) -> String {
    let best = answer.recommendation.as_ref().map(|line| line.price);
    let mut rows = vec![vec![
        "least".to_string(),
        "step".to_string(),
        "keeps".to_string(),
        "policy and keys".to_string(),
    ]];
    rows[0].extend(answer.goals.iter().map(|goal| goal.text.clone()));
    for line in &answer.front {
        let step = match best {
            Some(best) if line.price == best => "=".to_string(),
            Some(best) if (line.price - best).is_finite() => format!("{:+.2}", line.price - best),
            _ => "-".to_string(),
        };
        let mut row = vec![price(answer, line.price), step, keeps(line).to_string(), name(line)];
        row.extend(answer.goals.iter().zip(&line.judged).map(|(goal, it)| match it.value {
            Some(value) => goal.show(value),
            None if it.unmeasured => "-".to_string(),
            None => format!("{:.2} x", it.used),
        }));
        rows.push(row);
    }
    let widths: Vec<usize> = (0..rows[0].len())
        .map(|at| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0))
        .collect();
    let mut text = String::new();
    for row in &rows {
        let cells: Vec<String> = row
            .iter()
            .zip(&widths)
            .enumerate()
            .map(|(at, (cell, width))| match at {
                2 | 3 => format!("{cell:<width$}"),
                _ => format!("{cell:>width$}"),
            })
            .collect();
        let _ = writeln!(text, "  {}", cells.join("  ").trim_end());
    }
    for line in answer.front.iter().filter(|line| !line.why.is_empty()) {
        let _ = writeln!(text, "  {}: {}: {}", keeps(line), name(line), line.why);
    }
    for line in answer.front.iter().filter(|line| Some(line.price) != best || !line.meets) {
        let _ = writeln!(text, "  $ {}", line.command);
    }
    text
}

/// "base, device.op 0.4, ..: 12 times what read.p99_9 < 2ms allows: 93 % waiting behind GC copies".
pub fn broken_line(broken: &Broken) -> String {
    if !broken.line.why.is_empty() {
        return format!("{}: {}", name(&broken.line), broken.line.why);
    }
    let causes = match shares(&broken.causes) {
        causes if causes.is_empty() => causes,
        causes => format!(": {causes}"),
    };
    format!(
        "{}: {} times what {} allows, after {} requests{causes}",
        name(&broken.line),
        cell::three_digits(broken.line.used),
        broken.goal,
        cell::count(broken.requests)
    )
}

/// "93 % waiting behind GC copies, 4 % its own work".
pub fn shares(shares: &[Share]) -> String {
    let told = shares.iter().take(3).map(|share| format!("{:.0} % {}", share.percent, share.name));
    told.collect::<Vec<_>>().join(", ")
}

fn tail(answer: &Answer) -> String {
    let effort = &answer.effort;
    let begun = match effort.played - (effort.kept + effort.missed + effort.unmeasured) {
        0 => "",
        _ => ", some by the beginning of their run alone",
    };
    let mut text = format!(
        "\n{} of {} settings tried{begun}, in {} runs, {} requests ({:.1} % of a whole grid)\n",
        effort.played,
        effort.settings,
        effort.runs,
        cell::count(effort.requests),
        effort.percent_of_grid,
    );
    let _ = writeln!(text, "of the {}: {}", effort.settings, parts(answer).join("; "));
    if effort.undecided > 0 {
        let _ = writeln!(
            text,
            "what is NOT decided may be cheaper: the search ends at 5 % of the grid (of a small \
             one: 12 whole runs), and prices were up to {:.0} % off their guess; --exhaustive \
             runs all",
            effort.guesses_off_percent
        );
    }
    if answer.exact {
        text += "every setting was run to its end: for this run and its seed the answer is exact\n";
    }
    let keys = answer.costs.iter().map(|key| format!("{} {}", key.key, key.value));
    let keys: Vec<String> = keys.collect();
    let _ =
        writeln!(text, "cost model (--cost KEY=VALUE; sources with --json): {}", keys.join(", "));
    for remark in &answer.remarks {
        let _ = writeln!(text, "note: {remark}");
    }
    text
}

/// How each setting was decided: parts that make up all of them.
fn parts(answer: &Answer) -> Vec<String> {
    let effort = &answer.effort;
    let passed_over = match answer.recommendation {
        Some(_) => "guessed dearer than the answer",
        None => "ruled out by what is possible at all",
    };
    let all = [
        (effort.kept, "keep the goals"),
        (effort.missed, "miss one by their whole run"),
        (effort.lost, "given up as a goal was lost"),
        (effort.predicted, "given up as the whole would not clearly keep one"),
        (effort.presumed, "presumed to miss, as the same policy misses with more of everything"),
        (effort.unmeasured, "without a WAF, as nothing was written to their flash"),
        (effort.passed_over, passed_over),
        (effort.undecided, "NOT decided"),
    ];
    let told = all.iter().filter(|(count, _)| *count > 0);
    told.map(|(count, words)| format!("{count} {words}")).collect()
}
