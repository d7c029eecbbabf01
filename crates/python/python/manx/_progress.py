"""Progress of runs: tqdm where it is installed and somebody looks, else quiet."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any, Union

#: True, False, or a function that gets a share from 0 to 1 and a few words; None: where somebody
#: looks.
Progress = Union[bool, Callable[[float, str], object], None]


class Bar:
    """A bar of shares; nothing where it is not wanted."""

    def __init__(self, wanted: Progress, names: list[str]) -> None:
        self._tell = wanted if callable(wanted) else None
        self._names = names
        self._parts = [0.0] * len(names)
        self._bar: Any = None
        if self._tell is None and wanted is not False and (wanted or _is_watched()):
            self._bar = _tqdm()

    @property
    def is_on(self) -> bool:
        """Somebody looks."""
        return self._tell is not None or self._bar is not None

    def runs(self, told: list[tuple[int, str, float, int]]) -> None:
        """News of runs: number, phase, share (or -1), done."""
        words = ""
        for run, phase, part, _ in told:
            self._parts[run] = 1.0 if phase == "finished" else max(part, 0.0)
            words = f"{self._names[run]}: {phase}"
        self.show(sum(self._parts) / max(len(self._parts), 1), words)

    def points(self, done: int, total: int) -> None:
        """So many points of a sweep are done."""
        self.show(done / max(total, 1), f"{done} of {total} points")

    def show(self, share: float, words: str) -> None:
        """A share of all, and what is going on."""
        if self._tell is not None:
            self._tell(share, words)
        elif self._bar is not None:
            self._bar.n = round(100 * share, 1)
            self._bar.set_description_str(words, refresh=True)

    def close(self) -> None:
        """It is over."""
        if self._bar is not None:
            self._bar.close()


def _is_watched() -> bool:
    return "ipykernel" in sys.modules or sys.stderr is not None and sys.stderr.isatty()


def _tqdm() -> Any:
    try:
        tqdm = importlib.import_module("tqdm.auto").tqdm
    except ImportError:
        return None
    return tqdm(total=100, unit="%", leave=False, bar_format="{l_bar}{bar}| {elapsed}")
