"""Runs the examples of every docstring of the package."""

import doctest
import importlib
import pkgutil
import sys

import manx

failed = tried = 0
names = [f"manx.{one.name}" for one in pkgutil.iter_modules(manx.__path__) if one.name != "_manx"]
for name in ["manx", *names]:
    module = importlib.import_module(name)
    outcome = doctest.testmod(module, optionflags=doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL)
    failed += outcome.failed
    tried += outcome.attempted
print(f"{tried} examples, {failed} failed")
sys.exit(failed > 0 or tried < 15)
