"""Write a study of two surveyed hosts, with what was found as comments."""

from __future__ import annotations

import textwrap
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from netlab.errors import BadInput, NetlabError
from netlab.files.yaml_file import yaml_line
from netlab.study import StudyHost, is_name, load
from netlab.survey.findings import LONGER_S, VIRTUAL_CARDS, Finding, findings
from netlab.survey.paths import logins, surveyed
from netlab.survey.surveyed import FoundPath

WIDTH = 98
LONG_RTT_ms = 5.0
"""From this round trip on the first seconds of a run are those of slow start."""
SECONDS = 10.0
STREAMS = (1, 4)
MOST_STREAMS = 32
SHORT_ROUNDS, SHORT_S = 12, 1.0
"""Of `netlab measure`, which makes the first rounds; `netlab study` makes the others."""
STAMP = "-%Y%m%d-%H%M%S"


def study_text(
    name: str,
    hosts: Mapping[str, StudyHost],
    paths: Sequence[FoundPath],
    found: Sequence[Finding],
    short: Short | None = None,
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
    for (host, login), end in zip(hosts.items(), first.ends, strict=True):
        entry = login.model_dump(exclude_none=True, exclude_defaults=True)
        lines += [*_comment(end.host.text(), 2), f"  {host}: {yaml_line(entry)}"]
    lines += ["", "paths:", *_path("data", first)]
    for number, path in enumerate(others, start=2):
        lines += _comment("Found too; a group below would measure it:", 2)
        lines += [f"  # {line[2:]}" for line in _path(f"data{number}", path)]
    lines += ["", *_groups(first, short)]
    most = min(max(left.cpus, right.cpus, max(STREAMS) * 2), MOST_STREAMS)
    streams = (short.streams,) if short else (*STREAMS, most)
    lines += ["", f"streams: [{', '.join(map(str, streams))}]"]
    lines += ["", *_tunings(first), "", *_timing(first, short)]
    if found:
        text = "What would spoil a measurement here, with the command or the knob that helps:"
        lines += ["", *_comment(text)]
    for each in found:
        reason, *command = each.lines()
        lines += _comment(f"- {reason}", after="#   ")
        lines += [f"#   {line.strip()}" for line in command]
    return "\n".join(lines) + "\n"


def _groups(path: FoundPath, short: Short | None) -> list[str]:
    left, right = (end.host.name for end in path.ends)
    forward = {"name": f"{left} -> {right}", "path": "data", "sender": left}
    back = {"name": f"{right} -> {left}", "path": "data", "sender": right}
    both = {**forward, "name": f"{left} <-> {right}", "direction": "<->"}
    if short:
        return ["groups:", f"  - {yaml_line(both if short.both else forward)}"]
    lines = ["groups:"]
    lines += [f"  - {yaml_line(g)}" for g in (forward, back) if g["sender"] not in path.refused]
    for group in (forward, back):
        if group["sender"] in path.refused:
            receiver = path.receiver_of(group["sender"]).host.name
            text = f"No TCP connection from {group['sender']} arrives at {receiver}; once it does:"
            lines += [*_comment(text, 2), f"  # - {yaml_line(group)}"]
    if path.refused:
        return lines
    return [*lines, *_comment("Both directions at the same time:", 2), f"  # - {yaml_line(both)}"]


def _path(name: str, path: FoundPath) -> list[str]:
    facts = f"RTT {path.rtt_text}, {'through' if path.routed else 'without'} a router"
    if path.beside_ssh:
        facts += ", in the network of the cards that carry SSH"
    if path.bdp_B is not None:
        facts += f"; bandwidth-delay product {path.bdp_B} B"
    lines = [*_comment(facts, 2), f"  {name}:", "    ends:"]
    for end in path.ends:
        keys = {"host": end.host.name, "address": end.address, "interface": end.interface.name}
        lines += [*_comment(end.interface.text(), 6), f"      - {yaml_line(keys)}"]
    return lines


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


def _timing(path: FoundPath, short: Short | None) -> list[str]:
    seconds = round(max(SECONDS, 100 * path.rtt_ms / 1e3), 1)
    timing: dict[str, float] = {"rounds": 5, "seconds": seconds}
    if short:
        timing = {"rounds": SHORT_ROUNDS, "seconds": SHORT_S}
    if path.rtt_ms >= LONG_RTT_ms:
        # slow start doubles each round trip: 20 of them fill any path
        timing["warmup_s"] = round(max(0.5, 20 * path.rtt_ms / 1e3), 1)
    text = "Runs of each cell, and the measured seconds of each"
    lines = [*_comment(f"{text}; netlab run FILE --quick is short.")]
    lines.append(f"timing: {yaml_line(timing)}")
    if any(end.interface.driver in VIRTUAL_CARDS for end in path.ends):
        lines += _comment("A cloud's network may let a burst pass first; the rate that stays:")
        lines.append(f"# timing: {yaml_line({**timing, 'seconds': max(LONGER_S, seconds)})}")
    return lines


def _comment(text: str, indent: int = 0, after: str = "# ") -> list[str]:
    pad = " " * indent
    return textwrap.wrap(text, WIDTH, initial_indent=f"{pad}# ", subsequent_indent=f"{pad}{after}")


@dataclass(frozen=True)
class Short:
    """Wanted is one cell of short runs, in a study of a name that no other has."""

    streams: int
    both: bool = False


@dataclass(frozen=True)
class Written:
    file: Path
    paths: tuple[FoundPath, ...]
    findings: tuple[Finding, ...]
    """Of the hosts and the measured path; the file lists those of the other paths, too."""
    others: int

    @property
    def path(self) -> str:
        one, other = self.paths[0].ends
        return (
            f"{one.host.name} {one.interface.name} ({one.address}) and {other.host.name} "
            f"{other.interface.name} ({other.address}), RTT {self.paths[0].rtt_text}"
        )


def init_study(
    hosts: Sequence[Mapping[str, Any]],
    *,
    output: Path | None = None,
    data: tuple[str, str] | None = None,
    force: bool = False,
    short: Short | None = None,
) -> Written:
    """Survey two hosts and write a study; no setting of them is changed."""
    reached = logins(hosts)
    names = "-".join(reached)
    if short:  # as a whole within the length of a name
        names = names[:30] + time.strftime(STAMP)
    file = output or Path(f"{names}.yml")
    if file.exists() and not force:
        text = "exists; --force writes over it, -o FILE another one"
        raise BadInput(text, where=str(file), code="E-SURVEY-003")
    paths = surveyed(reached, data)
    if short:
        _check_direction(paths[0], short)
    faults = findings(paths)
    name = file.stem if is_name(file.stem) else "-".join(reached)
    try:
        file.write_text(study_text(name, reached, paths, faults, short), encoding="utf-8")
    except OSError as error:
        text = f"cannot be written: {error.strerror}"
        raise BadInput(text, where=str(file), code="E-SURVEY-005") from None
    load(file)
    used = findings(paths[:1])
    return Written(file, paths, used, len(faults) - len(used))


def _check_direction(path: FoundPath, short: Short) -> None:
    """Refuse a measurement in a direction in which no connection passes."""
    forward = path.ends[0].host.name
    for sender, reason in path.refused.items():
        if short.both or sender == forward:
            receiver = path.receiver_of(sender)
            text = (
                f"no TCP connection from {sender} arrives at {receiver.address} of "
                f"{receiver.host.name}: {reason}; the other way one passes: exchange the hosts, "
                "without --both, or open the filter between them"
            )
            raise NetlabError(text, code="E-SURVEY-015")
