"""A scenario: every key that determines a run, as typed objects.

The classes are made from the schema that ``manx schema scenario`` prints, one for each table of a
scenario file; an editor reads them in ``scenario.pyi``, which is generated from it. A key that
there is not is an :class:`~manx.errors.InputError` where it is written, a value that is not
allowed one when the scenario is first used; both before anything runs.

>>> import manx
>>> s = manx.Scenario("quick", gc=manx.scenario.Gc(soft=0.08), seed=7)
>>> s.workload.requests = 5_000
>>> s.gc.soft, s.gc.hard
(0.08, 0.03)
>>> s.gc.sfot = 0.1
Traceback (most recent call last):
 ...
manx.errors.InputError: unknown key gc.sfot; did you mean gc.soft?
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from . import _manx, _options
from .errors import InputError


def _schema() -> dict[str, Any]:
    if not _SCHEMA:
        _SCHEMA.update(json.loads(_manx.schema_scenario()))
    return _SCHEMA


_SCHEMA: dict[str, Any] = {}
_CLASSES: dict[str, type[Section]] = {}


def class_name(definition: str) -> str:
    """Name of the class of a definition of the schema."""
    return definition.removesuffix("Spec")


def table_of(property: Mapping[str, Any]) -> str | None:
    """Name of the definition that a property refers to, where that is a table."""
    for option in property.get("anyOf", [property]):
        reference = str(option.get("$ref", "")).rpartition("/")[2]
        if reference and "properties" in _schema()["$defs"][reference]:
            return reference
    return None


class Section:
    """A table of a scenario. What was not set keeps the scenario's value."""

    _properties: ClassVar[dict[str, Any]] = {}

    def __init__(self, **keys: Any) -> None:
        object.__setattr__(self, "_set", {})
        object.__setattr__(self, "_under", (None, ""))
        for key, value in keys.items():
            setattr(self, key, value)

    def _path(self, key: str) -> str:
        under = self._under[1]
        return f"{under}.{key}" if under else key

    def _unknown(self, key: str) -> InputError:
        near = _options.nearest(key, self._properties)
        where = self._path("") if self._under[1] else ""
        nearest = near.removeprefix("; did you mean ").removesuffix("?") or None
        text = f"unknown key {self._path(key)}"
        if nearest is not None:
            text += f"; did you mean {where}{nearest}?"
        return InputError(text, key=self._path(key), nearest=nearest)

    def __setattr__(self, key: str, value: Any) -> None:
        if key not in self._properties:
            raise self._unknown(key)
        definition = table_of(self._properties[key])
        if definition is not None and isinstance(value, Mapping):
            section = _class(definition)()._placed(*self._root(), self._path(key))
            for below, one in value.items():
                setattr(section, below, one)
            value = section
        if definition is not None and isinstance(value, Section):
            if not isinstance(value, _class(definition)):
                wanted, got = class_name(definition), type(value).__name__
                path = self._path(key)
                raise InputError(f"{path}: a {wanted} or a dict is needed, not {got}", key=path)
            value = value._placed(*self._root(), self._path(key))
        self._set[key] = value
        self._changed()

    def __getattr__(self, key: str) -> Any:
        if key.startswith("_"):
            raise AttributeError(key)
        if key not in self._properties:
            error = self._unknown(key)
            raise AttributeError(str(error))
        if key in self._set:
            return self._set[key]
        definition = table_of(self._properties[key])
        if definition is not None:
            section = _class(definition)()._placed(*self._root(), self._path(key))
            self._set[key] = section
            return section
        root = self._under[0]
        if root is None:
            raise AttributeError(f"{key} is not set here, and this {type(self).__name__} is in no "
                                 "scenario whose value it could have")
        value = root.settings()
        for part in self._path(key).split("."):
            value = value[part]
        return value

    def _root(self) -> tuple[Scenario | None]:
        return (self._under[0],)

    def _placed(self, root: Scenario | None, path: str) -> Section:
        """The same keys, as a part of a scenario."""
        section = type(self)()
        object.__setattr__(section, "_under", (root, path))
        for key, value in self._set.items():
            if isinstance(value, Section):
                value = value._placed(root, f"{path}.{key}")
            section._set[key] = value
        return section

    def _changed(self) -> None:
        root = self._under[0]
        if root is not None:
            root._changed()

    def keys_set(self) -> Iterator[tuple[str, Any]]:
        """Keys that were set here, each with its value."""
        for key, value in self._set.items():
            if isinstance(value, Section):
                yield from ((f"{key}.{below}", one) for below, one in value.keys_set())
            elif isinstance(value, Mapping):
                yield from _options.flat(value, key)
            else:
                yield key, value

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._properties]

    def __repr__(self) -> str:
        keys = ", ".join(f"{key}={value!r}" for key, value in self._set.items()
                         if not (isinstance(value, Section) and not list(value.keys_set())))
        return f"{type(self).__name__}({keys})"

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return dict(self.keys_set()) == dict(other.keys_set())

    __hash__ = None  # type: ignore[assignment]


