//! What is compiled in: the device tables of `devices/` and the scenarios of `scenarios/`.

use super::{Source, load_device, nearest};
use crate::config::ConfigError;
use crate::flash::Device;

const DEVICES: &[(&str, &str)] = &[
    ("ttflash-256g", include_str!("../../../../devices/ttflash-256g.toml")),
    ("znand-like", include_str!("../../../../devices/znand-like.toml")),
    ("femu", include_str!("../../../../devices/femu.toml")),
    ("k9wag08u1a", include_str!("../../../../devices/k9wag08u1a.toml")),
    ("tlc-enterprise", include_str!("../../../../devices/tlc-enterprise.toml")),
    ("mqsim-default", include_str!("../../../../devices/mqsim-default.toml")),
];

const SCENARIOS: &[(&str, &str)] = &[
    ("oltp", include_str!("../../../../scenarios/oltp.toml")),
    ("quick", include_str!("../../../../scenarios/quick.toml")),
];

/// The names of the built-in device tables, in the order they are listed.
pub fn device_names() -> impl Iterator<Item = &'static str> {
    DEVICES.iter().map(|(name, _)| *name)
}

/// The names of the built-in scenarios, in the order they are listed; the first is the default.
pub fn scenario_names() -> impl Iterator<Item = &'static str> {
    SCENARIOS.iter().map(|(name, _)| *name)
}

/// The text of the built-in device table `name`, or an error that lists the names and suggests the nearest.
pub fn builtin_device(name: &str) -> Result<Source, ConfigError> {
    find("device", "devices", DEVICES, name)
}

/// The text of the built-in scenario `name`, or an error that lists the names and suggests the nearest.
pub fn builtin_scenario(name: &str) -> Result<Source, ConfigError> {
    find("scenario", "scenarios", SCENARIOS, name)
}

/// Every built-in device, parsed.
pub fn devices() -> Result<Vec<Device>, ConfigError> {
    device_names().map(|name| load_device(&builtin_device(name)?)).collect()
}

fn find(kind: &str, folder: &str, table: &[(&str, &str)], name: &str) -> Result<Source, ConfigError> {
    if let Some((name, text)) = table.iter().find(|(entry, _)| *entry == name) {
        return Ok(Source { file: format!("{folder}/{name}.toml"), text: (*text).to_string() });
    }
    let names: Vec<&str> = table.iter().map(|(name, _)| *name).collect();
    let hint = nearest(name, names.iter().copied()).map_or(String::new(), |near| format!("; did you mean {near}?"));
    Err(ConfigError::new(format!("there is no {kind} `{name}`: there are {}{hint}", names.join(", "))))
}
