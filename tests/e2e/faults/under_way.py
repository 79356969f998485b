"""A measurement under way, which causes of faults disturb."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from e2e.faults.fault_site import Site, Started, until

HERE = Path(__file__).parent
GONE_S = 45.0
"""Time for hosts to notice a silent controller, end and revert."""
STOPPED_S = 35.0
"""Longer than agent and tune live without a sign of life, 30 s."""
Result = tuple[int, str]


def under_way(site: Site, **options) -> Started:
    process = site.measure(**options)
    until(site.sending, 60)
    return process


@contextlib.contextmanager
def changed(path: Path, text: str) -> Iterator[None]:
    before = path.read_text()
    path.write_text(text)
    yield
    path.write_text(before)
