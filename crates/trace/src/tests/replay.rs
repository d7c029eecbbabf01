//! Traces fitted to a device and played.

use super::super::TraceSource;
use super::*;
use crate::Remap;
use manx_base::{Request, RequestSource};
use std::sync::atomic::{AtomicU32, Ordering};

fn play(spec: &TraceSpec, capacity: u64, text: &str) -> (Vec<Request>, TraceSource) {
    let (mut source, _) = TraceSource::new(spec, capacity, opener(text)).unwrap();
    let requests = std::iter::from_fn(|| source.next_request()).collect();
    (requests, source)
}

fn with(remap: Remap) -> TraceSpec {
    TraceSpec { remap, ..spec() }
}

fn places(requests: &[Request]) -> Vec<(u64, u32)> {
    requests.iter().map(|r| (r.lba.0, r.sectors)).collect()
}

fn times(requests: &[Request]) -> Vec<u64> {
    requests.iter().map(|r| r.at.as_ns()).collect()
}

#[test]
fn devices_are_laid_one_after_the_other() {
    // Device 0 ends at sector 96; device 2 starts there, since 96 is on a page boundary.
    let (requests, _) = play(&spec(), 272, ASCII);
    assert_eq!(places(&requests), [(80, 8), (96 + 160, 16), (88, 8)]);
}

#[test]
fn an_address_beyond_the_device_names_the_line_and_the_way_out() {
    let error = TraceSource::new(&spec(), 271, opener(ASCII)).err().unwrap().to_string();
    for part in ["t.trace:2", "16 sectors at LBA 256", "271 sectors", "--remap"] {
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn modulo_folds_and_shifts_what_straddles_the_end() {
    let (requests, source) = play(&with(Remap::Modulo), 84, ASCII);
    assert_eq!(places(&requests), [(76, 8), (256 % 84, 16), (4, 8)]);
    assert_eq!(source.altered().get("address folded modulo the device"), 2);
    assert_eq!(source.altered().get("shifted down from across the device's end"), 1);
}

#[test]
fn a_request_larger_than_the_device_is_cut() {
    let (requests, source) = play(&with(Remap::Modulo), 10, "0 0 25 8 1\n1 0 0 1000 0\n");
    assert_eq!(places(&requests), [(2, 8), (0, 10)]);
    assert_eq!(source.altered().get("larger than the device: cut"), 1);
}

#[test]
fn dense_packs_touched_extents_in_address_order() {
    let (requests, source) = play(&with(Remap::Dense), 32, ASCII);
    assert_eq!(places(&requests), [(0, 8), (16, 16), (8, 8)]);
    assert_eq!(
        (source.footprint_sectors(), source.altered().get("address folded modulo the device")),
        (Some(32), 0)
    );
}

#[test]
fn dense_folds_where_the_footprint_still_exceeds_the_device() {
    let (requests, source) = play(&with(Remap::Dense), 16, ASCII);
    assert_eq!(places(&requests), [(0, 8), (0, 16), (8, 8)]);
    assert_eq!(source.altered().get("address folded modulo the device"), 1);
}

#[test]
fn a_trim_is_no_footprint_and_follows_the_packing() {
    let trace = "\
8,0 0 1 0.000000000 1 D W 8000 + 8 [p]
8,0 0 2 0.000000001 1 D W 16000 + 8 [p]
8,0 0 3 0.000000002 1 D D 0 + 100000 [p]
8,0 0 4 0.000000003 1 D D 0 + 100 [p]
";
    let (requests, source) = play(&with(Remap::Dense), 1000, trace);
    assert_eq!(places(&requests), [(0, 8), (8, 8), (0, 16)]);
    assert_eq!(source.dropped().get("trim of space that nothing uses"), 1);
}

#[test]
fn scale_maps_the_span_to_the_device_and_keeps_alignment() {
    let (requests, _) = play(&with(Remap::Scale), 272 / 2, ASCII);
    assert_eq!(places(&requests), [(40, 8), (120, 16), (40, 8)]);
}

#[test]
fn a_repetition_follows_after_a_mean_gap() {
    let (requests, source) = play(&TraceSpec { repeat: 3, ..spec() }, 1000, ASCII);
    // Span 1500 ns, three requests: the mean gap is 750 ns.
    assert_eq!(times(&requests), [0, 500, 1500, 2250, 2750, 3750, 4500, 5000, 6000]);
    assert_eq!(source.total_requests(), 9);
}

#[test]
fn times_scale_exactly() {
    let (requests, _) = play(&TraceSpec { rate_scale: 10.0, repeat: 2, ..spec() }, 1000, ASCII);
    assert_eq!(times(&requests), [0, 50, 150, 225, 275, 375]);
}

#[test]
fn settings_out_of_range_are_refused() {
    for (key, spec) in [
        ("repeat", TraceSpec { repeat: 0, ..spec() }),
        ("rate_scale", TraceSpec { rate_scale: 0.0, ..spec() }),
        ("rate_scale", TraceSpec { rate_scale: f64::NAN, ..spec() }),
        (
            "584 years",
            TraceSpec {
                rate_scale: 1e-6,
                repeat: u32::MAX,
                time_unit: Some(TimeUnit::S),
                ..spec()
            },
        ),
    ] {
        let error = TraceSource::new(&spec, 1000, opener(ASCII)).err().unwrap().to_string();
        assert!(error.contains(key), "{error}");
    }
    assert!(TraceSource::new(&spec(), 0, opener(ASCII)).is_err());
}

#[test]
fn a_file_that_changes_under_the_replay_ends_it_with_an_error() {
    for later in [
        "1000 0 80 8 1\n",
        "1000 0 80 8 1\n9 junk\n",
        "1 0 0 8 1\n2 1 0 8 1\n3 2 0 8 1\n4 3 0 8 1\n",
        "",
    ] {
        let opened = AtomicU32::new(0);
        // Opened for the sniffer and the survey, then for the replay.
        let open: Opener = Box::new(move || {
            let text = if opened.fetch_add(1, Ordering::Relaxed) < 2 { ASCII } else { later };
            Ok(vec![part(text)])
        });
        let (mut source, _) = TraceSource::new(&spec(), 1000, open).unwrap();
        let count = std::iter::from_fn(|| source.next_request()).count();
        assert!(
            count <= 3 && source.error().is_some() && source.next_request().is_none(),
            "{later:?}"
        );
    }
}
