"""Results of hosts that are called as units or words are, once they are redacted."""

from __future__ import annotations

import measured_store
import pytest
import synthetic

from netlab import study as studies
from netlab.analysis.measured import load_measured
from netlab.bundle.redaction import words_of


@pytest.mark.parametrize("names", [("a", "b"), ("A", "B"), ("s", "r"), ("gen", "sink")])
def test_results_of_hosts_with_short_names_are_the_same_once_they_are_redacted(tmp_path, names):
    one, two = names
    content = synthetic.FOREIGN.replace("<b>left</b> to right", "left to right")
    for before, after in (("left", one), ("right", two)):
        content = content.replace(before, after)
    (tmp_path / "racks.yml").write_text(content)
    study = studies.load(tmp_path / "racks.yml", rounds=3)
    results = tmp_path / "data" / "results"
    results.mkdir(parents=True)
    measured_store.campaign_of(results, study)
    before = load_measured(results)
    words = words_of(before.study, results)
    assert set(names) < set(words.hosts)
    words.redact(results)
    after = load_measured(results)
    assert all(name.startswith("host-") for name in after.study.hosts)
    assert after.study.groups[0].name == words.redacted(f"{one} to {two}")
    figures = ["n_valid", "goodput_MBps", "low_MBps", "mtu_B", "packet_B"]
    assert after.cells[figures].equals(before.cells[figures])
