//! Endurance: how many years a drive lasts, and how many drive writes a day it bears.

use super::sheet::Sheet;
use crate::compare::{Options, compare};
use crate::load::{Request, read_device};
use crate::run::RunError;
use manx_config::{ConfigError, Override};
use manx_core::flash::Layout;

const DAYS: f64 = 365.25;

/// Rated cycles of a block where nobody states them: 3D TLC.
const CYCLES: f64 = 3000.0;

/// Blocks a plane of a checked drive: the fewest, and as many as one of [`CHECKED_BYTES`] has.
const BLOCKS_LEAST: u64 = 64;
const BLOCKS: u64 = 256;
const CHECKED_BYTES: u64 = 32 << 30;

/// Spare share of raw where nobody states it.
const OP: f64 = 0.126;

/// The question.
#[derive(Clone, Debug, PartialEq)]
pub struct Endurance {
    /// The drive: its spare share and its cycles.
    pub drive: Rated,
    /// `--waf`.
    pub waf: f64,
    /// `--dwpd`: drive writes a day of the load.
    pub dwpd: f64,
    /// `--years`: service.
    pub years: f64,
}

/// A drive as far as its life is concerned: spare share and rated P/E cycles, and where they are
/// from.
#[derive(Clone, Debug, PartialEq)]
pub struct Rated {
    /// Spare share of raw.
    pub op: f64,
    /// `--op`, a device's table, or what is assumed.
    pub op_source: String,
    /// Cycles.
    pub cycles: f64,
    /// `--cycles`, a device's table, or what is assumed.
    pub source: String,
    /// `--device`.
    device: Option<String>,
}

impl Rated {
    /// Numbers of `--op` and `--cycles`, else those that `--device` states, else [`OP`] and
    /// [`CYCLES`].
    ///
    /// # Errors
    /// There is no such device.
    pub fn of(
        op: Option<f64>,
        cycles: Option<f64>,
        device: Option<&str>,
    ) -> Result<Self, ConfigError> {
        let named = device.map(str::to_string);
        let device = device.map(read_device).transpose()?;
        let stated = device.as_ref().map(|device| device.endurance).filter(|cycles| *cycles > 0);
        let source = match (cycles, &device, stated) {
            (Some(_), ..) => "--cycles".to_string(),
            (None, Some(device), Some(_)) => format!("device {}: endurance", device.name),
            (None, Some(device), None) => {
                format!("assumed: device {} states no endurance", device.name)
            }
            (None, None, _) => "assumed; --cycles, or the endurance of --device".to_string(),
        };
        let op_source = match (op, &device) {
            (Some(_), _) => "--op".to_string(),
            (None, Some(device)) => format!("device {}: op", device.name),
            (None, None) => "assumed; --op, or the op of --device".to_string(),
        };
        let op = op.or(device.as_ref().map(|device| device.op)).unwrap_or(OP);
        let cycles = cycles.or(stated.map(f64::from)).unwrap_or(CYCLES);
        Ok(Self { op, op_source, cycles, source, device: named })
    }
}

impl Endurance {
    /// The sheet.
    pub fn sheet(&self) -> Result<Sheet, ConfigError> {
        let Self { waf, dwpd, years, .. } = *self;
        let Rated { op, cycles, source, op_source, .. } = &self.drive;
        let (op, cycles) = (*op, *cycles);
        let refuse = |option: &str, value: f64, allowed: &str| {
            Err(ConfigError::new(format!("{option} {value}: {allowed}")))
        };
        if !(0.0..0.9).contains(&op) {
            return refuse("--op", op, "a share of raw from 0 to below 0.9");
        }
        for (option, value) in
            [("--waf", waf), ("--cycles", cycles), ("--dwpd", dwpd), ("--years", years)]
        {
            if !(value > 0.0 && value.is_finite()) {
                return refuse(option, value, "a number above 0");
            }
        }
        let mut sheet = Sheet {
            plan: "endurance",
            title: "Endurance: P/E cycles against writes of the host",
            formula: "years = N_pe / ((1 - op) WAF DWPD 365.25), DWPD = N_pe / ((1 - op) WAF years \
                      365.25)\n(JEDEC JESD218: TBW is what the host may write; a full drive write \
                      programs its user capacity times WAF)",
            ..Sheet::default()
        };
        sheet.symbol("N_pe", cycles, "cycles", "rated P/E cycles", source);
        sheet.symbol("op", op, "", "spare share of raw", op_source);
        sheet.symbol("WAF", waf, "", "write amplification", "--waf");
        sheet.symbol("DWPD", dwpd, "", "drive writes a day of the load", "--dwpd");
        sheet.symbol("years", years, "", "years of service", "--years");
        let a_write = (1.0 - op) * waf;
        sheet.answer("years until the cycles are used", Some(self.lasts()), "years");
        sheet.answer("DWPD that the service bears", Some(cycles / (a_write * years * DAYS)), "");
        sheet.answer("TBW for each TB of user capacity", Some(cycles / a_write), "TB");
        sheet.answer("cycles used a year", Some(a_write * dwpd * DAYS), "cycles");
        sheet.answer("cycles used by one drive write", Some(a_write), "cycles");
        sheet.notes.push(
            "Wear levelling is taken as perfect: wear.erases_max over erases_mean of a run says \
             how far it is not. Retention and read disturb take cycles of their own."
                .to_string(),
        );
        Ok(sheet)
    }

