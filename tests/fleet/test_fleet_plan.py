"""A plan has every visit of every pair once, in an order that each host can keep."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise

import pytest
from fleet.planned_fleet import STUDY, fleet, planned, write_result
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from refusals import refused

from netlab.errors import BadInput, NetlabError
from netlab.fleet.batches import batches
from netlab.fleet.inventory import FleetHost, Inventory
from netlab.fleet.pair_study import pair_study
from netlab.fleet.plan import FAILED, FleetJob, FleetVisit, make_plan, read_plan
from netlab.fleet.workflow import require_engine, resource, write_workflow
from netlab.study import load, schedule

CABLE = {"ends": [{"host": "left"}, {"host": "right"}]}
BUDGET = {"half_width_percent": 5.0, "budget": 60}


def test_the_study_of_a_pair_has_its_hosts_in_the_place_of_the_templates():
    hosts = (FleetHost(address="192.0.2.1", user="ops", port=2222), FleetHost())
    ends = (("198.18.0.1", "eth1"), ("198.18.0.2", "eth2"))
    study = pair_study(load(STUDY), ("a", "b.site"), hosts, ends)
    assert study.hosts["a"].address == "192.0.2.1" and study.hosts["a"].port == 2222
    assert study.hosts["a"].profiles == {"off": "sack-off"}
    assert study.hosts["b.site"].address == "b.site"
    assert study.hosts["b.site"].bus.bandwidth_MBps == 800
    (path,) = study.paths.values()
    assert [(e.host, e.address, e.interface) for e in path.ends] == [
        ("a", "198.18.0.1", "eth1"),
        ("b.site", "198.18.0.2", "eth2"),
    ]
    assert [group.sender for group in study.groups] == ["a", "b.site"]
    template = {visit.visit_id for visit in schedule.visits(load(STUDY))}
    assert {visit.visit_id for visit in schedule.visits(study)} == template


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"paths": dict.fromkeys(("cable", "other"), CABLE)}, "E-FLEET-023"),
        ({"paths": {"cable": {**CABLE, "link": {"rate_Mbps": 100.0}}}}, "E-FLEET-024"),
        ({"outer": {"kernel": ["smp", "up"]}}, "E-FLEET-025"),
        ({"precision": BUDGET, "timing": {"seconds": 1.0}}, "E-FLEET-026"),
    ],
)
def test_a_study_that_no_pair_can_stand_in_for_is_refused(tmp_path, change, code):
    with refused(BadInput, code):
        make_plan(load({**STUDY, **change}), fleet(), (("h0", "h1"),), tmp_path)
    assert not (tmp_path / "fleet").exists()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=20)
@given(
    st.integers(2, 7),
    st.sampled_from(["all", "ring", "star=h1"]),
    st.sampled_from([0.0, 5.0, 1e9]),
    st.data(),
)
def test_each_host_has_its_batches_in_one_order_also_when_some_jobs_are_done(
    tmp_path, count, rule, batch_s, data
):
    hosts = fleet(count)
    plan = planned(tmp_path, rule, hosts)
    assert len(plan.jobs) == len({j.job_id for j in plan.jobs}) == len(plan.pairs) * 6
    for file in plan.folder.glob("done/*/*.json"):
        file.unlink()
    done = data.draw(st.sets(st.sampled_from(plan.jobs), max_size=12))
    for job in done:
        write_result(plan, job)
    left = list(plan.remaining())
    assert left == [job for job in plan.jobs if job not in done]
    found = batches(plan, left, batch_s)
    jobs = [FleetJob(batch.pair, visit) for batch in found for visit in batch.visits]
    assert len(jobs) == len(left) and set(jobs) == set(left)
    assert len({batch.batch_id for batch in found}) == len(found)
    for host in hosts.hosts:
        own = [batch for batch in found if host in batch.pair]
        for before, batch in pairwise(own):
            assert before.batch_id in batch.after
    assert sum(len(batch.after) for batch in found) <= 2 * len(found)
    rounds = [job.visit.round for job in jobs]
    assert rounds == sorted(rounds)


def test_a_batch_is_of_one_round_and_as_long_as_given(tmp_path):
    plan = planned(tmp_path)  # 3 rounds of 2 visits with 4 runs of a second
    (seconds,) = {visit.seconds for visit in plan.visits}
    for batch_s, sizes in ((0, [1] * 6), (1.9 * seconds, [1] * 6), (2 * seconds, [2, 2, 2])):
        for pair in plan.pairs:
            own = [batch for batch in batches(plan, plan.jobs, batch_s) if batch.pair == pair]
            assert [len(batch.visits) for batch in own] == sizes
            assert all(len({visit.round for visit in batch.visits}) == 1 for batch in own)
    many = replace(plan, visits=tuple(FleetVisit(f"b{n}", 1, 1, 0.0) for n in range(250)))
    sizes = [len(batch.visits) for batch in batches(many, many.jobs) if "h0" in batch.pair]
    assert sorted(sizes) == [50, 50, 100, 100, 100, 100]


def test_a_plan_is_read_back_as_it_was_written(tmp_path):
    plan = planned(tmp_path)
    assert read_plan(tmp_path) == plan
    assert plan.study().digest() == load(STUDY).digest()
    job = plan.jobs[3]
    found = plan.job("~".join(job.pair), job.visit.visit_id)
    assert (found.pair, found.visit) == (job.pair, job.visit)
    for pair, visit in (("h0~h2", job.visit.visit_id), ("h0~h1", "cable@off@1500@r9")):
        with refused(BadInput, "E-FLEET-027"):
            plan.job(pair, visit)


@pytest.mark.parametrize("text", [None, "", "[]", "{}", '{"format": 2}', '{"format": 1}'])
def test_a_missing_or_damaged_plan_is_refused(tmp_path, text):
    if text is not None:
        (tmp_path / "fleet").mkdir()
        (tmp_path / "fleet" / "plan.json").write_text(text)
    with refused(NetlabError, "E-FLEET-028"):
        read_plan(tmp_path)


def test_a_result_counts_for_the_same_study_on_the_same_hosts_only(tmp_path):
    plan = planned(tmp_path)
    first = plan.jobs[0]
    write_result(plan, first)
    assert first.job_id not in {job.job_id for job in planned(tmp_path).remaining()}
    for change, made_again in (({"address": "192.0.2.99"}, True), ({"labels": {"r": "1"}}, False)):
        host = FleetHost(**{"address": "192.0.2.0", **change})
        changed = Inventory(hosts={**fleet().hosts, "h0": host})
        left = {job.job_id for job in planned(tmp_path, "ring", changed).remaining()}
        assert (first.job_id in left) == made_again
    other = make_plan(load(STUDY, seconds=2.0), fleet(), plan.pairs, tmp_path)
    assert len(list(other.remaining())) == len(other.jobs)


def test_the_workflow_has_a_limit_for_every_host_and_only_what_is_missing(tmp_path):
    hosts = Inventory(hosts={name: FleetHost() for name in ("a-b", "a_b", "a.b")})
    plan = planned(tmp_path, "all", hosts)
    assert len(set(resource(plan).values())) == 3
    write_result(plan, plan.jobs[0])
    write_result(plan, plan.jobs[1], FAILED)
    left = list(plan.remaining())
    folder = write_workflow(plan, left, at_once=2, number=7, batch_s=0)
    content = json.loads((folder / "workflow.json").read_text())
    visits = content["visits"]
    jobs = {
        f"{batch_id.split('/')[0]}/{visits[number]}"
        for batch_id, batch in content["batches"].items()
        for number in batch["visits"]
    }
    assert jobs == {job.job_id for job in left}
    assert content["job"][-2:] == ["--lease", "7"]
    profile = (folder / "profiles" / "default" / "config.yaml").read_text()
    for names in content["pairs"].values():
        assert all(f"{name}: 1" in profile for name in names)
    assert "scheduler: greedy" in profile
    assert plan.done_file(plan.jobs[0].job_id).exists()
    assert not plan.done_file(plan.jobs[1].job_id).exists()  # failed: to be made again


def test_without_snakemake_the_error_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "snakemake", None)
    with refused(NetlabError, "E-FLEET-032", match=r"pip install 'netlab\[fleet\]'"):
        require_engine()
