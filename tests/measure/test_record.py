"""The agents' answers become the measured columns of a row, and its interval samples."""

import copy
import math
from dataclasses import replace

import pandas as pd
import pytest
from measure.recorded_setting import SETTING
from measure.scripted import SECOND_NS, result

from netlab.measure.exchange import Direction, RunOutcome
from netlab.measure.ledger import audit
from netlab.measure.record import (
    RunSetting,
    ceiling,
    ceiling_source,
    goodput_MBps,
    interval_rows,
    others_load,
    packet_B,
    record,
    trace_rows,
    with_upper_bound,
)
from netlab.results.columns import INTERVAL_COLUMNS, RUN_COLUMNS, TRACE_COLUMNS
from netlab.results.frames import checked, frame_of, joined

KINDS = {column.name: column for column in RUN_COLUMNS}


def outcome(*, both: bool = False, **options) -> RunOutcome:
    runs = (7, 8) if both else (7,)
    flows = tuple(
        Direction(gen=result("gen", run=run, **options), sink=result("sink", run=run, **options))
        for run in runs
    )
    return RunOutcome(flows, started_unix_ns=1_700_000_000 * SECOND_NS + 5, wall_s=1.5)


def recorded(of: RunOutcome, setting: RunSetting = SETTING) -> dict:
    both = len(of.flows) == 2
    flows = [(flow.gen, flow.sink) for flow in of.flows]
    return record(of, setting, audit(flows, mtu_B=setting.mtu_B, both=both))


def test_every_column_is_one_of_the_schema_and_holds_its_kind():
    whole = recorded(outcome(both=True))
    assert set(whole) <= set(KINDS)
    names = {column.name for column in RUN_COLUMNS if column.dtype == "string"}
    rest = dict.fromkeys(names, "text")
    rest |= {
        column.name: 1
        for column in RUN_COLUMNS
        if column.dtype in ("int64", "float64") and not column.nullable
    }
    frame = frame_of([{**rest, **whole}])
    for name, value in whole.items():
        assert frame[name].iloc[0] == value or value is None, name


def test_goodput_is_the_windows_bytes_over_its_own_duration():
    # 10 of 14 intervals of 100 ms lie in the window: 20 MB in 1 s
    assert recorded(outcome())["goodput_MBps"] == pytest.approx(20.0)
    assert recorded(outcome())["window_s"] == pytest.approx(1.0)
    sink = result("sink")
    sink["window"]["t1_ns"] += SECOND_NS // 4
    assert goodput_MBps(sink) == pytest.approx(20.0 / 1.25)


@pytest.mark.parametrize(
    "window", [None, {}, {"t0_ns": 5, "t1_ns": 5, "bytes": 0}, {"t0_ns": 9, "t1_ns": 5, "bytes": 1}]
)
def test_a_run_without_a_window_has_no_goodput(window):
    sink = result("sink")
    sink["window"] = window
    assert goodput_MBps(sink) is None


def test_both_directions_are_summed_and_stored_and_one_has_no_reverse():
    row = recorded(outcome(both=True))
    assert row["goodput_MBps"] == pytest.approx(40.0)
    assert row["goodput_forward_MBps"] == row["goodput_reverse_MBps"] == pytest.approx(20.0)
    assert row["sent_B"] == row["received_B"] == row["interval_sum_B"] == 56_000_000
    assert row["window_B"] == 40_000_000
    row = recorded(outcome())
    assert row["goodput_reverse_MBps"] is None
    assert row["sent_B"] == row["received_B"] == 28_000_000
    assert row["acked_B"] == 28_000_000 + 2 * 65
    assert row["tcp_received_B"] == 28_000_000 + 2 * 64


def test_tcps_figures_are_those_of_the_senders_streams():
    of = outcome()
    first, second = (stream["tcp"] for stream in of.flows[0].gen["per_stream"])
    first.update(rtt_us=100, min_rtt_us=30, cwnd_segments=10, retransmits=2, snd_wscale=7)
    second.update(rtt_us=300, min_rtt_us=40, cwnd_segments=30, retransmits=3, snd_wscale=9)
    for stream, cwnd in zip(of.flows[0].gen["per_stream"], (10, 20), strict=True):
        stream.update(cwnd_start_segments=cwnd, cwnd_t0_segments=2 * cwnd)
        stream.update(cwnd_max_segments=3 * cwnd, sndbuf_start_B=1000 * cwnd)
    expected = {
        **{"cwnd_start_segments": 15.0, "cwnd_t0_segments": 30.0, "cwnd_max_segments": 45.0},
        **{"sndbuf_start_B": 15000.0, "rcvbuf_start_B": None, "window_scale": 7},
        **{"congestion_in_force": "cubic", "rtt_us": 200.0, "min_rtt_us": 30.0},
        **{"cwnd_segments": 20.0, "retransmits": 5, "mss_B": 1448.0},
        **{"sndbuf_B": 524288.0, "rcvbuf_B": 262144.0},
    }
    assert expected.items() <= recorded(of).items()


