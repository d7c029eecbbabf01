//! Runs in words: the drive and the workload, for the head of a table and of a page.

use crate::table::cell;
use manx_config::Scenario;
use manx_core::host::{Arrival, JobSpec};

/// The drives, each once: "ttflash-256g: raw 8 GiB, ..".
pub fn drives(runs: &[(String, Scenario)]) -> Vec<String> {
    let mut drives: Vec<String> = Vec::new();
    for (_, scenario) in runs {
        let (name, array) = (plain(&scenario.device.name), &scenario.array);
        let of = match array.is_on() {
            true => format!("{} x {name} as {:?}", array.members, array.level).to_lowercase(),
            false => name,
        };
        let drive = format!("{of}: {}", scenario.capacity());
        if !drives.contains(&drive) {
            drives.push(drive);
        }
    }
    drives
}

/// The workload: its name, or the trace's, and what it asks for. `named` is what took the place of
/// the scenario's.
pub fn workload(named: Option<&str>, scenario: &Scenario) -> String {
    let (jobs, act) = (&scenario.workload.jobs, &scenario.workload.act);
    let traces: Vec<String> = jobs
        .iter()
        .filter_map(|job| job.trace.as_ref())
        .map(|trace| file_name(&trace.file))
        .collect();
    if !traces.is_empty() {
        return format!("trace {}", traces.join(", "));
    }
    let name = plain(named.unwrap_or(&scenario.name));
    match (act, jobs.as_slice()) {
        (Some(act), _) => format!("{name}: ACT at {}x", act.multiplier),
        (None, [job]) => format!("{name}: {}", asked(job)),
        (None, jobs) => format!("{name}: {} jobs", jobs.len()),
    }
}

/// Title of a page or a picture of these runs: "oltp on ttflash-256g".
pub fn title(named: Option<&str>, scenario: &Scenario) -> String {
    let workload = workload(named, scenario);
    let name = workload.split_once(": ").map_or(workload.as_str(), |(name, _)| name);
    format!("{name} on {}", plain(&scenario.device.name))
}

fn asked(job: &JobSpec) -> String {
    let rate = job.rate;
    let arrival = match job.arrival {
        Arrival::Closed => format!("{} outstanding", job.queue_depth),
        Arrival::Poisson => format!("Poisson arrivals at {rate}/s"),
        Arrival::Fixed | Arrival::Paced | Arrival::PacedSmooth => format!("paced at {rate}/s"),
        Arrival::Bursty => format!("bursts of {rate}/s on average"),
        Arrival::Phases => format!("phases of {rate}/s on average"),
        Arrival::Trace => "the trace's times".to_string(),
    };
    let mut said = vec![format!("{} % reads", job.read_percent), arrival];
    if job.requests > 0 {
        said.push(format!("{} requests", cell::count(job.requests)));
    }
    if !job.time.is_zero() {
        said.push(job.time.to_string());
    }
    said.join(", ")
}

/// The last part of a path, a member of an archive included.
fn file_name(path: &str) -> String {
    plain(path.rsplit(['/', '\\']).next().unwrap_or(path))
}

/// Another's text, in one line.
fn plain(text: &str) -> String {
    text.replace(char::is_control, " ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::Request;
    use manx_config::Override;

    fn scenario(name: &str, sets: &[(&str, &str)]) -> Scenario {
        let overrides =
            sets.iter().map(|(key, value)| Override::new(*key, *value, "a test")).collect();
        Request::read(name, overrides).unwrap().plain().unwrap()
    }

    #[test]
    fn a_drive_and_a_workload_are_told_in_a_line_each() {
        let quick = scenario("quick", &[]);
        let runs = [("nogc".to_string(), quick.clone()), ("base".to_string(), quick.clone())];
        assert_eq!(drives(&runs), [format!("femu: {}", quick.capacity())]);
        assert_eq!(
            workload(None, &quick),
            "quick: 70 % reads, Poisson arrivals at 4000/s, 50,000 requests"
        );
        assert_eq!(title(None, &quick), "quick on femu");
        assert_eq!(title(Some("ycsb-a"), &quick), "ycsb-a on femu");
        let closed = [
            ("workload.arrival", "\"closed\""),
            ("workload.requests", "0"),
            ("workload.time", "\"90s\""),
        ];
        let closed =
            scenario("quick", &[closed.as_slice(), &[("workload.queue_depth", "16")]].concat());
        assert_eq!(workload(None, &closed), "quick: 70 % reads, 16 outstanding, 90s");
        let ioda = scenario("ioda", &[]);
        let drive = drives(&[("raid".to_string(), ioda)]).concat();
        assert!(drive.starts_with("4 x femu as raid5: "), "{drive}");
    }

    #[test]
    fn a_trace_is_named_and_not_the_scenario_that_it_replaces() {
        let keys = [
            ("workload.jobs", "[]"),
            ("workload.trace.file", "\"/data/day\\u001b1/web.tar:a/pg.csv\""),
        ];
        let replayed =
            scenario("oltp", &[keys.as_slice(), &[("workload.arrival", "\"trace\"")]].concat());
        assert_eq!(workload(None, &replayed), "trace pg.csv");
        assert_eq!(title(None, &replayed), "trace pg.csv on ttflash-256g");
    }
}
