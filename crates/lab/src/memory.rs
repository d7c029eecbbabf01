//! The memory that a run will take, before it takes it, and the memory that is there.
//!
//! The figures are measured (resident bytes over pages, x86-64) and rather too small than too
//! large: a run that would have fitted is not refused.

use manx_config::Scenario;
use manx_core::drive::PreconditionState;
use manx_core::flash::Capacity;
use manx_core::ftl::FtlKind;
use manx_core::host::Arrival;
use std::fmt::Write;

/// A request that waits: in the driver, in the drive, in its queues.
const REQUEST_BYTES: u64 = 115;
/// A record of a timeline, in memory and as it is written.
const RECORD_BYTES: u64 = 100;
/// Requests by which a backlog may grow between two looks at the memory.
pub(crate) const BACKLOG_STEP: u64 = 1 << 20;
/// So much must stay free beside a backlog.
const RESERVE_BYTES: u64 = 128 << 20;

/// The memory that a run needs at least, and for what.
#[derive(Clone, Debug, PartialEq)]
pub struct Need {
    /// Bytes.
    pub bytes: u64,
    /// The arithmetic, and the keys in it.
    pub words: String,
}

impl Need {
    /// Of a run of `scenario`.
    pub fn of(scenario: &Scenario, verify: bool) -> Self {
        let (capacity, unit) =
            (Capacity::of(&scenario.device), scenario.device.geometry.map_unit.get());
        let (raw, user) = (capacity.raw.get() / unit, capacity.user.get() / unit);
        let verify = verify || scenario.recovery.cut_at.is_some();
        // The maps; log blocks have an entry more for each page.
        let mut drive =
            4 * user + 3 * raw + if scenario.ftl.kind == FtlKind::LogBlock { 7 * raw } else { 0 };
        if verify {
            drive += 4 * raw + 8 * user;
        }
        if scenario.recovery.keep {
            drive +=
                if scenario.precondition.state == PreconditionState::Empty { 8 } else { 14 } * raw;
        }
        let spare = u64::from(!scenario.array.replace_after.is_zero());
        let drives =
            if scenario.array.is_on() { u64::from(scenario.array.members) + spare } else { 1 };
        let closed = scenario.workload.jobs.iter().filter(|job| job.arrival == Arrival::Closed);
        let waiting: u64 = closed.map(|job| u64::from(job.queue_depth)).sum();
        let bytes =
            drives.saturating_mul(drive).saturating_add(waiting.saturating_mul(REQUEST_BYTES));
        let mut words =
            format!("{:.1} M pages of {unit} bytes (device.geometry)", raw as f64 / 1e6);
        if verify {
            words.push_str(", with --verify");
        }
        if scenario.recovery.keep {
            words.push_str(", with recovery.keep");
        }
        if drives > 1 {
            let _ = write!(words, ", {drives} drives (array.members)");
        }
        if waiting * REQUEST_BYTES > bytes / 10 {
            let _ = write!(
                words,
                ", {:.1} M requests outstanding (workload.queue_depth)",
                waiting as f64 / 1e6
            );
        }
        Self { bytes, words }
    }
}

/// Why `need` cannot be met, if it cannot.
pub fn refusal(need: &Need) -> Option<String> {
    let Available { bytes, limit } = available()?;
    (need.bytes > bytes).then(|| {
        let Need { bytes: needed, words } = need;
        format!(
            "out of memory before it begins: it needs about {}: {words}; \
             {} are available ({limit}). Smaller values of these keys fit",
            in_words(*needed),
            in_words(bytes)
        )
    })
}

/// Why a timeline of so many records cannot be kept, if it cannot.
pub fn timeline_refusal(records: u64) -> Option<String> {
    let Available { bytes, limit } = available()?;
    let most = bytes / RECORD_BYTES;
    (records > most).then(|| {
        let available = in_words(bytes);
        format!("{available} of memory are available ({limit}), which hold {most} records")
    })
}

/// Why a backlog of `waiting` requests must not grow further, if it must not: growing may take as
/// much again.
pub(crate) fn backlog_refusal(waiting: u64) -> Option<String> {
    let Available { bytes, limit } = available()?;
    (bytes < waiting * REQUEST_BYTES + RESERVE_BYTES).then(|| {
        format!(
            "out of memory: {:.1} M requests wait for the drive, and more come than it \
             completes; {} are left ({limit}). A smaller workload.rate or measure.timeout \
             ends the run before that",
            waiting as f64 / 1e6,
            in_words(bytes)
        )
    })
}

/// How many runs, each needing `bytes`, fit side by side; at least one.
pub(crate) fn side_by_side(bytes: u64) -> usize {
    available().map_or(usize::MAX, |available| (available.bytes / bytes.max(1)).max(1) as usize)
}

fn in_words(bytes: u64) -> String {
    match bytes {
        0..1_000_000_000 => format!("{:.0} MB", bytes as f64 / 1e6),
        _ => format!("{:.1} GB", bytes as f64 / 1e9),
    }
}

