//! Files that are refused, claims that are judged, and the built-in experiments with their
//! published numbers.

use super::{Asked, Experiment, Origin, Verdict, experiment_names};
use manx_config::Source;
use manx_core::stats::RunResult;

const HEAD: &str = "summary = \"s\"\nsource = \"a paper\"\nscenario = \"quick\"\n";
const TWO: &str = "[[runs]]\nname = \"a\"\npolicy = \"base\"\n[[runs]]\nname = \"t-es(64ms)\"\n\
                   set = { gc.soft = 0.1 }\n";

fn load_as(text: &str, asked: Asked) -> Result<Experiment, String> {
    let source = Source { file: "experiments/x.toml".to_string(), text: text.to_string() };
    Experiment::load(source, asked).map_err(|error| error.to_string())
}

fn load(text: &str) -> Result<Experiment, String> {
    load_as(text, Asked::default())
}

fn claim(lines: &str) -> String {
    format!("{HEAD}{TWO}[[claims]]\nid = \"c\"\ntext = \"t\"\nsource = \"arithmetic\"\n{lines}\n")
}

#[test]
fn every_built_in_experiment_is_sound_in_full_and_in_small() {
    for name in experiment_names() {
        for quick in [false, true] {
            let experiment = Experiment::read(name, Asked { quick, ..Asked::default() }).unwrap();
            assert_eq!(experiment.name, name);
            assert!(experiment.claims.len() >= 3 && experiment.runs.len() >= 6, "{name}");
            for claim in &experiment.claims {
                assert!(
                    claim.why.len() > 10 && (quick || claim.skip.is_none()),
                    "{name}, {}",
                    claim.id
                );
            }
        }
    }
}

/// The results of `name = "../x"` lay beside the folder that `--out` named, and those of `/x`
/// anywhere.
#[test]
fn regression_the_name_of_an_experiment_leads_out_of_no_folder() {
    for name in ["../x", "/tmp/x", "..", "a/../../x", ".x"] {
        let error = load(&format!("name = \"{name}\"\n{HEAD}{TWO}")).unwrap_err();
        assert!(error.contains(&format!("name: `{name}` is no name of an experiment")), "{error}");
    }
    assert_eq!(load(&format!("name = \"gc-2.1\"\n{HEAD}{TWO}")).unwrap().name, "gc-2.1");
}

/// Of the runs `a/b` and `a-b` only one had its scenario in the folder.
#[test]
fn regression_no_two_runs_write_the_same_file() {
    let error =
        load(&format!("{HEAD}[[runs]]\nname = \"a/b\"\n[[runs]]\nname = \"a-b\"\n")).unwrap_err();
    assert!(error.contains("the scenarios of `a/b` and `a-b` would be the same file"), "{error}");
}

/// alpha / (alpha + W(-alpha exp(-alpha))), by the fixed point it comes from.
fn fifo(alpha: f64) -> f64 {
    1.0 / (1.0 - (0..10_000).fold(0.5, |a: f64, _| (-alpha * (1.0 - a)).exp()))
}

/// P(W <= x D) of an M/D/1 queue (Erlang).
fn waits_at_most(rho: f64, x: f64) -> f64 {
    let mut factorial = 1.0;
    let terms = (0..=x as u32).map(|j| {
        factorial *= f64::from(j.max(1));
        let y = rho * (f64::from(j) - x);
        y.powi(j as i32) / factorial * (-y).exp()
    });
    (1.0 - rho) * terms.sum::<f64>()
}

#[test]
fn laws_are_what_their_formulas_give() {
    let published = |name: &str| {
        let experiment = Experiment::read(name, Asked::default()).unwrap();
        move |id: &str| match experiment.claims.iter().find(|claim| claim.id == id).unwrap().origin
        {
            Origin::Law(value) => value,
            other => panic!("{id}: {other:?}"),
        }
    };
    let near = |what: &str, value: f64, expected: f64| {
        assert!(
            (value / expected - 1.0).abs() < 1e-4,
            "{what}: {value}, the formula gives {expected}"
        );
    };
    let waf = published("waf-analytic");
    let raw = 2048.0 * 64.0;
    for (op, share) in [("7", 0.07), ("15", 0.15), ("28", 0.28)] {
        let user = f64::floor(raw * (1.0 - share));
        let alpha = (raw - (0.01 * raw).floor() - 64.0) / user;
        near(op, waf(&format!("fifo-{op}")), fifo(alpha));
        if op != "7" {
            near(op, waf(&format!("random-bound-{op}")), 1.0 / (1.0 - 1.0 / alpha));
        }
    }
    let law = published("engine-laws");
    for (rho, name) in [(0.2, "0.2"), (0.5, "0.5"), (0.8, "0.8")] {
        near(name, law(&format!("md1-mean-{name}")), 142.575 * (1.0 + rho / (2.0 * (1.0 - rho))));
        let p99 = law(&format!("md1-p99-{name}"));
        near(name, waits_at_most(rho, p99 / 142.575 - 1.0), 0.99);
    }
    near("16 dies", law("dies-16-p99") / 40.0, law("md1-p99-0.5") / 142.575);
    near("FIFO bus", law("channel-throughput"), 8e6 / (8.0 * 102.575 + 40.0));
}

