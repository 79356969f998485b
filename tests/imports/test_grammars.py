"""What a tool can print is read, however it rounds: the total is the sum of what was moved."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from imports.samples import BANNER

from netlab.imports.formats import FORMATS, parse


@dataclass(frozen=True)
class Moved:
    """Bytes of every stream in every second."""

    streams: tuple[tuple[int, ...], ...]

    @property
    def seconds(self) -> int:
        return len(self.streams[0])

    @property
    def sums(self) -> list[int]:
        return [sum(each) for each in self.streams]

    @property
    def total(self) -> int:
        return sum(self.sums)


@st.composite
def moved(draw: Callable) -> Moved:
    seconds = draw(st.integers(1, 4))
    amounts = st.integers(10**5, 10**9)
    each = st.lists(amounts, min_size=seconds, max_size=seconds).map(tuple)
    return Moved(tuple(draw(st.lists(each, min_size=1, max_size=4))))


def iperf3_text(m: Moved) -> str:
    lines = ["Connecting to host right, port 5201"]
    for at in range(m.seconds):
        for n, each in enumerate(m.streams):
            lines.append(f"[ {n}]  {at}.00-{at + 1}.00  sec  {plain(each[at], 1)}  0  1.00 MBytes")
    for end in ("sender", "receiver"):
        for n, amount in enumerate(m.sums):
            lines.append(f"[ {n}]  0.00-{m.seconds}.00  sec  {plain(amount, m.seconds)}  {end}")
    return "\n".join([*lines, "", "iperf Done.", ""])


def plain(amount: int, seconds: int) -> str:
    return f"{amount / 2**20:.2f} MBytes  {amount * 8 / seconds / 1e6:.2f} Mbits/sec"


def iperf2_text(m: Moved) -> str:
    lines = ["Server listening on TCP port 5001"]
    lines += [
        f"[  {n}] local 10.0.0.2 port 5001 connected with 10.0.0.1 port {n}"
        for n in range(1, 1 + len(m.streams))
    ]
    for n, each in enumerate(m.streams, start=1):
        lines += [
            f"[  {n}] {at}.0000-{at + 1}.0000 sec  {plain(amount, 1)}"
            for at, amount in enumerate(each)
        ]
        lines.append(f"[  {n}] 0.0000-{m.seconds}.0000 sec  {plain(sum(each), m.seconds)}")
    return "\n".join(lines) + "\n"


def netperf(m: Moved) -> str:
    rate = f"{m.total * 8e-6 / m.seconds:.2f}"
    return (
        f"MIGRATED TCP MAERTS {BANNER}\nbytes bytes bytes secs. 10^6bits/sec\n\n"
        f"131072 16384 16384 {m.seconds}.00 {rate}\n"
    )


def neper(m: Moved) -> str:
    rate = m.total * 8 / m.seconds
    return (
        f"client=0\nnum_flows={len(m.streams)}\ntotal_run_time={m.seconds}\n"
        f"throughput={rate / 1e6:.2f}\nthroughput_units=Mbit/s\nlocal_throughput={int(rate)}\n"
    )


def ntttcp(m: Moved) -> str:
    return (
        "#####  Totals:  #####\n"
        f"INFO: test duration\t:{m.seconds}.00 seconds\nINFO: total bytes\t:{m.total}\n"
        f"INFO: throughput\t:{m.total * 8e-6 / m.seconds:.2f}Mbps\n"
    )


def kperf(m: Moved) -> str:
    each = "".join(
        f"  {{way}}x {amount * 8e-9 / m.seconds:.3f} Gbps "
        f"({amount} bytes in {m.seconds}000000 usec)\n"
        for amount in m.sums
    )
    return f"== Source left\n{each.format(way='T')}== Target right\n{each.format(way='R')}"


def nuttcp(m: Moved) -> str:
    each = [sum(column) for column in zip(*m.streams, strict=True)]
    lines = [f"{n / 2**20:.4f} MB /   1.00 sec = {n * 8e-6:.4f} Mbps" for n in each]
    rate = f"{m.total * 8e-6 / m.seconds:.4f}"
    total = f"{m.total / 2**20:.4f} MB /   {m.seconds}.00 sec = {rate} Mbps 1 %TX 2 %RX"
    return "\n".join([*lines, total, ""])


def gensink(m: Moved) -> str:
    lines, data = [], 0
    for second, amount in enumerate(m.streams[0], 1):
        data += amount
        lines.append(
            f"throughput {amount / 1e6:8.2f} MB/s  data {data / 1e6:12.2f} MB  "
            f"time {second:8.2f} s  average {data / second / 1e6:8.2f} MB/s"
        )
    return "\n".join([*lines, ""])


def rapid(m: Moved) -> str:
    def figures(amount: int, words: tuple[str, str, str, str, str], unit: str) -> str:
        mbps = f"{amount * 8e-6 / m.seconds:.3f}"
        values = (f"{amount}.0 bytes", "1000000.000", f"{1000000 + m.seconds}.000")
        values += (f"{m.seconds}.000 {unit}", f"{mbps} megabits/sec")
        return "\n".join(f"{w}: {v}" for w, v in zip(words, values, strict=True))

    own = ("amount transferred", "start time", "stop time", "total time", "throughput")
    total = (
        *("total amount transferred", "the earliest start time of any child"),
        *("the latest stop time of any child", "total elapsed time", "total throughput"),
    )
    parts = [
        f"statistics for process: {n}\n{figures(amount, own, 'secounds')}\n"
        for n, amount in enumerate(m.sums)
    ]
    return "\n".join([*parts, f"totals:\n{figures(m.total, total, 'seconds')}\nDone!\n"])


GRAMMARS = {
    "GenSink report": gensink,
    "rapid statistics": rapid,
    "iperf3 text": iperf3_text,
    "iperf 2 text": iperf2_text,
    "netperf text": netperf,
    "neper keys": neper,
    "ntttcp text": ntttcp,
    "kperf text": kperf,
    "nuttcp or ttcp lines": nuttcp,
}


@pytest.mark.parametrize("name", GRAMMARS)
@settings(max_examples=25, deadline=None, database=None)
@given(m=moved())
def test_sums_close(name, m):
    if name in ("netperf text", "GenSink report"):  # one stream a test
        m = Moved(m.streams[:1])
    text = GRAMMARS[name](m)
    assert next(form.name for form in FORMATS if form.fits(text)) == name
    (record,) = parse(text)
    flow = record.forward
    assert record.streams in (None, len(m.streams))
    assert flow.window_s == pytest.approx(m.seconds, rel=1e-3)
    assert flow.goodput_MBps == pytest.approx(m.total / m.seconds / 1e6, rel=5e-3, abs=5e-3)
    if flow.samples:
        slack = 6e3 * len(flow.samples)  # of two digits of a MiB
        assert sum(sample.bytes for sample in flow.samples) == pytest.approx(m.total, abs=slack)
    assert flow.received_B is None or flow.received_B == pytest.approx(m.total, abs=2e4)
