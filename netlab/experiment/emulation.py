"""The emulator of a path during its runs: order a loss before one, collect its report after."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from netlab.lab.emulator import LabEmulator
from netlab.lab.lab import Lab
from netlab.measure.emulator_report import Emulated
from netlab.study import Group, Study
from netlab.study import flows as unequal
from netlab.study.flows import HOPS

Result = TypeVar("Result")


@dataclass(frozen=True)
class Emulation:
    """The running emulator of one lab path; ``first`` is the host of its first end."""

    emulator: LabEmulator
    first: str
    each_way_ms: tuple[float, float]
    interval_ms: int

    @classmethod
    def of(
        cls, study: Study, path: str, lab: Lab | None, *, interval_ms: int | None = None
    ) -> Emulation | None:
        """The emulator of a path; None without one, or with netem, which gives no report."""
        link, first = study.path(path).link, study.path(path).ends[0].host
        if lab is None or link is None or link.emulator is None:
            return None
        if lab.emulated_with(path) != "netlab":
            return None
        interval_ms = interval_ms or study.timing.interval_ms
        return cls(lab.emulator(path), first, link.emulator.each_way_ms, interval_ms)

    def around(self, group: Group, run: Callable[[], Result]) -> tuple[Result, Emulated]:
        """Make a run of a group; return its result and the emulator's activity during it."""
        is_back = group.sender != self.first
        forward = "ba" if is_back else "ab"
        own_rtts, path_ms = unequal.has_rtt(group.flows), sum(self.each_way_ms)
        try:
            for direction, ms in zip(("ab", "ba"), self.each_way_ms, strict=True):
                if own_rtts:
                    part = ms / path_ms if path_ms else 0.5
                    self.emulator.delay_flows(direction, unequal.delays(group.flows, part))
            if unequal.has_spans(group.flows):
                self.emulator.lead_flows(*(unequal.ports_over(group.flows, h) for h in HOPS))
            if group.force_loss_at_s is not None:
                # The start that both ends share is the sink's; the first data packet of the sender
                # reaches the emulator one way later.
                after_s = group.force_loss_at_s + self.each_way_ms[is_back] / 1e3
                self.emulator.force_loss(forward, after_s)
            before = self.emulator.report(restart_ms=self.interval_ms)
            result = run()
            after = self.emulator.report(samples=True)
            longest_us = 1e6 * unequal.longest_rtt_s(group.flows, 0.0)
            return result, Emulated(before, after, forward, longest_us)
        finally:
            if own_rtts:
                for direction in ("ab", "ba"):
                    self.emulator.delay_flows(direction, unequal.delays((), 0.0))
            if unequal.has_spans(group.flows):
                self.emulator.lead_flows(*(unequal.ports_over((), hop) for hop in HOPS))
            if group.force_loss_at_s is not None:
                self.emulator.forget_losses(forward)
