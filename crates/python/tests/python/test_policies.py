"""Policies in Python."""

from __future__ import annotations

from typing import Any

import manx
import numpy
import pytest
from conftest import SMALL, stripped
from manx.policies import Ewma, Greedy, Hot, Soft, Yield

#: What tells a run's policy apart, and nothing else.
NAMES = ("policy", "path", "axes")


def numbers(run: manx.Result) -> dict[str, Any]:
    told = stripped(run.to_json())["runs"][0]
    return {key: value for key, value in told.items() if key not in NAMES}


@pytest.mark.parametrize("under", [None, "base", "preemptive", "rain", "sepbit", "2r", "dftl",
                                   "preemptive/t-es"])
def test_greedy_in_python_is_the_native_one_byte_for_byte(under: str | None) -> None:
    policy = Greedy()
    policy.under = under
    small = {**SMALL, **({"rain.width": 2} if under == "rain" else {})}
    ours = manx.run("quick", policy, set=small, cache=False, attribution=True)
    native = manx.run("quick", under, set={**small, "gc.victim": "greedy"}, cache=False,
                      attribution=True)
    assert numbers(ours) == numbers(native)
    used = ours.scenario_used
    assert used is not None and ours.native.point.toml().startswith("# Not the run of")
    calls, seconds = ours.python_calls
    assert calls > 0 and seconds > 0 and "Greedy" in ours.path


class Oldest(manx.VictimPolicy):
    """The block closed first."""

    needs_order = True
    needs_ages = True

    def choose(self, blocks: Any) -> int | None:
        first = blocks.in_closing_order
        if first:
            assert blocks.age(first[0]) >= 0 and blocks.units >= (blocks.valid(first[0]) or 0)
        return first[0] if first else None


def test_fifo_in_python_is_the_native_one_and_differs_from_greedy() -> None:
    runs = manx.compare("quick", [Oldest(), Greedy(), "base"], set=SMALL, cache=False)
    native = manx.run("quick", set={**SMALL, "gc.victim": "fifo"}, cache=False)
    assert numbers(runs[0]) == numbers(native)
    assert runs["Oldest"].flash.waf > runs["Greedy"].flash.waf == runs["base"].flash.waf


class Direct(manx.ArrayStrategy):
    """Every page from its own member."""

    def avoids(self, now: int, member: int) -> int | None:
        return None


class Oldest2(manx.ArrayStrategy):
    """MittOS: a member is avoided while its oldest read is 1.5 ms old."""

    def begin(self, members: int) -> None:
        self.reads: list[dict[int, int]] = [{} for _ in range(members)]

    def submitted(self, now: int, member: int, io: int) -> None:
        self.reads[member][io] = now

    def completed(self, member: int, io: int, latency: int) -> None:
        self.reads[member].pop(io, None)

    def avoids(self, now: int, member: int) -> int | None:
        if not self.reads[member]:
            return None
        age = now - next(iter(self.reads[member].values()))
        return age if age >= 1_500_000 else None


def test_strategies_in_python_are_the_native_ones() -> None:
    small = {"array.members": 4, "workload.requests": 3000}
    runs = manx.compare("quick", ["raid", Direct(), "mittos", Oldest2(), Ewma()], set=small,
                        cache=False)
    assert numbers(runs[0]) == numbers(runs[1])
    assert numbers(runs[2]) == numbers(runs[3])
    assert runs[4].read.count == runs[0].read.count and runs[4].python_calls[0] > 1500


class Raises(manx.VictimPolicy):
    """Fails."""

    def choose(self, blocks: Any) -> int | None:
        raise ZeroDivisionError("the policy's own")


class Wrong(manx.VictimPolicy):
    """Returns nonsense."""

    def choose(self, blocks: Any) -> int | None:
        return 10**9


@pytest.mark.parametrize("under", [None, "preemptive", "rain", "sepbit", "pb/rgc", "dftl",
                                   "preemptive/t-es", "nogc"])
def test_a_fixed_onset_in_python_is_the_native_mark_byte_for_byte(under: str | None) -> None:
    small = {**SMALL, **({"rain.width": 2} if under == "rain" else {}), "workload.requests": 8000}
    policies = [Soft(0.07), Soft(None), Yield()]
    for policy in policies:
        policy.under = under
    ours = [manx.run("quick", one, set=small, cache=False, attribution=True) for one in policies]
    native = [manx.run("quick", under, set=keys, cache=False, attribution=True)
              for keys in ({**small, "gc.soft": 0.07}, small)]
    assert [numbers(run) for run in ours[:2]] == [numbers(run) for run in native]
    assert numbers(native[0]) != numbers(native[1]) or under == "nogc"
    if under in (None, "preemptive"):
        assert numbers(ours[2]) not in (numbers(ours[0]), numbers(ours[1]))
    assert ours[2].python_calls[0] > 0 and "Yield" in ours[2].path


