"""Policies in Python: classes whose methods are asked where a decision is rare.

Each drive (of an array: the array) has a deep copy of the object that was given; what a copy keeps
in its attributes is its own. A method that raises ends the run, and the exception is the caller's.
A run with such a policy is not kept in any cache or journal: nothing tells it from another one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ._manx import Blocks, Extents, Pool

__all__ = ["ArrayStrategy", "Ewma", "Greedy", "Hot", "OnsetPolicy", "PlacementPolicy", "Soft",
           "VictimPolicy", "Yield"]


class Policy:
    """What every policy has."""

    #: Its name in tables and results; that of the class where it is None.
    name: str | None = None
    #: The policy that it is laid over, such as ``"preemptive"``; the scenario where it is None.
    under: str | None = None

    def label(self) -> str:
        """The name under which it is told."""
        return self.name or type(self).__name__


class VictimPolicy(Policy):
    """Which block a garbage collection reclaims next.

    It is asked once for each victim: once in some hundred writes of the host. Where it returns a
    block that would gain nothing, or none while there is something to gain, greedy's is taken, as
    for every native policy.
    """

    #: True: :meth:`Blocks.age` can be asked.
    needs_ages: bool = False
    #: True: ``blocks.in_closing_order`` can be asked.
    needs_order: bool = False

    def choose(self, blocks: Blocks) -> int | None:
        """The number of the block to reclaim, one of ``blocks.candidates``; None for none."""
        raise NotImplementedError(f"{type(self).__name__} has no choose(self, blocks)")


class OnsetPolicy(Policy):
    """When garbage collection begins: the soft mark of each GC run in place of ``gc.soft``.

    It is asked for each reclaim pool at the start of the run, and when a victim was chosen. The
    hard mark, turns and windows are the scenario's. ``gc.soft`` and ``gc.hard`` must be shares.
    """

    def next(self, pool: Pool) -> float | None:
        """The share of free space (ratio, above 0 and below 1) below which the next GC run of `pool`
        is due; None: ``gc.soft``. It is always above the hard mark, whatever is returned."""
        raise NotImplementedError(f"{type(self).__name__} has no next(self, pool)")


class PlacementPolicy(Policy):
    """Which data share a block: the stream of each extent of addresses, in place of the host's
    hints (``ftl.placement = "stream"``).

    It is asked at the start of the run, and each time that the host has written `period` mapping
    units: what happens for each page is native. A class says its numbers as attributes.
    """

    #: Streams that the drive keeps apart, each with open blocks of its own: 1 to 8.
    streams: int = 2
    #: Mapping units (4 KiB unless the device says otherwise) that are placed together.
    extent: int = 256
    #: Mapping units that the host writes from one decision to the next.
    period: int = 4096
    #: Copies of GC keep to their stream (``"own"``), or have one for all (``"shared"``).
    copies: str = "own"

    def sort(self, extents: Extents) -> Iterable[int] | None:
        """The stream of each extent, from 0; a list, bytes or a numpy array as long as `extents`.
        None: nothing changes."""
        raise NotImplementedError(f"{type(self).__name__} has no sort(self, extents)")


class ArrayStrategy(Policy):
    """How an array reads. Methods that a class does not define are never called, and cost nothing.

    Times are nanoseconds since the start of the run, members are numbered from 0.
    """

    #: True: every read asks for the rest of its row at once.
    asks_all: bool = False
    #: True: reads may be failed fast by their drive, and are computed from the rest then.
    fails_fast: bool = False

    def begin(self, members: int) -> None:
        """The array has `members` drives; called once, before everything else."""

    def avoids(self, now: int, member: int) -> int | None:
        """For how long (ns) from `now` on (ns) `member` had better not be read; None: it may be."""

    def hedges_after(self) -> int | None:
        """After how long (ns) a read asks for the rest of its row too; None: never."""

    def computes(self, own: int, other: int) -> bool:
        """Of a page whose member is free from `own` (ns) on and another of its row from `other` on:
        True when the first is computed and the other waited for."""
        return own >= other

    def writes_at(self, now: int, member: int) -> int:
        """When a write to `member` may be submitted: `now`, or later (ns)."""
        return now

    def submitted(self, now: int, member: int, io: int) -> None:
        """A read, called `io`, was submitted to `member` at `now` (ns)."""

    def completed(self, member: int, io: int, latency: int) -> None:
        """The read `io` of `member` completed, `latency` ns after its submission."""

    def wrote(self, bytes: int) -> None:
        """The host wrote so many `bytes` to members."""


class Greedy(VictimPolicy):
    """The fewest valid pages, of equals the lowest number: what ``gc.victim = "greedy"`` is."""

    def choose(self, blocks: Blocks) -> int | None:
        candidates = blocks.candidates
        return min(candidates, key=lambda index: blocks.valid(index) or 0, default=None)


class Soft(OnsetPolicy):
    """A fixed mark: what ``gc.soft`` is. `soft`: share of free space (ratio); None: the
    scenario's."""

    def __init__(self, soft: float | None = None) -> None:
        self.soft = soft

    def next(self, pool: Pool) -> float | None:
        return self.soft


class Yield(OnsetPolicy):
    """Begins late while victims are full: a GC run that would copy much waits, so that more of its
    victim goes stale; after a cheap one the next begins early.

    `early`: the share of free space (ratio) after a victim without valid pages; after a full one it
    is half way between that and the hard mark.
    """

    def __init__(self, early: float = 0.06) -> None:
        self.early = early

    def next(self, pool: Pool) -> float | None:
        return self.early - (self.early - pool.hard) / 2 * (pool.valid or 0.0)


class Hot(PlacementPolicy):
    """Extents that are written more often than the mean go to stream 1, the others to stream 0:
    hot and cold data in blocks of their own. What was counted halves with each decision."""

    def __init__(self) -> None:
        self.heat: list[float] = []

    def sort(self, extents: Extents) -> Iterable[int]:
        before = self.heat or [0.0] * len(extents)
        self.heat = [old / 2 + new for old, new in zip(before, extents.writes)]
        mean = sum(self.heat) / max(1, len(self.heat))
        return [int(heat > mean) for heat in self.heat]


class Ewma(ArrayStrategy):
    """Avoids a member whose reads have been slow: an exponentially weighted mean of their latency,
    as the ranking of C3 (Suresh et al., NSDI '15) has it.

    `weight` is that of the newest latency (ratio); a member is avoided while its mean is `factor`
    times that of the fastest one.
    """

    def __init__(self, weight: float = 0.1, factor: float = 3.0) -> None:
        self.weight = weight
        self.factor = factor
        self.mean: list[float] = []

    def begin(self, members: int) -> None:
        self.mean = [0.0] * members

    def completed(self, member: int, io: int, latency: int) -> None:
        mean = self.mean[member]
        self.mean[member] = mean + self.weight * (latency - mean) if mean else float(latency)

    def avoids(self, now: int, member: int) -> int | None:
        slowest = self.factor * min(self.mean)
        mean = self.mean[member]
        return int(mean) if mean > slowest > 0.0 else None
