//! Runs that no one drive in one state could have made, whatever its parameters.
//!
//! In a closed loop the mean time of a request is the requests under way over the rate (Little's
//! law). Stations that serve one request after the other make it grow faster the more are under
//! way: it is convex in their number (mean value analysis; Reiser and Lavenberg, J. ACM 27(2),
//! 1980). Where it grows much slower behind a depth than before it, the drive or the host changed
//! between the runs, or work was done for many requests at once.

use super::latency::left_out;
use crate::measure::Measurement;
use std::collections::BTreeMap;

/// A growth that is so many times the next one, and so large a part of the first time, is no noise.
const SLOWER: f64 = 2.0;
const LARGE: f64 = 0.25;

/// A read that takes less (us) was hardly one of flash, as far as drives are known, and more bytes
/// a second than this do not go over four lanes of PCIe 5.0.
const FAST: f64 = 10.0;
const FOUR_LANES: f64 = 16e9;

/// The runs that hardly any drive could have made, in words.
fn unlikely(measurement: &Measurement) -> Option<String> {
    let of = measurement.latencies().filter(|of| of.drives == 1)?;
    let (name, median, rate) = (&measurement.name, of.percentiles_us[0], of.iops * of.block as f64);
    match of {
        _ if of.is_read && median < FAST => Some(format!(
            "{name}: a median of {median:.1} us: the fastest flash, with its controller and its \
             link, takes {FAST} us and more. Did a cache answer, or is the unit another one?"
        )),
        _ if rate > FOUR_LANES => Some(format!(
            "{name}: {:.1} GB a second, more than four lanes of PCIe 5.0 carry. Is it one drive?",
            rate / 1e9
        )),
        _ => None,
    }
}

/// The runs of one load at several depths that are suspect, in words, and those that are alone.
pub fn contradictions(measurements: &[Measurement]) -> Vec<String> {
    let mut loads: BTreeMap<(u64, bool, &str, u32), Vec<[f64; 2]>> = BTreeMap::new();
    for measurement in measurements.iter().filter(|of| left_out(of).is_none()) {
        let Some(of) = measurement.latencies() else { continue };
        let under_way = f64::from(of.depth) * f64::from(of.processes);
        let key = (of.block, of.is_read, of.engine.as_str(), of.processes);
        loads.entry(key).or_default().push([under_way, under_way / of.iops * 1e6]);
    }
    let fitted = measurements.iter().filter(|of| left_out(of).is_none());
    let mut found: Vec<String> = fitted.filter_map(unlikely).collect();
    for ((block, _, engine, _), mut points) in loads {
        points.sort_by(|a, b| a[0].total_cmp(&b[0]));
        points.dedup_by(|a, b| a[0] == b[0]);
        for three in points.windows(3) {
            let grows =
                |at: usize| (three[at + 1][1] - three[at][1]) / (three[at + 1][0] - three[at][0]);
            let (before, behind) = (grows(0), grows(1));
            let is_large = three[1][1] - three[0][1] > LARGE * three[0][1];
            if is_large && before > SLOWER * behind {
                let [a, b, c] = [three[0], three[1], three[2]];
                found.push(format!(
                    "{block} B under {engine}: a request takes {:.0}, {:.0} and {:.0} us with {}, \
                     {} and {} under way: {before:.1} us more for each at first, {behind:.1} then. \
                     Queues grow faster with depth, not slower: the drive or the host changed in \
                     between, or work was done for many at once",
                    a[1], b[1], c[1], a[0], b[0], c[0]
                ));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::{DriveState, Latencies, Measured};

    fn run(depth: u32, iops: f64) -> Measurement {
        let what = Measured::Latencies(Latencies {
            engine: "io_uring".to_string(),
            is_read: true,
            is_sequential: false,
            is_map: false,
            block: 512,
            depth,
            processes: 1,
            drives: 1,
            iops,
            mean_us: 0.0,
            percentiles_us: [50.0; 4],
            fast_us: None,
        });
        Measurement { name: depth.to_string(), state: DriveState::Filled, what }
    }

    #[test]
    fn a_read_faster_than_flash_and_a_rate_of_more_than_four_lanes_are_suspect() {
        let mut fast = run(1, 150_000.0);
        let Measured::Latencies(of) = &mut fast.what else { panic!() };
        of.percentiles_us = [6.3; 4];
        let found = contradictions(&[fast]);
        assert!(found[0].contains("1: a median of 6.3 us") && found.len() == 1, "{found:?}");
        let mut wide = run(64, 330_000.0);
        let Measured::Latencies(of) = &mut wide.what else { panic!() };
        of.block = 65_536;
        let found = contradictions(&[wide]);
        assert!(found[0].contains("21.6 GB a second") && found.len() == 1, "{found:?}");
    }

    #[test]
    fn a_time_that_grows_slower_behind_a_depth_is_suspect() {
        // Of the Samsung 980 PRO at 512 B, and at 4 KiB.
        let found = contradictions(&[run(64, 367_446.0), run(1, 18_844.0), run(16, 143_125.0)]);
        assert_eq!(found.len(), 1);
        assert!(found[0].contains("53, 112 and 174 us with 1, 16 and 64"), "{found:?}");
        let good = contradictions(&[run(1, 14_483.0), run(16, 208_335.0), run(64, 382_915.0)]);
        assert_eq!(good, Vec::<String>::new());
        // A station of 1 us behind a delay of 10 us, from where it is full.
        let station = |depth: u32| run(depth, 1e6 * f64::from(depth) / f64::from(depth).max(10.0));
        assert_eq!(contradictions(&[station(1), station(16), station(64)]), Vec::<String>::new());
    }
}