#[test]
fn a_mistake_in_a_file_is_one_line_with_its_place() {
    let band = "low = 1\nhigh = 2\nwhy = \"w\"";
    let quantity = |text: &str| claim(&format!("quantity = {text:?}\n{band}"));
    for (text, expected) in [
        (quantity("p99(b)"), "claims.c.quantity: column 1: no run is called `b`"),
        (quantity("waf('t-es(64m)')"), "did you mean `t-es(64ms)`?"),
        (
            quantity("1 + p999_9(a)"),
            "claims.c.quantity: column 5: no quantity is called `p999_9`; did you mean `p99_9`?",
        ),
        (quantity("1 +"), "claims.c.quantity: column 4: expected a number"),
        (quantity("param(a, gc.sft)"), "the scenario of a has no number at `gc.sft`"),
        (quantity("rho"), "no definition is called `rho`"),
        (
            claim("quantity = \"1\"\nlow = 3\nhigh = 2\nwhy = \"w\""),
            "claims.c.low: 3 is above the band's high end, 2",
        ),
        (
            claim("quantity = \"1\"\nlow = nan\nwhy = \"w\""),
            "claims.c.low: an end of a band is a finite number",
        ),
        (claim("quantity = \"1\"\nlow = 1"), "claims.c.why: it is missing"),
        (
            claim("quantity = \"1\"\nwhy = \"w\""),
            "claims.c.low: a band has a low end, a high end, or both",
        ),
        (
            claim(&format!("quantity = \"1\"\n{band}\nquick = {{ low = 0 }}")),
            "claims.c.quick.why: it is missing",
        ),
        (
            claim(&format!("quantty = \"1\"\n{band}")),
            "experiments/x.toml:14: unknown field `quantty`",
        ),
        (format!("{HEAD}{TWO}{TWO}"), "runs.name: two runs are called `a`"),
        (format!("{HEAD}[[runs]]\nname = \"a b\""), "runs.name: `a b` is no name"),
        (HEAD.to_string(), "runs: there is none"),
        (
            format!("{HEAD}[[runs]]\nname = \"a\"\nset = {{ gc.sft = 1 }}"),
            "run a, set.gc.sft: unknown key gc.sft",
        ),
        (
            format!("{HEAD}[[runs]]\nname = \"a\"\npolicy = \"bse\""),
            "run a, there is no policy `bse`",
        ),
        (format!("{HEAD}[[runs]]\nname = \"a\"\nworkload = \"dtr\""), "there is no workload `dtr`"),
        (
            format!(
                "{HEAD}[[grid]]\nname = \"g\"\n\
                 axes = [{{ name = \"x\", key = \"gc.soft\", values = [0.1] }}]"
            ),
            "grid.0.name: `g` has no {x}",
        ),
        (
            format!("{HEAD}[define]\na = \"b\"\nb = \"1\"\n{TWO}"),
            "define.a: column 1: no definition is called `b`",
        ),
        (format!("{HEAD}{TWO}").replace("quick", "quik"), "scenario: there is no scenario `quik`"),
        (format!("seeds = [3, 1, 3]\n{HEAD}{TWO}"), "seeds: 3 is there twice"),
        ("summary = 1".to_string(), "experiments/x.toml:1: invalid type"),
    ] {
        let error = load(&text).err().unwrap_or_else(|| panic!("accepted: {text}"));
        assert!(
            error.contains(expected) && error.lines().count() == 1,
            "{error}\nwithout: {expected}"
        );
        assert!(error.starts_with("experiments/x.toml"), "{error}");
    }
}

#[test]
fn a_name_that_is_no_experiment_is_told_the_nearest() {
    let missing = Experiment::read("gc-mode", Asked::default()).unwrap_err().to_string();
    assert!(missing.contains("did you mean gc-modes?"), "{missing}");
}

