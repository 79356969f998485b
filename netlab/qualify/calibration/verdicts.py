"""Verdicts of calibrated cells, and the flags behind them."""

import time
from collections.abc import Iterator

WITHIN, OUTSIDE, DISTURBED, NOT_MEASURED = "within", "outside", "disturbed", "not measured"
"""Disturbed: the cell is off its bound, but every run had steal or foreign load."""

PAUSE_S = 5.0
"""Pause before a retry: other work on the machine often lasts for seconds."""

RATE_HEADS = {
    "rate_Mbps": "Mb/s",
    "mtu_B": "MTU",
    "expected_MBps": "TCP can carry, MB/s",
    "goodput_MBps": "measured, MB/s",
    "error_percent": "error %",
    "within_percent": "bound %",
}
"""Column headings of a rate and its error, for links and for the emulator."""


def numbered(tries: int, pause_s: float) -> Iterator[int]:
    """Numbers of tries from 1, with a pause of `pause_s` before each but the first."""
    for number in range(1, tries + 1):
        if number > 1:
            time.sleep(pause_s)
        yield number


def undisturbed(sample: dict) -> bool:
    """True for a sample without steal and foreign load."""
    return "interference" not in sample["flags"].split(",")


def all_flags(samples: list[dict]) -> str:
    """All flags of several samples, each once, comma-separated."""
    return ",".join(sorted({f for one in samples for f in one["flags"].split(",") if f}))
