"""ntttcp for Linux: exact bytes of the end that printed them. Only a sender counts connections."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from netlab.imports.totals import RATES_BPS, total_record
from netlab.outputs.records import End, Record, expect
from netlab.outputs.rounded import NUMBER, Printed, PrintedRun

_NTTTCP = {
    "threads": re.compile(r"(\d{1,6}) threads created"),
    "streams": re.compile(r"(\d{1,6}) connections tested"),
    "time": re.compile(rf"test duration\s*:({NUMBER}) seconds"),
    "bytes": re.compile(r"total bytes\s*:(\d{1,19})"),
    "rate": re.compile(rf"throughput\s*:({NUMBER} ?[KMG]?bps)"),
    "again": re.compile(r"retrans segs\s*:(\d{1,12})"),
    "version": re.compile(r"NTTTCP for Linux (\S{1,20})"),
}
NTTTCP = re.compile(r"NTTTCP for Linux|#####  Totals:  #####")


@dataclass
class NtttcpRun(PrintedRun):
    keys: dict[str, str] = field(default_factory=dict)

    @staticmethod
    def _keys(line: str) -> dict[str, str]:
        line = re.sub(r"^(?:\d\d:\d\d:\d\d )?[A-Z]+: *", "", line).strip()
        each = {name: pattern.fullmatch(line) for name, pattern in _NTTTCP.items()}
        return {name: match[1] for name, match in each.items() if match}

    def is_over_at(self, line: str) -> bool:
        """True if a line says again what this run has said."""
        return bool(self.keys.keys() & self._keys(line).keys())

    def take(self, number: int, line: str) -> None:
        """Parse a line; what is not a figure may say anything."""
        whole = "interrupted" not in line
        expect(whole, number, "the run failed: it was interrupted", "E-IMPORT-134")
        self.keys |= self._keys(line)

    def record(self) -> Record:
        keys = self.keys
        whole = keys.keys() >= {"time", "bytes", "rate"}
        expect(whole, self.first, "the run has no totals", "E-IMPORT-135")
        unit = keys["rate"].lstrip("0123456789. ")
        rate = Printed.read(keys["rate"].removesuffix(unit).strip()).scaled(RATES_BPS[unit])
        at: End = "sender" if "streams" in keys else "receiver"
        streams = int(keys["streams"]) if "streams" in keys else None
        facts = {"streams": streams, "version": keys.get("version")}
        amounts_B: dict[str, int | None] = {at: int(keys["bytes"])}
        return total_record(
            "ntttcp", self.first, Printed.read(keys["time"]), rate, at, amounts_B, **facts
        )
