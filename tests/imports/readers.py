"""Readers of other tools' files, as tests/any_input.py takes them."""

from __future__ import annotations

import re
from pathlib import Path

from imports.samples import RECORDED

from netlab.errors import BadInput
from netlab.imports.formats import format_of, text_of
from netlab.outputs.records import MAX_COUNT, MAX_SECONDS, Record


def imports_or_refuses(content: bytes) -> tuple[Record, ...] | None:
    try:
        text = text_of(content)
        runs = format_of(text).parse(text)
    except BadInput as error:
        runs = (error,)
    for error in runs:
        if not isinstance(error, BadInput):
            continue
        assert re.search(r"^line \d+: .{4,}", str(error), re.DOTALL), str(error)
        assert int(error.where.split()[1]) <= content.count(b"\n") + content.count(b"\r") + 1 or (
            content.startswith(b"\x1f\x8b")
        )
    records = tuple(run for run in runs if isinstance(run, Record))
    assert runs
    for record in records:
        for flow in record.flows:
            assert 0 <= flow.goodput_MBps < 1e12 and 0 < flow.window_s <= MAX_SECONDS
            assert flow.window_B is None or 0 <= flow.window_B < MAX_COUNT
            for sample in flow.samples:
                assert sample.interval_s > 0 and 0 <= sample.bytes < MAX_COUNT
    return records if records == runs else None


def read_import(file: Path) -> None:
    imports_or_refuses(file.read_bytes())


READERS = {
    "JSON of a tool": (read_import, (RECORDED / "iperf3-parallel.json").read_bytes),
    "lines of a tool": (read_import, (RECORDED / "iperf2-parallel.txt").read_bytes),
}
