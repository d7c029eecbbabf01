//! The limits of the settings of bad blocks, and whether each drive with the bad blocks of its seed
//! can begin at all.

use super::{Check, require, word};
use crate::Scenario;
use manx_core::array::member_seed;
use manx_core::drive::Update;
use manx_core::flash::{Capacity, Layout};
use manx_core::ftl::log::LogPolicy;
use manx_core::ftl::{DataPlacement, FtlKind, Needs, VictimUnit};
use manx_core::units::Member;

/// A drive of which more fails is none.
const SHARE_MAX: f64 = 0.5;

/// More than any cell degrades.
const GROWTH_MAX: f64 = 1e6;

/// Checks everything under `faults`.
pub(super) fn all(scenario: &Scenario) -> Check {
    let faults = &scenario.faults;
    for (key, share) in [
        ("faults.factory_bad", faults.factory_bad),
        ("faults.program_fail", faults.program_fail),
        ("faults.erase_fail", faults.erase_fail),
    ] {
        let message = format!("a share, from 0 to {SHARE_MAX}");
        require((0.0..=SHARE_MAX).contains(&share), key, share, message)?;
    }
    let (key, growth) = ("faults.growth_per_1000", faults.growth_per_1000);
    let message = format!("a share of the probabilities, from 0 to {GROWTH_MAX}");
    require((0.0..=GROWTH_MAX).contains(&growth), key, growth, message)?;
    if !faults.is_on() {
        return Ok(());
    }
    let message = "it needs device.endurance above 0, the rated cycles of a block: the device \
                   states none";
    let rated = scenario.device.endurance > 0;
    require(rated || !faults.wear_out, "faults.wear_out", true, message)?;
    let placement = format!("\"{}\"", scenario.ftl.placement.name());
    let message =
        "[faults] needs \"none\": which class a block that failed is replaced in is not modelled";
    require(scenario.ftl.placement == DataPlacement::None, "ftl.placement", placement, message)?;
    let message = "[faults] needs 0: translation pages that fail are not modelled";
    require(!scenario.ftl.map.is_cached(), "ftl.map.cache", scenario.ftl.map.cache, message)?;
    if scenario.ftl.kind == FtlKind::LogBlock {
        return with_log_blocks(scenario);
    }
    let superblock = scenario.rain.width > 0 && scenario.rain.update == Update::Superblock;
    let message = "rain.update = \"superblock\" needs 0: a row that is programmed again would \
                   leave its stripe; erases may fail, and blocks be bad";
    require(
        !superblock || faults.program_fail == 0.0,
        "faults.program_fail",
        faults.program_fail,
        message,
    )?;
    enough(scenario, superblock)
}

/// The most blocks that are bad from the start in any lane of any drive, and where that is, in
/// words.
fn worst(scenario: &Scenario, layout: &Layout) -> (u32, String) {
    let Scenario { array, faults, .. } = scenario;
    let spares = u32::from(array.is_on() && !array.replace_after.is_zero());
    let drives =
        (0..array.members + spares).filter(|_| faults.factory_bad > 0.0).flat_map(|member| {
            let seed = member_seed(scenario.seed, Member(member));
            let bad = move |lane| faults.factory_bad_blocks(layout, lane, seed).len() as u32;
            layout.each_lane().map(move |lane| (bad(lane), member))
        });
    // Of equals the first.
    let first =
        |worst: (u32, u32), drive: (u32, u32)| if drive.0 > worst.0 { drive } else { worst };
    let (most, member) = drives.fold((0, 0), first);
    let place = match member {
        _ if !array.is_on() => "the worst lane".to_string(),
        member if member == array.members => "the worst lane of the spare drive".to_string(),
        member => format!("the worst lane of member {member}"),
    };
    (most, place)
}

/// The worst pool must have the blocks that a new drive needs, as without bad blocks.
fn enough(scenario: &Scenario, superblock: bool) -> Check {
    let Scenario { device, gc, faults, .. } = scenario;
    let layout = Layout::new(device);
    let lanes = match gc.unit {
        VictimUnit::Block => 1,
        VictimUnit::PlaneGroup => layout.lanes_per_plane_group,
        VictimUnit::Superblock => layout.lanes,
    };
    let capacity = if superblock { scenario.capacity() } else { Capacity::of(device) };
    let user = capacity.user.get() / device.geometry.map_unit.get();
    let rows = lanes * layout.rows;
    let data = rows - if superblock { rows / scenario.rain.width } else { 0 };
    let group = u64::from(data) * u64::from(layout.units_per_row);
    let share = |of: f64| (of * f64::from(layout.blocks) * group as f64) as u64;
    let needs = Needs {
        user: (user * u64::from(lanes)).div_ceil(u64::from(layout.lanes)),
        hard: share(gc.hard.share_of(layout.blocks)),
        group,
        row: u64::from(layout.units_per_row),
        fails: faults.fails(),
    };
    let (most, place) = worst(scenario, &layout);
    let (good, blocks) = (u64::from(layout.blocks - most), layout.blocks);
    let (key, value) = match faults.factory_bad > 0.0 {
        true => ("faults.factory_bad", faults.factory_bad),
        false => ("device.op", device.op),
    };
    let needed = needs.group_blocks();
    let message = format!(
        "{most} of {blocks} blocks of {place} are bad from the start, and it needs {needed} for \
         data, gc.hard, open blocks and the reserve (one more where operations may fail); raise \
         device.op or lower it"
    );
    require(good >= needed, key, value, message)?;
    let free = (good * group).saturating_sub(needs.user + 2 * group);
    let message = format!(
        "{most} of {blocks} blocks of {place} are bad from the start, and with the others \
         collecting cannot reach gc.soft = {}; raise device.op, or lower it",
        gc.soft
    );
    require(free > share(gc.soft.share_of(layout.blocks)), key, value, message)
}

fn with_log_blocks(scenario: &Scenario) -> Check {
    let Scenario { device, ftl, faults, .. } = scenario;
    let message = "ftl.kind = \"log-block\" needs 0: what its merges do about a program that \
                   failed is not modelled; erases may fail, and blocks be bad";
    require(faults.program_fail == 0.0, "faults.program_fail", faults.program_fail, message)?;
    let known = !matches!(ftl.log.policy, LogPolicy::Superblock | LogPolicy::Last);
    let message = "[faults] needs another than \"superblock\" and \"last\": they count on every \
                   block that they erase";
    require(known, "ftl.log.policy", word(ftl.log.policy), message)?;
    let (key, percent) = ("ftl.log.log_percent", ftl.log.log_percent);
    let message =
        "[faults] needs it above 0: with 0 the log takes every block, and a lane has none to lose";
    require(percent > 0.0, key, percent, message)?;
    let layout = Layout::new(device);
    let logical = (scenario.capacity().user.get() / device.geometry.map_unit.get()) as u32;
    let logical = logical.div_ceil(layout.lanes);
    // `log` has refused what does not fit at all.
    let needed =
        ftl.log.shape_within(logical, layout.rows, layout.blocks).map_or(0, |shape| shape.blocks);
    let ((most, place), blocks) = (worst(scenario, &layout), layout.blocks);
    let message = format!(
        "{most} of {blocks} blocks of {place} are bad from the start, and it needs {needed}; lower \
         it or ftl.log.log_percent, or raise device.geometry.blocks"
    );
    require(blocks - most >= needed, "faults.factory_bad", faults.factory_bad, message)
}
