//! A fitted profile as the text of a workload file.

use super::Fit;
use crate::host::{Arrival, JobSpec, Pattern};
use crate::units::Bytes;
use std::fmt::Write;

/// Characters of a line of items.
const LINE: usize = 110;

impl Fit {
    /// The profile as TOML. `name` is what the trace may be called in it; without one it stays
    /// unnamed. `checked` is how it did beside the trace.
    pub fn to_toml(&self, name: Option<&str>, checked: Option<&str>) -> String {
        let mut text = String::new();
        let figures = &self.figures;
        let what = name.map_or("a trace".to_string(), |name| format!("the trace {}", plain(name)));
        let seconds = figures.span_ns as f64 / 1e9;
        let _ = writeln!(
            text,
            "summary = \"Fitted to {what}: {} requests in {seconds:.3} s\"",
            figures.requests
        );
        let _ = writeln!(
            text,
            "source = \"manx workload fit: shares, sizes, rates and their order; no address and no \
             time of day\""
        );
        let checked = checked.unwrap_or("no (--check)");
        for (at, line) in checked.split("; ").enumerate() {
            let head = if at == 0 { "Checked against the trace: " } else { "  " };
            let _ = writeln!(text, "# {head}{}", plain(line));
        }
        let _ = writeln!(text, "parameter = \"workload.rate\"\n\n[workload]");
        let job = &self.job;
        let _ = writeln!(
            text,
            "# {} reads, {} writes, {} trims, {} flushes, {} writes with FUA.",
            figures.reads, figures.writes, figures.trims, figures.flushes, figures.fua
        );
        let _ = writeln!(text, "read_percent = {:?}", job.read_percent);
        for (key, percent) in [("trim_percent", job.trim_percent), ("fua_percent", job.fua_percent)]
        {
            if percent > 0.0 {
                let _ = writeln!(text, "{key} = {percent:?}");
            }
        }
        if job.flush_every > 0 {
            let _ = writeln!(text, "flush_every = {}", job.flush_every);
        }
        self.sizes(&mut text);
        self.addresses(&mut text);
        self.arrivals(&mut text);
        let _ = writeln!(text, "requests = {}", job.requests);
        self.tables(&mut text);
        text
    }

    fn sizes(&self, text: &mut String) {
        let (job, figures) = (&self.job, &self.figures);
        let _ = writeln!(
            text,
            "# {:.0} B a read, {:.0} B a write on average.",
            figures.read_bytes, figures.write_bytes
        );
        list(
            text,
            "block_sizes",
            job.block_sizes.iter().map(|(size, share)| format!("[\"{size}\", {share:?}]")),
        );
        if !job.write_block_sizes.is_empty() {
            let sizes = job
                .write_block_sizes
                .iter()
                .map(|(size, share)| format!("[\"{size}\", {share:?}]"));
            list(text, "write_block_sizes", sizes);
        }
        let _ = writeln!(text, "align = \"{}\"", job.align);
    }

    fn addresses(&self, text: &mut String) {
        let JobSpec { pattern, tiers, write_tiers, tier_block, run, size, .. } = &self.job;
        let _ = writeln!(text, "# {} distinct pages of 4 KiB.", self.figures.footprint_pages);
        let _ = writeln!(text, "size = \"{size}\"");
        let pair = |tier: &(f64, f64)| format!("[{:?}, {:?}]", tier.0, tier.1);
        if *pattern == Pattern::Tiers {
            let _ = writeln!(text, "pattern = \"tiers\"");
            list(text, "tiers", tiers.iter().map(pair));
            if !write_tiers.is_empty() {
                list(text, "write_tiers", write_tiers.iter().map(pair));
            }
            if *tier_block != Bytes::new(0) {
                let _ = writeln!(text, "tier_block = \"{tier_block}\"");
            }
        } else {
            let _ = writeln!(text, "pattern = \"random\"");
        }
        if *run != Bytes::new(0) {
            let _ = writeln!(text, "run = \"{run}\"");
        }
    }

    fn phases(&self, text: &mut String) {
        let _ = writeln!(text, "arrival = \"phases\"\nrate = {:?}", self.job.rate);
    }

