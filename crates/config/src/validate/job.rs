//! The limits of the jobs of a workload.

use super::{Check, TIME_MAX, require, require_percent, require_time};
use crate::Scenario;
use manx_core::ftl::DataPlacement;
use manx_core::host::{Arrival, JobSpec, Pattern, StreamBy};
use manx_core::units::{Bytes, SECTOR};
use manx_trace::TraceSpec;

/// The most jobs, and the most requests that one keeps outstanding: each has a slot in memory.
const JOBS_MAX: usize = 256;
const QUEUE_DEPTH_MAX: u32 = 1 << 20;
/// More differences in heat than anyone measures.
const TIERS_MAX: usize = 16;
/// Requests a second: above, gaps would be below a nanosecond; below, longer than the clock of a
/// run.
const RATES: std::ops::RangeInclusive<f64> = 1e-3..=1e9;

/// Every job, then what is measured of them.
pub(super) fn all(scenario: &Scenario) -> Check {
    jobs(&scenario.workload.jobs, scenario.capacity().user)?;
    streams(scenario)?;
    require_time(scenario.measure.warmup, "measure.warmup")?;
    require_time(scenario.measure.timeout, "measure.timeout")?;
    measured(scenario)
}

/// The jobs alone, on a device of which the host sees `user`.
pub(crate) fn jobs(jobs: &[JobSpec], user: Bytes) -> Check {
    let count = jobs.len();
    require(
        (1..=JOBS_MAX).contains(&count),
        "workload.jobs",
        format!("a list of {count}"),
        "from 1 to 256 jobs",
    )?;
    for (i, job) in jobs.iter().enumerate() {
        one(job, user, &|name| format!("workload.jobs.{i}.{name}"))?;
    }
    Ok(())
}

/// Hints stay within the streams that the drive keeps apart; without those nobody looks at them.
fn streams(scenario: &Scenario) -> Check {
    let streams = scenario.ftl.streams;
    if scenario.ftl.placement != DataPlacement::Stream {
        return Ok(());
    }
    for (i, job) in scenario.workload.jobs.iter().enumerate() {
        let key = |name: &str| format!("workload.jobs.{i}.{name}");
        let by_tier =
            job.stream_by == StreamBy::Tier && job.trace.is_none() && job.pattern == Pattern::Tiers;
        if !by_tier {
            let message = format!("below ftl.streams = {streams}");
            require(u32::from(job.stream) < streams, &key("stream"), job.stream, message)?;
            continue;
        }
        let tiers = if job.write_tiers.is_empty() { &job.tiers } else { &job.write_tiers };
        let rest = usize::from(tiers.iter().map(|tier| tier.0).sum::<f64>() < 100.0 - 1e-6);
        let count = (tiers.len() + rest) as u32;
        let message = format!(
            "at most ftl.streams = {streams} tiers with what is left of the space; there are \
             {count}"
        );
        require(count <= streams, &key("stream_by"), "\"tier\"", message)?;
    }
    Ok(())
}

/// More files than any job spreads its requests over.
const FILES_MAX: u32 = 1024;

pub(super) type Key<'a> = &'a dyn Fn(&str) -> String;

fn one(job: &JobSpec, user: Bytes, key: Key<'_>) -> Check {
    range(job, user, key)?;
    let message = format!("from 1 to {FILES_MAX} files or devices");
    require((1..=FILES_MAX).contains(&job.files), &key("files"), job.files, message)?;
    let message = "1 with rewrites: they come back to one range";
    require(job.files == 1 || job.rewrites.is_none(), &key("files"), job.files, message)?;
    require_time(job.time, &key("time"))?;
    let host = [
        ("host_delay", job.host_delay),
        ("host_busy", job.host_busy),
        ("host_page", job.host_page),
    ];
    for (name, time) in [("think", job.think), ("start", job.start)].into_iter().chain(host) {
        require_time(time, &key(name))?;
    }
    let ends = job.time.is_zero() || job.arrival != Arrival::Closed || job.time > job.start;
    let message = format!("above workload.start = {}: both count from the run's start", job.start);
    require(ends, &key("time"), job.time, message)?;
    arrival(job, key)?;
    match &job.trace {
        Some(spec) => trace(spec, key),
        None => generator(job, user, key),
    }
}

/// The part of the device that a job works on.
fn range(job: &JobSpec, user: Bytes, key: Key<'_>) -> Check {
    for (name, bytes) in [("offset", job.offset), ("size", job.size), ("align", job.align)] {
        require(
            bytes.get().is_multiple_of(SECTOR),
            &key(name),
            bytes,
            "a multiple of the 512 B sector",
        )?;
    }
    let (offset, size) = (job.offset.get(), job.size.get());
    require(
        offset < user.get(),
        &key("offset"),
        job.offset,
        format!("below the {} B that the host sees", user.get()),
    )?;
    let rest = user.get() - offset;
    let message =
        format!("at most {rest} B, which lie between workload.offset and the end of the device");
    require(size <= rest, &key("size"), job.size, message)
}

