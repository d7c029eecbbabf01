//! Arrays as a user asks for them: which there are, and what each other one is answered with.

use manx_config::{Input, Override, Source, load};

const ARRAY: &str = "name = \"four\"\n[device]\nname = \"femu\"\n[array]\nmembers = 4\n[workload]\n\
                     requests = 1000\n";

/// The refusal of the scenario under these settings, if it is refused.
fn answer(sets: &[&str]) -> Option<String> {
    let scenario = Source { file: "four.toml".to_string(), text: ARRAY.to_string() };
    let overrides: Vec<Override> =
        sets.iter().map(|set| Override::from_set(set).unwrap()).collect();
    let loaded =
        load(&Input { scenario: &scenario, device: None, policy: None, overrides: &overrides });
    loaded.err().map(|error| error.to_string())
}

#[test]
fn arrays_of_every_level_load_with_books_and_timelines() {
    for sets in [
        &["array.level=raid0"][..],
        &["array.level=raid1", "array.members=2"],
        &["array.level=raid5", "array.members=24"],
        &["array.level=raid6", "measure.attribution=true"],
        &["array.level=raid6", "array.extra_reads=1"],
        &["array.level=ec", "array.members=5"],
        &["array.level=ec", "array.parities=1", "array.members=3"],
        &["array.level=ec", "array.parities=22", "array.members=24", "array.extra_reads=21"],
        &["array.strategy=ioda", "array.fail_at=1s", "array.replace_after=1s"],
        &["drive.brt=exact", "array.strategy=iod2"],
    ] {
        assert_eq!(answer(sets), None, "{sets:?}");
    }
}

#[test]
fn an_array_that_cannot_be_is_answered_with_key_value_and_what_is_allowed() {
    let mistakes: &[(&[&str], &[&str])] = &[
        (&["array.members=25"], &["array.members", "25", "from 3 (\"raid5\") to 24"]),
        (&["array.members=2"], &["array.members", "2", "from 3 (\"raid5\") to 24"]),
        (
            &["array.level=ec", "array.parities=0"],
            &["array.parities = 0", "from 1 to 22", "\"ec\""],
        ),
        (&["array.level=ec", "array.parities=23"], &["array.parities = 23", "from 1 to 22"]),
        (&["array.level=ec"], &["array.members = 4", "from 5 (\"ec\") to 24"]),
        (&["array.level=ec", "array.parities=-1"], &["array.parities"]),
        (&["array.extra_reads=1"], &["array.extra_reads = 1", "from 0 to 0", "3 other", "3 are"]),
        (
            &["array.level=ec", "array.members=8", "array.extra_reads=3"],
            &["array.extra_reads = 3", "from 0 to 2", "7 other", "5 are read", "\"ec\""],
        ),
        (
            &["array.level=raid0", "array.extra_reads=1"],
            &["array.extra_reads = 1", "nothing to compute a page from"],
        ),
        (&["array.members=0"], &["array.members", "0", "1 (a drive alone) or more"]),
        (
            &["array.members=1", "array.strategy=ioda"],
            &["array.strategy", "ioda", "array.members of 2 or more"],
        ),
        (&["array.chunk=6KiB"], &["array.chunk", "6", "a multiple of the mapping unit"]),
        (&["array.guard=200ms"], &["array.window", "100ms", "array.guard"]),
        (&["array.window_norm=1ms"], &["array.window_norm", "1ms", "at least array.window"]),
        (&["array.slo=0s"], &["array.slo", "0", "longer than 0s"]),
        (&["array.destage_depth=0"], &["array.destage_depth", "0", "1 or more rows"]),
        (&["array.rebuild_depth=0"], &["array.rebuild_depth", "0", "from 1 to 1024"]),
        (&["array.level=raid0", "array.strategy=iod1"], &["array.strategy", "iod1", "redundancy"]),
        (&["array.level=raid0", "array.fail_at=1s"], &["array.fail_at", "1s", "raid0"]),
        (&["array.fail_at=1s", "array.fail_member=4"], &["array.fail_member", "4", "from 0 to 3"]),
        (&["array.strategy=rails"], &["array.cache", "0B", "rails"]),
        (
            &["recovery.keep=true", "recovery.cut_at=1s"],
            &["recovery.cut_at", "1s", "a power loss of an array"],
        ),
        (&["precondition.overwrite=workload"], &["precondition.overwrite", "workload", "random"]),
        (&["precondition.state=aged"], &["precondition.state", "aged", "data and parity"]),
    ];
    for (sets, pieces) in mistakes {
        let message = answer(sets).unwrap_or_else(|| panic!("{sets:?} was taken"));
        for piece in *pieces {
            assert!(message.contains(piece), "{sets:?}: `{piece}` is not in: {message}");
        }
        assert!(!message.contains('\n'), "more than one line: {message}");
    }
}
