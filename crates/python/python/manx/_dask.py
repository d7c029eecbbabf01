"""The cluster's client for ``manx sweep --dask``: ``python -m manx._dask ADDRESS``.

A line of JSON on standard input is a question: points, and how they are run. Its answers are lines
on standard output: ``ended`` with a point's number and result, as they come, then ``done``, or
``refused`` (the input is wrong) or ``failed``. It begins with ``ready``, and ends with its input.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import sys
import threading
from importlib import import_module
from typing import Any

from . import _manx
from ._sweeps import as_completed
from .errors import InputError

#: Seconds that a scheduler is given to answer.
_PATIENCE = 10


def _say(**answer: Any) -> None:
    for kind, of in answer.items():
        sys.stdout.write(json.dumps({kind: of} if of is not None else kind) + "\n")
    sys.stdout.flush()


def _read(questions: queue.SimpleQueue[Any]) -> None:
    for line in sys.stdin:
        questions.put(json.loads(line))
    # A scheduler forgets the tasks of a client that is gone.
    os._exit(0)


def _ask(client: Any, question: dict[str, Any]) -> None:
    verify, cache = question["verify"], question["cache"]
    tasks, places = {}, {}
    for at, (policy, toml) in enumerate(question["points"]):
        key = _manx.Asked("scenario", toml).named(policy).key(verify)
        tasks[key] = (toml, policy, key, verify, cache)
        places[key] = at
    for key, text in as_completed(client, tasks, "point"):
        result = json.loads(_manx.Played.from_json(text)[0].json())
        _say(ended={"point": places[key], "result": result})
    _say(done=None)


def main(address: str) -> None:
    """Serves questions until the input ends."""
    # Ctrl-C is for the program that asks: it closes our input.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        client = import_module("distributed").Client(address, timeout=_PATIENCE,
                                                     set_as_default=False)
        workers = len(client.ncores())
    except ImportError:
        raise
    except Exception as error:  # noqa: BLE001  Of any kind, by what the address is.
        _say(refused=f"no scheduler answers there: {error}")
        # A client that never began takes its time to end.
        os._exit(0)
    _say(ready={"program": json.loads(_manx.program()), "workers": workers})
    questions: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(questions,), daemon=True).start()
    while True:
        try:
            _ask(client, questions.get())
        except InputError as error:
            _say(refused=str(error))
        except Exception as error:  # noqa: BLE001  A worker raises what it likes.
            _say(failed=f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    main(*sys.argv[1:])
