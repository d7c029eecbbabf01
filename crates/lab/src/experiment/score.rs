//! The scoreboard: every statement of the papers with the verdict that its claims and tests give.
//! Nothing is asserted here: a verdict is the worst of the recorded verdicts of its claims, which
//! `lab run --check` holds against full runs.

use super::file::Miss;
use super::load::{Asked, Experiment};
use super::statements::{Paper, Statement, papers};
use super::verdict::Verdict;
use super::{experiment_names, render};
use manx_config::ConfigError;
use serde_json::{Value, json};
use std::fmt::Write;

/// Changes of each claim after its first commit, counted by `.ci/claim-changes`.
const CHANGES: &str = include_str!("../../../../experiments/statements/changes.csv");

/// A claim of a built-in experiment that is evidence for a statement.
#[derive(Clone, Debug)]
pub struct Evidence {
    /// The experiment.
    pub experiment: &'static str,
    /// The claim.
    pub claim: String,
    /// The statement.
    pub statement: String,
    /// The recorded verdict of a full run.
    pub verdict: Verdict,
    /// Cause of a miss.
    pub missed: Option<Miss>,
    /// Changes of its band, number or quantity after its first commit.
    pub changes: u32,
}

/// A statement and its verdict.
#[derive(Clone, Debug)]
pub struct Row<'a> {
    /// The paper.
    pub paper: &'static Paper,
    /// The statement.
    pub statement: &'static Statement,
    /// The worst verdict of its claims; of tests alone reproduced; of a calibration alone
    /// consistent; missed without any.
    pub verdict: Verdict,
    /// Its claims.
    pub claims: Vec<&'a Evidence>,
    /// The experiments that solve a knob for it: there it is set, and not predicted.
    pub calibrated: Vec<&'static str>,
}

impl<'a> Row<'a> {
    fn of(book: &'a Book, paper: &'static Paper, statement: &'static Statement) -> Self {
        let claims: Vec<_> =
            book.claims.iter().filter(|claim| claim.statement == statement.id).collect();
        let solves = |(_, id): &&(&str, String)| *id == statement.id;
        let calibrated: Vec<_> =
            book.calibrated.iter().filter(solves).map(|(name, _)| *name).collect();
        let of_claims = claims.iter().map(|claim| claim.verdict).min();
        let of_tests = (!statement.tests.is_empty()).then_some(Verdict::Reproduced);
        let set = (!calibrated.is_empty()).then_some(Verdict::Consistent);
        let verdict = match of_claims.or(of_tests).or(set) {
            None => Verdict::Missed,
            // A part of it is there.
            Some(verdict) if statement.missing.is_some() => verdict.min(Verdict::Consistent),
            Some(verdict) => verdict,
        };
        Self { paper, statement, verdict, claims, calibrated }
    }

    fn changes(&self) -> u32 {
        self.claims.iter().map(|claim| claim.changes).sum()
    }

    /// The evidence in a few words: `5 of 6 claims`, `2 tests`, `none`.
    fn evidence(&self) -> String {
        let as_good = |claim: &&&Evidence| claim.verdict == Verdict::Reproduced;
        let reproduced = self.claims.iter().filter(as_good).count();
        match (self.claims.len(), self.statement.tests.len()) {
            (0, 0) if !self.calibrated.is_empty() => "set".to_string(),
            (0, 0) => "none".to_string(),
            (0, 1) => "1 test".to_string(),
            (0, tests) => format!("{tests} tests"),
            (claims, _) => format!("{reproduced} of {claims}"),
        }
    }

    /// Cause of a miss, or the part that is missing.
    fn why(&self) -> Option<&str> {
        let blamed = self.claims.iter().filter(|claim| claim.verdict == self.verdict);
        let blame = blamed.filter_map(|claim| claim.missed.as_ref()).map(|miss| &*miss.blame);
        blame.chain(self.statement.missing.as_deref()).next().map(str::trim)
    }
}

/// Evidence of the built-in experiments.
#[derive(Debug)]
pub struct Book {
    /// The claims that are evidence for statements; what-ifs are none.
    pub claims: Vec<Evidence>,
    /// Experiments and the statements that their knobs are solved for.
    calibrated: Vec<(&'static str, String)>,
}

impl Book {
    /// The built-in experiments: one that was edited may be wrong.
    pub fn read() -> Result<Self, ConfigError> {
        Self::of(experiment_names())
    }

    fn of(names: impl Iterator<Item = &'static str>) -> Result<Self, ConfigError> {
        let (mut found, mut calibrated) = (Vec::new(), Vec::new());
        for name in names {
            let experiment = Experiment::read(name, Asked::default())?;
            let solved = experiment.calibrations.into_iter();
            calibrated.extend(solved.filter_map(|one| Some((name, one.statement?))));
            for claim in experiment.claims.into_iter().filter(|claim| !claim.is_what_if) {
                let Some(statement) = claim.statement else { continue };
                found.push(Evidence {
                    experiment: name,
                    changes: changes(name, &claim.id),
                    claim: claim.id,
                    statement,
                    verdict: claim.recorded,
                    missed: claim.missed,
                });
            }
        }
        Ok(Self { claims: found, calibrated })
    }

    /// Does an experiment solve a knob for this statement?
    pub fn is_calibrated(&self, id: &str) -> bool {
        self.calibrated.iter().any(|(_, statement)| statement == id)
    }

