"""A drive that the caller submits to: the same times as a run's."""

from __future__ import annotations

import copy

import manx
import numpy
import pytest
from conftest import SMALL


def replayed(policy: str, **options: object) -> tuple[manx.Result, manx.Drive, numpy.ndarray]:
    keys = {**SMALL, "workload.arrival": "poisson", "workload.rate": 20_000.0}
    run = manx.run("quick", policy, set=keys, requests=True, cache=False, **options)
    table = run.requests()
    t_ns = numpy.rint(numpy.array(table.column("t_us")) * 1000).astype(numpy.int64)
    order = numpy.argsort(t_ns, kind="stable")
    drive = manx.Drive("quick", policy, set=keys, cache=False)
    letters = "".join(numpy.array(table.column("op"))[order])
    drive.submit(t_ns[order], letters, numpy.array(table.column("offset"))[order] // 512,
                 numpy.array(table.column("bytes"))[order] // 512)
    latency = numpy.rint(numpy.array(table.column("latency_us")) * 1000).astype(numpy.int64)[order]
    return run, drive, latency


@pytest.mark.parametrize("policy", ["base", "preemptive", "dftl", "sepbit"])
def test_a_batch_completes_as_the_same_requests_of_a_run(policy: str) -> None:
    run, drive, latency = replayed(policy)
    drive.drain()
    done = drive.completions()
    assert len(done) == len(latency) == drive.state().submitted
    assert (done.latency_ns[numpy.argsort(done.id)] == latency).all()
    assert drive.state().drives[0].erases >= run.flash.erases


def test_cutting_an_advance_changes_nothing_and_a_clone_goes_on_by_itself() -> None:
    a, b = manx.Drive("quick", cache=False), manx.Drive("quick", cache=False)
    t = numpy.arange(2000) * 50_000
    lba = (numpy.arange(2000) * 7919 % (a.sectors // 8)) * 8
    for drive in (a, b):
        drive.submit(t, "W" * 1000 + "R" * 1000, lba, 8)
    for until in range(int(t[-1]), int(t[-1]) + 3_000_000, 1111):
        b.advance(until)
    twin = b.clone()
    assert [drive.drain() for drive in (a, b, twin)] == [a.now] * 3
    columns = [drive.completions() for drive in (a, b, twin)]
    assert all((columns[0].t_ns == one.t_ns).all() for one in columns)
    assert a.state().to_dict() == b.state().to_dict() == twin.state().to_dict()
    twin.submit(twin.now, "F", 0, 0)
    assert (twin.outstanding, b.outstanding) == (1, 0)


def test_an_array_is_driven_too_and_numbers_come_in_any_form() -> None:
    drive = manx.Drive("quick", "raid", set={"array.members": 4}, cache=False)
    assert drive.submit([0, 10, 20], ["R", "W", "F"], [0, 8, 0], [8, 8, 0]) == 0
    assert drive.submit(30, "D", 64, 8) == 3
    drive.drain()
    done = drive.completions()
    assert sorted(done.id.tolist()) == [0, 1, 2, 3] and set(done.status) == {"success"}
    assert len(drive.completions()) == 0 and drive.next_event is None or drive.now > 0


@pytest.mark.parametrize("policy", ["ioda", "hedged", "iod1", manx.policies.Ewma()])
def test_a_clone_of_an_array_goes_on_as_the_array_does(policy: object) -> None:
    drive = manx.Drive("quick", policy, set={"array.members": 4, **SMALL},
                       cache=False)
    t = numpy.arange(3000) * 20_000
    lba = (numpy.arange(3000) * 7919 % (drive.sectors // 8)) * 8
    drive.submit(t[:2000], "WR" * 1000, lba[:2000], 8)
    twin = drive.clone()
    assert twin.outstanding == drive.outstanding > 0
    for one in (drive, twin):
        one.submit(t[2000:], "RRRW" * 250, lba[2000:], 8)
        one.drain()
    columns = [one.completions() for one in (drive, twin)]
    assert (columns[0].t_ns == columns[1].t_ns).all() and len(columns[0]) == 3000
    assert drive.state().to_dict() == twin.state().to_dict()
    twin.submit(twin.now, "R", 0, 8)
    assert (twin.outstanding, drive.outstanding) == (1, 0)


def test_times_end_before_a_column_of_64_bits_does() -> None:
    drive = manx.Drive("quick", cache=False)
    drive.submit(2**62, "W", 0, 8)
    drive.drain()
    assert drive.completions().t_ns.min() > 2**62


def test_a_copy_is_a_clone() -> None:
    drive = manx.Drive("quick", cache=False)
    drive.submit(0, "R", 0, 8)
    twins = [copy.copy(drive), copy.deepcopy(drive)]
    drive.drain()
    assert [twin.outstanding for twin in twins] == [1, 1]
