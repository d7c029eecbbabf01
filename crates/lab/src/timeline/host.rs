//! Requests of a real host's block layer, above the drives that they are for.

use super::proto::{Args, Trace, Track};
use super::{apart, name_of_op};
use manx_core::drive::TimelineSpec;
use manx_core::flash::Room;
use manx_core::host::BlockRequest;
use std::collections::BTreeMap;

/// Writes a group of tracks for each disk: every request from the queue to its completion, and
/// within it how long it was the drive's.
pub(super) fn write(
    trace: &mut Trace,
    root: Track,
    asked: &[BlockRequest],
    spec: &TimelineSpec,
) -> Room {
    let TimelineSpec { from, to, limit, .. } = *spec;
    let mut room = Room { from, to, limit, kept: 0, left_out: 0, full_at: None };
    let mut by_disk: BTreeMap<&str, Vec<&BlockRequest>> = BTreeMap::new();
    for one in asked.iter().filter(|one| one.ended > from && one.queued < to) {
        if room.kept == limit {
            room.left_out += 1;
            room.full_at.get_or_insert(one.queued);
            continue;
        }
        room.kept += 1;
        by_disk.entry(&one.disk).or_default().push(one);
    }
    for (rank, (disk, mut requests)) in (0..).zip(by_disk) {
        let group = trace.group(Some(root), disk, rank);
        requests.sort_by_key(|one| one.queued);
        for requests in apart(requests, |one| (one.queued, one.ended)) {
            let track = trace.track(group, disk, 0);
            requests.into_iter().for_each(|one| write_one(trace, track, one));
        }
    }
    room
}

fn write_one(trace: &mut Trace, track: Track, one: &BlockRequest) {
    let BlockRequest { op, lba, sectors, queued, issued, ended, process, .. } = *one;
    let args = Args::default().uint("lba", lba.0).uint("sectors", sectors.into());
    let args = args.uint("process", process.into());
    trace.begin(track, queued, name_of_op(op), &args);
    if issued < ended {
        trace.slice(track, (issued, ended), "at the drive", &Args::default());
    }
    trace.end(track, ended);
}
