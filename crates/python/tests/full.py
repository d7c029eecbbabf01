"""The package at full size, measured: ``make test-python`` (ten minutes; leave the machine alone).

A figure is printed beside the one asked for; what must be equal is asserted.
"""

from __future__ import annotations

import multiprocessing
import resource
import subprocess
import sys
import tempfile
import time
from concurrent import futures
from typing import Any

import manx

MB = 1 << 20


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def told(what: str, figure: str, asked: str) -> None:
    print(f"{what:58} {figure:>28}   asked: {asked}", flush=True)


def batch() -> None:
    """A million requests through a drive, beside a run of the same ones."""
    import numpy

    for policy, members in (("base", 1), ("ioda", 4)):
        keys = {"workload.requests": 1_000_000, "workload.arrival": "poisson",
                "workload.rate": 20_000.0, "array.members": members}
        table = manx.run("quick", policy, set=keys, requests=True).requests()
        t = numpy.rint(numpy.array(table.column("t_us")) * 1000).astype(numpy.int64)
        order = numpy.argsort(t, kind="stable")
        latency = numpy.rint(numpy.array(table.column("latency_us")) * 1000)[order]
        op = "".join(numpy.array(table.column("op"))[order])
        lba, n = (numpy.array(table.column(name))[order] // 512 for name in ("offset", "bytes"))
        ratios = []
        for _ in range(5):
            begun = time.process_time()
            manx.run("quick", policy, set=keys)
            alone = time.process_time() - begun
            # The run preconditions too, or reads the state: so does this.
            begun = time.process_time()
            drive = manx.Drive("quick", policy, set=keys)
            drive.submit(t[order], op, lba, n)
            drive.drain()
            done = drive.completions()
            ratios.append((time.process_time() - begun) / alone)
        assert (done.latency_ns[numpy.argsort(done.id)] == latency).all()
        told(f"batch of 10^6 under {policy}, over manx.run (CPU, of 5)",
             f"{sorted(ratios)[2]:.2f} ({min(ratios):.2f}..{max(ratios):.2f})", "< 1.10")


ROWS = """
import importlib, resource, sys, manx
reader = importlib.import_module(sys.argv[1])
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
run = manx.run("quick", "nogc", set={"workload.requests": 10_000_000, "measure.warmup": "0s"},
               requests=True)
requests, held = run.requests(), peak()
if sys.argv[1] == "polars":
    frame = reader.DataFrame(requests)
    found = (len(frame), frame["latency_us"].max())
else:
    found = reader.sql("SELECT count(*), max(latency_us) FROM requests").fetchone()
print(found[0], round(found[1], 3), round(held), round(peak() - held))
"""


def rows() -> None:
    """Ten million rows, read where they lie."""
    for reader in ("polars", "duckdb"):
        said = subprocess.run([sys.executable, "-c", ROWS, reader], capture_output=True, text=True,
                              check=True).stdout.split()
        assert int(said[0]) == 10_000_000, said
        told(f"10^7 rows in {reader}: peak before, and what it adds",
             f"{said[2]} MB, +{said[3]} MB", "no copy")


def strategies() -> None:
    """A strategy in Python beside the native one's kind."""
    keys = {"workload.requests": 400_000, "array.members": 4}
    for policy in (manx.policies.Ewma(), "raid"):
        manx.run("quick", policy, set=keys)
        begun = time.process_time()
        run = manx.run("quick", policy, set=keys)
        spent = time.process_time() - begun
        name = policy if isinstance(policy, str) else "Ewma in Python"
        calls = run.python_calls
        told(f"requests a CPU second, {name}", f"{400_000 / spent:,.0f} {calls or ''}", "told")


SWEEP: dict[str, Any] = {
    "grid": {"gc.soft": [0.05, 0.06, 0.07, 0.08, 0.09]}, "policies": ["base", "preemptive"],
    "seeds": 50, "set": {"workload.requests": 600_000}, "columns": ["p99", "waf", "erases"],
}


def on_cluster(workers: int, disturb: bool) -> tuple[list[dict[str, Any]], float, int, int]:
    import logging

    from distributed import Client, LocalCluster
    from distributed.diagnostics.plugin import SchedulerPlugin

    logging.getLogger("distributed").setLevel(logging.CRITICAL)

    class Count(SchedulerPlugin):
        """Points that ended, and who is killed and added half-way."""

        def __init__(self) -> None:
            self.ended: list[str] = []

        def transition(self, key: Any, start: str, finish: str, *args: Any, **of: Any) -> None:
            if start == "processing" and finish == "memory":
                self.ended.append(str(key))

    count = Count()
    with LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None) as cluster, \
            Client(cluster) as client:
        client.wait_for_workers(workers)
        cluster.scheduler.add_plugin(count)
        is_done = {"killed": not disturb}

        def half_way(share: float, _: str) -> None:
            if share >= 0.5 and not is_done["killed"]:
                is_done["killed"] = True
                nanny = next(iter(cluster.workers.values()))
                client.run(lambda: __import__("os")._exit(1), workers=[nanny.worker_address],
                           nanny=False, on_error="ignore")
                cluster.scale(workers + 1)

        begun = time.monotonic()
        of = manx.sweep("quick", client=client, progress=half_way, **SWEEP)
        seconds = time.monotonic() - begun
        assert is_done["killed"] or not disturb
    return of.rows(), seconds, of.computed, len(count.ended)


