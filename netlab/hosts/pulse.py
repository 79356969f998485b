"""Signs of life: one thread sends an empty line to every process that ends without them."""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable
from typing import Protocol

PULSE_S = 5.0
"""Interval of the empty lines."""

SILENCE_S = 30
"""A remote process ends after this time without input, s; its tuning is reverted before."""


class Pulsed(Protocol):
    """A process that takes empty lines."""

    def pulse(self) -> None:
        """Send one; does nothing if the process is gone."""


class Pulse:
    """Sends pulses to its members from one thread, which runs while there are members."""

    def __init__(self, interval_s: float = PULSE_S, *, sleep: Callable[[float], None] = time.sleep):
        self._interval_s, self._sleep = interval_s, sleep
        self._lock = threading.Lock()
        self._members: weakref.WeakSet[Pulsed] = weakref.WeakSet()
        self._running = False

    def add(self, process: Pulsed) -> None:
        """Send pulses to a process until it is removed or forgotten."""
        with self._lock:
            self._members.add(process)
            if self._running:
                return
            self._running = True
        threading.Thread(target=self._beat, name="netlab-pulse", daemon=True).start()

    def remove(self, process: Pulsed) -> None:
        """Send no more pulses to a process."""
        with self._lock:
            self._members.discard(process)

    def _beat(self) -> None:
        while True:
            self._sleep(self._interval_s)
            with self._lock:
                members = list(self._members)
                self._running = bool(members)
            if not members:
                return
            for process in members:
                process.pulse()


PULSE = Pulse()
"""The thread of this process."""
