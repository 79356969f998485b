"""A visit is asked for by one request, which is JSON and the parameters of its notebook."""

from __future__ import annotations

import dataclasses
import inspect
import json

import pytest
from openlab_study import OPENLAB
from refusals import refused

import netlab
from netlab.errors import BadInput
from netlab.experiment.campaign import VISIT_NOTEBOOK
from netlab.experiment.request import VisitRequest
from netlab.face import block
from netlab.files import paths
from netlab.notebooks.parameters import declared
from netlab.study import load
from netlab.study.schedule import visits

STUDY = load(OPENLAB, quick=True)


@pytest.mark.parametrize("at", [0, -1])
def test_it_is_json_and_names_one_visit_with_its_runs(at):
    visit = visits(STUDY)[at]
    ids = [run.run_id for run in visit.runs]
    request = VisitRequest("s.yml", visit.block_id, visit.round, "r", ids[1:], part="c~v")
    read = VisitRequest(**json.loads(json.dumps(request.parameters())))
    assert read == request and read.visit(STUDY) == visit.only(set(ids[1:]))
    assert dataclasses.replace(request, runs=[], part="").visit(STUDY) == visit
    assert dataclasses.replace(request, runs=[]).visit(STUDY).runs == ()


def test_a_run_of_another_block_is_refused():
    first, other = visits(STUDY)[:2]
    request = VisitRequest("s.yml", first.block_id, first.round, "r", [other.runs[0].run_id])
    with refused(BadInput, "E-RUN-091"):
        request.visit(STUDY)


def test_the_notebook_of_a_visit_takes_every_field():
    names = {each.name for each in dataclasses.fields(VisitRequest)}
    assert declared(paths.notebook(VISIT_NOTEBOOK)) == names


def test_users_see_what_is_theirs_and_copies_of_the_notebook_go_on(tmp_path, monkeypatch):
    """The notebook of a visit has handed these words to `Study.measure` since it was there."""
    asked = []
    monkeypatch.setattr(block, "measure", lambda design, request: asked.append(request))
    shown = {*inspect.signature(netlab.Study.measure).parameters}
    assert shown == {"self", "block", "round", "results", "lab", "campaign"}
    words = {"results": str(tmp_path), "lab": "", "part": "c~v", "wait_s": 2.0, "runs": ["a"]}
    netlab.Study("openlab-2003").measure("64-64@full@9000", round=2, **words)
    place = str(tmp_path)
    assert asked == [VisitRequest("", "64-64@full@9000", 2, place, ["a"], "c~v", "", 2.0)]
    with pytest.raises(TypeError, match="parts"):
        netlab.Study("openlab-2003").measure("64-64@full@9000", parts="x")
