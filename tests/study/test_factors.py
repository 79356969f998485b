"""Factors of a study: crossed, left out, set within or between blocks, and refused with a line."""

from __future__ import annotations

import copy
import hashlib

import pytest
from refusals import refused
from study.crossed_study import BASE, CONTEXT, crossed, runs_of

from netlab.errors import BadInput
from netlab.files.paths import data_dir
from netlab.study import Noise, Study, load
from netlab.study.durations import run_s
from netlab.study.keys import provenance_key
from netlab.study.schedule import rounds, visit, visits


def grouped(**changes) -> Study:
    return crossed(groups=[{**BASE["groups"][0], **changes}])


def test_every_factor_is_crossed_with_all_the_others():
    study = crossed(factors={"record_length_B": [1024, 65536], "send": ["copy", "zerocopy"]})
    runs = runs_of(study)
    assert len(runs) == 2 * 2 * 2 * 2
    taken = {
        (b.mtu_B, r.streams, r.group.record_length_B, r.study(study).send)
        for b in rounds(study)[0]
        for r in b.runs
    }
    assert len(taken) == 16
    assert {run.levels[0] for run in runs} == {
        ("record_length_B", 1024),
        ("record_length_B", 65536),
    }
    assert {run.factors for run in runs} >= {'{"record_length_B":1024,"send":"zerocopy"}'}


def test_the_factors_of_a_run_share_a_block_and_those_of_a_link_do_not():
    within = crossed(factors={"buffer_B": [0, 65536], "engine": ["plain", "blocking"]})
    assert [len(v.runs) for v in rounds(within)[0]] == [8, 8]
    between = crossed(factors={"rtt_ms": [10, 50], "rate_Mbps": [100, 200]})
    blocks = rounds(between)[0]
    assert [len(v.runs) for v in blocks] == [2] * 8
    assert {v.link for v in blocks} == {
        f"cable+rtt_ms={rtt}+rate_Mbps={rate}" for rtt in (10, 50) for rate in (100, 200)
    }
    assert {v.path for v in blocks} == {"cable"}
    assert set(between.links) == {v.link for v in blocks}


def test_a_link_has_the_levels_of_its_factors():
    study = crossed(factors={"rtt_ms": [10.5, 50], "rate_Mbps": [100]})
    emulator = study.path("cable+rtt_ms=10.5+rate_Mbps=100").link.emulator
    assert (emulator.rtt_ms, emulator.rate_Mbps) == (10.5, 100)
    back = crossed(factors={"rtt_ms": [20], "reverse_delay_ms": [5, 15], "reverse_loss": [0.01]})
    emulator = back.path("cable+rtt_ms=20+reverse_delay_ms=5+reverse_loss=0.01").link.emulator
    assert emulator.each_way_ms == (15, 5)
    assert [way.loss for way in emulator.ways] == [0, 0.01]
    card = crossed(factors={"offloads": ["none", "all"], "queues": [1, 2]})
    link = card.path("cable+queues=2+offloads=all").link
    assert (link.queues, link.segmentation_offload, link.checksum_offload) == (2, True, True)
    assert card.path("cable").link.queues == 1
    with refused(BadInput, "E-STUDY-076", match="queues=3"):
        card.path("cable+queues=3+offloads=all")


def test_groups_add_factors_replace_those_of_the_study_and_leave_out_combinations():
    group = BASE["groups"][0]
    study = crossed(
        factors={"send": ["copy", "zerocopy"]},
        groups=[
            {**group, "factors": {"record_length_B": [1024, 2048]}},
            {**group, "name": "two", "factors": {"send": ["copy"]}},
        ],
    )
    first, second = study.groups
    assert len(study.combinations(first)) == 2 * 2 * 4
    assert {one.levels for one in study.combinations(second)} == {(("send", "copy"),)}
    group = BASE["groups"][0]
    study = crossed(groups=[{**group, "exclude": [{"mtu_B": 1500}]}, {**group, "name": "two"}])
    assert [len(study.combinations(g)) for g in study.groups] == [2, 4]


