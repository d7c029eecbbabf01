//! `report.html` beside a result.

use manx_config::Scenario;
use manx_core::stats::RunSet;
use manx_lab::{about, save};
use manx_report::page::{Claim, Page};
use std::path::Path;

/// Options that change no result: what is written must not depend on them, so they are left out of
/// the command.
const OPTIONS_WITH_VALUE: [&str; 10] = [
    "--out",
    "--jobs",
    "--act-log",
    "--requests",
    "--timeline",
    "--timeline-window",
    "--timeline-slow",
    "--timeline-limit",
    "--color",
    "--progress-every",
];
const OPTIONS: [&str; 8] =
    ["--json", "--no-cache", "--check", "--fresh", "--force", "--wide", "--quiet", "-q"];

/// The page of a comparison: its name and its text. `workload` is what took the place of the
/// scenario's.
pub fn page(
    set: &RunSet,
    workload: Option<&str>,
    runs: &[(String, Scenario)],
) -> Result<(String, String), String> {
    let title =
        runs.first().map(|(_, scenario)| about::title(workload, scenario)).unwrap_or_default();
    page_of(&title, workload, set, runs, &[])
}

/// The page of an experiment, with its name and its claims.
pub fn page_of(
    title: &str,
    workload: Option<&str>,
    set: &RunSet,
    runs: &[(String, Scenario)],
    claims: &[Claim],
) -> Result<(String, String), String> {
    let scenarios =
        runs.iter().map(|(policy, scenario)| Ok((policy.clone(), save::as_run(scenario)?)));
    let scenarios = scenarios.collect::<Result<Vec<_>, String>>()?;
    let command =
        command(std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()));
    let drives = about::drives(runs);
    let workload =
        runs.first().map(|(_, scenario)| about::workload(workload, scenario)).unwrap_or_default();
    let workload = if claims.is_empty() { workload.as_str() } else { "" };
    let page = Page {
        title,
        set,
        command: &command,
        drives: &drives,
        workload,
        scenarios: &scenarios,
        claims,
    };
    Ok(("report.html".to_string(), page.html()))
}

/// Writes the files of a result into its folder, together.
pub fn save(folder: &Path, files: Vec<(String, String)>) -> Result<(), String> {
    let files: Vec<_> = files.into_iter().map(|(name, text)| (folder.join(name), text)).collect();
    save::write_together(&files)
}

/// The command for a shell, without what only says where to and how fast.
fn command(words: impl Iterator<Item = String>) -> String {
    let mut command = "manx".to_string();
    let mut words = words.peekable();
    while let Some(word) = words.next() {
        let name = word.split_once('=').map_or(word.as_str(), |(name, _)| name);
        if OPTIONS.contains(&name) {
            continue;
        }
        if OPTIONS_WITH_VALUE.contains(&name) {
            if name == word {
                words.next();
            }
            continue;
        }
        command.push(' ');
        command.push_str(&quoted(&word));
    }
    command
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,:+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_string()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_for_a_shell_and_without_what_changes_no_result() {
        let said = "compare oltp --out results --seed 7 --jobs=2 --json --timeline t \
                    --timeline-slow=1ms --set name='x --workload act(4) it's";
        let command = command(said.split(' ').map(str::to_string));
        assert_eq!(
            command,
            r"manx compare oltp --seed 7 --set 'name='\''x' --workload 'act(4)' 'it'\''s'"
        );
    }

    /// The page of a run with `--requests FILE` told of the file, and was another than without.
    #[test]
    fn regression_files_beside_the_result_are_no_part_of_the_command() {
        let said = "run oltp --requests a.parquet --timeline=t --timeline-window 1s..2s \
                    --timeline-slow 1ms --timeline-limit 9 --attribution";
        assert_eq!(
            command(said.split_whitespace().map(str::to_string)),
            "manx run oltp --attribution"
        );
    }
}