def test_shares_of_time_are_of_the_run_and_of_the_busy_time():
    of = outcome()
    row = recorded(of)
    assert row["busy_share"] == pytest.approx(1.0 / 1.4)
    assert row["rwnd_limited_share"] == pytest.approx(0.25)
    assert row["sndbuf_limited_share"] == pytest.approx(0.1)
    for stream in of.flows[0].gen["per_stream"]:
        stream["tcp"]["busy_us"] = 0
    assert recorded(of)["rwnd_limited_share"] is None


def test_the_pace_is_that_of_all_senders_if_all_have_one():
    of = outcome(both=True)
    assert recorded(of)["pacing_MBps"] is None
    senders = [stream for flow in of.flows for stream in flow.gen["per_stream"]]
    for stream in senders:
        stream["pacing_Bps"] = 5_000_000
    assert recorded(of)["pacing_MBps"] == 5.0 * len(senders)
    senders[0]["pacing_Bps"] = 0
    assert recorded(of)["pacing_MBps"] is None


def test_cpu_is_a_share_of_all_cores_and_of_the_busiest():
    row = recorded(outcome())
    assert row["sender_cpu_percent"] == pytest.approx(30.0)
    assert row["sender_softirq_percent"] == pytest.approx(10.0)
    assert row["busiest_core_percent"] == pytest.approx(60.0)
    assert row["steal_percent"] == 0.0
    # 400 ms of user and system time, known to 53 ms, 300 ms of them the agent's own, of 2 s
    assert row["foreign_cpu_percent"] == pytest.approx(2.354, abs=1e-3)
    assert row["agent_cpu_s"] == pytest.approx(0.6)


def test_of_a_span_without_a_run_the_load_of_others_is_known():
    meter = result("sink")["meter"]["window"]
    load = others_load(meter, 100_000)
    # 300 ms of 2 s, known to 53 ms
    assert load == {"steal_percent": 0.0, "foreign_cpu_percent": pytest.approx(12.354, abs=1e-3)}
    assert others_load(meter, 1e9)["foreign_cpu_percent"] == 0.0


@pytest.mark.parametrize(
    ("used_us", "counted_us", "percent"),
    [
        (60_000, 80_000, 0.0),  # five samples of 4 ms more than the agent's precise time
        (60_000, 200_000, 27.1),  # another program fills one of two CPUs
        (60_000, 400_000, 85.0),  # others fill the machine: nothing is left to chance
    ],
)
def test_chance_in_the_samples_of_a_short_window_is_not_foreign(used_us, counted_us, percent):
    """As in a container, whose agent reads /proc/stat alone."""
    span_us = 200_000
    cores = [min(span_us, counted_us), max(0, counted_us - span_us)]
    others = ("nice_us", "system_us", "iowait_us", "irq_us", "softirq_us", "steal_us")
    rest = dict.fromkeys(others, 0)
    cpu = [{"user_us": busy, "idle_us": span_us - busy, **rest} for busy in cores]
    load = others_load({"cpu": cpu}, used_us)
    assert load["foreign_cpu_percent"] == pytest.approx(percent, abs=0.1)


def test_on_one_machine_counters_are_not_added_twice():
    one = recorded(outcome(), RunSetting(1500, 2128.0, None, None, False, one_machine=True))
    two = recorded(outcome())
    assert two["interface_drops"] == 6
    assert two["interface_tx_B"] == two["interface_rx_B"] > two["received_B"]
    assert two["softnet_drops"] == 2 * one["softnet_drops"] == 6
    assert two["interrupts_per_s"] == 2 * one["interrupts_per_s"] == pytest.approx(10_000)
    assert two["context_switches_per_s"] == 2 * one["context_switches_per_s"]
    # both agents' 600 ms exceed the machine's 400 ms of work: no foreign load
    assert one["foreign_cpu_percent"] == 0.0


def test_values_without_a_meter_are_missing():
    of = outcome()
    for end in (of.flows[0].gen, of.flows[0].sink):
        end["meter"] = None
    row = recorded(of)
    for name in ("interface_rx_B", "sender_cpu_percent", "foreign_cpu_percent", "softnet_drops"):
        assert row[name] is None, name
    assert row["goodput_MBps"] == pytest.approx(20.0)


