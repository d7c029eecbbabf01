"""A fleet: many drives that differ, and the latencies of all of them together."""

from __future__ import annotations

import hashlib
import json
import random as _random
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Union

from . import _manx, _options
from ._manx import Histogram
from ._progress import Bar, Progress
from ._runs import AnyPolicy, AnyScenario, asked, points
from ._sweeps import as_completed, one_of
from .errors import InputError
from .policies import Policy
from .results import Fields

#: How a key differs between drives: ``(low, high)``, a list of values to draw from, or a function
#: of a stream of random numbers (:class:`random.Random`) and the number of the drive.
Vary = Union["tuple[float, float]", Sequence[Any], Callable[[_random.Random, int], Any]]

#: Drives that are held in memory together.
_PART = 32


class Fleet:
    """The latencies of a fleet: merged exactly, so that a percentile is that of all requests of all
    drives together, and not a mean of percentiles."""

    def __init__(self, read: Histogram, write: Histogram, drives: list[dict[str, Any]],
                 seconds: float) -> None:
        #: All counted reads.
        self.read = read
        #: All counted writes.
        self.write = write
        #: One row a drive: its number, seed, what differs, and its own figures.
        self.drives = drives
        #: Simulated seconds of all drives together.
        self.seconds = seconds

    def percentiles(self, op: str = "read") -> Fields:
        """The reported percentiles of all requests of `op` (``read``, ``write``), each with its
        confidence interval (us)."""
        return Fields(json.loads(self._of(op).percentiles_json()))

    def slower_a_day(self, us: float, op: str = "read") -> float:
        """Requests of `op` (``read``, ``write``) of the whole fleet in a day that take longer than
        `us`, at the rates that were simulated: their share of the simulated time, times 86,400 s
        and the number of drives."""
        of = self._of(op)
        seconds = self.seconds / max(len(self.drives), 1)
        return of.beyond(us) * 86_400 / seconds if seconds else 0.0

    def _of(self, op: str) -> Histogram:
        if op not in ("read", "write"):
            raise InputError(f'op = {op!r} is not allowed: "read" or "write"')
        return self.read if op == "read" else self.write

    def __len__(self) -> int:
        return len(self.drives)

    def __repr__(self) -> str:
        return f"<manx.Fleet: {len(self)} drives, {self.read.count:,} reads>"

    def _repr_html_(self) -> str:
        row = ""
        for op, of in (("read", self.read), ("write", self.write)):
            told = json.loads(of.percentiles_json())
            cells = "".join(
                f"<td>{'-' if told[p]['us'] is None else format(told[p]['us'], ',.1f')}</td>"
                for p in ("p50", "p99", "p99_9", "p99_99", "p99_999"))
            row += f"<tr><td>{op}</td><td>{of.count:,}</td>{cells}</tr>"
        return ("<table><thead><tr><th></th><th>requests</th><th>p50 us</th><th>p99 us</th>"
                "<th>p99.9 us</th><th>p99.99 us</th><th>p99.999 us</th></tr></thead>"
                f"<tbody>{row}</tbody></table>{len(self):,} drives")


def fleet(
    n: int,
    scenario: AnyScenario = "quick",
    policy: AnyPolicy | None = None,
    *,
    vary: Mapping[str, Vary] | None = None,
    set: Mapping[str, object] | None = None,
    seed: int = 1,
    device: _options.Path | None = None,
    workload: _options.Path | None = None,
    executor: Any = None,
    client: Any = None,
    jobs: int | None = None,
    cache: bool | _options.Path = False,
    progress: Progress = None,
) -> Fleet:
    """Runs `n` drives of a scenario, each with a seed of its own, and merges their latencies.

    `vary`: how keys differ from drive to drive (:data:`Vary`): bad blocks, load, wear.
    ``{"faults.factory_bad": (0.0, 0.01), "workload.rate": [500, 1000, 2000]}``. What a drive gets
    depends on `seed` and its number alone: the same drives on any number of workers. `executor` (or `client`) as
    of :func:`manx.sweep`. Memory does not grow with `n`, but for a row a drive.

    Raises :class:`InputError` where a drive of the fleet cannot be; nothing has run then where it
    is the first.
    """
    count = _options.count(n, "n", 10_000_000)
    assert count is not None
    varied = dict(vary) if isinstance(vary, Mapping) else {}
    if vary is not None and not isinstance(vary, Mapping):
        raise InputError(f"vary: a dict of keys is needed, not {type(vary).__name__}")
    of = _Of(scenario, policy, dict(set or {}), device, workload, cache)
    drawn = [_drawn(varied, seed, number) for number in range(min(count, _PART))]
    of.point(seed, 0, drawn[0])
    parts = range(0, count, _PART)
    read, write = Histogram(), Histogram()
    rows: dict[int, list[dict[str, Any]]] = {}
    seconds: dict[int, float] = {}
    bar = Bar(progress, ["fleet"])

    def take(first: int, part: Part) -> None:
        read.merge(Histogram.from_bytes(part[0]))
        write.merge(Histogram.from_bytes(part[1]))
        rows[first], seconds[first] = part[2], part[3]
        bar.show(len(rows) / len(parts), f"{len(rows) * _PART} of {count} drives")

    def numbers(first: int) -> list[tuple[int, dict[str, Any]]]:
        last = min(first + _PART, count)
        return [(number, _drawn(varied, seed, number)) for number in range(first, last)]

    try:
        executor = one_of(executor, client)
        if executor is None:
            for first in parts:
                take(first, of.part(seed, numbers(first), _options.count(jobs, "jobs")))
        else:
            if isinstance(policy, Policy):
                raise InputError("executor: a policy in Python runs in this process alone")
            # A part is known by all that determines it: an executor may remember what has run.
            by_key: dict[str, int] = {}
            tasks: dict[str, tuple[list[tuple[dict[str, Any], str, str]], str]] = {}
            for first in parts:
                written = of.written(seed, numbers(first))
                told = json.dumps([_manx.__version__, written], default=repr)
                key = f"fleet-{first}-{hashlib.sha256(told.encode()).hexdigest()}"
                by_key[key], tasks[key] = first, (written, of.cache)
            for key, part in as_completed(executor, tasks, "fleet"):
                take(by_key[key], part)
    finally:
        bar.close()
    drives = [row for first in parts for row in rows[first]]
    return Fleet(read, write, drives, sum(seconds[first] for first in parts))