fn arrival(job: &JobSpec, key: Key<'_>) -> Check {
    match job.arrival {
        Arrival::Closed => {
            let holds = (1..=QUEUE_DEPTH_MAX).contains(&job.queue_depth);
            let message =
                format!("from 1 to {QUEUE_DEPTH_MAX} outstanding requests (arrival = \"closed\")");
            require(holds, &key("queue_depth"), job.queue_depth, message)
        }
        Arrival::Paced | Arrival::PacedSmooth => {
            let holds = (1..=QUEUE_DEPTH_MAX).contains(&job.queue_depth);
            let message = format!("from 1 to {QUEUE_DEPTH_MAX} threads (arrival = \"paced\")");
            require(holds, &key("queue_depth"), job.queue_depth, message)?;
            let message =
                "\"trace\" or \"closed\" with a workload.trace, which has times of its own";
            require(job.trace.is_none(), &key("arrival"), "\"paced\"", message)?;
            let message =
                "from 0.001 to 1e9 requests per second of all threads (arrival = \"paced\")";
            require(RATES.contains(&job.rate), &key("rate"), job.rate, message)
        }
        Arrival::Trace => {
            let message = "only with a workload.trace, whose times it takes";
            require(job.trace.is_some(), &key("arrival"), "\"trace\"", message)
        }
        Arrival::Poisson | Arrival::Fixed | Arrival::Bursty | Arrival::Phases => {
            let said = match job.arrival {
                Arrival::Poisson => "\"poisson\"",
                Arrival::Phases => "\"phases\"",
                Arrival::Bursty => "\"bursty\"",
                _ => "\"fixed\"",
            };
            let message =
                "\"trace\" or \"closed\" with a workload.trace, which has times of its own";
            require(job.trace.is_none(), &key("arrival"), said, message)?;
            let message = format!("from 0.001 to 1e9 requests per second (arrival = {said})");
            require(RATES.contains(&job.rate), &key("rate"), job.rate, message)?;
            match job.arrival {
                Arrival::Bursty => bursts(job, key),
                Arrival::Phases => super::fitted::phases(job.phases.as_ref(), key),
                _ => Ok(()),
            }
        }
    }
}

/// A burst holds requests, and they come one after the other.
fn bursts(job: &JobSpec, key: Key<'_>) -> Check {
    let (peak, rate) = (job.peak_to_mean, job.rate);
    let message = format!(
        "at least 1, and at most 1e9 requests per second in a burst (workload.rate = {rate})"
    );
    require(peak >= 1.0 && peak * rate <= 1e9, &key("peak_to_mean"), peak, message)?;
    require_time(job.burst, &key("burst"))?;
    let requests = job.burst.as_ns() as f64 / 1e9 * peak * rate;
    let message =
        format!("long enough for a hundredth of a request: it holds {requests} on average");
    require(requests >= 0.01, &key("burst"), job.burst, message)?;
    let silence = job.burst.as_ns() as f64 * (peak - 1.0);
    let message = "at most 366 d of silence between bursts, which is burst x (peak_to_mean - 1)";
    require(silence <= TIME_MAX.as_ns() as f64, &key("peak_to_mean"), peak, message)
}

fn trace(trace: &TraceSpec, key: Key<'_>) -> Check {
    require(!trace.file.is_empty(), &key("trace.file"), "\"\"", "the path of a trace file")?;
    let scale = trace.rate_scale;
    let message = "a factor from 0.000001 to 1000000000; 2 replays twice as fast";
    require((1e-6..=1e9).contains(&scale), &key("trace.rate_scale"), scale, message)?;
    require(trace.repeat > 0, &key("trace.repeat"), trace.repeat, "at least 1 time")?;
    require_time(trace.from, &key("trace.from"))?;
    require_time(trace.to, &key("trace.to"))?;
    let holds = trace.to.is_zero() || trace.to > trace.from;
    let message = format!("after trace.from = {}, or 0s for the trace's end", trace.from);
    require(holds, &key("trace.to"), trace.to, message)?;
    let align = trace.align.get();
    let message = "a multiple of 512 B, at most 1GiB; 0B leaves requests as they are";
    require(
        align.is_multiple_of(SECTOR) && align <= 1 << 30,
        &key("trace.align"),
        trace.align,
        message,
    )
}

