//! A fio job file as a workload: what it asks of the drive, job by job.
//!
//! Every option is either used, or named: as one that changes nothing of what a drive is asked
//! ([`IDLE`]), or as left out, with what that means. An option whose neglect would make another
//! load of it is an error with its line.

use crate::measure::{devices, fio_size, is_synchronous};
use std::collections::BTreeMap;
use std::fmt::{self, Write};

/// Options that say how fio works, not what it asks of a drive.
#[rustfmt::skip]
const IDLE: [&str; 44] = [
    "allow_file_create", "allow_mounted_write", "buffer_compress_percentage", "clat_percentiles",
    "clocksource", "cpus_allowed", "cpus_allowed_policy", "create_on_open", "description",
    "disable_clat", "disable_slat", "do_verify", "eta", "exitall", "fallocate", "filename_format",
    "fixedbufs", "group_reporting", "gtod_reduce", "hipri", "invalidate", "ioengine",
    "ioscheduler", "lat_percentiles", "log_avg_msec", "log_hist_msec", "mem", "name",
    "numa_cpu_nodes", "numa_mem_policy", "overwrite", "percentile_list", "randrepeat", "randseed",
    "refill_buffers", "registerfiles", "sqthread_poll", "thread", "unified_rw_reporting",
    "userspace_reap", "write_bw_log", "write_hist_log", "write_iops_log", "write_lat_log",
];

/// Options that are used.
const USED: [&str; 34] = [
    "rw",
    "readwrite",
    "rwmixread",
    "rwmixwrite",
    "bs",
    "blocksize",
    "bssplit",
    "ba",
    "blockalign",
    "iodepth",
    "numjobs",
    "size",
    "offset",
    "io_size",
    "number_ios",
    "runtime",
    "time_based",
    "ramp_time",
    "rate",
    "rate_iops",
    "thinktime",
    "norandommap",
    "random_distribution",
    "fsync",
    "fdatasync",
    "sync",
    "direct",
    "filename",
    "directory",
    "timeout",
    "loops",
    "startdelay",
    "stonewall",
    "wait_for_previous",
];

/// Why a job file is no workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobFileError {
    file: String,
    line: usize,
    message: String,
}

impl fmt::Display for JobFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.message)
    }
}

impl std::error::Error for JobFileError {}

/// A workload, and what was not taken over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FromFio {
    /// The profile.
    pub toml: String,
    /// Options that were left out, each with its line and why.
    pub remarks: Vec<String>,
}

/// An option: its value, empty where it has none, and its line.
type Options = BTreeMap<String, (String, usize)>;

struct Section {
    name: String,
    line: usize,
    options: Options,
}

/// The workload of a job file.
pub fn from_fio(file: &str, text: &str) -> Result<FromFio, JobFileError> {
    let sections = sections(file, text)?;
    let mut remarks = Vec::new();
    let mut jobs = String::new();
    for section in &sections {
        Job { file, section, remarks: &mut remarks }.write(&mut jobs)?;
    }
    let name = std::path::Path::new(file).file_name().unwrap_or_default().to_string_lossy();
    let mut toml = format!(
        "# Made by `manx workload from-fio` from {name}.\nsummary = \"The fio jobs of {name}\"\n\
         source = \"{name}, a job file of fio\"\n"
    );
    for remark in &remarks {
        let _ = writeln!(toml, "# {remark}");
    }
    let _ = write!(toml, "\n[workload]\n{jobs}");
    Ok(FromFio { toml, remarks })
}

