//! The controller's limits: what needs what.

use super::{Check, TIME_MAX, require, require_rate, require_time, word};
use crate::Scenario;
use manx_core::drive::Arbitration;
use manx_core::ftl::{FtlKind, GcMode};
use manx_core::units::Bandwidth;

/// More cores than any controller has.
const CORES_MAX: u32 = 64;

/// NVMe Base 2.1, 5.1.25.1.1: weights and bursts are bytes.
const WEIGHT_MAX: u32 = 256;

/// Checks the firmware of a scenario.
pub(super) fn all(scenario: &Scenario) -> Check {
    let spec = &scenario.drive.firmware;
    let message = format!("from 0 (no limit) to {CORES_MAX}");
    require(spec.cores <= CORES_MAX, "drive.firmware.cores", spec.cores, message)?;
    for (time, key) in
        [(spec.command, "drive.firmware.command"), (spec.look_up, "drive.firmware.look_up")]
    {
        require_time(time, key)?;
        let message = "above 0s it needs drive.firmware.cores: without cores it takes no time; a \
                       delay that commands do not share is drive.controller";
        require(spec.cores > 0 || time.is_zero(), key, time, message)?;
    }
    let message = "0: cores need drive.firmware.command or look_up above 0s, or they do nothing";
    let works = !(spec.command + spec.look_up).is_zero();
    require(spec.cores == 0 || works, "drive.firmware.cores", spec.cores, message)?;
    require_rate(spec.dram, "drive.firmware.dram")?;
    throttle(scenario)?;
    require_rate(spec.cooling, "drive.firmware.cooling")?;
    let message = "above 0 it needs drive.firmware.cooling, at which the drive gives it off";
    let cools = spec.cooling != Bandwidth::default();
    require(cools || spec.heat.get() == 0, "drive.firmware.heat", spec.heat, message)?;
    let message = "at most what cools away within 366 d";
    let lasts = !cools || spec.cooling.time_for(spec.heat.get()) <= TIME_MAX;
    require(lasts, "drive.firmware.heat", spec.heat, message)?;
    arbitration(scenario)
}

fn throttle(scenario: &Scenario) -> Check {
    let (rate, key) = (scenario.drive.firmware.throttle, "drive.firmware.throttle");
    require_rate(rate, key)?;
    let is_off = rate == Bandwidth::default();
    let message = "it needs ftl.kind = \"page\": merges of log blocks go with the writes that \
                   cause them";
    require(is_off || scenario.ftl.kind == FtlKind::Page, key, rate, message)?;
    let message = "it needs another gc.mode than \"nogc\", whose GC runs take no time";
    require(is_off || scenario.gc.mode != GcMode::Nogc, key, rate, message)
}

fn arbitration(scenario: &Scenario) -> Check {
    let spec = &scenario.drive.firmware;
    let in_turn = spec.arbitration == Arbitration::RoundRobin;
    let key = "drive.firmware.arbitration";
    let message = "it needs drive.queue_depth or drive.firmware.cores above 0: else no command \
                   waits, and there is nothing to choose";
    let waits = scenario.drive.queue_depth > 0 || spec.cores > 0;
    require(!in_turn || waits, key, word(spec.arbitration), message)?;
    let message = "an array asks its members from one queue: there is nothing to choose";
    require(!in_turn || !scenario.array.is_on(), key, word(spec.arbitration), message)?;
    let (key, shown) = ("drive.firmware.weights", format!("{:?}", spec.weights));
    let message = "it needs drive.firmware.arbitration = \"round-robin\"";
    require(in_turn || spec.weights.is_empty(), key, &shown, message)?;
    let message = format!("each from 1 to {WEIGHT_MAX}: commands in a row of a queue");
    let holds = spec.weights.iter().all(|weight| (1..=WEIGHT_MAX).contains(weight));
    require(holds, key, &shown, message)?;
    let jobs = scenario.workload.jobs.len();
    let message = format!("at most one for each of the {jobs} jobs");
    require(spec.weights.len() <= jobs, key, &shown, message)
}
