"""What the tests share."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[4]
SMALL = {"workload.requests": 4000}


def stripped(document: str) -> Any:
    """A document without what depends on the machine."""

    def strip(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: strip(one) for key, one in value.items() if key != "machine"}
        return [strip(one) for one in value] if isinstance(value, list) else value

    return strip(json.loads(document))


@pytest.fixture(scope="session")
def program() -> str:
    """The command line, built from the same source."""
    said = os.environ.get("MANX_PROGRAM", "")
    if not Path(said).is_file():
        pytest.skip("the program manx is not built: cargo build -p manx-ssd")
    return said
