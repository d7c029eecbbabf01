"""Sweeps: alone on this machine, or over any executor, point by point."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path as _Path
from typing import Any, Union

from . import _manx, _options
from ._progress import Bar, Progress
from .errors import InputError, RunError
from .results import Result

#: Values of a key: a list, or text as the command line takes it (``"0.2..0.4+0.1"``).
Axis = Union[str, Sequence[Any]]


class Sweep:
    """The rows of a sweep: a point's number, its policy and keys, seed, outcome, and quantities.

    It is a table by Arrow's PyCapsule interface: ``polars.DataFrame(sweep)``.
    """

    def __init__(self, table: _manx.Table, front: str | None, notes: Sequence[str],
                 skipped: Sequence[tuple[int, str]], computed: int) -> None:
        #: The rows.
        self.table = table
        #: Points of the Pareto front as plain Python; None where no objective was named.
        self.front: Any = None if front is None else json.loads(front)
        #: What must be known beside the numbers.
        self.notes: list[str] = list(notes)
        #: Points that cannot be run, and why.
        self.skipped: list[str] = [why for _, why in skipped]
        #: Runs that were made; the others were known already.
        self.computed = computed

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.table.__arrow_c_stream__(requested_schema)

    def __len__(self) -> int:
        return len(self.table)

    def rows(self) -> list[dict[str, Any]]:
        """The rows as plain Python."""
        columns = {name: self.table.column(name) for name in self.table.column_names}
        return [dict(zip(columns, row)) for row in zip(*columns.values())]

    def __repr__(self) -> str:
        return f"<manx.Sweep: {len(self)} rows, {self.computed} computed>"

    def _repr_html_(self) -> str:
        from html import escape

        names = self.table.column_names
        head = "".join(f"<th>{escape(name)}</th>" for name in names)
        body = ""
        for row in self.rows()[:50]:
            cells = "".join(f"<td>{escape(_cell(value))}</td>" for value in row.values())
            body += f"<tr>{cells}</tr>"
        more = f"<p>and {len(self) - 50} more rows</p>" if len(self) > 50 else ""
        told = "".join(f"<div>{escape(text)}</div>" for text in self.notes)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}{told}"


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if not isinstance(value, float):
        return str(value)
    return f"{value:,.0f}" if 1e3 <= abs(value) < 1e12 else f"{value:.4g}"


def sweep(
    scenario: _options.Path = "oltp",
    *,
    grid: Mapping[str, Axis] | None = None,
    random: Mapping[str, str | tuple[Any, Any]] | None = None,
    points: int | None = None,
    seeds: int | None = None,
    policies: str | Sequence[str] | None = None,
    columns: str | Sequence[str] | None = None,
    pareto: str | Sequence[str] | None = None,
    set: Mapping[str, object] | None = None,
    seed: int | None = None,
    device: _options.Path | None = None,
    workload: _options.Path | None = None,
    trace: _options.Path | None = None,
    attribution: bool = False,
    verify: bool = False,
    out: _options.Path | None = None,
    executor: Any = None,
    client: Any = None,
    jobs: int | None = None,
    cache: bool | _options.Path = True,
    skip_invalid: bool = False,
    force: bool = False,
    progress: Progress = None,
) -> Sweep:
    """Runs a scenario at many values of keys: ``manx sweep``.

    `grid`: values of each key, every combination; `random` with `points`: draws from ``(low,
    high)`` or ``"low..high"``; `seeds`: so many seeds of each point. `columns`: quantities of a row
    (all short names where None); `pareto`: objectives of a front. `skip_invalid` leaves points out
    that cannot be run (:attr:`Sweep.skipped`). `force` takes a folder `out` that has another sweep.
    `policies` are names; `set`, `seed`, `device`, `workload`, `trace`, `attribution`, `verify`,
    `jobs`, `cache` and `progress` are as of :func:`run` and :func:`compare`.

    Without `executor` it runs on this machine's cores, its files in `out` as the command line
    writes them (but ``sweep.parquet``). With one, a ``concurrent.futures`` executor or a
    ``dask.distributed`` client (`client` is the same argument), each point is a task: a pure
    function of its scenario, known by the hash of all that determines it. Results come back as they
    finish and are kept in ``out/points``: the same call does only what is left, more points cost
    only themselves. Workers
    need the same build of this package; one that has another is refused.

    Raises :class:`InputError` before anything runs; :class:`RunError` where a worker fails for
    good (what was done is kept in `out`).
    """
    executor = one_of(executor, client)
    if executor is not None and jobs is not None:
        raise InputError("jobs: with an executor, that says how much runs side by side")
    if not grid and not random and not policies and seeds is None and points is None:
        raise InputError("nothing to sweep: grid={key: values}, random={key: (low, high)}, "
                         "policies=[..] or seeds=N")
    of = _manx.Grid(
        _options.path(scenario, "scenario"),
        command="manx.sweep(..) in Python",
        sets=_options.sets(set, seed),
        device=None if device is None else _options.path(device, "device"),
        workload=None if workload is None else _options.path(workload, "workload"),
        trace=None if trace is None else os.path.abspath(_options.path(trace, "trace")),
        attribution=bool(attribution),
        policies=_options.names(policies, "policies"),
        grid=[f"{key}={_values(values, key)}" for key, values in _axes(grid, "grid")],
        random=[f"{key}={_range(values, key)}" for key, values in _axes(random, "random")],
        points=_options.count(points, "points", 1_000_000),
        seeds=_options.count(seeds, "seeds", 1_000_000),
        verify=bool(verify),
        columns=_options.names(columns, "columns"),
        pareto=_options.names(pareto, "pareto"),
    )
    bar = Bar(progress, ["sweep"])
    try:
        if executor is not None:
            return _over(of, executor, out, verify, _options.cache(cache), skip_invalid, bar)
        with tempfile.TemporaryDirectory(prefix="manx-sweep-") as temporary:
            folder = temporary if out is None else _options.path(out, "out")
            table, front, notes, skipped, known = of.run(
                folder, jobs=_options.count(jobs, "jobs"), cache=_options.cache(cache),
                skip_invalid=bool(skip_invalid), force=bool(force) or out is None,
                progress=bar.points if bar.is_on else None)
        return Sweep(table, front, notes, skipped, len(table) - known)
    finally:
        bar.close()


def one_of(executor: Any, client: Any) -> Any:
    """The executor of a call, by whichever name it was given."""
    if executor is not None and client is not None:
        raise InputError("executor and client: one of them is enough")
    return client if executor is None else executor


def _axes(of: Mapping[str, Any] | None, option: str) -> Iterator[tuple[str, Any]]:
    if of is None:
        return
    if not isinstance(of, Mapping):
        raise InputError(f"{option}: a dict of keys and values is needed, not {type(of).__name__}")
    for key, values in of.items():
        if not isinstance(key, str):
            raise InputError(f"{option}: {key!r} is no key: text such as 'gc.soft'")
        yield key, values


def _text(value: Any, key: str) -> str:
    if isinstance(value, str):
        if "," in value:
            raise InputError(f"grid {key}: {value!r}: a value with a comma cannot be swept", key=key)
        return value
    return _options.toml(value, key)


def _values(values: Axis, key: str) -> str:
    if isinstance(values, str):
        return values
    try:
        listed = list(values)
    except TypeError:
        raise InputError(f"grid {key}: a list of values is needed, not {values!r}",
                         key=key) from None
    return ",".join(_text(value, key) for value in listed)


def _range(values: Any, key: str) -> str:
    if isinstance(values, str):
        return values
    if not isinstance(values, (tuple, list)) or len(values) != 2:
        raise InputError(f"random {key}: (low, high) or 'low..high' is needed, not {values!r}",
                         key=key)
    return "..".join(_text(value, key) for value in values)


def point_of(toml: str, policy: str, key: str, verify: bool, cache: str) -> str:
    """A point, on a worker: its ``result.json``. A pure function of its arguments."""
    point = _manx.Asked("scenario", toml).named(policy)
    here = point.key(verify)
    if here != key:
        raise InputError(f"the worker has another build of manx than who asked ({_manx.__version__} "
                         "here), or another file under the name of a trace: it would compute "
                         "something else")
    return _manx.results_json(_manx.play([point], verify=verify, cache=cache, jobs=1))


def _over(of: _manx.Grid, executor: Any, out: _options.Path | None, verify: bool, cache: str,
          skip_invalid: bool, bar: Bar) -> Sweep:
    invalid = of.invalid()
    settings = len(of) // of.seeds
    if invalid and (not skip_invalid or len(invalid) == settings):
        raise InputError(invalid[0][1])
    bad = {at for at, _ in invalid}
    rows = [row for row in range(len(of)) if row // of.seeds not in bad]
    store = _Store(None if out is None else _Path(_options.path(out, "out")) / "points")
    keys: dict[str, list[int]] = {}
    tasks = {}
    for row in rows:
        point = of.point(row)
        key = point.key(verify)
        if key not in keys and not store.has(key):
            tasks[key] = (point.toml(), point.policy, key, verify, cache)
        keys.setdefault(key, []).append(row)
    done = len(rows) - sum(len(keys[key]) for key in tasks)
    bar.points(done, len(rows))
    for key, text in as_completed(executor, tasks, "point"):
        store.put(key, text)
        done += len(keys[key])
        bar.points(done, len(rows))
    played = {key: _manx.Played.from_json(store.get(key))[0] for key in keys}
    in_order = sorted((row, key) for key, of_key in keys.items() for row in of_key)
    table = of.table([(row, played[key]) for row, key in in_order])
    return Sweep(table, None, [], invalid, len(tasks))


class _Store:
    """Results by their key: in a folder, each with its checksum, or in memory."""

    def __init__(self, folder: _Path | None) -> None:
        self._folder = folder
        self._held: dict[str, str] = {}
        if folder is not None:
            try:
                folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise InputError(f"out: {folder}: cannot make this folder: {error}") from None

    def has(self, key: str) -> bool:
        """It is known, and whole."""
        if key in self._held:
            return True
        if self._folder is None:
            return False
        try:
            seal, _, text = (self._folder / f"{key}.json").read_text("utf-8").partition("\n")
        except (OSError, UnicodeDecodeError):
            return False
        if hashlib.sha256(text.encode()).hexdigest() != seal:
            return False
        self._held[key] = text
        return True

    def put(self, key: str, text: str) -> None:
        """Keeps a result; its file has its name once it is whole."""
        self._held[key] = text
        if self._folder is None:
            return
        part = self._folder / f"{key}.{os.getpid()}.part"
        try:
            part.write_text(f"{hashlib.sha256(text.encode()).hexdigest()}\n{text}", "utf-8")
            part.replace(self._folder / f"{key}.json")
        except OSError as error:
            raise RunError(f"{self._folder}: cannot keep a result: {error}") from None

    def get(self, key: str) -> str:
        """A result that is known."""
        return self._held[key]


def as_completed(executor: Any, tasks: Mapping[str, tuple[Any, ...]],
                 kind: str) -> Iterator[tuple[str, Any]]:
    """Results of tasks, as they finish, each with its key. What a worker raises goes on; what has
    not begun is called off then."""
    from . import _sweeps as module

    function = _FUNCTIONS[kind]() if kind in _FUNCTIONS else module.point_of
    if type(executor).__module__.split(".")[0] == "distributed":
        yield from _dask(executor, function, tasks)
        return
    if not callable(getattr(executor, "submit", None)):
        raise InputError(f"executor: one of concurrent.futures or a dask client is needed, not "
                         f"{type(executor).__name__}")
    from concurrent import futures

    under_way = {executor.submit(function, *task): key for key, task in tasks.items()}
    try:
        for future in futures.as_completed(under_way):
            try:
                yield under_way[future], future.result()
            except futures.BrokenExecutor as error:
                raise RunError(f"a worker died: {error}; what was done is kept in `out`") from None
    finally:
        for future in under_way:
            future.cancel()


def _dask(client: Any, function: Any,
          tasks: Mapping[str, tuple[Any, ...]]) -> Iterator[tuple[str, Any]]:
    completed = import_module("distributed").as_completed
    under_way = {}
    for key, task in tasks.items():
        future = client.submit(function, *task, key=f"manx-{key}", pure=True, retries=3)
        under_way[future.key] = (key, future)
    futures = [future for _, future in under_way.values()]
    arriving = completed(futures, with_results=True, loop=client.loop)
    del futures
    try:
        for future, result in arriving:
            key, _ = under_way.pop(future.key)
            # A result that is still wanted is computed again when the worker that has it dies.
            future.release()
            yield key, result
    finally:
        client.cancel([future for _, future in under_way.values() if not future.done()])


def _fleet_function() -> Any:
    from ._fleet import part_of

    return part_of


_FUNCTIONS = {"fleet": _fleet_function}


def result_of(text: str) -> Result:
    """The one result of a ``result.json``."""
    return Result(_manx.Played.from_json(text)[0])
