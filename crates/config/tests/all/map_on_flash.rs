//! The settings of a map that lies on flash, as a user meets them.

use manx_config::{Input, Override, Scenario, Source, load};
use manx_core::ftl::GcMode;

fn load_with(policy: &str, lines: &str, sets: &[&str]) -> Result<Scenario, String> {
    let good = "name = \"good\"\n[device]\nname = \"femu\"\n[gc]\nsoft = 0.08\n[workload]\n\
                requests = 1000\n";
    let scenario = Source { file: "scenarios/x.toml".to_string(), text: format!("{good}{lines}") };
    let overrides: Vec<Override> =
        sets.iter().map(|set| Override::from_set(set).unwrap()).collect();
    let input =
        Input { scenario: &scenario, device: None, policy: Some(policy), overrides: &overrides };
    load(&input).map_err(|error| error.to_string())
}

#[track_caller]
fn assert_says(message: &str, pieces: &[&str]) {
    for piece in pieces {
        assert!(message.contains(piece), "`{piece}` is not in: {message}");
    }
}

#[test]
fn a_map_on_flash_takes_spare_space_and_goes_with_no_parity_or_is_refused() {
    let under = |policy| load_with(policy, "", &[]);
    let refused = |sets: &[&str]| load_with("base", "", sets).unwrap_err();
    let (plain, map) = (under("base").unwrap(), under("preemptive/dftl").unwrap());
    assert!(!plain.ftl.map.is_cached());
    assert_eq!(
        (map.ftl.map.cache.get(), map.ftl.map.entries(), map.gc.mode),
        (65_536, 8_192, GcMode::Preemptive)
    );
    assert_eq!(under("base/dftl(1MiB)").unwrap().ftl.map.entries(), 131_072);
    assert_says(
        &under("dftl(many)").unwrap_err(),
        &["policy `dftl(many)`", "`many` is not allowed for cache"],
    );
    // The host sees as much; the map of it takes a page in 1024 more.
    assert_eq!(map.capacity(), plain.capacity());
    let user = plain.capacity().user.get() / 4096;
    assert_eq!(map.ftl.map.pages(user, 4096), user.div_ceil(1024));
    let refuse = |lines| load_with("base", lines, &[]).unwrap_err();
    assert_says(
        &refuse("[ftl.map]\ncache = \"4B\"\n"),
        &["ftl.map.cache = 4B", "at least one entry", "8B"],
    );
    assert_says(&refuse("[ftl.map]\nentry = \"0B\"\n"), &["ftl.map.entry = 0B", "from 1B"]);
    assert_says(&refuse("[ftl.map]\nstored = \"6B\"\n"), &["ftl.map.stored = 6B", "1B, 2B, 4B"]);
    assert_says(
        &refuse("[ftl.map]\nstored = \"8KiB\"\n"),
        &["ftl.map.stored = 8KiB", "map_unit = 4KiB"],
    );
    assert_says(&refuse("[ftl.map]\nprotected = 1.5\n"), &["ftl.map.protected = 1.5", "0 to 1"]);
    assert_says(
        &refuse("[ftl.map]\nbatches = true\n"),
        &["ftl.map.batches", "did you mean ftl.map.batch?"],
    );
    assert_says(
        &under("rain/dftl").unwrap_err(),
        &["ftl.map.cache = 64KiB", "rain.width = 8", "needs 0"],
    );
    let scrubbed = refused(&["ftl.map.cache=64KiB", "scrub.rate=10"]);
    assert_says(&scrubbed, &["ftl.map.cache = 64KiB", "scrub.rate", "needs 0"]);
    // The rest must still hold the reserve: an entry of a whole page doubles the valid pages.
    let full = refused(&["ftl.map.cache=64KiB", "ftl.map.stored=4KiB"]);
    assert_says(&full, &["device.op", "data and their map take"]);
}
