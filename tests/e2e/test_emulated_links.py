"""Settings of an emulated link, each measured by a study whose truth is known."""

from __future__ import annotations

import pandas as pd
from e2e.conftest import run_on_lab
from studies import two_hosts

import netlab

DISCIPLINES = ("fifo", "codel", "fq_codel", "pie", "cake")
PAYLOAD = 1448 / 1514
"""Of a full frame of TCP."""


def measured(
    tmp_path, emulator: dict, groups: list[dict], further: dict[str, dict] | None = None, **keys
) -> pd.DataFrame:
    """The runs of a study of an emulated path, and of further ones by name."""
    timing = {"rounds": 1, "seconds": 2, "warmup_s": 1, "drain_s": 30}
    content = two_hosts(
        "emulated", {"emulator": emulator}, *groups, path="slow", **{"timing": timing, **keys}
    )
    for name, settings in (further or {}).items():
        content["paths"][name] = {**content["paths"]["slow"], "link": {"emulator": settings}}
    run_on_lab(tmp_path, content, timeout_s=300)
    return netlab.Results(tmp_path / "r").runs


def test_each_direction_has_its_own_rate_loss_and_delay(tmp_path, machine_untouched):
    """TCP meets its direction's rate; of datagrams one direction loses a fifth, the other none."""
    emulator = {"rtt_ms": 20, "rate_Mbps": 40, "reverse": {"delay_ms": 2}}
    rates = {"factors": {"reverse_rate_Mbps": [8, 16]}}
    lossy = {
        **{"generator": "udp", "record_length_B": 1000},
        "factors": {"reverse_loss": [0.2], "pacing_MBps": [1]},
    }
    groups = [
        {"name": "there", **rates},
        {"name": "back", "sender": "right", **rates},
        {"name": "datagrams there", **lossy},
        {"name": "datagrams back", "sender": "right", **lossy},
    ]
    runs = measured(tmp_path, emulator, groups)
    of = dict(iter(runs.groupby("group")))
    for name, rates_Mbps in (("there", (40, 40)), ("back", (8, 16))):
        levels = of[name].sort_values("reverse_rate_Mbps").to_dict("records")
        for run, rate_Mbps in zip(levels, rates_Mbps, strict=True):
            limit_MBps = rate_Mbps / 8 * PAYLOAD
            assert run["link_MBps"] == rate_Mbps / 8
            assert 0.4 * limit_MBps < run["goodput_MBps"] < 1.02 * limit_MBps
            assert run["path_rtt_us"] == 20_000
    (there,), (back,) = (of[f"datagrams {name}"].to_dict("records") for name in ("there", "back"))
    # 3,000 datagrams: standard deviation 0.7 %
    assert there["path_datagram_drops"] == 0
    assert 0.17 < back["path_datagram_drops"] / back["sent_datagrams"] < 0.23


def test_a_policer_lets_its_rate_pass_and_queues_nothing(tmp_path, machine_untouched):
    """Datagrams at twice the rate; a bucket alone queues the rest, up to the limit of its queue.

    The bucket is a quarter of a second of the rate, for a sender that is late on a busy machine.
    """
    sent = {"generator": "udp", "record_length_B": 986}  # 1028 B with headers and Ethernet's
    token = {"rtt_ms": 10, "rate_Mbps": 2, "burst_B": 61_680}
    groups = [{"name": "bucket", **sent}, {"name": "policer", "path": "policed", **sent}]
    policed = {"policed": {**token, "policer": True}}
    emulator = {**token, "queue_B": 102_800}
    runs = measured(tmp_path, emulator, groups, policed, socket={"pacing_MBps": 0.493})
    (bucket,), (policer,) = (
        runs[runs["group"] == name].to_dict("records") for name in ("bucket", "policer")
    )
    for run in (bucket, policer):
        assert 0.6 < run["goodput_MBps"] / (0.25 * 986 / 1028) < 1.03
    assert policer["path_queue_max_B"] == policer["path_queue_drops"] == 0
    assert 100_000 < bucket["path_queue_max_B"] <= 102_800 and bucket["path_queue_drops"] > 100
    assert policer["path_drops"] > 300


