//! The limits of a power budget.

use super::{Check, require};
use crate::Scenario;
use manx_core::drive::Scheduler;
use manx_core::flash::ChannelTake;
use manx_core::units::Power;

/// More than any drive draws.
const POWER_MAX: Power = Power::milliwatts(1_000_000);

/// Checks everything under `drive.power`.
pub(super) fn all(scenario: &Scenario) -> Check {
    let spec = &scenario.drive.power;
    if spec.is_off() {
        return Ok(());
    }
    let (budget, key) = (spec.budget, "drive.power.budget");
    let message = format!("above 0W and at most {POWER_MAX} where drive.power.program or erase is");
    require(Power::default() < budget && budget <= POWER_MAX, key, budget, message)?;
    let message = "it needs drive.power.program or drive.power.erase above 0W: else nothing draws \
                   on it";
    let draws = spec.program.max(spec.erase) > Power::default();
    require(draws, key, budget, message)?;
    let parts = [(spec.program, "drive.power.program"), (spec.erase, "drive.power.erase")];
    for (part, key) in parts {
        let message = format!("at most drive.power.budget = {budget}, or it never begins");
        require(part <= budget, key, part, message)?;
    }
    let message = "it needs drive.scheduler = \"read-first\" or \"out-of-order\": in a strict \
                   order an operation that waits for power would hold up all";
    require(scenario.drive.scheduler != Scheduler::Fifo, key, budget, message)?;
    let message = "it needs drive.channel_take = \"early\": a die would wait for a slot of its \
                   channel and for power in turn";
    require(scenario.drive.channel_take == ChannelTake::Early, key, budget, message)
}
