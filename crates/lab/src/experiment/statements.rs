//! The statements of the papers, each with the sentence, its place and its range: a claim that has
//! a published number names one. `experiments/statements/` holds them, a file for each paper.

use super::verdict::Figure;
use manx_config::{ConfigError, Source};
use serde::Deserialize;
use std::sync::OnceLock;

const FILES: [(&str, &str); 6] = [
    ("ttflash", include_str!("../../../../experiments/statements/ttflash.toml")),
    ("erase", include_str!("../../../../experiments/statements/erase.toml")),
    ("ioda", include_str!("../../../../experiments/statements/ioda.toml")),
    ("faster", include_str!("../../../../experiments/statements/faster.toml")),
    ("retry", include_str!("../../../../experiments/statements/retry.toml")),
    ("laws", include_str!("../../../../experiments/statements/laws.toml")),
];

/// The statements of one paper.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Paper {
    /// Its short name.
    pub paper: String,
    /// Authors, title, venue.
    pub reference: String,
    /// All that it says and that can be held against a model.
    pub statements: Vec<Statement>,
}

/// A statement.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Statement {
    /// Its name: a letter for the paper and a number.
    pub id: String,
    /// Slide, section, figure or table.
    pub place: String,
    /// The statement in one sentence.
    pub says: String,
    /// The sort of thing that it says.
    pub kind: Kind,
    /// The figure that it prints, where it is one for all of its claims.
    pub range: Option<Figure>,
    /// Tests that assert it: `FILE: NAME`.
    #[serde(default)]
    pub tests: Vec<String>,
    /// Part of it that Manx lacks.
    pub missing: Option<String>,
}

/// Sort of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A figure.
    Number,
    /// Ranks, or the direction in which something goes.
    Order,
    /// Something exists and works so.
    Mechanism,
    /// Something that the work ran on.
    Platform,
}

/// All papers, in the order of the scoreboard.
pub fn papers() -> &'static [Paper] {
    static PAPERS: OnceLock<Vec<Paper>> = OnceLock::new();
    PAPERS.get_or_init(|| {
        let read = |(name, text): &(&str, &str)| {
            let file = format!("experiments/statements/{name}.toml");
            let source = Source { file, text: (*text).to_string() };
            // Compiled in; a test reads them all.
            parse(&source).unwrap_or_else(|error| panic!("{error}"))
        };
        FILES.iter().map(read).collect()
    })
}

/// The statement called `id`.
pub fn statement(id: &str) -> Option<&'static Statement> {
    papers().iter().flat_map(|paper| &paper.statements).find(|statement| statement.id == id)
}

fn parse(source: &Source) -> Result<Paper, ConfigError> {
    let refused = |error: toml::de::Error| {
        let line =
            error.span().map_or(0, |span| 1 + source.text[..span.start].matches('\n').count());
        let why = error.message().trim().replace('\n', "; ");
        ConfigError::file(format!("{}:{line}", source.file), why)
    };
    toml::from_str(&source.text).map_err(refused)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::score;
    use std::collections::BTreeSet;
    use std::path::Path;

    #[test]
    fn statements_have_names_of_their_own_places_and_evidence_or_what_is_missing() {
        let (mut ids, book) = (BTreeSet::new(), score::Book::read().unwrap());
        for statement in papers().iter().flat_map(|paper| &paper.statements) {
            let Statement { id, place, says, range, tests, .. } = statement;
            assert!(ids.insert(id.clone()), "two statements are called {id}");
            assert!(!place.trim().is_empty() && says.len() > 10, "{id}");
            assert!(range.and_then(Figure::wrong).is_none(), "{id}: {range:?}");
            let has_claim = book.claims.iter().any(|row| row.statement == *id);
            let is_set = book.is_calibrated(id);
            assert!(
                has_claim || is_set || !tests.is_empty() || statement.missing.is_some(),
                "{id}: a claim, a test, or what is missing"
            );
            let says_none = statement.missing.as_ref().is_some_and(|why| why.contains("No claim"));
            assert!(!(has_claim && says_none), "{id} has a claim: {:?}", statement.missing);
        }
        assert!(ids.len() >= 140, "{}", ids.len());
    }

    #[test]
    fn every_test_that_a_statement_names_is_there() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        for statement in papers().iter().flat_map(|paper| &paper.statements) {
            for named in &statement.tests {
                let (file, name) = named.split_once(": ").expect("`FILE: NAME`");
                let text = std::fs::read_to_string(root.join(file)).unwrap_or_default();
                assert!(
                    text.contains(&format!("fn {name}(")),
                    "{}: there is no test {named}",
                    statement.id
                );
            }
        }
    }
}