#[test]
fn a_grid_makes_a_run_of_every_combination_and_quick_and_what_if_lie_over_it() {
    let text = format!(
        "{HEAD}[set]\ndevice.op = 0.2\n[quick.set]\nworkload.requests = 2000\n\
         [[grid]]\nname = \"{{p}}_{{op}}\"\naxes = [\n\
         {{ name = \"p\", key = \"policy\", values = [\"nogc\", \"base\"] }},\n\
         {{ name = \"op\", key = \"device.op\", values = [0.3, 0.4], \
         labels = [\"30\", \"40\"] }}]\n"
    );
    let seen = |asked| -> Vec<(String, f64, f64, String)> {
        let experiment = load_as(&text, asked).unwrap();
        let of = |run: &super::Run| {
            let scenario = &run.scenarios[0];
            let requests = scenario.workload.jobs[0].requests as f64;
            (
                run.name.clone(),
                run.param("device.op").unwrap(),
                requests,
                format!("{:?}", scenario.gc.mode),
            )
        };
        experiment.runs.iter().map(of).collect()
    };
    let row = |name: &str, op: f64, requests: f64, mode: &str| {
        (name.to_string(), op, requests, mode.to_string())
    };
    let full = |requests: f64| {
        let nogc = [row("nogc_30", 0.3, requests, "Nogc"), row("nogc_40", 0.4, requests, "Nogc")];
        let base = [row("base_30", 0.3, requests, "Base"), row("base_40", 0.4, requests, "Base")];
        [nogc, base].concat()
    };
    assert_eq!(seen(Asked::default()), full(50_000.0));
    assert_eq!(seen(Asked { quick: true, ..Asked::default() }), full(2_000.0));
    let mut changed = full(50_000.0);
    changed[2].3 = "Preemptive".to_string();
    let sets = vec!["base_30:gc.mode=preemptive".to_string()];
    assert_eq!(seen(Asked { sets, ..Asked::default() }), changed);
    let error =
        load_as(&text, Asked { sets: vec!["base_3:gc.mode=nogc".to_string()], ..Asked::default() })
            .unwrap_err();
    assert!(error.contains("--set base_3:gc.mode=nogc: no run is called `base_3`"), "{error}");
}

#[test]
fn a_parameter_is_a_number_in_plain_units() {
    let experiment =
        load(&format!("{HEAD}[[runs]]\nname = \"a\"\nset = {{ drive.link = \"2GB/s\" }}")).unwrap();
    let param = |path: &str| experiment.runs[0].param(path);
    assert_eq!(param("device.timing.read.0"), Some(40.0));
    assert_eq!(param("drive.buffer"), Some(262_144.0));
    assert_eq!(param("drive.link"), Some(2e9));
    assert_eq!(param("gc.copyback"), Some(0.0));
    assert_eq!(param("gc.victim"), None);
}

/// Results with these WAFs and nothing else.
fn results(wafs: &[f64]) -> Vec<RunResult> {
    let with = |waf: &f64| {
        let mut result = RunResult::default();
        result.flash.waf = Some(*waf);
        result
    };
    wafs.iter().map(with).collect()
}

#[test]
fn a_claim_holds_on_the_edge_of_its_band_is_missed_beyond_it_and_says_why_it_was_not_measured() {
    use Verdict::{Consistent, Missed};
    let ask = |quantity: &str, low: f64, wafs: &[f64]| {
        let text = claim(&format!("quantity = {quantity:?}\nlow = {low}\nhigh = 3\nwhy = \"w\""));
        let experiment = load(&text).unwrap();
        let outcome = experiment.judge(results(wafs));
        (outcome.measured[0].value, outcome.measured[0].verdict, outcome.changed().len())
    };
    let half = "waf(a) / waf('t-es(64ms)')";
    assert_eq!(ask(half, 2.0, &[4.0, 2.0]), (Some(2.0), Some(Consistent), 0));
    assert_eq!(ask(half, 2.1, &[4.0, 2.0]), (Some(2.0), Some(Missed), 1));
    assert_eq!(ask("waf(a) / (waf(a) - 4)", 1.0, &[4.0, 2.0]), (None, None, 1));
    let null = "null is never taken for a number";
    assert_eq!(ask("p99(a)", 1.0, &[4.0, 2.0]), (None, None, 1), "{null}");
    let skipped =
        claim("quantity = \"p99(a)\"\nlow = 1\nwhy = \"w\"\nquick = { skip = \"too few reads\" }");
    let experiment = load_as(&skipped, Asked { quick: true, ..Asked::default() }).unwrap();
    let outcome = experiment.judge(results(&[1.0, 1.0]));
    assert_eq!(outcome.measured[0].missing.as_deref(), Some("too few reads"));
    assert!(outcome.changed().is_empty(), "left out with a reason");
}

