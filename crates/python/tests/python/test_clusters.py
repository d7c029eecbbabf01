"""Sweeps over executors, and fleets: pure functions of scenario and seed."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent import futures
from pathlib import Path
from typing import Any

import manx
import pytest

SWEEP: dict[str, Any] = {
    "grid": {"gc.soft": [0.05, 0.08, 0.1]}, "policies": ["base", "preemptive"], "seeds": 2,
    "set": {"workload.requests": 1500}, "columns": ["p99", "waf", "erases"],
}


def workers(count: int) -> futures.ProcessPoolExecutor:
    return futures.ProcessPoolExecutor(count, multiprocessing.get_context("spawn"))


class Counting(futures.ThreadPoolExecutor):
    """An executor that counts what it was given, and fails after so many."""

    def __init__(self, most: int = 10**9) -> None:
        super().__init__(2)
        self.count, self.most = 0, most

    def submit(self, function: Any, /, *task: Any, **options: Any) -> Any:
        self.count += 1
        if self.count > self.most:
            return super().submit(lambda: 1 // 0)
        return super().submit(function, *task, **options)


def test_a_sweep_over_workers_is_the_same_rows_and_nothing_is_computed_twice(
    tmp_path: Path,
) -> None:
    alone = manx.sweep("quick", **SWEEP)
    with workers(2) as two:
        ours = manx.sweep("quick", executor=two, out=tmp_path, **SWEEP)
    assert ours.rows() == alone.rows() and ours.computed == 12
    with Counting() as counting:
        again = manx.sweep("quick", executor=counting, out=tmp_path, **SWEEP)
        assert (again.rows(), counting.count) == (alone.rows(), 0)
        more = {**SWEEP, "grid": {"gc.soft": [0.05, 0.08, 0.1, 0.12]}}
        manx.sweep("quick", executor=counting, out=tmp_path, **more)
        assert counting.count == 4
        damaged = sorted((tmp_path / "points").iterdir())[0]
        damaged.write_text(damaged.read_text().replace("1", "2", 1))
        manx.sweep("quick", executor=counting, out=tmp_path, **more)
        assert counting.count == 5


def test_a_sweep_that_failed_half_way_goes_on_where_it_was(tmp_path: Path) -> None:
    with Counting(most=7) as failing, pytest.raises(ZeroDivisionError):
        manx.sweep("quick", executor=failing, out=tmp_path, **SWEEP)
    kept = len(list((tmp_path / "points").glob("*.json")))
    with Counting() as counting:
        done = manx.sweep("quick", executor=counting, out=tmp_path, **SWEEP)
    assert counting.count == 12 - kept == done.computed
    assert done.rows() == manx.sweep("quick", **SWEEP).rows()


def test_points_that_cannot_be_are_left_out_or_told() -> None:
    odd = {**SWEEP, "grid": {"gc.soft": [0.05, 0.01]}, "policies": ["base"], "seeds": None}
    with Counting() as counting, pytest.raises(manx.InputError, match="gc.hard"):
        manx.sweep("quick", executor=counting, **odd)
    with Counting() as counting:
        left = manx.sweep("quick", executor=counting, skip_invalid=True, **odd)
    assert (len(left), len(left.skipped)) == (1, 1)


FLEET: dict[str, Any] = {
    "vary": {"faults.factory_bad": (0.0, 0.01), "workload.read_percent": [50.0, 70.0, 90.0],
             "gc.soft": lambda stream, number: 0.05 + 0.01 * (number % 3)},
    "set": {"workload.requests": 1500},
}


def test_a_fleet_is_the_same_bytes_on_any_number_of_workers() -> None:
    one = manx.fleet(40, "quick", "preemptive", jobs=1, **FLEET)
    two = manx.fleet(40, "quick", "preemptive", jobs=2, **FLEET)
    with workers(2) as executor:
        three = manx.fleet(40, "quick", "preemptive", executor=executor, **FLEET)
    for other in (two, three):
        assert other.read.to_bytes() == one.read.to_bytes()
        assert other.write.to_bytes() == one.write.to_bytes() and other.drives == one.drives
    assert len(one) == 40 and len({drive["gc.soft"] for drive in one.drives}) == 3
    assert one.percentiles().p99.us == two.percentiles().p99.us
    assert one.slower_a_day(100.0) >= one.slower_a_day(1000.0) > 0.0


def test_percentiles_of_a_fleet_are_those_of_all_requests_together() -> None:
    whole = manx.fleet(5, "quick", **{**FLEET, "set": {"workload.requests": 2000}})
    latencies: list[int] = []
    for drive in whole.drives:
        keys = {key: drive[key] for key in FLEET["vary"]}
        run = manx.run("quick", set={**keys, "workload.requests": 2000}, seed=drive["seed"],
                       requests=True, cache=False)
        table = run.requests()
        rows = zip(table.column("counted"), table.column("op"), table.column("latency_us"))
        latencies += [round(us * 1000) for counted, op, us in rows if counted and op == "R"]
    assert manx.Histogram(latencies) == whole.read


@pytest.fixture(scope="module")
def scheduler() -> Iterator[str]:
    """The address of a cluster of two workers on this machine."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0",
                                  processes=True) as cluster:
        yield cluster.scheduler_address


