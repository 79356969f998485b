"""A run over the real agent, on the loopback of a network namespace of its own."""

import os

import pytest
from local_host import SubprocessPipe
from refusals import refused
from scripted import request

from netlab import core
from netlab.errors import RunError
from netlab.hosts.host import LineProcess
from netlab.measure.exchange import Request, RunEnd, measure
from netlab.measure.ledger import audit
from netlab.measure.record import RunSetting, interval_rows, record
from netlab.results.columns import INTERVAL_COLUMNS, RUN_COLUMNS
from netlab.results.frames import checked, joined

MTU_B = 65536


@pytest.fixture(scope="module")
def agent():
    """One agent that is both ends; its namespace ends with it."""
    unshare = ("unshare", "--net", *(() if os.geteuid() == 0 else ("--map-root-user",)))
    script = 'ip link set lo up && exec "$1" agent'
    argv = (*unshare, "sh", "-c", script, "sh", str(core.gensink_path()))
    with LineProcess(SubprocessPipe(argv), host="loopback", argv=argv) as process:
        assert process.receive(30)["event"] == "ready"
        yield process
    assert process.close() == 0


@pytest.fixture
def end(agent):
    return RunEnd("loopback", agent, "127.0.0.1", "lo", 262144, 262144)


def asked(**changes) -> Request:
    plain = {"streams": 3, "congestion": "reno", "force_buffer": False}
    plain |= {"warmup_ms": 100, "window_ms": 300, "interval_ms": 20}
    return request(**{**plain, **changes})


def test_a_real_run_and_its_intervals_close_the_ledger_and_fit_the_schema(end):
    outcome = measure(end, end, asked())
    (flow,) = outcome.flows
    assert flow.gen["status"] == flow.sink["status"] == "ok"
    ledger = audit([(flow.gen, flow.sink)], mtu_B=MTU_B, both=False)
    assert ledger.problems == []
    assert ledger.error_B == 0
    row = record(outcome, RunSetting(MTU_B, None, None, None, False, True), ledger)
    names = {column.name for column in RUN_COLUMNS}
    assert set(row) <= names
    assert row["goodput_MBps"] > 1
    assert row["window_s"] == pytest.approx(0.3, rel=0.2)
    assert row["sent_B"] == row["received_B"] == row["interval_sum_B"]
    assert row["acked_B"] >= row["sent_B"] + 3 * 64
    assert row["rtt_us"] > 0
    assert 0 < row["sender_cpu_percent"] <= 100
    assert row["interface_rx_B"] > row["received_B"]
    frame = checked(joined(interval_rows("r", outcome.flows), INTERVAL_COLUMNS), INTERVAL_COLUMNS)
    assert frame["bytes"].sum() == flow.sink["total_bytes"]
    assert frame["stream"].nunique() == 3
    inside = frame[frame["in_window"]]["bytes"].sum()
    assert 0.7 * flow.sink["window"]["bytes"] <= inside <= flow.sink["window"]["bytes"]


def test_a_congestion_control_that_the_kernel_lacks_fails_the_run_and_not_the_agent(end):
    with refused(RunError, "E-MEASURE-002", match="loopback: ") as caught:
        measure(end, end, asked(congestion="nonesuch"))
    assert caught.value.reason in ("refused", "bad_request")
    assert measure(end, end, asked()).flows[0].sink["status"] == "ok"
