"""Flags, knobs, overhead and noise are reported completely."""

from __future__ import annotations

import json
import math

import pandas as pd
import pytest
import synthetic

from netlab.analysis import conditions
from netlab.analysis.batches import timelines, window_rates
from netlab.analysis.bottlenecks import explain, verdicts
from netlab.analysis.card_counters import collisions, counters
from netlab.analysis.cell_ceilings import CEILING_COLUMNS, ceilings, ceilings_table
from netlab.analysis.cells import CELL_KEYS, Cells
from netlab.analysis.cost_of_cpu import cpu_cost
from netlab.errors import NetlabError
from netlab.measure.bottleneck import VERDICTS, bottleneck
from netlab.measure.counter_meanings import BY_NAME, LIMITED


def test_flagged_runs_are_listed_with_flag_and_reason_and_those_without_goodput(openlab, runs):
    values = {"flags": "stalled,interference", "message": "nothing for 0.4 s"}
    marked = synthetic.runs_of(openlab, change=synthetic.setting(values, order=(3, 17)))
    listed = conditions.flagged(marked)
    assert listed["order"].tolist() == [3, 17]
    assert set(listed["message"]) == {"nothing for 0.4 s"}
    counts = conditions.flag_counts(marked).set_index("flag")["runs"].to_dict()
    assert counts == {"stalled": 2, "interference": 2}
    spoilt = runs.copy()
    spoilt.loc[5, "goodput_MBps"] = math.nan
    assert conditions.flagged(spoilt)["flags"].tolist() == ["no goodput"]


def test_unsupported_knobs_are_gathered_over_runs(runs):
    (row,) = conditions.unsupported(runs).to_dict("records")
    assert (row["hosts"], row["knob"]) == ("linux64-a", "net.ipv4.tcp_tw_recycle")
    assert row["reason"] == "left Linux in 4.12"
    assert row["runs"] == (runs["tuning"] != "none").sum()
    assert set(row["tunings"].split(", ")) == {"kernel", "full"}
    assert conditions.unsupported(runs.assign(unsupported="[]")).empty
    assert conditions.unsupported(runs.assign(unsupported="")).empty


def test_hosts_that_lack_a_knob_for_the_same_reason_share_a_row(runs, openlab):
    lacking = [{"host": h, "knob": "ring rx", "reason": "none"} for h in ("b", "a")]
    lacking.append({"host": "c", "knob": "ring rx", "reason": "fixed"})
    table = conditions.unsupported(runs.assign(unsupported=json.dumps(lacking)), openlab)
    assert table["hosts"].tolist() == ["c", "a, b"]
    assert table["runs"].tolist() == [420, 420]
    assert set(table["tunings"]) == {"none, kernel, full"}
    with pytest.raises(NetlabError, match="unsupported"):
        conditions.unsupported(runs.assign(unsupported="{half"))


def test_overhead_counts_the_gap_to_the_next_run_but_not_the_pause_of_a_resumed_block(runs):
    assert conditions.outside_s(runs).max() == pytest.approx(0.2, abs=1e-6)
    table = conditions.overhead(runs)
    assert len(table) == 15 and table["block"].iloc[-1] == "all blocks"
    assert table["above_limit"].sum() == 0

    slow, later = runs.copy(), runs.copy()
    slow.loc[slow.sort_values("started_at").index[0], ["overhead_s", "wall_s"]] += 0.5
    assert conditions.overhead(slow)["above_limit"].iloc[-1] == 1
    block = later["block_id"] == later["block_id"].iloc[0]
    half = block & (later["order"] > later.loc[block, "order"].median())
    later.loc[half, "started_at"] += pd.Timedelta(hours=3)
    assert conditions.outside_s(later).max() < 0.3


