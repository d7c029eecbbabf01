//! The drive or the array of a scenario in its starting state, for who submits to it himself.

use crate::cache::Cache;
use crate::memory::{Need, refusal};
use crate::prepare::{Key, Keys, Prepared, States, member};
use crate::run::RunError;
use manx_config::{Input, Invalid, Scenario, builtin_scenario, load, validate};
use manx_core::array::Array;
use manx_core::drive::Drive;
use manx_core::nvme::{Attributes, Controller, Options};
use serde_json::{Value, json};

/// A storage with content: each page carries its version.
#[derive(Clone, Debug)]
pub enum Ready {
    /// One drive.
    Drive(Box<Drive>),
    /// Drives behind one address space.
    Array(Box<Array>),
}

/// The storage of the scenario, preconditioned, its state taken from the cache where it has it.
/// `progress` gets map units programmed, and says whether to go on; `None` when it did not.
pub fn ready(
    scenario: &Scenario,
    cache: Option<&Cache>,
    progress: &mut dyn FnMut(u64) -> bool,
) -> Result<Option<Ready>, RunError> {
    storage((scenario, true), cache, progress)
}

/// [`ready`] without content: pages carry no versions, commands no payload.
pub fn measuring(
    scenario: &Scenario,
    cache: Option<&Cache>,
    progress: &mut dyn FnMut(u64) -> bool,
) -> Result<Option<Ready>, RunError> {
    storage((scenario, false), cache, progress)
}

fn storage(
    (scenario, with_content): (&Scenario, bool),
    cache: Option<&Cache>,
    progress: &mut dyn FnMut(u64) -> bool,
) -> Result<Option<Ready>, RunError> {
    if let Some(why) = refusal(&Need::of(scenario, with_content)) {
        return Err(RunError::Memory(why));
    }
    let keys = Keys::default().of_drives(scenario)?;
    let states = States::new(&keys, cache.cloned());
    if !scenario.array.is_on() {
        let Prepared { map, whole, .. } = states.take(&keys[0], scenario, progress)?;
        let drive = || Ready::Drive(Box::new(scenario.drive_config().build(map, with_content)));
        return Ok(whole.then(drive));
    }
    let mut is_whole = true;
    let mut taken = |prepared: &Prepared| is_whole &= prepared.whole;
    let array = array(scenario, &keys, (&states, with_content), progress, &mut taken)?;
    Ok(is_whole.then(|| Ready::Array(Box::new(array))))
}

/// The map of the scenario's drive, preconditioned, as bytes: what a store begins with. `progress`
/// as of [`ready`].
pub fn state(
    scenario: &Scenario,
    cache: Option<&Cache>,
    progress: &mut dyn FnMut(u64) -> bool,
) -> Result<Option<Vec<u8>>, RunError> {
    let keys = Keys::default().of_drives(scenario)?;
    let states = States::new(&keys, cache.cloned());
    let Prepared { map, whole, .. } = states.take(&keys[0], scenario, progress)?;
    Ok(whole.then(|| map.snapshot()))
}

/// The drive of the scenario that such a map describes.
///
/// # Errors
/// The bytes are no map of it.
pub fn restored(scenario: &Scenario, map: &[u8]) -> Result<Drive, String> {
    let config = scenario.drive_config();
    let mut state = config.empty_map();
    state.restore(map).map_err(|error| error.to_string())?;
    Ok(config.build(state, true))
}

/// Every setting of the scenario's drive: a store holds one of just these.
pub fn settings(scenario: &Scenario) -> Value {
    let Scenario {
        device, ftl, gc, drive, rain, erase, program, scrub, retry, ageing, faults, ..
    } = scenario;
    json!({
        "device": device,
        "ftl": ftl,
        "gc": gc,
        "drive": drive,
        "rain": rain,
        "erase": erase,
        "program": program,
        "scrub": scrub,
        "retry": retry,
        "ageing": ageing,
        "faults": faults,
        "recovery": scenario.recovery,
        "precondition": scenario.precondition,
        "seed": scenario.seed,
    })
}

/// A scenario with just these settings of its drive, as [`settings`] wrote them, and no array.
///
/// # Errors
/// They are no settings of a drive, in words.
pub fn of_settings(name: &str, settings: &Value) -> Result<Scenario, String> {
    let quick = builtin_scenario("quick").map_err(|error| error.to_string())?;
    let input = Input { scenario: &quick, device: None, policy: None, overrides: &[] };
    let quick = load(&input).map_err(|error| error.to_string())?;
    let mut whole = serde_json::to_value(quick).map_err(|error| error.to_string())?;
    let settings = settings.as_object().ok_or("settings: not an object")?;
    for (key, value) in settings {
        whole[key] = value.clone();
    }
    whole["name"] = name.into();
    let scenario: Scenario = serde_json::from_value(whole).map_err(|error| error.to_string())?;
    let wrong = |Invalid { key, value, allowed }| format!("{key} = {value}: {allowed}");
    validate(&scenario).map_err(wrong)?;
    Ok(scenario)
}

/// The members of the scenario's array as drives of their own, prepared as [`ready`] prepares them.
pub fn members(
    scenario: &Scenario,
    cache: Option<&Cache>,
    progress: &mut dyn FnMut(u64) -> bool,
) -> Result<Option<Vec<Drive>>, RunError> {
    if let Some(why) = refusal(&Need::of(scenario, true)) {
        return Err(RunError::Memory(why));
    }
    let keys = Keys::default().of_drives(scenario)?;
    let states = States::new(&keys, cache.cloned());
    let mut drives = Vec::new();
    for (number, key) in (0..).zip(&keys) {
        let scenario = member(scenario, number);
        let Prepared { map, whole, .. } = states.take(key, &scenario, progress)?;
        if !whole {
            return Ok(None);
        }
        drives.push(scenario.drive_config().build(map, true));
    }
    Ok(Some(drives))
}

/// The array of the scenario, its pages with content or without, each member from the state of its
/// own key; `taken` gets every state.
pub(crate) fn array(
    scenario: &Scenario,
    keys: &[Key],
    (states, with_content): (&States, bool),
    progress: &mut dyn FnMut(u64) -> bool,
    taken: &mut dyn FnMut(&Prepared),
) -> Result<Array, RunError> {
    let mut drives = Vec::new();
    for (number, key) in (0..).zip(keys) {
        let scenario = member(scenario, number);
        let prepared = states.take(key, &scenario, progress)?;
        taken(&prepared);
        let drive = scenario.drive_config().build(prepared.map, with_content);
        drives.push(behind_nvme(&scenario, drive));
    }
    let spare = (!scenario.array.replace_after.is_zero()).then(|| spare(scenario, with_content));
    Ok(Array::new(&scenario.array, drives, spare, with_content, scenario.seed))
}

/// A member of an array, or its spare, behind NVMe.
fn behind_nvme(scenario: &Scenario, drive: Drive) -> Controller {
    let attributes = Attributes::of(&drive, &scenario.drive, &scenario.gc);
    Controller::new(drive, attributes, Options::default())
}

/// The empty drive that takes the place of a member that fails.
fn spare(scenario: &Scenario, with_content: bool) -> Controller {
    let scenario = member(scenario, scenario.array.members);
    let config = scenario.drive_config();
    behind_nvme(&scenario, config.build(config.empty_map(), with_content))
}
