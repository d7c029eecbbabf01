//! The report says what the document says, and a file that is no fit is refused.

use super::{Fit, page, text};

const FIT: &str = r#"{
"name": "mine", "base": "tlc-enterprise", "partial": false,
"measurements": [{"name": "a<b", "state": "filled", "kind": "latencies"}],
"reads": {
  "runs": [{"name": "a<b",
    "measured": {"p50_us": 100.0, "p90_us": 120.0, "p99_us": 150.0, "p99_9_us": 200.0,
      "iops": 9000.0},
    "modelled": {"p50_us": 130.0, "p90_us": 160.0, "p99_us": 150.0, "p99_9_us": 200.0,
      "iops": 8000.0},
    "error_percentiles": 0.3, "error_held_out": 0.35, "explained": false}],
  "tested": [],
  "mean_error": {"percentiles": 0.3, "iops": 0.11, "percentiles_held_out": 0.35,
    "iops_held_out": 0.12},
  "contradictions": ["512 B: depth 16"],
  "parameters": [{"name": "drive.link", "source": "undetermined", "determined": false}]},
"writes": {"name": "waf", "parameters": [],
  "mean_error": [{"of": "fitted", "windows": 1, "waf": 0.02, "rate": 0.08}],
  "windows": [
    {"to": 0.5, "waf": 1.0, "waf_modelled": 1.1, "bytes_per_s": 5e9,
      "bytes_per_s_modelled": 4e9, "held_out": false},
    {"to": 1.5, "waf": 3.0, "waf_modelled": 2.9, "bytes_per_s": 2e9,
      "bytes_per_s_modelled": 2e9, "held_out": true}]},
"not_fitted": [{"name": "mix", "why": "writes"}]}"#;

#[test]
fn both_say_which_drive_on_what_and_how_far_off() {
    let fit = Fit::read(FIT, Some("a drive".to_string())).unwrap();
    let text = text(std::slice::from_ref(&fit));
    for words in [
        "mine: a drive",
        "fitted on  1 runs of random reads, 1 windows of a long write, up to 0.5 capacities",
        "tested on  each of 1 runs, left out in turn, 1 later windows",
        "in sample  percentiles 30.0 % off, IOPS 11.0 %",
        "left out   percentiles 35.0 % off, IOPS 12.0 %",
        "missed     not explained by any parameters: a<b",
        "suspect    512 B: depth 16",
        "open       not determined: drive.link",
        "not fitted mix (writes)",
        "100>130",
        "35.0 %  not explained",
    ] {
        assert!(text.contains(words), "{words}\n{text}");
    }
    let page = page(&[fit]);
    for words in ["<h2>mine</h2>", "a&lt;b", "100 / 130", "30.0 % / 35.0 %", "polyline", "held"] {
        assert!(page.contains(words), "{words}\n{page}");
    }
    assert!(!page.contains("a<b") && !page.contains("http"), "{page}");
}

#[test]
fn what_is_no_fit_is_refused_with_what_is_expected() {
    let cut = FIT.replacen("\"iops\": 9000.0", "\"x\": 1", 1);
    let window = FIT.replacen("\"waf\": 1.0, ", "", 1);
    for (document, words) in [
        ("{", "no whole JSON"),
        ("{}", "no report of a fit"),
        (cut.as_str(), "a run in it lacks a figure"),
        (window.as_str(), "a window in it lacks a figure"),
    ] {
        let error = Fit::read(document, None).unwrap_err();
        assert!(error.contains(words), "{error}");
    }
}
