//! A fio job file as a workload: what it asks of the drive, job by job.
//!
//! Every option is either used, or named: as one that changes nothing of what a drive is asked
//! ([`IDLE`]), or as left out, with what that means. An option whose neglect would make another
//! load of it is an error with its line.

use crate::measure::{devices, fio_size, is_synchronous};
use sections::{Section, sections};
use std::fmt::Write;

mod rates;
mod sections;

pub use sections::JobFileError;

/// Options that say how fio works, not what it asks of a drive.
#[rustfmt::skip]
const IDLE: [&str; 45] = [
    "allow_file_create", "allow_mounted_write", "buffer_compress_percentage", "clat_percentiles",
    "clocksource", "cpus_allowed", "cpus_allowed_policy", "create_on_open", "description",
    "disable_clat", "disable_slat", "do_verify", "eta", "fallocate", "filename_format",
    "fixedbufs", "group_reporting", "gtod_reduce", "hipri", "invalidate", "ioengine",
    "ioscheduler", "lat_percentiles", "log_avg_msec", "log_hist_msec", "mem", "name",
    "numa_cpu_nodes", "numa_mem_policy", "overwrite", "percentile_list", "randrepeat", "randseed",
    "refill_buffers", "registerfiles", "sqthread_poll", "thinktime_spin", "thread",
    "unified_rw_reporting", "unit_base",
    "userspace_reap", "write_bw_log", "write_hist_log", "write_iops_log", "write_lat_log",
];

/// Options that are used.
const USED: [&str; 37] = [
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
    "thinktime_blocks",
    "kb_base",
    "exitall",
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

/// Said of several sizes and fio's random map.
const OVERLAPS: &str = "of several sizes the larger ones may come back to a place within a pass, \
                        which fio's random map would cut short";

/// A workload, and what was not taken over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FromFio {
    /// The profile.
    pub toml: String,
    /// Options that were left out, each with its line and why.
    pub remarks: Vec<String>,
}

