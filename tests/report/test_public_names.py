"""Pages and notebooks of a site do not say where they were made."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import synthetic
from nbformat import v4, write

from netlab.analysis import trust
from netlab.files import paths
from netlab.report.gate import public
from netlab.report.plain_notebook import copy_plain, public_names, renamed
from netlab.report.publishing import EXECUTED, folder_of_copies
from netlab.report.render import render


@pytest.fixture
def results(tmp_path, monkeypatch):
    """Results in the folder of a customer, in the home of a user."""
    monkeypatch.setattr(Path, "home", lambda: tmp_path / "alice")
    monkeypatch.setenv(paths.HOME, str(tmp_path / "alice" / "acme"))
    place = tmp_path / "alice" / "acme" / "results" / "mine"
    place.mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    return place


def executed(results: Path) -> Path:
    html = f"<p>{results}</p>"
    outputs = [
        v4.new_output("stream", text=f"{results}/runs and {results}-old\n"),
        v4.new_output("display_data", data={"text/html": html, "text/plain": "x"}),
        v4.new_output("error", ename="E", evalue=f"{results.parents[2]}/a", traceback=[f"{html}"]),
    ]
    source = f'results = "{results}"\nstudy = "{results.parents[1]}/mine.yml"'
    cells = [v4.new_code_cell(source, outputs=outputs), v4.new_markdown_cell("# Title")]
    path = results / "executed.ipynb"
    write(v4.new_notebook(cells=cells), path)
    return path


def test_a_copy_has_names_in_place_of_directories(results, tmp_path):
    copy_plain(executed(results), tmp_path / "copy.ipynb", public_names(results))
    (code, _) = json.loads((tmp_path / "copy.ipynb").read_text())["cells"]
    assert "".join(code["source"]) == 'results = "results"\nstudy = "./mine.yml"'
    stream, shown, error = code["outputs"]
    assert "".join(stream["text"]) == "results/runs and ./results/mine-old\n"
    assert "".join(shown["data"]["text/html"]) == "<p>results</p>"
    assert (error["evalue"], error["traceback"]) == ("~/a", ["<p>results</p>"])


def test_a_page_has_them_too(results):
    body = str(render(executed(results), {}, public_names(results)).body)
    assert "alice" not in body and "results/runs" in body


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[32m{}/a.py:10\x1b[39m", "\x1b[32mresults/a.py:10\x1b[39m"),
        ("file://{}/a", "file://results/a"),
        ("Runs are in {}.", "Runs are in results."),
        ("{}.old", "./results/mine.old"),
        ("https://example.org{}/a", "https://example.org{}/a"),
    ],
)
def test_a_directory_ends_a_sentence_and_follows_a_colour_or_a_scheme(results, text, shown):
    assert renamed(text.format(results), public_names(results)) == shown.format(results)


def test_the_gate_of_a_report_names_no_directory(tmp_path):
    results = tmp_path / "alice" / "acme"
    m = synthetic.measured(synthetic.foreign(tmp_path), results=results, change=lambda row: False)
    damaged = replace(m, damaged=(f"{results}/runs/a.parquet cannot be read",))
    assert str(results) in repr(trust.gate(damaged))
    assert str(results) not in repr(public(damaged))
    assert public(damaged)[0].command == "netlab results repair results"


def test_a_directory_at_the_top_is_no_name(monkeypatch):
    monkeypatch.setattr(Path, "home", lambda: Path("/"))
    assert "/" not in public_names(Path("/"))


def test_executed_copies_lie_beside_results_but_not_in_an_example(results):
    with folder_of_copies(results / EXECUTED) as folder:
        assert folder == results / EXECUTED and folder.is_dir()
    example = paths.example("agreement") / EXECUTED
    with folder_of_copies(example) as folder:
        assert folder.is_dir() and folder != example
    assert not example.exists() and not folder.exists()
