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
/// Figure of the writes, and the one that says whether there are reads enough.
const OF_WRITES: &str = FIGURES[1].0;
const OF_READS: &str = FIGURES[2].0;
/// How often a run collected.
const COLLECTIONS: &str = "gc.runs";
/// So much a figure of the profile may differ from the trace's.
pub const TOLERANCE: f64 = 0.2;
/// Root seeds of the runs. A seed draws the state of the drive, and what the profile asks for: a
/// p99 on the edge of the collections lies on either side of it by the draw.
pub const SEEDS: [u64; 3] = [1, 2, 3];
/// Room on the drive beside the pages that are asked for.
const ROOM: f64 = 1.02;
/// Blocks of a plane at least: below, a drive has no room for its open blocks.
const LEAST_BLOCKS: f64 = 24.0;

/// A figure of the trace, and that of the profile, under one seed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    /// Of the trace; `None` where it has too few reads.
    pub trace: Option<f64>,
    /// Of the profile.
    pub profile: Option<f64>,
    /// One of the two collected, so that there is something to compare.
    pub collected: bool,
}

impl Pair {
    /// The profile's over the trace's, where there is evidence: some collection, a figure of both,
    /// and one of them not 0.
    pub fn ratio(&self) -> Option<f64> {
        let (trace, profile) = (self.trace?, self.profile?);
        (self.collected && (trace, profile) != (0.0, 0.0)).then(|| profile / trace)
    }
}

/// A figure of both.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    /// The drive.
    pub drive: &'static str,
    /// The figure.
    pub figure: &'static str,
    /// Part of the trace that the profile lacks where they differ.
    pub lack: &'static str,
    /// Under each seed.
    pub pairs: Vec<Pair>,
}

impl Compared {
    /// The ratios under the seeds that have one, the smallest first.
    pub fn ratios(&self) -> Vec<f64> {
        let mut ratios: Vec<f64> = self.pairs.iter().filter_map(Pair::ratio).collect();
        ratios.sort_by(f64::total_cmp);
        ratios
    }

    /// The one in the middle, by which the figure is judged; `None` where most seeds have none.
    pub fn middle(&self) -> Option<f64> {
        let ratios = self.ratios();
        (2 * ratios.len() > self.pairs.len()).then(|| ratios[ratios.len() / 2])
    }

    /// Judged, and beyond the tolerance.
    pub fn differs(&self) -> bool {
        self.middle().is_some_and(is_far)
    }

    /// Judged, and on either side of the tolerance by the seed.
    pub fn is_on_the_edge(&self) -> bool {
        let ratios = self.ratios();
        let far = ratios.iter().filter(|ratio| is_far(**ratio)).count();
        self.middle().is_some() && far > 0 && far < ratios.len()
    }

    fn collected(&self) -> bool {
        self.pairs.iter().any(|pair| pair.collected)
    }
}

fn is_far(ratio: f64) -> bool {
    // A factor of 1.2 that was rounded is no more than that.
    (ratio - 1.0).abs() > TOLERANCE + 1e-9
}

/// Plays the trace, as `trace` reads it, and the profile on each drive with each seed, under Base.
/// `pages` is how many pages of 4 KiB are asked for. `None`: it was stopped.
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
        for seed in SEEDS {
            let set = |key: &str, value: String| Override::new(key, value, "the check of a fit");
            let seed = || set("seed", seed.to_string());
            let replay = [set("workload.trace.remap", "\"dense\"".to_string()), seed()];
            let profile = [
                Override::workload(profile.clone(), None, "the fitted profile".to_string()),
                set("measure.warmup_requests", "0".to_string()),
                seed(),
            ];
            runs.push((drive.to_string(), own(trace.iter().cloned().chain(replay).collect())?));
            runs.push((drive.to_string(), own(profile.to_vec())?));
        }
    }
    let ended = compare(&runs, options)?;
    if ended.len() < runs.len() || options.stop.load(std::sync::atomic::Ordering::Relaxed) {
        return Ok(None);
    }
    let mut compared = Vec::new();
    for ((drive, _), of_drive) in DRIVES.iter().zip(ended.chunks(2 * SEEDS.len())) {
        let results: Vec<Quantities> =
            of_drive.iter().map(|run| Quantities::of(&run.result)).collect();
        for (figure, lack) in FIGURES {
            let pairs = results.chunks(2).map(|of| pair(figure, &of[0], &of[1])).collect();
            compared.push(Compared { drive, figure, lack, pairs });
        }
    }
    Ok(Some(compared))
}

fn pair(figure: &str, trace: &Quantities, profile: &Quantities) -> Pair {
    let both = [trace, profile];
    let collected = both.iter().any(|of| of.get(COLLECTIONS).is_ok_and(|runs| runs > 0.0));
    // A share of a few reads is chance: it takes as many as a p99, which is null below.
    let has_reads = both.iter().all(|of| of.get(OF_READS).is_ok());
    let is_known = figure == OF_WRITES || has_reads;
    let [trace, profile] = both.map(|of| of.get(figure).ok().filter(|_| is_known));
    Pair { trace, profile, collected }
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
        "{:<14} {:<26} {:>12} {:>12} {:>8} {:>16}\n",
        "drive (base)", "figure", "trace", "profile", "ratio", "by the seed"
    );
    for one in compared {
        let middle = one.middle();
        // Of the seed in the middle; of the first where none is.
        let of = one.pairs.iter().find(|pair| middle.is_some() && pair.ratio() == middle);
        let of = of.or(one.pairs.first());
        let [trace, profile] = [of.and_then(|of| of.trace), of.and_then(|of| of.profile)]
            .map(|value| value.map_or("-".to_string(), |value| format!("{value:.4}")));
        let ratios = one.ratios();
        let apart = match (ratios.first(), ratios.last()) {
            (Some(low), Some(high)) => format!("{low:.2} .. {high:.2}"),
            _ => "-".to_string(),
        };
        let remark = match (one.differs(), one.is_on_the_edge(), middle) {
            (true, false, _) => "  differs",
            (true, true, _) => "  differs, on the edge",
            (false, true, _) => "  on the edge",
            (_, _, None) => "  not compared",
            _ => "",
        };
        let _ = writeln!(
            text,
            "{:<14} {:<26} {trace:>12} {profile:>12} {:>8} {apart:>16}{remark}",
            one.drive,
            one.figure,
            middle.map_or("-".to_string(), |ratio| format!("{ratio:.2}")),
        );
    }
    let _ = writeln!(text, "{}", verdict(compared));
    text
}

