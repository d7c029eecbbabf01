//! The experiments of `experiments/`, compiled in.

use manx_config::{ConfigError, Source, nearest};

const EXPERIMENTS: &[(&str, &str)] = &[
    ("engine-laws", include_str!("../../../../experiments/engine-laws.toml")),
    ("waf-analytic", include_str!("../../../../experiments/waf-analytic.toml")),
    ("mechanism-laws", include_str!("../../../../experiments/mechanism-laws.toml")),
    ("gc-modes", include_str!("../../../../experiments/gc-modes.toml")),
    ("gc-enterprise", include_str!("../../../../experiments/gc-enterprise.toml")),
    ("erase-70-30", include_str!("../../../../experiments/erase-70-30.toml")),
    ("erase-reset", include_str!("../../../../experiments/erase-reset.toml")),
    ("erase-starvation", include_str!("../../../../experiments/erase-starvation.toml")),
    ("erase-act", include_str!("../../../../experiments/erase-act.toml")),
    ("erase-tpcc", include_str!("../../../../experiments/erase-tpcc.toml")),
    ("erase-trace", include_str!("../../../../experiments/erase-trace.toml")),
    ("erase-stress", include_str!("../../../../experiments/erase-stress.toml")),
    ("erase-timeout", include_str!("../../../../experiments/erase-timeout.toml")),
    ("erase-gc", include_str!("../../../../experiments/erase-gc.toml")),
    ("erase-aero", include_str!("../../../../experiments/erase-aero.toml")),
    ("mqsim-code", include_str!("../../../../experiments/mqsim-code.toml")),
    ("retry-latency", include_str!("../../../../experiments/retry-latency.toml")),
    ("ttflash-ladder", include_str!("../../../../experiments/ttflash-ladder.toml")),
    ("ttflash-code", include_str!("../../../../experiments/ttflash-code.toml")),
    ("ttflash-profiles", include_str!("../../../../experiments/ttflash-profiles.toml")),
    ("ttflash-trace", include_str!("../../../../experiments/ttflash-trace.toml")),
    ("ttflash-pe", include_str!("../../../../experiments/ttflash-pe.toml")),
    ("ttflash-burst", include_str!("../../../../experiments/ttflash-burst.toml")),
    ("ttflash-preemptive", include_str!("../../../../experiments/ttflash-preemptive.toml")),
    ("ttflash-controller", include_str!("../../../../experiments/ttflash-controller.toml")),
    ("ttflash-filebench", include_str!("../../../../experiments/ttflash-filebench.toml")),
    ("ttflash-size", include_str!("../../../../experiments/ttflash-size.toml")),
    ("ttflash-flush", include_str!("../../../../experiments/ttflash-flush.toml")),
    ("ttflash-scrub", include_str!("../../../../experiments/ttflash-scrub.toml")),
    ("faster-table2", include_str!("../../../../experiments/faster-table2.toml")),
    ("faster-elapsed", include_str!("../../../../experiments/faster-elapsed.toml")),
    ("faster-fluctuation", include_str!("../../../../experiments/faster-fluctuation.toml")),
    ("faster-skew", include_str!("../../../../experiments/faster-skew.toml")),
    ("faster-interval", include_str!("../../../../experiments/faster-interval.toml")),
    ("faster-merge-cdf", include_str!("../../../../experiments/faster-merge-cdf.toml")),
    ("faster-cost", include_str!("../../../../experiments/faster-cost.toml")),
    ("faster-endurance", include_str!("../../../../experiments/faster-endurance.toml")),
    ("faster-trace", include_str!("../../../../experiments/faster-trace.toml")),
    ("ftl-all", include_str!("../../../../experiments/ftl-all.toml")),
    ("ftl-modern", include_str!("../../../../experiments/ftl-modern.toml")),
    ("ioda-strategies", include_str!("../../../../experiments/ioda-strategies.toml")),
    ("ioda-artefact", include_str!("../../../../experiments/ioda-artefact.toml")),
    ("ioda-rivals", include_str!("../../../../experiments/ioda-rivals.toml")),
    ("ioda-tw", include_str!("../../../../experiments/ioda-tw.toml")),
    ("ioda-throughput", include_str!("../../../../experiments/ioda-throughput.toml")),
    ("ioda-writes", include_str!("../../../../experiments/ioda-writes.toml")),
    ("ioda-width", include_str!("../../../../experiments/ioda-width.toml")),
    ("ioda-inside", include_str!("../../../../experiments/ioda-inside.toml")),
    ("ioda-internal", include_str!("../../../../experiments/ioda-internal.toml")),
    ("ioda-brt", include_str!("../../../../experiments/ioda-brt.toml")),
    ("ioda-threshold", include_str!("../../../../experiments/ioda-threshold.toml")),
    ("ioda-slowest", include_str!("../../../../experiments/ioda-slowest.toml")),
    ("ioda-op", include_str!("../../../../experiments/ioda-op.toml")),
    ("ioda-needed", include_str!("../../../../experiments/ioda-needed.toml")),
    ("ioda-degraded", include_str!("../../../../experiments/ioda-degraded.toml")),
    ("own-strategy", include_str!("../../../../experiments/own-strategy.toml")),
];

/// The names of the built-in experiments, in the order they are listed and run.
pub fn experiment_names() -> impl Iterator<Item = &'static str> {
    EXPERIMENTS.iter().map(|(name, _)| *name)
}

/// The text of the built-in experiment `name`, or an error that lists the names and suggests the
/// nearest.
pub fn builtin_experiment(name: &str) -> Result<Source, ConfigError> {
    if let Some((name, text)) = EXPERIMENTS.iter().find(|(entry, _)| *entry == name) {
        return Ok(Source { file: format!("experiments/{name}.toml"), text: (*text).to_string() });
    }
    let hint = nearest(name, experiment_names())
        .map_or(String::new(), |near| format!("; did you mean {near}?"));
    let names = experiment_names().collect::<Vec<_>>().join(", ");
    Err(ConfigError::new(format!(
        "there is no experiment `{name}`: there are {names}, all, and paths of files{hint}"
    )))
}
