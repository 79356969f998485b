"""Callbacks of a campaign, and a run that ended."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from netlab.experiment.adaptive import Look

from netlab.files.bounded_json import parse_json
from netlab.study.schedule import Visit


@dataclass(frozen=True)
class RunDone:
    """A run that ended, as the kernel of a block announces it."""

    run_id: str
    goodput_MBps: float | None = None
    cpu_percent: float | None = None
    flags: str = ""
    message: str = ""

    @classmethod
    def of(cls, row: Mapping) -> RunDone:
        goodput, cpu = (_number(row.get(n)) for n in ("goodput_MBps", "busiest_core_percent"))
        texts = (str(row.get(name) or "") for name in ("flags", "message"))
        return cls(str(row["run_id"]), goodput, cpu, *texts)

    @classmethod
    def parsed(cls, text: str) -> RunDone:
        return cls(**parse_json(text))

    @property
    def text(self) -> str:
        return json.dumps(asdict(self))


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None


class Watcher:
    """Callbacks of a campaign; the displays of progress follow it through them."""

    def start(
        self,
        runs: int,
        kept: int,
        visits: int,
        seconds_per_run: float,
        until: str = "",
        *,
        again: bool = False,
    ) -> None:
        """The campaign starts: `kept` of `runs` have a valid record, `visits` visits are left.

        `until` names the event that these runs lead to, if more may follow it. With `again`
        disturbed runs may be measured again.
        """

    def look(self, look: Look, runs: int, visits: int, until: str = "") -> None:
        """The cells were tested after a round; `runs` and `visits` follow, to the next test."""

    def again(self, runs: int, visits: int) -> None:
        """Disturbed runs are measured again, in so many visits."""

    def note(self, text: str) -> None:
        """A message for the user, such as what is waited for."""

    def visit(self, visit: Visit) -> None:
        """A visit of a block starts."""

    def run_done(self, run: RunDone) -> None:
        """A run is done."""

    def end(self) -> None:
        """All rounds are done."""
