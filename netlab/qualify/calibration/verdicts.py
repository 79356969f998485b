"""Verdicts of calibrated cells, and the flags behind them."""

from collections.abc import Sized

WITHIN, OUTSIDE, DISTURBED, NOT_MEASURED = "within", "outside", "disturbed", "not measured"
"""Disturbed: the cell is off its bound, but every try beyond it had steal or foreign load."""

EVERY_TRY = (
    "Every try counts: the figure is the median of all, between the least and the greatest; a cell "
    "of which half the tries or more failed is not measured."
)
"""The rule for the tries of a cell, for notes."""

RATE_HEADS = {
    "rate_Mbps": "Mb/s",
    "mtu_B": "MTU",
    "expected_MBps": "TCP can carry, MB/s",
    "goodput_MBps": "measured, MB/s",
    "error_percent": "error %",
    "least_percent": "least %",
    "greatest_percent": "greatest %",
    "within_percent": "bound %",
}
"""Column headings of a rate and its error, for links and for the emulator."""


def too_few(known: Sized, tries: int) -> bool:
    """True if so many tries have no figure that a median of all is unknown."""
    return 2 * len(known) <= tries


def undisturbed(sample: dict) -> bool:
    """True for a sample without steal and foreign load."""
    return "interference" not in sample["flags"].split(",")


def all_flags(samples: list[dict]) -> str:
    """All flags of several samples, each once, comma-separated."""
    return ",".join(sorted({f for one in samples for f in one["flags"].split(",") if f}))
