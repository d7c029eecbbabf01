"""A device fitted to measurements."""

from __future__ import annotations

import json
from pathlib import Path

import manx
import pytest


def fio(depth: int, iops: int, us: list[int]) -> str:
    """fio's result of reads of 4 KiB at a depth, cut to what is read."""
    p50, p90, p99, p999 = (1_000 * one for one in us)
    read = {"io_bytes": iops * 10 * 4096, "iops": iops, "runtime": 10_000, "total_ios": iops * 10,
            "clat_ns": {"mean": float(p50), "percentile": {
                "50.000000": p50, "90.000000": p90, "99.000000": p99, "99.900000": p999}}}
    options = {"bs": "4k", "rw": "randread", "iodepth": str(depth), "ioengine": "spdk",
               "direct": "1", "norandommap": "1"}
    job = {"jobname": "1", "error": 0, "job options": {"name": "1"}, "read": read}
    return json.dumps({"fio version": "fio-3.35", "global options": options, "jobs": [job]})


@pytest.fixture
def measured(tmp_path: Path) -> list[Path]:
    files = [tmp_path / "one.json", tmp_path / "deep.json"]
    files[0].write_text(fio(1, 16_600, [56, 68, 69, 73]))
    files[1].write_text(fio(16, 233_000, [62, 89, 132, 177]))
    return files


def test_a_fit_is_a_device_that_runs_and_a_journal_spares_the_work(measured: list[Path],
                                                                   tmp_path: Path) -> None:
    told: list[float] = []
    options = {"requests": 1_000, "evaluations": 2, "hold_out": "none",
               "journal": tmp_path / "journal"}
    twin = manx.fit(measured, "mine", progress=lambda share, _: told.append(share), **options)
    assert not twin.is_partial and all(0.0 <= share < 1.0 for share in told)
    assert twin.device.startswith("# Made by `manx fit`") and "fitted from" in str(twin)
    lines = (tmp_path / "journal").read_text().count("\n")
    again = manx.fit(measured, "mine", **options)
    assert again.device == twin.device and again.to_dict() == twin.to_dict()
    assert (tmp_path / "journal").read_text().strip().count("\n") <= lines
    scenario = twin.save(tmp_path / "out")
    with pytest.raises(manx.InputError, match="there already"):
        twin.save(tmp_path / "out")
    assert twin.save(tmp_path / "out", force=True) == scenario
    run = manx.run(scenario, set={"workload.requests": 500, "measure.warmup_requests": 0,
                                  "device.geometry.blocks": 32}, cache=False)
    assert run.read.count + run.write.count > 0


def test_a_wrong_fit_is_refused(measured: list[Path], tmp_path: Path) -> None:
    for options, why in [
        ({"name": "a b"}, "1 to 64 letters"), ({"hold_out": "some"}, "each, none, after"),
        ({"state": "old"}, "state = \"old\""), ({"capacity": "much"}, "capacity = \"much\""),
        ({"requests": 10}, "from 1000"), ({"evaluations": 1}, "from 2"), ({"seed": -1}, "from 0"),
        ({"base": "no-such-device"}, "no-such-device"), ({"jobs": 0}, "jobs = 0"),
        ({"measured": []}, "the list is empty"), ({"measured": 7}, "a list of files"),
        ({"measured": "nowhere.json"}, "nowhere.json"),
    ]:
        asked = {"measured": measured, "name": "mine", **options}
        with pytest.raises(manx.InputError, match=why):
            manx.fit(asked.pop("measured"), asked.pop("name"), **asked)
