"""Executed copies of the published notebooks are stored with the results."""

from __future__ import annotations

from netlab.files import paths
from netlab.report import publish


def test_a_published_notebook_is_executed_once_and_stored_with_the_results(tmp_path, monkeypatch):
    executed = []

    def execute(notebook, output, parameters):
        executed.append(output)
        output.parent.mkdir(parents=True)
        output.write_text("{}")
        return output

    monkeypatch.setattr(publish, "execute", execute)
    monkeypatch.setenv("NETLAB_HOME", str(tmp_path))
    notebook = paths.notebook("10-openlab-2003.ipynb")
    first, second = publish._published(notebook), publish._published(notebook)
    assert first == second == executed[0]
    assert len(executed) == 1
    assert first.is_relative_to(tmp_path / "results" / ".published")
