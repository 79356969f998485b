"""Write a study of two surveyed hosts, with what was found as comments."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from netlab.files.yaml_file import yaml_line
from netlab.survey.findings import Finding
from netlab.survey.surveyed import FoundEnd, FoundPath

WIDTH = 98
LONG_RTT_ms = 5.0
"""From this round trip on the first seconds of a run are those of slow start."""
SECONDS = 10.0
STREAMS = (1, 4)
MOST_STREAMS = 32


@dataclass(frozen=True)
class Reached:
    """SSH login of a host, as the user gave it."""

    name: str
    address: str
    user: str | None = None
    port: int | None = None
    identity_file: str | None = None

    def mapping(self) -> dict[str, str | int]:
        """Its entry in a study."""
        given = {"user": self.user, "port": self.port, "identity_file": self.identity_file}
        there = {key: value for key, value in given.items() if value is not None}
        return {"kind": "ssh", "address": self.address, **there}


def study_text(
    name: str, hosts: Sequence[Reached], paths: Sequence[FoundPath], found: Sequence[Finding]
) -> str:
    """The text of a study that measures the first path; the others stand in comments."""
    first, *others = paths
    left, right = (end.host for end in first.ends)
    lines = [
        *_comment(f"Goodput between {left.name} and {right.name}, as netlab init found them."),
        *_comment("netlab check FILE tries the path; netlab study FILE measures and reports."),
        "netlab: 1",
        f"name: {name}",
        f"title: Goodput between {left.name} and {right.name}",
        "",
        "hosts:",
    ]
    for host, end in zip(hosts, first.ends, strict=True):
        lines += [*_comment(end.host.text(), 2), f"  {host.name}: {yaml_line(host.mapping())}"]
    lines += ["", "paths:", *_path("data", first)]
    for number, path in enumerate(others, start=2):
        lines += _comment("Found too; a group below would measure it:", 2)
        lines += [f"  # {line.strip()}" for line in _path(f"data{number}", path)]
    lines += ["", *_groups(left.name, right.name)]
    most = min(max(left.cpus, right.cpus, max(STREAMS) * 2), MOST_STREAMS)
    lines += ["", f"streams: [{', '.join(map(str, (*STREAMS, most)))}]"]
    lines += ["", *_tunings(first), "", *_timing(first)]
    if found:
        lines += [
            "",
            *_comment(
                "What would spoil a measurement here, with the command or the knob that helps:"
            ),
        ]
        for each in found:
            reason, *command = each.lines()
            lines += [
                *_comment(f"- {reason}", after="#   "),
                *(f"#   {c.strip()}" for c in command),
            ]
    return "\n".join(lines) + "\n"


def _groups(left: str, right: str) -> list[str]:
    return [
        "groups:",
        f"  - {yaml_line({'name': f'{left} -> {right}', 'path': 'data', 'sender': left})}",
        f"  - {yaml_line({'name': f'{right} -> {left}', 'path': 'data', 'sender': right})}",
        *_comment("Both directions at the same time:", 2),
        f"  # - {yaml_line(_both(left, right))}",
    ]


def _both(left: str, right: str) -> dict[str, str]:
    name = f"{left} <-> {right}"
    return {"name": name, "path": "data", "sender": left, "direction": "<->"}


def _path(name: str, path: FoundPath) -> list[str]:
    lines = [f"  {name}:", "    ends:"]
    for end in path.ends:
        lines += [*_comment(f"{end.interface.text()}", 6), f"      - {yaml_line(_end(end))}"]
    way = "through a router" if path.routed else "without a router"
    facts = f"RTT {path.rtt_ms:g} ms, {way}"
    if path.bdp_B is not None:
        facts += f"; bandwidth-delay product {path.bdp_B} B"
    return [*_comment(facts, 2), *lines]


def _end(end: FoundEnd) -> dict[str, str]:
    return {"host": end.host.name, "address": end.address, "interface": end.interface.name}


def _tunings(path: FoundPath) -> list[str]:
    mtu_B = max(end.interface.mtu_B for end in path.ends)
    larger = [1500, 9000] if mtu_B <= 1500 else [1500, mtu_B]
    buffer_B = max(4 * (path.bdp_B or 0), 67_108_864)
    knobs = [
        {"kind": "sysctl", "name": f"net.ipv4.tcp_{name}", "value": f"4096 131072 {buffer_B}"}
        for name in ("rmem", "wmem")
    ]
    return [
        *_comment("As found: nothing is changed, and root is not needed. Tunings are reverted."),
        "tunings:",
        "  - {name: as-found}",
        f"  # - name: larger\n  #   mtus_B: {larger}\n  #   knobs:",
        *(f"  #     - {yaml_line(knob)}" for knob in knobs),
    ]


def _timing(path: FoundPath) -> list[str]:
    long = path.rtt_ms >= LONG_RTT_ms
    # slow start doubles each round trip: 20 of them fill any path
    warmup_s = round(max(0.5, 20 * path.rtt_ms / 1e3), 1) if long else None
    seconds = round(max(SECONDS, 100 * path.rtt_ms / 1e3), 1)
    timing: dict[str, float] = {"rounds": 5, "seconds": seconds}
    if warmup_s is not None:
        timing["warmup_s"] = warmup_s
    text = "Runs of each cell, and the measured seconds of each"
    return [*_comment(f"{text}; netlab run FILE --quick is short."), f"timing: {yaml_line(timing)}"]


def _comment(text: str, indent: int = 0, after: str = "# ") -> list[str]:
    pad = " " * indent
    return textwrap.wrap(text, WIDTH, initial_indent=f"{pad}# ", subsequent_indent=f"{pad}{after}")


def name_of(address: str, taken: Sequence[str] = ()) -> str:
    """A host's name in a study, from its SSH name or address.

    The first label of a host name, as letters, digits, ``-``; ``left`` and ``right`` for numeric
    addresses and for names that are alike.
    """
    numeric = ":" in address or address.replace(".", "").isdecimal()
    first = address.partition(".")[0] if not numeric else ""
    name = "".join(c if c.isascii() and (c.isalnum() or c in "-_") else "-" for c in first)
    name = name.strip("-_")[:24]
    free = [word for word in (name, "left", "right") if word and word not in taken]
    return free[0]


def file_name(hosts: Sequence[Reached]) -> str:
    """Name of the file that a study of these hosts is written to by default."""
    return os.extsep.join(("-".join(host.name for host in hosts), "yml"))