    /// Tables, which stand behind all keys.
    fn tables(&self, text: &mut String) {
        let pair = |pair: &(f64, f64)| format!("[{:?}, {:?}]", pair.0, pair.1);
        let counted = |pair: &(u32, f64)| format!("[{}, {:?}]", pair.0, pair.1);
        let row = |row: &[f64]| {
            let cells: Vec<String> = row.iter().map(|cell| format!("{cell:?}")).collect();
            format!("[{}]", cells.join(", "))
        };
        if let Some(phases) = &self.job.phases {
            let _ = writeln!(text, "\n[workload.phases]");
            let _ = writeln!(
                text,
                "# Seconds, requests, % reads, % of the reads that are large, % of the writes."
            );
            list(text, "list", phases.list.iter().map(|phase| row(phase)));
            list(text, "read_runs", phases.read_runs.iter().map(counted));
            list(text, "write_runs", phases.write_runs.iter().map(counted));
            let _ = writeln!(
                text,
                "# Over the mean of the phase: read to read, read to write, write to read, write \
                 to write."
            );
            let _ = writeln!(text, "gaps = [");
            for gaps in &phases.gaps {
                let _ = writeln!(text, "  [");
                let gaps: Vec<String> = gaps.iter().map(pair).collect();
                lines(text, &gaps);
                let _ = writeln!(text, "  ],");
            }
            let _ = writeln!(text, "]");
        }
        if let Some(rewrites) = &self.job.rewrites {
            let _ = writeln!(text, "\n[workload.rewrites]\nextents = {}", rewrites.extents);
            let _ = writeln!(text, "span = {:?}", rewrites.span);
            let _ = writeln!(text, "sequential = {:?}", rewrites.sequential);
            let _ = writeln!(text, "# To the oldest, the next, a jump: after each of the three.");
            list(text, "after", rewrites.after.iter().map(|after| row(after)));
            list(text, "depths", rewrites.depths.iter().map(counted));
        }
    }

    fn arrivals(&self, text: &mut String) {
        let (job, figures) = (&self.job, &self.figures);
        let shown = |idc: Option<f64>| idc.map_or("unknown".to_string(), |idc| format!("{idc:.1}"));
        let (short, long) = (shown(figures.idc_10ms), shown(figures.idc_1s));
        let _ =
            writeln!(text, "# Index of dispersion of the counts: {short} in 10 ms, {long} in 1 s.");
        match job.arrival {
            Arrival::Bursty => {
                let _ = writeln!(text, "arrival = \"bursty\"\nrate = {:?}", job.rate);
                let _ = writeln!(
                    text,
                    "peak_to_mean = {:?}\nburst = \"{}\"",
                    job.peak_to_mean, job.burst
                );
            }
            Arrival::Poisson => {
                let _ = writeln!(text, "arrival = \"poisson\"\nrate = {:?}", job.rate);
            }
            Arrival::Fixed => {
                let _ = writeln!(text, "arrival = \"fixed\"\nrate = {:?}", job.rate);
            }
            // The times of the trace are one instant.
            Arrival::Phases => self.phases(text),
            Arrival::Closed | Arrival::Paced | Arrival::PacedSmooth | Arrival::Trace => {
                let _ = writeln!(text, "arrival = \"closed\"\nqueue_depth = {}", job.queue_depth);
            }
        }
    }
}

/// A list, broken where a line would be too long.
fn list(text: &mut String, key: &str, items: impl Iterator<Item = String>) {
    let items: Vec<String> = items.collect();
    if items.len() <= 4 && items.iter().map(String::len).sum::<usize>() < LINE {
        let _ = writeln!(text, "{key} = [{}]", items.join(", "));
        return;
    }
    let _ = writeln!(text, "{key} = [");
    lines(text, &items);
    let _ = writeln!(text, "]");
}

/// Four items to a line, or as many as it holds.
fn lines(text: &mut String, items: &[String]) {
    let longest = items.iter().map(String::len).max().unwrap_or(1).max(1);
    for line in items.chunks((LINE / (longest + 2)).clamp(1, 4)) {
        let _ = writeln!(text, "    {},", line.join(", "));
    }
}

/// A name without what would end a TOML string.
fn plain(name: &str) -> String {
    name.chars().filter(|c| !c.is_control() && *c != '"' && *c != '\\').collect()
}
