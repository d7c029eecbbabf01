"""Wrong calls: each is one clear exception before anything runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import manx
import pytest
from conftest import SMALL

Quick = Callable[[], Any]


def drive() -> manx.Drive:
    return manx.Drive("quick", cache=False)


WRONG: list[tuple[Quick, str]] = [
    (lambda: manx.run("quik"), "quick"),
    (lambda: manx.run("no/such.toml"), "no such file"),
    (lambda: manx.run(""), "scenario"),
    (lambda: manx.run(7), "the name of a file is needed, not int"),
    (lambda: manx.run("quick", "bas"), "bas"),
    (lambda: manx.run("quick", 7), "ArrayStrategy is needed, not int"),
    (lambda: manx.run("quick", set={"gc.sfot": 0.1}), "unknown key gc.sfot; did you mean gc.soft"),
    (lambda: manx.run("quick", set={"gc.soft": 2}), "gc.soft = 2 is not allowed"),
    (lambda: manx.run("quick", set={"gc.soft": float("nan")}), "a finite number"),
    (lambda: manx.run("quick", set={"gc.soft": object()}), "a value of type object"),
    (lambda: manx.run("quick", set={"gc": {"victim": "greeedy"}}), "greeedy"),
    (lambda: manx.run("quick", set=["gc.soft=0.1"]), "a dict of keys and values is needed"),
    (lambda: manx.run("quick", set={7: 1}), "7 is no key"),
    (lambda: manx.run("quick", seed=-1), "seed = -1 is not allowed"),
    (lambda: manx.run("quick", seed=1.5), "seed = 1.5 is not allowed"),
    (lambda: manx.run("quick", device="no-such-drive"), "no-such-drive"),
    (lambda: manx.run("quick", workload="olpt"), "olpt"),
    (lambda: manx.run("quick", trace="nowhere.csv"), "nowhere.csv"),
    (lambda: manx.run("quick", timeline={"start": "2s", "end": "1s"}), "it is empty"),
    (lambda: manx.run("quick", timeline={"slow": "soon"}), "a time such as"),
    (lambda: manx.run("quick", timeline={"window": 1}), "unknown key 'window'"),
    (lambda: manx.run("quick", set={"recovery.cut_at": "1ms", "recovery.keep": True,
                                    "measure.warmup_requests": 0},
                      requests=True), "requests: recovery.cut_at = 1ms is not allowed with it"),
    (lambda: manx.Drive("quick", set={"recovery.cut_at": "1ms", "recovery.keep": True,
                                      "measure.warmup_requests": 0}), "cut_at is of a run"),
    (lambda: manx.compare("quick", []), "the list is empty"),
    (lambda: manx.compare("quick", ["base", "base"]), "named twice"),
    (lambda: manx.compare("quick", "base,,nogc"), "policy"),
    (lambda: manx.compare("quick", 7), "a list is needed, not int"),
    (lambda: manx.compare("quick", ["base"], jobs=0), "jobs = 0 is not allowed"),
    (lambda: manx.Scenario("quick", gc={"sfot": 1}), "unknown key gc.sfot; did you mean gc.soft"),
    (lambda: manx.Scenario("quick", gcc={}), "unknown key gcc; did you mean gc"),
    (lambda: manx.Scenario("quick", gc=manx.scenario.Ftl()), "a Gc or a dict is needed, not Ftl"),
    (lambda: manx.Scenario("quick", gc={"soft": 2}).check(), "gc.soft = 2 is not allowed"),
    (lambda: manx.Scenario.from_toml("[gc]\nsfot = 1\n").check(), "scenario:2"),
    (lambda: manx.sweep("quick"), "nothing to sweep|grid|rows"),
    (lambda: manx.sweep("quick", grid={"gc.sfot": [1]}), "gc.sfot"),
    (lambda: manx.sweep("quick", grid={"gc.soft": 7}), "a list of values is needed, not 7"),
    (lambda: manx.sweep("quick", grid={"gc.soft": [0.1]}, pareto="waff"), "waff"),
    (lambda: manx.sweep("quick", random={"gc.soft": (0.1, 0.2)}), "points"),
    (lambda: manx.sweep("quick", grid={"gc.soft": [0.1]}, executor=7), "one of concurrent.futures"),
    (lambda: manx.sweep("quick", grid={"gc.soft": [0.1]}, executor=7, client=7), "one of them"),
    (lambda: manx.lab("waf-analytics"), "waf-analytic"),
    (lambda: manx.plan("twx"), "no calculator is called 'twx'"),
    (lambda: manx.plan("tw", drives=4), "has no option 'drives'"),
    (lambda: manx.plan("tw", scenario="ioda", guard="soon"), "guard = soon is not allowed"),
    (lambda: manx.plan("timeout", gc="35ms"), "writes_below is missing"),
    (lambda: manx.Trace.get("pgbnch"), "did you mean pgbench"),
    (lambda: manx.Trace.open("nowhere.csv"), "nowhere.csv"),
    (lambda: manx.Trace.get("pgbench", formt="manx"), "formt"),
    (lambda: manx.Results.from_json("{}"), "this is no result.json"),
    (lambda: manx.Results.open("nowhere"), "cannot read it"),
    (lambda: manx.fleet(0), "n = 0 is not allowed"),
    (lambda: manx.fleet(2, vary={"gc.soft": "x"}), "is not allowed: \\(low, high\\)"),
    (lambda: manx.fleet(2, vary={"gc.sfot": [1]}), "unknown key gc.sfot"),
    (lambda: manx.fleet(1, "quick", "nogc", set=SMALL).slower_a_day(1, "reads"), "op = 'reads'"),
    (lambda: drive().submit(0, "X", 0, 8), "op = 'X' is not allowed"),
    (lambda: drive().submit(0, "R", -1, 8), "lba = -1 is not allowed"),
    (lambda: drive().submit(0, "R", 0, 0), "n = 0 is not allowed"),
    (lambda: drive().submit(-5, "R", 0, 8), "t = -5 is not allowed"),
    (lambda: drive().submit([0, 1], "R", [0, 8, 16], 8), "as many are needed"),
    (lambda: drive().submit(0.5, "R", 0, 8), "t = 0.5 is not allowed"),
    (lambda: drive().submit([5, 4], "R", 0, 8), "command 1: t = 4 is not allowed"),
    (lambda: drive().submit(0, "R", 0, 2**32), "1 to 4294967295 sectors"),
    (lambda: drive().submit(2**62 + 1, "R", 0, 8), "at most 2\\^62 ns"),
    (lambda: drive().submit(2**63 - 1, "R", 0, 8), "at most 2\\^62 ns"),
    (lambda: drive().advance(-1), "until = -1 is not allowed"),
    (lambda: drive().advance(2**63), "at most 2\\^62 ns"),
    (lambda: manx.Histogram([1.5]), "a list of whole nanoseconds is needed"),  # type: ignore[list-item]
    (lambda: manx.Histogram([-1]), "a list of whole nanoseconds is needed"),
    (lambda: manx.Histogram([1]).beyond(float("nan")), "us = NaN is not allowed"),
    (lambda: manx.Histogram.from_bytes(b"nonsense"), "no histogram"),
    (lambda: manx.Histogram([1]).percentile(101), "percent = 101 is not allowed"),
]


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_a_wrong_call_is_one_clear_exception(number: int) -> None:
    call, reason = WRONG[number]
    with pytest.raises(manx.InputError, match=reason) as caught:
        call()
    text = str(caught.value)
    assert "\n" not in text and "--" not in text.replace("----", ""), text


def test_there_are_enough_of_them() -> None:
    assert len(WRONG) >= 40


def test_an_error_has_its_parts(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('[device]\nname = "ttflash-256g"\n[gc]\nsoft = 3.0\n[workload]\nrequests = 10\n')
    with pytest.raises(manx.InputError) as caught:
        manx.run(file)
    error = caught.value
    assert (error.file, error.line, error.key, error.value) == (str(file), 4, "gc.soft", "3")
    assert error.allowed is not None and "share" in error.allowed and error.nearest is None
    with pytest.raises(manx.InputError) as caught:
        manx.run("quick", set={"gc.sfot": 1})
    assert (caught.value.key, caught.value.nearest) == ("gc.sfot", "gc.soft")
    import pickle

    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.key, again.nearest) == (str(caught.value), "gc.sfot", "gc.soft")