@pytest.mark.parametrize(
    ("entry", "left"),
    [
        ({"send": "zerocopy", "mtu_B": 1500}, 6),
        ({"send": ["copy", "zerocopy"], "streams": 4}, 4),
        ({"group": "one", "send": "copy"}, 4),
        ({"tuning": "plain", "mtu_B": [1500], "streams": [1, 4], "send": "copy"}, 6),
    ],
)
def test_combinations_are_left_out(entry, left):
    study = crossed(factors={"send": ["copy", "zerocopy"]}, exclude=[entry])
    found = study.combinations(study.groups[0])
    assert len(found) == left == len(runs_of(study))


def test_run_ids_and_keys_are_all_different():
    study = crossed(
        factors={
            "record_length_B": [1024, 65536],
            "congestion": ["reno", "cubic+reno"],
            "nodelay": [False, True],
            "rtt_ms": [0.5, 10],
            "batch_B": ["auto", 65536],
        },
        outer={"kernel": ["smp", "up"]},
    )
    planned = [(b, run) for b in visits(study) for run in b.runs]
    assert len(planned) == 4 * 32 * 2 * 2
    assert len({run.run_id for _, run in planned}) == len(planned)
    keys = {run.cell_id: provenance_key(study, b, run, CONTEXT) for b, run in planned}
    assert len(set(keys.values())) == len(keys) == len(planned) / 2  # rounds share one
    assert len({b.visit_id for b in visits(study)}) == 2 * 2 * 2 * 2
    allowed = set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@-._=+")
    for b, run in planned:
        assert not set(run.run_id) - allowed and len(b.visit_id) < 200
        assert run.cell_id + f"@{run.round}" == run.run_id


def test_a_schedule_with_factors_is_the_same_for_the_same_seed():
    study = crossed(factors={"send": ["copy", "zerocopy"], "rtt_ms": [0, 10]})
    again = crossed(factors={"rtt_ms": [0, 10], "send": ["copy", "zerocopy"]})
    assert visits(study) == visits(again)
    assert study.digest() == again.digest()
    other = study.model_copy(update={"seed": 7})
    assert [b.visit_id for b in visits(other)] != [b.visit_id for b in visits(study)]
    one = visits(study)[3]
    assert visit(study, one.block_id, one.round) == one


def test_a_level_changes_the_key_of_its_runs_and_no_others():
    few = crossed(factors={"send": ["copy"]})
    more = crossed(factors={"send": ["copy", "zerocopy"], "buffer_B": [0]})
    plain = crossed()

    def keys(study: Study) -> set:
        return {provenance_key(study, b, run, CONTEXT) for b in visits(study) for run in b.runs}

    assert keys(few) == keys(plain) < keys(more)


TIMES = {
    **{"rounds": 2, "seconds": 20.0, "warmup_s": 0.5, "interval_ms": 100, "drain_s": 5.0},
    "seed": 1,
}
"""Given here, so that other times in the studies' files do not change ids and keys."""

DIGESTS = {
    "openlab-2003": "04d3fff25a287a6dcd741eee3b499cc833307a6c7d742e2bd10b74a44156cc11",
    "agreement": "1a7fdf5cb185d26777aa61dc8ed7561aeb06b347109748b63d38de830276e6ef",
}
"""Of all run ids, places in the order and keys; a change of one measures every study again."""


def with_noise_then(study: Study) -> Study:
    """A study with the limit of foreign load that was the default then; it is in every key."""
    return study.model_copy(update={"noise": Noise(foreign_cpu_percent=15.0)})


@pytest.mark.parametrize("name", DIGESTS)
def test_a_study_without_factors_has_the_ids_and_keys_it_always_had(name):
    study = with_noise_then(load(data_dir() / "studies" / f"{name}.yml", **TIMES))
    lines = [
        f"{run.run_id} {run.order} {provenance_key(study, b, run, CONTEXT)}"
        for b in visits(study)
        for run in b.runs
    ]
    assert hashlib.sha256("\n".join(lines).encode()).hexdigest() == DIGESTS[name]


