//! A user's options for the calculator of [`tw`](super::tw), brought together; each value remembers
//! where it is from.

use super::tw::{self, Bounds, GcUnit, Inputs, Load, Parallel};
use crate::load::{Request, read_device};
use manx_config::{ConfigError, Override};
use manx_core::flash::{Capacity, Device};
use manx_core::ftl::{FtlKind, GcMode, GcSpec};
use manx_core::units::{Bandwidth, Bytes, Duration};

/// The widest array.
const DRIVES_MAX: u32 = 1024;
/// The most drive writes a day: a petabyte drive that is written at a terabyte a second all day
/// stays below it.
const DWPD_MAX: f64 = 1e6;
/// The longest guard.
const GUARD_MAX: Duration = Duration::from_s(3600);

/// The question: `manx plan tw` with its options.
#[derive(Clone, Debug, Default)]
pub struct Question {
    /// `--device`: a name or a path.
    pub device: Option<String>,
    /// `--scenario`: a name or a path, for the device, the marks and the unit of GC, and the link.
    pub scenario: Option<String>,
    /// `--set`, over the scenario.
    pub sets: Vec<Override>,
    /// `--n`: drives of the array.
    pub drives: Option<u32>,
    /// `--dwpd`.
    pub dwpd: Option<f64>,
    /// `--op`: over-provisioning in place of the device's.
    pub op: Option<f64>,
    /// `--valid`: R_v.
    pub valid: Option<f64>,
    /// `--link`: B_pcie.
    pub link: Option<Bandwidth>,
    /// `--burst`: B_burst, in place of the least of link and flash.
    pub burst: Option<Bandwidth>,
    /// `--reserve`: usable space, in place of what lies between the marks.
    pub reserve: Option<Bytes>,
    /// `--gc-unit`.
    pub unit: Option<GcUnit>,
    /// `--guard`.
    pub guard: Option<Duration>,
    /// `--raid5-writes`: small writes of the user to the whole array.
    pub raid5_writes: Option<Bandwidth>,
}

/// An answer with its inputs.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The device, with `op` as it was asked for.
    pub device: Device,
    /// The values.
    pub inputs: Inputs,
    /// The bounds.
    pub bounds: Bounds,
    /// Small writes of the user to the array, and what they mean for a drive: by the formula, and
    /// actually.
    pub raid5: Option<(Bandwidth, Load, Load)>,
    /// Where the values are from.
    pub from: Origins,
    /// Of the scenario: what the formula does not know.
    pub warnings: Vec<String>,
}

/// Where each value is from, in words.
#[derive(Clone, Debug)]
pub struct Origins {
    /// N_ssd.
    pub drives: String,
    /// R_p.
    pub op: String,
    /// The usable reserve.
    pub reserve: String,
    /// R_v.
    pub valid: String,
    /// B_pcie.
    pub link: String,
    /// B_burst.
    pub burst: String,
    /// N_dwpd.
    pub dwpd: String,
    /// Unit of reclaiming: the blocks that GC reclaims at once.
    pub unit: String,
    /// The guard.
    pub guard: String,
    /// t_cpt.
    pub transfer: String,
    /// Prefix of the key of a number of the flash.
    pub flash: String,
}

/// The drive of the question: from a table, or from a scenario.
struct Drive {
    device: Device,
    capacity: Capacity,
    gc: GcSpec,
    link: Option<Bandwidth>,
    scenario: Option<String>,
    warnings: Vec<String>,
}

