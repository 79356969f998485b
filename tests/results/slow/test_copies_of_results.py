"""Results that another program copied: in part, or with files of its own beside them."""

from __future__ import annotations

import warnings

import measured_store
import pytest
import synthetic
from refusals import refused

from netlab import study as studies
from netlab.analysis.measured import load_measured
from netlab.errors import NetlabError
from netlab.results.store import Store


@pytest.fixture
def copied(tmp_path):
    (tmp_path / "racks.yml").write_text(synthetic.FOREIGN)
    results = tmp_path / "results"
    results.mkdir()
    measured_store.campaign_of(results, studies.load(tmp_path / "racks.yml"))
    return results


def test_a_copy_without_its_study_names_the_file_that_is_missing(copied):
    (study,) = copied.glob("campaigns/*/study.yml")
    study.unlink()
    with refused(NetlabError, "E-ANALYSIS-053", match=r"study\.yml is missing.*copy them again"):
        load_measured(copied)


def test_hidden_files_of_a_copy_are_no_records_and_are_not_damaged(copied):
    """macOS writes such a file beside each one on a medium of another system."""
    whole = load_measured(copied)
    for file in [*copied.glob("runs/*.parquet"), *copied.glob("intervals/*.parquet")]:
        file.with_name(f"._{file.name}").write_bytes(b"\0\5\26\7" * 1024)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert load_measured(copied).runs.equals(whole.runs)
    assert Store(copied).repair() == {} and len(Store(copied).parts()) == len(
        {*whole.runs["round"]}
    )