#[test]
fn an_honest_miss_is_no_finding_and_a_miss_that_came_home_is_one() {
    let band = "quantity = \"waf(a)\"\nlow = 2\nhigh = 3\nwhy = \"w\"";
    let missed = claim(&format!(
        "{band}\nverdict = \"missed\"\nmissed = {{ blame = \"the load\", tried = \"half of it\" }}"
    ));
    let experiment = load(&missed).unwrap();
    let changed = |waf: f64| {
        let outcome = experiment.judge(results(&[waf, 1.0]));
        (outcome.measured[0].verdict, outcome.changed().len())
    };
    assert_eq!(changed(5.0), (Some(Verdict::Missed), 0));
    assert_eq!(changed(2.5), (Some(Verdict::Consistent), 1));
    let table = super::render::table(&experiment.judge(results(&[5.0, 1.0])));
    assert!(table.contains("to blame: the load\n  tried: half of it"), "{table}");
}

#[test]
fn a_band_that_holds_whatever_run_is_asked_cannot_fail() {
    let cannot_fail = |high: f64| {
        let text = claim(&format!("quantity = \"waf(a)\"\nlow = 1\nhigh = {high}\nwhy = \"w\""));
        let experiment = load(&text).unwrap();
        experiment.judge(results(&[2.0, 9.0])).cannot_fail().len()
    };
    assert_eq!((cannot_fail(8.9), cannot_fail(9.0)), (0, 1));
    // Fewer, smaller or changed runs say nothing of the bands.
    let text = claim("quantity = \"waf(a)\"\nlow = 1\nhigh = 9.0\nwhy = \"w\"");
    for asked in [
        Asked { quick: true, ..Asked::default() },
        Asked { sets: vec!["gc.soft=0.1".to_string()], ..Asked::default() },
        Asked { claims_only: true, ..Asked::default() },
    ] {
        let experiment = load_as(&text, asked.clone()).unwrap();
        let numbers = &[2.0, 9.0][..experiment.runs.len()];
        assert!(experiment.judge(results(numbers)).cannot_fail().is_empty(), "{asked:?}");
    }
}

#[test]
fn a_printed_number_has_a_statement_that_prints_it_and_a_miss_its_cause() {
    let band = "quantity = \"waf(a)\"\nlow = 2\nhigh = 30\nwhy = \"w\"";
    for (lines, expected) in [
        ("published = 2.5", "claims.c.published: who published it?"),
        ("paper = 2.5", "claims.c.statement: it is missing: `paper` is a number that a statement"),
        ("paper = 2.5\nlaw = 2.5", "claims.c.law: it has `paper` already"),
        ("paper = [3, 2]", "claims.c.paper: a range is [low, high] with low < high"),
        ("statement = \"X9\"", "claims.c.statement: no statement is called `X9`"),
        (
            "statement = \"T25\"\npaper = [2, 9]",
            "claims.c.paper: statement T25 prints 2.5200 to 7.8800",
        ),
        ("verdict = \"missed\"", "claims.c.missed: it is missing: a miss has"),
        ("missed = { blame = \"b\", tried = \"t\" }", "claims.c.missed: the verdict is consistent"),
        (
            "law = 3\nverdict = \"reproduced\"\nmissed = { blame = \"b\", tried = \"t\" }",
            "claims.c.missed: the verdict is reproduced",
        ),
        ("verdict = \"reproduced\"", "claims.c.verdict: it has no printed number"),
        ("law = 3\nverdict = \"consistent\"", "claims.c.verdict: a law is held in its band"),
        ("verdict = \"missed\"\nmissed = { blame = \"b\" }", "claims.c.missed.home: it is missing"),
        (
            "verdict = \"missed\"\nmissed = { blame = \"b\", home = \"d\" }",
            "claims.c.missed.home: no claim with `what_if = true` is called `d`",
        ),
    ] {
        let error = load(&claim(&format!("{band}\n{lines}"))).err().unwrap_or_default();
        assert!(error.contains(expected) && error.lines().count() == 1, "{lines}: {error}");
    }
}