def swept(program: str, out: Path, *options: str,
          python: str = sys.executable) -> subprocess.CompletedProcess[str]:
    command = [program, "sweep", "quick", "--grid", "gc.soft=0.05,0.08,0.1", "--policies",
               "base,preemptive", "--set", "workload.requests=1500", "--out", str(out), "--quiet"]
    environment = {**os.environ, "MANX_PYTHON": python}
    return subprocess.run([*command, *options], env=environment, capture_output=True, text=True,
                          timeout=300)


def test_the_command_line_sweeps_on_a_cluster(program: str, scheduler: str, tmp_path: Path) -> None:
    alone = swept(program, tmp_path / "alone", "--seeds", "2")
    assert alone.returncode == 0, alone.stderr
    there = tmp_path / "there"
    first = swept(program, there, "--dask", scheduler)
    assert first.returncode == 0, first.stderr
    # More seeds cost only themselves, wherever they are run.
    more = swept(program, there, "--dask", scheduler, "--seeds", "2", "--force")
    assert more.returncode == 0, more.stderr
    assert "12 of 12 rows" in more.stderr and "6 from the journal" in more.stderr
    rows = [(folder / "sweep.csv").read_text() for folder in (tmp_path / "alone", there)]
    assert rows[0] == rows[1]
    verified = swept(program, tmp_path / "verified", "--dask", scheduler, "--verify")
    assert verified.returncode == 0, verified.stderr


def test_a_cluster_that_is_not_there_is_one_clear_line(
    program: str, scheduler: str, tmp_path: Path,
) -> None:
    other = tmp_path / "python"
    said = json.dumps({"ready": {"program": {"version": "0.1.0", "commit": None, "schema": 1},
                                 "workers": 2}})
    other.write_text(f"#!/bin/sh\necho '{said}'\ncat\n")
    other.chmod(0o755)
    for options, python, piece in [
        (("--dask", "here"), sys.executable, "no scheduler answers there"),
        (("--dask", scheduler, "--jobs", "2"), sys.executable, "--jobs: with --dask"),
        (("--dask", scheduler), "/no/such/python", "MANX_PYTHON"),
        (("--dask", scheduler), "/bin/true", "ended without a word"),
        (("--dask", scheduler), str(other), "another build"),
    ]:
        ended = swept(program, tmp_path / "none", *options, python=python)
        assert ended.returncode == 2 and piece in ended.stderr, ended.stderr
        assert ended.stderr.count("\n") == 1 and not (tmp_path / "none").exists()


def test_a_trace_of_a_bucket_is_opened_by_fsspec(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = b"128166372003000000,hm,0,Read,8192,4096,100\n"
    sum_ = hashlib.sha256(text).hexdigest()
    entry = {"title": "One request", "source": "this test", "licence": "none", "bytes": len(text),
             "url": "s3://data/trace.csv", "sha256": sum_, "read": {"format": "msr"}}
    (tmp_path / "list.json").write_text(json.dumps({"mine": entry}))
    (tmp_path / "stored").write_bytes(text)
    get = {"registry": tmp_path / "list.json", "cache": tmp_path / "cache"}
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(manx.InputError, match="pip install s3fs"):
        manx.Trace.get("mine", **get)

    class Store:
        @staticmethod
        def open(url: str, mode: str) -> Any:
            assert (url, mode) == ("s3://data/trace.csv", "rb")
            return (tmp_path / "stored").open(mode)

    monkeypatch.setitem(sys.modules, "fsspec", Store)
    assert manx.Trace.get("mine", **get).info.reads == 1