fn generator(job: &JobSpec, user: Bytes, key: Key<'_>) -> Check {
    require_percent(job.read_percent, &key("read_percent"))?;
    require_percent(job.fua_percent, &key("fua_percent"))?;
    let trim = job.trim_percent;
    let holds = trim >= 0.0 && trim + job.read_percent <= 100.0;
    require(
        holds,
        &key("trim_percent"),
        trim,
        "a percentage that fits beside read_percent, which it is not taken from",
    )?;
    require(
        !job.block_sizes.is_empty(),
        &key("block_sizes"),
        "[]",
        "at least one size and its weight",
    )?;
    let span = if job.size.get() == 0 { user.get() - job.offset.get() } else { job.size.get() };
    sizes(&job.block_sizes, span, &key("block_sizes"))?;
    sizes(&job.write_block_sizes, span, &key("write_block_sizes"))?;
    pattern(job, key)?;
    super::fitted::rewrites(job.rewrites.as_ref(), key)?;
    let bounded = job.requests > 0 || !job.time.is_zero();
    let message =
        "a bound is needed: workload.requests or workload.time above 0, or the job would never end";
    require(bounded, &key("requests"), job.requests, message)
}

fn sizes(sizes: &[(Bytes, f64)], span: u64, key: &str) -> Check {
    for (i, (size, weight)) in sizes.iter().enumerate() {
        let bytes = size.get();
        let whole = bytes > 0 && bytes.is_multiple_of(SECTOR);
        require(whole, &format!("{key}.{i}.0"), size, "a multiple of the 512 B sector, above 0")?;
        let message = format!("at most the {span} B of the job's range");
        require(bytes <= span, &format!("{key}.{i}.0"), size, message)?;
        let positive = *weight > 0.0 && weight.is_finite();
        require(positive, &format!("{key}.{i}.1"), weight, "a weight above 0")?;
    }
    Ok(())
}

fn pattern(job: &JobSpec, key: Key<'_>) -> Check {
    let theta = job.zipf_theta;
    let message = "above 0 and at most 10";
    require(theta > 0.0 && theta <= 10.0, &key("zipf_theta"), theta, message)?;
    let some = job.pattern != Pattern::Tiers || !job.tiers.is_empty();
    require(some, &key("tiers"), "[]", "at least one pair of percentages (pattern = \"tiers\")")?;
    tiers(&job.tiers, &key("tiers"))?;
    tiers(&job.write_tiers, &key("write_tiers"))?;
    for (name, bytes) in [("tier_block", job.tier_block), ("run", job.run)] {
        require(
            bytes.get().is_multiple_of(SECTOR),
            &key(name),
            bytes,
            "a multiple of the 512 B sector",
        )?;
    }
    let message = "at most 1GiB: what is hot or cold as a whole";
    require(job.tier_block.get() <= 1 << 30, &key("tier_block"), job.tier_block, message)
}

/// Pairs of percentages: each of the space above 0, their sums at most 100, and no request without
/// a space.
fn tiers(tiers: &[(f64, f64)], key: &str) -> Check {
    let message = format!("at most {TIERS_MAX} pairs");
    require(tiers.len() <= TIERS_MAX, key, format!("a list of {}", tiers.len()), message)?;
    let (mut space, mut asked) = (0.0, 0.0);
    for (i, (share, requests)) in tiers.iter().enumerate() {
        let holds = *share > 0.0 && *share <= 100.0;
        require(holds, &format!("{key}.{i}.0"), share, "a percentage of the space, above 0")?;
        require_percent(*requests, &format!("{key}.{i}.1"))?;
        (space, asked) = (space + share, asked + requests);
        // A millionth of a percent for the rounding of decimals.
        let message = format!("the shares of the space sum to {space}, at most 100 are there");
        require(space <= 100.0 + 1e-6, &format!("{key}.{i}.0"), share, message)?;
        let message = format!("the shares of the requests sum to {asked}, at most 100 are there");
        require(asked <= 100.0 + 1e-6, &format!("{key}.{i}.1"), requests, message)?;
    }
    let message = "the shares of the requests must sum to 100 where those of the space do: nothing \
                   is left for others";
    require(space < 100.0 - 1e-6 || asked >= 100.0 - 1e-6, key, format!("{tiers:?}"), message)
}

/// A run whose every request is warm-up would measure nothing.
fn measured(scenario: &Scenario) -> Check {
    let (jobs, warmup) = (&scenario.workload.jobs, scenario.measure.warmup_requests);
    if jobs.iter().any(|job| job.trace.is_some() || job.requests == 0) {
        return Ok(());
    }
    let requests = jobs.iter().fold(0u64, |sum, job| sum.saturating_add(job.requests));
    let message = format!("below the {requests} requests of the workload, or nothing is measured");
    require(warmup < requests, "measure.warmup_requests", warmup, message)
}
