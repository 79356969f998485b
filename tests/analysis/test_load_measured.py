"""A store and its study are loaded together, or refused with a clear message."""

import pytest
import synthetic

from netlab import study as studies
from netlab.analysis.measured import load_measured
from netlab.errors import BadInput, NetlabError


def test_a_store_is_loaded_with_its_study(tmp_path, foreign):
    synthetic.store_of(tmp_path / "store", foreign)
    m = load_measured(tmp_path / "store", tmp_path / "two-racks.yml")
    assert m.study == foreign and len(m.runs) == 2 and len(m.cells) == 2
    assert m.cells["interval_from"].tolist() == ["batch means within one run"] * 2
    assert m.table(m.groups[0], "bottleneck").shape == (1, 2)


def test_results_of_the_quick_timing_are_recognised(tmp_path):
    quick = studies.load(synthetic.openlab_file(), quick=True)
    runs = synthetic.runs_of(quick, change=synthetic.only(tuning=("none",), streams=(1,)))
    synthetic.store_of(tmp_path / "quick", quick, runs)
    m = load_measured(tmp_path / "quick", synthetic.openlab_file())
    assert m.study.name == "openlab-2003-quick" and len(m.cells) == 140


def test_half_a_store_is_loaded_with_its_gaps(tmp_path, openlab):
    runs = synthetic.runs_of(openlab, change=synthetic.only(path=("64-64",), tuning=("none",)))
    synthetic.store_of(tmp_path / "half", openlab, runs)
    m = load_measured(tmp_path / "half", synthetic.openlab_file())
    assert (m.cells["missing_because"] == "not measured").sum() == 140 - 16


def test_a_missing_directory_is_bad_input(tmp_path):
    with pytest.raises(BadInput, match=r"results: there is no such directory"):
        load_measured(tmp_path / "nowhere", synthetic.openlab_file())


def test_an_empty_store_is_an_error(tmp_path):
    with pytest.raises(NetlabError, match="holds no runs"):
        load_measured(tmp_path, synthetic.openlab_file())


def test_results_of_another_study_are_refused(tmp_path, foreign):
    synthetic.store_of(tmp_path / "store", foreign)
    with pytest.raises(BadInput, match=r"'two-racks', the study is 'openlab-2003'"):
        load_measured(tmp_path / "store", synthetic.openlab_file())


def test_a_torn_file_is_an_error(tmp_path, foreign):
    synthetic.store_of(tmp_path / "store", foreign)
    (victim,) = (tmp_path / "store" / "runs").glob("*.parquet")
    victim.write_bytes(victim.read_bytes()[:200])
    with pytest.raises(NetlabError, match="cannot be read as results"):
        load_measured(tmp_path / "store", tmp_path / "two-racks.yml")


def test_a_missing_study_file_is_bad_input(tmp_path, foreign):
    synthetic.store_of(tmp_path / "store", foreign)
    with pytest.raises(BadInput):
        load_measured(tmp_path / "store", tmp_path / "gone.yml")
