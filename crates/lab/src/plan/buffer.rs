//! The write buffer: the size that takes a burst without a stall, and the energy that keeps it
//! through a power loss.

use super::sheet::Sheet;
use super::tw::Flash;
use crate::ask::quoted;
use crate::compare::{Options, compare};
use crate::load::{Request, read_device};
use crate::run::RunError;
use manx_config::{ConfigError, Override};
use manx_core::units::{Bandwidth, Bytes, Duration};

/// Power of a drive that writes its buffer out, assumed (watts).
const WATTS: f64 = 15.0;

/// The question.
#[derive(Clone, Debug, PartialEq)]
pub struct Buffer {
    /// `--device`.
    pub device: String,
    /// `--burst`: writes of the burst.
    pub burst: Bandwidth,
    /// `--for`: how long.
    pub lasts: Duration,
    /// `--waf`: write amplification meanwhile.
    pub waf: f64,
}

impl Buffer {
    /// The sheet.
    pub fn sheet(&self) -> Result<Sheet, ConfigError> {
        if !(self.waf >= 1.0 && self.waf.is_finite()) {
            let waf = self.waf;
            return Err(ConfigError::new(format!("--waf {waf}: a number from 1 on")));
        }
        if self.burst.get() == 0 || self.lasts.is_zero() {
            return Err(ConfigError::new("--burst and --for: a rate and a time above 0"));
        }
        let device = read_device(&self.device)?;
        let flash = Flash::of(&device, false);
        let mut sheet = Sheet {
            plan: "buffer",
            title: "The write buffer that takes a burst, and the energy that keeps it",
            formula: "B = (R - D) T where R > D, D = min(dies S_pg / t_w, channels rate) / WAF; E \
                      = P B / D\n(arithmetic: what comes less what leaves; rows that wait for \
                      their die are part of B)",
            ..Sheet::default()
        };
        let drain = flash.write_rate() / self.waf;
        let burst = self.burst.get() as f64;
        let of = |what: &str| format!("device {}: {what}", self.device);
        sheet.symbol("R", burst, "B/s", "writes of the burst", "--burst");
        sheet.symbol("T", self.lasts.as_s_f64(), "s", "how long it lasts", "--for");
        sheet.symbol("dies", f64::from(flash.dies), "", "dies that program", of("geometry"));
        sheet.symbol(
            "S_pg",
            flash.page.get() as f64,
            "B",
            "what one program covers",
            of("geometry"),
        );
        sheet.symbol("t_w", flash.program.as_s_f64(), "s", "mean tPROG", of("timing.program"));
        sheet.symbol("WAF", self.waf, "", "programs for each write, meanwhile", "--waf");
        sheet.symbol("D", drain, "B/s", "writes that the flash takes", "formula");
        sheet.symbol("P", WATTS, "W", "power while it is written out", "assumed");
        let size = self.size(&flash);
        sheet.answer("B, the buffer", Some(size), "B");
        sheet.answer("B in MiB", Some(size / 1_048_576.0), "MiB");
        sheet.answer("E, energy of the capacitors", Some(WATTS * size / drain), "J");
        sheet.answer("time until it is empty again", Some(size / drain), "s");
        sheet.notes.push(match burst > drain {
            true => "A longer burst fills any buffer: after T writes go at D.".to_string(),
            false => {
                "The flash takes the burst as it comes: the buffer only smooths it.".to_string()
            }
        });
        Ok(sheet)
    }

    fn size(&self, flash: &Flash) -> f64 {
        let drain = flash.write_rate() / self.waf;
        ((self.burst.get() as f64 - drain) * self.lasts.as_s_f64()).max(0.0)
    }

    /// Plays the burst on an empty drive: the most that a write waits with this buffer.
    pub fn check(&self, sheet: &mut Sheet, options: &Options<'_>) -> Result<(), RunError> {
        let device = read_device(&self.device)?;
        let flash = Flash::of(&device, false);
        let page = 4096.0;
        let requests = (self.burst.get() as f64 * self.lasts.as_s_f64() / page) as u64;
        let requests = requests.clamp(100, 2_000_000);
        // Nothing is collected on an empty drive.
        let alone = Self { waf: 1.0, ..self.clone() };
        if self.waf > 1.0 {
            sheet.notes.push(format!(
                "--check: the drive is empty, so its WAF is 1: the buffers that are tried are \
                 parts of the {:.1} MiB that the formula has for that.",
                alone.size(&flash) / 1_048_576.0
            ));
        }
        let mut stalls = Vec::new();
        for part in [1.1, 0.5] {
            // Room for one row of each lane is the drive's own.
            let own = u64::from(flash.lanes) * flash.page.get() * 2;
            let size = Bytes::new(((alone.size(&flash) * part) as u64 + own).max(1 << 16));
            let sets = [
                ("device.name", quoted(&self.device)),
                ("device.geometry.channels", device.geometry.channels.to_string()),
                ("device.geometry.ways", device.geometry.ways.to_string()),
                ("device.geometry.blocks", device.geometry.blocks.min(64).to_string()),
                ("device.op", device.op.max(0.4).to_string()),
                ("drive.buffer", format!("\"{}B\"", size.get() / 4096 * 4096)),
                // Pages leave at once, as the formula has it.
                ("drive.flush_above", "0.0".to_string()),
                ("precondition.state", "\"empty\"".to_string()),
                ("workload.read_percent", "0.0".to_string()),
                ("workload.pattern", "\"sequential\"".to_string()),
                ("workload.arrival", "\"fixed\"".to_string()),
                ("workload.rate", (self.burst.get() as f64 / page).to_string()),
                ("workload.requests", requests.to_string()),
                ("measure.warmup_requests", "0".to_string()),
            ];
            let sets = sets.map(|(key, value)| Override::new(key, value, "--check")).to_vec();
            let runs = vec![("nogc".to_string(), Request::read("quick", sets)?.under("nogc")?)];
            let result = compare(&runs, options)?.remove(0).result;
            stalls.push((part, size, result.buffer.stalls, result.write.max_us));
        }
        for (part, size, stalls, longest) in stalls {
            let longest = longest.map_or("-".to_string(), crate::table::cell::latency);
            sheet.notes.push(format!(
                "--check: {part} B and a row of each lane, {size}: {stalls} writes stalled, the \
                 longest took {longest}"
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_buffer_is_what_comes_less_what_leaves() {
        let asked = Buffer {
            device: "femu".to_string(),
            burst: "2000MB/s".parse().unwrap(),
            lasts: Duration::from_ms(100),
            waf: 1.0,
        };
        let sheet = asked.sheet().unwrap();
        // femu: 64 dies of 4 KiB in 200 us: 1310.72 MB/s (docs/plan.md, B_nand).
        let size = (2000e6 - 64.0 * 4096.0 / 200e-6) * 0.1;
        assert!((sheet.answers[0].value.unwrap() - size).abs() < 1.0, "{:?}", sheet.answers);
        let slow = Buffer { burst: "100MB/s".parse().unwrap(), ..asked.clone() };
        assert_eq!(slow.sheet().unwrap().answers[0].value, Some(0.0));
        assert!(Buffer { waf: 0.5, ..asked }.sheet().is_err());
    }
}