class Zeros(manx.PlacementPolicy):
    """Everything is stream 0's."""

    def sort(self, extents: Any) -> None:
        assert len(extents.writes) == len(extents) == len(extents.streams)
        assert len(extents.writes_bytes) == 4 * len(extents)


@pytest.mark.parametrize("under", [None, "preemptive", "rain"])
def test_data_placement_in_python_is_the_hosts_hints_byte_for_byte(under: str | None) -> None:
    keys = {**SMALL, **({"rain.width": 2} if under == "rain" else {}), "workload.requests": 8000,
            "ftl.streams": 2}
    ours, native = Zeros(), {**keys, "ftl.placement": "stream"}
    ours.under = under
    runs = [manx.run("quick", ours, set=keys, cache=False, attribution=True),
            manx.run("quick", under, set=native, cache=False, attribution=True)]
    assert numbers(runs[0]) == numbers(runs[1]) and runs[0].python_calls[0] > 0
    hot = Hot()
    hot.under = under
    apart = manx.run("quick", hot, set=keys, cache=False)
    assert numbers(apart) != numbers(runs[1]) and "Hot" in apart.path


def test_a_policy_meets_every_moment_at_which_it_is_asked_whatever_is_observed() -> None:
    for policy in (Yield(), Hot(), Greedy()):
        plain = manx.run("quick", policy, set=SMALL, cache=False)
        seen = manx.run("quick", policy, set=SMALL, cache=False, requests=True, timeline=True,
                        verify=True)
        assert plain.read.to_dict() == seen.read.to_dict()
        assert plain.python_calls[0] == seen.python_calls[0]
    cut = {**SMALL, "recovery.cut_at": "100ms", "recovery.keep": True, "measure.warmup_requests": 0}
    for policy in (Yield(), Greedy()):
        manx.run("quick", policy, set=cut, cache=False, verify=True)
    with pytest.raises(manx.InputError, match="ftl.placement = \"stream\" is not allowed"):
        manx.run("quick", Hot(), set=cut)


class NoShare(manx.OnsetPolicy):
    """Returns percent."""

    def next(self, pool: Any) -> float | None:
        assert pool.number >= 0 and 0.0 < pool.hard < pool.soft < pool.free <= 1.0
        assert pool.units > 0 and pool.programmed >= 0 and pool.valid is None
        return 5.0


class Short(manx.PlacementPolicy):
    """Forgets extents."""

    def sort(self, extents: Any) -> Any:
        return [0]


class Third(manx.PlacementPolicy):
    """Knows a stream that there is not."""

    def sort(self, extents: Any) -> Any:
        return [2] * len(extents)


class Sixty(manx.PlacementPolicy):
    """More streams than a drive has."""

    streams = 60


def test_what_a_policy_raises_is_the_callers() -> None:
    for policy, why in [(NoShare(), "no share of free space"), (Short(), "one for each"),
                        (Third(), "from 0 to 1"), (Sixty(), "ftl.streams = 60")]:
        with pytest.raises(ValueError, match=why):
            manx.run("quick", policy, set=SMALL, cache=False)
    for abstract in (manx.OnsetPolicy(), manx.PlacementPolicy()):
        with pytest.raises(NotImplementedError):
            manx.run("quick", abstract, set=SMALL, cache=False)
    with pytest.raises(ZeroDivisionError, match="the policy's own"):
        manx.run("quick", Raises(), set=SMALL, cache=False)
    with pytest.raises(ValueError, match="which is no candidate"):
        manx.run("quick", Wrong(), set=SMALL, cache=False)
    with pytest.raises(ZeroDivisionError):
        manx.Drive("quick", Raises(), cache=False)
    with pytest.raises(NotImplementedError):
        manx.run("quick", manx.VictimPolicy(), set=SMALL, cache=False)


def test_what_does_not_go_together_is_refused() -> None:
    with pytest.raises(manx.InputError, match="needs ftl.kind"):
        faster = Greedy()
        faster.under = "faster"
        manx.run("quick", faster, set=SMALL)
    for policy in (Soft(), Hot()):
        policy.under = "faster"
        with pytest.raises(manx.InputError, match="ftl"):
            manx.run("quick", policy, set=SMALL)
    with pytest.raises(manx.InputError, match="as shares"):
        manx.run("quick", Soft(), set={**SMALL, "gc.soft": "3 blocks", "gc.hard": "2 blocks"})
    paced = Soft()
    paced.under = "paced"
    with pytest.raises(manx.InputError, match="paced from one mark"):
        manx.run("quick", paced, set=SMALL)
    with pytest.raises(manx.InputError, match="2 or more"):
        manx.run("quick", Ewma(), set=SMALL)
    with pytest.raises(manx.InputError, match="in this process alone"):
        manx.fleet(2, policy=Greedy(), executor=object())