#[test]
fn a_calibration_that_cannot_be_solved_is_refused_with_its_key() {
    let with = |lines: &str| {
        let whole = "id = \"k\"\nknob = \"gc.soft\"\nbetween = [0.1, 0.2]\nruns = [\"a\"]\n\
                     quantity = \"waf(a)\"\nto = 2\nsource = \"s\"\n";
        let key = lines.split(' ').next().unwrap();
        let kept = whole.lines().filter(|line| !line.starts_with(&format!("{key} ")));
        let kept = kept.collect::<Vec<_>>().join("\n");
        load(&format!("{HEAD}{TWO}[[calibrate]]\n{kept}\n{lines}\n")).err()
    };
    assert_eq!(with("within = 0.1"), None);
    for (lines, expected) in [
        ("between = [0.2, 0.1]", "calibrate.k.between: [0.2, 0.1] are no ends"),
        ("runs = [\"b*\"]", "calibrate.k.runs: no run is called `b*`"),
        ("quantity = \"2\"", "calibrate.k.quantity: it asks for nothing of a run"),
        ("to = 0", "calibrate.k.to: a target is a finite number, and not 0"),
        ("source = \"\"", "calibrate.k.source: it is missing"),
        ("statement = \"X9\"", "calibrate.k.statement: no statement is called `X9`"),
        ("within = 1.5", "calibrate.k.within: a share between 0 and 1"),
    ] {
        let error = with(lines).unwrap_or_default();
        assert!(error.contains(expected), "{lines}: {error}");
    }
}

#[test]
fn calibrations_are_solved_together_where_none_looks_at_a_run_of_another() {
    let one = |id: &str, run: &str, quantity: &str| {
        format!(
            "[[calibrate]]\nid = \"{id}\"\nknob = \"gc.{id}\"\nbetween = [0.1, 0.2]\n\
             runs = [\"{run}\"]\nquantity = \"{quantity}\"\nto = 2\nsource = \"s\"\n"
        )
    };
    let (first, other) = (one("soft", "a", "waf(a)"), "t-es(64ms)");
    for (quantity, expected) in [
        ("waf('t-es(64ms)')", 2),
        ("waf('t-es(64ms)') / waf(a)", 1),
        ("waf('t-es(64ms)') * param(a, gc.soft)", 1),
    ] {
        let text = format!("{HEAD}{TWO}{first}{}", one("hard", other, quantity));
        let experiment = load(&text).unwrap();
        assert_eq!(super::calibrate::together(&experiment.calibrations), expected, "{quantity}");
    }
    // The second is observed where the first is set.
    let text = format!("{HEAD}{TWO}{}{}", one("soft", "*", "waf(a)"), one("hard", other, "waf(a)"));
    assert_eq!(super::calibrate::together(&load(&text).unwrap().calibrations), 1);
}

#[test]
fn with_claimed_runs_only_a_claim_measures_the_same_on_fewer_runs() {
    let text = claim("quantity = \"2 * one\"\nlow = 1\nwhy = \"w\"")
        + "[define]\none = \"waf('t-es(64ms)')\"\n";
    let all = load(&text).unwrap();
    let few = load_as(&text, Asked { claims_only: true, ..Asked::default() }).unwrap();
    let names = |experiment: &Experiment| {
        experiment.runs.iter().map(|run| run.name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(
        (names(&all), names(&few)),
        (vec!["a".to_string(), "t-es(64ms)".to_string()], vec!["t-es(64ms)".to_string()])
    );
    let of =
        |experiment: &Experiment, wafs: &[f64]| experiment.judge(results(wafs)).measured[0].value;
    assert_eq!((of(&all, &[4.0, 2.0]), of(&few, &[2.0])), (Some(4.0), Some(4.0)));
}

#[test]
fn over_seeds_a_claim_measures_the_mean_and_shows_the_spread() {
    let text = claim("quantity = \"waf(a) / waf('t-es(64ms)')\"\nlow = 1\nhigh = 3\nwhy = \"w\"")
        .replace("scenario =", "seeds = [7, 8]\nscenario =");
    let experiment = load(&text).unwrap();
    let points: Vec<_> =
        experiment.points().into_iter().map(|(name, scenario)| (name, scenario.seed)).collect();
    let named = |name: &str, seed| (format!("{name}.seed-{seed}"), seed);
    assert_eq!(
        points,
        [named("a", 7), named("a", 8), named("t-es(64ms)", 7), named("t-es(64ms)", 8)]
    );
    // Under seed 7 4 / 2, under seed 8 9 / 3.
    let outcome = experiment.judge(results(&[4.0, 9.0, 2.0, 3.0]));
    assert_eq!(
        (outcome.measured[0].value, outcome.measured[0].spread),
        (Some(2.5), Some((2.0, 3.0)))
    );
    let table = super::render::table(&outcome);
    assert!(
        table.contains("2.5000 (2 to 3)")
            && table.contains("1 to 3")
            && table.trim_end().ends_with("consistent"),
        "{table}"
    );
}
