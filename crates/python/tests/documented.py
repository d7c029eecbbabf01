"""Every public name says what it is: its arguments, the units of its numbers, what it raises."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import manx

#: A number says of what it is one.
UNITS = re.compile(
    r"\b(ns|us|ms|s|seconds?|ratio|share|percent|bytes?|sectors?|pages?|mapping units|units|streams?"
    r"|blocks?|requests|commands|rows?|runs?|drives?|number|how many|how often|count|place)\b")
#: Methods of Python's own, whose contract is Python's.
KNOWN = re.compile(r"__\w+__$|_repr_html_$")
#: Arguments that another call explains, where the text says so.
AS_OF = re.compile(r"as\s+of\s+(?::\w+:`)?|of\s+:func:`")


def native() -> dict[str, dict[str, tuple[str, str]]]:
    """Of each class of the native half: its members with docstring and type, as the stub has
    them."""
    tree = ast.parse((Path(manx.__file__).parent / "_manx.pyi").read_text())
    found: dict[str, dict[str, tuple[str, str]]] = {}
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            own = {"": (ast.get_docstring(node) or "", "")}
            for one in node.body:
                if isinstance(one, ast.FunctionDef):
                    returns = ast.unparse(one.returns) if one.returns else ""
                    own[one.name] = (ast.get_docstring(one) or "", returns)
            found[node.name] = own
    return found


def complaints(name: str, of: Any, inherited: str = "") -> Iterator[str]:
    """What is missing at a function, a method or a property."""
    function = of.fget if isinstance(of, property) else of
    function = getattr(function, "__func__", function)
    doc = inspect.getdoc(of) or ""
    if not doc:
        yield f"{name}: it says nothing of itself"
        return
    returns = str(getattr(function, "__annotations__", {}).get("return", ""))
    if re.search(r"\b(int|float)\b", returns) and not UNITS.search(doc + inherited):
        yield f"{name}: of what is its number?"
    if isinstance(of, property):
        return
    arguments = [one for one in inspect.signature(function).parameters.values()
                 if one.name not in ("self", "cls")]
    text = doc + inherited
    for one in arguments:
        told = re.search(rf"`{{1,2}}[^`]*\b{one.name}\b[^`]*`{{1,2}}", text)
        if told is None and AS_OF.search(text) is None:
            yield f"{name}: {one.name} is not explained"
    if name.count(".") == 1 and arguments and "Raises" not in text:
        yield f"{name}: what does it raise?"


def of_class(name: str, cls: type) -> Iterator[str]:
    """What is missing at a class."""
    doc = inspect.getdoc(cls) or ""
    if len(doc) < 20:
        yield f"{name}: it says nothing of itself"
    for key, member in vars(cls).items():
        if key.startswith("_") or KNOWN.match(key):
            continue
        member = getattr(member, "__func__", member)
        # It does what its class promised above.
        if any(hasattr(base, key) for base in cls.__mro__[1:]) and not member.__doc__:
            continue
        if callable(member) or isinstance(member, property):
            yield from complaints(f"{name}.{key}", member, doc)


def main() -> None:
    said: list[str] = []
    of_native, names = native(), 0
    for name in manx.__all__:
        thing, names = getattr(manx, name), names + 1
        if inspect.ismodule(thing):
            continue
        if thing.__module__ == "manx._manx" or name in of_native:
            for member, (doc, returns) in of_native[name].items():
                if not KNOWN.match(member) and not doc:
                    said.append(f"manx.{name}.{member}: it says nothing of itself")
                if re.search(r"\b(int|float)\b", returns) and not KNOWN.match(member) \
                        and not UNITS.search(doc):
                    said.append(f"manx.{name}.{member}: of what is its number?")
        elif inspect.isclass(thing):
            said.extend(of_class(f"manx.{name}", thing))
        else:
            said.extend(complaints(f"manx.{name}", thing))
    for name in importlib.import_module("manx.policies").__all__:
        thing, names = getattr(manx.policies, name), names + 1
        said.extend(of_class(f"manx.policies.{name}", thing))
    for name in ("Blocks", "Pool", "Extents"):
        for member, (doc, returns) in of_native[name].items():
            if not KNOWN.match(member) and (not doc or (
                    re.search(r"\b(int|float)\b", returns) and not UNITS.search(doc))):
                said.append(f"{name}.{member}: {doc!r} does not say enough")
    page = Path(__file__).resolve().parents[3] / "docs/python.md"
    text = page.read_text()
    for name in manx.__all__:
        if not re.search(rf"\b{name}\b", text):
            said.append(f"manx.{name}: docs/python.md does not have it")
    if said:
        sys.exit("\n".join(said))
    print(f"{names} public names say what they are")


if __name__ == "__main__":
    main()
