"""Readers of what strangers wrote, and mutations of what they read.

A reader takes any bytes, and fails only with an error of netlab's.
"""

from __future__ import annotations

import io
import random
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import pyarrow
import pyarrow.parquet
from measure import scripted

from netlab.errors import NetlabError
from netlab.generators.ends import audit_counts, flow_of, parse_answers
from netlab.generators.installed import tool_named
from netlab.generators.tools import TransferRequest
from netlab.hosts import host_facts, path
from netlab.hosts.line_process import LineProcess
from netlab.measure.record import interval_rows
from netlab.results.campaign_files import read_log
from netlab.results.columns import INTERVAL_COLUMNS, RUN_COLUMNS, SCHEMA_VERSION
from netlab.results.frames import checked, joined
from netlab.results.parquet import read

FACTS = b"hostname a\ncpus 4\nmemory_kB 12\nlink_speed_Mbps -1\nmtu_B 1500\nnuma_node 0\n"


ROWS = {
    "run_id": ["a", "b"],
    "order": [0, 1],
    "started_at": pyarrow.array([1, 2], pyarrow.timestamp("ns", "UTC")),
    "goodput_MBps": [None, 12.5],
    "bus_shared": [True, None],
}
COLUMNS = tuple(column for column in RUN_COLUMNS if column.name in ROWS)
"""One of each type: all take tens of times as long."""


def stored() -> bytes:
    """A part of a store; without checksums, which would end each mutation of a page early."""
    sink = io.BytesIO()
    table = pyarrow.table(ROWS, metadata={"netlab.schema_version": str(SCHEMA_VERSION)})
    pyarrow.parquet.write_table(table, sink)
    return sink.getvalue()


def recorded(name: str) -> bytes:
    return (Path(__file__).parent / "outputs" / "recorded" / name).read_bytes()


class Said:
    """A process that has written some bytes and ended."""

    def __init__(self, content: bytes):
        self.content = content

    def read(self, _size: int, _timeout_s: float) -> bytes:
        content, self.content = self.content, b""
        return content

    def exit_status(self, _timeout_s: float) -> int:
        return 0

    def stderr_text(self) -> str:
        return self.content.decode("utf-8", "replace")

    def lost(self) -> str:
        return ""


def read_answers(file: Path) -> None:
    process = LineProcess(Said(file.read_bytes()), host="there", argv=("gensink",))
    while process.poll(0.0) is not None:
        pass


TOOL, TRANSFER = (
    tool_named("iperf3"),
    TransferRequest("127.0.0.1", 12000, 12001, 2, 1, 131072, "cubic", 1),
)
REQUEST = scripted.request(record_length_B=131072, warmup_ms=200, window_ms=500)
METER = {"window": None, "total": None}


def read_run_of_a_tool(file: Path) -> None:
    """The server's half of a run: to samples that can be stored."""
    client = recorded("iperf3-study-client.json").decode()
    answers = parse_answers(TOOL, client, file.read_text("utf-8", "replace"), TRANSFER)
    flow = flow_of(answers, REQUEST, 0.1, METER, METER)
    audit_counts(flow, answers, TOOL)
    checked(joined(interval_rows("run", (flow,)), INTERVAL_COLUMNS), INTERVAL_COLUMNS)


PING = (
    b"5 packets transmitted, 5 received, 0% packet loss\nrtt min/avg/max = 0.031/0.042/0.061 ms\n"
)
LOG = (
    b'{"campaign": "20260105T100000Z", "key": "cd56", "started_at": "2026-01-05T10:00:00+00:00",'
    b'"study": "two-racks", "study_digest": "0123456789abcdef", "version": "0.1.0",'
    b'"hosts": {"left": "6.12 x86_64"}, "adopted": {"20260101T100000Z~b@r1": ["run 1", "run 2"]},'
    b'"looks": [{"at": 12.5, "stop": false, "cells": {"a": null}}]}'
)
READERS: dict[str, tuple[Callable[[Path], object], Callable[[], bytes]]] = {
    "store": (lambda file: read(file, COLUMNS), stored),
    "campaign": (lambda file: read_log(file.parents[2], "c"), lambda: LOG),
    "facts": (
        lambda file: host_facts.parsed_facts(file.read_text("utf-8", "replace"), "eth0"),
        lambda: FACTS,
    ),
    "run of a tool": (read_run_of_a_tool, lambda: recorded("iperf3-study-server.json")),
    "ping": (lambda file: path.parse(file.read_text("utf-8", "replace"), ""), lambda: PING),
    "answers": (read_answers, lambda: b'{"event": "ready", "run": 1}\n{"event": "x"}\n'),
}
"""Reader of a file, and what it reads; those of wings stand beside the tests of each."""
OPENED = ["store", "campaign"]
"""Readers that open the file themselves, where a FIFO may lie in its place."""
for own in sorted(Path(__file__).parent.glob("*/readers.py")):
    wing = import_module(f"{own.parent.name}.readers")
    READERS |= wing.READERS
    OPENED += getattr(wing, "OPENED", ())

TOKENS = (
    *(b"", b"\0", b"\n", b"\xff", b"\x1b[2J", "é²٣".encode(), b"9" * 5000, b"-1", b"1e999"),
    *(b"[" * 2000, b"{}", b"null", b'"', b"*", b"!", b"%h", b"=", b": ", b"- ", b"&a", b"*a"),
    b"\\u",
)


def mutated(content: bytes, changes: list[tuple[float, int, int]]) -> bytes:
    """Replace pieces: place as a share of the length, bytes to drop, a token or a character."""
    # in a text most bytes from 128 on would only be refused as no UTF-8
    encoding = "latin-1" if b"\0" in content else "utf-8"
    for share, dropped, put in changes:
        at = int(share * len(content))
        new = TOKENS[put] if put < len(TOKENS) else chr(put % 256).encode(encoding)
        content = content[:at] + new + content[at + dropped :]
    return content


def file_in(directory: Path) -> Path:
    """Where the input is written: a campaign is found by its folders."""
    folder = directory / "campaigns" / "c"
    folder.mkdir(parents=True, exist_ok=True)
    return folder / "campaign.json"


def accepts_or_refuses(reader: str, content: bytes, file: Path) -> bool:
    """True if it was read, False if it was refused; anything else is an exception."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        file.write_bytes(content)
        try:
            READERS[reader][0](file)
        except NetlabError:
            return False
    return True


def run(reader: str, seconds: float, seed: int = 0) -> tuple[int, list[bytes]]:
    """Number of inputs, and those that broke the reader."""
    draw, whole = random.Random(seed), READERS[reader][1]()
    until, tried, broken = time.monotonic() + seconds, 0, []
    with tempfile.TemporaryDirectory() as place:
        file = file_in(Path(place))
        while time.monotonic() < until and len(broken) < 5:
            changes = [
                (draw.random(), draw.choice((0, 1, 1, 4, 40)), draw.randrange(len(TOKENS) + 256))
                for _ in range(draw.choice((1, 1, 2, 4)))
            ]
            content = mutated(whole, changes)
            tried += 1
            try:
                accepts_or_refuses(reader, content, file)
            except Exception:
                traceback.print_exc(limit=-3)
                broken.append(content)
    return tried, broken