    fn lasts(&self) -> f64 {
        self.drive.cycles / ((1.0 - self.drive.op) * self.waf * self.dwpd * DAYS)
    }

    /// A run of random writes: the erases that one drive write takes, with the run's own WAF.
    pub fn check(&self, sheet: &mut Sheet, options: &Options<'_>) -> Result<(), RunError> {
        let op = self.drive.op;
        let (device, blocks) = match self.drive.device.as_deref() {
            Some(name) => {
                let layout = Layout::new(&read_device(name)?);
                let rows = u64::from(layout.rows) * u64::from(layout.lanes);
                let row = u64::from(layout.units_per_row) * u64::from(layout.unit_bytes);
                // The buffer of the scenario is too small for a drive of many lanes.
                let buffer = (4 * row * u64::from(layout.lanes)).max(256 << 10);
                let sets = [
                    ("device.name", format!("{name:?}")),
                    ("drive.buffer", format!("\"{buffer}B\"")),
                ];
                (sets.to_vec(), (CHECKED_BYTES / (rows * row)).clamp(BLOCKS_LEAST, BLOCKS))
            }
            None => (Vec::new(), BLOCKS),
        };
        let sets = [
            ("device.op", op.to_string()),
            // Little space needs low marks, and blocks that are a small part of it.
            ("device.geometry.blocks", blocks.to_string()),
            ("gc.soft", (op / 2.0).min(0.08).to_string()),
            ("gc.hard", (op / 5.0).min(0.03).to_string()),
            ("workload.read_percent", "0.0".to_string()),
            ("workload.rate", "1000.0".to_string()),
            ("workload.requests", "200000".to_string()),
        ];
        let sets =
            device.into_iter().chain(sets).map(|(key, value)| Override::new(key, value, "--check"));
        let sets = sets.collect();
        let scenario = Request::read("quick", sets)?.under("preemptive")?;
        let layout = Layout::new(&scenario.device);
        let runs = vec![("preemptive".to_string(), scenario)];
        let result = compare(&runs, options)?.remove(0).result;
        let units = f64::from(layout.units_per_row) * f64::from(layout.rows);
        let blocks = result.capacity.raw_bytes as f64 / f64::from(layout.unit_bytes) / units;
        let written = result.flash.host_pages_written as f64 * f64::from(layout.unit_bytes);
        let drive_writes = written / result.capacity.user_bytes as f64;
        let cycles = result.flash.erases as f64 / blocks / drive_writes.max(1e-9);
        // The run has a WAF of its own: what it says is the cycles for each unit of that.
        let waf = result.flash.waf.unwrap_or(1.0);
        if let Some(last) = sheet.answers.last_mut() {
            last.checked = Some(cycles / waf * self.waf);
        }
        sheet.notes.push(format!(
            "--check: {} erases of {blocks:.0} blocks for {drive_writes:.2} drive writes at a WAF \
             of {waf:.3}",
            result.flash.erases
        ));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_data_sheet_s_drive_lasts_as_long_as_it_says() {
        // 3000 cycles, 1 DWPD, WAF 1.6 on a drive of 12.6 %: 5.87 years.
        let drive = Rated::of(None, Some(3000.0), None).unwrap();
        let asked = Endurance { drive, waf: 1.6, dwpd: 1.0, years: 5.0 };
        let sheet = asked.sheet().unwrap();
        let years = 3000.0 / (0.874 * 1.6 * 365.25);
        assert!((sheet.answers[0].value.unwrap() - years).abs() < 1e-9);
        assert!((sheet.answers[1].value.unwrap() - years / 5.0).abs() < 1e-9);
        let error = Endurance { waf: 0.0, ..asked }.sheet().unwrap_err().to_string();
        assert_eq!(error, "--waf 0: a number above 0");
    }

    #[test]
    fn numbers_are_those_that_are_asked_for_then_the_device_s_then_assumed() {
        let rated = |cycles, device| Rated::of(None, cycles, device).unwrap();
        let slc = Some("k9wag08u1a");
        assert_eq!(rated(Some(7.0), slc).cycles, 7.0);
        assert_eq!(rated(None, slc).cycles, 100_000.0);
        assert!(rated(None, slc).source.contains("device k9wag08u1a: endurance"));
        let unstated = rated(None, Some("femu"));
        assert_eq!(unstated.cycles, CYCLES);
        assert!(unstated.source.contains("assumed") && unstated.source.contains("femu"));
        assert_eq!(rated(None, None).cycles, CYCLES);
        assert!(Rated::of(None, None, Some("nothing")).is_err());
        let spare = |op, device| Rated::of(op, None, device).unwrap();
        assert_eq!(spare(None, slc).op, 0.1);
        assert_eq!(spare(Some(0.3), slc).op, 0.3);
        assert_eq!((spare(None, None).op, &*spare(Some(0.3), slc).op_source), (OP, "--op"));
    }
}
