"""Path information in a block's notebook."""

from __future__ import annotations

import json

import pandas as pd

from netlab.face.block import MeasuredBlock
from netlab.results.columns import RUN_COLUMNS


def shown(*rows: dict) -> str:
    """The text shown for runs of these values, the others missing."""
    names = [column.name for column in RUN_COLUMNS]
    runs = pd.DataFrame([dict.fromkeys(names) | row for row in rows], columns=names)
    page = MeasuredBlock(None, None, None, runs, pd.DataFrame()).path
    assert "<" not in page.text and page.text.splitlines()[0] in page._repr_html_()
    return page.text


def looked(started_at: int, ping: str) -> dict:
    check = {"ping": ping, "traceroute": "1 198.18.0.2"}
    return {"started_at": started_at, "provenance": json.dumps({"path_check": check})}


def test_the_latest_look_at_the_path_is_shown_as_printed():
    text = shown(looked(2, "ping two"), looked(1, "ping one"))
    assert text == "ping two\n\n1 198.18.0.2"
    assert "not checked" in shown({"started_at": 1, "provenance": "{}"})


def test_emulator_counts_are_summed_and_the_worst_run_is_named():
    did = {"path_packets": 1500, "path_drops": 3, "path_queue_drops": 2, "path_queue_max_B": 9000}
    did |= {"emulator_late_us": 50.0, "emulator_cpu_percent": 12.0}
    worse = did | {"emulator_late_us": 200.0, "path_queue_max_B": 12_000}
    text = shown({**looked(1, "p"), **did}, {**looked(2, "p"), **worse})
    assert "3,000 packets in 2 runs, 6 dropped, of them 4 by a full queue" in text
    assert "12,000 B" in text and "200 us late" in text and "12 % of a core" in text
