"""Disturbances of a path or a program while its runs are measured."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass

from netlab.experiment.endpoint import Endpoint
from netlab.lab.lab import Lab
from netlab.lab.namespaces import tool
from netlab.lab.pair import RECEIVER, SENDER

FOREIGN = "foreign CPU"

STOPPED_SHARE, STOPPED_EACH_S = 0.9, 0.1
MOST_S = 120
"""Longest time of a program that loads the CPUs, should netlab be killed meanwhile."""


@dataclass(frozen=True)
class Place:
    """Place in which a truth is made: the lab and the open ends of its path."""

    lab: Lab
    endpoints: Mapping[str, Endpoint]

    def run(self, host: str, *argv: str) -> None:
        tool(self.lab.inside(host, argv), host=host)


@contextmanager
def shaped(place: Place) -> Iterator[None]:
    device = place.endpoints[SENDER].interface
    bucket = ("tbf", "rate", "200mbit", "burst", "64kb", "limit", "500kb")
    place.run(SENDER, "tc", "qdisc", "replace", "dev", device, "root", *bucket)
    yield


@contextmanager
def policed(place: Place) -> Iterator[None]:
    device = place.endpoints[RECEIVER].interface
    rule = f"iifname {device} limit rate over 25 mbytes/second burst 64 kbytes drop"
    chain = "type filter hook input priority 0 ;"
    rules = ("add table inet police", f"add chain inet police in {{ {chain} }}")
    place.run(RECEIVER, "nft", "; ".join((*rules, f"add rule inet police in {rule}")))
    try:
        yield
    finally:
        place.run(RECEIVER, "nft", "delete table inet police")


def stopped(host: str) -> Callable[[Place], AbstractContextManager[None]]:
    @contextmanager
    def of(place: Place) -> Iterator[None]:
        """Stop the agent of a host for most of the time, as a program that is busy elsewhere."""
        pid, over = place.endpoints[host].pid or 0, threading.Event()

        def stop_again() -> None:
            while not over.is_set():
                for number, share in (
                    (signal.SIGSTOP, STOPPED_SHARE),
                    (signal.SIGCONT, 1 - STOPPED_SHARE),
                ):
                    with suppress(ProcessLookupError):
                        os.kill(pid, number)
                    over.wait(share * STOPPED_EACH_S)

        thread = threading.Thread(target=stop_again, daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)

    return of


@contextmanager
def loaded(_place: Place) -> Iterator[None]:
    """Two programs for each CPU."""
    loop = ("timeout", str(MOST_S), "sh", "-c", "while :; do :; done")
    count = 2 * len(os.sched_getaffinity(0))
    running = [subprocess.Popen(loop, process_group=0) for _ in range(count)]
    try:
        yield
    finally:
        for process in running:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def undisturbed(_place: Place) -> AbstractContextManager[None]:
    return nullcontext()