def test_noise_lists_recorded_values_only_and_no_runs_give_empty_tables(runs):
    table = conditions.noise(runs.assign(steal_percent=math.nan))
    assert not table["quantity"].str.contains("steal").any()
    spread = table[table["quantity"].str.contains("rounds")].iloc[0]
    assert 0 < spread["median"] < spread["worst"] < 5
    for analysis in ("flagged", "overhead", "noise", "unsupported"):
        assert getattr(conditions, analysis)(runs.head(0)).empty


FULL = {"rtt_us": 100.0, "sndbuf_B": 4e6, "rcvbuf_B": 1e5}
FILLED = "50 % of the smaller socket buffer was in flight (bound 1000 MB/s)"
SENDS, RECEIVES = "the send buffer was the limit", "the receiver's was the limit"
LOST = "0.3 % of the segments were retransmitted"
NOTHING = "no core, window or loss stands out"
RUN = {"goodput_MBps": 500.0, "direction": "->", "streams": 1, "mtu_B": 9000, "mss_B": 8948.0}


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"bus_MBps": 510.0}, "bus: 99 % of the 506 MB/s of payload it carries"),
        ({"link_MBps": 510.0}, "link: 99 % of the 506 MB/s of payload it carries"),
        (
            {"link_MBps": 510.0, "ceiling_source": "one slave of bond0 on left"},
            "one slave of the bond: 99 % of the 506 MB/s of payload it carries",
        ),
        ({"pacing_MBps": 520.0}, "pacing: 96 % of the 520 MB/s of the pacing rate"),
        # a slow path's rates do not read as 0
        (
            {"pacing_MBps": 0.05, "goodput_MBps": 0.049},
            "pacing: 98 % of the 0.05 MB/s of the pacing rate",
        ),
        ({"busiest_core_percent": 99.0}, "CPU: one core was 99 % busy"),
        (
            {"busiest_core_percent": 99.0, "sender_softirq_percent": 25.0},
            "CPU: one core was 99 % busy; softirq takes 25 % of all cores",
        ),
        (
            {"closed_share": 0.91},
            "slow receiver: the program reads too slowly: its window was almost closed 91 % of the "
            "time",
        ),
        (
            {"idle_share": 0.88},
            "slow sender: the program sends too slowly: it had nothing to send 88 % of the time",
        ),
        ({"sndbuf_limited_share": 0.7}, f"send buffer: {SENDS} in 70 % of the busy time"),
        ({"rwnd_limited_share": 0.8}, f"window: {RECEIVES} in 80 % of the busy time"),
        (FULL, f"window: {FILLED}"),
        (FULL | {"buffer_B": 50_000}, f"window, asked for by the study: {FILLED}"),
        # the host granted less: its limit is the bottleneck
        (FULL | {"buffer_B": 60_000}, f"window: {FILLED}"),
        (
            {"sndbuf_limited_share": 0.7, "sndbuf_B": 1e5, "buffer_B": 50_000},
            f"window, asked for by the study: {SENDS} in 70 % of the busy time",
        ),
        (  # the receiver's buffer is the kernel's
            {"rwnd_limited_share": 0.8, "buffer_B": 50_000, "receive_buffer_B": 0},
            f"window: {RECEIVES} in 80 % of the busy time",
        ),
        (
            {"retransmits": 200, "sent_B": 6e8, "interface_drops": 3, "softnet_drops": 0},
            f"loss: {LOST}, 3 packets dropped by the hosts' interfaces",
        ),
        (
            {"retransmits": 200, "sent_B": 6e8},
            f"loss: {LOST}, an unknown number of packets dropped by the hosts' interfaces",
        ),
        (
            {"generator": "udp", "lost_percent": 1.88, "record_length_B": 1400},
            "loss: 1.9 % of the datagrams were lost, an unknown number of packets dropped by "
            "the hosts' interfaces",
        ),
        (
            {"rtt_us": 200_000.0, "cwnd_t0_segments": 20.0, "cwnd_segments": 1685.0}
            | {"window_s": 1.0, "retransmits": 0, "sent_B": 6e8},
            "slow start: the congestion window grew 84-fold within 5 round trips and without a "
            "loss: too short a run, or too short a warm-up",
        ),
        (
            {"goodput_MBps": 24.1, "mtu_B": 1500, "mss_B": 1448.0, "rtt_us": 24_800.0}
            | {"min_rtt_us": 20_000.0, "rate_variation_percent": 0.54},
            "shaped link: a link of about 200 Mb/s: the rate stayed within 0.54 %, and packets "
            "queued for 4.8 ms",
        ),
        (
            {"goodput_MBps": 2.38, "mtu_B": 1500, "mss_B": 1448.0, "rtt_us": 102_990.0}
            | {"min_rtt_us": 22.0, "rate_variation_percent": 14.1, "sent_B": 8_676_482}
            | {"retransmits": 10},
            "shaped link: a link of about 20 Mb/s, or such a share of a faster one: packets queued "
            "for 100 ms, and 0.17 % of the segments were retransmitted",
        ),
        (  # as `iperf3 -O` prints it: the bytes that were sent again are of the whole run
            {"goodput_MBps": 10.0, "mtu_B": 1500, "mss_B": 1448.0, "rtt_us": 45_000.0}
            | {"min_rtt_us": 12_000.0, "retransmits": 3},
            "shaped link: a link of about 84 Mb/s, or such a share of a faster one: packets queued "
            "for 33 ms",
        ),
        (
            {"goodput_MBps": 3.572, "mtu_B": 1500, "mss_B": 1448.0, "rtt_us": 155_958.0}
            | {"min_rtt_us": 20_042.0, "rate_variation_percent": 0.46},
            "shaped link: a link of about 30 Mb/s: the rate stayed within 0.46 %, and packets "
            "queued for 140 ms",
        ),
        (
            {"goodput_MBps": 26.7, "mtu_B": 1500, "mss_B": 1448.0, "rtt_us": 20_081.0}
            | {"min_rtt_us": 20_000.0, "congestion_in_force": "cubic", "sent_B": 67e6}
            | {"retransmits": 32_762, "rate_variation_percent": 6.3},
            "policer: a rate of about 220 Mb/s: 71 % of the segments were retransmitted, 65,000 "
            "times what random loss leaves of this rate, and no packet queued",
        ),
        ({}, f"unknown: no ceiling is known, {NOTHING}"),
        ({"bus_MBps": 1000.0}, f"unknown: 50 % of the bus, {NOTHING}"),
        *(
            ({"goodput_MBps": v}, "unknown: the run has no goodput")
            for v in (math.nan, None, pd.NA)
        ),
    ],
)
def test_a_sentence_gives_the_word_and_its_evidence(fields, sentence):
    row = RUN | fields
    assert explain(row) == sentence
    assert bottleneck(row) in VERDICTS and sentence.startswith(f"{bottleneck(row)}: ")


