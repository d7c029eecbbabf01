//! A fleet: failures a year, spares to keep, and when an array loses data (Patterson, Gibson, Katz,
//! SIGMOD '88; Chen et al., ACM Computing Surveys 26(2), 1994).

use super::sheet::{Answer, Sheet};
use manx_config::ConfigError;
use manx_core::sim::{Rng, math};

const HOURS: f64 = 8766.0;

/// Below it the first two terms of a series are exact to 1e-12.
const SMALL: f64 = 1e-6;

/// Losses that `--check` waits for, and steps at most.
const LOSSES: u32 = 400;
const STEPS_MAX: u32 = 50_000_000;

/// The question.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fleet {
    /// `--drives`: of the fleet.
    pub drives: u32,
    /// `--members`: of an array.
    pub members: u32,
    /// `--parity`: members that may fail, 1 or 2.
    pub parity: u32,
    /// `--afr`: share of the drives that fail in a year (percent).
    pub afr: f64,
    /// `--rebuild`: hours.
    pub rebuild: f64,
    /// `--delivery`: days until a spare comes.
    pub delivery: f64,
}

impl Fleet {
    /// The sheet.
    pub fn sheet(&self) -> Result<Sheet, ConfigError> {
        let Self { drives, members, parity, afr, rebuild, delivery } = *self;
        let refuse = |text: String| Err(ConfigError::new(text));
        if !(1..=2).contains(&parity) {
            return refuse(format!("--parity {parity}: 1 (RAID-5) or 2 (RAID-6)"));
        }
        if !(parity + 2..=64).contains(&members) || drives < members {
            return refuse(format!(
                "--members {members}: from {} to 64, and no more than --drives {drives}",
                parity + 2
            ));
        }
        if !(afr > 0.0 && afr < 100.0) {
            return refuse(format!(
                "--afr {afr}: percent of the drives a year, above 0, below 100"
            ));
        }
        if !(rebuild > 0.0 && delivery >= 0.0 && rebuild.is_finite() && delivery.is_finite()) {
            return refuse("--rebuild and --delivery: hours above 0, and days from 0 on".into());
        }
        let mut sheet = Sheet {
            plan: "fleet",
            title: "A fleet of drives: failures, spares, data loss",
            formula: "MTTF = -8766 h / ln(1 - AFR). RAID-5: MTTDL = MTTF^2 / (N (N-1) MTTR); \
                      RAID-6: MTTF^3 / (N (N-1) (N-2) MTTR^2)\n(Patterson et al., SIGMOD '88; Chen \
                      et al., 1994). Spares: the least s with P(Poisson(failures in the delivery) \
                      <= s) >= 99 %",
            ..Sheet::default()
        };
        let (mttf, arrays) = (self.mttf(), f64::from(drives / members));
        sheet.symbol("drives", f64::from(drives), "", "drives of the fleet", "--drives");
        sheet.symbol("N", f64::from(members), "", "members of an array", "--members");
        sheet.symbol("parity", f64::from(parity), "", "members that may fail", "--parity");
        sheet.symbol("AFR", afr, "%", "drives that fail in a year", "--afr");
        sheet.symbol("MTTF", mttf, "h", "mean time to failure of a drive", "formula");
        sheet.symbol("MTTR", rebuild, "h", "time to restore a member", "--rebuild");
        sheet.symbol("delivery", delivery, "days", "until a spare comes", "--delivery");
        let failures = f64::from(drives) * HOURS / mttf;
        sheet.answer("failures a year", Some(failures), "drives");
        let during = failures * delivery / 365.25;
        sheet.answer("spares to keep, 99 %", Some(spares(during)), "drives");
        let mttdl = self.mttdl(mttf);
        sheet.answer("MTTDL of an array", Some(mttdl / HOURS), "years");
        let yearly = within(arrays * HOURS / mttdl);
        sheet.answer("chance of a data loss in a year, all arrays", Some(100.0 * yearly), "%");
        sheet.notes.push(
            "Failures are taken as independent and without memory; drives of one batch are not. \
             Unreadable sectors met in a rebuild are not counted (manx plan rain)."
                .to_string(),
        );
        Ok(sheet)
    }

    fn mttf(&self) -> f64 {
        let share = self.afr / 100.0;
        // The logarithm of 1 - x is nothing but rounding where x is small.
        let rate = match share < SMALL {
            true => share * (1.0 + share / 2.0),
            false => -math::ln(1.0 - share),
        };
        HOURS / rate
    }

    fn mttdl(&self, mttf: f64) -> f64 {
        let n = f64::from(self.members);
        match self.parity {
            1 => mttf * mttf / (n * (n - 1.0) * self.rebuild),
            _ => mttf.powi(3) / (n * (n - 1.0) * (n - 2.0) * self.rebuild * self.rebuild),
        }
    }