impl Question {
    /// The answer, or which option is wrong and what is allowed.
    pub fn answer(&self) -> Result<Plan, ConfigError> {
        self.check()?;
        let mut drive = self.drive()?;
        if let (Some(unit), None) = (self.unit, &drive.scenario) {
            drive.gc.unit = unit.victim();
        }
        let (device, gc) = (&drive.device, &drive.gc);
        let drives = self.drives.unwrap_or(4);
        let mut inputs = Inputs::of(device, drives, gc);
        inputs.spare = Bytes::new(drive.capacity.raw.get() - drive.capacity.user.get());
        inputs.reserve = self.reserve.unwrap_or(inputs.reserve);
        inputs.valid = self.valid.unwrap_or(tw::VALID);
        inputs.link = self.link.or(drive.link).unwrap_or_default();
        inputs.burst = self.burst;
        inputs.dwpd = self.dwpd.unwrap_or(1.0);
        inputs.guard = self.guard.unwrap_or_default();
        inputs.parallel = match (self.unit, &drive.scenario) {
            (Some(unit), _) => Parallel::of_unit(unit, &inputs.flash),
            (None, Some(_)) => inputs.parallel,
            (None, None) => Parallel::formula(&inputs.flash),
        };
        self.check_space(&inputs)?;
        let bounds = inputs.bounds();
        let raid5 = self.raid5_writes.map(|writes| {
            // A small write is a write of the data and one of the parity.
            let rate = 2.0 * writes.get() as f64 / f64::from(drives);
            (
                writes,
                inputs.load(rate, bounds.formula.gc_rate),
                inputs.load(rate, bounds.actual.gc_rate),
            )
        });
        let from = self.origins(&drive);
        let Drive { device, warnings, .. } = drive;
        Ok(Plan { device, inputs, bounds, raid5, from, warnings })
    }

    fn check(&self) -> Result<(), ConfigError> {
        let drives = self.drives.unwrap_or(4);
        let allowed = format!("a whole number from 2 to {DRIVES_MAX}: drives of the array");
        require((2..=DRIVES_MAX).contains(&drives), "--n", drives, &allowed)?;
        let share = |value: Option<f64>| value.is_none_or(|value| (0.0..1.0).contains(&value));
        let valid = self.valid.unwrap_or_default();
        require(
            share(self.valid),
            "--valid",
            valid,
            "a share from 0 to below 1: valid pages in a victim",
        )?;
        let op = self.op.unwrap_or_default();
        require(share(self.op), "--op", op, "a share of the raw capacity from 0 to below 1")?;
        let dwpd = self.dwpd.unwrap_or(1.0);
        require(
            dwpd > 0.0 && dwpd <= DWPD_MAX,
            "--dwpd",
            dwpd,
            "above 0, at most 1000000: drive writes a day",
        )?;
        let guard = self.guard.unwrap_or_default();
        require(guard <= GUARD_MAX, "--guard", guard, "a time of at most 1h")?;
        for (option, rate) in [("--burst", self.burst), ("--raid5-writes", self.raid5_writes)] {
            let rate = rate.unwrap_or(Bandwidth::bytes_per_second(1));
            require(rate.get() > 0, option, rate, "a rate that has a limit, such as 500MB/s")?;
        }
        Ok(())
    }

    fn drive(&self) -> Result<Drive, ConfigError> {
        if let Some(name) = &self.scenario {
            return self.drive_of(name);
        }
        let Some(name) = &self.device else {
            let message = "no drive: --device NAME|FILE (a name of `manx device list`) or \
                           --scenario NAME|FILE is needed";
            return Err(ConfigError::new(message));
        };
        if let Some(set) = self.sets.first() {
            let message =
                format!("{}: --set changes a scenario: it needs --scenario NAME|FILE", set.said());
            return Err(ConfigError::new(message));
        }
        let mut device = read_device(name)?;
        device.op = self.op.unwrap_or(device.op);
        let capacity = Capacity::of(&device);
        Ok(Drive {
            device,
            capacity,
            gc: GcSpec::default(),
            link: None,
            scenario: None,
            warnings: Vec::new(),
        })
    }

    fn drive_of(&self, name: &str) -> Result<Drive, ConfigError> {
        let mut overrides = Vec::new();
        if let Some(device) = &self.device {
            let quoted = serde_json::Value::from(device.as_str()).to_string();
            overrides.push(Override::new("device.name", quoted, format!("--device {device}")));
        }
        if let Some(op) = self.op {
            overrides.push(Override::new("device.op", format!("{op:?}"), format!("--op {op}")));
        }
        overrides.extend(self.sets.iter().cloned());
        let scenario = Request::read(name, overrides)?.plain()?;
        let capacity = scenario.capacity();
        let mut warnings = Vec::new();
        let mut warn = |is: bool, what: &str| {
            if is {
                warnings.push(format!("scenario {name}: {what}"));
            }
        };
        warn(
            scenario.rain.width > 0,
            "parity inside the drive is written too, which B_burst does not count",
        );
        warn(
            scenario.ftl.kind == FtlKind::LogBlock,
            "a log-block FTL merges; B_gc is of page mapping",
        );
        warn(
            scenario.gc.mode == GcMode::Nogc,
            "gc.mode = \"nogc\" takes no time; B_gc is of real copies",
        );
        let (device, gc, link) = (scenario.device, scenario.gc, Some(scenario.drive.link));
        Ok(Drive { device, capacity, gc, link, scenario: Some(name.to_string()), warnings })
    }

