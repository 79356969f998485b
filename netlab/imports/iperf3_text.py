"""Text that iperf3 prints for people, a client's or a server's: rounded as iperf 2's lines are."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from netlab.outputs.iperf_lines import LATE, Line, line_of, total_of
from netlab.outputs.records import (
    MAX_STREAMS,
    Datagrams,
    Flow,
    Record,
    Sample,
    damaged,
    expect,
    sum_of,
    unix_s,
)
from netlab.outputs.rounded import DECIMAL, NOTHING, NUMBER, PrintedRun

_RESULT3 = re.compile(
    r"\[ *(?P<id>\d{1,6}|SUM)\](?:\[(?P<role>[TR]X-[CS])\])? +"
    rf"(?P<start>{NUMBER})-(?P<end>{NUMBER}) +sec +(?P<amount>{NUMBER}) (?P<unit>[KMGT]?)Bytes +"
    rf"(?P<rate>{NUMBER}|-?nan) (?P<rate_unit>[KMGT]?)(?P<what>bits|Bytes)/sec(?P<more>.*)"
)
_MORE = re.compile(r" *(?:(?P<retr>\d{1,12})\b.*?)?(?P<end>sender|receiver|\(omitted\))?")
_DATE3 = re.compile(r"[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4} (?=\S)")
_BEGINS = re.compile(r"iperf 3\.\S+.*|Connecting to host .*|Accepted connection from .*")
_LOCAL = re.compile(r"\[ *(?P<id>\d{1,6})\] local \S+ port \d+ connected to \S+ port \d+")
_FACTS = {
    "version": re.compile(r"iperf (3\.\S+).*"),
    "mss_B": re.compile(r"TCP MSS: (\d{1,6}) .*"),
    "record_length_B": re.compile(r"Starting Test: .* (\d{1,10}) byte blocks.*"),
    "started": re.compile(r"Time: \w{3}, (\d\d \w{3} \d{4} \d\d:\d\d:\d\d) (?:GMT|UTC)"),
    "cookie": re.compile(r"Cookie: (\w{1,80})"),
    "congestion": re.compile(r"snd_tcp_congestion ([\w-]{1,40})"),
    "pacing": re.compile(
        r"(?:.*\biperf3 .*(?: -b *|--bitrate[ =]|--fq-rate[ =])|Target Bitrate: )"
        r"(\d{1,12}[KMGT]?)\b.*"
    ),
}
_FAILED3 = re.compile(r"iperf3: (?:error|interrupt) - (?P<why>.*)")
_STOPPED = "the server has terminated"

IPERF3_TEXT = re.compile(
    r"^(?:\w{3} \w{3} [ \d]\d [\d:]{8} \d{4} )?"
    r"(?:Connecting to host \S+, port|iperf3: (?:error|interrupt)"
    r"|Server listening on \d+|Accepted connection from"
    r"|\[ *(?:\d+|SUM)\]\S* .*\b(?:sender|receiver)\b"
    r"|\[ ID\]\S* Interval +Transfer +(?:Bitrate|Bandwidth) +Retr)",
    re.MULTILINE,
)


@dataclass
class Iperf3Run(PrintedRun):
    """A stream is its role and its id."""

    is_server: bool = False
    reverse: bool = False
    connected: dict[str, int] = field(default_factory=dict)
    omitted: dict[tuple[str, str], list[Line]] = field(default_factory=dict)
    intervals: dict[tuple[str, str], list[Line]] = field(default_factory=dict)
    totals: dict[str, dict[tuple[str, str], Line]] = field(default_factory=dict)
    late: int = 0
    udp: bool = False
    answered: bool = False
    """True within the server's output that a client prints behind its own."""

    def is_over_at(self, line: str) -> bool:
        line = _DATE3.sub("", line)
        if self.answered:
            return False
        if self.totals and self.is_server and _FAILED3.fullmatch(line):
            return not line.endswith(_STOPPED)  # a server prints its totals last
        began = self.connected or self.intervals or self.totals or self.failed
        return bool(began and _BEGINS.fullmatch(line))

    def take(self, number: int, line: str) -> None:
        """Parse a line, or refuse it; what is not a result may say anything."""
        line = _DATE3.sub("", line)
        if line in ("Server output:", "iperf Done."):
            self.answered = line == "Server output:"
        if self.answered:
            return
        for name, pattern in _FACTS.items():
            if fact := pattern.fullmatch(line):
                self.facts[name] = fact[1]
        if match := _RESULT3.fullmatch(line):
            self._result(number, match)
        elif match := _LOCAL.fullmatch(line):
            self.connected[match["id"]] = number
        elif failed := _FAILED3.fullmatch(line):
            # a server that is ended while it listens has failed no test
            if failed["why"] != _STOPPED or (self.is_server and not self.totals):
                began = "the run failed" if self.intervals else "the test never started"
                raise damaged(number, f"{began}: {failed['why'][:120]}", code="E-IMPORT-102")
        elif late := LATE.fullmatch(line):
            self.late += int(late["late"])
        elif line.startswith("[") and not re.search(r"Interval|statistics not available", line):
            raise damaged(number, f"not a line of iperf3: {line[:60]!r}", code="E-IMPORT-104")
        self.udp |= "Datagrams" in line or "protocol: UDP" in line
        self.is_server |= line.startswith("Accepted connection from")
        self.reverse |= line.startswith("Reverse mode")

    def _result(self, number: int, match: re.Match) -> None:
        more = _MORE.match(match["more"])
        ends = re.search(r"sender|receiver|\(omitted\)", match["more"])
        end, key = ends[0] if ends else "", (match["role"] or "", match["id"])
        if end not in ("", "(omitted)"):
            self.totals.setdefault(end, {})
        if float(match["end"]) <= float(match["start"]):
            return  # of no length; its rate may be no number
        rated = not match["rate"].endswith("nan")
        expect(rated, number, "a rate that is not a number", "E-IMPORT-105")
        line = line_of(number, match, more["retr"] if more else None)
        if end in ("", "(omitted)"):
            lines = self.omitted if end else self.intervals
            lines.setdefault(key, []).append(line)
        elif line.amount_B.value:
            first = self.totals.setdefault(end, {}).setdefault(key, line)
            expect(first == line, number, "duplicate total", "E-IMPORT-106")

    def record(self) -> Record:
        why = "the run has no total" if self.intervals else "the test never started"
        expect(any(self.totals.values()), self.first, f"{why}: no bytes in all", "E-IMPORT-107")
        roles = sorted({role for keys in self.totals.values() for role, _ in keys})
        # forward is from client to server
        roles.sort(key=lambda role: role in ("RX-C", "TX-S"))
        local_sends = not (self.totals.get("receiver") if self.is_server else self.reverse)
        omitted_s = [one.end_s.value for each in self.omitted.values() for one in each]
        warmup_s = max(omitted_s, default=0)
        flows = [
            self._flow(role, role.startswith("TX") if role else local_sends, warmup_s)
            for role in roles
        ]
        alike = len(flows) <= 2 and flows[0].streams == flows[-1].streams
        expect(alike, self.first, "the two directions have different streams", "E-IMPORT-108")
        counted = not self.udp or all(flow.datagrams for flow in flows)
        expect(counted, self.first, "a UDP run without its datagrams", "E-IMPORT-103")
        facts = self.facts
        started_unix_s = unix_s(facts.get("started", ""), "%d %b %Y %H:%M:%S")
        dated = "started" not in facts or started_unix_s is not None
        expect(dated, self.first, f"no date: {facts.get('started')}", "E-IMPORT-109")
        return Record.of(
            *("iperf3", self.first, flows),
            version=facts.get("version"),
            client_sends=len(flows) > 1 or local_sends != self.is_server,
            started_unix_s=started_unix_s,
            warmup_s=warmup_s,
            mss_B=int(facts["mss_B"]) if "mss_B" in facts else None,
            record_length_B=int(facts.get("record_length_B", 0)) or None,
            congestion=facts.get("congestion"),
            pacing_MBps=pacing_of(facts.get("pacing", "0")),
            retransmits=sum_of([one.retransmits for one in self._streams("sender", roles)]),
            rounded=True,
            test_id=facts.get("cookie"),
        )

    def _streams(self, end: str, roles: Iterable[str]) -> list[Line]:
        totals = self.totals.get(end, {})
        return [line for (role, name), line in totals.items() if name != "SUM" and role in roles]

    def _flow(self, role: str, local_sends: bool, warmup_s: float) -> Flow:
        received = self._streams("receiver", [role])
        streams = received or self._streams("sender", [role])
        least = 1 if role else max(1, len(self.connected))
        reason = f"{len(self.connected)} connections, {len(streams)} totals"
        expect(least <= len(streams) <= MAX_STREAMS, self.first, reason, "E-IMPORT-110")
        amount = sum((one.amount_B for one in streams), NOTHING)
        rate_Bps = sum(one.rate_Bps.value for one in streams)
        window_s = max(one.end_s.value for one in streams)
        if summed := self.totals["receiver" if received else "sender"].get((role, "SUM")):
            agrees = summed.amount_B.agrees(amount.value, amount.error)
            expect(agrees, summed.number, "the sum is not the sum of the streams", "E-IMPORT-111")
            rate_Bps, window_s = summed.rate_Bps.value, summed.end_s.value
        samples: list[Sample] = []
        local = self.totals.get("sender" if local_sends else "receiver", {})
        names = sorted((n for r, n in self.intervals if r == role and n != "SUM"), key=int)
        for stream, name in enumerate(names):
            each = self.intervals[role, name]
            if (role, name) in local:
                total_of([*each, local[role, name]])
            omitted = self.omitted.get((role, name), [])
            samples += [one.sample(stream, in_window=False) for one in omitted]
            samples += [one.sample(stream, warmup_s) for one in each]
        senders = self._streams("sender", [role])
        sent = sum((one.amount_B for one in senders), NOTHING)
        datagrams = Datagrams.total(one.datagrams for one in streams)
        if datagrams:
            given = Datagrams.total(one.datagrams for one in senders) or datagrams
            late = None if local_sends else self.late
            datagrams = replace(datagrams, sent=given.sent, reordered=late)
            datagrams = datagrams if received else Datagrams(given.sent)
            # those of the sender have datagrams that were not received
            samples = [] if received and local_sends else samples
        whole = warmup_s == 0
        return Flow(
            streams=len(streams),
            window_s=window_s,
            goodput_MBps=rate_Bps / 1e6,
            measured_at="receiver" if received else "sender",
            window_B=round(amount.value),
            sent_B=round(sent.value) or None if whole else None,
            received_B=round(amount.value) if received and whole else None,
            samples=tuple(samples),
            datagrams=datagrams,
        )


def pacing_of(rate: str) -> float | None:
    """The rate of ``-b`` in MB/s; None for 0, which is without a limit."""
    unit = rate[-1] if rate[-1] in DECIMAL else ""
    return float(rate.removesuffix(unit)) * DECIMAL[unit] / 8e6 or None