/// In one line: accepted, refused with what is missing, or not judged with what that would take.
pub fn verdict(compared: &[Compared]) -> String {
    let judged: Vec<&Compared> = compared.iter().filter(|one| one.middle().is_some()).collect();
    if judged.is_empty() {
        return format!(
            "cannot be judged: {}; take a longer part of the trace, or judge the profile on the \
             drive that it is for",
            match compared.iter().any(Compared::collected) {
                false => "no drive collected garbage, neither under the trace nor the profile",
                true => "the drives collected under few seeds, or had nothing to compare",
            }
        );
    }
    let percent = 100.0 * TOLERANCE;
    let (count, seeds) = (judged.len(), SEEDS.len());
    let figures = if count == 1 { "one figure".to_string() } else { format!("{count} figures") };
    let mut drives: Vec<&str> = judged.iter().map(|one| one.drive).collect();
    drives.dedup();
    let on = match drives.len() {
        1 => "one drive".to_string(),
        number => format!("{number} drives"),
    };
    let differ: Vec<&&Compared> = judged.iter().filter(|one| one.differs()).collect();
    let mut parts = vec![match differ.len() {
        0 => format!("accepted: {figures} on {on} within {percent} % of the trace's"),
        number => format!(
            "refused: {number} of {count} figures on {on} differ from the trace's by more than \
             {percent} %"
        ),
    }];
    parts[0].push_str(&format!(" (the middle of {seeds} seeds)"));
    let edge = judged.iter().filter(|one| one.is_on_the_edge()).count();
    if edge > 0 {
        parts.push(format!("on the edge: {edge} of them on the other side with one of the seeds"));
    }
    let left = compared.len() - count;
    if left > 0 {
        parts.push(format!("not compared: {left} figures, for want of reads or of GC runs"));
    }
    if !differ.is_empty() {
        let mut lacks: Vec<&str> = differ.iter().map(|one| one.lack).collect();
        lacks.sort_unstable();
        lacks.dedup();
        parts.push(format!("not kept: {}", lacks.join("; ")));
    }
    parts.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(number: usize, pairs: [(Option<f64>, Option<f64>); 3]) -> Compared {
        let (figure, lack) = FIGURES[number];
        let collected = true;
        let pairs = pairs.map(|(trace, profile)| Pair { trace, profile, collected }).to_vec();
        Compared { drive: "femu", figure, lack, pairs }
    }

    fn waf(profiles: [f64; 3]) -> Compared {
        one(1, profiles.map(|profile| (Some(5.0), Some(profile))))
    }

    #[test]
    fn twenty_percent_either_way_is_near_by_the_middle_of_the_seeds() {
        let is_near = |profiles| !waf(profiles).differs();
        assert!(is_near([6.0; 3]) && is_near([4.0; 3]) && is_near([5.0, 6.0, 9.0]));
        assert!(!is_near([6.01; 3]) && !is_near([3.99; 3]) && !is_near([5.0, 7.0, 9.0]));
        assert!(waf([5.0, 6.0, 9.0]).is_on_the_edge() && waf([5.0, 7.0, 9.0]).is_on_the_edge());
        assert!(!waf([7.0, 7.0, 9.0]).is_on_the_edge() && !waf([5.0; 3]).is_on_the_edge());
        let refused = verdict(&[waf([6.0; 3]), waf([10.0; 3])]);
        assert!(
            refused.starts_with("refused: 1 of 2") && refused.contains("come back"),
            "{refused}"
        );
        let edge = verdict(&[waf([6.0; 3]), waf([5.0, 6.0, 9.0])]);
        assert!(edge.starts_with("accepted: 2 figures on one drive"), "{edge}");
        assert!(edge.contains("on the edge: 1 of them"), "{edge}");
    }

    #[test]
    fn a_figure_without_evidence_on_both_sides_is_not_counted() {
        let none = [
            one(0, [(Some(0.0), Some(0.0)); 3]),
            one(2, [(None, None); 3]),
            one(2, [(Some(1.0), None); 3]),
        ];
        assert!(none.iter().all(|one| one.middle().is_none() && !one.differs()));
        let said = verdict(&[&[waf([5.0; 3])][..], &none].concat());
        assert!(said.starts_with("accepted: one figure on one drive"), "{said}");
        assert!(said.contains("not compared: 3 figures"), "{said}");
        // One of the two has none: that differs.
        assert!(one(0, [(Some(0.0), Some(0.1)); 3]).differs());
    }

    #[test]
    fn a_profile_under_which_no_drive_collected_cannot_be_judged() {
        let mut calm = [waf([0.0; 3]), one(2, [(Some(40.0), Some(40.0)); 3])];
        for pair in calm.iter_mut().flat_map(|one| &mut one.pairs) {
            pair.collected = false;
        }
        let said = verdict(&calm);
        assert!(said.starts_with("cannot be judged: no drive collected"), "{said}");
        assert!(table(&calm).contains("not compared") && !table(&calm).contains("accepted"));
    }
}
