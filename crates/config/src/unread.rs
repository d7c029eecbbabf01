//! Keys that a scenario does not look at, so that a user who sets one is told that it changes
//! nothing.
//!
//! One place knows which choice makes which keys idle; the keys themselves are checked all the
//! same.

use super::Scenario;
use manx_core::array::{RaidLevel, ReadStrategy};
use manx_core::drive::{EraseLength, EraseMode, PreconditionState, ProgramMode, Reconstruct};
use manx_core::flash::RetryMode;
use manx_core::ftl::log::LogPolicy;
use manx_core::ftl::{DataPlacement, FtlKind, GcMode, Rotate, Victim};
use manx_core::host::{Arrival, JobSpec, Pattern};

/// Why `scenario` does not look at `key`, if it does not.
pub fn why_unread(scenario: &Scenario, key: &str) -> Option<String> {
    let parts: Vec<&str> = key.split('.').map(str::trim).collect();
    let jobs = &scenario.workload.jobs;
    match parts.as_slice() {
        ["workload", .., "stream" | "stream_by"] => {
            (scenario.ftl.placement != DataPlacement::Stream).then(|| {
                let placement = word(&scenario.ftl.placement);
                format!("ftl.placement = {placement} has no use for it")
            })
        }
        ["workload", "jobs", number, name, ..] => {
            of_job(jobs.get(number.parse::<usize>().ok()?)?, name)
        }
        ["workload", name, ..] => {
            let reasons: Option<Vec<String>> = jobs.iter().map(|job| of_job(job, name)).collect();
            reasons?.into_iter().next()
        }
        ["ftl", "map", name] => (*name != "cache" && scenario.ftl.map.cache.get() == 0)
            .then(|| "ftl.map.cache = \"0B\" has no use for it".to_string()),
        ["device", "slc", ..] => of_drive(scenario, "ftl", "pslc"),
        ["device", "channel", "suspend_command"] => of_suspend_command(scenario),
        [section, name, ..] => {
            of_drive(scenario, section, name).or_else(|| of_choice(scenario, &parts))
        }
        _ => None,
    }
}

/// As [`why_unread`], for the time of the commands of a suspension.
fn of_suspend_command(scenario: &Scenario) -> Option<String> {
    let (erase, program) = (scenario.erase.mode, scenario.program.mode);
    let is_idle = matches!(erase, EraseMode::None | EraseMode::Ideal)
        && matches!(program, ProgramMode::None | ProgramMode::Ideal);
    let (erase, program) = (erase.name(), program.name());
    is_idle.then(|| {
        format!("erase.mode = \"{erase}\" with program.mode = \"{program}\" has no use for it")
    })
}

/// As [`why_unread`], for a key of a job.
fn of_job(job: &JobSpec, name: &str) -> Option<String> {
    use Arrival::{Bursty, Closed, Paced, PacedSmooth};
    let arrival = match name {
        "queue_depth" => Some([Closed, Paced, PacedSmooth].contains(&job.arrival)),
        "think" | "start" | "host_delay" | "host_busy" | "host_page" => Some(job.arrival == Closed),
        "rate" => Some(job.arrival != Closed && job.arrival != Arrival::Trace),
        "peak_to_mean" | "burst" => Some(job.arrival == Bursty),
        "phases" => Some(job.arrival == Arrival::Phases),
        _ => None,
    };
    if arrival == Some(false) {
        return Some(format!("workload.arrival = {} has no use for it", word(&job.arrival)));
    }
    if job.trace.is_some() {
        let paced = name == "time" && [Closed, Paced, PacedSmooth].contains(&job.arrival);
        let own = ["trace", "arrival", "stream", "stream_by", "act", "jobs"].contains(&name);
        let why = "a trace brings its own requests; what bounds it are the keys of workload.trace";
        return (arrival.is_none() && !paced && !own).then(|| why.to_string());
    }
    let pattern = match name {
        "zipf_theta" => Pattern::Zipf,
        "tiers" | "write_tiers" | "cyclic_tiers" | "tier_block" => Pattern::Tiers,
        _ => return None,
    };
    (job.pattern != pattern)
        .then(|| format!("workload.pattern = {} has no use for it", word(&job.pattern)))
}

