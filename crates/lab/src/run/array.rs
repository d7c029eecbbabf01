//! What must be said of an array and its members.

use manx_core::array::{Array, Failure};
use manx_core::drive::Storage;
use manx_core::units::Instant;

/// What must be said of an array: of every member that failed, refuses writes or turned read-only,
/// and of pages that found no member.
pub(super) fn warnings(array: &Array) -> Vec<String> {
    let mut warnings: Vec<String> = array
        .failures()
        .iter()
        .filter(|failure| failure.refused)
        .map(|failure| failed(array, failure))
        .collect();
    for drive in 0..array.drives() {
        let known = array.failures().iter().any(|failure| failure.drive == drive);
        let read_only_at = array.drive(drive).counters().faults.read_only_at;
        if let Some(at) = read_only_at.filter(|_| !known) {
            let at = seconds(at);
            let member = if drive < array.members() {
                format!("member {drive}")
            } else {
                "the spare".to_string()
            };
            warnings.push(format!(
                "{member} ran out of spare blocks and turned read-only after {at} s; it has refused no write yet"
            ));
        }
    }
    let counters = array.counters();
    if counters.refused_pages > 0 {
        warnings.push(format!(
            "no member could keep {} pages: their writes ended with an error, and are in no latency",
            counters.refused_pages
        ));
    }
    if counters.kept_pages > 0 {
        warnings.push(format!(
            "{} acknowledged pages found no member: they stay in the array's memory (array.cache), and are read there",
            counters.kept_pages
        ));
    }
    warnings
}

fn failed(array: &Array, failure: &Failure) -> String {
    let Failure { member, drive, at, read_only_at, is_read, .. } = *failure;
    let spare = if drive < array.members() { "" } else { ", the spare," };
    let at = seconds(at);
    let (did, why) = match read_only_at.map(seconds) {
        Some(since) => {
            let why =
                format!(" (it had run out of spare blocks and was read-only from {since} s on)");
            ("refused a write", why)
        }
        None => ("could not read what an update needed", String::new()),
    };
    let then = match is_read {
        true => {
            "no other drive has what it holds, so it is read on, and writes to it end with an error"
        }
        false => "the array failed it, and is degraded from then on",
    };
    format!("member {member}{spare} {did} after {at} s{why}: {then}")
}

fn seconds(at: Instant) -> f64 {
    at.since(Instant::START).as_s_f64()
}
