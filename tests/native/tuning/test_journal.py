"""The journal's parser accepts any bytes, and returns exactly the records whose checksums match."""

from __future__ import annotations

import struct
import subprocess
import zlib
from collections.abc import Callable
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

OPEN = "open version=1 netns=1 cookie=2 boot=b pid=3 started=4 owner=me"
MTU = "knob=mtu interface=v0"
RMEM = "knob=sysctl name=net.ipv4.tcp_rmem"


def sealed(record: str) -> bytes:
    """A record as a line with its checksum."""
    return f"{zlib.crc32(record.encode()):08x} {record}\n".encode()


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
    assert process.wait(timeout=20) == 0
    process.stdout.close()


Parse = Callable[[bytes], list[str]]


def test_records_are_replayed_in_order(parse: Parse):
    lines = parse(
        sealed(OPEN)
        + sealed(f"set n=0 {MTU} old=1500 wanted=9000")
        + sealed("wrote n=0 readback=9000")
        + sealed(f"set n=1 {RMEM} old=1%202%203 wanted=4%205%206")
        + sealed(f"set n=0 {MTU} old=1500 wanted=4000")
        + sealed("wrote n=0 readback=4000")
        + sealed("done n=1 status=restored")
    )
    assert lines == [
        "open=1 bad=0 owner=me",
        "mtu||v0|1500|4000|4000|100|1",
        "sysctl|net.ipv4.tcp_rmem||1 2 3|4 5 6||011|1",
    ]


@pytest.mark.parametrize(
    "record",
    [
        OPEN,  # a second one
        "open version=2 netns=1 cookie=2 boot=b pid=3 started=4 owner=me",
        "set n=0 knob=mtu interface=.. old=1 wanted=2",
        "set n=0 knob=sysctl name=kernel.core_pattern old=1 wanted=2",
        f"set n=512 {MTU} old=1 wanted=2",
        f"set n=0 {MTU} old=1",
        f"set n=0 {MTU} old=1 wanted=2 more=3",
        "wrote n=0 readback=1",
        "done n=0 status=restored",
        "dance n=0",
        "",
    ],
)
def test_an_invalid_record_is_skipped(parse: Parse, record):
    lines = parse(sealed(OPEN) + sealed(record) + sealed(f"set n=0 {MTU} old=1 wanted=2"))
    assert lines == ["open=1 bad=1 owner=me", "mtu||v0|1|2||010|1"]


VALUE = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=60)


@settings(max_examples=150, deadline=None)
@given(
    old=VALUE, wanted=VALUE, readback=VALUE, cut=st.integers(0, 400), junk=st.binary(max_size=80)
)
def test_values_survive_and_a_torn_tail_loses_only_itself(
    parse: Parse, old, wanted, readback, cut, junk
):
    def quoted(text: str) -> str:
        return quote(text, safe="")

    head = sealed(OPEN) + sealed(f"set n=0 {MTU} old={quoted(old)} wanted={quoted(wanted)}")
    tail = sealed(f"wrote n=0 readback={quoted(readback)}")
    whole = parse(head + tail)
    assert whole[1] == f"mtu||v0|{old}|{wanted}|{readback}|100|{int(wanted == readback)}"
    torn = parse(head + tail[: min(cut, len(tail) - 1)])
    assert torn[1] == f"mtu||v0|{old}|{wanted}||010|1"
    assert parse(head + b"x" + junk.replace(b"\n", b"") + b"\n" + tail)[1] == whole[1]


@settings(max_examples=300, deadline=None)
@given(data=st.binary(max_size=400), flip=st.integers(0, 10**6), seal=st.booleans())
def test_any_bytes_are_taken(parse: Parse, data, flip, seal):
    good = sealed(OPEN) + sealed(f"set n=0 {RMEM} old=1%202%203 wanted=4%205%206")
    where = flip % (len(good) * 8)
    flipped = bytearray(good)
    flipped[where // 8] ^= 1 << (where % 8)
    line = data.replace(b"\n", b"")
    if seal:
        line = f"{zlib.crc32(line):08x} ".encode() + line
    assert parse(data)[0].startswith("open=0")
    assert len(parse(good + line + b"\n")) == 2
    # one flipped bit costs one line (two where the newline between them is hit)
    assert len(parse(bytes(flipped))) in (1, 2)
