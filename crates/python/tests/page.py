"""Runs the Python blocks of a page, one after the other, in one interpreter and a scratch folder."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from pathlib import Path

page = Path(sys.argv[1]).resolve()
blocks = list(re.finditer(r"^```py\n(.*?)^```$", page.read_text(), re.M | re.S))
scope: dict[str, object] = {"__name__": "__page__"}
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    for block in blocks:
        line = page.read_text().count("\n", 0, block.start()) + 1
        try:
            exec(compile("\n" * line + block[1], str(page), "exec"), scope)
        except Exception as error:
            sys.exit(f"{page}:{line}: this block does not run: {type(error).__name__}: {error}")
    os.chdir(page.parent)
print(f"{len(blocks)} blocks of {page.name} run")
sys.exit(not blocks)