def test_losses_in_bursts_have_their_mean_and_length(tmp_path, machine_untouched):
    """Of 24,000 datagrams 4 % are lost, one or eight at a time."""
    group = {"name": "bursts", "generator": "udp", "record_length_B": 500}
    emulator = {"rtt_ms": 4, "loss": 0.04, "loss_burst_packets": 8, "seed": 3}
    factors = {"loss_burst_packets": [1, 8]}
    timing = {"rounds": 1, "seconds": 5, "warmup_s": 1, "drain_s": 30}
    runs = measured(
        tmp_path,
        emulator,
        [{**group, "factors": factors}],
        socket={"pacing_MBps": 2},
        timing=timing,
    )
    # a receiver or an emulator that waits for a processor loses others before and behind it
    dropped = runs["path_datagram_drops"]
    arrived = dropped + runs["received_datagrams"] + runs["socket_drops"].fillna(0)
    runs["share"] = dropped / arrived
    single, bursts = runs.sort_values("loss_burst_packets").to_dict("records")
    # 120 bursts: standard deviation of the loss 13 %, of the length 9 %
    assert 0.024 < bursts["share"] < 0.06 and 5.5 < bursts["loss_burst_mean"] < 11
    assert 0.035 < single["share"] < 0.045 and 1 <= single["loss_burst_mean"] < 1.5


def test_a_discipline_marks_a_flow_with_ecn_where_it_drops_others(tmp_path, machine_untouched):
    emulator = {"rtt_ms": 20, "rate_Mbps": 10, "queue_discipline": "codel"}
    ecn = {"kind": "sysctl", "name": "net.ipv4.tcp_ecn", "value": 1}
    runs = measured(
        tmp_path,
        emulator,
        [{"name": "one", "factors": {"queue_ecn": [False, True]}}],
        congestion="reno",
        timing={"rounds": 1, "seconds": 6, "warmup_s": 2, "drain_s": 30},
        tunings=[{"name": "ecn", "knobs": [ecn]}],
    )
    assert (runs["goodput_MBps"] > 0.4 * 10 / 8 * PAYLOAD).all(), runs["goodput_MBps"]
    drops, marks = runs.sort_values("queue_ecn").to_dict("records")
    assert drops["path_drops"] > 5 and drops["path_marked"] == drops["delivered_ce"] == 0
    assert marks["path_marked"] > 5 and marks["delivered_ce"] > 5
    # none, but for retransmissions of a sender that waits for a processor, which take no marks
    assert marks["path_drops"] < marks["path_marked"]


def test_cake_leaves_a_flow_a_part_beside_a_flood_of_datagrams(tmp_path, machine_untouched):
    """UDP at twice the rate of the link fills a plain queue, and takes all of the link there."""
    emulator = {"rtt_ms": 20, "rate_Mbps": 10, "queue_packets": 60}
    runs = measured(
        tmp_path,
        emulator,
        [{"name": "one", "cross_udp_Mbps": 20, "factors": {"queue_discipline": ["fifo", "cake"]}}],
        congestion="reno",
        timing={"rounds": 1, "seconds": 6, "warmup_s": 2, "drain_s": 30},
    )
    of = {run["queue_discipline"]: run for run in runs.to_dict("records")}
    limit_MBps = 10 / 8 * PAYLOAD
    # 45 % of the link; a sender that waits for a processor has less, of either kind
    assert of["cake"]["goodput_MBps"] > max(0.15 * limit_MBps, 2 * of["fifo"]["goodput_MBps"])
    assert of["cake"]["path_drops"] > of["cake"]["path_queue_drops"]


def test_a_greedy_flow_stands_near_the_target_of_a_discipline(tmp_path, machine_untouched):
    """A plain queue of 60 packets is 73 ms at 10 Mb/s, and a flow fills it."""
    emulator = {"rtt_ms": 20, "rate_Mbps": 10, "queue_packets": 60}
    timing = {"rounds": 1, "seconds": 8, "warmup_s": 4, "drain_s": 30}
    runs = measured(
        tmp_path,
        emulator,
        [{"name": "one", "factors": {"queue_discipline": [*DISCIPLINES]}}],
        congestion="reno",
        timing=timing,
        latency={"probe": "udp"},
    )
    of = {run["queue_discipline"]: run for run in runs.to_dict("records")}
    added_ms = {name: run["rtt_loaded_p50_us"] / 1e3 - 20 for name, run in of.items()}
    limit_MBps = 10 / 8 * PAYLOAD
    assert all(run["goodput_MBps"] > 0.25 * limit_MBps for run in of.values()), added_ms
    # a busy machine adds some to each
    assert added_ms["fifo"] > 25, added_ms
    assert added_ms["codel"] < 0.6 * added_ms["fifo"], added_ms
    assert added_ms["pie"] < 0.8 * added_ms["fifo"], added_ms
    # the probe is a flow of its own, which waits for a packet or two of the other
    for name in ("fq_codel", "cake"):
        assert added_ms[name] < 0.4 * added_ms["fifo"], added_ms
    for name, run in of.items():  # slow start overfills any of them
        early = run["path_drops"] - run["path_queue_drops"]
        assert (early > 0) == (name != "fifo"), (name, early)
