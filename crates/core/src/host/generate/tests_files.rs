//! Requests that go to several files in turn, and jobs that draw the same.

use super::*;
use crate::host::Pattern;
use crate::units::Bytes;

/// Sectors of a file, and of a device that is nearly three of them.
const FILE: u64 = 1_024;
const DEVICE: u64 = 3 * FILE + 7;

fn places(spec: &JobSpec, job: usize) -> Vec<u64> {
    let mut generator = Generator::new(spec, DEVICE, 1, job).unwrap();
    std::iter::from_fn(|| generator.next_request()).map(|request| request.lba.0).collect()
}

fn spec(pattern: Pattern) -> JobSpec {
    let block_sizes = vec![(Bytes::kib(4), 1.0)];
    JobSpec { pattern, files: 3, requests: 3 * FILE / 8, block_sizes, ..JobSpec::default() }
}

#[test]
fn requests_go_to_the_files_in_turn_and_each_has_its_pattern() {
    for pattern in [Pattern::Random, Pattern::Sequential, Pattern::Shuffle, Pattern::Zipf] {
        let places = places(&spec(pattern), 0);
        let file = |(number, lba): (usize, &u64)| lba / FILE == number as u64 % 3;
        assert!(places.iter().enumerate().all(file), "{pattern:?}: {places:?}");
        let of = |file: usize| places.iter().skip(file).step_by(3).map(|lba| lba % FILE);
        let mut sorted: Vec<u64> = of(1).collect();
        sorted.sort_unstable();
        sorted.dedup();
        // Each block of each file once in a pass.
        let visits = matches!(pattern, Pattern::Sequential | Pattern::Shuffle);
        assert_eq!(sorted.len() as u64 == FILE / 8, visits, "{pattern:?}");
        if pattern != Pattern::Sequential {
            assert_ne!(of(0).collect::<Vec<_>>(), of(2).collect::<Vec<_>>(), "{pattern:?}");
        }
    }
}

#[test]
fn jobs_of_one_sequence_draw_the_same_places_and_others_do_not() {
    let own = spec(Pattern::Random);
    assert_ne!(places(&own, 0), places(&own, 1));
    let shared = JobSpec { sequence: 4, ..own.clone() };
    assert_eq!(places(&shared, 0), places(&shared, 1));
    // A read and a write of one sequence meet at the same place.
    let writes = JobSpec { read_percent: 0.0, ..shared.clone() };
    assert_eq!(places(&shared, 0), places(&writes, 1));
    assert_ne!(places(&shared, 0), places(&JobSpec { sequence: 5, ..own }, 0));
}

#[test]
fn a_job_without_files_or_whose_files_hold_no_request_is_refused() {
    let none = JobSpec { files: 0, ..spec(Pattern::Random) };
    let error = Generator::new(&none, DEVICE, 1, 0).unwrap_err();
    assert_eq!((error.key, error.value.as_str()), ("files", "0"));
    let many = JobSpec { files: 1_000, ..spec(Pattern::Random) };
    assert!(Generator::new(&many, DEVICE, 1, 0).is_err());
}