def sweep() -> None:
    """500 points over workers, one killed half-way and one added."""
    begun = time.monotonic()
    alone = manx.sweep("quick", jobs=1, **SWEEP).rows()
    told("500 points on one thread", f"{time.monotonic() - begun:.1f} s", "-")
    one, seconds_of_one, *_ = on_cluster(1, disturb=False)
    two, seconds_of_two, *_ = on_cluster(2, disturb=False)
    killed, seconds, computed, ended = on_cluster(2, disturb=True)
    assert one == two == killed == alone and len(alone) == 500
    told("500 points on 1 and 2 workers", f"{seconds_of_one:.1f} s, {seconds_of_two:.1f} s", "-")
    told("scaling by the wall", f"{seconds_of_one / seconds_of_two:.2f}", ">= 1.8")
    told("one worker killed half-way, one added: computed, ended",
         f"{seconds:.1f} s, {computed}, {ended}", "500, 500")


FLEET: dict[str, Any] = {
    "vary": {"faults.factory_bad": (0.0, 0.01), "workload.read_percent": [50.0, 70.0, 90.0]},
    "set": {"workload.requests": 100_000},
}


def fleet() -> None:
    """A thousand drives of 10^5 requests."""
    begun, cpu, held = time.monotonic(), time.process_time(), []

    def watch(share: float, _: str) -> None:
        held.append((share, peak_mb()))

    one = manx.fleet(1_000, "quick", "preemptive", jobs=1, progress=watch, **FLEET)
    seconds, spent = time.monotonic() - begun, time.process_time() - cpu
    early = next(mb for share, mb in held if share >= 0.1)
    begun = time.monotonic()
    spawned = multiprocessing.get_context("spawn")
    with futures.ProcessPoolExecutor(2, spawned) as executor:
        two = manx.fleet(1_000, "quick", "preemptive", executor=executor, **FLEET)
    assert one.read.to_bytes() == two.read.to_bytes()
    assert one.write.to_bytes() == two.write.to_bytes() and one.drives == two.drives
    told("1,000 drives of 10^5: one worker, CPU; two workers",
         f"{seconds:.1f} s, {spent:.1f} s; {time.monotonic() - begun:.1f} s", "told")
    told("peak memory after a tenth, and at the end", f"{early:.0f} MB, {held[-1][1]:.0f} MB",
         "flat")
    hours = spent / 1_000 * 1e6 / 3600
    told("a million drives at this rate", f"{hours:.1f} core hours", "on paper")


if __name__ == "__main__":
    parts = {"batch": batch, "rows": rows, "strategies": strategies, "sweep": sweep,
             "fleet": fleet}
    with tempfile.TemporaryDirectory(prefix="manx-full-") as cache:
        __import__("os").environ.setdefault("MANX_CACHE", cache)
        for name in sys.argv[1:] or parts:
            parts[name]()
