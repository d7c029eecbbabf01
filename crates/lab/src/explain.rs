//! Results in words: where the time of the tail went, and the story of each of the slowest
//! requests.

use crate::table::cell;
use manx_core::stats::{
    AttributionBand, AttributionReport, CauseTimes, RunSet, SlowFlash, SlowRequest, SlowStep,
    StageTimes,
};
use manx_core::units::{Cause, Stage};
use std::fmt::Write;

/// Parts below this share of a latency are added up as "the rest".
const SMALL: f64 = 0.01;

/// Which requests are told of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kinds {
    /// All of them.
    All,
    /// Reads only.
    Reads,
    /// Writes only.
    Writes,
}

/// For each policy whose requests were split a line of its reads and one of its writes: where the
/// farthest band spent its time. Empty if none was.
pub fn summary(set: &RunSet) -> String {
    let width = set.runs.iter().map(|run| run.policy.len()).max().unwrap_or(0);
    let split = set.runs.iter().filter_map(|run| Some((&run.policy, run.attribution.as_ref()?)));
    let lines = split.flat_map(|(policy, attribution)| {
        let last = [("reads", &attribution.read), ("writes", &attribution.write)]
            .map(|(kind, bands)| told(bands).last().map(|band| band_line(kind, band)));
        last.into_iter().flatten().map(move |line| format!("{policy:<width$}  {line}\n"))
    });
    lines.collect()
}

/// Everything that is known of where the time went: a table of bands for each run, and the stories
/// of up to `slowest` requests of each kind.
pub fn explain(set: &RunSet, kinds: Kinds, slowest: usize) -> Result<String, String> {
    let mut text = String::new();
    for run in &set.runs {
        let Some(attribution) = &run.attribution else {
            return Err(format!(
                "{}: its requests were not split into causes: run it with --attribution, or with \
                 measure.attribution = true in the scenario",
                run.policy
            ));
        };
        let _ = writeln!(
            text,
            "{} under {}, seed {}",
            plain(&run.scenario),
            plain(&run.policy),
            run.seed
        );
        let AttributionReport { read, write, slowest_reads, slowest_writes, .. } = attribution;
        if kinds != Kinds::Writes {
            text += &bands_and_stories(
                "reads",
                read,
                &list_of(attribution, slowest_reads, "read"),
                slowest,
            );
        }
        if kinds != Kinds::Reads {
            text += &bands_and_stories(
                "writes",
                write,
                &list_of(attribution, slowest_writes, "write"),
                slowest,
            );
        }
        if kinds == Kinds::All {
            let others: Vec<&SlowRequest> = attribution
                .slowest
                .iter()
                .filter(|slow| !matches!(slow.op.as_str(), "read" | "write"))
                .collect();
            text += &bands_and_stories("flushes and deallocations", &[], &others, slowest);
        }
        text.push('\n');
    }
    Ok(text)
}

/// The slowest of a kind. An older result has one list of all kinds.
fn list_of<'a>(
    attribution: &'a AttributionReport,
    own: &'a [SlowRequest],
    op: &str,
) -> Vec<&'a SlowRequest> {
    match own {
        [] => attribution.slowest.iter().filter(|slow| slow.op == op).collect(),
        own => own.iter().collect(),
    }
}

fn bands_and_stories(
    kind: &str,
    bands: &[AttributionBand],
    slow: &[&SlowRequest],
    slowest: usize,
) -> String {
    let mut text = String::new();
    for band in told(bands) {
        let _ = writeln!(text, "  {}", band_line(kind, band));
        if let Some(stages) = &band.stages_us {
            let _ = writeln!(text, "    {}", stages_line(stages));
        }
    }
    if slowest > 0 && !slow.is_empty() {
        let _ = writeln!(text, "  slowest {kind}:");
    }
    for (number, request) in slow.iter().take(slowest).enumerate() {
        let _ = writeln!(text, "  {:>2}. {}", number + 1, story(request));
    }
    text
}

/// Without those that hold the same requests as the one before: where most latencies are equal,
/// many lie at p99.9.
fn told(bands: &[AttributionBand]) -> impl Iterator<Item = &AttributionBand> {
    let before = std::iter::once(None).chain(bands.iter().map(|band| Some(band.count)));
    bands
        .iter()
        .zip(before)
        .filter(|(band, before)| *before != Some(band.count))
        .map(|(band, _)| band)
}

/// A text that another wrote, in one line.
fn plain(text: &str) -> String {
    text.replace(char::is_control, " ")
}

