//! Flash operations per second, in batches timed by whoever runs this: the core has no clock.

use super::table2::{Mixture, prewritten, service};
use crate::ftl::log::{LogSpec, Victim};

/// Run it with `time`, in release: the operations that it prints, through the seconds that it takes, are the rate; the
/// floor is 10 M. It runs one FTL a time: set the row below by the name of the test.
fn run(spec: &LogSpec, writes: u32) {
    let mut ftl = prewritten(spec, 2048);
    let mut mixture = Mixture::new(2048 * 64, 1);
    (0..writes).for_each(|_| {
        service(&mut ftl, mixture.next());
    });
    let counters = ftl.counters();
    println!("{:?}: {} flash operations", spec.policy, counters.copies + counters.programs + counters.erases);
}

#[test]
#[ignore = "to be timed"]
fn bast_at_three_percent() {
    run(&LogSpec::bast(3.0), 4_000_000);
}

#[test]
#[ignore = "to be timed"]
fn fast_at_three_percent() {
    run(&LogSpec::fast(3.0), 20_000_000);
}

#[test]
#[ignore = "to be timed"]
fn faster_at_three_percent() {
    run(&LogSpec::faster(3.0), 20_000_000);
}

#[test]
#[ignore = "to be timed"]
fn superblock_at_twenty_five_percent() {
    run(&LogSpec::superblock(25.0), 4_000_000);
}

#[test]
#[ignore = "to be timed"]
fn last_at_three_percent() {
    run(&LogSpec::last(3.0), 10_000_000);
}

#[test]
#[ignore = "to be timed"]
fn page_mapping_at_three_percent() {
    run(&LogSpec::page_mapping(3.0), 20_000_000);
}

#[test]
#[ignore = "to be timed"]
fn cost_benefit_at_three_percent() {
    run(&LogSpec { victim: Victim::CostBenefit, ..LogSpec::page_mapping(3.0) }, 20_000_000);
}