fn sections(file: &str, text: &str) -> Result<Vec<Section>, JobFileError> {
    let (mut global, mut sections) = (Options::new(), Vec::<Section>::new());
    let mut in_global = None;
    for (number, line) in text.lines().enumerate() {
        let number = number + 1;
        let error =
            |message: String| JobFileError { file: file.to_string(), line: number, message };
        let line = line.trim();
        if line.is_empty() || line.starts_with([';', '#']) {
            continue;
        }
        if let Some(name) = line.strip_prefix('[') {
            let name = name.strip_suffix(']').ok_or_else(|| {
                error(format!("{line} is no section: [global] or [NAME] is expected"))
            })?;
            in_global = Some(name == "global");
            if name != "global" {
                let (name, options) = (name.to_string(), global.clone());
                sections.push(Section { name, line: number, options });
            }
            continue;
        }
        let (key, value) = line.split_once('=').unwrap_or((line, ""));
        let (key, value) = (key.trim().to_string(), value.trim().to_string());
        if key.starts_with("include ") || key == "include" || line.contains("${") {
            return Err(error(format!("{line}: other files and variables are not read")));
        }
        let options = match (in_global, sections.last_mut()) {
            (Some(true), _) => &mut global,
            (Some(false), Some(section)) => &mut section.options,
            _ => return Err(error(format!("{line} stands before the first section"))),
        };
        options.insert(key, (value, number));
    }
    if sections.is_empty() {
        let message = "there is no job: a section [NAME] is expected".to_string();
        return Err(JobFileError { file: file.to_string(), line: 1, message });
    }
    Ok(sections)
}

struct Job<'a> {
    file: &'a str,
    section: &'a Section,
    remarks: &'a mut Vec<String>,
}

