"""Histograms of round trips in HDR form: 10^7 of them are 8 kB, and merging loses nothing.

A text is the compressed form in base64 that other tools of HdrHistogram read and plot, in
microseconds.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable

import numpy as np
from hdrh.codec import HdrCookieException, HdrLengthException
from hdrh.histogram import HdrHistogram

from netlab.errors import BadInput, why

LARGEST_US = 60_000_000
DIGITS = 3
"""Significant digits of a round trip that a histogram keeps."""

# A text of a bundle may be anything, and inflate to a thousand times its length.
LONGEST_TEXT = 1 << 16
DAMAGES = (HdrCookieException, HdrLengthException, ValueError, IndexError, OverflowError)


def encode(rtts_us: np.ndarray) -> str | None:
    """Text of the histogram of some round trips; None without any."""
    if not rtts_us.size:
        return None
    histogram = HdrHistogram(1, LARGEST_US, DIGITS)
    within_us = np.clip(rtts_us, 1, LARGEST_US).astype(int)
    for value, count in np.column_stack(np.unique(within_us, return_counts=True)).tolist():
        histogram.record_value(value, count)
    return histogram.encode().decode()


def merged(texts: Iterable[str]) -> HdrHistogram:
    """One histogram of what several texts hold; BadInput if one is damaged."""
    histogram = HdrHistogram(1, LARGEST_US, DIGITS)
    for text in texts:
        try:
            if len(text) > LONGEST_TEXT:
                raise ValueError(f"{len(text)} characters")
            histogram.decode_and_add(text)
        except (*DAMAGES, zlib.error) as error:
            reason = f"no histogram of round trips: {why(error)}"
            raise BadInput(reason, code="E-RESULTS-024") from None
    return histogram
