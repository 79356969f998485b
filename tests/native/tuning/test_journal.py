"""The journal's parser accepts any bytes, and refuses a line that is not an entry."""

from __future__ import annotations

import struct
import subprocess
from collections.abc import Callable
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

MTU = "knob=mtu interface=v0"
RMEM = "knob=sysctl name=net.ipv4.tcp_rmem"


@pytest.fixture(scope="module")
def parse(address_build):
    """Parse in C, address and undefined-behaviour sanitizers watching."""
    process = subprocess.Popen(
        [address_build / "tests" / "journal_program"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )

    def run(data: bytes) -> list[str]:
        process.stdin.write(struct.pack("=I", len(data)) + data)
        process.stdin.flush()
        lines = []
        while (line := process.stdout.readline().decode("latin-1").rstrip("\n")) != ".":
            assert process.poll() is None or line, "the parser died"
            lines.append(line)
        return lines

    yield run
    process.stdin.close()
    assert process.wait(timeout=30) == 0
    process.stdout.close()


Parse = Callable[[bytes], list[str]]


def test_lines_are_entries_in_order(parse: Parse):
    lines = parse(
        f"set {MTU} ifindex=3 old=1500 readback=9000\n"
        f"set {RMEM} old=1%202%203 wanted=4%205%206 readback=1%202%203\n".encode()
    )
    assert lines == ["mtu||v0|1500||9000|10|0", "sysctl|net.ipv4.tcp_rmem||1 2 3|4 5 6|1 2 3|11|1"]


@pytest.mark.parametrize(
    "line",
    [
        "set knob=mtu interface=.. old=1 wanted=2",
        "set knob=sysctl name=kernel.core_pattern old=1 wanted=2",
        f"set {MTU} old=1",
        f"set {MTU} wanted=2",
        f"set {MTU} old=1 wanted=2 more=3",
        f"set {MTU} ifindex=0 old=1 wanted=2",
        f"set {RMEM} ifindex=1 old=1 wanted=2",
        f"set {MTU} old=3 readback=4",  # a second one
        "done n=0",
        "",
    ],
)
def test_an_invalid_line_is_refused(parse: Parse, line):
    assert parse(f"set {MTU} old=1 wanted=2\n{line}\n".encode()) == ["bad"]


VALUE = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=60)


@settings(max_examples=150, deadline=None)
@given(old=VALUE, wanted=VALUE, readback=VALUE, data=st.binary(max_size=400))
def test_values_survive_beside_any_bytes(parse: Parse, old, wanted, readback, data):
    def quoted(text: str) -> str:
        return quote(text, safe="")

    line = f"set {MTU} old={quoted(old)} wanted={quoted(wanted)} readback={quoted(readback)}\n"
    expected = f"mtu||v0|{old}|{wanted}|{readback}|11|1"
    assert parse(line.encode() + data) == ([expected] if data == b"" else ["bad"])
