//! fio's `--output-format=json` and `json+`, one job a file (`group_reporting` makes one of many).
//!
//! Options of the job go before the global ones. Latencies are `clat_ns`: from submission to
//! completion. Where `json+` has its histogram (`bins`), percentiles are computed from that, as fio
//! does: the value of the bin in which the rank lies.

use super::json::At;
use super::{Latencies, MeasureError, fio_size, plausible};
use serde_json::Value;

/// The percentiles that a fit looks at.
pub const PERCENTILES: [f64; 4] = [50.0, 90.0, 99.0, 99.9];

/// The percentile that tells the fastest page type: above it no other lies alone, where a third of
/// the reads find it.
pub const FAST: f64 = 10.0;

/// A median below is no drive's (us).
const SHORTEST: f64 = 0.5;

/// Options that hold a job back.
const HELD_BACK: [&str; 7] =
    ["rate", "rate_iops", "thinktime", "latency_target", "fsync", "fdatasync", "sync"];

/// Engines of the kernel, beside the synchronous ones, whose reads come from the page cache unless
/// they go around it.
const CACHED: [&str; 3] = ["libaio", "io_uring", "posixaio"];

/// True for an engine of fio that has one request under way, whatever `iodepth` says.
pub(crate) fn is_synchronous(engine: &str) -> bool {
    matches!(engine, "sync" | "psync" | "vsync" | "pvsync" | "pvsync2" | "mmap")
}

/// How many devices fio's `filename` lists: a colon with a backslash before it belongs to a name.
pub(crate) fn devices(files: &str) -> usize {
    files.replace("\\:", "").split(':').count()
}

/// Relative differences that clocks, ramps and rounding explain.
const SLACK: f64 = 0.05;

pub(super) fn is_json(text: &str) -> bool {
    // fio may print warnings before the document.
    text.starts_with(['{', '[']) || text.starts_with("fio: ") || text.starts_with("note: ")
}

/// Reads the latencies of the one job.
pub(super) fn read(file: &str, text: &str) -> Result<Latencies, MeasureError> {
    let start = text.find('{').unwrap_or(0);
    let document: Value = serde_json::from_str(&text[start..]).map_err(|error| {
        let line = error.line() + text[..start].matches('\n').count();
        MeasureError::new(file, format!("line {line}"), format!("it is no whole JSON: {error}"))
    })?;
    let root = At { file, path: String::new(), value: &document };
    let version = root.need("fio version")?;
    if version.value.as_str().is_some_and(|version| version.starts_with("fio-2")) {
        return Err(version.error(format!(
            "{} is not allowed: fio 3 and later, which count in nanoseconds",
            version.value
        )));
    }
    let jobs = root.need("jobs")?;
    let list = jobs.value.as_array().ok_or_else(|| jobs.error("a list of jobs is expected"))?;
    let job = match list.as_slice() {
        [job] => At { file, path: "jobs[0]".to_string(), value: job },
        [] => return Err(jobs.error("the list is empty: fio stopped before its first job")),
        more => {
            let count = more.len();
            return Err(jobs.error(format!(
                "{count} jobs: one a file is read; `group_reporting` makes one of equal jobs"
            )));
        }
    };
    let failed = job.need("error")?;
    if failed.number()? != 0.0 {
        let value = failed.value;
        return Err(failed.error(format!("{value}: fio ended with an error, this is no result")));
    }
    Options { root: &root, job: &job }.latencies()
}

/// The options of a job, its own before the global ones.
struct Options<'a> {
    root: &'a At<'a>,
    job: &'a At<'a>,
}

