//! The limits of the settings of a map that lies on flash.

use super::{Check, Scenario, require};
use manx_core::ftl::{DataPlacement, FtlKind};
use manx_core::units::Bytes;

/// More than any drive spends on an entry: a slip of the unit must not make a cache of one.
const ENTRY_MAX: Bytes = Bytes::new(4096);

/// Checks everything under `ftl.map`.
pub fn all(scenario: &Scenario) -> Check {
    let (map, unit) = (&scenario.ftl.map, scenario.device.geometry.map_unit);
    let (key, entry) = ("ftl.map.entry", map.entry);
    require(
        (1..=ENTRY_MAX.get()).contains(&entry.get()),
        key,
        entry,
        format!("from 1B to {ENTRY_MAX}"),
    )?;
    let (key, stored) = ("ftl.map.stored", map.stored);
    let holds = stored.get().is_power_of_two() && stored <= unit;
    let message = format!(
        "1B, 2B, 4B and so on up to device.geometry.map_unit = {unit}, of which a whole number fits"
    );
    require(holds, key, stored, message)?;
    let (key, share) = ("ftl.map.protected", map.protected);
    require(
        (0.0..=1.0).contains(&share),
        key,
        share,
        "a share of the cached entries, from 0 to 1",
    )?;
    let (key, cache) = ("ftl.map.cache", map.cache);
    let message =
        format!("0 for the whole map in DRAM, or at least one entry of ftl.map.entry = {entry}");
    require(!map.is_cached() || map.entries() > 0, key, cache, message)?;
    if !map.is_cached() {
        return Ok(());
    }
    let message = "ftl.kind = \"log-block\" needs 0: the maps of log-block FTLs are in RAM";
    require(scenario.ftl.kind == FtlKind::Page, key, cache, message)?;
    let message =
        "ftl.placement needs 0 but for \"none\": translation pages have no class of their own";
    require(scenario.ftl.placement == DataPlacement::None, key, cache, message)?;
    let message = format!(
        "with rain.width = {} it needs 0: parity of translation pages is not modelled, and a \
         stripe's pages are looked up together",
        scenario.rain.width
    );
    require(scenario.rain.width == 0, key, cache, message)?;
    let message = "with scrub.errors, or scrub.rate above 0, it needs 0: a translation page that \
                   cannot be read is not modelled";
    require(!scenario.scrub.is_on(), key, cache, message)
}
