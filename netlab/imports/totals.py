"""Records of tools that print one total a run, of the end that each names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from netlab.outputs.records import End, Record, expect, one_flow
from netlab.outputs.rounded import Printed, check_rate

RATES_BPS = {
    **{f"10^{power}bits": 10**power / 8 for power in (0, 3, 6, 9, 12)},
    **{"bit": 1 / 8, "Kbit": 1e3 / 8, "Mbit": 1e6 / 8, "Gbit": 1e9 / 8},
    **{"bps": 1 / 8, "Kbps": 1e3 / 8, "Mbps": 1e6 / 8, "Gbps": 1e9 / 8},
    **{"Bytes": 1, "KBytes": 2**10, "MBytes": 2**20, "GBytes": 2**30},
    **{"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30},
}
"""Bytes a second of one unit of a rate, by the unit before ``/s``."""


def total_record(
    tool: str,
    line: int,
    time_s: Printed,
    rate_Bps: Printed,
    at: End | None,
    amounts_B: Mapping[str, int | None],
    **facts: Any,
) -> Record:
    """A run by its time and rate, with the bytes of each end where they are known.

    The receiver's bytes make the rate; a sender's rate stays one of the sender.
    """
    counted = amounts_B.get(at or "")
    amount_B = Printed(counted or rate_Bps.value * time_s.value, 0.5)
    check_rate(line, amount_B, time_s, rate_Bps)
    received_B = amounts_B.get("receiver")
    if received_B:
        at, counted, rate_Bps = "receiver", received_B, Printed(received_B / time_s.value, 0.0)
    expect(rate_Bps.value, line, "the run moved nothing", "E-IMPORT-123")
    facts = {"rounded": counted is None} | facts
    return one_flow(
        *(tool, line, time_s.value, rate_Bps.value / 1e6, at),
        window_B=counted or round(amount_B.value),
        sent_B=amounts_B.get("sender"),
        received_B=received_B,
        **facts,
    )


UNIT = re.compile(r"\b(?P<unit>10\^\d{1,2}bits|[KMG]?Bytes) */s(?:ec)?\b")


def scale(unit: str) -> float:
    return RATES_BPS.get(unit.removesuffix("ec").removesuffix("/s"), 0.0)


def unit_of(line: int, text: str) -> float:
    expect(scale(text), line, f"not a rate in bits or bytes: {text[:40]!r}", "E-IMPORT-125")
    return scale(text)
