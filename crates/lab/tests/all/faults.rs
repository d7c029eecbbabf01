//! The campaign of faults on the lab itself (`make test-faults`): its list fits the source, and
//! what it recorded still stands. The campaign builds a program of its own and takes minutes; this
//! does not.

use manx_lab::experiment::{Asked, Experiment, experiment_names};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The audit's faults, and how many of them the claims have to find (issue 22).
const CASES: usize = 37;
const FOUND: usize = 33;

/// Mutants of the mechanisms of garbage collection that the unit tests have to kill (issue 21).
const MUTANTS: usize = 40;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(file: &str) -> String {
    let path = root().join(file);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn faults(file: &str) -> Vec<toml::Table> {
    let list: toml::Table = read(file).parse().unwrap();
    list["faults"].as_array().unwrap().iter().map(|one| one.as_table().unwrap().clone()).collect()
}

/// Asserts that each fault of a list has one place in the source, which it changes.
fn check_places(list: &str, faults: &[toml::Table]) {
    let names: BTreeSet<&str> =
        faults.iter().map(|fault| fault["name"].as_str().unwrap()).collect();
    assert_eq!(names.len(), faults.len(), "{list}: a name is one fault's");
    for fault in faults {
        let name = &fault["name"];
        assert!(fault["what"].as_str().is_some_and(|what| !what.is_empty()), "{name}");
        if let Some(with) = fault.get("with") {
            assert!(names.contains(with.as_str().unwrap()), "{name}");
            continue;
        }
        let (file, find) = (fault["file"].as_str().unwrap(), fault["find"].as_str().unwrap());
        let places = read(file).matches(find).count();
        assert_eq!(places, 1, "{name}: `find` stands once in {file}: mend {list}");
        let put = fault["put"].as_str().unwrap();
        assert!(put.contains("HERE") || put.contains("OR("), "{name} changes something");
    }
}

#[test]
fn every_planted_fault_has_its_place_in_the_source() {
    let faults = faults(".ci/faults/list.toml");
    check_places("list.toml", &faults);
    let (mut cases, experiments) = (0, experiment_names().collect::<BTreeSet<_>>());
    for fault in &faults {
        let name = &fault["name"];
        for (audited, asked) in fault["cases"].as_table().unwrap() {
            cases += 1;
            // The audit's `ttflash-cdf` is `ttflash-profiles` now.
            assert!(experiments.contains(&**audited), "{name}: {audited}");
            assert!(experiments.contains(asked.as_str().unwrap()), "{name}: {asked}");
        }
    }
    assert_eq!(cases, CASES);
}

#[test]
fn every_mutant_has_its_place_in_the_source() {
    let mutants = faults(".ci/faults/mutants.toml");
    check_places("mutants.toml", &mutants);
    assert!(mutants.len() >= MUTANTS);
    for survivor in mutants.iter().filter_map(|mutant| mutant.get("survives")) {
        assert!(survivor.as_str().is_some_and(|why| !why.is_empty()), "a survivor says why");
    }
}

#[test]
fn the_claims_that_found_a_fault_are_still_there_and_find_as_many_as_was_asked() {
    let text = read(".ci/faults/found.csv");
    let rows: Vec<Vec<&str>> = text.lines().skip(1).map(|row| row.split(',').collect()).collect();
    let listed: BTreeSet<(String, String)> = faults(".ci/faults/list.toml")
        .iter()
        .flat_map(|fault| {
            let name = fault["name"].as_str().unwrap().to_string();
            let cases = fault["cases"].as_table().unwrap().clone();
            cases.into_iter().map(move |(audited, _)| (name.clone(), audited))
        })
        .collect();
    let recorded = rows.iter().map(|row| (row[0].to_string(), row[1].to_string())).collect();
    assert_eq!(listed, recorded, "run `make test-faults RECORD=1`");
    let found = rows.iter().filter(|row| !row[3].is_empty());
    assert!(found.clone().count() >= FOUND, "{} of {CASES} found", found.clone().count());
    for row in found {
        let experiment = Experiment::read(row[2], Asked::default()).unwrap();
        let claims: BTreeSet<&str> = experiment.claims.iter().map(|claim| &*claim.id).collect();
        for claim in row[3].split(' ') {
            assert!(claims.contains(claim), "{}: {} has no claim {claim}", row[0], row[2]);
        }
    }
}