/// The workload of a job file.
pub fn from_fio(file: &str, text: &str) -> Result<FromFio, JobFileError> {
    let sections = sections(file, text)?;
    let mut remarks = Vec::new();
    let mut jobs = String::new();
    let mut laid_out = 0;
    one_drive(file, &sections, &mut remarks)?;
    for section in &sections {
        let job = Job { file, section, remarks: &mut remarks, laid_out: &mut laid_out };
        job.write(&mut jobs)?;
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

/// All jobs are for the same drive or drives.
fn one_drive(
    file: &str,
    sections: &[Section],
    remarks: &mut Vec<String>,
) -> Result<(), JobFileError> {
    let mut named = sections.iter().filter_map(|section| {
        let (value, line) = section.options.get("filename")?;
        Some((section.name.as_str(), value.as_str(), *line))
    });
    let Some((first, name, _)) = named.next() else { return Ok(()) };
    for (section, other, line) in named.filter(|(_, other, _)| *other != name) {
        let is_device = |name: &str| name.starts_with("/dev/");
        if is_device(name) && is_device(other) {
            let message = format!(
                "filename={other}: [{section}] is for another device than [{first}]; a job file \
                 each, or one job over both (filename=A:B)"
            );
            return Err(JobFileError { file: file.to_string(), line, message });
        }
        remarks.push(format!(
            "line {line}: filename={other}: another file than that of [{first}]; here both lie on \
             one range (offset parts them)"
        ));
    }
    Ok(())
}

/// The requests that a job asks for.
#[derive(Clone, Copy, Debug)]
struct Mix {
    /// The share of reads; the rest are writes, or trims.
    reads: f64,
    trims: bool,
    is_random: bool,
}

struct Job<'a> {
    file: &'a str,
    section: &'a Section,
    remarks: &'a mut Vec<String>,
    /// Bytes of the drive that jobs with a file of their own have so far.
    laid_out: &'a mut u64,
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

    /// A remark on an option, with its line.
    fn remark_of(&mut self, key: &str, text: &str) {
        let line = self.section.options.get(key).map_or(self.section.line, |(_, line)| *line);
        self.remark(format!("line {line}: {key}: {text}"));
    }

    fn remark(&mut self, text: String) {
        if !self.remarks.contains(&text) {
            self.remarks.push(text);
        }
    }

    fn write(mut self, all: &mut String) -> Result<(), JobFileError> {
        self.name_the_rest()?;
        let mut job = String::new();
        let mut mix = self.mix()?;
        let sides = self.blocks(&mix, &mut job)?;
        let limit = self.limit(&mix, sides)?;
        if let Some([reads, writes]) = limit.filter(|_| mix.reads > 0.0 && mix.reads < 1.0) {
            mix.reads = reads / (reads + writes);
        }
        let block = mix.reads * sides[0] + (1.0 - mix.reads) * sides[1];
        let percent = (mix.reads * 1e8).round() / 1e6;
        let _ = writeln!(job, "read_percent = {percent}");
        if mix.trims {
            let _ = writeln!(job, "trim_percent = 100");
        }
        self.pattern(mix.is_random, &mut job)?;
        let own_file = self.range(&mut job)?;
        let depth = self.depth()?;
        self.rates(limit.map(|[reads, writes]| reads + writes), depth, &mut job)?;
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
            if let Some((offset, size)) = own_file {
                // Beyond any drive, which the workload's own check then says.
                let begins = self.laid_out.saturating_add(offset);
                let _ = writeln!(all, "offset = \"{begins}B\"");
                *self.laid_out = begins.saturating_add(size);
            }
        }
        Ok(())
    }

    /// Requests under way.
    fn depth(&mut self) -> Result<u64, JobFileError> {
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
        Ok(depth)
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
            if key == "kb_base" && value != "1024" {
                return Err(self.bad(key, "1024, in which k is 1024 and Ki is 1000"));
            }
            if key == "exitall" {
                self.remark(format!("line {line}: {said}: here each job ends by itself"));
            } else if key == "direct" && !self.is_on(key) {
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

    fn mix(&self) -> Result<Mix, JobFileError> {
        let (key, rw) = self.get(&["rw", "readwrite"]).unwrap_or(("rw", "read"));
        let percent = |key: &str, usual: u64| match self.whole(key, usual)? {
            percent @ 0..=100 => Ok(percent),
            _ => Err(self.bad(key, "0 to 100")),
        };
        let mixed = || -> Result<f64, JobFileError> {
            Ok(percent("rwmixread", 100 - percent("rwmixwrite", 50)?)? as f64 / 100.0)
        };
        let (reads, trims, is_random) = match rw {
            "read" => (1.0, false, false),
            "write" => (0.0, false, false),
            "randread" => (1.0, false, true),
            "randwrite" => (0.0, false, true),
            "rw" | "readwrite" => (mixed()?, false, false),
            "randrw" => (mixed()?, false, true),
            "trim" => (0.0, true, false),
            "randtrim" => (0.0, true, true),
            _ => {
                let allowed = "read, write, rw, trim, randread, randwrite, randrw or randtrim";
                return Err(self.bad(key, allowed));
            }
        };
        Ok(Mix { reads, trims, is_random })
    }

    /// The sizes; their mean of reads, and of what else the job asks.
    fn blocks(&mut self, mix: &Mix, job: &mut String) -> Result<[f64; 2], JobFileError> {
        let mixed = mix.reads > 0.0 && mix.reads < 1.0;
        let is_map = mix.is_random && !self.is_on("norandommap");
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
            if is_map && sizes.len() > 1 {
                self.remark_of("bssplit", OVERLAPS);
            }
            let _ = writeln!(job, "block_sizes = [{}]", sizes.join(", "));
            return Ok([sum / weights; 2]);
        }
        let (key, value) = self.get(&["bs", "blocksize"]).unwrap_or(("bs", "4k"));
        let size = |text: &str| match text.trim() {
            // Left out between commas it is fio's own.
            "" => Some(4096),
            text => fio_size(text).filter(|size| size % 512 == 0),
        };
        let sizes: Option<Vec<u64>> = value.split(',').map(size).collect();
        let sizes = sizes.filter(|sizes| sizes.len() <= 3 && !value.is_empty());
        let sizes = sizes.ok_or_else(|| {
            self.bad(key, "sizes that are multiples of 512 B (for fio k is 1024 and Ki 1000)")
        })?;
        let of = |kind: usize| sizes.get(kind).or(sizes.last()).copied().unwrap_or(4096);
        let (reads, others) = (of(0), of(if mix.trims { 2 } else { 1 }));
        let first = if mix.reads > 0.0 { reads } else { others };
        let _ = writeln!(job, "block_sizes = [[\"{first}B\", 1]]");
        if mixed && others != reads {
            if is_map {
                self.remark_of("bs", OVERLAPS);
            }
            let _ = writeln!(job, "write_block_sizes = [[\"{others}B\", 1]]");
        }
        Ok([reads as f64, others as f64])
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
                let theta = theta.parse().ok().filter(|theta| (0.0..=1e3).contains(theta));
                let theta: f64 = theta
                    .filter(|theta| *theta > 0.0)
                    .ok_or_else(|| self.bad(key, "zipf:THETA, such as zipf:1.2"))?;
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

    /// The range: that of all devices, or of a file that the job has for itself: where it begins
    /// there, and how long it is.
    fn range(&self, job: &mut String) -> Result<Option<(u64, u64)>, JobFileError> {
        let files = self.get(&["filename"]).map_or(1, |(_, names)| devices(names));
        if files > 1 {
            let _ = writeln!(job, "files = {files}");
        }
        let range = [self.size("offset")?, self.size("size")?];
        for (key, bytes) in ["offset", "size"].into_iter().zip(range) {
            let Some(bytes) = bytes else { continue };
            if bytes % 512 != 0 {
                return Err(self.bad(key, "a multiple of 512 B"));
            }
            if files > 1 {
                let allowed = "the whole of each of several devices (100%), with number_ios or \
                               runtime for the end";
                return Err(self.bad(key, allowed));
            }
        }
        let [offset, size] = range;
        if let Some(size) = size {
            let _ = writeln!(job, "size = \"{size}B\"");
            if self.get(&["filename"]).is_none() {
                return Ok(Some((offset.unwrap_or(0), size)));
            }
        }
        if let Some(offset) = offset {
            let _ = writeln!(job, "offset = \"{offset}B\"");
        }
        Ok(None)
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
