"""The face of a study on a lab: its examples, and a block."""

from __future__ import annotations

import pytest
from face_home import home_at

import netlab
from netlab.errors import BadInput
from tests.e2e.conftest import small_study
from tests.face.examples import ON_A_LAB, examples, failures

EXAMPLES = examples()


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A directory with studies and results of its own, current for the tests."""
    with pytest.MonkeyPatch.context() as patch:
        yield home_at(tmp_path_factory.mktemp("home"), patch)


@pytest.mark.parametrize("name", sorted(ON_A_LAB))
def test_an_example_on_a_lab_is_true_and_leaves_nothing(name, home, machine_untouched):
    assert failures(EXAMPLES[name]) == ""


def test_a_block_is_measured_once_and_shows_what_it_met(home, machine_untouched):
    study = netlab.Study(small_study("blocks"), rounds=2)
    block = study.measure("cable@openlab-2003-full@9000")
    assert block.result.runs["round"].tolist() == [1] * len(block.result.runs)
    assert "net.ipv4.tcp_sack" in repr(block.changes) and "tcp_tw_recycle" in repr(block.notes)
    assert "packets transmitted" in block.path.text and "4 Streams" in repr(block.cells)
    again = study.measure("cable@openlab-2003-full@9000")
    assert len(again.result.runs) == (block.result.runs["flags"] != "").sum()
    second = study.measure("cable@openlab-2003-full@9000", round=2)
    assert sorted(second.runs["round"].unique()) == [1, 2]
    with pytest.raises(BadInput, match="no such block"):
        study.measure("cable@openlab-2003-full@1500")