impl<'a> Options<'a> {
    fn get(&self, name: &str) -> Option<At<'a>> {
        let of = |at: &At<'a>, under: &str| at.get(under).and_then(|options| options.get(name));
        of(self.job, "job options").or_else(|| of(self.root, "global options"))
    }

    fn need(&self, names: [&str; 2]) -> Result<At<'a>, MeasureError> {
        names.iter().find_map(|name| self.get(name)).ok_or_else(|| {
            let name = names[0];
            self.job.error(format!("the option {name} is missing, of the job and of [global]"))
        })
    }

    fn count(&self, name: &str, most: u32) -> Result<u32, MeasureError> {
        self.get(name).map_or(Ok(1), |at| at.count(most))
    }

    fn latencies(&self) -> Result<Latencies, MeasureError> {
        for name in ["bssplit", "bsrange", "rwmixread", "rwmixwrite", "zonemode"] {
            if let Some(at) = self.get(name) {
                return Err(at.error("is not read yet: one size and one direction a job"));
            }
        }
        for name in HELD_BACK {
            let is_off = |at: &At<'_>| matches!(at.value.as_str(), Some("0" | "none"));
            if let Some(at) = self.get(name).filter(|at| !is_off(at)) {
                return Err(
                    at.error("is not read yet: a job is taken for one that asks as fast as it can")
                );
            }
        }
        if let Some(at) = self.get("random_distribution")
            && at.value.as_str() != Some("random")
        {
            return Err(at.error("is not read yet: every place is as likely (random)"));
        }
        if let Some(at) = self.get("percentage_random")
            && at.value.as_str() != Some("100")
        {
            return Err(at.error("is not read yet: random places, or sequential ones, and no mix"));
        }
        if let Some(base) = self.get("kb_base")
            && base.value.as_str() != Some("1024")
        {
            return Err(base.error("is not read yet: 1024, in which k is 1024 and Ki is 1000"));
        }
        let (is_read, is_sequential) = self.direction()?;
        let size = self.need(["bs", "blocksize"])?;
        let block = size.value.as_str().and_then(fio_size).filter(|size| size % 512 == 0);
        let block = block.filter(|block| *block <= 1 << 30).ok_or_else(|| {
            let value = size.value;
            size.error(format!("{value} is not allowed: one size, a multiple of 512 B"))
        })?;
        let engine = self.get("ioengine").map_or_else(
            || "psync".to_string(),
            |at| at.value.as_str().unwrap_or_default().to_string(),
        );
        self.goes_around_the_cache(&engine)?;
        let files = self.get("filename").and_then(|at| Some(at.value.as_str()?.to_string()));
        let side = self.job.need(if is_read { "read" } else { "write" })?;
        let depth = self.count("iodepth", 65_536)?;
        let latencies = Latencies {
            depth: if is_synchronous(&engine) { 1 } else { depth },
            engine,
            is_read,
            is_sequential,
            is_map: self.get("norandommap").is_none(),
            block,
            processes: self.count("numjobs", 4096)?,
            drives: files.map_or(1, |files| devices(&files) as u32),
            iops: side.need("iops")?.positive()?,
            mean_us: clat(&side)?.need("mean")?.positive()? / 1e3,
            percentiles_us: percentiles(&clat(&side)?)?,
            fast_us: fast(&clat(&side)?)?,
        };
        believable(&latencies, &side)?;
        counted(&latencies, &side)?;
        Ok(latencies)
    }

    /// fio's own choice is the page cache.
    fn goes_around_the_cache(&self, engine: &str) -> Result<(), MeasureError> {
        let flag = |name: &str| self.get(name).map(|at| Ok((at.number()? != 0.0, at))).transpose();
        let is_cached = is_synchronous(engine) || CACHED.contains(&engine);
        match (flag("direct")?, flag("buffered")?) {
            (Some((false, at)), _) | (None, Some((true, at))) => Err(at.error(format!(
                "{} is not allowed: without direct=1 the page cache answers",
                at.value
            ))),
            (None, None) if is_cached => Err(self.job.error(
                "the option direct is missing, of the job and of [global]: without direct=1 the \
                 page cache answers",
            )),
            _ => Ok(()),
        }
    }

    fn direction(&self) -> Result<(bool, bool), MeasureError> {
        let rw = self.need(["rw", "readwrite"])?;
        match rw.value.as_str() {
            Some("read") => Ok((true, true)),
            Some("randread") => Ok((true, false)),
            Some("write") => Ok((false, true)),
            Some("randwrite") => Ok((false, false)),
            _ => Err(rw
                .error(format!("{} is not allowed: read, randread, write or randwrite", rw.value))),
        }
    }
}

/// The latencies of one side; those of a fio that counts in microseconds are refused.
fn clat<'a>(side: &At<'a>) -> Result<At<'a>, MeasureError> {
    side.need("clat_ns")
}

/// The percentiles, from the histogram where there is one.
fn percentiles(clat: &At<'_>) -> Result<[f64; 4], MeasureError> {
    if let Some(bins) = clat.get("bins").filter(|bins| bins.value.is_object()) {
        let found = from_bins(&bins, PERCENTILES)?;
        is_a_drives(&bins, found)?;
        return Ok(found);
    }
    let table = clat.need("percentile").map_err(|_| {
        clat.error(
            "neither \"percentile\" nor \"bins\": fio needs clat_percentiles=1 (its default)",
        )
    })?;
    let mut found = [0.0; 4];
    for (value, wanted) in found.iter_mut().zip(PERCENTILES) {
        let name = format!("{wanted:.6}");
        let at = table.need(&name).map_err(|_| {
            table.error(format!(
                "\"{name}\" is missing: percentile_list needs 50:90:99:99.9, or leave it out"
            ))
        })?;
        *value = at.positive()? / 1e3;
    }
    if !found.is_sorted() {
        return Err(table.error(format!("{found:?} us do not rise: these are no percentiles")));
    }
    is_a_drives(&table, found)?;
    Ok(found)
}

fn is_a_drives(at: &At<'_>, [p50, ..]: [f64; 4]) -> Result<(), MeasureError> {
    if p50 < SHORTEST {
        return Err(at.error(format!("a median of {p50} us: no drive answers within 0.5 us")));
    }
    Ok(())
}

