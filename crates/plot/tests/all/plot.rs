//! Plots: what they draw, in three formats, and what they refuse.

use manx_core::stats::{
    Attribution, Kind as Of, OpStats, OverTime, RunResult, RunTotals, SplitStats,
};
use manx_core::units::{Cause, Duration, Split};
use manx_plot::{Format, Kind, Length, Op, Plot};
use std::path::Path;

/// Reads of 1 to 1000 us, a millisecond apart, all of them service.
pub fn run(policy: &str) -> RunResult {
    let (mut read, mut split, mut over) =
        (OpStats::default(), SplitStats::default(), OverTime::default());
    for us in 1..=1000u64 {
        let latency = Duration::from_us(us);
        let mut parts = Split::NONE;
        parts.add(Cause::Service, latency);
        read.record(latency, 512);
        split.record(latency, &parts);
        over.record(Of::Read, Duration::from_ms(us), latency);
    }
    let attribution = Some(Attribution { read: split, ..Default::default() });
    let totals = RunTotals {
        policy: policy.into(),
        read,
        over_time: over,
        attribution,
        ..Default::default()
    };
    totals.into_result()
}

fn plot<'a>(runs: &'a [RunResult], kind: Kind, op: Op) -> Plot<'a> {
    let (width, height) = (Length::parse("72pt").unwrap(), Length::parse("2in").unwrap());
    Plot { runs, kind, op, title: Some("<Title> & more"), width, height }
}

const KINDS: [Kind; 4] = [Kind::Cdf, Kind::Time, Kind::Attribution, Kind::Bars];

#[test]
fn every_kind_is_drawn_in_every_format_and_the_same_twice() {
    let runs = [run("nogc"), run("a<b")];
    for kind in KINDS {
        let plot = plot(&runs, kind, Op::Read);
        for (format, start) in
            [(Format::Svg, &b"<svg"[..]), (Format::Pdf, b"%PDF-"), (Format::Png, b"\x89PNG")]
        {
            let bytes = plot.draw(format).unwrap();
            assert!(bytes.starts_with(start), "{kind:?} {format:?}");
            assert!(bytes == plot.draw(format).unwrap(), "{kind:?} {format:?} twice");
        }
    }
}

#[test]
fn a_png_has_600_dots_an_inch_and_an_svg_no_text_that_needs_a_font() {
    let runs = [run("nogc")];
    let plot = plot(&runs, Kind::Cdf, Op::Read);
    let png = plot.draw(Format::Png).unwrap();
    let size = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().unwrap());
    assert_eq!((size(16), size(20)), (600, 1200));
    let svg = String::from_utf8(plot.draw(Format::Svg).unwrap()).unwrap();
    assert!(!svg.contains("<text") && svg.contains("<path"));
}

#[test]
fn a_curve_goes_through_the_percentiles() {
    let runs = [run("nogc")];
    let svg = plot(&runs, Kind::Cdf, Op::Read).svg().unwrap();
    // The last line of the chart is the curve: 1 us at the left, 1000 us at the right. Its axis is
    // 1 us to 1 ms over three nines: p90 = 900 us is a third from the left, and log10(900) / 3 of
    // the height.
    let points = svg.rsplit_once("<polyline points=\"").unwrap().1.split_once('"').unwrap().0;
    let points: Vec<(f64, f64)> = points
        .split(' ')
        .map(|point| point.split_once(',').unwrap())
        .map(|(x, y)| (x.parse().unwrap(), y.parse().unwrap()))
        .collect();
    let (first, last) = (points[0], *points.last().unwrap());
    assert_eq!(points.len(), 50);
    let (wide, high) = (last.0 - first.0, first.1 - last.1);
    let p90 = points[16];
    assert!((p90.0 - first.0 - wide / 3.0).abs() < 0.02, "{p90:?}");
    assert!((first.1 - p90.1 - high * 900f64.log10() / 3.0).abs() < 0.02, "{p90:?}");
}

/// A slice of time with nothing on either side makes no line, and was not to be seen at all.
#[test]
fn regression_a_slice_alone_between_gaps_is_drawn() {
    let (mut read, mut over_time) = (OpStats::default(), OverTime::default());
    for ms in [5, 100, 200] {
        read.record(Duration::from_us(ms), 512);
        over_time.record(Of::Read, Duration::from_ms(ms), Duration::from_us(ms));
    }
    let runs =
        [RunTotals { policy: "nogc".into(), read, over_time, ..Default::default() }.into_result()];
    let svg = plot(&runs, Kind::Time, Op::Read).svg().unwrap();
    // One more is the sample in the legend.
    assert_eq!(svg.matches("<polyline").count(), 3 + 1, "{svg}");
}

#[test]
fn what_cannot_be_drawn_is_refused_with_its_reason() {
    let runs = [run("nogc"), RunTotals::default().into_result()];
    for kind in KINDS {
        let why = plot(&runs[..1], kind, Op::Write).draw(Format::Svg).unwrap_err();
        assert!(
            why.starts_with("nothing to plot: no run has")
                && why.ends_with("of writes; --op read draws the others"),
            "{why}"
        );
        assert!(
            plot(&runs, kind, Op::Read).draw(Format::Svg).is_ok(),
            "one of two runs has something"
        );
    }
    assert!(Format::of(Path::new("f.gif")).unwrap_err().contains("one of .svg, .pdf, .png"));
    assert!(Format::of(Path::new("f")).is_err());
    assert!(Kind::named("bas").unwrap_err().ends_with("; did you mean bars?"));
    assert!(Op::named("writes").unwrap_err().ends_with("; did you mean write?"));
    assert!(Kind::named("pie").unwrap_err().contains("cdf, time, attribution, bars"));
    for wrong in ["", "88", "mm", "88cm", "-3in", "1mm", "9e9mm", "nanmm"] {
        assert!(Length::parse(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn what_does_not_fit_is_cut_or_refused_with_the_height_that_it_needs() {
    let text = |svg: &str| {
        svg.split("<text")
            .skip(1)
            .map(|part| part.split(['>', '<']).nth(1).unwrap().to_string())
            .collect::<Vec<_>>()
    };
    let long =
        [run(&format!("first{}", "x".repeat(300))), run(&format!("first{}last", "x".repeat(300)))];
    for kind in KINDS {
        let names = text(
            &Plot { width: Length::parse("88mm").unwrap(), ..plot(&long, kind, Op::Read) }
                .svg()
                .unwrap(),
        );
        let cut = names.iter().filter(|name| name.contains('…')).collect::<Vec<_>>();
        assert!(
            cut.len() >= 2
                && cut.iter().all(|name| name.starts_with('f') && name.chars().count() < 60),
            "{kind:?}: {names:?}"
        );
        assert_ne!(cut[0], cut[1], "{kind:?}");
    }
    let many: Vec<RunResult> = (0..20).map(|number| run(&format!("policy-{number}"))).collect();
    for kind in KINDS {
        let plot = plot(&many, kind, Op::Read);
        let why = plot.draw(Format::Svg).unwrap_err();
        let height = why.rsplit_once("--height ").unwrap().1.split(' ').next().unwrap();
        assert!(why.starts_with("20 runs leave no room"), "{why}");
        assert!(
            Plot { height: Length::parse(height).unwrap(), ..plot }.draw(Format::Svg).is_ok(),
            "{kind:?}: {why}"
        );
    }
}