def test_per_cent_of_bus_and_ceiling():
    row = recorded(outcome(each_B=0))
    assert row["goodput_MBps"] == row["percent_of_bus"] == row["percent_of_ceiling"] == 0.0
    row = recorded(outcome(), RunSetting(1500, None, 125.0, None, False, False))
    assert row["percent_of_bus"] is None
    assert row["percent_of_ceiling"] == pytest.approx(100 * 20 / (125 * 1448 / 1514))


SHARE = 1448 / 1514


@pytest.mark.parametrize(
    ("bus", "link", "memory", "shared", "both", "expected"),
    [
        (None, None, None, False, False, (None, None)),
        (1000.0, None, None, False, False, (1000 * SHARE, "bus")),
        (1000.0, None, None, False, True, (2000 * SHARE, "bus")),
        (1000.0, None, None, True, True, (1000 * SHARE, "bus")),
        (1000.0, 125.0, None, True, False, (125 * SHARE, "link")),
        (1000.0, 125.0, None, True, True, (250 * SHARE, "link")),
        (1000.0, 1250.0, 900.0, False, False, (900.0, "memory")),
        (1000.0, 1250.0, 999.0, False, False, (1000 * SHARE, "bus")),
    ],
)
def test_the_ceiling_is_the_lowest_of_bus_link_and_memory(
    bus, link, memory, shared, both, expected
):
    top, kind = ceiling(RunSetting(1500, bus, link, memory, shared, False), 1448.0, both)
    assert kind == expected[1]
    assert top == (None if expected[0] is None else pytest.approx(expected[0]))


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("bus", "PCIe 3.0 x8, as the host reports"),
        ("link", "a link of 125 MB/s, as the study states"),
        ("memory", "copies of cold memory by one core"),
        (None, ""),
    ],
)
def test_a_ceiling_has_a_source(kind, words):
    setting = RunSetting(
        1500, 1.0, 125.0, 9.0, False, False, bus_source="PCIe 3.0 x8, as the host reports"
    )
    assert ceiling_source(setting, kind).startswith(words)
    assert bool(ceiling_source(setting, kind)) == bool(kind)


@pytest.mark.parametrize(
    ("hot_MBps", "link", "kind", "percent"),
    [
        (1000.0, 1250.0, "memory", 108.0),
        (None, 1250.0, "link", 100 * 1080 / (1250 * SHARE)),
        (None, None, None, None),
    ],
)
def test_more_than_cold_copies_is_judged_by_bus_link_and_hot_copies(hot_MBps, link, kind, percent):
    one_machine = hot_MBps is not None
    setting = RunSetting(1500, None, link, 900.0, False, one_machine, hot_MBps=hot_MBps)
    row = {"goodput_MBps": 1080.0, "mss_B": 1448.0, "ceiling_MBps": 900.0}
    row |= {"ceiling_kind": "memory", "percent_of_ceiling": 120.0}
    found = with_upper_bound(row, setting, both=False)
    assert found["ceiling_kind"] == kind
    assert found["percent_of_ceiling"] == (None if percent is None else pytest.approx(percent))
    assert row["ceiling_kind"] == "memory"


@pytest.mark.parametrize(
    ("mss_B", "share"),
    [
        (None, 8948 / 9014),  # supposes timestamps
        # frames are as short as the segments asked for
        (948.0, 948 / 1014),
        (8948.0, 8948 / 9014),
        # IPv6 with timestamps is not a short frame
        (8928.0, 8928 / 9014),
    ],
)
def test_the_ceiling_counts_the_payload_of_the_segments(mss_B, share):
    setting = RunSetting(9000, 1000.0, None, None, False, False)
    assert ceiling(setting, mss_B, False)[0] == pytest.approx(1000 * share)


def intervals_of(of: RunOutcome) -> pd.DataFrame:
    return checked(joined(interval_rows("r", of.flows), INTERVAL_COLUMNS), INTERVAL_COLUMNS)


def test_intervals_are_differences_of_the_counts_and_sum_to_the_windows_bytes():
    frame = intervals_of(outcome())
    assert frame.columns.tolist() == [column.name for column in INTERVAL_COLUMNS]
    assert len(frame) == 2 * 14
    assert frame["bytes"].sum() == 28_000_000
    assert set(frame["direction"]) == {"forward"}
    first = frame[frame["stream"] == 0]
    assert first["t_s"].tolist() == pytest.approx([step / 10 for step in range(1, 15)])
    assert first["interval_s"].tolist() == pytest.approx([0.1] * 14)
    assert math.isclose(frame["interval_s"].sum(), 2.8)
    of = outcome()
    frame = intervals_of(of)
    inside = frame[frame["in_window"]]
    assert len(inside) == 2 * 10
    assert inside["bytes"].sum() == of.flows[0].sink["window"]["bytes"]


