"""Sweeps over executors, and fleets: pure functions of scenario and seed."""

from __future__ import annotations

import multiprocessing
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
