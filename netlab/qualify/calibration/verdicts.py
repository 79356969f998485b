"""What is said of a calibrated cell, and what that cell cannot be blamed for."""

import time
from collections.abc import Iterator

WITHIN, OUTSIDE, DISTURBED, NOT_MEASURED = "within", "outside", "disturbed", "not measured"
"""Disturbed is a cell off its bound of which every run met steal or foreign load: it says nothing
of netlab."""


PAUSE_S = 5.0
"""Before a cell is measured again: other work comes in spells, of seconds more often than not."""

RATE_HEADS = {
    "rate_Mbps": "Mb/s",
    "mtu_B": "MTU",
    "expected_MBps": "TCP can carry, MB/s",
    "goodput_MBps": "measured, MB/s",
    "error_percent": "error %",
    "within_percent": "bound %",
}
"""What people read over the columns of a rate and its error, of a link's and of the emulator's."""


def numbered(tries: int, pause_s: float) -> Iterator[int]:
    """Numbers of tries from 1, with a pause of `pause_s` before each but the first."""
    for number in range(1, tries + 1):
        if number > 1:
            time.sleep(pause_s)
        yield number


def undisturbed(sample: dict) -> bool:
    """Whether neither steal nor foreign load was met."""
    return "interference" not in sample["flags"].split(",")


def all_flags(samples: list[dict]) -> str:
    """Every flag of several samples once, with commas between them."""
    return ",".join(sorted({f for one in samples for f in one["flags"].split(",") if f}))