    /// Arrays whose members fail and are restored, drawn event by event, with rebuilds made long
    /// enough that losses come: the formula's ratio to that is what is checked.
    pub fn check(&self, sheet: &mut Sheet, seed: u64) {
        let mttf = self.mttf();
        // A hundredth of MTTF: failures during it are rare enough for the formula, and come.
        let slow = Self { rebuild: (mttf / 100.0).max(self.rebuild), ..*self };
        let Some(drawn) = slow.drawn(seed) else {
            return sheet.notes.push("--check: no loss in 50 million events".to_string());
        };
        let name = format!("MTTDL of an array whose MTTR is {:.0} h", slow.rebuild);
        let value = Some(slow.mttdl(mttf) / HOURS);
        let checked = Some(drawn / HOURS);
        sheet.answers.push(Answer { name, value, unit: "years", checked });
        sheet.notes.push(format!(
            "--check: {LOSSES} losses of arrays, drawn with an MTTR at which losses come. The \
             formula is good where MTTR is far below MTTF: here they are 1 to {:.0}, in the \
             question 1 to {:.0}.",
            mttf / slow.rebuild,
            mttf / self.rebuild
        ));
    }

    /// Mean time to data loss of drawn arrays (hours).
    fn drawn(&self, seed: u64) -> Option<f64> {
        let mut rng = Rng::stream(seed, "plan.fleet");
        let mttf = self.mttf();
        let (mut losses, mut hours) = (0, 0.0);
        let mut failed = 0u32;
        for _ in 0..STEPS_MAX {
            let fails = f64::from(self.members - failed) / mttf;
            let restores = if failed > 0 { 1.0 / self.rebuild } else { 0.0 };
            let rate = fails + restores;
            hours += -math::ln(1.0 - rng.unit()) / rate;
            match rng.unit() * rate < fails {
                true if failed == self.parity => (failed, losses) = (0, losses + 1),
                true => failed += 1,
                false => failed -= 1,
            }
            if losses == LOSSES {
                return Some(hours / f64::from(losses));
            }
        }
        None
    }
}

/// 1 - exp(-x), the chance of what comes x times on average: likewise.
fn within(mean: f64) -> f64 {
    if mean < SMALL { mean * (1.0 - mean / 2.0) } else { 1.0 - math::exp(-mean) }
}

/// The least number of spares that is enough in 99 of 100 cases.
fn spares(mean: f64) -> f64 {
    let (mut term, mut sum, mut count) = (math::exp(-mean), math::exp(-mean), 0u32);
    // Beyond some hundreds the first term is nothing: there the normal deviate of 99 % will do.
    if mean > 500.0 {
        return (mean + 2.326 * mean.sqrt()).ceil();
    }
    while sum < 0.99 && count < 10_000 {
        count += 1;
        term *= mean / f64::from(count);
        sum += term;
    }
    f64::from(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ASKED: Fleet =
        Fleet { drives: 1000, members: 8, parity: 1, afr: 1.0, rebuild: 8.0, delivery: 14.0 };

    #[test]
    fn failures_spares_and_losses_are_the_textbook_s() {
        let sheet = ASKED.sheet().unwrap();
        let value = |at: usize| sheet.answers[at].value.unwrap();
        assert!((value(0) - 10.05).abs() < 0.01, "{}", value(0));
        // 0.385 failures in 14 days: 2 spares leave less than 1 %.
        assert_eq!(value(1), 2.0);
        let mttf = 8766.0 / 0.010_050_3;
        assert!((value(2) / (mttf * mttf / (56.0 * 8.0) / 8766.0) - 1.0).abs() < 1e-3);
        assert_eq!(spares(0.0), 0.0);
        assert!((1040.0..1080.0).contains(&spares(1000.0)) || spares(1000.0) == 1074.0);
    }

    #[test]
    fn a_chance_that_is_small_is_not_none() {
        for (afr, parity) in [(0.01, 2), (0.0001, 2), (1e-9, 1)] {
            let sheet = Fleet { afr, parity, ..ASKED }.sheet().unwrap();
            let value = |at: usize| sheet.answers[at].value.unwrap();
            assert!((value(0) / (1000.0 * afr / 100.0) - 1.0).abs() < 1e-3, "{}", value(0));
            let yearly = 100.0 * 125.0 / value(2);
            assert!((value(3) / yearly - 1.0).abs() < 1e-9, "{} for {yearly}", value(3));
        }
    }

    #[test]
    fn drawn_arrays_lose_data_as_the_formula_says() {
        let mut sheet = ASKED.sheet().unwrap();
        ASKED.check(&mut sheet, 1);
        let answer = sheet.answers.last().unwrap();
        // A rebuild is a hundredth of MTTF, and 400 losses are drawn: within a quarter.
        let ratio = answer.checked.unwrap() / answer.value.unwrap();
        assert!((0.75..1.35).contains(&ratio), "{ratio}");
    }

    #[test]
    fn wrong_fleets_are_told() {
        for (asked, reason) in [
            (Fleet { parity: 3, ..ASKED }, "--parity 3"),
            (Fleet { members: 2, ..ASKED }, "--members 2"),
            (Fleet { drives: 4, ..ASKED }, "--members 8"),
            (Fleet { afr: 0.0, ..ASKED }, "--afr 0"),
            (Fleet { rebuild: 0.0, ..ASKED }, "--rebuild"),
        ] {
            let error = asked.sheet().unwrap_err().to_string();
            assert!(error.starts_with(reason), "{error}");
        }
    }
}
