"""Ctrl-C while work blocks an event loop.

`asyncio.run` and ipykernel handle the first SIGINT by cancelling the task that runs. A task that
calls a function which blocks is cancelled when the function has returned: the function itself
would go on to its end.
"""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

LOOPS = frozenset({"asyncio", "ipykernel"})
"""Packages whose handlers of SIGINT cancel a task."""


def cancels_a_task(handler: Any) -> bool:
    """True of the handler of an event loop."""
    function = handler.func if isinstance(handler, partial) else handler
    return str(getattr(function, "__module__", "")).partition(".")[0] in LOOPS


@contextmanager
def interrupts_raise() -> Iterator[None]:
    """Let Ctrl-C raise KeyboardInterrupt in a block within a coroutine.

    A handler of the caller's own stays in place, as does an ignored signal.
    """
    handler = signal.getsignal(signal.SIGINT)
    in_main = threading.current_thread() is threading.main_thread()
    # private in name, and documented for this: None where no loop runs
    if not (in_main and asyncio._get_running_loop() and cancels_a_task(handler)):
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