def test_a_stored_bottleneck_is_not_needed_and_changes_nothing(runs):
    for stored in (runs.assign(bottleneck="loss"), runs.drop(columns="bottleneck")):
        pd.testing.assert_frame_equal(verdicts(stored), verdicts(runs))
    assert verdicts(runs.assign(flags="stalled")).empty


def test_a_cell_takes_the_word_of_most_of_its_runs(runs):
    spoilt = runs.copy()
    first = spoilt[spoilt["bottleneck"] == "CPU"].index[0]
    spoilt.loc[first, "busiest_core_percent"] = 10.0
    found = verdicts(spoilt)
    assert len(found) == 140
    row = spoilt.loc[first]
    keys = ["group", "tuning", "mtu_B", "streams"]
    cell = found[(found[keys] == row[keys]).all(axis=1)].iloc[0]
    assert (cell.bottleneck, cell.agreeing, cell.n) == ("CPU", 2, 3)
    assert "99" in cell.because or "100" in cell.because


def test_the_verdicts_name_the_bottlenecks_of_the_synthetic_runs(runs):
    one_way = runs[runs["direction"] == "->"]
    merged = one_way.merge(
        verdicts(one_way), on=["group", "tuning", "mtu_B", "streams"], suffixes=("_made", "")
    )
    assert (merged["bottleneck"] == merged["bottleneck_made"]).all()


