//! Cost is a model: what a drive's flash, memory, capacitors, wear and power come to, for a TB that
//! the host can use and for the years of its service. Every number of it is a key (`costs.toml`)
//! with its source, and `--cost KEY=VALUE` changes it.
//!
//! The drive is the device as its table has it: a scenario that cuts it (fewer blocks in each
//! plane) stands for the whole, with the same share of over-provisioning.

use crate::load::read_device;
use manx_config::{ConfigError, Scenario, nearest};
use manx_core::flash::{Layout, Timing};
use manx_core::stats::RunResult;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

const DEFAULTS: &str = include_str!("costs.toml");

const GB: f64 = 1e9;
const TB: f64 = 1e12;
const MIB: f64 = 1_048_576.0;
const YEAR_S: f64 = 365.25 * 86_400.0;
const YEAR_H: f64 = 365.25 * 24.0;

/// The model's numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Costs {
    money: Money,
    endurance: Endurance,
    power: Power,
    source: BTreeMap<String, String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Money {
    flash_gb: f64,
    dram_gb: f64,
    capacitor_mib: f64,
    drive: f64,
    kwh: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Endurance {
    pe_cycles: f64,
    years: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Power {
    idle_w: f64,
    array_ma: f64,
    volt: f64,
    bus_pj_bit: f64,
}

/// Sum of the points of a setting. Money is for a usable TB and all years of service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Cost {
    /// Flash, bought anew where it wears out before its service ends (money).
    pub flash: f64,
    /// DRAM of the map and of the write buffer (money).
    pub dram: f64,
    /// Capacitors that keep the write buffer through a power loss (money).
    pub capacitor: f64,
    /// Controllers and cases (money).
    pub drives: f64,
    /// Electricity (money); before a run that of idle drives.
    pub electricity: f64,
    /// All of it (money).
    pub total: f64,
    /// Watts of the drives for a usable TB; before a run those of idle ones.
    pub watts: f64,
    /// Share of the rated P/E cycles that a year takes (percent); null before a run, or without
    /// writes.
    pub wear_percent_a_year: Option<f64>,
    /// Drive writes a day of the load, of usable capacity; null before a run.
    pub drive_writes_a_day: Option<f64>,
}

/// Beyond this a sum of costs would have no end.
const NUMBER_MAX: f64 = 1e12;

impl Default for Costs {
    fn default() -> Self {
        toml::from_str(DEFAULTS).expect("the built-in costs are costs")
    }
}

impl Costs {
    /// The defaults, with `KEY=VALUE` of `--cost` over them.
    pub fn with(sets: &[String]) -> Result<Self, ConfigError> {
        let mut costs = Self::default();
        let key = |set: &String| set.split('=').next().map(|key| key.trim().to_string());
        for (at, set) in sets.iter().enumerate() {
            if sets[..at].iter().any(|other| key(other) == key(set)) {
                let key = key(set).unwrap_or_default();
                return Err(ConfigError::new(format!("--cost {set}: {key} is said twice")));
            }
            costs.set(set).map_err(|why| ConfigError::new(format!("--cost {set}: {why}")))?;
        }
        Ok(costs)
    }

    fn set(&mut self, set: &str) -> Result<(), String> {
        let (key, value) = set.split_once('=').ok_or("expected KEY=VALUE")?;
        let (key, value) = (key.trim(), value.trim());
        let number: f64 = value
            .parse()
            .ok()
            .filter(|number: &f64| (0.0..=NUMBER_MAX).contains(number))
            .ok_or_else(|| format!("`{value}`: expected a number, 0 or above, up to 1e12"))?;
        let all = self.keys();
        let Some((_, unit, _)) = all.iter().find(|(name, ..)| *name == key) else {
            let names = || all.iter().map(|(name, ..)| *name);
            let near = nearest(key, names());
            let hint = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
            let names: Vec<_> = names().collect();
            return Err(format!("no key is called `{key}`: {}{hint}", names.join(", ")));
        };
        if number < 1.0 / NUMBER_MAX && matches!(*unit, "cycles" | "years" | "V") {
            return Err("it must be above 0, at least 1e-12".to_string());
        }
        *self.place(key).ok_or("no such key")? = number;
        self.source.insert(key.to_string(), format!("--cost {set}"));
        Ok(())
    }

    fn place(&mut self, key: &str) -> Option<&mut f64> {
        Some(match key {
            "money.flash_gb" => &mut self.money.flash_gb,
            "money.dram_gb" => &mut self.money.dram_gb,
            "money.capacitor_mib" => &mut self.money.capacitor_mib,
            "money.drive" => &mut self.money.drive,
            "money.kwh" => &mut self.money.kwh,
            "endurance.pe_cycles" => &mut self.endurance.pe_cycles,
            "endurance.years" => &mut self.endurance.years,
            "power.idle_w" => &mut self.power.idle_w,
            "power.array_ma" => &mut self.power.array_ma,
            "power.volt" => &mut self.power.volt,
            "power.bus_pj_bit" => &mut self.power.bus_pj_bit,
            _ => return None,
        })
    }

    /// Each key with its unit and value.
    pub fn keys(&self) -> [(&'static str, &'static str, f64); 11] {
        [
            ("money.flash_gb", "money a raw GB", self.money.flash_gb),
            ("money.dram_gb", "money a GB", self.money.dram_gb),
            ("money.capacitor_mib", "money a MiB kept", self.money.capacitor_mib),
            ("money.drive", "money a drive", self.money.drive),
            ("money.kwh", "money a kWh", self.money.kwh),
            ("endurance.pe_cycles", "cycles", self.endurance.pe_cycles),
            ("endurance.years", "years", self.endurance.years),
            ("power.idle_w", "W a drive", self.power.idle_w),
            ("power.array_ma", "mA a die at work", self.power.array_ma),
            ("power.volt", "V", self.power.volt),
            ("power.bus_pj_bit", "pJ a bit", self.power.bus_pj_bit),
        ]
    }

    /// Where a key's value is from.
    pub fn source(&self, key: &str) -> &str {
        self.source.get(key).map_or("", String::as_str)
    }

    /// Years of service.
    pub fn years(&self) -> f64 {
        self.endurance.years
    }

    /// P/E cycles.
    pub fn cycles(&self) -> f64 {
        self.endurance.pe_cycles
    }

    /// The cost of a setting; without a result the part that needs none, which is never more.
    pub fn of(&self, scenario: &Scenario, result: Option<&RunResult>) -> Cost {
        self.within(scenario, result.map(|result| (result, result.virtual_s)))
    }

    /// The cost of a setting whose load comes in so many seconds, whatever its run took.
    pub fn within(&self, scenario: &Scenario, result: Option<(&RunResult, f64)>) -> Cost {
        let bought = Bought::of(scenario);
        let per_tb = TB / bought.usable;
        let run = result.map(|(result, seconds)| Used::of(result, scenario, seconds));
        let writes = run.map_or(0.0, |run| run.programmed_s);
        // Bytes programmed a year over what the flash can take in its life.
        let wear = writes * YEAR_S / (bought.raw * self.endurance.pe_cycles);
        let sets = (wear * self.endurance.years).max(1.0);
        let flash = bought.raw / GB * self.money.flash_gb * sets;
        let dram = (bought.map + bought.buffer) / GB * self.money.dram_gb;
        let kept = if bought.protected { bought.buffer / MIB } else { 0.0 };
        let capacitor = kept * self.money.capacitor_mib;
        let drives = bought.drives * self.money.drive;
        let flash_w = run.map_or(0.0, |run| self.flash_watts(&run));
        let watts = bought.drives * self.power.idle_w + flash_w;
        let electricity = watts / 1000.0 * YEAR_H * self.endurance.years * self.money.kwh;
        let total = flash + dram + capacitor + drives + electricity;
        Cost {
            flash: flash * per_tb,
            dram: dram * per_tb,
            capacitor: capacitor * per_tb,
            drives: drives * per_tb,
            electricity: electricity * per_tb,
            total: total * per_tb,
            watts: watts * per_tb,
            wear_percent_a_year: (writes > 0.0).then_some(100.0 * wear),
            drive_writes_a_day: run
                .map(|run| run.written_s * 86_400.0 / bought.usable)
                .filter(|writes| *writes > 0.0),
        }
    }

    fn flash_watts(&self, used: &Used) -> f64 {
        let array = self.power.array_ma / 1000.0 * self.power.volt;
        used.array_s * array + used.bus_bytes_s * 8.0 * self.power.bus_pj_bit * 1e-12
    }
}

/// Drives that are bought: all of the array, whole.
struct Bought {
    drives: f64,
    raw: f64,
    usable: f64,
    map: f64,
    buffer: f64,
    protected: bool,
}

impl Bought {
    fn of(scenario: &Scenario) -> Self {
        let (capacity, geometry) = (scenario.capacity(), &scenario.device.geometry);
        // A table that cannot be read again (a file that went) stands for itself.
        let whole = read_device(&scenario.device.name)
            .map_or(geometry.blocks, |table| table.geometry.blocks.max(geometry.blocks));
        let times = f64::from(whole) / f64::from(geometry.blocks);
        let drives = f64::from(scenario.array.members);
        let usable = scenario.array.user_bytes(capacity.user).get() as f64 * times;
        Self {
            drives,
            raw: capacity.raw.get() as f64 * times * drives,
            usable: usable.max(1.0),
            map: 4.0 * capacity.user.get() as f64 * times * drives / geometry.map_unit.get() as f64,
            buffer: scenario.drive.buffer.get() as f64 * drives + scenario.array.cache.get() as f64,
            protected: scenario.drive.power_loss_protection,
        }
    }
}

/// Use of the drives by the load, a second.
#[derive(Clone, Copy)]
struct Used {
    /// Bytes that the host wrote.
    written_s: f64,
    /// Bytes programmed.
    programmed_s: f64,
    /// Seconds of dies at work.
    array_s: f64,
    /// Bytes over the channels.
    bus_bytes_s: f64,
}

impl Used {
    fn of(result: &RunResult, scenario: &Scenario, seconds: f64) -> Self {
        let layout = Layout::new(&scenario.device);
        let timing = Timing::new(&scenario.device, &layout);
        let (read, program) = timing.means();
        let unit = f64::from(layout.unit_bytes);
        let flash = &result.flash;
        let (reads, programs) = (flash.pages_read as f64, flash.pages_programmed as f64);
        let seconds = seconds.max(1e-9);
        let rows = programs / f64::from(layout.units_per_row);
        // Every mapping unit that is read counts as an array read of its own.
        let array = reads * read.as_s_f64()
            + rows * program.as_s_f64()
            + flash.erases as f64 * timing.erase().as_s_f64();
        Self {
            written_s: result.write.bytes as f64 / seconds,
            programmed_s: programs * unit / seconds,
            array_s: array / seconds,
            bus_bytes_s: (reads + programs) * unit / seconds,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::Request;
    use manx_config::Override;

    fn scenario(sets: &[&str]) -> Scenario {
        let overrides = sets.iter().map(|set| Override::from_set(set).unwrap()).collect();
        Request::read("oltp", overrides).unwrap().plain().unwrap()
    }

    #[test]
    fn every_key_has_a_value_a_unit_and_a_source() {
        let mut costs = Costs::default();
        assert_eq!(costs.source.len(), costs.keys().len());
        for (key, unit, value) in costs.keys() {
            assert!(!costs.source(key).is_empty() && !unit.is_empty(), "{key}");
            assert_eq!(costs.place(key).copied(), Some(value), "{key}");
        }
        assert!(costs.place("money").is_none());
    }

    #[test]
    fn a_key_is_set_and_a_wrong_one_is_told() {
        let set = |text: &str| Costs::with(&[text.to_string()]);
        let costs = set("money.flash_gb=0.1").unwrap();
        assert_eq!(costs.money.flash_gb, 0.1);
        assert_eq!(costs.source("money.flash_gb"), "--cost money.flash_gb=0.1");
        for (text, reason) in [
            ("money.flash", "expected KEY=VALUE"),
            ("money.flsh_gb=1", "did you mean `money.flash_gb`?"),
            ("money.flash_gb=x", "a number, 0 or above"),
            ("money.flash_gb=-1", "a number, 0 or above"),
            ("money.flash_gb=1e308", "up to 1e12"),
            ("endurance.years=0", "above 0"),
            ("endurance.years=1e-300", "above 0"),
        ] {
            let error = set(text).unwrap_err().to_string();
            assert!(error.starts_with("--cost ") && error.contains(reason), "{error}");
        }
        let twice = ["money.drive=1", "money.drive = 2"].map(str::to_string);
        let error = Costs::with(&twice).unwrap_err().to_string();
        assert!(error.contains("money.drive is said twice"), "{error}");
    }

    #[test]
    fn the_parts_are_what_a_pocket_calculator_says() {
        let of = scenario(&["device.op=0.2", "drive.buffer=64MiB"]);
        let cost = Costs::default().of(&of, None);
        let table = read_device("ttflash-256g").unwrap();
        let raw = of.capacity().raw.get() as f64 / f64::from(of.device.geometry.blocks)
            * f64::from(table.geometry.blocks);
        let usable = of.capacity().user.get() as f64 / of.capacity().raw.get() as f64 * raw;
        assert!((usable / raw - 0.8).abs() < 0.01);
        assert!((cost.flash - raw / usable * 1000.0 * 0.06).abs() < 1e-6, "{cost:?}");
        assert!((cost.drives - 15.0 / (usable / TB)).abs() < 1e-6);
        // 4 bytes for each 4 KiB, and the buffer.
        let dram = (usable / 1024.0 + 64.0 * MIB) / GB * 3.0 / (usable / TB);
        assert!((cost.dram - dram).abs() < 1e-6 * dram, "{cost:?} {dram}");
        // 5 W for 5 years at 0.15.
        assert!((cost.watts - 5.0 / (usable / TB)).abs() < 1e-6);
        let kwh = 5.0 * YEAR_H * 5.0 / 1000.0;
        assert!((cost.electricity - 0.15 * kwh / (usable / TB)).abs() < 1e-6);
        // More over-provisioning costs more.
        let more = Costs::default().of(&scenario(&["device.op=0.4"]), None);
        assert!(more.total > cost.total);
    }

    #[test]
    fn flash_that_wears_out_is_bought_again() {
        let of = scenario(&[]);
        let mut result = RunResult { virtual_s: 1.0, ..RunResult::default() };
        let costs = Costs::default();
        let calm = costs.of(&of, Some(&result));
        assert_eq!(calm.wear_percent_a_year, None);
        assert!(calm.watts > 0.0 && calm.electricity > 0.0);
        // 1 GB/s programmed into 256 GiB of 3000 cycles: 39.7 times 365.25 days in 5 years.
        result.flash.pages_programmed = 1_000_000_000 / 4096;
        let worn = costs.of(&of, Some(&result));
        let years = 5.0 * 1e9 * YEAR_S / (3000.0 * f64::from(1u32 << 8) * f64::from(1u32 << 30));
        assert!((worn.flash / calm.flash / years.max(1.0) - 1.0).abs() < 0.01, "{worn:?} {years}");
    }
}
