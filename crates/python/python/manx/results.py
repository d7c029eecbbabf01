"""Results as objects: numbers by name, tables by Arrow, pages and pictures."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from html import escape
from importlib import import_module
from pathlib import Path as _Path
from typing import TYPE_CHECKING, Any, overload

from . import _manx, _options
from .errors import InputError, RunError

if TYPE_CHECKING:
    from .scenario import Scenario

__all__ = ["Fields", "Result", "Results"]


class Fields:
    """A part of a result: its fields as attributes, as in ``result.json``.

    A section that does not apply is None, as is a number that was not measured.
    """

    __slots__ = ("_of", "_where")

    def __init__(self, of: dict[str, Any], where: str = "") -> None:
        self._of = of
        self._where = where

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name not in self._of:
            near = _options.nearest(name, self._of)
            raise AttributeError(f"there is no {self._where}{name} in this result{near}")
        return _field(self._of[name], f"{self._where}{name}.")

    def __getitem__(self, name: str) -> Any:
        return _field(self._of[name], f"{self._where}{name}.")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._of]

    def to_dict(self) -> dict[str, Any]:
        """The fields as plain Python."""
        return self._of

    def __repr__(self) -> str:
        return f"Fields({', '.join(self._of)})"


def _field(value: Any, where: str) -> Any:
    if isinstance(value, dict):
        return Fields(value, where)
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return [Fields(one, where) for one in value]
    return value


def as_pre(text: str) -> str:
    """Text in columns, for a notebook: there a bare ``pre`` takes the letters of the page."""
    return f'<pre style="font-family: monospace">{escape(text)}</pre>'


class Result(Fields):
    """One run: every field of ``manx schema result`` is an attribute (``r.read.p99_9_us``, us).
    The two that share their name with a table are ``r["requests"]`` (how many) and
    ``r["attribution"]``.

    The tables are :class:`manx.Table`: any library that knows Arrow's PyCapsule interface reads
    them without a copy (``polars.DataFrame(t)``, ``pyarrow.table(t)``, ``duckdb.sql("from t")``).
    """

    __slots__ = ("_played",)

    def __init__(self, played: _manx.Played) -> None:
        super().__init__(json.loads(played.json()))
        self._played = played

    @property
    def native(self) -> _manx.Played:
        """The native object behind it."""
        return self._played

    @property
    def scenario_used(self) -> Scenario | None:
        """The scenario with the policy merged in, as it was run; None of a result that was read."""
        from .scenario import Scenario

        point = self._played.point
        return None if point is None else Scenario.from_toml(point.toml(), point.policy)

    @property
    def python_calls(self) -> tuple[int, float]:
        """Calls of a policy in Python, and the seconds that they took; (0, 0.0) of native ones.

        They count all runs that were made of this policy in one call of manx.
        """
        point = self._played.point
        return (0, 0.0) if point is None else point.calls or (0, 0.0)

    def requests(self) -> _manx.Table:
        """Every request, in the order of completions: the columns of docs/result.md.

        Keep ``counted`` rows to get the numbers of the result. Raises
        :class:`~manx.errors.InputError` where they were not kept (``requests=True``).
        """
        return self._kept(self._played.requests(), "requests")

    def timeline(self) -> _manx.Table:
        """What dies, channels, GC runs and slow requests did: `track` (die, channel, gc,
        request), `name`, `drive`, `place` (number of the die, channel or pool, or first sector),
        `block`, `start_ns`, `end_ns`, `gc`.

        Raises :class:`~manx.errors.InputError` where it was not kept (``timeline=True``).
        """
        return self._kept(self._played.timeline(), "timeline")

    def _kept(self, table: _manx.Table | None, option: str) -> _manx.Table:
        if table is None:
            raise InputError(f"{option}() was not kept: run it with {option}=True")
        return table

    def curve(self, op: str = "read") -> _manx.Table:
        """The distribution of latencies: `beyond` (ratio) of the requests took longer than `us`.

        `op`: ``"read"`` or ``"write"``.
        """
        return self._played.curve(_is_write(op))

    def histogram(self, op: str = "read") -> _manx.Histogram:
        """All counted latencies, in buckets that merge exactly; `op` as of :meth:`curve`.

        Raises :class:`~manx.errors.InputError` of a result that was read from a file.
        """
        histogram = self._played.histogram(_is_write(op))
        if histogram is None:
            raise InputError("a result that was read from a file has a curve and no histogram")
        return histogram

    def attribution(self) -> _manx.Table:
        """The mean latency by cause (us): `kind` (read, write), `band` (all, p99, ..), `count`, and
        a column for each cause. No rows without ``attribution=True``."""
        return self._played.attribution()

    def quantity(self, name: str) -> float | None:
        """A number by its short name or its path: ``p99_9``, ``flash.waf``; None: not measured.

        Raises :class:`~manx.errors.InputError` where there is no such number.
        """
        value: Any = self._of
        for part in SHORT.get(name, name).split("."):
            if value is None:
                return None
            if not isinstance(value, dict) or part not in value:
                near = _options.nearest(name, [*SHORT, *self._of])
                raise InputError(f"no quantity is called {name!r}{near}")
            value = value[part]
        if value is None or isinstance(value, (int, float)):
            return value
        raise InputError(f"{name!r} is no number")

    def to_json(self) -> str:
        """It as a whole ``result.json``."""
        return _manx.results_json([self._played])

    def __repr__(self) -> str:
        return f"<manx.Result: {self._of['policy']}, {self._of['requests']} requests>"

    def _repr_html_(self) -> str:
        return Results([self])._repr_html_()


#: Short names of numbers, and what they stand for.
SHORT = {
    "mean": "read.mean_us",
    "p50": "read.p50_us",
    "p90": "read.p90_us",
    "p95": "read.p95_us",
    "p99": "read.p99_us",
    "p99_9": "read.p99_9_us",
    "p99_99": "read.p99_99_us",
    "p99_999": "read.p99_999_us",
    "max": "read.max_us",
    "iops": "read.iops",
    "write_mean": "write.mean_us",
    "write_p99": "write.p99_us",
    "write_p99_9": "write.p99_9_us",
    "write_p99_99": "write.p99_99_us",
    "write_max": "write.max_us",
    "write_iops": "write.iops",
    "waf": "flash.waf",
    "erases": "flash.erases",
    "blocked": "gc.blocked_reads_percent",
    "gc_runs": "gc.runs",
    "mismatches": "verify.mismatches",
}


def _is_write(op: str) -> bool:
    if op not in ("read", "write"):
        raise InputError(f'op = {op!r} is not allowed: "read" or "write"', value=repr(op))
    return op == "write"


class Results(Sequence[Result]):
    """The runs of a comparison, in the order of their policies; the first is the baseline.

    ``results["base"]`` and ``results[0]`` are runs.
    """

    def __init__(self, runs: Sequence[Result], *, workload: str | None = None,
                 command: str = "", notes: Sequence[str] = ()) -> None:
        self._runs = list(runs)
        self._workload = workload
        self._command = command
        self._notes = list(notes)

    @overload
    def __getitem__(self, which: int | str) -> Result: ...

    @overload
    def __getitem__(self, which: slice) -> Results: ...

    def __getitem__(self, which: int | str | slice) -> Result | Results:
        if isinstance(which, slice):
            return Results(self._runs[which], workload=self._workload, command=self._command)
        if isinstance(which, str):
            for run in self._runs:
                if run.policy == which:
                    return run
            near = _options.nearest(which, self.policies)
            raise InputError(f"no run is called {which!r}; there are "
                             f"{', '.join(self.policies)}{near}")
        return self._runs[which]

    def __contains__(self, which: object) -> bool:
        return which in self.policies if isinstance(which, str) else which in self._runs

    def __len__(self) -> int:
        return len(self._runs)

    def __iter__(self) -> Iterator[Result]:
        return iter(self._runs)

    @property
    def policies(self) -> list[str]:
        """Names of the runs."""
        return [run.policy for run in self._runs]

    @property
    def notes(self) -> list[str]:
        """What must be known beside the numbers: no GC happened, another state than expected,
        policies that differ in more than one thing, settings without an effect."""
        return [*self._notes, *_manx.results_notes(self._native())]

    @property
    def warnings(self) -> list[str]:
        """Warnings, each once, with the names of the runs where it is not about all."""
        return _manx.results_warnings(self._native())

    def _native(self) -> list[_manx.Played]:
        return [run.native for run in self._runs]

    def to_json(self) -> str:
        """The ``result.json`` of these runs: outside ``machine`` the same bytes as
        ``manx compare`` writes."""
        return _manx.results_json(self._native())

    @classmethod
    def from_json(cls, text: str) -> Results:
        """Reads `text`, that of a ``result.json``.

        Raises :class:`~manx.errors.InputError` where it is none.
        """
        return cls([Result(played) for played in _manx.Played.from_json(text)])

    @classmethod
    def open(cls, path: _options.Path) -> Results:
        """Reads the ``result.json`` at `path`, or the one in that folder of ``--out``.

        Raises :class:`~manx.errors.InputError` where it cannot be read, or is none.
        """
        file = _Path(_options.path(path, "path"))
        file = file / "result.json" if file.is_dir() else file
        try:
            text = file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{file}: cannot read it: {error}", file=str(file)) from None
        return cls.from_json(text)

    def save(self, folder: _options.Path) -> None:
        """Writes ``result.json``, ``report.html`` and the scenarios into `folder`, as ``--out``.

        Raises :class:`~manx.errors.RunError` where that cannot be.
        """
        where = _Path(_options.path(folder, "folder"))
        files = {"result.json": self.to_json(), "report.html": self.to_html()}
        for run in self._runs:
            point = run.native.point
            if point is not None:
                name = "".join(c if c.isalnum() or c in "-_.+" else "-" for c in run.policy)
                one = "scenario.toml" if len(self._runs) == 1 else f"scenario.{name}.toml"
                files[one] = point.toml()
        try:
            where.mkdir(parents=True, exist_ok=True)
            for name, text in files.items():
                (where / name).write_text(text, encoding="utf-8")
        except OSError as error:
            raise RunError(f"{where}: cannot write it: {error}") from None

    def table(self, *names: str) -> dict[str, list[Any]]:
        """Numbers by name (`names`; times are us), as columns: ``results.table("p99_9", "waf")``;
        `policy` is the first.

        >>> import manx
        >>> r = manx.compare("quick", ["nogc"], set={"workload.requests": 2000}, cache=False)
        >>> list(r.table("p99", "waf"))
        ['policy', 'p99', 'waf']
        """
        chosen = names or ("mean", "p50", "p99", "p99_9", "p99_99", "max", "iops", "waf", "blocked")
        columns: dict[str, list[Any]] = {"policy": list(self.policies)}
        for name in chosen:
            columns[name] = [run.quantity(name) for run in self._runs]
        return columns

    def explain(self, kind: str = "all", top: int = 5) -> str:
        """Where the time of the `top` (0 to 20) slowest requests went, in words; `kind`: all, reads
        or writes.

        Raises :class:`~manx.errors.InputError` without ``attribution=True``.
        """
        if isinstance(top, bool) or not isinstance(top, int) or not 0 <= top <= 20:
            raise InputError(f"top = {top!r} is not allowed: a whole number from 0 to 20")
        return _manx.results_explain(self._native(), kind, top)

    def to_html(self) -> str:
        """The page of ``--out``: it needs no network."""
        return _manx.results_page(self._native(), self._workload, self._command)

    def plot(self, kind: str = "cdf", *, op: str = "read", title: str | None = None,
             width: str = "160mm", height: str = "90mm", file: _options.Path | None = None) -> Plot:
        """A picture: `kind` is ``cdf``, ``time``, ``attribution`` or ``bars``, `op` ``read`` or
        ``write``; `title`, and `width` and `height` (``"160mm"``) of the whole.

        With `file` (.svg, .pdf, .png) it is written there, too. Raises
        :class:`~manx.errors.InputError` where one of these is not allowed.
        """
        plot = Plot(self._native(), kind, op, title, width, height)
        if file is not None:
            plot.save(file)
        else:
            plot.svg()
        return plot

    def matplotlib(self, axes: Any = None, *, op: str = "read") -> Any:
        """The distributions of `op` (``read``, ``write``; us) on matplotlib's `axes` (new ones where
        None), over an axis of nines; the axes.

        Raises :class:`~manx.errors.InputError` where matplotlib is not installed.
        """
        try:
            pyplot = import_module("matplotlib.pyplot")
        except ImportError:
            raise InputError("matplotlib is not installed: plot() draws without it") from None
        if axes is None:
            axes = pyplot.subplots()[1]
        for run in self._runs:
            curve = run.curve(op)
            axes.plot([1 / beyond for beyond in curve.column("beyond")], curve.column("us"),
                      drawstyle="steps-post", label=run.policy)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel("one request in so many is slower")
        axes.set_ylabel(f"{op} latency (us)")
        axes.legend()
        return axes

    def __str__(self) -> str:
        return _manx.results_text(self._native(), 100, False)

    def __repr__(self) -> str:
        return f"<manx.Results: {', '.join(self.policies)}>"

    def _repr_html_(self) -> str:
        columns = self.table()
        names = {"policy": "policy", "iops": "reads/s", "waf": "WAF", "blocked": "reads behind GC"}
        head = "".join(f"<th>{escape(names.get(name, name.replace('_', '.')))}</th>"
                       for name in columns)
        body = ""
        for row in zip(*columns.values()):
            cells = (f"<td>{escape(_cell(name, value))}</td>" for name, value in zip(columns, row))
            body += f"<tr>{''.join(cells)}</tr>"
        told = "".join(f"<div>{escape(text)}</div>" for text in (*self.notes, *self.warnings))
        return (f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
                f"<div style='font-size:smaller;max-width:60em'>{told}</div>")


def _cell(name: str, value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, str):
        return value
    if name == "blocked":
        return f"{value:.3g} %"
    if name == "waf":
        return f"{value:.3f}"
    if name == "iops":
        return f"{value:,.0f}"
    for unit, us in (("s", 1e6), ("ms", 1e3)):
        if value >= us:
            return f"{value / us:.4g} {unit}"
    return f"{value:.4g} us"


class Plot:
    """A picture that a notebook shows; :meth:`save` writes it."""

    def __init__(self, runs: list[_manx.Played], kind: str, op: str, title: str | None,
                 width: str, height: str) -> None:
        self._drawn = (runs, kind, op, title, width, height)

    def _draw(self, format: str) -> bytes:
        runs, kind, op, title, width, height = self._drawn
        return _manx.results_plot(runs, kind=kind, op=op, format=format, title=title, width=width,
                                  height=height)

    def svg(self) -> str:
        """It as SVG."""
        return self._draw("svg").decode()

    def png(self) -> bytes:
        """It as PNG, 600 dots an inch."""
        return self._draw("png")

    def save(self, file: _options.Path) -> None:
        """Writes it; the ending of the name (.svg, .pdf, .png) is the format."""
        name = _options.path(file, "file")
        drawn = self._draw(name.rpartition(".")[2] if "." in name else "")
        try:
            _Path(name).write_bytes(drawn)
        except OSError as error:
            raise RunError(f"{name}: cannot write it: {error}") from None

    def _repr_svg_(self) -> str:
        return self.svg()