/// As [`why_unread`], for a key of the drive or the array.
fn of_drive(scenario: &Scenario, section: &str, name: &str) -> Option<String> {
    let Scenario { gc, ftl, precondition, array, rain, host, scrub, recovery, .. } = scenario;
    let state = precondition.state;
    let (idle, choice) = match (section, name) {
        ("gc", "choices") => {
            (gc.victim != Victim::DChoices, format!("gc.victim = {}", word(&gc.victim)))
        }
        ("gc", "window") => {
            (gc.victim != Victim::WindowedGreedy, format!("gc.victim = {}", word(&gc.victim)))
        }
        ("erase" | "program", name) => of_suspension(scenario, section, name)?,
        ("gc", "rotate_erases" | "rotate_window" | "rotate_hysteresis") => {
            (gc.rotate == Rotate::Off, format!("gc.rotate = {}", word(&gc.rotate)))
        }
        ("gc", "cut_transfers") => {
            (gc.mode != GcMode::PlaneBlocking, format!("gc.mode = {}", word(&gc.mode)))
        }
        ("scrub", "rber" | "rewrite_at" | "codeword") => {
            (!scrub.errors, "scrub.errors = false".to_string())
        }
        ("recovery", "read") => (!recovery.keep, "recovery.keep = false".to_string()),
        ("ftl", "dac_regions" | "dac_age" | "streams" | "pslc") => {
            let reader = match name {
                "streams" => DataPlacement::Stream,
                "pslc" => DataPlacement::Pslc,
                _ => DataPlacement::Dac,
            };
            (ftl.placement != reader, format!("ftl.placement = {}", word(&ftl.placement)))
        }
        ("ageing" | "retry" | "faults", name) => of_errors(scenario, section, name)?,
        ("drive", "brt" | "fast_fail") => {
            use ReadStrategy::{Iod1, Iod2, Ioda, IodaAdaptive};
            let asks = matches!(array.strategy, Iod1 | Iod2 | Ioda | IodaAdaptive);
            let idle = !asks && array.brought.name().is_none();
            (idle, "a host whose reads do not ask to fail (array.strategy)".to_string())
        }
        ("ftl", "log") => {
            (ftl.kind != FtlKind::LogBlock, format!("ftl.kind = {}", word(&ftl.kind)))
        }
        ("precondition", "ratio") => {
            (state != PreconditionState::Aged, format!("precondition.state = {}", word(&state)))
        }
        ("precondition", "passes_max" | "settled_below" | "overwrite") => {
            (state != PreconditionState::Steady, format!("precondition.state = {}", word(&state)))
        }
        ("host", name) if name != "on_timeout" => {
            (!host.resets(), format!("host.on_timeout = {}", word(&host.on_timeout)))
        }
        ("array", "parities") if array.is_on() => {
            (array.level != RaidLevel::Ec, format!("array.level = {}", word(&array.level)))
        }
        ("array", name) => (!array.is_on() && name != "members", "array.members = 1".to_string()),
        ("rain", "cost_rule") if rain.width > 0 => {
            let judges = matches!(rain.reconstruct, Reconstruct::Full | Reconstruct::Cost);
            (!judges, format!("rain.reconstruct = {}", word(&rain.reconstruct)))
        }
        ("rain", name) => (rain.width == 0 && name != "width", "rain.width = 0".to_string()),
        _ => return None,
    };
    idle.then(|| format!("{choice} has no use for it"))
}

/// As [`why_unread`], for a key that one choice of a list has a use for, and no other.
fn of_choice(scenario: &Scenario, parts: &[&str]) -> Option<String> {
    let Scenario { gc, ftl, array, scrub, drive, .. } = scenario;
    let strategy = |reader| {
        let idle = array.strategy != reader && array.brought.name().is_none();
        (idle, format!("array.strategy = {}", word(&array.strategy)))
    };
    let (idle, choice) = match parts {
        ["gc", "rotate_urgent"] => {
            (gc.rotate == Rotate::Off, format!("gc.rotate = {}", word(&gc.rotate)))
        }
        ["gc", "per_channel"] => {
            (gc.mode != GcMode::PlaneBlocking, format!("gc.mode = {}", word(&gc.mode)))
        }
        ["ftl", "stream_copies"] => (
            ftl.placement != DataPlacement::Stream,
            format!("ftl.placement = {}", word(&ftl.placement)),
        ),
        ["scrub", "correctable"] => (!scrub.errors, "scrub.errors = false".to_string()),
        ["drive", "full_buffer"] => {
            (drive.background_flush, "drive.background_flush = true".to_string())
        }
        ["array", "slo"] => strategy(ReadStrategy::Mittos),
        ["array", "hedge_after"] => strategy(ReadStrategy::Hedged),
        ["array", "window_norm"] => strategy(ReadStrategy::IodaAdaptive),
        ["array", "window" | "guard"] => {
            use ReadStrategy::{Direct, Hedged, Iod1, Iod2, Mittos, Proactive};
            let none = matches!(array.strategy, Direct | Hedged | Iod1 | Iod2 | Mittos | Proactive);
            let idle = none && array.brought.name().is_none();
            (idle, format!("array.strategy = {}", word(&array.strategy)))
        }
        ["ftl", "log", name] => {
            let policy = ftl.log.policy;
            (!reads(policy, name), format!("ftl.log.policy = {}", word(&policy)))
        }
        _ => return None,
    };
    idle.then(|| format!("{choice} has no use for it"))
}

