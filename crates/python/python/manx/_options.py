"""Arguments of calls as keys of a scenario, values as TOML."""

from __future__ import annotations

import difflib
import json
import math
import operator
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Union

from .errors import InputError

#: What a key of a scenario may hold.
Value = Union[bool, int, float, str, "list[Value]", "tuple[Value, ...]", "Mapping[str, Value]"]
#: Keys (``"gc.soft"``, or nested tables) and their values.
Keys = Mapping[str, Value]
#: The name of a file.
Path = Union[str, "os.PathLike[str]"]
#: A key, its value as TOML, and how it was said.
Set = "tuple[str, str, str]"


def toml(value: object, where: str) -> str:
    """A value as TOML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InputError(f"{where} = {value} is not allowed: a finite number", key=where)
        # Of a subclass, as numpy's float64 is, `repr` is no number.
        return float.__repr__(value)
    if isinstance(value, (str, os.PathLike)):
        return json.dumps(os.fspath(value), ensure_ascii=False)
    if isinstance(value, Mapping):
        pairs = (f"{json.dumps(str(name))} = {toml(one, where)}" for name, one in value.items())
        return "{ " + ", ".join(pairs) + " }"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(toml(one, where) for one in value) + "]"
    # numpy's numbers, and others that know what they are.
    item = getattr(value, "item", None)
    if callable(item):
        return toml(item(), where)
    kind = type(value).__name__
    raise InputError(
        f"{where}: a value of type {kind} is not allowed: a number, text, a list or a table",
        key=where,
        value=repr(value),
    )


def flat(keys: Mapping[str, object], under: str = "") -> Iterator[tuple[str, object]]:
    """Nested tables as dotted keys."""
    for name, value in keys.items():
        if not isinstance(name, str) or not name:
            raise InputError(f"set: {name!r} is no key: text such as 'gc.soft'")
        key = f"{under}.{name}" if under else name
        if isinstance(value, Mapping):
            yield from flat(value, key)
        else:
            yield key, value


def sets(
    keys: Mapping[str, object] | None, seed: int | None = None, option: str = "set"
) -> list[tuple[str, str, str]]:
    """Keys as the native half takes them; `seed` is one of them."""
    result = []
    if seed is not None:
        number = whole(seed)
        if number is None or not 0 <= number < 2**63:
            raise InputError(
                f"seed = {seed!r} is not allowed: a whole number from 0 to {2**63 - 1}",
                key="seed",
                value=repr(seed),
            )
        result.append(("seed", str(number), f"seed={number}"))
    if keys is None:
        return result
    if not isinstance(keys, Mapping):
        kind = type(keys).__name__
        raise InputError(f"{option}: a dict of keys and values is needed, not {kind}")
    for key, value in flat(keys):
        result.append((key, toml(value, key), f"{option}={{{key!r}: {value!r}}}"))
    return result


def names(value: str | Iterable[str] | None, option: str) -> list[str]:
    """A list of names; one name is a list too."""
    if value is None:
        return []
    if isinstance(value, str):
        return [one.strip() for one in value.split(",")]
    try:
        result = list(value)
    except TypeError:
        kind = type(value).__name__
        raise InputError(f"{option}: a list of names is needed, not {kind}") from None
    for one in result:
        if not isinstance(one, str):
            raise InputError(f"{option}: {one!r} is no name, but of type {type(one).__name__}")
    return result


def whole(value: object) -> int | None:
    """A whole number of any library as an int; None of what is none."""
    if isinstance(value, bool):
        return None
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        return None


def count(value: int | None, option: str, most: int = 1024) -> int | None:
    """A number from 1 on, or None."""
    if value is None:
        return None
    number = whole(value)
    if number is None or not 1 <= number <= most:
        raise InputError(f"{option} = {value!r} is not allowed: a whole number from 1 to {most}")
    return number


def path(value: Path, option: str) -> str:
    """The name of a file as text."""
    try:
        return os.fspath(value)
    except TypeError:
        raise InputError(
            f"{option}: the name of a file is needed, not {type(value).__name__}"
        ) from None


def cache(value: bool | Path) -> str:
    """Where preconditioned states are kept: the user's folder, none, or another."""
    if value is True:
        return "user"
    if value is False:
        return ""
    folder = path(value, "cache")
    return os.path.join(".", folder) if folder in ("", "user") else folder


_UNITS = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}


def ns(value: int | float | str, option: str) -> int:
    """A time in nanoseconds: a number of them, or text such as ``"1.5ms"``."""
    if isinstance(value, str):
        for unit in ("ns", "us", "ms", "s"):
            number = value.strip()[: -len(unit)] if value.strip().endswith(unit) else ""
            try:
                time = float(number) * _UNITS[unit]
            except ValueError:
                continue
            if math.isfinite(time) and 0 <= time < 2**63:
                return round(time)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        if math.isfinite(value) and 0 <= value < 2**63:
            return round(value)
    raise InputError(
        f"{option} = {value!r} is not allowed: nanoseconds, or a time such as '200us', '1.5s'",
        value=repr(value),
    )


def nearest(name: str, known: Iterable[str]) -> str:
    """`; did you mean ..?`, where a known name is near."""
    near = difflib.get_close_matches(name, list(known), 1, 0.6)
    return f"; did you mean {near[0]}?" if near else ""
