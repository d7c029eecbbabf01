//! Conditions of comparing the numbers of a set: whether anything was collected, from which state
//! the drives began, whether their WAF was steady, and whether the runs differ in one thing only.

use crate::table::three_digits;
use manx_core::stats::{RunResult, RunSet};

/// Of what the host wrote, copies below this share (percent) are next to nothing.
const COPIES_LEAST_PERCENT: u64 = 1;

/// The first line of what is printed, where garbage collection had no part in the numbers.
pub fn first_line(set: &RunSet) -> Option<String> {
    let idle = |run: &RunResult| {
        !run.state.began.is_empty() && run.state.reclaimed_blocks + run.gc.runs == 0
    };
    let without: Vec<&RunResult> = set.runs.iter().filter(|run| idle(run)).collect();
    if let Some(most) = without.iter().copied().max_by_key(|run| run.state.programmed_bytes) {
        return Some(format!(
            "No garbage collection happened{}: {}",
            in_which(set, &without),
            nothing_because(set, most)
        ));
    }
    // `nogc` copies at zero cost, log blocks are merged: neither counts its copies so.
    let copies = |run: &&RunResult| is_collected_in_time(run) && run.log.is_none();
    let with: Vec<&RunResult> = set.runs.iter().filter(copies).collect();
    let few = |run: &&RunResult| {
        run.gc.pages_copied * 100 < COPIES_LEAST_PERCENT * run.flash.host_pages_written
    };
    let first = with.first().filter(|_| with.iter().all(few))?;
    let by_workload = first.state.overwritten_by.as_deref() == Some("workload");
    let hint = if by_workload {
        "; precondition.overwrite = \"random\" begins with a drive written all over"
    } else {
        ""
    };
    Some(format!(
        "Garbage collection had next to nothing to copy{}: \
         {} of {} pages for {} blocks reclaimed{hint}",
        in_which(set, &with),
        first.gc.pages_copied,
        first.flash.host_pages_written,
        first.state.reclaimed_blocks,
    ))
}

/// The state that the drives began in, what was reclaimed, and whether the WAF was steady, then the
/// paths: a line each. Whether a state was `cached` depends on the machine.
pub fn lines(set: &RunSet, cached: bool) -> Vec<String> {
    let paths = mixed_axes(set).or_else(|| paths(set));
    preparations(set, cached)
        .into_iter()
        .chain(reclaimed(set))
        .chain(steadiness(set))
        .chain(paths)
        .collect()
}

/// Paths that the names of policies stand for, where they say more than the names.
fn paths(set: &RunSet) -> Option<String> {
    let longer = set.runs.iter().filter(|run| !run.path.is_empty() && run.path != run.policy);
    let longer: Vec<String> = longer.map(of_path).collect();
    (!longer.is_empty()).then(|| format!("paths: {}", longer.join(", ")))
}

/// Where runs differ in more than one thing: in which axes, and what each of them is.
pub fn mixed_axes(set: &RunSet) -> Option<String> {
    // A bound that no drive can have is a yardstick, not a rival.
    let rivals: Vec<&RunResult> = set.runs.iter().filter(|run| is_collected_in_time(run)).collect();
    let first = rivals.first()?;
    let differs =
        |axis: &&String| rivals.iter().any(|run| run.axes.get(*axis) != first.axes.get(*axis));
    let axes: Vec<&str> = first.axes.keys().filter(differs).map(String::as_str).collect();
    if axes.len() < 2 {
        return None;
    }
    let runs: Vec<String> = rivals.iter().map(|run| of_path(run)).collect();
    Some(format!(
        "not one thing compared: the policies differ in {}: {}",
        and(&axes),
        runs.join(", ")
    ))
}

fn of_path(run: &RunResult) -> String {
    if run.path == run.policy {
        run.policy.clone()
    } else {
        format!("{} is {}", run.policy, run.path)
    }
}

fn is_collected_in_time(run: &RunResult) -> bool {
    run.axes.get("gc").is_some_and(|gc| gc != "nogc")
}

