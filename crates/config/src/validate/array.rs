//! Arrays that can be built.

use super::{Check, require, require_time, word};
use crate::Scenario;
use manx_core::array::{ArraySpec, RaidLevel, ReadStrategy};
use manx_core::drive::{Overwrite, PreconditionState};
use manx_core::units::Duration;
use manx_trace::Layout;

/// Members at most: a row's pages are bits of a word, and IODA's tables end at 16.
const MEMBERS_MAX: u32 = 24;

/// Checks the array of a scenario.
pub(super) fn all(scenario: &Scenario) -> Check {
    let array = &scenario.array;
    if !array.is_on() {
        return alone(array);
    }
    members(scenario)?;
    times(array)?;
    depths(array)?;
    strategy(array)?;
    settings_of_drives_alone(scenario)
}

/// A drive alone: nothing is chosen.
fn alone(array: &ArraySpec) -> Check {
    require(array.members == 1, "array.members", array.members, "1 (a drive alone) or more")?;
    let message = "needs array.members of 2 or more: a drive alone has no other to read";
    let direct = array.strategy == ReadStrategy::Direct;
    require(direct, "array.strategy", word(array.strategy), message)?;
    let brought = array.brought.name();
    require(brought.is_none(), "array.strategy", brought.unwrap_or_default(), message)
}

fn members(scenario: &Scenario) -> Check {
    let Scenario { array, device, .. } = scenario;
    let (level, most) = (word(array.level), MEMBERS_MAX - 2);
    let (parities, is_code) = (array.parities, array.level == RaidLevel::Ec);
    let message = format!("from 1 to {most}: parities of a row of \"ec\"");
    let holds = !is_code || (1..=most).contains(&parities);
    require(holds, "array.parities", parities, message)?;
    let least = array.level.least_members(parities);
    let message = format!("from {least} ({level}) to {MEMBERS_MAX}");
    require(
        (least..=MEMBERS_MAX).contains(&array.members),
        "array.members",
        array.members,
        message,
    )?;
    let spare = array.level.parities(array.members, parities).saturating_sub(1);
    let message = format!(
        "from 0 to {spare}: of the {} other members of a row {} are read for a page of {level}",
        array.members - 1,
        array.members - 1 - spare
    );
    let message = match array.level {
        RaidLevel::Raid0 => "0: a row of raid0 has nothing to compute a page from".to_string(),
        _ => message,
    };
    require(array.extra_reads <= spare, "array.extra_reads", array.extra_reads, message)?;
    let unit = device.geometry.map_unit.get();
    let chunk = array.chunk.get();
    let drive = scenario.capacity().user.get();
    let message = format!(
        "a multiple of the mapping unit, {unit}B, up to the user capacity of a drive, {drive}B"
    );
    require(
        chunk > 0 && chunk.is_multiple_of(unit) && chunk <= drive,
        "array.chunk",
        array.chunk,
        message,
    )
}

fn times(array: &ArraySpec) -> Check {
    let message = "longer than 0s, and than array.guard";
    require(
        !array.window.is_zero() && array.window > array.guard,
        "array.window",
        array.window,
        message,
    )?;
    for (time, key) in [
        (array.window, "array.window"),
        (array.window_norm, "array.window_norm"),
        (array.hedge_after, "array.hedge_after"),
        (array.slo, "array.slo"),
        (array.xor, "array.xor"),
        (array.fail_at, "array.fail_at"),
        (array.replace_after, "array.replace_after"),
    ] {
        require_time(time, key)?;
    }
    let message =
        format!("0s (four times array.window) or at least array.window, {}", array.window);
    let norm = array.window_norm;
    require(norm.is_zero() || norm >= array.window, "array.window_norm", norm, message)?;
    let message = "longer than 0s: a read that may not wait at all is never asked for";
    require(array.slo > Duration::ZERO, "array.slo", array.slo, message)
}

fn depths(array: &ArraySpec) -> Check {
    let depth = (array.destage_depth, array.rebuild_depth);
    require(depth.0 > 0, "array.destage_depth", depth.0, "1 or more rows")?;
    require((1..=1024).contains(&depth.1), "array.rebuild_depth", depth.1, "from 1 to 1024 rows")
}

/// The strategy, and the member that fails, need what the level has.
fn strategy(array: &ArraySpec) -> Check {
    let redundant = array.level != RaidLevel::Raid0;
    let needs = "a level with redundancy: raid0 has nothing to compute a page from";
    let plain = matches!(array.strategy, ReadStrategy::Direct | ReadStrategy::Harmonia);
    require(redundant || plain, "array.strategy", word(array.strategy), needs)?;
    let brought = array.brought.name();
    require(redundant || brought.is_none(), "array.strategy", brought.unwrap_or_default(), needs)?;
    if !array.fail_at.is_zero() {
        let message = format!("a member, from 0 to {}", array.members - 1);
        require(
            array.fail_member < array.members,
            "array.fail_member",
            array.fail_member,
            message,
        )?;
        require(
            redundant,
            "array.fail_at",
            array.fail_at,
            "0s with raid0, which does not survive it",
        )?;
    }
    if array.strategy == ReadStrategy::Rails {
        let message = "memory for the writes of a whole cycle (rails): more than 0B";
        require(array.cache.get() > 0, "array.cache", array.cache, message)?;
    }
    Ok(())
}

/// Settings that only a drive alone can have.
fn settings_of_drives_alone(scenario: &Scenario) -> Check {
    let Scenario { precondition, recovery, workload, .. } = scenario;
    let alone = "needs array.members = 1:";
    let message = format!("{alone} a power loss of an array is not modelled");
    require(
        recovery.cut_at.is_none(),
        "recovery.cut_at",
        recovery.cut_at.unwrap_or_default(),
        message,
    )?;
    require(
        workload.act.is_none(),
        "workload.act",
        "a load",
        format!("{alone} ACT tests a device"),
    )?;
    let overwrite = precondition.state == PreconditionState::Steady
        && precondition.overwrite == Overwrite::Workload;
    let message =
        format!("{alone} the workload's pages are the array's; \"random\" overwrites each drive");
    require(!overwrite, "precondition.overwrite", "workload", message)?;
    let message = format!("{alone} each row's data and parity must be there, or none of them");
    require(precondition.state != PreconditionState::Aged, "precondition.state", "aged", message)?;
    let separate = |trace: &manx_trace::TraceSpec| trace.layout == Layout::Separate;
    let separate = workload.jobs.iter().any(|job| job.trace.as_ref().is_some_and(separate));
    let message = format!("{alone} \"separate\" gives each device of a trace a drive of its own");
    require(!separate, "workload.jobs.trace.layout", "separate", message)
}
