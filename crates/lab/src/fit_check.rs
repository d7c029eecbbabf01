//! Is a fitted profile as good as its trace? Both are played on three drives that collect garbage
//! as they go, and what collections do to them is compared.

use crate::compare::{Options, compare};
use crate::load::Request;
use crate::quantity::Quantities;
use crate::run::RunError;
use manx_config::{ConfigError, Override, Scenario, Source};
use std::fmt::Write;

/// Drives of the check, with the share of their raw capacity that is spare.
pub const DRIVES: [(&str, &str); 3] =
    [("ttflash-256g", "0.2"), ("femu", "0.2"), ("mqsim-default", "0.15")];
/// Figures that are compared, and what a profile lacks where they differ.
pub const FIGURES: [(&str, &str); 3] = [
    ("gc.blocked_reads_percent", "when requests come, or what they do one after the other"),
    ("flash.waf", "where writes come back to"),
    ("read.p99_us", "when requests come, or what they do one after the other"),
];
/// So much a figure of the profile may differ from the trace's.
pub const TOLERANCE: f64 = 0.2;
/// Room on the drive beside the pages that are asked for.
const ROOM: f64 = 1.02;
/// Blocks of a plane at least: below, a drive has no room for its open blocks.
const LEAST_BLOCKS: f64 = 24.0;

/// A figure of both.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    /// The drive.
    pub drive: &'static str,
    /// The figure.
    pub figure: &'static str,
    /// Part of the trace that the profile lacks where they differ.
    pub lack: &'static str,
    /// Of the trace; `None` where it has too few reads.
    pub trace: Option<f64>,
    /// Of the profile.
    pub profile: Option<f64>,
}

impl Compared {
    /// The profile's over the trace's; `None` where one is missing.
    pub fn ratio(&self) -> Option<f64> {
        let (trace, profile) = (self.trace?, self.profile?);
        Some(if trace == profile { 1.0 } else { profile / trace })
    }

    /// Within the tolerance; a figure that is missing on both sides is none that differs.
    pub fn is_near(&self) -> bool {
        match self.ratio() {
            Some(ratio) => (ratio - 1.0).abs() <= TOLERANCE,
            None => self.trace.is_none() && self.profile.is_none(),
        }
    }
}

/// Plays the trace, as `trace` reads it, and the profile on each drive, under Base. `pages` is how
/// many pages of 4 KiB are asked for. `None`: it was stopped.
pub fn check(
    trace: &[Override],
    profile: &Source,
    pages: u64,
    options: &Options<'_>,
) -> Result<Option<Vec<Compared>>, RunError> {
    let mut runs = Vec::new();
    for (drive, spare) in DRIVES {
        let blocks = blocks(drive, spare, pages)?;
        let own = |more: Vec<Override>| -> Result<Scenario, ConfigError> {
            Request::of(scenario(drive, spare, blocks), more)?.with_trace_from_here().under("base")
        };
        let set = |key: &str, value: &str| Override::new(key, value, "the check of a fit");
        let replay = [set("workload.trace.remap", "\"dense\"")];
        runs.push((drive.to_string(), own(trace.iter().cloned().chain(replay).collect())?));
        let workload = Override::workload(profile.clone(), None, "the fitted profile".to_string());
        runs.push((drive.to_string(), own(vec![workload, set("measure.warmup_requests", "0")])?));
    }
    let ended = compare(&runs, options)?;
    if ended.len() < runs.len() || options.stop.load(std::sync::atomic::Ordering::Relaxed) {
        return Ok(None);
    }
    let mut compared = Vec::new();
    for ((drive, _), pair) in DRIVES.iter().zip(ended.chunks(2)) {
        let of = [0, 1].map(|run| Quantities::of(&pair[run].result));
        for (figure, lack) in FIGURES {
            // A percentile of too few reads is null.
            let [trace, profile] = [0, 1].map(|run| of[run].get(figure).ok());
            compared.push(Compared { drive, figure, lack, trace, profile });
        }
    }
    Ok(Some(compared))
}

/// A drive without blocks of its own is asked what a block of each plane holds.
fn blocks(drive: &str, spare: &str, pages: u64) -> Result<u64, ConfigError> {
    let probe = Request::of(scenario(drive, spare, 64), Vec::new())?.under("base")?;
    let each = probe.capacity().user.get() as f64 / 64.0;
    Ok((pages as f64 * 4096.0 * ROOM / each).ceil().max(LEAST_BLOCKS) as u64)
}

fn scenario(drive: &str, spare: &str, blocks: u64) -> Source {
    let text = format!(
        "name = \"fit-check\"\npolicies = [\"base\"]\n[device]\nname = \"{drive}\"\nop = {spare}\n\
         geometry = {{ blocks = {blocks} }}\n[drive]\nbuffer = \"2MiB\"\n[precondition]\n\
         state = \"steady\"\noverwrite = \"random\"\n[workload]\nrequests = 1000\n"
    );
    Source { file: "the check of a fit".to_string(), text }
}

/// The table for a person, and the verdict under it.
pub fn table(compared: &[Compared]) -> String {
    let mut text = format!(
        "{:<14} {:<26} {:>12} {:>12} {:>8}\n",
        "drive (base)", "figure", "trace", "profile", "ratio"
    );
    let shown = |value: Option<f64>| value.map_or("-".to_string(), |value| format!("{value:.4}"));
    for one in compared {
        let _ = writeln!(
            text,
            "{:<14} {:<26} {:>12} {:>12} {:>8}{}",
            one.drive,
            one.figure,
            shown(one.trace),
            shown(one.profile),
            one.ratio().map_or("-".to_string(), |ratio| format!("{ratio:.2}")),
            if one.is_near() { "" } else { "  differs" }
        );
    }
    let _ = writeln!(text, "{}", verdict(compared));
    text
}

/// In one line: accepted, or what is missing.
pub fn verdict(compared: &[Compared]) -> String {
    let percent = 100.0 * TOLERANCE;
    let differ: Vec<_> = compared.iter().filter(|one| !one.is_near()).collect();
    if differ.is_empty() {
        let count = compared.len();
        return format!(
            "accepted: {count} figures on three drives within {percent} % of the trace"
        );
    }
    let mut lacks: Vec<&str> = differ.iter().map(|one| one.lack).collect();
    lacks.sort_unstable();
    lacks.dedup();
    format!(
        "refused: {} of {} figures differ from the trace's by more than {percent} %; not kept: {}",
        differ.len(),
        compared.len(),
        lacks.join("; ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(trace: Option<f64>, profile: Option<f64>) -> Compared {
        let (figure, lack) = FIGURES[1];
        Compared { drive: "femu", figure, lack, trace, profile }
    }

    #[test]
    fn twenty_percent_either_way_is_near_and_a_figure_that_one_has_alone_is_not() {
        assert!(one(Some(5.0), Some(6.0)).is_near() && one(Some(5.0), Some(4.0)).is_near());
        assert!(!one(Some(5.0), Some(6.01)).is_near() && !one(Some(5.0), Some(3.99)).is_near());
        assert!(one(Some(0.0), Some(0.0)).is_near() && one(None, None).is_near());
        assert!(!one(Some(0.0), Some(0.1)).is_near() && !one(Some(1.0), None).is_near());
        let verdict = verdict(&[one(Some(5.0), Some(6.0)), one(Some(1.0), Some(2.0))]);
        assert!(
            verdict.starts_with("refused: 1 of 2") && verdict.contains("come back"),
            "{verdict}"
        );
    }
}
