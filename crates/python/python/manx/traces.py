"""Block traces: what is in them, and public ones by name.

A trace by name is downloaded by the machine that asks for it, once, into the user's cache, and is
verified by its SHA-256 before it is used. One small sample is inside the library: ``pgbench``.
"""

from __future__ import annotations

import json
import os
import shutil
import urllib.request
from importlib import import_module
from pathlib import Path as _Path
from typing import Any

from . import _manx, _options
from .errors import InputError, RunError
from .results import Fields

__all__ = ["Trace"]

#: Bytes that are read at once.
_CHUNK = 1 << 20


class Trace:
    """A block trace: a file, and how it is read.

    ``manx.run(trace=Trace.open(..))`` replays it. `path` is the file.
    """

    def __init__(self, path: str, sets: list[tuple[str, str, str]], about: dict[str, Any]) -> None:
        self.path = path
        #: Keys of ``workload.trace``, as the native half takes them.
        self.sets = sets
        #: Of a trace by name: its source, licence and citation; else empty.
        self.about = about
        self._info: Fields | None = None

    @classmethod
    def open(cls, path: _options.Path, **reading: Any) -> Trace:
        """The trace of a file (.gz, .zst, .xz, .bz2, a.tar:member are read in place).

        `reading`: keys of ``workload.trace``: ``format``, ``time_unit``, ``lba_unit``, ``event``,
        ``devices``, ``start`` (its key is `from`), ``to``, ``skip``, ``head``, ``remap``,
        ``layout``, ``rate_scale``, ``repeat``, ``align``.

        Raises :class:`InputError` where it cannot be read, or a key or value is wrong.

        >>> import manx
        >>> t = manx.Trace.get("pgbench", head=1000)
        >>> t.info.reads + t.info.writes <= 1000
        True
        """
        name = os.path.abspath(_options.path(path, "path"))
        keys = {("from" if key == "start" else key): value for key, value in reading.items()}
        sets = [(f"workload.trace.{key}", value, said)
                for key, value, said in _options.sets(keys, option="trace")]
        trace = cls(name, sets, {})
        trace.info  # noqa: B018  It is read once, here, where what is wrong is told.
        return trace

    @classmethod
    def get(cls, name: str, *, registry: _options.Path | None = None,
            cache: _options.Path | None = None, **reading: Any) -> Trace:
        """A trace of the registry (:meth:`known`) by its name, from the cache, else downloaded.

        `registry`: another registry, a JSON file of the same form. `cache`: the folder; that of
        the user where None. `reading` as of :meth:`open`, over what the registry says.

        Raises :class:`InputError` where there is no such name; :class:`RunError` where it cannot be
        downloaded, or is not what the registry says: nothing is kept then.
        """
        of, kept = _named(registry, "registry"), _named(cache, "cache")
        file = _manx.trace_file(str(name), of, kept, _download)
        entry = _registry(registry)[name]
        trace = cls.open(file, **{**entry.get("read", {}), **reading})
        trace.about = {key: entry.get(key) for key in ("title", "source", "licence", "cite")}
        return trace

    @staticmethod
    def known(registry: _options.Path | None = None) -> dict[str, dict[str, Any]]:
        """The registry (`registry`: another one, a JSON file): of each name its title, source,
        licence, size (bytes), SHA-256, and how it is read."""
        return _registry(registry)

    @property
    def info(self) -> Fields:
        """What it holds, as ``manx trace info --json``: counts, times, locality, latencies."""
        if self._info is None:
            self._info = Fields(json.loads(_manx.trace_about(self.path, self.sets)))
        return self._info

    def requests(self) -> _manx.Table:
        """Its requests: `t_us`, `op`, `offset`, `bytes`, `latency_us` (null where the format has
        none), `device`."""
        return _manx.trace_requests(self.path, self.sets)

    def __repr__(self) -> str:
        return f"Trace({self.path!r})"


def _registry(path: _options.Path | None) -> dict[str, dict[str, Any]]:
    listed: dict[str, dict[str, Any]] = json.loads(_manx.trace_registry(_named(path, "registry")))
    return listed


def _named(path: _options.Path | None, what: str) -> _Path | None:
    return None if path is None else _Path(_options.path(path, what))


def _download(url: str, to: _Path) -> None:
    """Brings the bytes of an address into a file: ``s3://`` by fsspec, else by Python's own
    means."""
    try:
        with _opened(url) as of, open(to, "wb") as file:
            shutil.copyfileobj(of, file, _CHUNK)
    except ImportError as error:
        raise InputError(f"{url}: pip install s3fs, or download the file and name it where a trace "
                         f"is asked for ({error})") from None
    except Exception as error:  # noqa: BLE001  What a store raises is not only of OSError.
        raise RunError(f"cannot get {url}: {error}") from None


def _opened(url: str) -> Any:
    if not url.startswith("s3://"):
        return urllib.request.urlopen(url, timeout=60)
    # s3fs takes credentials, endpoint and region from where every tool of AWS does.
    return import_module("fsspec").open(url, "rb")