def test_a_study_without_factors_has_the_digest_it_always_had():
    before = "b982ada38824c2f0b1acb4d19f2cc13c60c6ae0e997d5a9d31a087469ddefc74"
    stated = grouped(buffer_B=262144).model_copy(update={"congestion": "cubic"})
    assert with_noise_then(stated).digest() == before


def test_the_short_form_keeps_the_factors():
    study = crossed(
        factors={"send": ["copy", "zerocopy"]}, exclude=[{"send": "copy", "streams": 1}]
    )
    short = load({**copy.deepcopy(BASE), "factors": {"send": ["copy", "zerocopy"]}}, quick=True)
    assert len(runs_of(short)) == 8
    assert len(runs_of(study)) == 6


def test_a_policy_is_by_the_rules_where_nothing_is_given():
    assert crossed().policy.model_dump() == {}
    given = crossed(policy={"batch_B": "none", "yield_B": 65536, "spread": False})
    assert given.policy.model_dump() == {"batch_B": "none", "yield_B": 65536, "spread": False}
    plain, other = (
        [provenance_key(study, b, run, CONTEXT) for b in visits(study) for run in b.runs]
        for study in (crossed(), given)
    )
    assert not set(plain) & set(other)
    levels = crossed(factors={"batch_B": ["auto", 65536], "sched_batch": ["auto", False]})
    found = {run.study(levels).policy.batch_B for run in runs_of(levels)}
    assert found == {"auto", 65536}


def test_a_latency_probe_is_another_run_and_takes_its_time():
    plain, probed = crossed(), crossed(latency={"probe": "udp"})
    assert plain.latency.model_dump() == {} and plain.digest() != probed.digest()
    assert plain.digest() == crossed(latency={"probe": "none"}).digest()
    keys = (
        provenance_key(s, v, v.runs[0], CONTEXT) for s in (plain, probed) for v in visits(s)[:1]
    )
    assert len({*keys}) == 2
    assert run_s(probed) == run_s(plain) + 2


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"engine": "plain", "policy": {"batch_B": 1}}, "the plain engine"),
        ({"engine": "epoll", "policy": {"read_delay": True}}, "the epoll engine"),
        ({"socket": {"cpus_sender": "0"}, "policy": {"spread": True}}, "CPU lists"),
        ({"engine": "plain", "send": "zerocopy"}, "copy only"),
        ({"engine": "blocking", "threads": 2}, "one per stream"),
        ({"policy": {"batch_B": 0}}, "auto, none or 1 to"),
        ({"policy": {"yield_B": "none"}}, "never"),
        ({"factors": {"batch_B": [1]}, "policy": {"batch_B": 2}}, "factor too"),
        ({"latency": {"probe": "udp"}, "factors": {"generator": ["iperf3"]}}, "own generator"),
        ({"latency": {"interval_ms": 0}}, "expected 1 or more"),
        ({"latency": {"probe": "udp"}, "timing": {"seconds": 2500.0}}, "needs 13 or more"),
    ],
)
def test_a_policy_that_cannot_be_is_refused(changes, match):
    with pytest.raises(BadInput, match=match):
        crossed(**changes)


def test_a_pacing_level_of_zero_leaves_streams_unpaced():
    study = crossed(factors={"pacing_MBps": [0, 50]}, streams=[1])
    rates = {r.study(study).socket.pacing_MBps for r in runs_of(study)}
    assert rates == {None, 50}
    with pytest.raises(BadInput, match="takes udp, which needs a rate"):
        grouped(generator="udp", factors={"pacing_MBps": [0, 50]}, streams=[1])
    with pytest.raises(BadInput, match="pacing_MBps"):
        crossed(socket={"pacing_MBps": 0})


def test_a_number_of_streams_takes_one_congestion_control():
    study = crossed(congestion="bbr+16*cubic", streams=[17])
    assert study.congestions() == ("bbr", "cubic")
    for wrong in ("16*cubic", "bbr+0*cubic", "bbr+*cubic", "bbr+cubic*2", "bbr+20000*cubic"):
        with pytest.raises(BadInput, match="congestion"):
            crossed(congestion=wrong)
