//! Data of the page's charts, as the JSON in it.

use crate::style::{POLICY_COLOURS, policy_dash};
use manx_core::stats::{Curve, LatencySummary, OverTimeReport, RunSet, SliceTimes};
use manx_lab::table::RECORDED;
use serde::Serialize;

/// The document in `<script id="data">`.
#[derive(Serialize)]
struct Data<'a> {
    policies: Vec<Policy<'a>>,
}

#[derive(Serialize)]
struct Policy<'a> {
    name: &'a str,
    /// Which of the page's colours.
    colour: usize,
    dash: &'a [u8],
    read: Op<'a>,
    write: Op<'a>,
}

#[derive(Serialize)]
struct Op<'a> {
    cdf: &'a Curve,
    time: Option<Time<'a>>,
}

#[derive(Serialize)]
struct Time<'a> {
    start_s: f64,
    slice_s: f64,
    mean: &'a [Option<f64>],
    p99: &'a [Option<f64>],
    max: &'a [Option<f64>],
}

/// The data of a set, in a form that no text inside can end: `<`, `>` and `&` are written as
/// escapes of JSON, and so are the two ends of line that JavaScript knows and JSON does not.
pub(super) fn json(set: &RunSet) -> String {
    let policies = set.runs.iter().enumerate().map(|(number, run)| Policy {
        name: &run.policy,
        colour: number % POLICY_COLOURS.len(),
        dash: policy_dash(number),
        read: op(&run.read, run.over_time.as_ref().map(|over| (over, &over.read))),
        write: op(&run.write, run.over_time.as_ref().map(|over| (over, &over.write))),
    });
    let number = set.runs.len();
    let recorded = set.recorded().map(|recorded| Policy {
        name: RECORDED,
        colour: number % POLICY_COLOURS.len(),
        dash: policy_dash(number),
        read: op(&recorded.read, None),
        write: op(&recorded.write, None),
    });
    let data = Data { policies: policies.chain(recorded).collect() };
    // Plain data: nothing in it that serde_json can refuse.
    let text = serde_json::to_string(&data).unwrap_or_default();
    text.replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029")
}

fn op<'a>(summary: &'a LatencySummary, times: Option<(&OverTimeReport, &'a SliceTimes)>) -> Op<'a> {
    let time = times.filter(|(_, times)| !times.count.is_empty()).map(|(over, times)| Time {
        start_s: over.start_s,
        slice_s: over.slice_s,
        mean: &times.mean_us,
        p99: &times.p99_us,
        max: &times.max_us,
    });
    Op { cdf: &summary.curve, time }
}
