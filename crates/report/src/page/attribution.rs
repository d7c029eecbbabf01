//! Why the tail is there: bars of the causes, and the slowest requests with their parts.

use super::escape;
use super::tables::table;
use crate::number::{count, latency, three_digits};
use crate::style::{band_words, cause_words, stage_words};
use manx_core::stats::{AttributionBand, CauseTimes, RunResult, SlowRequest, StageTimes};
use manx_core::units::Cause;
use std::fmt::Write;

/// A part of a bar from which on it is wide enough to be written upon.
const NAMED_PERCENT: f64 = 14.0;

/// The section of bars; without attribution, how to ask for it.
pub(super) fn bars(runs: &[RunResult]) -> String {
    let mut html =
        "<section aria-labelledby=\"h-why\">\n<h2 id=\"h-why\">What requests waited for</h2>\n"
            .to_string();
    if runs.iter().all(|run| run.attribution.is_none()) {
        html += "<p class=\"note\">Latencies were not split into their causes in this \
                 run: <code>--attribution</code> (or \
                 <code>measure.attribution=true</code>) does so.</p>\n";
        return html + "</section>\n";
    }
    html += "<p>The mean latency of the requests beyond each percentile, split into its causes. \
             The longer a bar, the longer they took: ten times as long is one step of a \
             logarithmic scale.</p>\n";
    html += &key(runs);
    for (name, write) in [("Reads", false), ("Writes", true)] {
        let mut rows = String::new();
        let means = || {
            runs.iter().flat_map(|run| told(bands_of(run, write))).map(|band| total(&band.mean_us))
        };
        let scale = Scale::over(means());
        for run in runs {
            for (place, own) in told(bands_of(run, write)).enumerate() {
                let (class, policy) = if place == 0 {
                    (" class=\"next\"", escape(&run.policy))
                } else {
                    ("", String::new())
                };
                let _ = write!(
                    rows,
                    "\n<tr{class}><th scope=\"row\">{policy}</th><td class=\"text\">{}</td>\
                     <td class=\"key\">{}</td><td>{}</td><td class=\"wide\">{}{}</td></tr>",
                    escape(&band_words(&own.band)),
                    latency(total(&own.mean_us)),
                    count(own.count),
                    bar(&own.mean_us, scale.percent(total(&own.mean_us))),
                    own.stages_us.as_ref().map_or_else(String::new, stages),
                );
            }
        }
        if !rows.is_empty() {
            html += &format!("<h3>{name}</h3>\n");
            html += &table(
                &format!("{name}: mean latency by cause"),
                &["policy", "<span>requests</span>", "mean", "count", "<span>causes</span>"],
                &rows,
            );
        }
    }
    html + "</section>\n"
}

fn bands_of(run: &RunResult, write: bool) -> &[AttributionBand] {
    match &run.attribution {
        Some(attribution) if write => &attribution.write,
        Some(attribution) => &attribution.read,
        None => &[],
    }
}

/// Without those that hold the same requests as the one before: where most latencies are equal,
/// many lie at p99.9.
pub fn told(bands: &[AttributionBand]) -> impl Iterator<Item = &AttributionBand> {
    let before = std::iter::once(None).chain(bands.iter().map(|band| Some(band.count)));
    bands
        .iter()
        .zip(before)
        .filter(|(band, before)| *before != Some(band.count))
        .map(|(band, _)| band)
}

fn total(parts: &CauseTimes) -> f64 {
    parts.all().iter().map(|(_, us)| us).sum()
}

/// The causes that occur, with their colours.
fn key(runs: &[RunResult]) -> String {
    let occurs = |cause: Cause| {
        runs.iter().filter_map(|run| run.attribution.as_ref()).any(|all| {
            all.read.iter().chain(&all.write).any(|band| band.mean_us.get(cause) > 0.0)
                || all.slowest.iter().any(|slow| slow.parts_us.get(cause) > 0.0)
        })
    };
    let mut html = "<ul class=\"key\" aria-label=\"Causes\">".to_string();
    for cause in Cause::ALL.into_iter().filter(|cause| occurs(*cause)) {
        let _ = write!(
            html,
            "<li><span class=\"c-{}\"></span>{}</li>",
            cause.name(),
            cause_words(cause)
        );
    }
    html + "</ul>\n"
}

/// How long bars are: a logarithmic scale, on which the longest latency takes all the room.
struct Scale {
    longest: f64,
}

/// Decades of a scale of bars.
const DECADES: f64 = 5.0;

/// No bar is shorter, in percent: its causes must be seen.
const SHORTEST: f64 = 12.0;

impl Scale {
    fn over(latencies: impl Iterator<Item = f64>) -> Self {
        Self { longest: latencies.fold(0.0, f64::max) }
    }

    /// Its share of the room.
    fn percent(&self, us: f64) -> f64 {
        let decades_less = if us > 0.0 { (self.longest / us).log10() } else { DECADES };
        (100.0 * (1.0 - decades_less / DECADES)).clamp(SHORTEST, 100.0)
    }
}