/// Memory that this process may still take, and the limit that says so.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Available {
    bytes: u64,
    limit: &'static str,
}

/// The smallest of what the machine has, its control group and its `ulimit`; `None` where the
/// system does not tell.
fn available() -> Option<Available> {
    [of_machine(), of_group(), of_process()]
        .into_iter()
        .flatten()
        .min_by_key(|available| available.bytes)
}

fn of_machine() -> Option<Available> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let bytes =
        field(&text, "MemAvailable:")? * 1024 + field(&text, "SwapFree:").unwrap_or(0) * 1024;
    Some(Available { bytes, limit: "of the machine" })
}

/// The first number behind `name` at the beginning of a line.
fn field(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name))?.split_whitespace().next()?.parse().ok()
}

/// Of the control groups around the process, as containers set them (cgroup v2, or v1).
fn of_group() -> Option<Available> {
    let number = |path: String| std::fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
    let left = |folder: &str, [limit, used]: [&str; 2]| {
        let (limit, used) =
            (number(format!("{folder}/{limit}"))?, number(format!("{folder}/{used}"))?);
        // The page cache is given up when memory is needed.
        let stat = std::fs::read_to_string(format!("{folder}/memory.stat")).unwrap_or_default();
        let files = field(&stat, "file ").or_else(|| field(&stat, "cache ")).unwrap_or(0);
        Some(limit.saturating_sub(used.saturating_sub(files)))
    };
    let own = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let own =
        own.lines().find_map(|line| line.strip_prefix("0::")).unwrap_or("/").trim_end_matches('/');
    let paths = std::path::Path::new(own).ancestors().map(|path| path.display().to_string());
    let second = paths.filter_map(|path| {
        left(
            &format!("/sys/fs/cgroup{}", path.trim_end_matches('/')),
            ["memory.max", "memory.current"],
        )
    });
    let first = left("/sys/fs/cgroup/memory", ["memory.limit_in_bytes", "memory.usage_in_bytes"]);
    second.chain(first).min().map(|bytes| Available { bytes, limit: "of its control group" })
}

#[cfg(unix)]
fn of_process() -> Option<Available> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is a valid place for the answer.
    let answered = unsafe { libc::getrlimit(libc::RLIMIT_AS, &mut limit) } == 0;
    if !answered || limit.rlim_cur == libc::RLIM_INFINITY {
        return None;
    }
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = statm.split(' ').next()?.parse().ok()?;
    // SAFETY: it only answers.
    let page = u64::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).ok()?;
    Some(Available { bytes: limit.rlim_cur.saturating_sub(pages * page), limit: "ulimit -v" })
}

#[cfg(not(unix))]
fn of_process() -> Option<Available> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::Request;
    use manx_config::Override;

    fn need(sets: &[(&str, &str)], verify: bool) -> Need {
        let sets = sets.iter().map(|(key, value)| Override::new(*key, *value, "a test")).collect();
        Need::of(&Request::read("quick", sets).unwrap().plain().unwrap(), verify)
    }

    #[test]
    fn the_estimate_grows_with_pages_drives_and_what_is_kept_of_them() {
        let plain = need(&[], false);
        let pages = 4096.0;
        let scenario = Request::read("quick", Vec::new()).unwrap().plain().unwrap();
        let raw = Capacity::of(&scenario.device).raw.get() as f64 / pages;
        let per_page = plain.bytes as f64 / raw;
        assert!((6.0..7.4).contains(&per_page), "{per_page}");
        let verified = need(&[], true).bytes as f64 / raw;
        assert!((9.0..12.0).contains(&(verified - per_page)), "{verified}");
        assert_eq!(need(&[("array.members", "4")], false).bytes, 4 * plain.bytes);
        assert!(
            need(&[("recovery.keep", "true")], false).bytes as f64
                >= plain.bytes as f64 + 8.0 * raw
        );
        let deep =
            need(&[("workload.arrival", "\"closed\""), ("workload.queue_depth", "1000000")], false);
        assert_eq!(deep.bytes, plain.bytes + 1_000_000 * REQUEST_BYTES);
        assert!(
            deep.words.contains("1.0 M requests outstanding (workload.queue_depth)"),
            "{}",
            deep.words
        );
    }

    #[test]
    fn what_is_more_than_any_machine_has_is_refused_with_its_keys() {
        let needed = Need { words: "24 drives (array.members)".to_string(), bytes: u64::MAX };
        if available().is_some() {
            let said = refusal(&needed).unwrap();
            assert!(said.contains("array.members") && said.contains("are available"), "{said}");
            assert!(backlog_refusal(1 << 50).unwrap().contains("workload.rate"));
            assert!(timeline_refusal(u64::MAX).unwrap().contains("records"));
        }
        assert_eq!(refusal(&Need { bytes: 0, ..needed }), None);
    }
}
