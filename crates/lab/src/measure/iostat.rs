//! `iostat`'s series of rates, as text or JSON: what the host wrote in each interval.
//!
//! One device a file, at a known interval (`FILE@interval=1s,capacity=1TB`). The first report is
//! the mean since the system booted and does not count, unless `iostat -y` left it out: then an
//! interval is lost. Nor does the last interval with writes, in whose middle they may end. A kB is
//! 1024 B, as in `iostat`. Nobody asked the drive for its WAF: a fit has the rate alone.

use super::said::Said;
use super::{MeasureError, Window};
use serde_json::Value;

/// Columns of what was written and read in a second, and the bytes of one of their units.
const WRITTEN: [(&str, f64); 4] =
    [("wkB/s", KIB), ("wMB/s", KIB * KIB), ("kB_wrtn/s", KIB), ("MB_wrtn/s", KIB * KIB)];
const READ: [(&str, f64); 4] =
    [("rkB/s", KIB), ("rMB/s", KIB * KIB), ("kB_read/s", KIB), ("MB_read/s", KIB * KIB)];
const KIB: f64 = 1024.0;

/// Reads beside writes change what they take; so few do not.
const READS_MOST: f64 = 0.01;

/// No drive does a thousand million of any unit in a second; a counter that wrapped says so.
const PLAUSIBLE: std::ops::Range<f64> = 0.0..1e9;

/// Clocks and the interval that was said may differ by so much.
const CLOCKS: f64 = 0.2;

/// A window is no shorter, in capacities: intervals are joined.
const LEAST: f64 = 0.05;

/// A device in one interval, in bytes a second.
#[derive(Clone, Debug)]
struct Rates {
    device: String,
    written: f64,
    read: f64,
}

pub(super) fn is_text(text: &str) -> bool {
    text.lines().take(40).any(|line| columns(line).is_some())
}

pub(super) fn is_json(text: &str) -> bool {
    let text = text.trim_start();
    text.starts_with('{') && text.get(..2000).unwrap_or(text).contains("\"sysstat\"")
}

/// Seconds between two reports by the times that they bear, if they do (`-t`, or JSON): those of
/// day, of twelve hours or of 24. They tell whole seconds, so the mean of all gaps counts.
fn clocks(text: &str) -> Option<f64> {
    let second_of_day = |word: &str| {
        let word = word.trim_matches(['"', ',', 'T', 'Z']);
        let word = word.rsplit('T').next().unwrap_or(word);
        let parts: Vec<u32> =
            word.get(..8)?.split(':').map(str::parse).collect::<Result<_, _>>().ok()?;
        let [h @ ..24, m @ ..60, s @ ..60] = parts.as_slice() else { return None };
        Some((h % 12 * 60 + m) * 60 + s)
    };
    let is_time = |line: &&str| !line.contains("CPU") && columns(line).is_none();
    let times: Vec<u32> = text
        .lines()
        .filter(is_time)
        .filter_map(|line| line.split_whitespace().find_map(second_of_day))
        .collect();
    if times.len() < 3 {
        return None;
    }
    const HALF_A_DAY: u32 = 12 * 60 * 60;
    let gaps = times.windows(2).map(|pair| (pair[1] + HALF_A_DAY - pair[0]) % HALF_A_DAY);
    Some(gaps.map(u64::from).sum::<u64>() as f64 / (times.len() - 1) as f64)
}

/// The place and the unit of what was written, and of what was read.
fn columns(line: &str) -> Option<[Option<(usize, f64)>; 2]> {
    let names: Vec<&str> = line.split_whitespace().collect();
    let is_head = matches!(names.first(), Some(&("Device" | "Device:")));
    let place = |of: &[(&str, f64)]| {
        let at = |name: &str| names.iter().position(|known| *known == name);
        of.iter().find_map(|(name, unit)| Some((at(name)?, *unit)))
    };
    let written = place(&WRITTEN).filter(|_| is_head);
    written.is_some().then(|| [written, place(&READ)])
}