#: Histograms of reads and writes as bytes, rows, simulated seconds.
Part = tuple[bytes, bytes, "list[dict[str, Any]]", float]


def part_of(drives: list[tuple[dict[str, Any], str, str]], cache: str) -> Part:
    """A part of a fleet, on a worker. A pure function of its arguments: of each drive what its row
    begins with, its scenario, the name of its policy."""
    runs = [_manx.Asked("scenario", toml).named(policy) for _, toml, policy in drives]
    return _played([row for row, _, _ in drives], runs, cache, 1)


def _played(begun: list[dict[str, Any]], runs: list[_manx.Point], cache: str,
            jobs: int | None) -> Part:
    read, write, rows, seconds = Histogram(), Histogram(), [], 0.0
    for row, run in zip(begun, _manx.play(runs, cache=cache, jobs=jobs)):
        for merged, writes in ((read, False), (write, True)):
            one = run.histogram(writes)
            if one is not None:
                merged.merge(one)
        result = json.loads(run.json())
        # Of the counted part: the warm-up has a time of its own.
        counted = max((result["read"], result["write"]), key=lambda of: int(of["count"]))
        seconds += counted["count"] / counted["iops"] if counted["iops"] else result["virtual_s"]
        rows.append({
            **row, "outcome": result["outcome"], "reads": result["read"]["count"],
            "p99_us": result["read"]["p99_us"], "p99_9_us": result["read"]["p99_9_us"],
            "waf": result["flash"]["waf"], "warnings": len(result["warnings"]),
        })
    return read.to_bytes(), write.to_bytes(), rows, seconds


class _Of:
    """What all drives of a fleet have in common."""

    def __init__(self, scenario: AnyScenario, policy: AnyPolicy | None, sets: dict[str, object],
                 device: _options.Path | None, workload: _options.Path | None,
                 cache: bool | _options.Path) -> None:
        self.scenario = scenario
        self.policy = policy
        self.sets = sets
        self.device = device
        self.workload = workload
        self.cache = _options.cache(cache)

    def point(self, seed: int, number: int, drawn: Mapping[str, object]) -> _manx.Point:
        """The run of a drive."""
        of = asked(self.scenario, set={**self.sets, **drawn}, seed=seed + number,
                   device=self.device, workload=self.workload, trace=None, attribution=False)
        return of.plain() if self.policy is None else points(of, [self.policy])[0]

    def written(self, seed: int,
                numbers: list[tuple[int, dict[str, Any]]]) -> list[tuple[dict[str, Any], str, str]]:
        """Some drives as text: what a row begins with, the scenario, the policy's name."""
        runs = [self.point(seed, number, drawn) for number, drawn in numbers]
        return [(_begun(seed, *of), run.toml(), run.policy) for of, run in zip(numbers, runs)]

    def part(self, seed: int, numbers: list[tuple[int, dict[str, Any]]],
             jobs: int | None) -> Part:
        """Runs some drives."""
        runs = [self.point(seed, number, drawn) for number, drawn in numbers]
        return _played([_begun(seed, *of) for of in numbers], runs, self.cache, jobs)


def _begun(seed: int, number: int, drawn: Mapping[str, Any]) -> dict[str, Any]:
    return {"drive": number, "seed": seed + number, **drawn}


def _drawn(vary: Mapping[str, Vary], seed: int, number: int) -> dict[str, Any]:
    """What differs in drive `number`: a stream of its own for each key."""
    drawn: dict[str, Any] = {}
    for key, how in vary.items():
        stream = _random.Random(f"{seed} {number} {key}")
        if callable(how):
            drawn[key] = how(stream, number)
        elif isinstance(how, tuple) and len(how) == 2:
            drawn[key] = stream.uniform(*how)
        elif isinstance(how, Sequence) and not isinstance(how, str) and len(how) > 0:
            drawn[key] = how[stream.randrange(len(how))]
        else:
            raise InputError(f"vary {key} = {how!r} is not allowed: (low, high), a list of values, "
                             "or a function of a random stream and a number", key=key)
    return drawn
