"""Two links in a row: what flows over both, or over one of them, can have together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from netlab.study.flows import BOTH, FIRST, SECOND, PlannedFlow, each, has_spans
from netlab.study.links import LabLink


@dataclass(frozen=True)
class Spans:
    """Rates of the two links of a run, MB/s of frames, and the links of each flow in turn."""

    first_MBps: float | None
    second_MBps: float | None
    over: tuple[str, ...]

    @classmethod
    def of(cls, link: LabLink | None, flows: Sequence[PlannedFlow], *, back: bool) -> Spans | None:
        """Those of a run in one direction; None where all flows pass the whole path."""
        if link is None or not has_spans(flows):
            return None
        rates_Mbps = (each_way[back] for each_way in link.rates_Mbps)
        first, second = (None if rate is None else rate / 8 for rate in rates_Mbps)
        return cls(first, second, tuple(flow.over for flow in each(flows)))

    def links(self, goodputs_MBps: Sequence[float]) -> list[tuple[float, float]]:
        """Goodput of the flows of each link with a rate (one a stream), and its rate of frames."""
        rates = {FIRST: self.first_MBps, SECOND: self.second_MBps}
        return [
            (sum(self._over(goodputs_MBps, hop, BOTH)), rate)
            for hop, rate in rates.items()
            if rate is not None and {hop, BOTH} & {*self.over}
        ]

    def _over(self, goodputs_MBps: Sequence[float], *spans: str) -> list[float]:
        dealt = enumerate(goodputs_MBps)
        return [rate for at, rate in dealt if self.over[at % len(self.over)] in spans]

    def by_link(self, moved: np.ndarray) -> list[np.ndarray]:
        """Of a figure of each stream, those of the flows of each link that any pass."""
        over = np.array([self.over[at % len(self.over)] for at in range(len(moved))])
        parts = (moved[(over == hop) | (over == BOTH)] for hop in (FIRST, SECOND))
        return [part for part in parts if len(part)]

    def together_MBps(
        self, goodputs_MBps: Sequence[float], payload_share: float, cross_MBps: float = 0.0
    ) -> float | None:
        """Most that all flows can have, MB/s of frames; None without a limit.

        Bytes of a flow over both links count once, and take a part of each: what such flows have
        (of ``goodputs_MBps``, one a stream) is not there for others on either link. UDP beside the
        streams (``cross_MBps``, of frames) passes both, and is still to be taken off once.
        """
        spans, first, second = {*self.over}, self.first_MBps, self.second_MBps
        if FIRST not in spans or SECOND not in spans:
            return first if FIRST in spans else second
        if first is None or second is None:
            return None
        both_MBps = sum(self._over(goodputs_MBps, BOTH)) / payload_share
        return first + second - both_MBps - cross_MBps

    def text(self) -> str:
        """The links, for the source of a ceiling."""
        rates, spans = (self.first_MBps, self.second_MBps), {*self.over}
        shown = " and ".join("no rate" if rate is None else f"{rate:g} MB/s" for rate in rates)
        text = f"links of {shown} in a row, as the study states"
        return f"{text}, less what flows over both have" if len(spans) == 3 else text
