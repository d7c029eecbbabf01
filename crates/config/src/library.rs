//! Files that are compiled in: the device tables of `devices/`, the scenarios of `scenarios/`, the
//! workloads of `workloads/`.

use super::{Source, load_device, nearest};
use crate::ConfigError;
use manx_core::flash::Device;

const DEVICES: &[(&str, &str)] = &[
    ("ttflash-256g", include_str!("../../../devices/ttflash-256g.toml")),
    ("znand-like", include_str!("../../../devices/znand-like.toml")),
    ("femu", include_str!("../../../devices/femu.toml")),
    ("k9wag08u1a", include_str!("../../../devices/k9wag08u1a.toml")),
    ("tlc-enterprise", include_str!("../../../devices/tlc-enterprise.toml")),
    ("mqsim-default", include_str!("../../../devices/mqsim-default.toml")),
    ("nvmevirt-970pro", include_str!("../../../devices/nvmevirt-970pro.toml")),
    ("simplessd-sample", include_str!("../../../devices/simplessd-sample.toml")),
    ("samsung-980pro", include_str!("../../../devices/samsung-980pro.toml")),
    ("drive-a", include_str!("../../../devices/drive-a.toml")),
    ("ssdsim-ioda", include_str!("../../../devices/ssdsim-ioda.toml")),
    ("p4800x-like", include_str!("../../../devices/p4800x-like.toml")),
];

const SCENARIOS: &[(&str, &str)] = &[
    ("oltp", include_str!("../../../scenarios/oltp.toml")),
    ("quick", include_str!("../../../scenarios/quick.toml")),
    ("znand", include_str!("../../../scenarios/znand.toml")),
    ("ttflash", include_str!("../../../scenarios/ttflash.toml")),
    ("ssdsim", include_str!("../../../scenarios/ssdsim.toml")),
    ("faster", include_str!("../../../scenarios/faster.toml")),
    ("ioda", include_str!("../../../scenarios/ioda.toml")),
    ("samsung-980pro", include_str!("../../../scenarios/samsung-980pro.toml")),
    ("drive-a", include_str!("../../../scenarios/drive-a.toml")),
];

const WORKLOADS: &[(&str, &str)] = &[
    ("act", include_str!("../../../workloads/act.toml")),
    ("t2", include_str!("../../../workloads/t2.toml")),
    ("skew-90-10", include_str!("../../../workloads/skew-90-10.toml")),
    ("skew-80-20", include_str!("../../../workloads/skew-80-20.toml")),
    ("skew-70-30", include_str!("../../../workloads/skew-70-30.toml")),
    ("skew-60-40", include_str!("../../../workloads/skew-60-40.toml")),
    ("tpcc-like", include_str!("../../../workloads/tpcc-like.toml")),
    ("fileserver", include_str!("../../../workloads/fileserver.toml")),
    ("varmail", include_str!("../../../workloads/varmail.toml")),
    ("webserver", include_str!("../../../workloads/webserver.toml")),
    ("filebench-oltp", include_str!("../../../workloads/filebench-oltp.toml")),
    ("ycsb-a", include_str!("../../../workloads/ycsb-a.toml")),
    ("ycsb-b", include_str!("../../../workloads/ycsb-b.toml")),
    ("ycsb-c", include_str!("../../../workloads/ycsb-c.toml")),
    ("ycsb-d", include_str!("../../../workloads/ycsb-d.toml")),
    ("ycsb-e", include_str!("../../../workloads/ycsb-e.toml")),
    ("ycsb-f", include_str!("../../../workloads/ycsb-f.toml")),
    ("dapps", include_str!("../../../workloads/dapps.toml")),
    ("dtrs", include_str!("../../../workloads/dtrs.toml")),
    ("exch", include_str!("../../../workloads/exch.toml")),
    ("lmbe", include_str!("../../../workloads/lmbe.toml")),
    ("msn", include_str!("../../../workloads/msn.toml")),
    ("tpcc", include_str!("../../../workloads/tpcc.toml")),
    ("azure", include_str!("../../../workloads/azure.toml")),
    ("bing", include_str!("../../../workloads/bing.toml")),
    ("cosmos", include_str!("../../../workloads/cosmos.toml")),
    ("kv-cache", include_str!("../../../workloads/kv-cache.toml")),
    ("pgbench", include_str!("../../../workloads/pgbench.toml")),
];

/// The names of the built-in device tables, in the order they are listed.
pub fn device_names() -> impl Iterator<Item = &'static str> {
    DEVICES.iter().map(|(name, _)| *name)
}

/// The names of the built-in scenarios, in the order they are listed; the first is the default.
pub fn scenario_names() -> impl Iterator<Item = &'static str> {
    SCENARIOS.iter().map(|(name, _)| *name)
}

/// The text of the built-in device table `name`, or an error that lists the names and suggests the
/// nearest.
pub fn builtin_device(name: &str) -> Result<Source, ConfigError> {
    find("device", "devices", DEVICES, name)
}

/// The text of the built-in scenario `name`, or an error that lists the names and suggests the
/// nearest.
pub fn builtin_scenario(name: &str) -> Result<Source, ConfigError> {
    find("scenario", "scenarios", SCENARIOS, name)
}

/// The names of the built-in workloads, in the order they are listed.
pub fn workload_names() -> impl Iterator<Item = &'static str> {
    WORKLOADS.iter().map(|(name, _)| *name)
}

/// The text of the built-in workload `name`, or an error that lists the names and suggests the
/// nearest.
pub fn builtin_workload(name: &str) -> Result<Source, ConfigError> {
    find("workload", "workloads", WORKLOADS, name)
}

/// Every built-in device, parsed.
pub fn devices() -> Result<Vec<Device>, ConfigError> {
    device_names().map(|name| load_device(&builtin_device(name)?)).collect()
}

fn find(
    kind: &str,
    folder: &str,
    table: &[(&str, &str)],
    name: &str,
) -> Result<Source, ConfigError> {
    if let Some((name, text)) = table.iter().find(|(entry, _)| *entry == name) {
        return Ok(Source { file: format!("{folder}/{name}.toml"), text: (*text).to_string() });
    }
    let names: Vec<&str> = table.iter().map(|(name, _)| *name).collect();
    let hint = nearest(name, names.iter().copied())
        .map_or(String::new(), |near| format!("; did you mean {near}?"));
    Err(ConfigError::new(format!(
        "there is no {kind} `{name}`: there are {}{hint}",
        names.join(", ")
    )))
}