impl Job<'_> {
    fn error(&self, line: usize, message: impl Into<String>) -> JobFileError {
        JobFileError { file: self.file.to_string(), line, message: message.into() }
    }

    fn bad(&self, key: &str, allowed: &str) -> JobFileError {
        let (value, line) = self.section.options.get(key).cloned().unwrap_or_default();
        self.error(line.max(self.section.line), format!("{key}={value} is not allowed: {allowed}"))
    }

    fn get(&self, keys: &[&str]) -> Option<(&str, &str)> {
        keys.iter().find_map(|key| {
            let (known, (value, _)) = self.section.options.get_key_value(*key)?;
            Some((known.as_str(), value.as_str()))
        })
    }

    /// An option without a value, or with a number, is on unless that is 0.
    fn is_on(&self, key: &str) -> bool {
        self.get(&[key]).is_some_and(|(_, value)| value != "0")
    }

    fn whole(&self, key: &str, usual: u64) -> Result<u64, JobFileError> {
        let Some((_, value)) = self.get(&[key]) else { return Ok(usual) };
        value.parse().map_err(|_| self.bad(key, "a whole number"))
    }

    fn size(&self, key: &str) -> Result<Option<u64>, JobFileError> {
        let Some((_, value)) = self.get(&[key]) else { return Ok(None) };
        if value.ends_with('%') {
            let whole = value == "100%" || (key == "offset" && value == "0%");
            return if whole { Ok(None) } else { Err(self.bad(key, "100% or a size in bytes")) };
        }
        if value == "0" {
            return Ok(None);
        }
        fio_size(value).map(Some).ok_or_else(|| self.bad(key, "a size such as 4k or 10g"))
    }

    /// Nanoseconds of a time; fio's own unit is `unit`.
    fn time(&self, key: &str, unit: u64) -> Result<u64, JobFileError> {
        let Some((_, value)) = self.get(&[key]) else { return Ok(0) };
        let digits = value.find(|c: char| !c.is_ascii_digit()).unwrap_or(value.len());
        let number: Option<u64> = value[..digits].parse().ok();
        let scale = match &value[digits..] {
            "" => Some(unit),
            "us" => Some(1_000),
            "ms" => Some(1_000_000),
            "s" => Some(1_000_000_000),
            "m" => Some(60_000_000_000),
            "h" => Some(3_600_000_000_000),
            "d" => Some(86_400_000_000_000),
            _ => None,
        };
        let time = number.zip(scale).and_then(|(number, scale)| number.checked_mul(scale));
        time.ok_or_else(|| self.bad(key, "a time such as 30, 30s or 5m"))
    }

    fn remark(&mut self, text: String) {
        if !self.remarks.contains(&text) {
            self.remarks.push(text);
        }
    }

    fn write(mut self, all: &mut String) -> Result<(), JobFileError> {
        self.name_the_rest()?;
        let mut job = String::new();
        let (reads, is_random) = self.mix(&mut job)?;
        let block = self.blocks(&mut job)?;
        self.pattern(is_random, &mut job)?;
        self.range(&mut job)?;
        self.files(&mut job);
        let (engine, asked) = (self.get(&["ioengine"]), self.whole("iodepth", 1)?);
        if asked == 0 {
            return Err(self.bad("iodepth", "at least 1"));
        }
        let depth = if is_synchronous(engine.map_or("psync", |(_, of)| of)) { 1 } else { asked };
        if depth < asked && engine.is_none() {
            let said = "iodepth: psync, fio's own engine where none is named, has one request at \
                        a time";
            self.remark(said.to_string());
        }
        let _ = writeln!(job, "queue_depth = {depth}");
        self.rates(reads, block, &mut job)?;
        self.bound(block, &mut job)?;
        self.durable(&mut job)?;
        let jobs = self.whole("numjobs", 1)?;
        if !(1..=256).contains(&jobs) {
            return Err(self.bad("numjobs", "1 to 256"));
        }
        for number in 1..=jobs {
            let of = if jobs > 1 { format!(" ({number} of {jobs})") } else { String::new() };
            let name = &self.section.name;
            let _ = write!(all, "\n# [{name}]{of}\n[[workload.jobs]]\n{job}");
        }
        Ok(())
    }

    /// Names what is not used.
    fn name_the_rest(&mut self) -> Result<(), JobFileError> {
        let section = self.section;
        for (key, (value, line)) in &section.options {
            let said = if value.is_empty() { key.clone() } else { format!("{key}={value}") };
            if ["stonewall", "wait_for_previous"].contains(&key.as_str()) && self.is_on(key) {
                let message =
                    format!("{said}: jobs one after the other are not taken; a file each");
                return Err(self.error(*line, message));
            }
            if key == "loops" && value != "1" {
                return Err(self.bad(key, "1; runtime and time_based bound a longer run"));
            }
            if key == "direct" && !self.is_on(key) {
                self.remark(format!("line {line}: {said}: there is no page cache; as direct=1"));
            } else if key == "ioengine" && is_synchronous(value) {
                self.remark(format!(
                    "line {line}: {said}: one request at a time, whatever iodepth"
                ));
            } else if !USED.contains(&key.as_str()) && !IDLE.contains(&key.as_str()) {
                self.remark(format!("line {line}: {said}: left out, Manx does not know it"));
            } else if key == "filename" && devices(value) > 1 {
                let drives = devices(value);
                self.remark(format!(
                    "line {line}: {drives} devices, in turn: run it on an array (array.members = \
                     {drives}, array.level = \"raid0\", array.chunk as large as a member)"
                ));
            }
        }
        Ok(())
    }

    fn mix(&self, job: &mut String) -> Result<(f64, bool), JobFileError> {
        let (key, rw) = self.get(&["rw", "readwrite"]).unwrap_or(("rw", "read"));
        let mixed = || -> Result<f64, JobFileError> {
            let writes = self.whole("rwmixwrite", 50)?.min(100);
            let reads = self.whole("rwmixread", 100 - writes)?;
            if reads > 100 { Err(self.bad("rwmixread", "0 to 100")) } else { Ok(reads as f64) }
        };
        let (reads, trims, is_random) = match rw {
            "read" => (100.0, 0.0, false),
            "write" => (0.0, 0.0, false),
            "randread" => (100.0, 0.0, true),
            "randwrite" => (0.0, 0.0, true),
            "rw" | "readwrite" => (mixed()?, 0.0, false),
            "randrw" => (mixed()?, 0.0, true),
            "trim" => (0.0, 100.0, false),
            "randtrim" => (0.0, 100.0, true),
            _ => {
                let allowed = "read, write, rw, trim, randread, randwrite, randrw or randtrim";
                return Err(self.bad(key, allowed));
            }
        };
        let _ = writeln!(job, "read_percent = {reads}");
        if trims > 0.0 {
            let _ = writeln!(job, "trim_percent = {trims}");
        }
        Ok((reads / 100.0, is_random))
    }

    /// The sizes; their mean.
    fn blocks(&self, job: &mut String) -> Result<f64, JobFileError> {
        if let Some((key, value)) = self.get(&["bssplit"]) {
            if value.contains(',') {
                return Err(self.bad(key, "one list for reads and writes"));
            }
            let (mut sizes, mut sum, mut weights) = (Vec::new(), 0.0, 0.0);
            for part in value.split(':') {
                let cut = part.split_once('/').and_then(|(size, percent)| {
                    Some((fio_size(size)?, percent.parse::<f64>().ok()?))
                });
                let cut = cut.filter(|(size, percent)| size % 512 == 0 && *percent > 0.0);
                let (size, percent) =
                    cut.ok_or_else(|| self.bad(key, "SIZE/PERCENT:SIZE/PERCENT"))?;
                sizes.push(format!("[\"{size}B\", {percent}]"));
                (sum, weights) = (sum + size as f64 * percent, weights + percent);
            }
            let _ = writeln!(job, "block_sizes = [{}]", sizes.join(", "));
            return Ok(sum / weights);
        }
        let (key, value) = self.get(&["bs", "blocksize"]).unwrap_or(("bs", "4k"));
        let sizes: Option<Vec<u64>> = value.split(',').map(fio_size).collect();
        let sizes = sizes.filter(|sizes| sizes.iter().all(|size| size % 512 == 0));
        let sizes = sizes.ok_or_else(|| self.bad(key, "sizes that are multiples of 512 B"))?;
        let _ = writeln!(job, "block_sizes = [[\"{}B\", 1]]", sizes[0]);
        if let Some(writes) = sizes.get(1).filter(|writes| **writes != sizes[0]) {
            let _ = writeln!(job, "write_block_sizes = [[\"{writes}B\", 1]]");
        }
        Ok(sizes.iter().take(2).sum::<u64>() as f64 / sizes.len().min(2) as f64)
    }

    fn pattern(&self, is_random: bool, job: &mut String) -> Result<(), JobFileError> {
        if !is_random {
            job.push_str("pattern = \"sequential\"\n");
            return Ok(());
        }
        let (key, value) =
            self.get(&["random_distribution"]).unwrap_or(("random_distribution", "random"));
        match value.split_once(':') {
            None if value == "random" => {
                let map = if self.is_on("norandommap") { "random" } else { "shuffle" };
                let _ = writeln!(job, "pattern = \"{map}\"");
            }
            Some(("zipf", theta)) => {
                let theta: f64 =
                    theta.parse().map_err(|_| self.bad(key, "zipf:THETA, such as zipf:1.2"))?;
                let _ = writeln!(job, "pattern = \"zipf\"\nzipf_theta = {theta}");
            }
            _ => return Err(self.bad(key, "random or zipf:THETA")),
        }
        if let Some((key, value)) = self.get(&["ba", "blockalign"]) {
            let align = fio_size(value).filter(|align| align % 512 == 0);
            let align = align.ok_or_else(|| self.bad(key, "a multiple of 512 B"))?;
            let _ = writeln!(job, "align = \"{align}B\"");
        }
        Ok(())
    }

    fn range(&self, job: &mut String) -> Result<(), JobFileError> {
        for key in ["offset", "size"] {
            if let Some(bytes) = self.size(key)? {
                if bytes % 512 != 0 {
                    return Err(self.bad(key, "a multiple of 512 B"));
                }
                let _ = writeln!(job, "{key} = \"{bytes}B\"");
            }
        }
        Ok(())
    }

    /// Several devices, and a start of its own.
    fn files(&self, job: &mut String) {
        let files = self.get(&["filename"]).map_or(1, |(_, names)| devices(names));
        if files > 1 {
            let _ = writeln!(job, "files = {files}");
        }
    }

    /// A limit of rate: threads, as many as the depth, that keep to a schedule.
    fn rates(&self, reads: f64, block: f64, job: &mut String) -> Result<(), JobFileError> {
        let think = self.time("thinktime", 1_000)?;
        let start = self.time("startdelay", 1_000_000_000)?;
        let limit = |key: &str, parse: &dyn Fn(&str) -> Option<f64>| {
            let Some((_, value)) = self.get(&[key]) else { return Ok(None) };
            let sides: Option<Vec<f64>> = value.split(',').map(parse).collect();
            match sides.as_deref() {
                // Each side is limited by itself, and the mix holds back the other.
                Some([one]) => Ok(Some(one / reads.max(1.0 - reads))),
                Some([read, write]) => Ok(Some((read / reads).min(write / (1.0 - reads)))),
                _ => Err(self.bad(key, "one number, or one for reads and one for writes")),
            }
        };
        let number = |text: &str| {
            text.trim().parse().ok().filter(|rate: &f64| *rate > 0.0 && rate.is_finite())
        };
        let bytes = |text: &str| fio_size(text).map(|bytes| bytes as f64);
        let rate = match limit("rate_iops", &number)? {
            Some(rate) => Some(rate),
            None => limit("rate", &bytes)?.map(|bytes| bytes / block),
        };
        if start > 0 && rate.is_some() {
            return Err(self.bad("startdelay", "no start of its own beside a limit of the rate"));
        } else if start > 0 {
            let _ = writeln!(job, "start = \"{start}ns\"");
        }
        if let Some(rate) = rate {
            let _ = writeln!(job, "arrival = \"paced\"\nrate = {rate:.3}");
        } else if think > 0 {
            let _ = writeln!(job, "think = \"{think}ns\"");
        }
        Ok(())
    }

    /// Where the job ends: its time with the ramp, or its requests.
    fn bound(&mut self, block: f64, job: &mut String) -> Result<(), JobFileError> {
        let key = if self.get(&["runtime"]).is_some() { "runtime" } else { "timeout" };
        let (runtime, ramp) =
            (self.time(key, 1_000_000_000)?, self.time("ramp_time", 1_000_000_000)?);
        if ramp > 0 {
            let line = self.section.options.get("ramp_time").map_or(0, |(_, line)| *line);
            self.remark(format!(
                "line {line}: ramp_time: the job is longer by it; --set measure.warmup={}ms leaves \
                 it uncounted",
                ramp / 1_000_000
            ));
        }
        if runtime > 0 {
            let _ = writeln!(job, "time = \"{}ns\"", runtime.saturating_add(ramp));
        }
        let count = self.whole("number_ios", 0)?;
        let bytes = match self.size("io_size")? {
            Some(bytes) => Some(bytes),
            None => self.size("size")?,
        };
        let by_bytes = bytes.map_or(0, |bytes| (bytes as f64 / block) as u64);
        let requests = if count > 0 { count } else { by_bytes };
        if requests > 0 && !(self.is_on("time_based") && runtime > 0) {
            let _ = writeln!(job, "requests = {requests}");
        } else if runtime == 0 {
            let message = format!(
                "[{}] has no end: runtime, number_ios, or a size in bytes is needed",
                self.section.name
            );
            return Err(self.error(self.section.line, message));
        }
        Ok(())
    }

    fn durable(&self, job: &mut String) -> Result<(), JobFileError> {
        let flush = self.whole("fsync", 0)?.max(self.whole("fdatasync", 0)?);
        if flush > 0 {
            let _ = writeln!(job, "flush_every = {flush}");
        }
        match self.get(&["sync"]).map_or("0", |(_, value)| value) {
            "0" | "none" => {}
            "" | "1" | "sync" | "dsync" => job.push_str("fua_percent = 100\n"),
            _ => return Err(self.bad("sync", "none, sync or dsync")),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
