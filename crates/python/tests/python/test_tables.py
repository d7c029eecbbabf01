"""Tables by Arrow's PyCapsule interface: what other libraries read of them."""

from __future__ import annotations

import gc

import duckdb
import manx
import numpy
import polars
import pytest
from conftest import SMALL


@pytest.fixture(scope="module")
def run() -> manx.Result:
    return manx.run("quick", "base", set=SMALL, attribution=True, requests=True,
                    timeline={"limit": 5000}, cache=False)


def test_requests_are_read_by_polars_and_duckdb_and_give_the_results_numbers(
    run: manx.Result,
) -> None:
    frame = polars.DataFrame(run.requests())
    assert frame.height == run.requests().num_rows >= 4000
    assert frame.columns[:9] == ["t_us", "op", "offset", "bytes", "latency_us", "job", "ok",
                                 "gc_blocked", "counted"]
    reads = frame.filter(polars.col("counted") & (polars.col("op") == "R"))
    assert reads.height == run.read.count
    assert reads["latency_us"].max() == run.read.max_us
    parts = frame.select(polars.sum_horizontal(polars.selectors.ends_with("_ns"))).to_series()
    assert numpy.allclose(parts, frame["latency_us"] * 1000, atol=1e-3)
    requests = run.requests()
    counted = duckdb.sql("select count(*) from requests where counted and op = 'R'").fetchone()
    assert counted == (run.read.count,)
    assert run.requests().column("job") == frame["job"].to_list()
    assert requests.column("op")[:5] == frame["op"].to_list()[:5]


def test_tables_outlive_what_they_came_from() -> None:
    frames = [polars.DataFrame(manx.run("quick", set=SMALL, requests=True, cache=False).requests())
              for _ in range(3)]
    gc.collect()
    assert len({frame["latency_us"].sum() for frame in frames}) == 1
    table = manx.run("quick", set=SMALL, requests=True, cache=False).requests()
    for _ in range(50):
        table.__arrow_c_stream__()
        table.__arrow_c_schema__()


def test_curves_causes_and_timelines_are_tables(run: manx.Result) -> None:
    curve = polars.DataFrame(run.curve())
    assert curve["us"].to_list() == run.read.curve.us and curve["beyond"][0] == 1.0
    causes = polars.DataFrame(run.attribution())
    total = causes.select(polars.sum_horizontal(polars.selectors.ends_with("_us"))).to_series()
    assert abs(total[0] - run.read.mean_us) < 0.01 * run.read.mean_us
    timeline = polars.DataFrame(run.timeline())
    assert set(timeline["track"]) >= {"die", "gc"} and timeline.height > 1000
    assert (timeline["end_ns"] >= timeline["start_ns"]).all()


def test_histograms_merge_exactly() -> None:
    numbers = numpy.random.default_rng(3).lognormal(11, 2, 20_000).astype(numpy.uint64).tolist()
    whole, parts = manx.Histogram(numbers), manx.Histogram()
    for at in range(0, len(numbers), 999):
        parts.merge(manx.Histogram.from_bytes(manx.Histogram(numbers[at:at + 999]).to_bytes()))
    assert parts == whole and parts.to_bytes() == whole.to_bytes()
    exact = sorted(numbers)[int(0.999 * len(numbers)) - 1] / 1000
    found = whole.percentile(99.9)
    assert found is not None and abs(found - exact) <= exact / 2048
    assert whole.beyond(0) == 20_000 and whole.count == 20_000
    assert polars.DataFrame(whole.buckets())["count"].sum() == 20_000
    run = manx.run("quick", "base", set=SMALL, cache=False)
    assert run.histogram().count == run.read.count
    assert run.histogram().max_us == run.read.max_us