def runs(*rows: dict) -> pd.DataFrame:
    places = ("card_counters", "provenance", "receive_cpus", "receive_queues", "streams_per_queue")
    empty = {"group": "a -> b", "streams": 4, "sender": "a", "receiver": "b"}
    return pd.DataFrame([empty | dict.fromkeys(places) | row for row in rows])


def grown(**ends: dict[str, int]) -> dict:
    return {"card_counters": json.dumps(ends)}


def test_growth_of_a_counter_is_summarised_as_the_driver_means_it_where_it_grew():
    table = counters(
        runs(
            grown(sender={"tx_pause": 4}, receiver={}),
            grown(sender={"tx_pause": 10}, receiver={"rx_missed_errors": 1}),
            grown(sender={}, receiver={}),
        )
    )
    assert table.values.tolist() == [
        ["receiver", "rx_missed_errors", 1, 1.0, 1, BY_NAME],
        ["sender", "tx_pause", 2, 7.0, 10, BY_NAME],
    ]
    hosts = {"a": {"nic_driver": "igb"}, "b": {"nic_driver": "ena"}}
    run = grown(sender={"tx_deferred_ok": 9}, receiver={"bw_in_allowance_exceeded": 5})
    table = counters(runs(run | {"provenance": json.dumps({"hosts": hosts})}))
    assert table.values.tolist() == [["receiver", "bw_in_allowance_exceeded", 1, 5.0, 5, LIMITED]]
    assert counters(runs(grown(sender={}))).empty and counters(runs({})) is None


def test_only_runs_with_a_shared_queue_are_collisions():
    apart = {"receive_cpus": 4, "receive_queues": 4, "streams_per_queue": 1}
    shared = {"receive_cpus": 2, "receive_queues": 2, "streams_per_queue": 3}
    table = collisions(runs(apart, shared, shared | {"streams": 12}))
    assert table["streams"].tolist() == [4, 12]
    assert table["runs"].tolist() == [1, 1]
    assert table["streams_per_queue"].tolist() == [3.0, 3.0]
    assert collisions(runs(apart)).empty
    assert collisions(runs({})) is None


@pytest.fixture
def cells(runs, openlab):
    return Cells()(runs, study=openlab)


def test_a_cell_has_the_ceiling_of_its_valid_runs(runs, cells):
    found = ceilings(runs, cells)
    assert tuple(found) == CEILING_COLUMNS
    assert set(found["ceiling_kind"]) == {"bus"}
    assert set(found["ceiling_source"]) == {"PCI-X, as the study states"}
    share = 100 * found["goodput_MBps"] / found["ceiling_MBps"]
    assert found["percent_of_ceiling"].to_numpy() == pytest.approx(share.to_numpy())
    measured = cells.dropna(subset=["goodput_MBps"])
    assert len(found) == len(measured) == len(found.groupby(list(CELL_KEYS)))
    odd = runs.copy()
    odd.loc[odd.index[0], ["flags", "ceiling_MBps"]] = ["implausible", 1.0]
    assert ceilings(odd, cells)["ceiling_MBps"].min() > 1.0


def test_groups_with_different_limits_have_a_row_each(runs, cells):
    linux32 = runs["group"] == "Linux64 -> Linux32"
    slower = runs.assign(
        ceiling_kind=runs["ceiling_kind"].mask(linux32, "link"),
        ceiling_source=runs["ceiling_source"].mask(linux32, "a link of 125 MB/s"),
    )
    table = ceilings_table(slower, cells)
    frame = table.frame.set_index("group")
    assert frame.loc["Linux64 → Linux32", "source"] == "a link of 125 MB/s"
    assert frame.loc["Linux64 → Linux64", "kind"] == "bus"
    assert (frame["low"] <= frame["high"]).all() and (frame["best"] > 0).all()
    assert ceilings_table(runs.assign(ceiling_MBps=math.nan), cells) is None


