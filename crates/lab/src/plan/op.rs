//! Over-provisioning against write amplification: closed forms for uniformly random writes of
//! single pages, greedy and FIFO (Desnoyers, SYSTOR 2012), and what it does to the host's capacity.

use super::sheet::Sheet;
use crate::compare::{Options, compare};
use crate::load::Request;
use crate::run::RunError;
use manx_config::{ConfigError, Override};
use manx_core::sim::math;

/// Shares of raw where nothing is said.
pub const DEFAULT: [f64; 6] = [0.07, 0.1, 0.15, 0.2, 0.28, 0.4];

/// Free share that the runs of `--check` keep, and their block.
const SOFT: f64 = 0.01;
const BLOCK: f64 = 64.0;
const RAW: f64 = 131_072.0;

/// The question.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Op {
    /// `--op`: shares of raw; the defaults without any.
    pub op: Vec<f64>,
    /// `--pages`: pages of a block.
    pub pages: u32,
}

/// WAF of FIFO victims: alpha is the space that data may take over the user's.
pub fn fifo(alpha: f64) -> f64 {
    // a = exp(-alpha (1 - a)), the chance that a page is still valid after a turn of the log. 1 is
    // another solution: the one that is sought lies below the least difference of both sides.
    let (mut low, mut high) = (0.0, 1.0 - math::ln(alpha) / alpha);
    for _ in 0..100 {
        let valid = (low + high) / 2.0;
        if math::exp(-alpha * (1.0 - valid)) > valid { low = valid } else { high = valid }
    }
    1.0 / (1.0 - low)
}

/// WAF of greedy victims in blocks of `block` pages.
pub fn greedy(alpha: f64, block: u32) -> f64 {
    let b = f64::from(block);
    let harmonic = |n: u32| (1..=n).map(|k| 1.0 / f64::from(k)).sum::<f64>();
    let load = 1.0 / alpha;
    for m in 0..block.saturating_sub(1) {
        // Blocks of j > m valid pages are left at the rate at which their pages go stale; the
        // victims' level m takes the share f of what is needed.
        let rest = load * b * (harmonic(block) - harmonic(m + 1));
        let part = (b - f64::from(m) - 1.0 - rest) / (load * b / f64::from(m + 1) - 1.0);
        let freed = b - f64::from(m) - 1.0 + part;
        if (0.0..=1.0).contains(&part) && freed > 0.0 {
            return b / freed;
        }
    }
    fifo(alpha)
}

impl Op {
    /// The sheet.
    pub fn sheet(&self) -> Result<Sheet, ConfigError> {
        let ops = if self.op.is_empty() { DEFAULT.to_vec() } else { self.op.clone() };
        // The formula has no WAF of a drive that lacks the space which GC keeps free.
        if let Some(op) = ops.iter().find(|op| !(**op > SOFT && **op < 0.9)) {
            return Err(ConfigError::new(format!(
                "--op {op}: a share of raw above {SOFT}, which GC keeps free, and below 0.9: 0.07"
            )));
        }
        if !(8..=4096).contains(&self.pages) {
            return Err(ConfigError::new(format!(
                "--pages {}: from 8 to 4096 pages of a block",
                self.pages
            )));
        }
        let mut sheet = Sheet {
            plan: "op",
            title: "Over-provisioning against write amplification, of uniformly random writes",
            formula: "FIFO: A = 1 / (1 - a), a = exp(-alpha (1 - a)). Greedy: the fixed point for \
                      blocks of b pages\n(Desnoyers, SYSTOR 2012; Bux and Iliadis 2010). alpha = \
                      (1 - reserve) / (1 - op)",
            ..Sheet::default()
        };
        sheet.symbol("b", f64::from(self.pages), "pages", "pages of a block", "--pages");
        sheet.symbol("reserve", SOFT, "", "free share that GC keeps", "assumed: gc.soft");
        for op in &ops {
            let alpha = (1.0 - SOFT) / (1.0 - op);
            let user = 100.0 * op / (1.0 - op);
            let name = |what: &str| format!("{what} at op {op} ({user:.1} % of user)");
            sheet.answer(name("WAF, greedy"), Some(greedy(alpha, self.pages)), "");
            sheet.answer(name("WAF, fifo"), Some(fifo(alpha)), "");
        }
        sheet.notes.push(
            "Skewed writes cost less where hot and cold data lie apart, and trims give back space: \
             measure your own (manx sweep --grid device.op=..)."
                .to_string(),
        );
        Ok(sheet)
    }