fn nothing_because(set: &RunSet, run: &RunResult) -> String {
    let alike = if set.runs.len() > 1 { "; every policy looks alike" } else { "" };
    let drives = if run.array.is_some() || run.drives.is_some() { "drives" } else { "drive" };
    match (run.state.programmed_bytes, run.state.free_bytes) {
        (0, _) if run.flash.host_pages_written > 0 => format!(
            "nothing reached flash, for the write buffer took all of {} pages{alike}",
            run.flash.host_pages_written
        ),
        (0, _) => "nothing was written".to_string(),
        (wrote, Some(free)) => {
            format!("the {drives} wrote {} of {} of free space{alike}", size(wrote), size(free))
        }
        (wrote, None) => format!("the {drives} wrote {}{alike}", size(wrote)),
    }
}

/// " in base, preemptive"; nothing where it is all of them.
fn in_which(set: &RunSet, runs: &[&RunResult]) -> String {
    let all = runs.len() == set.runs.len() && set.runs.len() > 1;
    if all { String::new() } else { format!(" in {}", names(runs)) }
}

fn preparations(set: &RunSet, cached: bool) -> Vec<String> {
    let told = |run: &RunResult| {
        let cached =
            if cached && run.machine.precondition_from_cache { " (from the cache)" } else { "" };
        run.state.text.clone() + cached
    };
    let known = set.runs.iter().filter(|run| !run.state.began.is_empty());
    grouped(set, known.map(|run| (told(run), run)))
        .into_iter()
        .map(|(text, of)| {
            format!(
                "preconditioning{}: {text}",
                if of.is_empty() { of } else { format!(" of {of}") }
            )
        })
        .collect()
}

fn reclaimed(set: &RunSet) -> Option<String> {
    let told = |run: &RunResult| {
        let how = if run.gc.free_reclaims > 0 { " at no cost" } else { "" };
        format!("{} {}{how}", run.policy, run.state.reclaimed_blocks)
    };
    let runs: Vec<String> = set.runs.iter().map(told).collect();
    let any = set.runs.iter().any(|run| run.state.reclaimed_blocks > 0);
    any.then(|| format!("blocks reclaimed while measured: {}", runs.join(", ")))
}

fn steadiness(set: &RunSet) -> Vec<String> {
    let told = |run: &RunResult| {
        let halves = run.state.reclaimed_per_written?;
        Some(match run.state.waf_steady {
            Some(true) => {
                "steady (as much reclaimed for a byte written in both halves, within 10 %)"
                    .to_string()
            }
            Some(false) => {
                let [first, second] = halves.map(three_digits);
                format!(
                    "not steady: {first} bytes reclaimed for each written in the first \
                     half, {second} in the second"
                )
            }
            None => "too few blocks reclaimed to say whether it is steady".to_string(),
        })
    };
    // Where nothing at all was reclaimed, the first line has said it.
    let runs = set.runs.iter().filter(|run| run.state.reclaimed_blocks > 0);
    let all = grouped(set, runs.filter_map(|run| Some((told(run)?, run))));
    let headed = |(text, of): (String, String)| {
        if of.is_empty() { format!("WAF {text}") } else { format!("WAF of {of} {text}") }
    };
    all.into_iter().map(headed).collect()
}

/// Each text once, with the names of the runs that it is about; none where it is about all.
fn grouped<'a>(
    set: &RunSet,
    told: impl Iterator<Item = (String, &'a RunResult)>,
) -> Vec<(String, String)> {
    let mut all: Vec<(String, Vec<&RunResult>)> = Vec::new();
    for (text, run) in told {
        match all.iter_mut().find(|(other, _)| *other == text) {
            Some((_, runs)) => runs.push(run),
            None => all.push((text, vec![run])),
        }
    }
    let named = |runs: Vec<&RunResult>| {
        if runs.len() == set.runs.len() { String::new() } else { names(&runs) }
    };
    all.into_iter().map(|(text, runs)| (text, named(runs))).collect()
}

fn names(runs: &[&RunResult]) -> String {
    runs.iter().map(|run| run.policy.as_str()).collect::<Vec<_>>().join(", ")
}

fn and(words: &[&str]) -> String {
    match words {
        [rest @ .., last] if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        words => words.concat(),
    }
}

