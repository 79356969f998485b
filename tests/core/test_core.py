"""netlab.core: the C library from Python."""

import gc
import re
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused
from waiting import until

from netlab import __version__, core
from netlab.core import library
from netlab.errors import CoreError

OPTIONS = core.options()
OF_UDP = ("udp", "gso", "gro", "kernel_pacing", "fragment")
NUMBERS = [o for o in OPTIONS.values() if o.maximum > 0]


def setting(name: str, value: object) -> tuple[str, dict[str, object]]:
    """A role that has the option, and settings that are right but for it."""
    role = sorted(OPTIONS[name].roles)[0]
    base: dict[str, object] = {"gen": {"to": "::1", "port": 5}, "sink": {"bind": "::1"}}[role]
    if name in OF_UDP:
        base |= {"udp": 1, "window_ms": 100, "record_B": 1000}
        base |= {"pacing_Bps": 10**6} if role == "gen" else {}
    return role, {**base, name: value}


def test_version_digest_and_paths():
    assert core.version() == __version__
    assert len(core.source_digest()) == 64
    said = subprocess.run((core.gensink_path(), "version"), capture_output=True, text=True)
    assert said.stdout.split()[1:] == [core.version(), core.source_digest()]
    assert (core.source_dir() / "include" / "netlab.h").is_file()


def test_every_declaration_of_the_header_is_bound():
    """The binding is cut from netlab.h, so each of its functions is there."""
    header = (core.source_dir() / "include" / "netlab.h").read_text()
    functions = re.findall(r"^NL_API .*?\b(nl_\w+)\(", header, re.MULTILINE)
    assert len(functions) > 15
    assert all(hasattr(library.lib, name) for name in functions)


@settings(deadline=None)
@given(st.sampled_from(NUMBERS), st.data())
def test_numbers_within_their_limits_are_taken(option, data):
    value = data.draw(st.integers(option.minimum, option.maximum))
    role, given_settings = setting(option.name, value)
    try:
        core.check_options(role, **given_settings)
    except CoreError as error:  # options that exclude each other, or ask for too much together
        together = ("bytes", "window_ms", "port", "ends_ms", "source_ports")
        together += ("own_streams", "sender")
        assert error.reason == "limit" or option.name in together


@settings(deadline=None)
@given(st.sampled_from(NUMBERS), st.data())
def test_numbers_beyond_their_limits_are_refused_by_name(option, data):
    beyond = st.integers(max_value=option.minimum - 1) | st.integers(min_value=option.maximum + 1)
    role, given_settings = setting(option.name, data.draw(beyond))
    with pytest.raises(CoreError, match=option.name) as caught:
        core.check_options(role, **given_settings)
    assert caught.value.reason == "bad_request"


@settings(deadline=None)
@given(st.sampled_from(sorted(OPTIONS)), st.text(max_size=200))
def test_any_text_is_taken_or_refused(name, text):
    role, given_settings = setting(name, text)
    try:
        core.check_options(role, **given_settings)
    except CoreError as error:
        assert error.reason in ("bad_request", "limit") and str(error)