/// True when a log-block FTL looks at this key of `ftl.log`.
fn reads(policy: LogPolicy, name: &str) -> bool {
    use LogPolicy::{Bast, Fast, Faster, Last, PageMapping, Superblock};
    match name {
        "log_victim" => policy == Bast,
        "sequential" | "sequential_run" | "switch_at_once" => matches!(policy, Fast | Faster),
        "isolation" | "tail" | "full_block" | "sparse_percent" => policy == Faster,
        "victim" | "frontiers" => policy == PageMapping,
        name if name.starts_with("progressive") => policy == Faster,
        name if name.starts_with("superblock_") => policy == Superblock,
        name if name.starts_with("last_") => policy == Last,
        _ => true,
    }
}

/// Keys of erases and of suspension: whether the key is idle, and by which choice.
fn of_suspension(scenario: &Scenario, section: &str, name: &str) -> Option<(bool, String)> {
    let Scenario { erase, program, .. } = scenario;
    Some(match (section, name) {
        ("erase", "timeout") => {
            (erase.mode != EraseMode::TEs, format!("erase.mode = {}", word(&erase.mode)))
        }
        ("erase", "max_suspensions" | "min_run" | "suspend" | "resume" | "gc_reads") => {
            (erase.mode == EraseMode::None, format!("erase.mode = {}", word(&erase.mode)))
        }
        ("erase", "need_least" | "need_spread" | "need_all_at" | "fractions" | "shallow") => {
            (erase.length == EraseLength::Fixed, format!("erase.length = {}", word(&erase.length)))
        }
        ("program", name) if name != "mode" => {
            (program.mode == ProgramMode::None, format!("program.mode = {}", word(&program.mode)))
        }
        ("erase", "hold_max" | "hold_victims") => {
            (erase.hold.is_zero(), "erase.hold = 0s".to_string())
        }
        _ => return None,
    })
}

/// Keys of errors, ageing and wear: whether the key is idle, and by which choice.
fn of_errors(scenario: &Scenario, section: &str, name: &str) -> Option<(bool, String)> {
    let Scenario { device, gc, retry, faults, .. } = scenario;
    Some(match (section, name) {
        ("ageing", "pe_cycles") => {
            let idle = !retry.is_on() && device.endurance == 0;
            (idle, "retry.mode = \"none\" on a device that states no device.endurance".to_string())
        }
        ("ageing", _) => (!retry.is_on(), "retry.mode = \"none\"".to_string()),
        ("retry", name) if name != "mode" => {
            let (mode, soft) = (retry.mode, retry.soft_reads > 0);
            let idle = match name {
                "check" => mode != RetryMode::OnDie,
                "reset" => mode != RetryMode::Pipelined,
                _ => !retry.is_on(),
            };
            match name {
                "soft_decode" | "soft_correctable" if retry.is_on() => {
                    (!soft, "retry.soft_reads = 0".to_string())
                }
                "short_errors" if retry.is_on() => {
                    (retry.shorten == 0.0, "retry.shorten = 0".to_string())
                }
                _ => (idle, format!("retry.mode = {}", word(&mode))),
            }
        }
        ("faults", "growth_per_1000") => {
            let none = faults.program_fail == 0.0 && faults.erase_fail == 0.0;
            (none, "a drive whose faults.program_fail and faults.erase_fail are 0".to_string())
        }
        ("faults", "wear_out") => {
            (gc.mode == GcMode::Nogc, format!("gc.mode = {}", word(&gc.mode)))
        }
        _ => return None,
    })
}

/// A word of a closed list as a scenario has it.
fn word(value: &impl serde::Serialize) -> String {
    toml::Value::try_from(value).map_or_else(|_| String::new(), |value| value.to_string())
}
