"""``netlab measure``: a short study of two hosts, and what it says in one line."""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import pandas as pd

from netlab.analysis.bottlenecks import explain
from netlab.analysis.cell_texts import number, with_interval
from netlab.analysis.measured import load_measured
from netlab.cli import terminal
from netlab.cli.measuring import exit_code, measure
from netlab.errors import BadInput
from netlab.files.yaml_file import read_yaml
from netlab.measure.bottleneck import bottleneck
from netlab.measure.steadiness import longer
from netlab.results.flags import remedies
from netlab.study import load
from netlab.survey.findings import Finding
from netlab.survey.init import SHORT_ROUNDS, SHORT_S, STAMP, Short, init_study
from netlab.survey.paths import login_of
from netlab.units import arrows, plain

LAB = """\
# Goodput of the built-in lab; netlab study FILE measures further rounds and reports.
netlab: 1
name: {name}
title: Goodput of the lab
hosts: {{left: {{kind: lab}}, right: {{kind: lab}}}}
paths:
  data: {{ends: [{{host: left}}, {{host: right}}], link: {{rate_Mbps: 1000.0}}}}
groups: [{{name: left {direction} right, path: data, sender: left, direction: "{direction}"}}]
streams: [{streams}]
tunings: [{{name: as-found}}]
timing: {{rounds: {rounds}, seconds: {seconds}}}
"""
ROUNDS = 3
"""Fewest for an interval that is worth its name, and as many as 15 s have time for."""
HURRY = {"wait": 0, "retries": 0}
MOST_WARNINGS = 2


def measure_path(as_json: bool, **asked: Any) -> None:
    with terminal.asking_at_terminal():
        file, found = _study(**asked)
        hurried = load({**read_yaml(file), "noise": HURRY}, rounds=ROUNDS)
        campaign = measure(hurried, None, {})
    answer = {**_answer(campaign.directory, found), "study": str(file)}
    click.echo(json.dumps(answer) if as_json else _in_words(answer))
    code = exit_code(campaign)
    if not as_json:
        click.echo(file)
    sys.exit(code)


def _study(
    left: str, right: str | None, identity_file: str | None, streams: int, both: bool
) -> tuple[Path, Sequence[Finding]]:
    """Write the study; what would spoil its measurement is found on the way."""
    if left == "lab" and right is None:
        file = Path(f"lab{time.strftime(STAMP)}.yml")
        levels = {"direction": "<->" if both else "->", "streams": streams}
        timing = {"rounds": SHORT_ROUNDS, "seconds": SHORT_S}
        file.write_text(LAB.format(name=file.stem, **levels, **timing), encoding="utf-8")
        return file, ()
    if right is None:
        text = "is one host: name the other one, or write `netlab measure lab`"
        raise BadInput(text, key="LEFT", value=left, code="E-CLI-035")
    hosts = [login_of(text, identity_file) for text in (left, right)]
    written = init_study(hosts, short=Short(streams, both))
    return written.file, written.findings


def _answer(results: Path, found: Sequence[Finding]) -> dict[str, Any]:
    """Goodput and limit of a path, from the one cell of its results."""
    m = load_measured(results)
    cell, runs = m.cells.iloc[0], m.runs
    disturbed = not cell["n_valid"]
    # the run in the middle speaks for the others
    used = runs.dropna(subset="goodput_MBps") if disturbed else runs[runs["flags"] == ""]
    run = used.sort_values("goodput_MBps").iloc[(len(used) - 1) // 2].to_dict() if len(used) else {}
    limit = bottleneck(run) if run else "unknown"
    goodput = cell["disturbed_MBps" if disturbed else "goodput_MBps"]
    link, rtt_us = pd.Series(run).reindex(["link_MBps", "min_rtt_us"]).astype(float)
    link *= 2 if cell["direction"] == "<->" else 1
    figures = {
        "goodput_MBps": goodput,
        "low_MBps": cell["low_MBps"],
        "high_MBps": cell["high_MBps"],
        "link_MBps": link,
        "percent_of_link": 100 * goodput / link,
        "rtt_ms": rtt_us / 1e3,
        "mtu_B": cell["mtu_B"],
        "packet_B": cell["packet_B"],
    }
    warnings = []
    if disturbed:
        message = run.get("message") or cell["missing_because"]
        warnings = [(f"flagged, {message}", _remedy(run, runs))]
    # an unknown limit may have any of these causes
    causes = [each for each in found if each.explains and limit in (each.explains, "unknown")]
    warnings += [(f"{each.host}: {each.reason}", each.command) for each in causes]
    return {
        "group": cell["group"],
        **{name: None if pd.isna(value) else float(value) for name, value in figures.items()},
        "bottleneck": limit,
        "because": explain(run) if run else "unknown: no run has a goodput",
        "disturbed": bool(disturbed),
        "streams": int(cell["streams"]),
        "runs": len(runs),
        "valid_runs": int(cell["n_valid"]),
        "warnings": warnings[:MOST_WARNINGS],
        "results": str(results),
    }


def _remedy(run: dict[str, Any], runs: pd.DataFrame) -> str:
    burst_s = run.get("burst_s", math.nan)
    if burst_s == burst_s:  # the path changed its rate, and not the hosts
        return longer(run["warmup_s"] + burst_s)
    return remedies([run["flags"]] if run else runs["flags"], "measure again")


def _in_words(answer: dict[str, Any]) -> str:
    rates = (answer[key] for key in ("goodput_MBps", "low_MBps", "high_MBps"))
    goodput, low, high = (math.nan if rate is None else rate for rate in rates)
    share, rtt_ms = answer["percent_of_link"], answer["rtt_ms"]
    parts = [
        f"{with_interval(goodput, low, high)} MB/s ({number(8 * goodput)} Mb/s)",
        "link rate unknown" if answer["link_MBps"] is None else f"{share:.0f} % of the link",
        "RTT unknown" if rtt_ms is None else f"RTT {plain(rtt_ms, '.3g')} ms",
        f"limit {answer['because']}",
    ]
    if (answer["packet_B"] or math.inf) < answer["mtu_B"]:
        mtu = f"MTU {answer['mtu_B']:.0f} B, used {answer['packet_B']:.0f} B"
        parts.insert(2, mtu)
    without = ""
    if answer["disturbed"]:
        without = "; flagged, without an interval"
    elif answer["low_MBps"] is None:
        without = f"; {answer['valid_runs']} of {answer['runs']} runs valid, without an interval"
    head = f"{arrows(answer['group'])}: {', '.join(parts)}{without}"
    return "\n".join([head, *(f"  {text}: {remedy}" for text, remedy in answer["warnings"])])
