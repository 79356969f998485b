"""Counts of datagrams of a run."""

from __future__ import annotations

SIZE_B, SENT = 1000, 10_000


ALL = {"received": SENT, "lost": 0, "reordered": 0, "duplicates": 0, "invalid": 0, "bursts": 0}