def test_each_direction_has_its_own_intervals():
    of = outcome(both=True)
    of.flows[1].sink["samples"]["bytes"] = [[3 * n for n in range(15)], [0] * 15]
    frame = intervals_of(of)
    sums = frame.groupby(["direction", "stream"])["bytes"].sum()
    assert sums["forward", 0] == 14_000_000
    assert sums["reverse", 0] == 42
    assert sums["reverse", 1] == 0


def test_counts_beyond_32_bits_stay_exact():
    of = outcome()
    big = [2**62 * (step == 14) for step in range(15)]
    of.flows[0].sink["samples"]["bytes"] = [big, [0] * 15]
    assert intervals_of(of)["bytes"].max() == 2**62


@pytest.mark.parametrize("window", [None, {}])
def test_a_run_without_a_window_has_no_interval_inside_it(window):
    of = copy.deepcopy(outcome())
    of.flows[0].sink["window"] = window
    frame = intervals_of(of)
    assert len(frame) == 28
    assert not frame["in_window"].any()
    assert recorded(of)["window_s"] is None


@pytest.mark.parametrize("t_ns", [[], [50 * SECOND_NS]])
def test_a_run_that_was_never_sampled_has_no_rows_and_fits_the_schema(t_ns):
    of = outcome()
    of.flows[0].sink["samples"] = {"t_ns": t_ns, "bytes": [[0] * len(t_ns)] * 2}
    assert intervals_of(of).empty


def test_a_trace_becomes_a_row_a_stream_and_sample():
    of = outcome(streams=2)
    assert trace_rows("r", of.flows) == []
    count = len(of.flows[0].gen["samples"]["t_ns"])
    of.flows[0].gen["trace"] = {
        name: [[first + 10 * stream + k for k in range(count)] for stream in range(2)]
        for name, first in (("rtt_us", 100), ("cwnd_segments", 200), ("retransmits", 300))
    }
    rows = checked(joined(trace_rows("r", of.flows), TRACE_COLUMNS), TRACE_COLUMNS)
    assert len(rows) == 2 * count
    row = rows[(rows["stream"] == 1) & (rows["t_s"] == 0.3)].iloc[0]
    assert (row["rtt_us"], row["cwnd_segments"], row["retransmits"]) == (113, 213, 313)
    assert set(rows["run_id"]) == {"r"} and set(rows["direction"]) == {"forward"}


def test_the_engine_is_the_one_that_the_agents_report():
    of = outcome(both=True)
    for flow in of.flows:
        flow.gen.update(engine="blocking", send="zerocopy")
        flow.sink.update(engine="epoll", receive="discard")
    assert recorded(of)["engine"] == "blocking:zerocopy/epoll:discard"
    of.flows[1].sink["engine"] = "plain"
    assert recorded(of)["engine"] == (
        "blocking:zerocopy/epoll:discard, blocking:zerocopy/plain:discard"
    )


def test_a_fixed_amount_is_timed_by_its_bytes_and_not_by_the_window():
    of = outcome()
    gen, sink = of.flows[0].gen, of.flows[0].sink
    go_ns = sink["t_go_ns"]
    gen.update(t_let_go_ns=go_ns + 1_000_000, t_first_byte_ns=go_ns + 2_000_000)
    sink.update(t_first_byte_ns=go_ns + 3_000_000)
    for stream in sink["per_stream"]:
        stream["t_last_ns"] = go_ns + 2_000_000 + 700_000_000
    row = recorded(of, replace(SETTING, one_machine=True))
    assert (row["window_s"], row["window_error_s"]) == (0.7, 0.0)
    assert row["goodput_MBps"] == pytest.approx(28 / 0.7)
    row = recorded(of)  # two clocks: G took up to 1 ms, and so did the first byte
    assert row["window_s"] == pytest.approx(0.7)
    assert row["window_error_s"] == pytest.approx(0.001)


def test_a_fixed_amount_that_did_not_arrive_whole_has_its_window():
    of = outcome()
    of.flows[0].sink["status"] = "timeout"
    of.flows[0].sink["per_stream"][0]["t_last_ns"] = 5
    row = recorded(of)
    assert (row["window_s"], row["window_error_s"]) == (1.0, None)


@pytest.mark.parametrize(
    ("tcp", "size_B"),
    [
        ({"pmtu_B": 1500, "mss_B": 1448}, 1500),  # the path's, whatever the interface's
        ({"pmtu_B": 9000, "mss_B": 8928}, 9000),  # IPv6
        ({"pmtu_B": 9000, "mss_B": 1448}, 1500),  # the other end takes no larger segment
        ({"mss_B": 1448}, None),  # another tool
        (None, None),
    ],
)
def test_a_full_packet_is_the_paths_unless_the_segment_is_smaller(tcp, size_B):
    assert packet_B({"tcp": tcp}) == size_B