fn size(bytes: u64) -> String {
    let units = [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB"), (0, "B")];
    let (shift, unit) = units.into_iter().find(|(shift, _)| bytes >> shift > 0).unwrap_or((0, "B"));
    format!("{} {unit}", three_digits(bytes as f64 / (1u64 << shift) as f64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use manx_core::stats::{GcReport, StateReport};

    fn run(policy: &str, path: &str, axes: [&str; 2], reclaimed: u64) -> RunResult {
        let state = StateReport {
            began: "steady".to_string(),
            text: "filled, 2 full random overwrites, WAF 2.71".to_string(),
            free_bytes: Some(8 << 30),
            programmed_bytes: 3 << 29,
            reclaimed_blocks: reclaimed,
            reclaimed_per_written: Some([1.25, 1.5]),
            waf_steady: (reclaimed > 20).then_some(false),
            ..StateReport::default()
        };
        let axes = ["gc", "erase"]
            .iter()
            .zip(axes)
            .map(|(axis, part)| (axis.to_string(), part.to_string()))
            .collect();
        let gc = GcReport { pages_copied: 1000, ..GcReport::default() };
        let (policy, path) = (policy.to_string(), path.to_string());
        let mut run = RunResult { policy, path, axes, state, gc, ..RunResult::default() };
        run.flash.host_pages_written = 10_000;
        run
    }

    #[test]
    fn a_set_without_collections_says_so_and_how_much_was_free() {
        let one = |reclaimed| run("base", "base", ["base", "baseline"], reclaimed);
        let all = RunSet { runs: vec![one(0), one(0)] };
        let expected = "No garbage collection happened: the drive wrote 1.50 GiB of 8.00 GiB of \
                        free space; every policy looks alike";
        assert_eq!(first_line(&all).unwrap(), expected);
        let mut other = one(9);
        other.policy = "preemptive".to_string();
        let some = RunSet { runs: vec![one(0), other] };
        assert!(first_line(&some).unwrap().starts_with("No garbage collection happened in base: "));
        assert_eq!(first_line(&RunSet { runs: vec![one(9)] }), None);
    }

    #[test]
    fn collections_that_copy_nothing_are_told_of() {
        let mut empty = run("base", "base", ["base", "baseline"], 1869);
        empty.gc.pages_copied = 99;
        empty.state.overwritten_by = Some("workload".to_string());
        let line = first_line(&RunSet { runs: vec![empty.clone()] }).unwrap();
        assert!(
            line.starts_with(
                "Garbage collection had next to nothing to copy in base: 99 of 10000 pages"
            ),
            "{line}"
        );
        assert!(
            line.ends_with(
                "precondition.overwrite = \"random\" begins with a drive written all over"
            ),
            "{line}"
        );
        empty.gc.pages_copied = 100;
        assert_eq!(first_line(&RunSet { runs: vec![empty] }), None, "one percent is something");
    }

    #[test]
    fn a_state_is_told_once_and_a_waf_that_moves_with_its_halves() {
        let few = run("nogc", "nogc", ["nogc", "baseline"], 15);
        let many = run("base", "base", ["base", "baseline"], 300);
        let told = lines(&RunSet { runs: vec![few, many] }, true);
        let expected = [
            "preconditioning: filled, 2 full random overwrites, WAF 2.71",
            "blocks reclaimed while measured: nogc 15, base 300",
            "WAF of nogc too few blocks reclaimed to say whether it is steady",
            "WAF of base not steady: 1.25 bytes reclaimed for each written in the first \
             half, 1.50 in the second",
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn runs_that_differ_in_more_than_one_axis_are_named_with_their_paths() {
        let base = run("base", "base", ["base", "baseline"], 1);
        let erase = run("t-es", "reads-first/t-es(64ms)", ["reads-first", "t-es(64ms)"], 1);
        let nogc = run("nogc", "nogc", ["nogc", "baseline"], 1);
        let line =
            mixed_axes(&RunSet { runs: vec![nogc.clone(), base.clone(), erase.clone()] }).unwrap();
        let expected = "not one thing compared: the policies differ in erase and gc: base, t-es is \
                        reads-first/t-es(64ms)";
        assert_eq!(line, expected);
        let like = RunSet { runs: vec![erase.clone(), nogc.clone()] };
        assert_eq!(lines(&like, false).last().unwrap(), "paths: t-es is reads-first/t-es(64ms)");
        assert_eq!(
            mixed_axes(&RunSet { runs: vec![nogc, base] }),
            None,
            "what no drive can have is a yardstick"
        );
    }
}
