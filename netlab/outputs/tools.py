"""A format of files, and those of the tools that netlab runs itself."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

from netlab.errors import BadInput
from netlab.outputs import iperf2_text, iperf3_json, nuttcp
from netlab.outputs.json_access import OBJECT
from netlab.outputs.records import Record, Runs
from netlab.outputs.rounded import PrintedRun, printed_runs

_IPERF3 = re.compile(r'"(?:start|event)"\s*:\s*[{"]')


def _is_iperf3(text: str) -> bool:
    begin = OBJECT.search(text)
    return begin is not None and bool(_IPERF3.search(text, begin.end(), begin.end() + 4096))


@dataclass(frozen=True)
class Format:
    """One tool's output: whether a text is of it, complete or not; its runs, and their records."""

    name: str
    fits: Callable[[str], object]
    parts: Callable[[str], Iterable[Any]]
    """Of a text: one for each run, or the reason why it is none."""
    record: Callable[[Any], Record]

    def parse(self, text: str) -> Runs:
        runs: list[Record | BadInput] = []
        for part in self.parts(text):
            try:
                runs.append(part if isinstance(part, BadInput) else self.record(part))
            except BadInput as error:
                runs.append(error)
        return tuple(runs)


def printed(name: str, fits: re.Pattern, run: type[PrintedRun]) -> Format:
    return Format(name, fits.search, partial(printed_runs, kind=run), run.record)


IPERF3_JSON = Format("iperf3 JSON", _is_iperf3, iperf3_json.tests_of_iperf3, iperf3_json.of_iperf3)
IPERF2_TEXT = printed("iperf 2 text", iperf2_text.IPERF2, iperf2_text.Iperf2Run)
NUTTCP_LINES = printed("nuttcp or ttcp lines", nuttcp.NUTTCP, nuttcp.NuttcpRun)
