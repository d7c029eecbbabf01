"""A drive in your hands: for people who put Manx under a simulator of their own."""

from __future__ import annotations

import json
from array import array
from collections.abc import Mapping
from typing import Any

from . import _manx, _options
from ._runs import AnyPolicy, AnyScenario, asked, points
from .errors import InputError
from .results import Fields

__all__ = ["Completions", "Drive"]


class Completions:
    """Commands that have completed, in the order of their completions.

    Each column is a numpy array where numpy is installed, else an ``array`` of the same numbers.
    :attr:`table` is all of it as a :class:`manx.Table`.
    """

    def __init__(self, table: _manx.Table) -> None:
        #: `id`, `t_ns`, `latency_ns`, `op` (R, W, F, D), `status`, `gc_blocked`.
        self.table = table

    def __len__(self) -> int:
        return len(self.table)

    def _numbers(self, name: str) -> Any:
        raw = self.table.buffer(name)
        try:
            import numpy
        except ImportError:
            return array("q", raw)
        return numpy.frombuffer(raw, dtype=numpy.int64)

    @property
    def id(self) -> Any:
        """Number of the command: its place among all that were submitted, from 0."""
        return self._numbers("id")

    @property
    def t_ns(self) -> Any:
        """When it completed (ns)."""
        return self._numbers("t_ns")

    @property
    def latency_ns(self) -> Any:
        """From its submission to its completion (ns)."""
        return self._numbers("latency_ns")

    @property
    def op(self) -> list[str]:
        """Kinds: ``R``, ``W``, ``F`` or ``D``."""
        return self.table.column("op")

    @property
    def status(self) -> list[str]:
        """How each ended: ``success``, or the name of an error."""
        return self.table.column("status")

    @property
    def gc_blocked(self) -> list[bool]:
        """Whether some garbage collection lay in its wait."""
        return self.table.column("gc_blocked")

    def __repr__(self) -> str:
        return f"<manx.Completions: {len(self)}>"


class Drive:
    """The drive, or the array, of a scenario, preconditioned, at time 0.

    Times are whole nanoseconds up to 2**62, addresses and lengths sectors of 512 B. Commands come in the order
    of their times; each is submitted after everything before its time has been done. `policy`,
    `set`, `seed`, `device` and `cache` are as of :func:`manx.run`; the scenario's workload is not
    played.

    >>> import manx
    >>> d = manx.Drive("quick", cache=False)
    >>> d.submit(0, "R", 0, 8)
    0
    >>> d.drain() > 0
    True
    >>> c = d.completions()
    >>> len(c), c.status
    (1, ['success'])
    """

    def __init__(
        self,
        scenario: AnyScenario = "oltp",
        policy: AnyPolicy | None = None,
        *,
        set: Mapping[str, object] | None = None,
        seed: int | None = None,
        device: _options.Path | None = None,
        cache: bool | _options.Path = True,
    ) -> None:
        of = asked(scenario, set=set, seed=seed, device=device, workload=None, trace=None,
                   attribution=False)
        point = of.plain() if policy is None else points(of, [policy])[0]
        self._native = _manx.Device(point, _options.cache(cache))

    def submit(self, t: Any, op: Any, lba: Any, n: Any, *, stream: int = 0,
               fua: bool = False) -> int:
        """Submits a command, or a batch of them; the number of the first.

        `t` (ns), `lba` and `n` (sectors of 512 B): numbers, numpy arrays, lists, or anything with
        the buffer protocol; a single number goes for all. `op`: ``"R"``, ``"W"``, ``"F"`` (flush)
        or ``"D"`` (discard), one letter for each command (``"RRWR"``, or bytes, or an array of
        bytes), or one for all. `stream`: the placement hint of writes, 0 to 255. `fua`: they
        complete only when they are durable.

        Raises :class:`~manx.errors.InputError`, which names the command, where one goes back in
        time or lies beyond the drive: those before it are submitted.
        """
        lengths = [_length(one) for one in (t, lba, n)]
        many = op if isinstance(op, (str, bytes)) else None
        lengths.append(len(many) if many is not None and len(many) != 1 else
                       None if many is not None else _length(op))
        known = [length for length in lengths if length is not None]
        count = max(known) if known else 1
        if not 0 <= _whole(stream, "stream") <= 255:
            raise InputError(f"stream = {stream!r} is not allowed: from 0 to 255")
        return self._native.submit(
            _int64(t, count, "t"), _letters(op, count), _int64(lba, count, "lba"),
            _int64(n, count, "n"), stream, bool(fua))

    def advance(self, until: int) -> None:
        """Does everything that is due before `until` (ns).

        Raises :class:`~manx.errors.InputError` where that is past.
        """
        time = _whole(until, "until")
        if not 0 <= time < 2**64:
            raise InputError(f"until = {until!r} is not allowed: nanoseconds, from 0")
        self._native.advance(time)

    def drain(self) -> int:
        """Goes on until every command has completed; the time reached (ns)."""
        return self._native.drain()

    def completions(self) -> Completions:
        """What has completed since this was last asked."""
        return Completions(self._native.completions())

    def clone(self) -> Drive:
        """The drive, or array, as it is now, a second time: each goes on by itself, with what is
        under way, and a deep copy of a policy in Python."""
        other = Drive.__new__(Drive)
        other._native = self._native.twin()
        return other

    def __copy__(self) -> Drive:
        return self.clone()

    def __deepcopy__(self, _: object) -> Drive:
        return self.clone()

    def state(self) -> Fields:
        """Time, commands under way, and of each drive: free space (percent), buffered pages, and
        counters since the start of the run (bytes, pages, blocks)."""
        return Fields(json.loads(self._native.state()))

    @property
    def sectors(self) -> int:
        """Sectors of 512 B that the host sees."""
        return self._native.sectors

    @property
    def now(self) -> int:
        """Everything before it is done (ns)."""
        return self._native.now

    @property
    def next_event(self) -> int | None:
        """When something is due next (ns), completions included; None when nothing is."""
        return self._native.next_event

    @property
    def outstanding(self) -> int:
        """Commands under way."""
        return self._native.outstanding

    def __repr__(self) -> str:
        return f"<manx.Drive: {self.sectors} sectors, {self.outstanding} under way at {self.now} ns>"


