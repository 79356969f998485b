"""Results of hosts that are called as units or words are, once they are redacted."""

from __future__ import annotations

import measured_store
import pytest
import synthetic
from refusals import refused

from netlab import study as studies
from netlab.analysis.measured import load_measured
from netlab.bundle.pack import bundle
from netlab.bundle.redaction import words_of
from netlab.errors import BadInput


def results_of(directory, one, two):
    """Directory of results of two hosts of these names."""
    content = synthetic.FOREIGN.replace("<b>left</b> to right", "left to right")
    for before, after in (("left", one), ("right", two)):
        content = content.replace(before, after)
    (directory / "racks.yml").write_text(content)
    study = studies.load(directory / "racks.yml", rounds=3)
    results = directory / "data" / "results"
    results.mkdir(parents=True)
    measured_store.campaign_of(results, study)
    return results


@pytest.mark.parametrize("names", [("a", "b"), ("A", "B"), ("s", "r"), ("gen", "sink")])
def test_results_of_hosts_with_short_names_are_the_same_once_they_are_redacted(tmp_path, names):
    one, two = names
    results = results_of(tmp_path, one, two)
    before = load_measured(results)
    words = words_of(before.study, results)
    assert set(names) < set(words.hosts)
    words.redact(results)
    after = load_measured(results)
    assert all(name.startswith("host-") for name in after.study.hosts)
    assert after.study.groups[0].name == words.redacted(f"{one} to {two}")
    figures = ["n_valid", "goodput_MBps", "low_MBps", "mtu_B", "packet_B"]
    assert after.cells[figures].equals(before.cells[figures])


@pytest.mark.parametrize("name", ["kernel", "cpu", "study", "forward"])
def test_a_host_with_the_name_of_a_fact_a_limit_a_key_or_a_level_is_refused(tmp_path, name):
    results = results_of(tmp_path, name, "sink")
    with refused(BadInput, "E-REPORT-013", match="something else as well"):
        bundle(results, tmp_path / "b.zip", notebooks=[], redact=True)
    assert not (tmp_path / "b.zip").exists()