class Scenario(Section):
    """A scenario: a built-in one, a file, or a text, and what lies over it.

    `base` is a name of :func:`manx.scenarios`, or the path of a file. `device`, `workload` and
    `trace` take the place of the scenario's, each as a whole, as on the command line. All other
    arguments are its keys and tables: ``gc=Gc(soft=0.1)``, ``workload={"requests": 5000}``; a
    workload given as a table sets single keys.
    """

    def __init__(self, base: _options.Path = "oltp", *, text: str | None = None,
                 device: Any = None, workload: Any = None, trace: _options.Path | None = None,
                 **keys: Any) -> None:
        whole: dict[str, str | None] = {"device": None, "workload": None, "trace": None}
        if isinstance(device, (Mapping, Section)):
            keys["device"] = device
        elif device is not None:
            whole["device"] = _options.path(device, "device")
        if isinstance(workload, (Mapping, Section)):
            keys["workload"] = workload
        elif workload is not None:
            whole["workload"] = _options.path(workload, "workload")
        if trace is not None:
            whole["trace"] = _options.path(trace, "trace")
        object.__setattr__(self, "_base", _options.path(base, "scenario"))
        object.__setattr__(self, "_text", text)
        object.__setattr__(self, "_whole", whole)
        object.__setattr__(self, "_settings", None)
        super().__init__()
        object.__setattr__(self, "_under", (self, ""))
        for key, value in keys.items():
            setattr(self, key, value)

    @classmethod
    def from_toml(cls, text: str, name: str = "scenario") -> Scenario:
        """The scenario of a text, as a scenario file has it."""
        return cls(name, text=text)

    def _changed(self) -> None:
        object.__setattr__(self, "_settings", None)

    def asked(self, sets: list[tuple[str, str, str]] | None = None,
              attribution: bool = False) -> _manx.Asked:
        """It, read; `sets` over its own keys."""
        own = [(key, _options.toml(value, key), f"{key}={value!r}")
               for key, value in self.keys_set()]
        return _manx.Asked(self._base, self._text, sets=own + (sets or []),
                           attribution=attribution, **self._whole)

    def settings(self, policy: str | None = None) -> dict[str, Any]:
        """Every key with its value, as the run will have it; under `policy`, if one is named.

        Raises :class:`~manx.errors.InputError` where a value is not allowed.
        """
        if policy is None and self._settings is not None:
            return self._settings
        asked = self.asked()
        point = asked.plain() if policy is None else asked.under(policy)
        settings: dict[str, Any] = json.loads(point.json())
        if policy is None:
            object.__setattr__(self, "_settings", settings)
        return settings

    def check(self) -> Scenario:
        """Itself, if it can be run.

        Raises :class:`~manx.errors.InputError` if it cannot.
        """
        self.settings()
        return self

    def to_toml(self, policy: str | None = None) -> str:
        """The whole scenario as a file that ``manx run`` takes."""
        asked = self.asked()
        point = asked.plain() if policy is None else asked.under(policy)
        return point.toml()

    def copy(self) -> Scenario:
        """Another one with the same keys."""
        other = Scenario(self._base, text=self._text)
        object.__setattr__(other, "_whole", dict(self._whole))
        other._set.update(self._placed(other, "")._set)
        return other

    def _placed(self, root: Scenario | None, path: str) -> Scenario:
        section = Scenario(self._base, text=self._text)
        for key, value in self._set.items():
            if isinstance(value, Section):
                value = value._placed(root, key)
            section._set[key] = value
        return section

    def __deepcopy__(self, memo: dict[int, Any]) -> Scenario:
        return self.copy()

    def __repr__(self) -> str:
        whole = [f"{key}={value!r}" for key, value in self._whole.items() if value is not None]
        keys = [f"{key}={value!r}" for key, value in self.keys_set()]
        return f"Scenario({', '.join([repr(self._base), *whole, *keys])})"


def _class(definition: str) -> type[Section]:
    if definition not in _CLASSES:
        schema = _schema()["$defs"][definition]
        body = {"_properties": schema["properties"], "__module__": __name__,
                "__doc__": schema.get("description")}
        _CLASSES[definition] = type(class_name(definition), (Section,), body)
    return _CLASSES[definition]


def __getattr__(name: str) -> Any:
    """The class of a table by its name."""
    if not name.startswith("_"):
        for definition, schema in _schema()["$defs"].items():
            if class_name(definition) == name and "properties" in schema:
                return _class(definition)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    tables = [class_name(name) for name, one in _schema()["$defs"].items() if "properties" in one]
    return ["Scenario", "Section", *tables]


class _Lazy:
    """The keys of a scenario, read when they are first asked for: importing stays quick."""

    def __get__(self, instance: object, owner: type[Section]) -> dict[str, Any]:
        properties: dict[str, Any] = _schema()["properties"]
        type.__setattr__(owner, "_properties", properties)
        return properties


Scenario._properties = _Lazy()  # type: ignore[assignment]
