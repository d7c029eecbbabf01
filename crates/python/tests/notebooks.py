"""Runs every notebook of docs/notebooks from its first to its last cell, in a folder of its own.

    notebooks.py [NAME..]     --keep FOLDER writes them with their outputs
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from concurrent import futures
from pathlib import Path

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parents[3]


def run(name: str, keep: str | None) -> str:
    begun = time.monotonic()
    notebook = nbformat.read(ROOT / "docs/notebooks" / name, as_version=4)
    nbformat.validate(notebook)
    with tempfile.TemporaryDirectory() as folder:
        resources = {"metadata": {"path": folder}}
        try:
            NotebookClient(notebook, timeout=170, resources=resources).execute()
        except RuntimeError:
            # A kernel is given ports that were free a moment ago, and may not be any more.
            NotebookClient(notebook, timeout=170, resources=resources).execute()
    if keep is not None:
        nbformat.write(notebook, Path(keep) / name)
    return f"{name}: {time.monotonic() - begun:.1f} s"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--keep")
    asked = parser.parse_args()
    names = asked.names or sorted(one.name for one in (ROOT / "docs/notebooks").glob("*.ipynb"))
    if len(names) < 6 and not asked.names:
        sys.exit(f"six notebooks are promised, there are {len(names)}")
    # The kernel is the interpreter that runs this, and finds the package where this one does.
    os.environ["JUPYTER_PLATFORM_DIRS"] = "1"
    with futures.ProcessPoolExecutor(2) as both:
        for told in both.map(run, names, [asked.keep] * len(names)):
            print(told, flush=True)


if __name__ == "__main__":
    main()
