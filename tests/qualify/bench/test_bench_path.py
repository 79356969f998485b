"""A transfer of a benchmark is a run as of a study: audited, flagged, failed if not valid."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest
from generators.pretender import metering, pretender
from local_host import LocalHost
from measure.scripted import result

from netlab.errors import RunError
from netlab.generators.tools import Variant
from netlab.qualify.bench.contenders import OWN_SAME, OwnVariant
from netlab.qualify.bench.installed import Installed
from netlab.qualify.bench.limits import CopyLimits
from netlab.qualify.bench.path import BenchPath, bench_study, cost_of
from netlab.qualify.bench.rounds import BenchCell, Environment, Turn

LIMITS = CopyLimits(2, 20_000.0, 6_000.0, 40_000.0, 9_000.0)
CELL = BenchCell("on", 1500, 1, "same")
CARRIED_B = 7_010_000


def endpoint(name: str, agent, host=None, drift=()) -> SimpleNamespace:
    """A double of an endpoint."""
    return SimpleNamespace(
        name=name,
        agent=agent,
        host=host,
        address="127.0.0.1",
        interface="data0",
        facts={"cpus": 2, "boot_id": "1-a"},
        may_force=True,
        buffer_clamps=lambda: (None, None),
        kernel_names=lambda congestion: congestion,
        drift=lambda: list(drift),
    )


def path_of(endpoints, tool=None, limits=LIMITS) -> BenchPath:
    peers = {tool.name: Installed(tool, "python3", "1")} if tool else {}
    ends = {one.name: one for one in endpoints}
    return BenchPath(bench_study(1), Environment("on", 1500), ends, peers, limits)


def of_tool(home, *, carried_B: int = CARRIED_B, limits=LIMITS, drift=(), **changes) -> dict:
    """The sample of a transfer by the made-up tool."""
    tool = pretender(**changes)
    with LocalHost(home) as host:
        ends = [endpoint(n, metering(carried_B), host, drift) for n in ("gen", "sink")]
        path = path_of(ends, tool, limits)
        return path.take(Turn(0, 1, CELL, tool.name), Variant(4096), 1)


def of_core(
    *, sent_B: int = 14_000_000, limits=LIMITS, variant: OwnVariant = OWN_SAME, **of_sink
) -> dict:
    """The sample of a transfer by netlab's own core, whose agents speak from a script."""

    def sink(words: dict) -> list[dict]:
        listening = {"event": "listening", "run": words["run"], "port": 40000}
        return [listening, result("sink", run=words["run"], streams=1) | of_sink]

    def gen(words: dict) -> list[dict]:
        return [result("gen", run=words["run"], streams=1, each_B=sent_B)]

    ends = [
        endpoint("gen", metering(0, gen=gen)),
        endpoint("sink", metering(15_000_000, sink=sink)),
    ]
    return path_of(ends, limits=limits).take(Turn(0, 1, CELL, "gensink"), variant, 1)


def test_a_transfer_whose_counts_agree_has_a_goodput(tmp_path):
    for sample, goodput_MBps in ((of_tool(tmp_path), 7.0), (of_core(), 10.0)):
        assert (sample["error"], sample["goodput_MBps"]) == ("", goodput_MBps)
        assert sample["window_s"] == 1.0
        assert {"wall_s", "payload_B", "cpu_s_per_GB", "steal_percent", "flags"} <= set(sample)


def test_a_transfer_whose_ledger_does_not_close_failed(tmp_path):
    for sample, what in (
        (of_tool(tmp_path, carried_B=6_000_000), "the sink's interface received 6000000 B"),
        (of_tool(tmp_path, sent_B=6_000_000), "the receiver read 7000000 B"),
        (of_core(sent_B=14_000_100), "send() took 14000100 B, but the sink read 14000000 B"),
    ):
        assert sample["error"].startswith("ledger_mismatch: ") and what in sample["error"]
        assert sample["goodput_MBps"] is None and sample["window_s"] is None
        assert "ledger_mismatch" in sample["flags"]


def test_a_transfer_faster_than_copies_of_all_cores_failed_unless_it_copies_nothing(tmp_path):
    slow = replace(LIMITS, all_hot_MBps=5.0)
    splice = OwnVariant(131072, send="splice")
    for sample in (of_tool(tmp_path, limits=slow), of_core(limits=slow)):
        assert sample["error"].startswith("implausible: ") and "memory ceiling" in sample["error"]
        assert sample["goodput_MBps"] is None
    assert of_core(limits=slow, variant=splice)["error"] == ""


def test_a_transfer_that_a_study_would_flag_otherwise_failed(tmp_path):
    drifted = of_tool(tmp_path, drift=("gen: mtu was 1500, is 1400",))
    assert drifted["error"].startswith("tuning_drift: gen: mtu was 1500, is 1400")
    broken = of_core(status="timeout", message="streams did not arrive")
    assert broken["error"].startswith("failed: ") and "did not arrive" in broken["error"]


def test_a_disturbed_transfer_is_flagged_and_did_not_fail(tmp_path):
    sample = of_tool(tmp_path, carried_B=9_000_000)
    assert (sample["flags"], sample["error"], sample["goodput_MBps"]) == ("interference", "", 7.0)


def test_a_tool_that_fails_is_a_failed_transfer_with_what_it_said(tmp_path):
    sample = of_tool(tmp_path, client=("-c", "raise SystemExit('no route')"))
    assert "no route" in sample["error"] and sample["goodput_MBps"] is None


def total(rx_bytes: int, rx_packets: int, *, reset: bool = False) -> dict:
    interface = {"rx_bytes": rx_bytes, "rx_packets": rx_packets, "reset": reset}
    cpu = {"nice_us": 0, "system_us": 100_000, "irq_us": 0, "softirq_us": 200_000}
    spent = {"cpu": 0, **cpu, "user_us": 200_000, "idle_us": 300_000, "steal_us": 100_000}
    return {"t0_ns": 0, "t1_ns": 10**9, "interface": interface, "cpu": [spent]}


def test_the_cost_of_a_transfer_is_cpu_time_per_received_payload():
    cost = cost_of(total(10**9 + 52_000, 1000))
    assert (cost["payload_B"], cost["wall_s"]) == (10**9, 1.0)
    assert cost["cpu_s_per_GB"] == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("meter", "says"),
    [
        (total(10**6, 10, reset=True), "decreased"),
        (total(10, 10), "decreased"),
        (total(0, 0) | {"interface": None}, "no interface"),
    ],
)
def test_a_meter_without_a_count_is_a_failed_run(meter, says):
    with pytest.raises(RunError, match=says):
        cost_of(meter)