    /// Puts the WAF of runs beside the formula: one die, 2048 blocks.
    pub fn check(&self, sheet: &mut Sheet, options: &Options<'_>) -> Result<(), RunError> {
        let ops = if self.op.is_empty() { DEFAULT.to_vec() } else { self.op.clone() };
        let mut runs = Vec::new();
        for op in ops {
            for victim in ["greedy", "fifo"] {
                let request = Request::read("quick", sets(op, victim, self.pages))?;
                runs.push((victim.to_string(), request.plain()?));
            }
        }
        let finished = compare(&runs, options)?;
        let mut unsettled = Vec::new();
        for (answer, run) in sheet.answers.iter_mut().zip(finished) {
            let state = &run.result.state;
            if !state.settled || state.waf_steady == Some(false) {
                unsettled.push(answer.name.clone());
            }
            answer.checked = run.result.flash.waf;
        }
        if !unsettled.is_empty() {
            sheet.notes.push(format!(
                "--check: not steady yet when it was counted, so no judgement of the formula: {}",
                unsettled.join("; ")
            ));
        }
        Ok(())
    }
}

fn sets(op: f64, victim: &str, pages: u32) -> Vec<Override> {
    let blocks = (RAW / f64::from(pages)).max(512.0) as u32;
    // Two open blocks are half unwritten on average: they lie within the reserve.
    let soft = (SOFT - BLOCK / RAW).max(0.001);
    let keys = [
        ("device.name", "\"femu\"".to_string()),
        ("device.geometry.channels", "1".to_string()),
        ("device.geometry.ways", "1".to_string()),
        ("device.geometry.blocks", blocks.to_string()),
        ("device.geometry.pages", pages.to_string()),
        ("device.op", op.to_string()),
        ("gc.when", "\"foreground\"".to_string()),
        ("gc.soft", soft.to_string()),
        ("gc.hard", "0.0".to_string()),
        ("gc.victim", format!("\"{victim}\"")),
        ("ftl.free_block", "\"fifo\"".to_string()),
        ("drive.buffer", "\"64KiB\"".to_string()),
        ("precondition.passes_max", "12".to_string()),
        ("workload.read_percent", "0.0".to_string()),
        ("workload.arrival", "\"closed\"".to_string()),
        ("workload.queue_depth", "4".to_string()),
        ("workload.rate", "0.0".to_string()),
        ("workload.requests", "400000".to_string()),
        ("measure.warmup_requests", "50000".to_string()),
    ];
    keys.into_iter().map(|(key, value)| Override::new(key, value, "--check")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closed_forms_are_those_of_the_experiment() {
        // experiments/waf-analytic.toml: T = 129,698 of 131,072 pages hold data.
        for (user, greedy_is, fifo_is) in
            [(121_896.0, 7.5560, 8.4855), (111_411.0, 3.5439, 3.7303), (94_371.0, 1.9887, 2.0402)]
        {
            let alpha = 129_698.0 / user;
            assert!((greedy(alpha, 64) / greedy_is - 1.0).abs() < 1e-3, "{}", greedy(alpha, 64));
            assert!((fifo(alpha) / fifo_is - 1.0).abs() < 1e-3, "{}", fifo(alpha));
        }
    }

    #[test]
    fn a_drive_with_hardly_any_spare_space_copies_nearly_all_of_a_log() {
        // exp to the second order: 1 - a = 2 (alpha - 1).
        for above in [1e-3, 1e-4, 1e-5] {
            let waf = fifo(1.0 + above);
            assert!((waf * 2.0 * above - 1.0).abs() < 2.0 * above, "{above}: {waf}");
        }
    }

    #[test]
    fn a_wrong_share_is_told() {
        let error = Op { op: vec![1.5], pages: 64 }.sheet().unwrap_err().to_string();
        assert!(error.starts_with("--op 1.5: "), "{error}");
        let error = Op { op: vec![SOFT], pages: 64 }.sheet().unwrap_err().to_string();
        assert!(error.starts_with("--op 0.01: a share of raw above 0.01, "), "{error}");
        let error = Op { op: vec![], pages: 1 }.sheet().unwrap_err().to_string();
        assert!(error.starts_with("--pages 1: "), "{error}");
    }
}