/// One latency as a bar of this much of the room; the words are for screen readers.
fn bar(parts: &CauseTimes, room: f64) -> String {
    let total = total(parts);
    let mut segments = String::new();
    let mut words: Vec<String> = Vec::new();
    for (cause, us) in parts.all().into_iter().filter(|(_, us)| *us > 0.0 && total > 0.0) {
        let percent = 100.0 * us / total;
        let said =
            format!("{} {} ({}\u{a0}%)", cause_words(cause), latency(us), three_digits(percent));
        let name = if percent * room / 100.0 >= NAMED_PERCENT { cause_words(cause) } else { "" };
        let _ = write!(
            segments,
            "<i class=\"c-{}\" style=\"width:{percent:.2}%\" title=\"{said}\" \
             data-us=\"{us}\">{name}</i>",
            cause.name()
        );
        words.push(said);
    }
    let said = words.join(", ");
    format!(
        "<div class=\"bar\" style=\"width:{room:.2}%\" role=\"img\" \
         aria-label=\"{said}\">{segments}</div>"
    )
}

/// The stages of an array's requests, the longest first.
fn stages(times: &StageTimes) -> String {
    let mut parts = times.all();
    parts.sort_by(|one, two| two.1.total_cmp(&one.1));
    let said: Vec<String> = parts
        .into_iter()
        .filter(|(_, us)| *us > 0.0)
        .map(|(stage, us)| format!("{} {}", stage_words(stage), latency(us)))
        .collect();
    format!("<span class=\"note\">{}</span>", said.join(", "))
}

/// The slowest requests of each run.
pub(super) fn slowest(runs: &[RunResult]) -> String {
    let mut html = String::new();
    for run in runs {
        let Some(attribution) = run.attribution.as_ref().filter(|all| !all.slowest.is_empty())
        else {
            continue;
        };
        let rows: String = attribution
            .slowest
            .iter()
            .enumerate()
            .map(|(number, slow)| slow_row(number, slow))
            .collect();
        let policy = escape(&run.policy);
        let open = if html.is_empty() { " open" } else { "" };
        let heads = [
            "",
            "<span>request</span>",
            "page",
            "came at",
            "took",
            "<span>mostly</span>",
            "<span>parts</span>",
            "<span>at the die</span>",
        ];
        let table = table(&format!("The slowest requests under {}", run.policy), &heads, &rows);
        let worst = attribution.slowest.first().map_or(0.0, |slow| slow.latency_us);
        let _ = writeln!(
            html,
            "<details{open}><summary>{policy} · the slowest took {}</summary>\n{table}</details>",
            latency(worst)
        );
    }
    if html.is_empty() {
        return html;
    }
    format!(
        "<section aria-labelledby=\"h-slow\">\n\
         <h2 id=\"h-slow\">The slowest requests</h2>\n{html}</section>\n"
    )
}

fn slow_row(number: usize, slow: &SlowRequest) -> String {
    let most = slow
        .parts_us
        .all()
        .into_iter()
        .reduce(|most, next| if next.1 > most.1 { next } else { most });
    let most = most
        .map_or_else(String::new, |(cause, us)| format!("{}, {}", cause_words(cause), latency(us)));
    let flash = slow.flash.as_ref().map_or_else(String::new, |flash| {
        let block = flash.block.map(|block| format!(" of block\u{a0}{block}")).unwrap_or_default();
        let met = match flash.met.as_str() {
            "closed" => "the channel held by GC",
            "gc_copy" => "a GC copy",
            "slot" => "its channel taken",
            "power" => "a wait for power",
            met => met,
        };
        let step = slow.steps.iter().find(|step| step.flash.as_ref() == Some(flash));
        let drive = step
            .and_then(|step| step.drive)
            .map(|drive| format!("drive\u{a0}{drive}, "))
            .unwrap_or_default();
        format!("{drive}die {}: met {}{block}", flash.die, escape(met))
    });
    format!(
        "\n<tr><th scope=\"row\">{}</th><td class=\"text\">{}, {} KiB</td><td>{}</td>\
         <td>{:.6}\u{a0}s</td><td class=\"key\">{}</td><td class=\"text\">{most}</td>\
         <td class=\"wide\">{}</td><td class=\"text\">{flash}</td></tr>",
        number + 1,
        escape(&slow.op),
        f64::from(slow.sectors) / 2.0,
        slow.lpn,
        slow.at_s,
        latency(slow.latency_us),
        bar(&slow.parts_us, 100.0),
    )
}

#[cfg(test)]
mod tests {
    use super::Scale;

    #[test]
    fn a_bar_of_half_a_second_is_longer_than_one_of_seven_milliseconds_and_none_vanishes() {
        let scale = Scale::over([7_670.0, 413_000.0].into_iter());
        assert_eq!(scale.percent(413_000.0), 100.0);
        // 1.73 decades less, of five.
        assert!((scale.percent(7_670.0) - 65.4).abs() < 0.1, "{}", scale.percent(7_670.0));
        assert_eq!((scale.percent(0.001), scale.percent(0.0)), (12.0, 12.0));
    }
}
