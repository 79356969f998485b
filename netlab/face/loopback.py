"""A transfer on this machine, in this process: the first thing to try."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

from netlab import core
from netlab.core import RunReport
from netlab.face.notebook import Shown
from netlab.files.tables import Table

DEFAULTS = {"warmup_ms": 100, "window_ms": 1000, "congestion": "reno"}
"""Every kernel has reno, and any user may choose it."""


@dataclass(frozen=True, repr=False)
class LoopbackRun(Shown):
    """A run between two sockets of this machine; shows its rate and its ledger."""

    sink: RunReport
    gen: RunReport

    @property
    def goodput_MBps(self) -> float:
        """Payload that the sink read within its window, 10^6 B/s."""
        return self.sink.goodput_MBps

    @property
    def ledger(self) -> dict[str, int]:
        """Bytes of the run by the place where they were counted."""
        return {
            "given to send()": self.gen.total_bytes,
            "read by the sink": self.sink.total_bytes,
            "sum of the sink's intervals": self.sink.interval_sum_bytes,
            "sum of the sender's intervals": self.gen.interval_sum_bytes,
        }

    @property
    def closes(self) -> bool:
        """True if all counts of the ledger agree."""
        return len(set(self.ledger.values())) == 1

    def _parts(self) -> tuple[Table]:
        rtts_us = [stream["tcp"]["rtt_us"] for stream in self.gen.per_stream]
        rows = [
            ("goodput at the sink", f"{self.goodput_MBps:,.0f} MB/s"),
            *((place, f"{count:,} B") for place, count in self.ledger.items()),
            ("ledger", "closes to the byte" if self.closes else "does not close"),
            ("RTT, mean of streams", f"{sum(rtts_us) / len(rtts_us):,.0f} us"),
        ]
        frame = pd.DataFrame(rows, columns=["quantity", "value"])
        return (Table(frame, f"A transfer over loopback, {self.sink.streams} streams"),)


def transfer(streams: int = 1, **settings: object) -> LoopbackRun:
    """Move bytes between two sockets of this machine.

    Both ends run in this process, one thread a stream. No setting of the machine is changed.

    Parameters
    ----------
    streams : int
        Number of parallel TCP streams.
    **settings
        Further options of a run by name, such as ``window_ms`` or ``bytes``; see
        :func:`netlab.core.options`. The default is a window of 1000 ms after a warm-up of 100 ms.

    Returns
    -------
    LoopbackRun
        Rate and ledger of the run.

    Raises
    ------
    CoreError
        Unknown option, refused value, or streams that could not be connected.

    Examples
    --------
    >>> import netlab
    >>> run = netlab.transfer(streams=4, window_ms=200)
    >>> run.goodput_MBps > 0
    True
    >>> run.ledger["given to send()"] == run.ledger["read by the sink"]
    True
    """
    chosen: dict[str, Any] = {**DEFAULTS, **settings}
    if settings.get("bytes"):
        chosen = {"congestion": DEFAULTS["congestion"], **settings}
    return LoopbackRun(*core.transfer(streams=streams, **chosen))
