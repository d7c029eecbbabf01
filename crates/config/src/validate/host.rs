//! A host that resets its drive.

use super::{Check, TIME_MAX, require, require_time};
use crate::Scenario;

/// Linux holds it in a byte (`nvme_core.max_retries`).
const RETRIES_MAX: u32 = 255;

/// Which runs may have such a host, and its numbers.
pub(super) fn all(scenario: &Scenario) -> Check {
    let Scenario { host, measure, recovery, array, .. } = scenario;
    require_time(host.reset, "host.reset")?;
    let message = format!("from 0 to {RETRIES_MAX} times");
    require(host.retries <= RETRIES_MAX, "host.retries", host.retries, message)?;
    if !host.resets() {
        return Ok(());
    }
    let needs = "host.on_timeout = \"reset\" needs";
    let message = format!("{needs} a time above 0s, up to {TIME_MAX}");
    require(!measure.timeout.is_zero(), "measure.timeout", measure.timeout, message)?;
    let message = format!("{needs} 1: which member's request is too old, an array does not say");
    require(!array.is_on(), "array.members", array.members, message)?;
    let message = format!("{needs} none: a reset and a recovery at once are not modelled");
    let cut = recovery.cut_at.unwrap_or_default();
    require(recovery.cut_at.is_none(), "recovery.cut_at", cut, message)
}