def test_the_machine_of_a_lab_is_counted_once(runs, openlab):
    levels = {"group": "Linux64 -> Linux64", "tuning": "full", "mtu_B": 9000, "streams": 4}
    part, cost = runs, cpu_cost(runs, openlab)
    for name, level in levels.items():
        part, cost = part[part[name] == level], cost[cost[name] == level]
    expected = 0.6 * 2 / (part["goodput_MBps"] / 1e3)
    (row,) = cost.to_dict("records")
    assert row["cpu_s_per_GB"] == pytest.approx(expected.median())
    assert (row["low"], row["high"]) == pytest.approx((expected.min(), expected.max()))
    assert row["n"] == 3


def test_two_machines_are_added_and_flagged_runs_left_out(foreign):
    hosts = {"left": {"cpus": 4}, "right": {"cpus": 8}}
    runs = synthetic.runs_of(foreign).assign(provenance=json.dumps({"hosts": hosts}))
    cost = cpu_cost(runs, foreign)["cpu_s_per_GB"].to_numpy()
    busy = 0.6 * 4 + 0.6 * 8
    assert cost == pytest.approx((busy / (runs["goodput_MBps"] / 1e3)).to_numpy())
    assert len(cpu_cost(runs.assign(flags="stalled"), foreign)) == 0
    one = {host: facts | {"boot_id": "1-a"} for host, facts in hosts.items()}
    once = cpu_cost(runs.assign(provenance=json.dumps({"hosts": one})), foreign)
    assert once["cpu_s_per_GB"].to_numpy() * 3 == pytest.approx(cost)


def test_several_senders_on_machines_of_their_own_have_no_known_cost(foreign):
    """The record has the share of the busiest sender alone."""
    hosts = {"left": {"cpus": 4}, "right": {"cpus": 8}, "third": {"cpus": 2}}
    runs = synthetic.runs_of(foreign).assign(flows='[{"from":"left"},{"from":"third"}]')
    assert cpu_cost(runs.assign(provenance=json.dumps({"hosts": hosts})), foreign).empty
    one = {host: facts | {"boot_id": "1-a"} for host, facts in hosts.items()}
    assert len(cpu_cost(runs.assign(provenance=json.dumps({"hosts": one})), foreign))


def test_a_host_without_a_number_of_cpus_or_a_meter_has_no_cost(runs, openlab):
    known = {f"Linux64 {pair}" for pair in ("-> Linux64", "<-> Linux64", "-> Linux32")}
    assert set(cpu_cost(runs, openlab)["group"]) == known
    assert cpu_cost(runs.assign(sender_cpu_percent=math.nan), openlab).empty


def test_the_window_of_a_timeline_is_what_cells_use(runs, openlab):
    some, timing = runs[runs["direction"] == "<->"].head(3), openlab.timing
    samples = synthetic.intervals_of(some, openlab)
    lines = timelines(samples)
    for run_id, part in samples.groupby("run_id"):
        line = lines[lines["run_id"] == run_id]
        inside = line.loc[line["in_window"], "goodput_MBps"].to_numpy()
        assert inside == pytest.approx(window_rates(part).to_numpy())
        samples_each = round(1000 * (timing.warmup_at() + timing.seconds) / timing.interval_ms)
        assert len(line) == samples_each and line["t_s"].is_monotonic_increasing
    last = samples[samples["stream"] == samples["stream"].max()].index[-1]
    assert len(timelines(samples.drop(last))) == len(lines) - 1, "a stream lacks the sample"
    assert timelines(samples.head(0)).empty