@settings(deadline=None, max_examples=10)
@given(
    streams=st.integers(1, 8),
    amount=st.integers(1, 300_000),
    record_B=st.integers(1, 100_000),
    receive=st.sampled_from(["copy", "discard"]),
    address=st.sampled_from(["127.0.0.1", "::1"]),
)
def test_exact_bytes_arrive_whatever_their_shape(streams, amount, record_B, receive, address):
    record_B = max(record_B, amount // 3000)  # not too many calls
    sink, gen = core.transfer(
        address, streams=streams, bytes=amount, record_B=record_B, receive=receive,
        congestion="reno", interval_ms=10,
    )  # fmt: skip
    assert (sink.status, gen.status) == ("ok", "ok"), (sink.message, gen.message)
    assert [row["bytes"] for row in sink.per_stream] == [amount] * streams
    assert sink.total_bytes == gen.total_bytes == sink.interval_sum_bytes == amount * streams


def test_a_timed_transfer_agrees_at_both_ends_and_hands_out_samples():
    sink, gen = core.transfer(
        streams=3, congestion="reno", warmup_ms=50, window_ms=300, tail_ms=200, interval_ms=10,
        trace=True,
    )  # fmt: skip
    assert (sink.status, gen.status) == ("ok", "ok"), (sink.message, gen.message)
    assert sink.total_bytes == gen.total_bytes == sink.interval_sum_bytes
    assert sink.sample_bytes.shape == (3, sink.sample_t_ns.size)
    assert sink.sample_bytes.dtype == np.uint64
    assert (np.diff(sink.sample_bytes.astype(np.int64)) >= 0).all()
    assert int(sink.sample_bytes[:, -1].sum()) == sink.total_bytes
    at = np.searchsorted(sink.sample_t_ns, [sink.window_t0_ns, sink.window_t1_ns])
    window = sink.sample_bytes[:, at[1]] - sink.sample_bytes[:, at[0]]
    assert int(window.sum()) == sink.window_bytes
    span_ns = sink.window_t1_ns - sink.window_t0_ns
    assert sink.goodput_MBps == pytest.approx(sink.window_bytes / span_ns * 1e3)
    assert gen.trace["rtt_us"].shape == gen.sample_bytes.shape
    assert gen.per_stream[0]["tcp"]["mss_B"] > 500


def test_samples_outlive_the_run_and_are_not_copies():
    sink, _ = core.transfer(congestion="reno", window_ms=100, interval_ms=10)
    view = sink.sample_bytes[0, 1:]
    total = sink.total_bytes
    del sink
    gc.collect()
    assert int(view[-1]) == total
    with pytest.raises(ValueError, match="read-only"):
        view[0] = 1
    assert not view.flags.owndata


def test_python_runs_while_c_does():
    """The GIL is released: this thread counts on while a transfer goes on, else it gets no turn."""
    turns = 0
    with ThreadPoolExecutor(1) as pool:
        transfer = pool.submit(core.transfer, congestion="reno", window_ms=1000)
        while not transfer.done():
            time.sleep(0.005)
            turns += 1
    assert transfer.result() and turns > 2


def test_a_run_can_be_watched_and_stopped():
    with core.CoreRun("sink", bind="127.0.0.1", token="1" * 32, window_ms=60_000) as sink:
        sink.start()
        with core.CoreRun(
            "gen", to="127.0.0.1", port=sink.port, token="1" * 32, window_ms=60_000,
            congestion="reno",
        ) as gen:  # fmt: skip
            gen.start()
            until(lambda: sink.progress()[1] > 0)
            t_ns, moved = sink.progress()
            assert moved > 0 and t_ns <= time.monotonic_ns()
            gen.stop()
            assert gen.result().status == "stopped"
    report = sink.result()
    assert report.status in ("stopped", "error") and report.message


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        ({"address": "localhost"}, "bad_request"),
        ({"streams": 0}, "bad_request"),
        ({"colour": "red"}, "bad_request"),
        ({"interface": "nosuch0"}, "bad_request"),
        ({"congestion": "nosuchcc"}, "refused"),
        ({"address": "192.0.2.1"}, "refused"),
        ({"streams": 10_000, "record_B": 64 << 20}, "limit"),
    ],
)
def test_a_refused_run_is_a_core_error(wrong, code):
    with refused(CoreError, "E-CORE-001", "E-CORE-004") as caught:
        core.transfer(**{"window_ms": 50, **wrong})
    assert caught.value.reason == code
    assert str(caught.value)


def test_a_gen_without_a_sink_is_a_core_error_and_a_run_starts_once():
    with core.CoreRun("gen", to="127.0.0.1", port=1, token="1" * 32) as gen:
        gen.start()
        with refused(CoreError, "E-CORE-003"):
            gen.start()
        with refused(CoreError, "E-CORE-001"):
            gen.result()


def test_memory_copy_rate_is_plausible_and_quick():
    start_s = time.process_time()
    rate = core.memory_copy_MBps()
    assert time.process_time() - start_s < 2
    assert 100 < rate.cold_MBps < 10**6 and 100 < rate.hot_MBps < 10**7
    with pytest.raises(CoreError):
        core.memory_copy_MBps(0)
    with pytest.raises(CoreError):
        core.memory_copy_MBps(-1)