def _whole(value: Any, name: str) -> int:
    try:
        whole = int(value)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{name} = {value!r} is not allowed: a whole number") from None
    if whole != value or isinstance(value, bool):
        raise InputError(f"{name} = {value!r} is not allowed: a whole number")
    return whole


def _length(value: Any) -> int | None:
    try:
        return len(value)
    except TypeError:
        return None


def _int64(value: Any, count: int, name: str) -> bytes:
    """Native 64-bit numbers as bytes."""
    if _length(value) is None:
        number = _whole(value, name)
        if not -(2**63) <= number < 2**63:
            raise InputError(f"{name} = {value!r} is not allowed: it has more than 64 bits")
        return array("q", [number]).tobytes() * count
    kind = getattr(getattr(value, "dtype", None), "kind", None)
    if kind is not None:
        if kind not in "iu":
            raise InputError(f"{name}: an array of whole numbers is needed, not of {value.dtype}")
        if getattr(value, "ndim", 1) != 1:
            raise InputError(f"{name}: an array of one dimension is needed, not {value.ndim}")
        if kind == "u" and len(value) and int(value.max()) >= 2**63:
            raise InputError(f"{name}: a value has more than 63 bits")
        data: bytes = value.astype("int64", copy=False).tobytes()
        return data
    try:
        return array("q", value).tobytes()
    except (TypeError, OverflowError):
        raise InputError(f"{name}: whole numbers are needed, one for each command") from None


def _letters(value: Any, count: int) -> bytes:
    try:
        if isinstance(value, str):
            letters = value.encode("ascii", "replace")
        elif isinstance(value, (list, tuple)):
            letters = "".join(value).encode("ascii", "replace")
        elif getattr(getattr(value, "dtype", None), "kind", "u") in "SU":
            letters = "".join(str(one, "ascii") if isinstance(one, bytes) else str(one)
                              for one in value).encode("ascii", "replace")
        else:
            letters = bytes(memoryview(value))
    except (TypeError, ValueError):
        raise InputError("op: letters are needed, one for each command: R, W, F or D") from None
    return letters * count if len(letters) == 1 else letters
