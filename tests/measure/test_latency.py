"""The columns of a run's latency probe, what its agents are asked for, and its notes."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest
from measure.exchanged_run import asked
from measure.flagged_runs import MTU_B, foreign_traffic_run
from measure.scripted import request, result

from netlab.analysis.batches import timelines
from netlab.measure.exchange import Direction, arrival_ms
from netlab.measure.others_traffic import foreign_traffic
from netlab.measure.probe_columns import latency_columns, probe_fault
from netlab.measure.record import interval_rows
from netlab.results.columns import INTERVAL_COLUMNS, RUN_COLUMNS
from netlab.results.frames import checked, joined
from netlab.results.histogram import merged
from netlab.study import Latency

GO_NS = result("gen")["t_go_ns"]
AHEAD_NS = 7_200_000_000_000


def phase(*rtt_us: int | None, reordered: int = 0, from_ms: int = 0) -> dict:
    """Probes every 10 ms from a time after the start of :func:`scripted.result`."""
    received = sum(value is not None for value in rtt_us)
    counts = {"sent": len(rtt_us), "received": received, "reordered": reordered, "duplicates": 0}
    t_ns = [GO_NS + (from_ms + 10 * n) * 1_000_000 for n in range(len(rtt_us))]
    # the receiver's clock runs ahead, ever more; a load is on the way there alone
    arrived_ns = [
        t + t // 10_000 + AHEAD_NS + 1000 * ((rtt or 0) - 40)
        for t, rtt in zip(t_ns, rtt_us, strict=True)
    ]
    return {**counts, "t_ns": t_ns, "rtt_us": list(rtt_us), "arrived_ns": arrived_ns}


def flow(*, clock_steps: int = 0, **phases: dict) -> Direction:
    empty = dict.fromkeys(("idle", "warmup", "loaded", "after"), phase())
    probe = {"interval_ms": 10, "sent": 9, "clock_steps": clock_steps, **empty, **phases}
    return Direction({**result("gen"), "latency": probe}, result("sink"))


def test_the_columns_are_those_of_the_phases():
    loaded = phase(1000, None, 2000, 3000, reordered=1)
    row = latency_columns([flow(idle=phase(90, 110, 100), loaded=loaded, after=phase(120))])
    assert row["rtt_idle_p50_us"] == 100 and row["rtt_after_p50_us"] == 120
    assert (row["rtt_loaded_p50_us"], row["rtt_loaded_max_us"]) == (2000, 3000)
    assert 2000 < row["rtt_loaded_p90_us"] < row["rtt_loaded_p99_us"] < 3000
    assert row["added_latency_us"] == 1900
    assert row["responsiveness_rpm"] == pytest.approx(60 / 2000e-6)
    assert (row["probe_loss_percent"], row["probe_reordered"]) == (25, 1)
    assert set(row) < {column.name for column in RUN_COLUMNS}


def test_what_a_load_adds_is_told_apart_by_way_whatever_the_clocks():
    phases = {"idle": phase(80, 90, 80), "loaded": phase(1080, 2080, 3080, from_ms=2000)}
    row = latency_columns([flow(**phases, after=phase(80, 84, 90, from_ms=4000))])
    assert row["added_forward_us"] == pytest.approx(2000, abs=1)
    assert row["added_return_us"] == pytest.approx(0, abs=1)
    assert row["one_way_error_us"] == pytest.approx((0 + 4) / 2, abs=0.01)


def test_two_directions_have_the_probes_of_both():
    flows = [flow(loaded=phase(10, 20, reordered=1)), flow(loaded=phase(30, None, reordered=2))]
    row = latency_columns(flows)
    assert (row["rtt_loaded_p50_us"], row["rtt_loaded_max_us"]) == (20, 30)
    assert merged([row["rtt_loaded_hdr"]]).get_value_at_percentile(100) == 30
    assert (row["probe_loss_percent"], row["probe_reordered"]) == (25, 3)
    assert row["added_latency_us"] is row["rtt_idle_p50_us"] is None


def test_a_run_without_a_probe_has_no_columns_and_no_fault():
    without = [Direction(result("gen"), result("sink"))]
    assert latency_columns(without) == {} and probe_fault(without) == ""


def test_a_path_without_answers_has_a_note_and_no_figure():
    silent = [flow(**dict.fromkeys(("idle", "loaded", "after"), phase(None, None)))]
    row = latency_columns(silent)
    known = {name: value for name, value in row.items() if value is not None}
    assert known == {"probe_loss_percent": 100, "probe_reordered": 0}
    assert "no answer" in probe_fault(silent)
    assert "clock was set" in probe_fault([flow(clock_steps=1)])
    at_sink = flow(loaded=phase(5, None))
    at_sink.sink["latency"] = {"clock_steps": 1}
    assert "clock was set" in probe_fault([at_sink])
    assert latency_columns([at_sink])["probe_loss_percent"] is None, "not lost: without a time"
    assert probe_fault([flow(idle=phase(5))]) == ""


def intervals_of(*flows: Direction) -> pd.DataFrame:
    """Intervals of the first stream of each direction, by the tenth of a second they end at."""
    frame = checked(joined(interval_rows("r", flows), INTERVAL_COLUMNS), INTERVAL_COLUMNS)
    first = frame[frame["stream"] == 0]
    assert len(frame) == 2 * len(first), "all streams have the same round trips"
    return first.set_index((10 * first["t_s"]).round().astype(int))


def test_an_interval_has_the_percentiles_of_the_probes_sent_in_it():
    warmup, loaded = phase(100, from_ms=250), phase(*[1000] * 9, None, 3000, from_ms=300)
    gen_first = flow(warmup=warmup, loaded=loaded)
    gen_first.gen["t_go_ns"] += 5_000_000_000  # the clocks of both hosts have nothing in common
    for name in ("warmup", "loaded"):
        times = gen_first.gen["latency"][name]["t_ns"]
        times[:] = [t_ns + 5_000_000_000 for t_ns in times]
    frame = intervals_of(gen_first)
    known = frame[frame["rtt_p50_us"].notna()]
    assert known["rtt_p50_us"].to_dict() == {3: 100, 4: 1000, 5: 3000}
    assert known["rtt_p99_us"].to_dict() == {3: 100, 4: 1000, 5: 3000}
    assert known["in_window"].tolist() == [False, True, True]


def test_intervals_of_a_run_without_a_probe_have_no_round_trips():
    frame = intervals_of(Direction(result("gen"), result("sink")))
    assert len(frame) and frame[["rtt_p50_us", "rtt_p99_us"]].isna().all(axis=None)


def test_over_two_directions_a_sample_has_the_larger_round_trip():
    flows = [flow(loaded=phase(rtt_us, from_ms=410)) for rtt_us in (10, 20)]
    line = timelines(joined(interval_rows("r", flows), INTERVAL_COLUMNS)).set_index("t_s")
    assert line["rtt_p50_us"].dropna().to_dict() == {0.5: 20}


def test_a_probe_over_tcp_has_columns_and_notes_of_its_own():
    trips = flow(idle=phase(90, 110), loaded=phase(1000, 2000, None)).gen["latency"]
    over_tcp = Direction({**result("gen"), "latency_tcp": trips}, result("sink"))
    row = latency_columns([over_tcp])
    assert (row.pop("tcp_rtt_idle_p50_us"), row.pop("tcp_rtt_loaded_p50_us")) == (100, 1500)
    assert 1500 < row.pop("tcp_rtt_loaded_p99_us") < 2000
    assert merged([row.pop("tcp_rtt_loaded_hdr")]).get_total_count() == 2
    assert row == {} and probe_fault([over_tcp]) == ""
    silent = Direction({**result("gen"), "latency_tcp": flow().gen["latency"]}, result("sink"))
    assert probe_fault([silent]) == "latency probe: no answer over TCP"
    both = Direction(flow(loaded=phase(10)).gen | {"latency_tcp": trips}, result("sink"))
    assert latency_columns([both])["rtt_loaded_p50_us"] == 10
    assert {*latency_columns([both])} < {column.name for column in RUN_COLUMNS}


def test_both_agents_are_asked_for_the_probe_and_have_time_for_it():
    sink, gen = asked(request(latency=Latency(probe="both", interval_ms=20, dscp=46)))
    for words in (sink, gen):
        probe = {name: words[name] for name in words if name.startswith("latency_")}
        assert probe.pop("latency_probe") == 3
        assert probe == {"latency_interval_ms": 20, "latency_idle_ms": 1000, "latency_dscp": 46}
    assert sink["accept_ms"] == arrival_ms(2) + 2000
    for probe, ways in (("udp", 1), ("tcp", 2)):
        assert asked(request(latency=Latency(probe=probe)))[0]["latency_probe"] == ways
    for words in asked():
        assert not any(name.startswith("latency_") for name in words)


@pytest.mark.parametrize(("way", "frames"), [("latency", 1), ("latency_tcp", 2)])
def test_probes_are_no_foreign_traffic(way, frames):
    outcome = foreign_traffic_run()
    (one,) = outcome.flows
    meters = [end["meter"]["total"]["interface"] for end in (one.gen, one.sink)]
    probes = 4000
    for meter in meters:
        for side in ("rx", "tx"):
            meter[f"{side}_packets"] += frames * probes
            meter[f"{side}_bytes"] += frames * probes * 98
    gen = {**one.gen, way: {"sent": probes}}
    assert foreign_traffic(outcome, mtu_B=MTU_B) > 1
    counted = replace(outcome, flows=(replace(one, gen=gen),))
    assert foreign_traffic(counted, mtu_B=MTU_B) == 0
