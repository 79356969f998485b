"""Imported runs have a report and an explorer."""

from __future__ import annotations

from click.testing import CliRunner
from imports.samples import RECORDED

from netlab.cli import main
from netlab.face.results import Results


def test_an_import_is_reported_with_nothing_between(tmp_path, monkeypatch):
    monkeypatch.setenv("NETLAB_HOME", str(tmp_path))
    files = [str(RECORDED / f"iperf3-{name}.json") for name in ("tcp", "bytes", "parallel")]
    hosts = ("--study-name", "old", "--sender", "a", "--receiver", "b")
    assert CliRunner().invoke(main, ["import", *files, *hosts]).exit_code == 0
    done = CliRunner().invoke(main, ["report", "old"])
    assert done.exit_code == 0, done.output
    assert "Imported: old" in (tmp_path / "site" / "index.html").read_text()
    assert "iperf3" in Results("old").explore()._repr_html_()