    /// All statements, missed ones first.
    pub fn rows(&self) -> Vec<Row<'_>> {
        let of = |paper: &'static Paper| {
            paper.statements.iter().map(move |statement| Row::of(self, paper, statement))
        };
        let mut rows: Vec<Row> = papers().iter().flat_map(of).collect();
        rows.sort_by_key(|row| row.verdict);
        rows
    }
}

fn changes(experiment: &str, claim: &str) -> u32 {
    let of = |line: &str| {
        let mut cells = line.split(',');
        let is_it = cells.next() == Some(experiment) && cells.next() == Some(claim);
        is_it.then(|| cells.next().and_then(|count| count.parse().ok()))?
    };
    CHANGES.lines().find_map(of).unwrap_or(0)
}

/// Claims that an earlier commit had and that are no more.
pub fn gone() -> usize {
    CHANGES.lines().filter(|line| line.ends_with(",gone")).count()
}

/// How many rows have each verdict, in the order of [`Verdict::ALL`].
pub fn count<'a>(rows: impl Iterator<Item = &'a Row<'a>>) -> [usize; 3] {
    rows.fold([0; 3], |mut counts, row| {
        counts[row.verdict as usize] += 1;
        counts
    })
}

/// The scoreboard for a person.
pub fn table(book: &Book, rows: &[Row<'_>]) -> String {
    let mut text = String::new();
    for row in rows {
        let Row { statement, verdict, .. } = row;
        let changed = match row.changes() {
            0 => String::new(),
            1 => ", changed once".to_string(),
            times => format!(", changed {times} times"),
        };
        let _ = writeln!(
            text,
            "{:<5} {:<10}  {:<9} {}: {} ({}{changed})",
            statement.id,
            verdict.word(),
            row.evidence(),
            row.paper.paper,
            statement.says.trim(),
            statement.place.trim(),
        );
        if *verdict != Verdict::Reproduced
            && let Some(why) = row.why()
        {
            let _ = writeln!(text, "{:29}{why}", "");
        }
    }
    text += "\n";
    for paper in papers() {
        let mine = rows.iter().filter(|row| row.paper.paper == paper.paper);
        let _ = writeln!(text, "{:<20} {}", paper.paper, render::counts(count(mine)));
    }
    let all = count(rows.iter());
    let share = 100 * all[Verdict::Reproduced as usize] / rows.len().max(1);
    let _ = writeln!(text, "{:<20} {}: {share} % reproduced", "all", render::counts(all));
    let changed = book.claims.iter().filter(|claim| claim.changes > 0).count();
    let _ = writeln!(
        text,
        "{:<20} {changed} of {} changed after their first commit; {} that were committed are gone",
        "claims",
        book.claims.len(),
        gone(),
    );
    text
}

/// The scoreboard for a program.
pub fn json(rows: &[Row<'_>]) -> Value {
    let claim = |claim: &&Evidence| {
        json!({
            "experiment": claim.experiment,
            "claim": claim.claim,
            "verdict": claim.verdict,
            "blame": claim.missed.as_ref().map(|miss| miss.blame.trim()),
            "home": claim.missed.as_ref().and_then(|miss| miss.home.as_deref()),
            "changes": claim.changes,
        })
    };
    let row = |row: &Row<'_>| {
        json!({
            "id": row.statement.id,
            "paper": row.paper.paper,
            "place": row.statement.place.trim(),
            "says": row.statement.says.trim(),
            "verdict": row.verdict,
            "missing": row.statement.missing,
            "calibrated_in": row.calibrated,
            "tests": row.statement.tests,
            "claims": row.claims.iter().map(claim).collect::<Vec<_>>(),
        })
    };
    json!({ "statements": rows.iter().map(row).collect::<Vec<_>>(), "claims_gone": gone() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::library::builtin_experiment;

    #[test]
    fn the_scoreboard_has_every_statement_once_misses_first() {
        let book = Book::read().unwrap();
        let rows = book.rows();
        let all: usize = papers().iter().map(|paper| paper.statements.len()).sum();
        assert_eq!(rows.len(), all);
        assert!(rows.is_sorted_by_key(|row| row.verdict));
        let text = table(&book, &rows);
        assert_eq!(count(rows.iter()).iter().sum::<usize>(), all);
        assert!(text.contains("% reproduced\n"), "{text}");
        assert!(gone() > 0 && text.trim_end().ends_with("are gone"), "{text}");
        assert_eq!(json(&rows)["statements"].as_array().unwrap().len(), all);
    }

    #[test]
    fn a_missed_statement_says_why_and_a_change_counts_for_a_claim_that_exists() {
        let book = Book::read().unwrap();
        for row in book.rows().iter().filter(|row| row.verdict == Verdict::Missed) {
            assert!(row.why().is_some(), "{}", row.statement.id);
        }
        for line in CHANGES.lines().skip(1) {
            assert_eq!(line.split(',').count(), 3, "{line}");
        }
    }

    #[test]
    fn a_home_that_is_no_what_if_is_an_error_and_no_panic() {
        let text = builtin_experiment("ioda-op").unwrap().text;
        let wrong = text.replace("home = \"ioda-at-own-marks\"", "home = \"nowhere\"");
        assert_ne!(text, wrong, "it has a home");
        let path = std::env::temp_dir().join(format!("manx-score-{}.toml", std::process::id()));
        std::fs::write(&path, wrong).unwrap();
        let name: &'static str = path.display().to_string().leak();
        let error = Book::of([name].into_iter()).expect_err("it is refused").to_string();
        std::fs::remove_file(&path).unwrap();
        assert!(error.contains("missed.home") && error.contains("`nowhere`"), "{error}");
    }
}
