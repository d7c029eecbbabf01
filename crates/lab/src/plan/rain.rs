//! RAIN: what parity inside the drive costs in space, writes and reads.

use super::sheet::Sheet;
use crate::compare::{Options, compare};
use crate::load::Request;
use crate::run::RunError;
use manx_config::{ConfigError, Override};

/// The question.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rain {
    /// `--width`: members of a stripe, one of them parity.
    pub width: u32,
    /// `--op`: share of raw that is neither data nor parity.
    pub op: f64,
    /// `--uber`: chance that a page read fails.
    pub failure: f64,
}

impl Rain {
    /// The sheet.
    pub fn sheet(&self) -> Result<Sheet, ConfigError> {
        let Self { width, op, failure } = *self;
        if !(2..=64).contains(&width) {
            return Err(ConfigError::new(format!("--width {width}: from 2 to 64 members")));
        }
        if !(0.0..0.9).contains(&op) {
            return Err(ConfigError::new(format!("--op {op}: a share of raw from 0 to below 0.9")));
        }
        if !(failure > 0.0 && failure < 1.0) {
            return Err(ConfigError::new(format!(
                "--failure {failure}: a chance above 0 and below 1"
            )));
        }
        let w = f64::from(width);
        let mut sheet = Sheet {
            plan: "rain",
            title: "RAIN: parity inside the drive (one member of each stripe)",
            formula: "user = raw (1 - op) (1 - 1 / W). Written once, behind a stripe: W / (W - 1) \
                      pages for each.\nIn place: a small write is a page and its parity, and reads \
                      both before (Patterson, Gibson, Katz, SIGMOD '88).\nA page is lost where it \
                      and another member fail: p (1 - (1 - p)^(W-1))",
            ..Sheet::default()
        };
        sheet.symbol("W", w, "", "members of a stripe", "--width");
        sheet.symbol("op", op, "", "neither data nor parity", "--op");
        sheet.symbol("p", failure, "", "chance that a page cannot be read", "--failure");
        sheet.answer("user share of raw", Some((1.0 - op) * (1.0 - 1.0 / w)), "");
        sheet.answer("programs for each page, parity behind the stripe", Some(w / (w - 1.0)), "");
        sheet.answer("programs for each small write, parity in place", Some(2.0), "");
        sheet.answer("reads before each small write, parity in place", Some(2.0), "");
        sheet.answer("reads of a page that is computed", Some(w - 1.0), "");
        // Member by member: 1 - (1 - p)^(W-1) is nothing but rounding where p is small.
        let another = (1..width).fold(0.0, |chance, _| chance + failure * (1.0 - chance));
        let lost = failure * another;
        sheet.answer("chance that a page is lost", Some(lost), "");
        sheet.notes.push(
            "Garbage collection copies parity too: with parity behind the stripe the WAF of the \
             drive is W / (W - 1) times that of a drive whose user capacity is the same."
                .to_string(),
        );
        Ok(sheet)
    }

    /// A run of writes on a fresh drive, with parity behind the stripe.
    pub fn check(&self, sheet: &mut Sheet, options: &Options<'_>) -> Result<(), RunError> {
        let channels = self.width.max(2);
        let sets = [
            ("device.geometry.channels", channels.to_string()),
            ("device.geometry.ways", "1".to_string()),
            ("device.op", self.op.max(0.2).to_string()),
            ("rain.width", self.width.to_string()),
            // Some pages for each channel.
            ("drive.buffer", format!("\"{}B\"", (channels * 16_384).max(1 << 18))),
            ("precondition.state", "\"empty\"".to_string()),
            ("workload.read_percent", "0.0".to_string()),
            ("workload.pattern", "\"sequential\"".to_string()),
            ("workload.requests", "10000".to_string()),
            ("measure.warmup_requests", "500".to_string()),
        ];
        let sets = sets.map(|(key, value)| Override::new(key, value, "--check")).to_vec();
        let policy = "preemptive/rain-superblock";
        let runs = vec![(policy.to_string(), Request::read("quick", sets)?.under(policy)?)];
        let result = compare(&runs, options)?.remove(0).result;
        if let Some(answer) = sheet.answers.get_mut(1) {
            answer.checked = result.flash.waf;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_members_cost_an_eighth() {
        let sheet = Rain { width: 8, op: 0.2, failure: 1e-3 }.sheet().unwrap();
        let value = |at: usize| sheet.answers[at].value.unwrap();
        assert!((value(0) - 0.7).abs() < 1e-12 && (value(1) - 8.0 / 7.0).abs() < 1e-12);
        assert!((value(5) - 1e-3 * (1.0 - 0.999f64.powi(7))).abs() < 1e-15);
        for failure in [1e-12, 1e-16, 1e-20] {
            let sheet = Rain { width: 8, op: 0.2, failure }.sheet().unwrap();
            let lost = sheet.answers[5].value.unwrap();
            assert!((lost / (7.0 * failure * failure) - 1.0).abs() < 1e-9, "{lost}");
        }
        assert!(Rain { width: 1, op: 0.2, failure: 0.1 }.sheet().is_err());
        assert!(Rain { width: 8, op: 0.2, failure: 0.0 }.sheet().is_err());
    }
}
