"""Manx: an exact, deterministic simulator of flash storage and of its tail latency.

>>> import manx
>>> results = manx.compare("quick", ["nogc", "base"], set={"workload.requests": 5000}, cache=False)
>>> results["base"].read.p99_us >= results["nogc"].read.p99_us
True

:func:`compare`, :func:`run`, :func:`sweep`, :func:`lab`, :func:`plan`, :func:`fit` and
:func:`fleet` are the commands of ``manx`` as functions; :class:`Scenario` has every key with its
type, :class:`Trace` opens block traces, :class:`Drive` is a drive to submit to.
:class:`VictimPolicy`, :class:`OnsetPolicy`, :class:`PlacementPolicy` and :class:`ArrayStrategy`
are policies in Python: which block is reclaimed, when, which data share a block, how an array
reads. Every call that runs anything lets other threads of Python work meanwhile, and ends soon
after Ctrl-C. The same scenario and seed are the same numbers as from the command line.
"""

from __future__ import annotations

import json as _json
from typing import TYPE_CHECKING, Any

from . import _manx, scenario
from ._manx import Histogram, Table
from ._runs import Experiment, Plan, compare, lab, plan, run
from .errors import InputError, ManxError, RunError
from .policies import ArrayStrategy, OnsetPolicy, PlacementPolicy, VictimPolicy
from .results import Result, Results
from .scenario import Scenario

if TYPE_CHECKING:
    from ._fits import Twin, fit
    from ._fleet import Fleet, fleet
    from ._sweeps import Sweep, sweep
    from .drives import Completions, Drive
    from .traces import Trace

__version__: str = _manx.__version__

__all__ = [
    "ArrayStrategy",
    "Completions",
    "Drive",
    "Experiment",
    "Fleet",
    "Histogram",
    "InputError",
    "ManxError",
    "OnsetPolicy",
    "PlacementPolicy",
    "Plan",
    "Result",
    "Results",
    "RunError",
    "Scenario",
    "Sweep",
    "Table",
    "Trace",
    "Twin",
    "VictimPolicy",
    "compare",
    "devices",
    "experiments",
    "fit",
    "fleet",
    "lab",
    "plan",
    "policies_known",
    "run",
    "scenario",
    "scenarios",
    "sweep",
    "workloads",
]

_manx.set_file(_manx.__file__)

_LAZY = {
    "Completions": "drives",
    "Drive": "drives",
    "Fleet": "_fleet",
    "Sweep": "_sweeps",
    "Trace": "traces",
    "Twin": "_fits",
    "fit": "_fits",
    "fleet": "_fleet",
    "sweep": "_sweeps",
}


def __getattr__(name: str) -> Any:
    """Parts that most programs do not need are loaded when they are first asked for."""
    if name in _LAZY:
        from importlib import import_module

        value = getattr(import_module(f".{_LAZY[name]}", __name__), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def scenarios() -> list[str]:
    """Names of the built-in scenarios.

    >>> "quick" in scenarios()
    True
    """
    return list(_json.loads(_manx.library("scenarios")))


def devices() -> list[str]:
    """Names of the device tables."""
    return list(_json.loads(_manx.library("devices")))


def workloads() -> list[str]:
    """Names of the workload profiles."""
    return list(_json.loads(_manx.library("workloads")))


def experiments() -> list[str]:
    """Names of the experiments of :func:`lab`."""
    return list(_json.loads(_manx.library("experiments")))


def policies_known() -> dict[str, str]:
    """Names of policies, and what each does or stands for."""
    listed = _json.loads(_manx.library("policies"))
    return {one["name"]: one.get("summary") or one["path"] for one in listed}
