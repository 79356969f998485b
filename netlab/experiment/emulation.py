"""The emulator of a path during its runs: order a loss before one, collect its report after."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from netlab.lab.emulator import LabEmulator
from netlab.lab.lab import Lab
from netlab.measure import Emulated
from netlab.study import Group, Study

Result = TypeVar("Result")


class Emulation:
    """The running emulator of one lab path."""

    def __init__(
        self,
        emulator: LabEmulator,
        first: str,
        each_way_s: tuple[float, float],
        interval_ms: int,
    ):
        self._emulator, self._first = emulator, first
        self._each_way_s, self._interval_ms = each_way_s, interval_ms

    @classmethod
    def of(
        cls, study: Study, path: str, lab: Lab | None, *, interval_ms: int | None = None
    ) -> Emulation | None:
        """The emulator of a path; None without one, or with netem, which gives no report."""
        link = study.path(path).link
        if lab is None or link is None or link.emulator is None:
            return None
        if lab.emulated_with(path) != "netlab":
            return None
        there_ms, back_ms = link.emulator.each_way_ms
        return cls(
            lab.emulator(path),
            study.path(path).ends[0].host,
            (there_ms / 1e3, back_ms / 1e3),
            interval_ms or study.timing.interval_ms,
        )

    def _forward(self, group: Group) -> str:
        return "ab" if group.sender == self._first else "ba"

    def around(self, group: Group, run: Callable[[], Result]) -> tuple[Result, Emulated]:
        """Make a run of a group; return its result and the emulator's activity during it."""
        forward = self._forward(group)
        try:
            if group.force_loss_at_s is not None:
                # The start that both ends share is the sink's; the first data packet of the sender
                # reaches the emulator one way later.
                way_s = self._each_way_s[forward == "ba"]
                self._emulator.force_loss(forward, group.force_loss_at_s + way_s)
            before = self._emulator.report(restart_ms=self._interval_ms)
            result = run()
            return result, Emulated(before, self._emulator.report(samples=True), forward)
        finally:
            if group.force_loss_at_s is not None:
                self._emulator.forget_losses(forward)
