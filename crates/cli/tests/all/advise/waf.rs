//! `manx advise` and WAF: as a price, as a goal, and where a run has none.

use super::{SMALL, asked, number};
use crate::support::{assert_refused, manx, stdout};
use serde_json::Value;

/// A buffer that takes all that is written has a WAF of 0 / 0, which is the least of all.
#[test]
fn a_setting_of_which_nothing_was_written_to_flash_is_not_the_least_waf() {
    let load = ["quick", "--slo", "read.p99 < 90ms", "--minimise", "waf", "--policies", "base"];
    let sets = ["--set", "workload.requests=4000", "--set", "gc.hard=0.02"];
    let over = |buffers| ["--over", "device.op=0.3", "--over", "gc.soft=0.08", "--over", buffers];
    let ask = |buffers| asked(&[&load[..], &sets, &over(buffers), &["--exhaustive"]].concat());
    let answer = ask("drive.buffer=256KiB,64MiB");
    let best = &answer["recommendation"];
    assert_eq!(best["settings"][1]["value"], "256KiB", "{answer}");
    assert!(number(&best["price"]) > 0.5 && best["price"] == best["waf"], "{best}");
    let grid = answer["grid"].as_array().unwrap();
    assert!(grid.iter().any(|line| line["price"].is_null() && line["waf"] == 0.0), "{answer}");
    let remarks = answer["remarks"].to_string();
    assert!(remarks.contains("of 1 of 2 settings nothing was written to flash"), "{remarks}");
    // Alone it is still what keeps the goals, and says that it has none.
    let answer = ask("drive.buffer=64MiB");
    assert!(answer["recommendation"]["price"].is_null(), "{answer}");
    let told = manx(&[&["advise"], &load[..], &sets, &over("drive.buffer=64MiB")].concat());
    let told = stdout(&told);
    assert!(told.contains("nothing was written to flash"), "{told}");
    // It ran to its end, and was said to be tried by the beginning of its run alone.
    assert!(told.contains("\n1 of 1 settings tried, in 1 runs"), "{told}");
}

/// A WAF of 0 / 100 kept any goal, and the drive with the largest buffer was recommended for it.
#[test]
fn a_goal_on_waf_is_not_kept_by_what_wrote_nothing_to_flash() {
    let load = ["quick", "--slo", "waf < 1", "--set", "workload.requests=4000"];
    let over = ["--over", "device.op=0.3", "--over", "gc.soft=0.08", "--policies", "base"];
    let over = [&over[..], &["--set", "gc.hard=0.02"]].concat();
    let ask = |more: &[&str]| asked(&[&load[..], &over, more].concat());
    let answer = ask(&["--over", "drive.buffer=256KiB,64MiB", "--exhaustive"]);
    assert_eq!(answer["recommendation"], Value::Null, "{answer}");
    let (grid, effort) = (answer["grid"].as_array().unwrap(), &answer["effort"]);
    assert!(grid[1]["meets"] == false && grid[1]["judged"][0]["used"].is_null(), "{answer}");
    assert!(grid[1]["why"].as_str().unwrap().contains("more requests"), "{answer}");
    assert_eq!((&effort["missed"], &effort["unmeasured"]), (&1.into(), &1.into()), "{answer}");
    let why = answer["impossible"].as_str().unwrap();
    assert!(why.starts_with("1 settings break no goal, but nothing was written"), "{why}");
    let alone = [&["advise"], &load[..], &over, &["--over", "drive.buffer=64MiB"]].concat();
    let told = stdout(&manx(&alone));
    assert!(told.contains("Nothing is known to keep the goals"), "{told}");
    let part = "of the 1: 1 without a WAF, as nothing was written to their flash";
    assert!(told.contains(part) && told.contains("all that was written stayed"), "{told}");
}

/// They were told with what reads wait for.
#[test]
fn a_waf_and_a_rate_that_nobody_asks_for_are_not_explained_by_waits() {
    let load = ["quick", "--set", "workload.requests=8000"];
    let ask = |slo| asked(&[&load[..], &SMALL, &["--slo", slo]].concat());
    for (slo, why) in [
        ("waf < 0.5", "so much of what the host writes reaches the flash"),
        ("write.iops > 2000", "the load asks for 1200 writes/s"),
    ] {
        let answer = ask(slo);
        let impossible = answer["impossible"].as_str().unwrap();
        assert!(impossible.contains(why) && !impossible.contains("waiting"), "{impossible}");
        let causes = answer["broken"][0]["causes"].as_array().unwrap();
        assert_eq!(causes.is_empty(), slo.starts_with("waf"), "{answer}");
    }
}

/// The setting with the fewest writes was recommended, and nothing said that its load is another.
#[test]
fn an_axis_of_the_load_is_said_to_be_one() {
    let over = ["--over", "workload.read_percent=50,90", "--set", "workload.requests=5000"];
    let ask = |over: &[&str]| {
        let goal = ["quick", "--slo", "read.p99 < 90ms", "--minimise", "waf"];
        asked(&[&goal[..], &SMALL, over].concat())["remarks"].to_string()
    };
    let told = "--over workload.read_percent changes what is asked";
    assert!(ask(&over).contains(told) && !ask(&over[2..]).contains("changes what is asked"));
}

#[test]
fn a_load_that_writes_nothing_has_no_waf_to_keep_small() {
    let reads = ["advise", "quick", "--set", "workload.read_percent=100"];
    let none = "quick has no writes that are measured, so it has no WAF";
    assert_refused(&[&reads[..], &["--slo", "waf < 2"]].concat(), &["'waf < 2'", none]);
    let least = ["--slo", "read.p99 < 9ms", "--minimise", "waf"];
    assert_refused(&[&reads[..], &least].concat(), &["--minimise waf", none]);
}

/// Short runs of a question whose goals are no limits of a run went to their end, and used up all
/// of the budget.
#[test]
fn parts_of_the_effort_make_up_all_settings_and_a_beginning_is_short_whatever_the_goal() {
    let over = ["--over", "device.op=0.02,0.25,0.3,0.4", "--over", "gc.soft=0.06,0.08"];
    let more = ["--over", "drive.buffer=256KiB,1MiB", "--policies", "base,preemptive"];
    let load = ["quick", "--set", "workload.requests=8000"];
    for (slo, least) in [("waf < 3", "cost"), ("read.iops > 1000", "waf"), ("read.p99 < 1us", "op")]
    {
        let goal = ["--slo", slo, "--minimise", least];
        let answer = asked(&[&load[..], &over, &more, &goal].concat());
        let effort = &answer["effort"];
        let part = |name: &str| effort[name].as_u64().unwrap();
        let parts = ["kept", "missed", "lost", "predicted", "presumed", "unmeasured"];
        let all: u64 = parts.into_iter().map(part).sum();
        let all = all + part("passed_over") + part("undecided");
        assert_eq!((part("settings"), all), (24, 24), "{slo}: {effort}");
        // Twelve whole runs, and short ones: of 24 settings each in whole would be more.
        let runs = part("requests") as f64 / 8000.0;
        assert!(runs < 13.0 && (slo.contains("1us") || part("runs") > 13), "{slo}: {effort}");
    }
}
