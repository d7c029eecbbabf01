"""Block traces: what is in them, and public ones by name.

A trace by name is downloaded by the machine that asks for it, once, into the user's cache, and is
verified by its SHA-256 before it is used. One small sample is inside the package: ``pgbench``.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from pathlib import Path as _Path
from typing import Any

from . import _manx, _options
from .errors import InputError, RunError
from .results import Fields

__all__ = ["Trace"]

_DATA = _Path(__file__).parent / "data"
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
        listed = _registry(registry)
        if name not in listed:
            near = _options.nearest(str(name), listed)
            raise InputError(f"no trace is called {name!r}; there are {', '.join(listed)}{near}")
        entry = listed[name]
        folder = _Path(_options.path(cache, "cache")) if cache is not None else _folder()
        file = _fetched(name, entry, folder)
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
    file = _DATA / "traces.json" if path is None else _Path(_options.path(path, "registry"))
    try:
        listed = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{file}: this is no registry of traces: {error}",
                         file=str(file)) from None
    needed = ("title", "source", "licence", "url", "bytes", "sha256")
    if not isinstance(listed, Mapping):
        raise InputError(f"{file}: this is no registry of traces: a table of names is needed",
                         file=str(file))
    for name, entry in listed.items():
        for key in needed:
            if not isinstance(entry, Mapping) or key not in entry:
                raise InputError(f"{file}: {name}: {key} is missing", file=str(file), key=key)
    return dict(listed)


def _folder() -> _Path:
    for name, below in (("MANX_CACHE", "traces"), ("XDG_CACHE_HOME", "manx/traces")):
        if os.environ.get(name):
            return _Path(os.environ[name]) / below
    return _Path.home() / ".cache" / "manx" / "traces"


def _fetched(name: str, entry: Mapping[str, Any], folder: _Path) -> _Path:
    """The file of an entry, whole and verified."""
    url, sha256 = str(entry["url"]), str(entry["sha256"])
    if url.startswith("package:"):
        file = _DATA / url.removeprefix("package:")
        _verified(name, file, sha256)
        return file
    ending = "".join(_Path(urllib.parse.urlparse(url).path).suffixes[-2:])
    kept = folder / f"{sha256[:16]}-{name}{ending}"
    if kept.is_file():
        try:
            _verified(name, kept, sha256)
            return kept
        except RunError:
            # A damaged file is fetched again.
            kept.unlink()
    if urllib.parse.urlparse(url).scheme not in ("http", "https", "file"):
        raise InputError(f"{name}: {url}: http, https or file is needed; for another scheme "
                         "download it and use Trace.open")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor, part = tempfile.mkstemp(dir=folder, prefix=f"{name}.", suffix=".part")
    except OSError as error:
        raise RunError(f"{folder}: cannot keep a trace here: {error}") from None
    try:
        with os.fdopen(descriptor, "wb") as to, urllib.request.urlopen(url, timeout=60) as of:
            shutil.copyfileobj(of, to, _CHUNK)
        _verified(name, _Path(part), sha256)
        os.replace(part, kept)
    except (OSError, urllib.error.URLError) as error:
        raise RunError(f"{name}: cannot download {url}: {error}") from None
    finally:
        if os.path.exists(part):
            os.unlink(part)
    return kept


def _verified(name: str, file: _Path, sha256: str) -> None:
    digest = hashlib.sha256()
    try:
        with open(file, "rb") as of:
            while chunk := of.read(_CHUNK):
                digest.update(chunk)
    except OSError as error:
        raise RunError(f"{name}: {file}: cannot read it: {error}") from None
    if digest.hexdigest() != sha256:
        raise RunError(f"{name}: {file.name} is not what the registry says: SHA-256 "
                       f"{digest.hexdigest()}, expected {sha256}; nothing was kept")
