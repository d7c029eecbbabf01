//! The drives that a campaign draws.

use manx_config::{ConfigError, Input, Override, Scenario, Source, load};
use manx_core::sim::Rng;

/// A small drive of a kind that the seed draws; `over` are overrides over that.
pub fn drawn(seed: u64, over: &[Override]) -> Result<Scenario, ConfigError> {
    let scenario =
        Source { file: "torture.toml".to_string(), text: include_str!("base.toml").to_string() };
    let mut overrides = vec![Override::new("seed", seed.to_string(), format!("--seed {seed}"))];
    let mut keys = kind(seed);
    // A setting that the user names may not go with a checkpoint.
    if over.is_empty() {
        keys.extend(checkpoint(seed, &keys));
    }
    overrides.extend(
        keys.into_iter().map(|(key, value)| Override::new(key, value, format!("seed {seed}"))),
    );
    let drawn = |own: &[Override]| {
        let all = [&overrides[..], own, over].concat();
        load(&Input { scenario: &scenario, device: None, policy: None, overrides: &all })
    };
    // A lane may have more bad blocks from the factory than its drive can spare: then it has none.
    let none = [Override::new("faults.factory_bad", "0.0", format!("seed {seed}"))];
    drawn(&[]).or_else(|_| drawn(&none))
}

/// The keys that make the kind of a drive.
fn kind(seed: u64) -> Vec<(&'static str, String)> {
    let mut rng = Rng::stream(seed, "kind");
    let mut keys: Vec<(&'static str, String)> = Vec::new();
    let mut one_of = |key: &'static str, values: &[&str]| {
        let value = values[rng.below(values.len() as u64) as usize].to_string();
        keys.push((key, value.clone()));
        value
    };
    let yes_or_no = ["true", "false"];
    one_of("drive.power_loss_protection", &["true", "false", "false"]);
    one_of("drive.write_through", &["true", "false", "false", "false"]);
    if one_of("drive.scheduler", &["read-first", "out-of-order", "fifo"]) == "read-first" {
        one_of("erase.mode", &["none", "es", "d-es", "t-es"]);
        one_of("program.mode", &["none", "ips", "ipc"]);
    }
    one_of("precondition.state", &["empty", "fill", "steady"]);
    let faulty = one_of("faults.factory_bad", &["0.0", "0.0", "0.03"]) != "0.0";
    if faulty {
        one_of("faults.erase_fail", &["0.0", "0.005", "0.02"]);
    }
    if one_of("ftl.kind", &["page", "page", "log-block"]) == "log-block" {
        log_blocks(faulty, one_of);
        return keys;
    }
    if faulty {
        one_of("faults.program_fail", &["0.0", "0.001", "0.005"]);
        one_of("device.geometry.blocks", &["22", "24"]);
        one_of("device.op", &["0.6"]);
    } else if one_of("ftl.map.cache", &["0B", "0B", "64B", "256B", "1KiB"]) != "0B" {
        one_of("ftl.map.stored", &["64B", "256B"]);
        one_of("ftl.map.batch", &yes_or_no);
        one_of("ftl.map.lazy", &yes_or_no);
        one_of("device.geometry.blocks", &["14"]);
    }
    let planes = one_of("device.geometry.planes", &["1", "2"]);
    one_of("device.feature.program_planes", &["1", planes.as_str()]);
    one_of("device.feature.program_pages", &["1", "2"]);
    one_of("device.feature.cache_read", &["false", "false", "true"]);
    one_of("device.feature.cache_program", &["false", "false", "true"]);
    one_of("device.feature.independent_planes", &yes_or_no);
    let mode = one_of("gc.mode", &["nogc", "base", "controller", "preemptive", "plane-blocking"]);
    one_of("gc.victim", &["greedy", "fifo", "cost-benefit"]);
    one_of("ftl.free_block", &["least-worn", "fifo"]);
    if mode == "plane-blocking" {
        one_of("gc.copyback", &["true"]);
    } else if one_of("ftl.allocation", &["static", "dynamic"]) == "dynamic" {
        one_of("gc.unit", &["block", "plane-group", "superblock"]);
    }
    keys
}

/// The keys of log blocks, those of other policies too.
fn log_blocks(faulty: bool, mut one_of: impl FnMut(&'static str, &[&str]) -> String) {
    let yes_or_no = ["true", "false"];
    one_of("device.geometry.blocks", if faulty { &["32"] } else { &["20"] });
    one_of("device.op", if faulty { &["0.6"] } else { &["0.55"] });
    if faulty {
        one_of("ftl.log.log_percent", &["50.0", "60.0"]);
    }
    let all = ["fast", "faster", "bast", "last", "superblock"];
    // Those whose blocks may leave service.
    one_of("ftl.log.policy", if faulty { &all[..3] } else { &all });
    one_of("ftl.log.write_waits", &yes_or_no);
    one_of("ftl.log.out_of_order", &yes_or_no);
    one_of("ftl.log.sequential", &["off", "offset-zero", "run"]);
    one_of("ftl.log.isolation", &["0.0", "0.2", "0.5"]);
    one_of("ftl.log.tail", &["segregated", "mixed"]);
    one_of("ftl.log.log_victim", &["lru", "fifo"]);
    one_of("ftl.log.last_sequential_pages", &["1", "2"]);
    one_of("ftl.log.last_sequential_share", &["0.0", "0.3", "0.5"]);
    one_of("ftl.log.last_hot_share", &["0.0", "0.5"]);
    one_of("ftl.log.superblock_blocks", &["1", "2", "4"]);
    one_of("ftl.log.superblock_updates", &["1", "2", "8"]);
    one_of("ftl.log.superblock_compaction", &["least", "all"]);
    one_of("ftl.log.superblock_cache", &["0", "2"]);
    one_of("gc.mode", &["nogc", "base", "controller", "preemptive"]);
    one_of("gc.copyback", &yes_or_no);
    one_of("device.geometry.ways", &["1", "2"]);
}

/// How often a checkpoint is written, in half of the drives that may have them: from one after the
/// other to hardly ever.
fn checkpoint(seed: u64, kind: &[(&'static str, String)]) -> Option<(&'static str, String)> {
    let mut rng = Rng::stream(seed, "checkpoint");
    let differs =
        |key: &str, value: &str| kind.iter().any(|(named, drawn)| *named == key && drawn != value);
    let every = ["4KiB", "16KiB", "48KiB", "128KiB", "512KiB"][rng.below(5) as usize];
    let may = !differs("ftl.kind", "page") && !differs("ftl.map.cache", "0B") && rng.below(2) == 0;
    may.then(|| ("recovery.checkpoint_every", every.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_that_is_drawn_is_valid() -> Result<(), ConfigError> {
        (0..2000).try_for_each(|seed| drawn(seed, &[]).map(drop))
    }
}