/// The fast percentile: none where a list of percentiles leaves it out.
fn fast(clat: &At<'_>) -> Result<Option<f64>, MeasureError> {
    if let Some(bins) = clat.get("bins").filter(|bins| bins.value.is_object()) {
        return Ok(Some(from_bins(&bins, [FAST])?[0]));
    }
    let at = clat.get("percentile").and_then(|table| table.get(&format!("{FAST:.6}")));
    at.map(|at| Ok(at.positive()? / 1e3)).transpose()
}

fn from_bins<const N: usize>(bins: &At<'_>, wanted: [f64; N]) -> Result<[f64; N], MeasureError> {
    let mut counts: Vec<(f64, f64)> = Vec::new();
    for (name, count) in bins.value.as_object().into_iter().flatten() {
        let at = At { file: bins.file, path: format!("{}.{name}", bins.path), value: count };
        let value = name.parse().ok().filter(|value: &f64| value.is_finite() && *value >= 0.0);
        let value = value.ok_or_else(|| at.error("a bin is named by its nanoseconds"))?;
        counts.push((value, at.number()?));
    }
    counts.sort_by(|a, b| a.0.total_cmp(&b.0));
    let total: f64 = counts.iter().map(|(_, count)| count).sum();
    if total <= 0.0 {
        return Err(bins.error("the histogram is empty"));
    }
    let mut found = [0.0; N];
    for (value, wanted) in found.iter_mut().zip(wanted) {
        let (rank, mut sum) = (total * wanted / 100.0, 0.0);
        let bin = counts.iter().find(|(_, count)| {
            sum += count;
            sum >= rank
        });
        *value = bin.or(counts.last()).map_or(0.0, |(ns, _)| ns / 1e3);
    }
    Ok(found)
}

/// Mean, percentiles and histogram are those of the same requests.
fn counted(of: &Latencies, side: &At<'_>) -> Result<(), MeasureError> {
    let clat = clat(side)?;
    let (mean, [p50, p90, p99, p99_9]) = (of.mean_us, of.percentiles_us);
    // Of the slower half, four tenths of all took the median at least, nine hundredths p90, and so
    // on.
    let least = 0.4 * p50 + 0.09 * p90 + 0.009 * p99 + 0.001 * p99_9;
    if mean < least * (1.0 - SLACK) {
        return Err(clat.error(format!(
            "a mean of {mean:.1} us, but percentiles allow {least:.1} us at least: they contradict \
             each other"
        )));
    }
    if let Some(max) = clat.get("max") {
        // All but one in a thousand took no longer than the last percentile.
        let most = p99_9 + max.number()? / 1e6;
        if mean > most * (1.0 + SLACK) {
            return Err(clat.error(format!(
                "a mean of {mean:.1} us, but percentiles and max allow {most:.1} us at most: they \
                 contradict each other"
            )));
        }
    }
    let Some(bins) = clat.get("bins").and_then(|bins| bins.value.as_object()) else {
        return Ok(());
    };
    let (sum, total) =
        (bins.values().filter_map(Value::as_f64).sum::<f64>(), side.need("total_ios")?.positive()?);
    if (sum / total - 1.0).abs() > SLACK {
        return Err(clat.error(format!(
            "its bins hold {sum} requests, but total_ios is {total}: they contradict each other"
        )));
    }
    Ok(())
}

/// A run does not contradict itself.
fn believable(of: &Latencies, side: &At<'_>) -> Result<(), MeasureError> {
    let (total, runtime) = (side.need("total_ios")?.positive()?, side.need("runtime")?.positive()?);
    let off = |a: f64, b: f64| (a / b - 1.0).abs() > SLACK;
    let counted = total / (runtime / 1e3);
    if off(counted, of.iops) {
        let iops = of.iops;
        return Err(side.error(format!(
            "iops = {iops:.0}, but total_ios / runtime is {counted:.0}: they contradict each other"
        )));
    }
    let moved = side.need("io_bytes")?.positive()? / total;
    if off(moved, of.block as f64) {
        let block = of.block;
        return Err(side.error(format!(
            "io_bytes / total_ios is {moved:.0} B, but bs is {block} B: they contradict each other"
        )));
    }
    // Little's law.
    let under_way = of.iops * of.mean_us / 1e6;
    let slots = f64::from(of.depth) * f64::from(of.processes);
    plausible::load(of).map_err(|why| side.error(why))?;
    if under_way < slots * plausible::least_under_way(slots) {
        return Err(side.error(format!(
            "iops x mean latency are {under_way:.2} requests under way, of iodepth x numjobs = \
             {slots}: the depth is said too high, or something held the job back; as fast as it \
             can is what is read"
        )));
    }
    if of.fast_us.is_some_and(|fast| fast > of.percentiles_us[0]) {
        return Err(side.error("its 10th percentile is above its median: these do not rise"));
    }
    if under_way > slots * (1.0 + SLACK) {
        return Err(side.error(format!(
            "iops x mean latency are {under_way:.1} requests under way, but iodepth x numjobs are \
             {slots}: they contradict each other"
        )));
    }
    Ok(())
}