/// "1023 reads from p99.9 on (12.3ms or more): 14.2ms on average = 61 % GC copies + .."
fn band_line(kind: &str, band: &AttributionBand) -> String {
    let AttributionBand { band: name, from_us, count, mean_us, .. } = band;
    let which = match name.as_str() {
        "all" => format!("all {count} {kind}"),
        name => {
            format!(
                "{count} {kind} from {} on ({} or more)",
                plain(name).replace('_', "."),
                cell::latency(*from_us)
            )
        }
    };
    let total: f64 = mean_us.all().iter().map(|(_, us)| us).sum();
    let shares = shares(&mean_us.all().map(|(cause, us)| (noun(cause), us)));
    let shares = if shares.is_empty() { shares } else { format!(" = {shares}") };
    format!("{which}: {} on average{shares}", cell::latency(total))
}

/// The mean time of an array's requests, by stage.
fn stages_line(stages: &StageTimes) -> String {
    format!("by stage: {}", shares(&stages.all().map(|(stage, us)| (activity(stage), us))))
}

/// "61 % one + 30 % another + ..", the largest first.
fn shares(parts: &[(&str, f64)]) -> String {
    let mut parts = parts.to_vec();
    parts.sort_by(|one, two| two.1.total_cmp(&one.1));
    let total: f64 = parts.iter().map(|(_, us)| us).sum();
    let shares = parts.iter().filter(|(_, us)| *us >= SMALL * total && *us > 0.0);
    let shares: Vec<String> = shares
        .map(|(what, us)| format!("{} % {what}", cell::three_digits(100.0 * us / total)))
        .collect();
    shares.join(" + ")
}

/// Activity of an array's request in a stage.
fn activity(stage: Stage) -> &'static str {
    match stage {
        Stage::Read => "reading its own drive",
        Stage::Retry => "on commands that brought nothing",
        Stage::Reconstruct => "reading the rest of its row",
        Stage::Xor => "computing the page",
        Stage::PreRead => "reading old pages for the parity",
        Stage::Write => "writing data and parity",
        Stage::Flush => "flushing the drives",
        Stage::Stripe => "waiting for its row",
        Stage::Cache => "waiting for room in the array's memory",
    }
}

/// A cause where it is one of a sum.
fn noun(cause: Cause) -> &'static str {
    match cause {
        Cause::Service => "own work",
        Cause::Erase => "behind erases",
        Cause::Program => "behind programs",
        Cause::GcCopy => "behind GC copies",
        Cause::Reads => "behind other reads",
        Cause::Channel => "behind other transfers",
        Cause::Link => "host link",
        Cause::Queue => "in the queue",
        Cause::Buffer => "for the write buffer itself",
        Cause::Suspension => "suspending and resuming",
        Cause::Reconstruct => "for parity members",
        Cause::Retry => "on commands that brought nothing",
        Cause::Stripe => "for the row",
        Cause::Space => "for a free block",
        Cause::Flush => "behind a flush",
    }
}

/// A request in words, its largest part first.
pub fn story(request: &SlowRequest) -> String {
    let SlowRequest { op, lpn, sectors, at_s, latency_us, parts_us, flash, steps, .. } = request;
    let what = match op.as_str() {
        "flush" => "flush".to_string(),
        op if *sectors == 8 => format!("{} of LPN {lpn}", plain(op)),
        op => format!("{} of {sectors} sectors from LPN {lpn}", plain(op)),
    };
    if steps.is_empty() {
        let parts = told_parts(parts_us, *latency_us, *latency_us, op, flash.as_ref());
        return format!(
            "{what} at {at_s:.6} s: {parts}{}",
            notes(parts_us, *latency_us, op, flash.as_ref())
        );
    }
    let steps: Vec<String> = steps.iter().map(|step| told_step(step, *latency_us, op)).collect();
    format!("{what} at {at_s:.6} s took {}: {}", cell::latency(*latency_us), steps.join(", then "))
}

/// The parts of `whole`, the largest first; what is small beside `latency` is added up.
fn told_parts(
    parts: &CauseTimes,
    whole: f64,
    latency: f64,
    op: &str,
    flash: Option<&SlowFlash>,
) -> String {
    let mut parts = parts.all();
    parts.sort_by(|one, two| two.1.total_cmp(&one.1));
    let (large, small): (Vec<_>, Vec<_>) =
        parts.into_iter().filter(|(_, us)| *us > 0.0).partition(|(_, us)| *us >= SMALL * latency);
    let mut said: Vec<String> = Vec::new();
    for (number, (cause, us)) in large.iter().enumerate() {
        let of = if number == 0 { format!(" of {}", cell::latency(whole)) } else { String::new() };
        said.push(format!("{}{of} {}", cell::latency(*us), phrase(*cause, op, flash)));
    }
    let rest: f64 = small.iter().map(|(_, us)| us).sum();
    if rest > 0.0 {
        said.push(format!("{} other", cell::latency(rest)));
    }
    said.join(", ")
}

