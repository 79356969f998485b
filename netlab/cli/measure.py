"""``netlab measure``: the goodput of a path in one line, from a short study of it."""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from netlab.cli.options import guarded
from netlab.cli.studies import exit_code, measure, reached
from netlab.errors import BadInput

if TYPE_CHECKING:
    from netlab.survey.findings import Finding

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


@click.command("measure")
@click.argument("left")
@click.argument("right", required=False)
@click.option("--both", is_flag=True, help="Both directions at the same time.")
@click.option(
    "--streams",
    type=click.IntRange(1, 128),
    default=4,
    show_default=True,
    help="TCP streams of each direction.",
)
@click.option("--json", "as_json", is_flag=True, help="Print a line of JSON instead.")
@click.option("--identity-file", metavar="FILE", help="Private key for SSH.")
@guarded
def measure_command(
    left: str,
    right: str | None,
    both: bool,
    streams: int,
    as_json: bool,
    identity_file: str | None,
) -> None:
    """Measure the path between two hosts, and print its goodput and its limit in one line.

    LEFT and RIGHT are SSH names as of `netlab init`; `netlab measure lab` takes the built-in lab.
    Three runs of a second, within some 15 s; longer on long paths, which start slowly. The last
    line is the study that was measured: `netlab study` measures further rounds and reports. Exit
    code 4: all runs were disturbed; 1: all failed.
    """
    file, found = _study(left, right, identity_file, streams, both)
    from netlab.files.yaml_file import read_yaml
    from netlab.study import load

    hurried = load({**read_yaml(file), "noise": HURRY}, rounds=ROUNDS)
    campaign = measure(hurried, None, {})
    answer = {**_answer(campaign.directory, found), "study": str(file)}
    if as_json:
        click.echo(json.dumps(answer))
    else:
        click.echo(_line(answer))
        for text, remedy in answer["warnings"]:
            click.echo(f"  {text}: {remedy}")
    code = exit_code(campaign)
    if not as_json:
        click.echo(file)
    sys.exit(code)


def _study(
    left: str, right: str | None, identity_file: str | None, streams: int, both: bool
) -> tuple[Path, Sequence[Finding]]:
    """Write the study; what would spoil its measurement is found on the way."""
    from netlab.survey.init import SHORT_ROUNDS, SHORT_S, STAMP, Short, init_study

    if left == "lab" and right is None:
        name = "lab" + time.strftime(STAMP)
        direction = "<->" if both else "->"
        text = LAB.format(
            name=name, direction=direction, streams=streams, rounds=SHORT_ROUNDS, seconds=SHORT_S
        )
        file = Path(f"{name}.yml")
        file.write_text(text, encoding="utf-8")
        return file, ()
    if right is None:
        raise BadInput(
            "is one host: name the other one, or write `netlab measure lab`",
            key="LEFT",
            value=left,
            code="E-CLI-035",
        )
    hosts = [reached(text, identity_file) for text in (left, right)]
    written = init_study(hosts, short=Short(streams, both))
    return written.file, written.findings


def _answer(results: Path, found: Sequence[Finding]) -> dict[str, Any]:
    """What a path carries and what limits it, from the one cell of its results."""
    from netlab.analysis.conditions import explain
    from netlab.analysis.measured import load_measured
    from netlab.measure.bottleneck import bottleneck

    m = load_measured(results)
    cell, runs = m.cells.iloc[0], m.runs
    disturbed = not cell["n_valid"]
    goodput = cell["disturbed_MBps"] if disturbed else cell["goodput_MBps"]
    # the run in the middle speaks for the others
    used = runs.dropna(subset="goodput_MBps") if disturbed else runs[runs["flags"] == ""]
    run = used.sort_values("goodput_MBps").iloc[(len(used) - 1) // 2].to_dict() if len(used) else {}
    link = (2 if cell["direction"] == "<->" else 1) * _number(run.get("link_MBps"), math.nan)
    limit = bottleneck(run) if run else "unknown"
    warnings = []
    if disturbed:
        warnings = [
            (
                f"disturbed, {run.get('message') or cell['missing_because']}",
                "quiet the hosts and measure again",
            )
        ]
    # an unknown limit may have any of these causes
    causes = [each for each in found if each.explains and limit in (each.explains, "unknown")]
    warnings += [(f"{each.host}: {each.reason}", each.command) for each in causes]
    return {
        "group": cell["group"],
        "goodput_MBps": _number(goodput),
        "low_MBps": _number(cell["low_MBps"]),
        "high_MBps": _number(cell["high_MBps"]),
        "link_MBps": _number(link),
        "percent_of_link": _number(100 * _number(goodput, math.nan) / link),
        "rtt_ms": _number(_number(run.get("min_rtt_us"), math.nan) / 1e3),
        "bottleneck": limit,
        "because": explain(run) if run else "unknown: no run has a goodput",
        "disturbed": bool(disturbed),
        "streams": int(cell["streams"]),
        "runs": len(runs),
        "warnings": warnings[:MOST_WARNINGS],
        "results": str(results),
    }


def _number(value: Any, otherwise: float | None = None) -> Any:
    """A number for JSON; otherwise where there is none."""
    import pandas as pd

    return otherwise if value is None or pd.isna(value) else float(value)


def _line(answer: dict[str, Any]) -> str:
    from netlab.analysis.printed import with_interval
    from netlab.units import arrows

    rates = (answer[key] for key in ("goodput_MBps", "low_MBps", "high_MBps"))
    goodput, low, high = (math.nan if rate is None else rate for rate in rates)
    parts = [
        f"{with_interval(goodput, low, high)} MB/s ({8 * goodput:.0f} Mb/s)",
        "link rate unknown"
        if answer["link_MBps"] is None
        else f"{answer['percent_of_link']:.0f} % of the link",
        f"RTT {answer['rtt_ms']:.3g} ms" if answer["rtt_ms"] is not None else "RTT unknown",
        f"limit {answer['because']}",
    ]
    disturbed = "; disturbed, without an interval" if answer["disturbed"] else ""
    return f"{arrows(answer['group'])}: {', '.join(parts)}{disturbed}"
