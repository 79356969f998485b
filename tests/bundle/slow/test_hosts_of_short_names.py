"""Results of hosts that are called as units or words are, once they are redacted."""

from __future__ import annotations

import re

import measured_store
import pytest
import synthetic

from netlab import study as studies
from netlab.analysis.measured import load_measured
from netlab.bundle.pack import bundle
from netlab.bundle.redaction import words_of
from netlab.bundle.unpacking import unpacked
from netlab.bundle.verify import changed_files


def results_of(directory, one, two):
    """Directory of results of two hosts of these names."""
    content = synthetic.FOREIGN.replace("<b>left</b> to right", f"{one} to {two}")
    for before, after in (("left", one), ("right", two)):  # a number is a name as well
        content = re.sub(rf"(?<=[ {{]){before}(?=[:,}}\n])", f'"{after}"', content)
        content = re.sub(rf"\b{before}\b", after, content)
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


@pytest.mark.parametrize(
    ("names", "kept"),
    [
        (("sender", "receiver"), ["receiver", "sender"]),
        (("1", "2"), ["1", "2"]),
        (("kernel", "sink"), ["kernel"]),
        (("forward", "vega7"), ["forward"]),
        (("b", "B"), []),
        (("vega7", "VEGA7"), []),
    ],
)
def test_hosts_that_are_called_as_a_word_of_records_keep_their_names(tmp_path, names, kept):
    said: list[str] = []
    before = load_measured(results_of(tmp_path, *names))
    target = tmp_path / "b.zip"
    bundle(before.results, target, notebooks=[], redact=True, say=said.append)
    with unpacked(target) as directory:
        after = load_measured(directory / "results")
        assert changed_files(directory) == []
    hosts = list(after.study.hosts)
    assert sorted(set(hosts) & set(names)) == kept and len(hosts) == 2
    assert all(host in kept or host.startswith("host-") for host in hosts)
    figures = ["n_valid", "goodput_MBps", "low_MBps", "mtu_B", "packet_B"]
    assert after.cells[figures].equals(before.cells[figures])
    assert any("for something else" in line and all(n in line for n in kept) for line in said) == (
        bool(kept)
    )
