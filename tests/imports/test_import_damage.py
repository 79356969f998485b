"""A damaged file is imported whole or refused with a line and a reason."""

import gzip
import re
from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from imports.readers import imports_or_refuses
from imports.samples import ACCEPTED, RECORDED, TEXTS

from netlab.errors import BadInput
from netlab.imports.formats import ReadFile, parse
from netlab.imports.rows import Facts, interval_rows_of, row_of
from netlab.results.columns import INTERVAL_COLUMNS
from netlab.results.frames import frame_of

CONTENT = {name: (RECORDED / name).read_bytes() for name in ACCEPTED}
CONTENT |= {name: text.encode() for name, text in TEXTS.items()}
PLAIN = {
    name: gzip.decompress(content) if name.endswith(".gz") else content
    for name, content in CONTENT.items()
}
ANYTHING = Facts(
    "old", "a", "b", streams=1, measured_at="sender", started_at=datetime(2026, 11, 21, tzinfo=UTC)
)
names = st.sampled_from(sorted(CONTENT))
bounded = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow], database=None
)


def without_a_line(content: bytes, draw: Callable) -> bytes:
    lines = content.splitlines(keepends=True)
    del lines[draw(st.integers(0, len(lines) - 1))]
    return b"".join(lines)


def with_a_line_twice(content: bytes, draw: Callable) -> bytes:
    lines = content.splitlines(keepends=True)
    line = lines[draw(st.integers(0, len(lines) - 1))]
    lines.insert(draw(st.integers(0, len(lines))), line)
    return b"".join(lines)


def with_other_bytes(content: bytes, draw: Callable) -> bytes:
    at, other = draw(st.integers(0, len(content) - 1)), draw(st.binary(min_size=1, max_size=6))
    return content[:at] + other + content[at + len(other) :]


DAMAGE = {
    "truncated": lambda content, draw: content[: draw(st.integers(0, len(content)))],
    "a line gone": without_a_line,
    "a line twice or out of order": with_a_line_twice,
    "other bytes": with_other_bytes,
}


@pytest.mark.parametrize("damage", DAMAGE)
@bounded
@given(names, st.data())
def test_a_damaged_file_is_imported_or_refused(damage, name, data):
    imports_or_refuses(DAMAGE[damage](PLAIN[name], data.draw))


OTHER_VALUES = (
    *(b"9" * 400, b"9007199254740991", b"99999999999", b"1e999", b"-1"),
    *(b"null", b"{}", b"[]", b'"x"', b"NaN"),
)


@settings(bounded, max_examples=75)
@given(names, st.sampled_from(OTHER_VALUES), st.data())
def test_a_file_with_another_value_for_a_number(name, other, data):
    content = PLAIN[name]
    number = data.draw(st.sampled_from(list(re.finditer(rb"-?\d+(\.\d+)?", content))))
    records = imports_or_refuses(content[: number.start()] + other + content[number.end() :])
    source = ReadFile(RECORDED / name, "0" * 64, records or ())
    try:
        rows = [row_of(record, source, ANYTHING, {}, {}) for record in source.records]
    except BadInput as error:
        assert "line" in error.where
        return
    frame_of([row | {"block_id": "b", "order": 0} for row in rows])
    samples = [row for record in source.records for row in interval_rows_of("r", record)]
    frame_of(samples, INTERVAL_COLUMNS)


@bounded
@given(st.data())
def test_a_damaged_gzip(data):
    name = data.draw(st.sampled_from([name for name in ACCEPTED if name.endswith(".gz")]))
    content = bytearray(CONTENT[name])
    at = data.draw(st.integers(2, len(content) - 1))
    content[at] = data.draw(st.integers(0, 255))
    imports_or_refuses(bytes(content[: data.draw(st.integers(3, len(content)))]))


@settings(max_examples=100, deadline=None, database=None)
@given(st.text(max_size=300))
def test_any_text(text):
    imports_or_refuses(text.encode("utf-8", "surrogateescape"))


@pytest.mark.parametrize("text", ["[" * 100_000, '{"start":' * 100_000, '{"start": 1}' * 3])
def test_deep_and_repeated_json(text):
    assert imports_or_refuses(text.encode()) is None


@settings(max_examples=100, deadline=None, database=None)
@given(*(st.integers(1, 999), st.sampled_from("KMG"), st.integers(1, 900)), st.booleans())
def test_amounts_of_iperf2_are_converted_to_bytes(amount, unit, seconds, binary):
    what = "Bytes" if binary else "bits"
    bytes_ = amount * {"K": 2**10, "M": 2**20, "G": 2**30}[unit]
    rate = bytes_ / seconds
    shown = f"{rate / 2**10:.6f} K" if binary else f"{rate * 8 / 1e3:.6f} K"
    head = "[  1] local 10.0.0.1 port 1 connected with 10.0.0.2 port 5001\n"
    line = f"[  1] 0.00-{seconds}.00 sec  {amount} {unit}Bytes  {shown}{what}/sec\n"
    (record,) = parse("Client connecting to 10.0.0.2, TCP port 5001\n" + head + line)
    assert record.forward.sent_B == bytes_
    assert record.forward.goodput_MBps == pytest.approx(rate / 1e6, rel=1e-3)


@pytest.mark.parametrize(
    ("name", "old", "new", "reason"),
    [
        ("iperf2-tcp.txt", b"30.1 Gbits", b"30.1 Mbits", "do not agree"),
        ("iperf2-parallel.txt", b"2.0002 sec  15.2", b"2.0002 sec  14.2", "agree"),
        ("iperf2-parallel.txt", b"[  2] 0.0000-2.0027", b"[  4] 0.0000-2.0027", "never connected"),
        ("nuttcp-tcp.txt", b"3827.4847", b"3727.4847", "do not agree"),
        ("gensink-sink4.txt", b"4921.29", b"4821.29", "do not agree"),
        ("rapid", b"total time: 59.991", b"total time: 58.991", "stop less start"),
        ("iperf3-tcp.json", b'"num_streams":\t1', b'"num_streams":\t2', "1 connections for 2"),
    ],
)
def test_a_figure_that_contradicts_another_is_found(name, old, new, reason):
    assert old in PLAIN[name]
    with pytest.raises(BadInput, match=rf"^line \d+: .*{reason}"):
        parse(PLAIN[name].replace(old, new).decode())


@pytest.mark.parametrize("text", ["iperf3 " * 10**5, '"[x]\n' * 10**5])
def test_a_long_text_takes_no_square_of_its_length(text):
    for head in ("Connecting to host b, port 1\n", '{"start": {}}\n', ""):
        assert imports_or_refuses((head + text).encode()) is None
        assert imports_or_refuses((text + "\n" + head).encode()) is None


def test_a_rate_beyond_any_link_is_refused_however_coarse_the_time():
    line = b"[  1] 0000-0.2097 sec   900 MBytes  9999999999996.0 Gbits/sec"
    text = re.sub(rb"\[  1\] 0.0000-.*sec.*", line, CONTENT["iperf2-mss.txt"], count=1)
    assert line in text and imports_or_refuses(text) is None
