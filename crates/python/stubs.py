"""Writes ``python/manx/scenario.pyi`` from the schema that the module prints.

    python crates/python/stubs.py            tells whether it is as it should be
    python crates/python/stubs.py --write    writes it
"""

from __future__ import annotations

import json
import sys
import textwrap
from pathlib import Path
from typing import Any

from manx import _manx
from manx.scenario import class_name, table_of

FILE = Path(__file__).parent / "python/manx/scenario.pyi"

HEAD = '''"""A scenario: every key that determines a run, as typed objects.

Made by crates/python/stubs.py from ``manx schema scenario``. Times are text such as "40us", sizes
"4KiB", rates "1200MB/s".
"""

from collections.abc import Iterator, Mapping, Sequence
from os import PathLike
from typing import Any, Literal, TypedDict

from . import _manx

Time = str
Size = str
Rate = str

class Section:
    """A table of a scenario. What was not set keeps the scenario's value."""

    def keys_set(self) -> Iterator[tuple[str, Any]]:
        """Keys that were set here, each with its value."""

'''

UNITS = {"Duration": "Time", "Bytes": "Size", "Bandwidth": "Rate"}

SCENARIO = '''    def __init__(self, base: str | PathLike[str] = "oltp", *, text: str | None = None,
                 trace: str | PathLike[str] | None = None, {arguments}) -> None: ...
    @classmethod
    def from_toml(cls, text: str, name: str = "scenario") -> Scenario:
        """The scenario of a text, as a scenario file has it."""
    def asked(self, sets: list[tuple[str, str, str]] | None = None,
              attribution: bool = False) -> _manx.Asked:
        """It, read; `sets` over its own keys."""
    def settings(self, policy: str | None = None) -> dict[str, Any]:
        """Every key with its value, as the run will have it; under `policy`, if one is named.

        Raises :class:`~manx.errors.InputError` where a value is not allowed.
        """
    def check(self) -> Scenario:
        """Itself, if it can be run.

        Raises :class:`~manx.errors.InputError` if it cannot.
        """
    def to_toml(self, policy: str | None = None) -> str:
        """The whole scenario as a file that ``manx run`` takes."""
    def copy(self) -> Scenario:
        """Another one with the same keys."""
    _whole: dict[str, str | None]
'''


def kind(property: dict[str, Any], schema: dict[str, Any], loose: bool) -> str:
    """The type of a property; `loose`: as it may be written, else as it is read."""
    if "anyOf" in property:
        kinds = [kind(option, schema, loose) for option in property["anyOf"]]
        return " | ".join(dict.fromkeys(kinds))
    if "$ref" in property:
        name = property["$ref"].rpartition("/")[2]
        definition = schema["$defs"][name]
        if "properties" in definition:
            table = class_name(name)
            return f"{table} | {table}Keys" if loose else table
        choices = [json.dumps(one["const"]) for one in definition.get("oneOf", [])]
        return f"Literal[{', '.join(choices)}]" if choices else UNITS.get(name, "str")
    names = property.get("type", "any")
    if isinstance(names, list):
        return " | ".join(kind({**property, "type": name}, schema, loose) for name in names)
    if names == "array":
        items = property.get("items", {})
        if "prefixItems" in items:
            kinds = [kind(one, schema, loose) for one in items["prefixItems"]]
            return f"Sequence[Sequence[{' | '.join(dict.fromkeys(kinds))}]]"
        return f"Sequence[{kind(items, schema, loose)}]" if items else "Sequence[Any]"
    known = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
    return known.get(names, "Mapping[str, Any]" if names == "object" else "Any")


def documented(text: str) -> list[str]:
    """A docstring under an attribute."""
    text = " ".join(text.split()).replace("\\", "\\\\").replace('"""', "'''")
    if not text:
        return []
    if len(text) <= 88:
        return [f'    """{text}"""']
    return ['    """', *textwrap.wrap(text, 92, initial_indent="    ", subsequent_indent="    "),
            '    """']


def table(name: str, schema: dict[str, Any]) -> list[str]:
    """The class of a table, and what may be written for one."""
    definition = schema["$defs"][name]
    properties = definition["properties"]
    lines = [f"class {class_name(name)}Keys(TypedDict, total=False):"]
    odd = [key for key in properties if key in ("from", "list")]
    if odd:
        lines = [f"{class_name(name)}Keys = Mapping[str, Any]"]
    else:
        lines += [f"    {key}: {kind(one, schema, True)}" for key, one in properties.items()]
    lines += ["", f"class {class_name(name)}(Section):"]
    lines += documented(definition.get("description", ""))
    plain = {key: one for key, one in properties.items() if key != "from"}
    arguments = ", ".join(f"{key}: {kind(one, schema, True)} = ..." for key, one in plain.items())
    lines.append(f"    def __init__(self, *, {arguments}) -> None: ...")
    lines += attributes(plain, schema)
    return [*lines, ""]


def attributes(properties: dict[str, Any], schema: dict[str, Any]) -> list[str]:
    """The keys of a table, each with its description."""
    lines = []
    for key, one in properties.items():
        if table_of(one) is None:
            lines.append(f"    {key}: {kind(one, schema, False)}")
            lines += documented(one.get("description", ""))
            continue
        # A table is read as one, and may be written as a dict.
        read = kind(one, schema, False).replace(" | None", "")
        lines += ["    @property", f"    def {key}(self) -> {read}:"]
        lines += ["    " + line for line in documented(one.get("description", "-"))]
        lines += [f"    @{key}.setter",
                  f"    def {key}(self, value: {kind(one, schema, True)}) -> None: ..."]
    return lines


def stub() -> str:
    """The whole file."""
    schema = json.loads(_manx.schema_scenario())
    lines = []
    for name, definition in schema["$defs"].items():
        if "properties" in definition:
            lines += table(name, schema)
    lines.append("class Scenario(Section):")
    lines.append('    """A scenario: a built-in one, a file, or a text, and what lies over it."""')
    wide = {"device": "str | PathLike[str]", "workload": "str | PathLike[str]"}
    arguments = ", ".join(
        f"{key}: {kind(one, schema, True)}{' | ' + wide[key] if key in wide else ''} = ..."
        for key, one in schema["properties"].items())
    lines.append(SCENARIO.replace("{arguments}", arguments).rstrip("\n"))
    lines += attributes(schema["properties"], schema)
    return HEAD + "\n".join(lines) + "\n"


def main() -> int:
    """Checks the file, or writes it."""
    text = stub()
    if "--write" in sys.argv[1:]:
        FILE.write_text(text, encoding="utf-8")
        return 0
    if FILE.read_text(encoding="utf-8") != text:
        print(f"{FILE} is not what `manx schema scenario` says: run stubs.py --write")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
