"""fit: a device table of a real drive's measurements."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path as _Path

from . import _manx, _options
from ._progress import Bar, Progress
from .errors import InputError, RunError
from .results import Fields, as_pre


class Twin(Fields):
    """A device fitted to measurements: the report's fields as attributes, its text by ``str``.

    :meth:`save` writes what ``manx fit`` writes; :attr:`device` and :attr:`scenario` are the texts.
    """

    __slots__ = ("_text", "device", "is_partial", "name", "scenario")

    def __init__(self, name: str, made: tuple[str, str, str, str, bool]) -> None:
        device, scenario, document, text, is_partial = made
        super().__init__(json.loads(document))
        #: The name of the device.
        self.name: str = name
        #: The device table (TOML), each number with its source.
        self.device: str = device
        #: The scenario beside it (TOML).
        self.scenario: str = scenario
        #: True: it was stopped, and is the best so far.
        self.is_partial: bool = is_partial
        self._text = text

    def save(self, folder: _options.Path, *, force: bool = False) -> _Path:
        """Writes NAME.toml, NAME-scenario.toml and NAME-fit.json into `folder`; the path of the
        scenario, which ``manx.run`` takes.

        Raises :class:`InputError` where a file is there already, unless `force`;
        :class:`RunError` where one cannot be written.
        """
        to = _Path(_options.path(folder, "folder"))
        files = {
            to / f"{self.name}.toml": self.device,
            to / f"{self.name}-scenario.toml": self.scenario,
            to / f"{self.name}-fit.json": json.dumps(self.to_dict(), indent=2) + "\n",
        }
        for file in files:
            if file.exists() and not force:
                raise InputError(f"{file}: it is there already; force=True replaces it")
        try:
            to.mkdir(parents=True, exist_ok=True)
            for file, text in files.items():
                file.write_text(text, encoding="utf-8")
        except OSError as error:
            raise RunError(f"{to}: cannot write here: {error}") from None
        return to / f"{self.name}-scenario.toml"

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"<manx.Twin: {self.name}>"

    def _repr_html_(self) -> str:
        return as_pre(self._text)


def fit(
    measured: _options.Path | Iterable[_options.Path],
    name: str,
    *,
    base: _options.Path = "tlc-enterprise",
    capacity: str | int | None = None,
    state: str | None = None,
    hold_out: str = "each",
    known: Mapping[str, str] | None = None,
    seed: int = 1,
    requests: int = 12_000,
    evaluations: int = 600,
    jobs: int | None = None,
    journal: _options.Path | None = None,
    progress: Progress = None,
) -> Twin:
    """Fits a device to what a drive was measured to do: ``manx fit``.

    `measured`: files of fio's JSON (random reads of one size, or writes to a fresh drive), or CSV
    of the windows of a long write; ``FILE@STATE`` for one of another state than `state`
    (``"fresh"``, ``"filled"``, ``"overwritten:N"``). `name` is that of the new device, `base` the one that it starts from.
    `capacity`: bytes that the host sees, a number or ``"1TB"``. `hold_out`: what is left out and
    predicted: ``"each"``, ``"after:2.5"``, ``"name:RUN,RUN"``, ``"none"``. `known`: numbers that are
    not looked for, or only between two, ``{"drive.link": "7GB/s"}``. `requests` (1,000 to
    10,000,000) count in each simulation, `evaluations` (2 to 1,000,000) are the points of the last
    stage; `jobs` simulations go side by side, one for each core where None. `journal`: a file that
    remembers what was simulated, so that the same call goes on where it was stopped. `seed` is that
    of the search and of the simulations; `progress` as of :func:`run`.

    Raises :class:`InputError` where a measurement cannot be read or an option is wrong;
    :class:`RunError` where the work failed.
    """
    if isinstance(measured, (str, os.PathLike)):
        measured = [measured]
    try:
        given = list(measured)
    except TypeError:
        kind = type(measured).__name__
        raise InputError(f"measured: a list of files is needed, not {kind}") from None
    if not given:
        raise InputError("measured: the list is empty: name the files of what was measured")
    for key, value, least, most in [("seed", seed, 0, 2**63 - 1),
                                    ("requests", requests, 1_000, 10_000_000),
                                    ("evaluations", evaluations, 2, 1_000_000)]:
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise InputError(f"{key} = {value!r} is not allowed: a whole number from {least} to "
                             f"{most}", key=key)
    for key, text in [("name", name), ("hold_out", hold_out), ("state", state or "")]:
        if not isinstance(text, str):
            raise InputError(f"{key}: text is needed, not {type(text).__name__}", key=key)
    try:
        said = [f"{key}={value}" for key, value in dict(known or {}).items()]
    except (TypeError, ValueError):
        raise InputError(f"known: keys with their values are needed, not {type(known).__name__}",
                         key="known") from None
    asked = _Asked()
    asked.known = said
    asked.name, asked.base = name, _options.path(base, "base")
    asked.state, asked.hold_out = state, hold_out
    asked.capacity = None if capacity is None else str(capacity)
    asked.seed, asked.requests, asked.evaluations = seed, requests, evaluations
    asked.jobs = _options.count(jobs, "jobs")
    files = [_options.path(one, "measured") for one in given]
    bar = Bar(progress, [name])
    tell = _Told(bar, evaluations) if bar.is_on else None
    try:
        with tempfile.TemporaryDirectory(prefix="manx-fit-") as folder:
            kept = os.path.join(folder, "journal")
            if journal is not None:
                kept = _options.path(journal, "journal")
            return Twin(name, _manx.fit(files, asked, kept, tell))
    finally:
        bar.close()


class _Asked:
    """What is asked for, as the native half takes it."""

    name: str
    base: str
    state: str | None
    hold_out: str
    known: list[str]
    capacity: str | None
    seed: int
    requests: int
    evaluations: int
    jobs: int | None


class _Told:
    """News of the search: how long it takes is not known before, so the share is a guess."""

    def __init__(self, bar: Bar, evaluations: int) -> None:
        self.bar, self.about = bar, 3 * evaluations

    def __call__(self, done: int, stage: str) -> None:
        share = done / (done + self.about)
        self.bar.show(share, f"{done} points, {stage}")
