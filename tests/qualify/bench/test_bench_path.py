"""A transfer of a benchmark is a run as of a study: audited, flagged, failed if not valid."""

import json
import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from generators.pretender import metering, pretender
from local_host import LocalHost
from measure.scripted import result

from netlab.errors import RunError
from netlab.generators.tools import TOOLS, Variant
from netlab.qualify.bench_contenders import (
    GENSINK,
    OWN_SAME,
    OWN_VARIANTS,
    BenchCell,
    BenchTransfer,
    CopyLimits,
    Environment,
    Installed,
    Matrix,
    OwnVariant,
    contenders,
    schedule,
)
from netlab.qualify.bench_run import BenchPath, TransferLog, bench_study, choose, cost_of

LIMITS = CopyLimits(2, 20_000.0, 6_000.0, 40_000.0, 9_000.0)
CELL = BenchCell("on", 1500, 1, "same")
CARRIED_B = 7_010_000


def endpoint(name: str, agent, host=None, drift=()) -> SimpleNamespace:
    """A double of an endpoint."""
    place = {"address": "127.0.0.1", "own_address": "127.0.0.1", "interface": "data0"}
    return SimpleNamespace(
        **{"name": name, "agent": agent, "host": host, "ports": None, "may_force": True, **place},
        facts={"cpus": 2, "boot_id": "1-a"},
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
        return path.take(BenchTransfer(0, 1, CELL, tool.name), 1, Variant(4096))


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
    return path_of(ends, limits=limits).take(BenchTransfer(0, 1, CELL, "gensink"), 1, variant)


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


# Heats choose the variant with the highest median; a failed one loses, with its reason.

REFUSED = "refused: splice(2): Operation not permitted"
PEERS = [Installed(tool, f"/usr/bin/{tool.program}", "1") for tool in TOOLS]


@pytest.fixture
def stage():
    """One environment with a cell of each mode and every tool."""
    ((stage,), _) = schedule(Matrix(("on",), (1500,), (4,), heats=3), contenders(PEERS))
    return stage


def heats(stage, goodput_MBps) -> list[dict]:
    """Samples of all heats; `goodput_MBps` maps a heat to a number or to an error."""
    samples = []
    for heat in stage.heats:
        came = goodput_MBps(heat)
        failed = isinstance(came, str)
        what = {"goodput_MBps": None if failed else came, "error": came if failed else ""}
        samples.append({**heat.as_dict(), "variant": heat.variant.label, **what})
    return samples


def own_best(stage):
    return next(pair for pair in stage.variants if pair[1] == GENSINK and pair[0].mode == "best")


def test_the_variant_with_the_highest_median_runs_not_the_one_with_the_highest_heat(stage):
    pair = own_best(stage)
    first, steady, *_ = stage.variants[pair]
    rates = {
        first.label: {1: 9000.0, 2: 1000.0, 3: 1100.0},
        steady.label: {1: 2000.0, 2: 2100.0, 3: 1900.0},
    }
    samples = heats(stage, lambda heat: rates.get(heat.variant.label, {}).get(heat.number, 500.0))
    assert choose(stage, samples)[0][pair] is steady
    rows = choose(stage, samples)[1]
    standing = {row["variant"]: row for row in rows if row["contender"] == GENSINK}
    assert standing[first.label]["goodput_MBps"] == 1100.0
    assert [label for label, one in standing.items() if one["chosen"]] == [steady.label]


def test_each_contender_chooses_for_itself_and_in_each_cell():
    ((stage,), _) = schedule(Matrix(("on",), (1500,), (1, 4), ("best",)), contenders(PEERS))

    def rate(heat):
        some = stage.variants[heat.cell, heat.contender]
        at = some.index(heat.variant)
        return float(at if heat.cell.streams == 4 else -at)

    chosen, _ = choose(stage, heats(stage, rate))
    assert set(chosen) == set(stage.variants)
    for (cell, contender), variant in chosen.items():
        some = stage.variants[cell, contender]
        assert variant is (some[-1] if cell.streams == 4 else some[0])


def test_a_refused_variant_loses_and_its_reason_is_recorded(stage):
    samples = heats(stage, lambda heat: REFUSED if "splice" in heat.variant.label else 1000.0)
    assert choose(stage, samples)[0][own_best(stage)].send == "copy"
    refused = [one for one in choose(stage, samples)[1] if "splice" in one["variant"]]
    assert len(refused) == sum(one.send == "splice" for one in OWN_VARIANTS)
    for one in refused:
        assert (one["heats"], one["failed"], one["reason"]) == (3, 3, REFUSED)
        assert not one["chosen"] and math.isnan(one["goodput_MBps"])


def test_one_failed_heat_does_not_exclude_its_variant(stage):
    pair = own_best(stage)
    best = stage.variants[pair][-1]
    rates = {best: {2: "lost its result"}}
    samples = heats(
        stage,
        lambda heat: rates.get(heat.variant, {}).get(
            heat.number, 1200.0 if heat.variant is best else 1000.0
        ),
    )
    chosen, rows = choose(stage, samples)
    assert chosen[pair] is best
    (row,) = (one for one in rows if one["chosen"] and one["contender"] == GENSINK)
    assert (row["heats"], row["failed"], row["goodput_MBps"]) == (3, 1, 1200.0)


def test_of_a_contender_whose_heats_all_failed_the_first_variant_runs(stage):
    chosen, _ = choose(stage, heats(stage, lambda _: "no server"))
    assert all(variant is stage.variants[pair][0] for pair, variant in chosen.items())


def test_a_contender_without_variants_has_no_standing(stage):
    samples = heats(stage, lambda _: 1.0)
    standing = choose(stage, samples)[1]
    assert {one["mode"] for one in standing} == {"best"}
    assert len(standing) == sum(len(some) for some in stage.variants.values() if len(some) > 1)
    assert set(standing[0]) >= {"mode", "mtu_B", "contender", "variant", "chosen", "reason"}


# A benchmark that is ended early keeps its transfers.

AT = "2026-01-05T10:00:00Z"


def test_every_transfer_is_on_disk_before_the_next_one(tmp_path):
    samples = [
        {"contender": "gensink", "goodput_MBps": np.float64(875.5), "error": ""},
        {"contender": "iperf2", "goodput_MBps": float("nan"), "error": "Über\nzwei Zeilen"},
    ]
    log = TransferLog(tmp_path, AT)
    for number, sample in enumerate(samples, start=1):
        log.write(sample)
        assert log.count == number
        lines = log.path.read_text(encoding="utf-8").splitlines()
        assert len(lines) == number
    assert [json.loads(line) for line in lines] == [
        {"contender": "gensink", "goodput_MBps": 875.5, "error": ""},
        {"contender": "iperf2", "goodput_MBps": None, "error": "Über\nzwei Zeilen"},
    ]
    assert log.path == tmp_path / "2026-01-05T100000Z" / "transfers.jsonl"


def test_two_benchmarks_of_one_second_do_not_share_a_file_and_one_without_transfers_has_none(
    tmp_path,
):
    assert TransferLog(tmp_path, AT).count == 0
    assert not list(tmp_path.iterdir())
    for contender in ("gensink", "plain"):
        TransferLog(tmp_path, AT).write({"contender": contender})
    found = sorted(path.read_text() for path in tmp_path.glob("*/transfers.jsonl"))
    assert found == ['{"contender": "gensink"}\n', '{"contender": "plain"}\n']


def test_a_full_disk_is_an_error_of_the_transfer_that_met_it(tmp_path):
    log = TransferLog(tmp_path, AT)
    log.path.symlink_to("/dev/full")
    with pytest.raises(OSError, match="No space"):
        log.write({"contender": "gensink"})
    assert log.count == 0
