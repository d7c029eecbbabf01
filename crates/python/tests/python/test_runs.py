"""Runs, comparisons, sweeps, experiments: the same bytes as from the command line."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import manx
import numpy
import pytest
from conftest import ROOT, SMALL, stripped


def command(program: str, *arguments: str) -> str:
    output = subprocess.run([program, *arguments], capture_output=True, text=True, cwd=ROOT)
    assert output.returncode == 0, output.stderr
    return output.stdout


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        (["quick", "--policies", "nogc,base,preemptive/t-es", "--seed", "9"],
         {"policies": ["nogc", "base", "preemptive/t-es"], "seed": 9}),
        (["quick", "--policies", "faster,dftl,sepbit,2r", "--attribution", "--verify"],
         {"policies": "faster,dftl,sepbit,2r", "attribution": True, "verify": True}),
        (["quick", "--policies", "rain,gtr", "--set", "rain.width=2", "--verify"],
         {"policies": "rain,gtr", "set": {"rain.width": 2}, "verify": True}),
        (["quick", "--policies", "raid,ioda,mittos", "--set", "array.members=4", "--attribution"],
         {"policies": ["raid", "ioda", "mittos"], "attribution": True,
          "set": {"array.members": 4}}),
        (["quick", "--policies", "base", "--set", "faults.program_fail=0.001", "--set",
          "gc.victim=cost-benefit"],
         {"policies": ["base"], "set": {"faults.program_fail": 0.001,
                                        "gc": {"victim": "cost-benefit"}}}),
        (["quick", "--policies", "base", "--trace", "traces/pgbench.csv.zst", "--head", "2000"],
         {"policies": ["base"], "trace": str(ROOT / "traces/pgbench.csv.zst"),
          "set": {"workload.trace.head": 2000}}),
    ],
)
def test_a_comparison_is_the_same_bytes_as_the_programs(
    program: str, arguments: list[str], options: dict[str, Any]
) -> None:
    small = {} if "trace" in options else SMALL
    keys = {**small, **options.pop("set", {})}
    said = [f"--set={key}={value}" for key, value in small.items()]
    theirs = command(program, "compare", *arguments, *said, "--json", "--no-cache")
    ours = manx.compare("quick", set=keys, cache=False, **options).to_json()
    ours, theirs = (text.replace(str(ROOT) + "/", "") for text in (ours, theirs))
    assert stripped(ours) == stripped(theirs)
    assert ours.splitlines()[0] == "{" and ours.endswith("}\n")


def test_observers_and_side_by_side_runs_change_no_byte() -> None:
    def told(**options: Any) -> Any:
        runs = manx.compare("quick", ["base", "preemptive"], set=SMALL, cache=False, **options)
        return stripped(runs.to_json())

    alone = told()
    assert told(jobs=1) == alone
    assert told(requests=True, timeline=True, progress=lambda share, words: None) == alone


def test_a_sweep_is_the_same_rows_as_the_programs(program: str, tmp_path: Path) -> None:
    axes = ["--grid", "gc.soft=0.05,0.1", "--random", "device.op=0.2..0.3", "--points", "2"]
    command(program, "sweep", "quick", *axes, "--policies", "nogc,base", "--seeds", "2", "--set",
            "workload.requests=1500", "--pareto", "p99_9,waf", "--out", str(tmp_path / "theirs"))
    options: dict[str, Any] = {
        "grid": {"gc.soft": [0.05, 0.1]}, "random": {"device.op": (0.2, 0.3)}, "points": 2,
        "policies": ["nogc", "base"], "seeds": 2, "set": {"workload.requests": 1500},
    }
    ours = manx.sweep("quick", pareto=["p99_9", "waf"], out=tmp_path / "ours", **options)
    csv = (tmp_path / "theirs/sweep.csv").read_text()
    assert (tmp_path / "ours/sweep.csv").read_text() == csv
    assert (len(ours), ours.computed) == (16, 16) and ours.front is not None
    again = manx.sweep("quick", pareto=["p99_9", "waf"], out=tmp_path / "ours", **options)
    assert again.computed == 0 and again.rows() == ours.rows()


def test_an_experiment_has_its_verdicts_and_a_plan_its_numbers(tmp_path: Path) -> None:
    outcome = manx.lab("waf-analytic", quick=True, out=tmp_path)
    assert outcome.experiment == "waf-analytic" and len(outcome.claims) > 0
    assert "waf" in str(outcome)
    plan = manx.plan("tw", scenario="ioda")
    assert "TW" in str(plan) and plan.to_dict()


def test_a_result_is_read_as_it_was_saved(tmp_path: Path) -> None:
    runs = manx.compare("quick", ["nogc", "base"], set=SMALL, attribution=True, cache=False)
    runs.save(tmp_path)
    names = {"result.json", "report.html", "scenario.nogc.toml", "scenario.base.toml"}
    assert {file.name for file in tmp_path.iterdir()} == names
    back = manx.Results.open(tmp_path)
    assert back.to_json() == runs.to_json() and back["base"].read.p99_us == runs[1].read.p99_us
    again = manx.run(tmp_path / "scenario.base.toml", cache=False)
    assert again.read.to_dict() == runs["base"].read.to_dict()
    used = runs["base"].scenario_used
    assert used is not None and used.gc.mode == "base"
    assert "GC" in runs.explain() and "<table>" in runs._repr_html_()
    assert "base" in str(runs) and runs["base"].quantity("p99") == runs["base"].read.p99_us
    assert runs.plot("bars").svg().startswith("<svg") and runs.plot()._repr_svg_()


def test_the_interpreter_is_free_while_a_drive_runs() -> None:
    ticks, stop = [], threading.Event()

    def tick() -> None:
        while not stop.wait(0.005):
            ticks.append(time.monotonic())

    thread = threading.Thread(target=tick)
    thread.start()
    begun = time.monotonic()
    manx.run("quick", "base", set={"workload.requests": 1_000_000}, cache=False)
    ended = time.monotonic()
    stop.set()
    thread.join()
    # Held, it would let the thread tick once or twice, before and after the run.
    assert len([tick for tick in ticks if begun < tick < ended]) > 2


def test_ctrl_c_ends_a_run() -> None:
    text = (
        "import manx, sys\n"
        "def told(share, words):\n"
        "    if 'running' in words: print('running', flush=True)\n"
        "try:\n"
        "    manx.run('quick', 'base', set={'workload.requests': 10**9}, cache=False, progress=told)\n"
        "except KeyboardInterrupt:\n"
        "    print('interrupted')\n"
    )
    child = subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None and child.stdout.readline() == "running\n"
    child.send_signal(signal.SIGINT)
    assert child.communicate(timeout=60)[0].splitlines()[-1] == "interrupted"


def test_numbers_of_numpy_are_numbers() -> None:
    keys = {**SMALL, "gc.soft": 0.06}
    plain = manx.run("quick", "base", set=keys, seed=3, cache=False)
    keys["gc.soft"] = numpy.float64(0.06)
    own = manx.run("quick", "base", set=keys, seed=numpy.int64(3), cache=False)
    assert stripped(own.to_json()) == stripped(plain.to_json())
    swept = manx.sweep("quick", grid={"gc.soft": numpy.linspace(0.05, 0.1, 2)}, policies=["base"],
                       set=SMALL, jobs=numpy.int64(1))
    assert len(swept) == 2


def test_a_comparison_contains_its_runs_by_name_too() -> None:
    runs = manx.compare("quick", ["base"], set=SMALL, cache=False)
    assert "base" in runs and runs[0] in runs and "nogc" not in runs


def test_scenarios_have_types_and_say_what_is_wrong() -> None:
    scenario = manx.Scenario("quick", gc=manx.scenario.Gc(soft=0.08), seed=7)
    scenario.gc.victim = "cost-benefit"
    scenario.device = {"op": 0.3, "geometry": {"blocks": 40}}
    assert (scenario.gc.soft, scenario.gc.hard, scenario.device.geometry.blocks) == (0.08, 0.03, 40)
    settings = scenario.settings("preemptive")
    assert settings["gc"]["mode"] == "preemptive" and settings["seed"] == 7
    other = scenario.copy()
    other.gc.soft = 0.1
    assert (scenario.gc.soft, other.gc.soft, other.device.op) == (0.08, 0.1, 0.3)
    assert manx.Scenario.from_toml(scenario.to_toml()).settings()["gc"] == scenario.settings()["gc"]
    same = manx.run(scenario, set=SMALL, cache=False)
    keys = {"gc.soft": 0.08, "gc.victim": "cost-benefit", "device.op": 0.3,
            "device.geometry.blocks": 40, **SMALL}
    assert same.read.to_dict() == manx.run("quick", set=keys, seed=7, cache=False).read.to_dict()


def test_traces_are_opened_by_path_and_by_name(tmp_path: Path) -> None:
    sample = manx.Trace.get("pgbench")
    assert sample.info.reads + sample.info.writes > 79_000
    assert sample.about["licence"] == "MIT OR Apache-2.0"
    head = manx.Trace.get("pgbench", head=500)
    assert len(head.requests()) == 500 and set(head.requests().column("op")) <= set("RWFD")
    registry, data = tmp_path / "registry.json", (ROOT / "traces/pgbench.csv.zst").read_bytes()
    entry = manx.Trace.known()["pgbench"]
    (tmp_path / "copy.csv.zst").write_bytes(data)
    entry = {**entry, "url": (tmp_path / "copy.csv.zst").as_uri()}
    registry.write_text(json.dumps({"mine": entry, "bad": {**entry, "sha256": "0" * 64}}))
    fetched = manx.Trace.get("mine", registry=registry, cache=tmp_path / "kept")
    (tmp_path / "copy.csv.zst").unlink()
    again = manx.Trace.get("mine", registry=registry, cache=tmp_path / "kept")
    assert again.path == fetched.path
    with pytest.raises(manx.RunError, match="cannot get"):
        manx.Trace.get("bad", registry=registry, cache=tmp_path / "kept")
    (tmp_path / "copy.csv.zst").write_bytes(data)
    with pytest.raises(manx.RunError, match="is not what the registry says"):
        manx.Trace.get("bad", registry=registry, cache=tmp_path / "kept")
    assert len(list((tmp_path / "kept").iterdir())) == 1


def test_every_entry_of_the_registry_is_whole() -> None:
    for name, entry in manx.Trace.known().items():
        assert len(entry["sha256"]) == 64 and entry["bytes"] > 0, name
        assert entry["url"].startswith(("https://", "package:")) and entry["licence"], name