    fn check_space(&self, inputs: &Inputs) -> Result<(), ConfigError> {
        let (spare, reserve) = (inputs.spare, inputs.reserve);
        let op = self.op.map_or("device.op".to_string(), |op| format!("--op {op}"));
        let message = format!(
            "{op}: it leaves no over-provisioned space, so there is nothing that a window could use"
        );
        let wrong = |message: String| Err(ConfigError::new(message));
        if spare.get() == 0 {
            return wrong(message);
        }
        if spare == inputs.raw {
            return wrong(format!("{op}: the host would see nothing; lower it"));
        }
        if reserve.get() > 0 && reserve <= spare {
            return Ok(());
        }
        wrong(match self.reserve {
            Some(reserve) => {
                format!(
                    "--reserve {reserve} is not allowed: above 0B, at most S_p = {spare}, \
                     what the host does not see"
                )
            }
            None if reserve.get() == 0 => {
                "gc.soft and gc.hard are the same page: nothing lies between \
                 them; say --reserve SIZE"
                    .to_string()
            }
            None => format!(
                "between gc.soft and gc.hard lie {reserve}, more than S_p = {spare}: \
                 raise --op, or say --reserve SIZE"
            ),
        })
    }

    fn origins(&self, drive: &Drive) -> Origins {
        let option = |given: bool, option: &str, otherwise: &str| {
            if given { option.to_string() } else { otherwise.to_string() }
        };
        let scenario = drive.scenario.as_deref();
        let of_scenario = |key: &str, otherwise: &str| match scenario {
            Some(name) => format!("scenario {name}: {key}"),
            None => otherwise.to_string(),
        };
        let marks = format!("gc.soft {} - gc.hard {}", drive.gc.soft, drive.gc.hard);
        let default_unit = "assumed: a block of each channel, as the formula; see --gc-unit";
        Origins {
            drives: option(self.drives.is_some(), "--n", "assumed: 4, as IODA's artefact (3+1)"),
            op: option(self.op.is_some(), "--op", &of_device(drive, "op")),
            reserve: match self.reserve {
                Some(_) => "--reserve".to_string(),
                None => of_scenario(&marks, &format!("assumed: {marks}; see --reserve")),
            },
            valid: option(
                self.valid.is_some(),
                "--valid",
                "assumed: the fullest that IODA's artefact takes",
            ),
            link: option(
                self.link.is_some(),
                "--link",
                &of_scenario("drive.link", "assumed: no limit; see --link"),
            ),
            burst: option(self.burst.is_some(), "--burst", "min(B_pcie, B_nand)"),
            dwpd: option(self.dwpd.is_some(), "--dwpd", "assumed: 1"),
            unit: match self.unit {
                Some(unit) => format!("--gc-unit {}", unit.name()),
                None => of_scenario("gc.unit, gc.mode, gc.per_channel", default_unit),
            },
            guard: option(self.guard.is_some(), "--guard", "assumed: none"),
            transfer: match drive.gc.copyback {
                true => of_scenario("gc.copyback: copies do not cross the channel", ""),
                false => of_device(drive, "channel.rate"),
            },
            flash: of_device(drive, ""),
        }
    }
}

/// A key of the device; a scenario may have changed it.
fn of_device(drive: &Drive, key: &str) -> String {
    match &drive.scenario {
        Some(scenario) => format!("scenario {scenario}: device.{key}"),
        None => format!("device {}: {key}", drive.device.name),
    }
}

fn require(
    holds: bool,
    option: &str,
    value: impl std::fmt::Display,
    allowed: &str,
) -> Result<(), ConfigError> {
    match holds {
        true => Ok(()),
        false => Err(ConfigError::new(format!("{option} {value} is not allowed: {allowed}"))),
    }
}