/// Further notes on the operation at the die: whose it was, and that garbage collection went first.
fn notes(parts: &CauseTimes, latency: f64, op: &str, flash: Option<&SlowFlash>) -> String {
    let Some(flash) = flash else { return String::new() };
    let mut notes = String::new();
    let waited = latency - parts.service - parts.link - parts.queue;
    if flash.makes_room && waited >= SMALL * latency {
        notes += &match op {
            "write" => format!(
                "; it waited for room in the write buffer, longest for a row on die {}",
                flash.die
            ),
            _ => format!(
                "; it waited for rows of the write buffer, longest for one on die {}",
                flash.die
            ),
        };
    }
    if flash.forced && parts.gc_copy + parts.erase + parts.space >= SMALL * latency {
        notes += "; garbage collection was forced: at the critical watermark \
                  (gc.hard) it goes before the host";
    }
    notes
}

/// A step of an array's request, with its parts where they are worth it.
fn told_step(step: &SlowStep, latency: f64, op: &str) -> String {
    let SlowStep { stage, drive, took_us, parts_us, flash, .. } = step;
    let stage = Stage::ALL.into_iter().find(|known| known.name() == stage);
    let (doing, took) = (stage.map_or("doing something else", activity), cell::latency(*took_us));
    let which = match (stage, drive) {
        (Some(Stage::Retry), Some(drive)) => {
            return format!("{took} on drive {drive}, which brought nothing");
        }
        (_, None) => return format!("{took} {doing}"),
        (Some(Stage::Read), Some(drive)) => format!("{took} reading drive {drive}"),
        (_, Some(drive)) => format!("{took} {doing}, drive {drive} last"),
    };
    if *took_us < SMALL * latency {
        return which;
    }
    let notes = notes(parts_us, latency, op, flash.as_ref());
    format!("{which} ({}{notes})", told_parts(parts_us, *took_us, latency, op, flash.as_ref()))
}

/// Phrase for a part of a latency, with the place and the culprit where they are known.
fn phrase(cause: Cause, op: &str, flash: Option<&SlowFlash>) -> String {
    let die = flash.map_or("its die".to_string(), |flash| format!("die {}", flash.die));
    let met = |what: &str| flash.filter(|flash| flash.met == what);
    let begun = |flash: &SlowFlash| match flash.block {
        Some(block) => format!(" of block {block} on {die}, begun at {:.6} s", flash.since_s),
        None => format!(" on {die}"),
    };
    match cause {
        Cause::Service => "own work".to_string(),
        Cause::Erase => match met("erase") {
            Some(flash) => format!("behind the erase{}", begun(flash)),
            None => format!("behind an erase on {die}"),
        },
        Cause::Program => match met("program") {
            Some(flash) => format!("behind the program{}", begun(flash)),
            None => format!("behind programs on {die}"),
        },
        Cause::GcCopy => match (met("gc_copy"), met("closed")) {
            (Some(flash), _) => {
                format!("behind garbage collection: it met the copying{}", begun(flash))
            }
            (_, Some(flash)) => format!(
                "behind garbage collection, which kept the channel of {die} \
                 for itself from {:.6} s on",
                flash.since_s
            ),
            _ => format!("behind garbage collection's copies on {die} or its channel"),
        },
        Cause::Reads => format!("behind other reads on {die}"),
        Cause::Channel => format!("behind other requests' transfers on the channel of {die}"),
        Cause::Link => "on the host link".to_string(),
        Cause::Queue => "waiting for its turn in the drive's queue".to_string(),
        Cause::Buffer if op == "write" => {
            "waiting for the write buffer, none of whose rows was on its way".to_string()
        }
        Cause::Buffer => "waiting for the write buffer to reach flash".to_string(),
        Cause::Suspension => format!("suspending and resuming on {die}"),
        Cause::Reconstruct => "waiting for the other members of a parity stripe".to_string(),
        Cause::Retry => "on commands that brought nothing".to_string(),
        Cause::Stripe => "waiting for its row".to_string(),
        Cause::Flush => format!("behind rows that a flush sent to {die}"),
        Cause::Space => format!(
            "for a free block, which garbage collection had to reclaim, while {die} stood idle"
        ),
    }
}

#[cfg(test)]
mod tests;
