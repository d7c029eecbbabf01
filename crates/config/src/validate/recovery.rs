//! Which drives can recover from a power loss, and where a run may have one.

use super::{Check, require, require_time};
use crate::Scenario;
use manx_core::flash::raw_bytes;
use manx_core::units::Duration;

/// Checks a scenario whose drive keeps what a recovery needs.
pub(super) fn all(scenario: &Scenario) -> Check {
    let Scenario { device, recovery, rain, scrub, erase, measure, workload, .. } = scenario;
    let (cut, keep) = (recovery.cut_at, recovery.keep);
    require_time(cut.unwrap_or(Duration::ZERO), "recovery.cut_at")?;
    require(
        cut.is_none() || keep,
        "recovery.keep",
        keep,
        "recovery.cut_at needs true: nothing else brings the drive back",
    )?;
    let every = recovery.checkpoint_every;
    let message = "recovery.checkpoint_every needs true: nothing else reads a checkpoint";
    require(every.is_none() || keep, "recovery.keep", keep, message)?;
    if !keep {
        return Ok(());
    }
    if let Some(every) = every {
        let raw = raw_bytes(device);
        let message = format!("more than 0, up to what the device holds, {raw}B");
        require(
            (1..=raw).contains(&every.get().into()),
            "recovery.checkpoint_every",
            every,
            message,
        )?;
    }
    let (read, unit) = (recovery.read.get(), device.geometry.map_unit.get());
    let holds = read >= 512 && read <= unit && read.is_multiple_of(512);
    require(
        holds,
        "recovery.read",
        recovery.read,
        format!("a multiple of 512B up to the mapping unit, {unit}B"),
    )?;
    let needs = "recovery.keep = true needs";
    let message =
        format!("{needs} 0: what a power loss does to a stripe under update is not modelled");
    require(rain.width == 0, "rain.width", rain.width, message)?;
    let message =
        format!("{needs} 0: a page that is written anew is neither a copy nor a write of the host");
    require(scrub.rate == 0.0, "scrub.rate", scrub.rate, message)?;
    let message = format!("{needs} false: bit errors of a scan are not modelled");
    require(!scrub.errors, "scrub.errors", scrub.errors, message)?;
    let message = format!("{needs} 0: a recovery counts on one victim at a time");
    require(erase.hold.is_zero(), "erase.hold", erase.hold, message)?;
    if let Some((key, allowed)) = scenario.drive_config().recovery_refusal() {
        return require(false, key, written(scenario, key), format!("{needs} {allowed}"));
    }
    if cut.is_none() {
        return Ok(());
    }
    let needs = "recovery.cut_at needs";
    let message = format!("{needs} 0: what the drive counted before is not separated");
    require(measure.warmup.is_zero(), "measure.warmup", measure.warmup, message.as_str())?;
    require(
        measure.warmup_requests == 0,
        "measure.warmup_requests",
        measure.warmup_requests,
        message,
    )?;
    let message =
        format!("{needs} false: what was under way at the power loss has no end to split");
    require(!measure.attribution, "measure.attribution", measure.attribution, message)?;
    require(
        workload.act.is_none(),
        "workload.act",
        "a load",
        format!("{needs} none: its slices know no outage"),
    )
}

/// The scenario's value under a dotted key.
fn written(scenario: &Scenario, key: &str) -> String {
    let table = toml::Value::try_from(scenario).ok();
    let value = table
        .as_ref()
        .and_then(|table| key.split('.').try_fold(table, |table, part| table.get(part)));
    value.map_or_else(String::new, toml::Value::to_string)
}