/// Reads the windows.
pub(super) fn read(file: &str, text: &str, said: &Said) -> Result<Vec<Window>, MeasureError> {
    let error = |message: &str| MeasureError::new(file, "", message);
    let seconds = said.interval.ok_or_else(|| {
        error("the time between two reports is needed: FILE@interval=1s,capacity=1TB")
    })?;
    let capacity = said
        .capacity
        .ok_or_else(|| error("rates need the drive's capacity: FILE@interval=1s,capacity=1TB"))?
        as f64;
    if let Some(own) = clocks(text).filter(|own| (own / seconds - 1.0).abs() > CLOCKS) {
        return Err(error(&format!(
            "its own times lie {own:.1} s apart, and interval={seconds}s was said"
        )));
    }
    let mut all = if is_json(text) { of_json(file, text)? } else { of_text(file, text)? };
    if let Some(other) = all.iter().find(|of| of.device != all[0].device) {
        let (one, other) = (&all[0].device, &other.device);
        return Err(error(&format!("devices {one} and {other}: one a file (iostat -x 1 {one})")));
    }
    all.drain(..1.min(all.len()));
    let last = all.iter().rposition(|of| of.written > 0.0).unwrap_or(0);
    all.truncate(last);
    let sum = |of: fn(&Rates) -> f64| all.iter().map(of).sum::<f64>();
    let (written, read) = (sum(|of| of.written), sum(|of| of.read));
    if read > READS_MOST * written {
        let percent = 100.0 * read / written.max(1.0);
        return Err(error(&format!(
            "it read {percent:.1} % of what it wrote: a long write has next to no reads beside it"
        )));
    }
    let windows = joined(&all, seconds, capacity);
    if windows.len() < 3 {
        return Err(error(&format!(
            "{} windows of {LEAST} capacities: at least 3 are needed; is the capacity right?",
            windows.len()
        )));
    }
    Ok(windows)
}

/// Intervals become windows; those in which nothing was written count for none.
fn joined(all: &[Rates], seconds: f64, capacity: f64) -> Vec<Window> {
    let (mut windows, mut from) = (Vec::new(), 0.0);
    let (mut written, mut took) = (0.0, 0.0);
    for rates in all.iter().filter(|of| of.written > 0.0) {
        written += rates.written * seconds;
        took += seconds;
        if written >= LEAST * capacity {
            let to = from + written / capacity;
            windows.push(Window { from, to, waf: None, bytes_per_s: written / took });
            (from, written, took) = (to, 0.0, 0.0);
        }
    }
    windows
}

fn of_text(file: &str, text: &str) -> Result<Vec<Rates>, MeasureError> {
    let (mut all, mut head) = (Vec::new(), None);
    for (number, line) in text.lines().enumerate() {
        let cells: Vec<&str> = line.split_whitespace().collect();
        if cells.is_empty() {
            head = None;
        } else if let Some([written, read]) = columns(line) {
            head = Some((cells.len(), written, read));
        } else if let Some((count, written, read)) = head {
            let error =
                |message: String| MeasureError::new(file, format!("line {}", number + 1), message);
            if cells.len() != count {
                let here = cells.len();
                return Err(error(format!("{here} values under {count} columns: is it cut off?")));
            }
            let rate = |place: Option<(usize, f64)>| {
                let Some((at, unit)) = place else { return Ok(0.0) };
                let number = cells[at].parse().ok().filter(|rate| PLAUSIBLE.contains(rate));
                let number = number.ok_or_else(|| {
                    let cell = cells[at];
                    error(format!("{cell} is no rate (a decimal point: LC_ALL=C iostat ..)"))
                })?;
                Ok(number * unit)
            };
            let device = cells[0].to_string();
            all.push(Rates { device, written: rate(written)?, read: rate(read)? });
        }
    }
    Ok(all)
}

fn of_json(file: &str, text: &str) -> Result<Vec<Rates>, MeasureError> {
    let document: Value = serde_json::from_str(text).map_err(|error| {
        let line = format!("line {}", error.line());
        MeasureError::new(file, line, format!("it is no whole JSON: {error}"))
    })?;
    let reports = document["sysstat"]["hosts"][0]["statistics"].as_array();
    let missing = |path: String, what: &str| {
        MeasureError::new(file, path, format!("{what}: the output of iostat -x -o JSON 1 DEVICE"))
    };
    let reports = reports
        .ok_or_else(|| missing("sysstat.hosts[0]".to_string(), "\"statistics\" is missing"))?;
    let mut all = Vec::new();
    for (number, report) in reports.iter().enumerate() {
        for disk in report["disk"].as_array().into_iter().flatten() {
            let rate = |of: &[(&str, f64)]| {
                let rate = |name: &str| disk[name].as_f64().filter(|rate| PLAUSIBLE.contains(rate));
                of.iter().find_map(|(name, unit)| Some(rate(name)? * unit))
            };
            let path = format!("sysstat.hosts[0].statistics[{number}]");
            let written =
                rate(&WRITTEN).ok_or_else(|| missing(path.clone(), "no rate of writes"))?;
            let read = rate(&READ).ok_or_else(|| missing(path, "no rate of reads"))?;
            let device = disk["disk_device"].as_str().unwrap_or_default().to_string();
            all.push(Rates { device, written, read });
        }
    }
    Ok(all)
}
