//! The drive or the array of a scenario in its starting state, for who submits to it himself.

use crate::cache::Cache;
use crate::memory::{Need, refusal};
use crate::prepare::{Keys, Prepared, States, member};
use crate::run::RunError;
use manx_core::array::Array;
use manx_core::config::Scenario;
use manx_core::drive::Drive;
use manx_core::nvme::{Attributes, Controller, Options};

/// A storage with content: each page carries its version.
#[derive(Debug)]
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
    if let Some(why) = refusal(&Need::of(scenario, true)) {
        return Err(RunError::Memory(why));
    }
    let keys = Keys::default().of_drives(scenario)?;
    let states = States::new(&keys, cache.cloned());
    let mut drives = Vec::new();
    for (number, key) in (0..).zip(&keys) {
        let scenario = match scenario.array.is_on() {
            true => member(scenario, number),
            false => scenario.clone(),
        };
        let Prepared { map, whole, .. } = states.take(key, &scenario, progress)?;
        if !whole {
            return Ok(None);
        }
        drives.push((scenario.drive_config().build(map, true), scenario));
    }
    if !scenario.array.is_on() {
        return Ok(drives.pop().map(|(drive, _)| Ready::Drive(Box::new(drive))));
    }
    let members = drives.into_iter().map(|(drive, scenario)| behind_nvme(&scenario, drive));
    let spare = (!scenario.array.replace_after.is_zero()).then(|| spare(scenario, true));
    let array = Array::new(&scenario.array, members.collect(), spare, true, scenario.seed);
    Ok(Some(Ready::Array(Box::new(array))))
}

/// A member of an array, or its spare, behind NVMe.
pub(crate) fn behind_nvme(scenario: &Scenario, drive: Drive) -> Controller {
    let attributes = Attributes::of(&drive, &scenario.drive, &scenario.gc);
    Controller::new(drive, attributes, Options::default())
}

/// The empty drive that takes the place of a member that fails.
pub(crate) fn spare(scenario: &Scenario, with_content: bool) -> Controller {
    let scenario = member(scenario, scenario.array.members);
    let config = scenario.drive_config();
    behind_nvme(&scenario, config.build(config.empty_map(), with_content))
}
