"""A transfer of known size is timed from its first byte sent to its last byte read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused
from scripted import result

from netlab.errors import RunError
from netlab.measure.transfer import transfer_of

MS_NS = 1_000_000


def ends(*, ahead_ns: int = 0, there_ns: int = 0, back_ns: int = 0, took_ns: int = 400 * MS_NS):
    """Results of a transfer: the sink's clock is ahead, G and bytes take a while each way."""
    gen, sink = result("gen"), result("sink")
    go_ns = 1000 * MS_NS
    sent_ns = go_ns + back_ns + 3 * MS_NS  # the gen is not at once ready to send
    sink.update(t_go_ns=go_ns + ahead_ns, t_first_byte_ns=sent_ns + there_ns + ahead_ns)
    gen.update(t_let_go_ns=go_ns + back_ns, t_go_ns=sent_ns, t_first_byte_ns=sent_ns)
    for stream, early_ns in zip(sink["per_stream"], (0, 7 * MS_NS), strict=True):
        stream["t_last_ns"] = sent_ns + took_ns - early_ns + ahead_ns
    return gen, sink


def test_on_one_clock_the_time_is_exact():
    gen, sink = ends(there_ns=MS_NS, back_ns=2 * MS_NS, took_ns=400 * MS_NS + 1)
    timed = transfer_of(gen, sink, one_clock=True)
    assert (timed.seconds, timed.error_s, timed.bytes) == (0.400000001, 0.0, 28_000_000)
    assert timed.goodput_MBps == pytest.approx(70.0)


@given(
    ahead_ns=st.integers(-(10**15), 10**15),
    there_ns=st.integers(0, 10**9),
    back_ns=st.integers(0, 10**9),
    took_ns=st.integers(10**9, 10**12),
)
def test_between_two_clocks_the_true_time_lies_within_the_stated_error(
    ahead_ns, there_ns, back_ns, took_ns
):
    gen, sink = ends(ahead_ns=ahead_ns, there_ns=there_ns, back_ns=back_ns, took_ns=took_ns)
    timed = transfer_of(gen, sink, one_clock=False)
    assert timed.error_s == pytest.approx((there_ns + back_ns) / 2e9, abs=1e-9)
    assert abs(timed.seconds - took_ns / 1e9) <= timed.error_s + 1e-6


def test_samples_do_not_enter_the_time():
    gen, sink = ends()
    timed = transfer_of(gen, sink, one_clock=True)
    for interval_ms in (10, 100, 1000, 60_000):
        sink["samples"] = {"interval_ms": interval_ms, "t_ns": [0, 10**9 * interval_ms]}
        assert transfer_of(gen, sink, one_clock=True) == timed


def test_a_run_that_failed_or_was_timed_is_refused():
    gen, sink = ends()
    with refused(RunError, "E-MEASURE-004", match="sink: streams did not end"):
        failed = {**sink, "status": "timeout", "message": "streams did not end"}
        transfer_of(gen, failed, one_clock=True)
    for stream in sink["per_stream"]:
        stream["t_last_ns"] = 0
    with refused(RunError, "E-MEASURE-005"):
        transfer_of(gen, sink, one_clock=True)


@pytest.mark.parametrize(
    ("ahead_ns", "one_clock"), [(5 * MS_NS, True), (-5 * MS_NS, True), (5 * MS_NS, False)]
)
def test_moments_in_no_possible_order_are_refused(ahead_ns, one_clock):
    gen, sink = ends(there_ns=MS_NS, ahead_ns=ahead_ns)
    if not one_clock:  # stepped between the start and the first byte
        sink["t_first_byte_ns"] -= 20 * MS_NS
    with refused(RunError, "E-MEASURE-006"):
        transfer_of(gen, sink, one_clock=one_clock)
