"""run, compare, lab, plan: the families of the command line as functions."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path as _Path
from typing import Any, Union

from . import _manx, _options
from ._progress import Bar, Progress
from .errors import InputError
from .policies import ArrayStrategy, OnsetPolicy, PlacementPolicy, Policy, VictimPolicy
from .results import Fields, Result, Results, as_pre
from .scenario import Scenario

#: A name of :func:`manx.policies_known`, a path of names (``"preemptive/t-es"``), or an object.
AnyPolicy = Union[str, VictimPolicy, OnsetPolicy, PlacementPolicy, ArrayStrategy]
#: A built-in name, the path of a file, or an object.
AnyScenario = Union[Scenario, _options.Path]


def asked(
    scenario: AnyScenario,
    *,
    set: Mapping[str, object] | None,
    seed: int | None,
    device: _options.Path | None,
    workload: _options.Path | None,
    trace: Any,
    attribution: bool,
) -> _manx.Asked:
    """A scenario with what lies over it, read and merged."""
    sets = _options.sets(set, seed)
    whole: dict[str, str | None] = {
        "device": None if device is None else _options.path(device, "device"),
        "workload": None if workload is None else _options.path(workload, "workload"),
        "trace": None,
    }
    if trace is not None:
        from .traces import Trace

        if isinstance(trace, Trace):
            whole["trace"] = trace.path
            sets = [*trace.sets, *sets]
        else:
            whole["trace"] = _options.path(trace, "trace")
    if isinstance(scenario, Scenario):
        given = {key: value for key, value in whole.items() if value is not None}
        if given:
            scenario = scenario.copy()
            scenario._whole.update(given)
        return scenario.asked(sets, attribution)
    name = _options.path(scenario, "scenario")
    return _manx.Asked(name, sets=sets, attribution=attribution, **whole)


def points(of: _manx.Asked, policies: Sequence[AnyPolicy]) -> list[_manx.Point]:
    """The runs of a comparison. Native policies are checked together, as the command line does."""
    labels = [policy.label() if isinstance(policy, Policy) else policy for policy in policies]
    for at, policy in enumerate(policies):
        if not isinstance(policy, (str, *_KINDS)):
            kind = type(policy).__name__
            kinds = ", ".join(one.__name__ for one in _KINDS)
            raise InputError(f"policies: a name, or an object of {kinds} is needed, not {kind}")
        if isinstance(policy, Policy) and labels[at] in labels[:at]:
            raise InputError(f"policy `{labels[at]}` is named twice: each can be compared once")
    native = [policy for policy in policies if isinstance(policy, str)]
    known = dict(zip(native, of.comparison(native))) if native or not policies else {}
    if not policies:
        return of.comparison([])
    return [known[policy] if isinstance(policy, str) else brought(of, policy)
            for policy in policies]


#: Kinds of policies in Python, each with the method of a point that lays it over.
_KINDS: dict[type[Policy], str] = {
    VictimPolicy: "with_victim",
    OnsetPolicy: "with_onset",
    PlacementPolicy: "with_sorter",
    ArrayStrategy: "with_strategy",
}


def brought(of: _manx.Asked, policy: Policy) -> _manx.Point:
    """The run under a policy in Python."""
    base = of.plain() if policy.under is None else of.under(policy.under)
    kind = next(kind for kind in _KINDS if isinstance(policy, kind))
    lay: _manx.Point = getattr(base, _KINDS[kind])(policy.label(), policy)
    return lay


def played(
    runs: list[_manx.Point],
    *,
    verify: bool = False,
    cache: bool | _options.Path = True,
    jobs: int | None = None,
    requests: bool = False,
    timeline: bool | Mapping[str, Any] = False,
    progress: Progress = None,
) -> list[Result]:
    """Runs them."""
    bar = Bar(progress, [run.policy for run in runs])
    try:
        done = _manx.play(
            runs,
            verify=bool(verify),
            cache=_options.cache(cache),
            jobs=_options.count(jobs, "jobs"),
            requests=bool(requests),
            timeline=_timeline(timeline),
            progress=bar.runs if bar.is_on else None,
        )
    finally:
        bar.close()
    return [Result(one) for one in done]


def _timeline(of: bool | Mapping[str, Any]) -> tuple[int, int, int | None, int] | None:
    if of is False or of is None:
        return None
    limits = {} if of is True else dict(of)
    known = {"start": 0, "end": 2**64 - 1, "slow": None, "limit": 200_000}
    for name in limits:
        if name not in known:
            near = _options.nearest(name, known)
            raise InputError(f"timeline: unknown key {name!r}; there are {', '.join(known)}{near}")
    start = _options.ns(limits.get("start", 0), "timeline start")
    end = limits.get("end")
    end = 2**64 - 1 if end is None else _options.ns(end, "timeline end")
    slow = limits.get("slow")
    slow = None if slow is None else _options.ns(slow, "timeline slow")
    limit = _options.count(limits.get("limit", 200_000), "timeline limit", 50_000_000)
    if start >= end:
        raise InputError(f"timeline: it is empty: start {start} must be before end {end}")
    return start, end, slow, limit or 0


def run(
    scenario: AnyScenario = "oltp",
    policy: AnyPolicy | None = None,
    *,
    set: Mapping[str, object] | None = None,
    seed: int | None = None,
    device: _options.Path | None = None,
    workload: _options.Path | None = None,
    trace: Any = None,
    attribution: bool = False,
    verify: bool = False,
    requests: bool = False,
    timeline: bool | Mapping[str, Any] = False,
    cache: bool | _options.Path = True,
    progress: Progress = None,
) -> Result:
    """Runs a scenario under one policy, or as it is written: ``manx run``.

    `scenario`: a name of :func:`scenarios`, a file, or a :class:`Scenario`. `set` are keys over it
    (``{"gc.soft": 0.1}``). `trace` (a path or a :class:`Trace`) takes the place of the workload.
    `attribution` splits every latency into its causes; `requests` keeps every request
    (:meth:`Result.requests`; some 40 bytes each), `timeline` what dies and channels did: True, or
    ``{"start": "0.9s", "end": "1.2s", "slow": "1ms", "limit": 200_000}``. `verify` checks every
    read. `cache`: where preconditioned states are kept; False: nowhere. None of these changes a
    number. The interpreter is free meanwhile, and Ctrl-C ends it.

    Raises :class:`InputError` before anything runs, :class:`RunError` where the run shows a defect.

    >>> import manx
    >>> r = manx.run("quick", "base", set={"workload.requests": 2000}, cache=False)
    >>> r.policy, r["requests"], r.outcome
    ('base', 1000, 'completed')
    """
    of = asked(scenario, set=set, seed=seed, device=device, workload=workload, trace=trace,
               attribution=attribution)
    if policy is None:
        point = of.plain()
    elif isinstance(policy, str):
        point = of.under(policy.strip())
    else:
        point = points(of, [policy])[0]
    return played([point], verify=verify, cache=cache, requests=requests, timeline=timeline,
                  progress=progress)[0]


def compare(
    scenario: AnyScenario = "oltp",
    policies: str | Iterable[AnyPolicy] | None = None,
    *,
    set: Mapping[str, object] | None = None,
    seed: int | None = None,
    device: _options.Path | None = None,
    workload: _options.Path | None = None,
    trace: Any = None,
    attribution: bool = False,
    verify: bool = False,
    requests: bool = False,
    timeline: bool | Mapping[str, Any] = False,
    jobs: int | None = None,
    cache: bool | _options.Path = True,
    progress: Progress = None,
) -> Results:
    """Runs policies side by side; the first is the baseline: ``manx compare``.

    `policies`: names (``["base", "preemptive"]`` or ``"base,preemptive"``) and objects of
    :class:`VictimPolicy`, :class:`OnsetPolicy`, :class:`PlacementPolicy` or
    :class:`ArrayStrategy`; without any, those of the scenario. `jobs`: runs side by side, one for
    each core where None. The rest is as of :func:`run`.

    Raises :class:`InputError` before anything runs, :class:`RunError` where a run shows a defect.

    >>> import manx
    >>> r = manx.compare("quick", "nogc,base", set={"workload.requests": 2000}, cache=False)
    >>> r.policies
    ['nogc', 'base']
    """
    of = asked(scenario, set=set, seed=seed, device=device, workload=workload, trace=trace,
               attribution=attribution)
    if policies is None or isinstance(policies, str):
        chosen: list[AnyPolicy] = list(_options.names(policies, "policies"))
    else:
        try:
            chosen = list(policies)
        except TypeError:
            kind = type(policies).__name__
            raise InputError(f"policies: a list is needed, not {kind}") from None
    if policies is not None and not chosen:
        raise InputError("policies: the list is empty: name some, or leave it out")
    runs = points(of, chosen)
    results = played(runs, verify=verify, cache=cache, jobs=jobs, requests=requests,
                     timeline=timeline, progress=progress)
    return Results(results, workload=of.workload, command="manx.compare(..) in Python",
                   notes=of.notes(runs))


class Experiment(Fields):
    """An experiment that was run: its claims with their verdicts, as ``manx lab run --json``."""

    __slots__ = ("_text",)

    def __init__(self, document: str, text: str) -> None:
        super().__init__(json.loads(document))
        self._text = text

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"<manx.Experiment: {self._of.get('experiment')}>"

    def _repr_html_(self) -> str:
        return as_pre(self._text)


def lab(
    name: str,
    *,
    quick: bool = False,
    set: Mapping[str, object] | None = None,
    traces: _options.Path | None = None,
    out: _options.Path | None = None,
    jobs: int | None = None,
    cache: bool | _options.Path = True,
) -> Experiment:
    """Runs an experiment, and holds its claims against it: ``manx lab run``.

    `name`: one of :func:`experiments`. `quick` is the small form. `set` are keys over all its runs,
    `traces` is the folder of the traces that it replays, `jobs` and `cache` are as of
    :func:`compare`. `out` keeps the journal: the same call then does only what is left.

    Raises :class:`InputError` where there is no such experiment or a trace is missing.
    """
    sets = [f"{key}={value}" for key, value, _ in _options.sets(set)]

    def run_in(folder: str) -> Experiment:
        document, text = _manx.experiment(
            name, folder=folder, quick=bool(quick), sets=sets,
            traces=None if traces is None else _options.path(traces, "traces"),
            jobs=_options.count(jobs, "jobs"), cache=_options.cache(cache))
        return Experiment(document, text)

    if not isinstance(name, str):
        raise InputError(f"name: the name of an experiment is needed, not {type(name).__name__}")
    if out is None:
        with tempfile.TemporaryDirectory(prefix="manx-lab-") as folder:
            return run_in(folder)
    kept = _Path(_options.path(out, "out")) / name
    try:
        kept.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"out: {kept}: cannot make this folder: {error}") from None
    return run_in(os.fspath(kept))


class Plan(Fields):
    """The answer of a calculator: its document as attributes, its text by ``str``."""

    __slots__ = ("_text",)

    def __init__(self, document: str, text: str) -> None:
        super().__init__(json.loads(document))
        self._text = text

    def __str__(self) -> str:
        return self._text

    def _repr_html_(self) -> str:
        return as_pre(self._text)


_PLANS = {
    "tw": ["device", "scenario", "n", "dwpd", "op", "valid", "link", "burst", "reserve", "gc_unit",
           "guard", "raid5_writes"],
    "timeout": ["gc", "writes_below"],
}


def plan(what: str, *, set: Mapping[str, object] | None = None, **options: Any) -> Plan:
    """A calculator that needs no run: ``manx plan``.

    `what` is ``"tw"`` (the busy window of IODA's drives; options as of ``manx plan tw``, with `_`
    for `-`) or ``"timeout"`` (T-ES: `gc` and `writes_below`, times).

    Raises :class:`InputError` where an option is unknown or a value is not allowed.

    >>> import manx
    >>> str(manx.plan("timeout", gc="35ms", writes_below="100ms")).splitlines()[0] != ""
    True
    """
    if what not in _PLANS:
        near = _options.nearest(str(what), _PLANS)
        raise InputError(f"no calculator is called {what!r}; there are tw, timeout{near}")
    for name in options:
        if name not in _PLANS[what]:
            near = _options.nearest(name, _PLANS[what])
            raise InputError(f"plan {what!r} has no option {name!r}; it has "
                             f"{', '.join(_PLANS[what])}{near}", key=name)
    if what == "tw":
        return Plan(*_call(_manx.plan_tw, options, _options.sets(set)))
    if set is not None:
        raise InputError("plan 'timeout' has no scenario that `set` could change")
    return Plan(*_call(_manx.plan_timeout, options))


def _call(function: Any, options: dict[str, Any], *more: Any) -> tuple[str, str]:
    try:
        answer: tuple[str, str] = function(options, *more)
    except (TypeError, OverflowError) as error:
        raise InputError(f"plan: {error}") from None
    return answer
