"""Notebooks of the documents and of results, executed as papermill does, show what they promise."""

from __future__ import annotations

import gzip
import json
import re
import shutil

import numpy as np
import pandas as pd
import papermill
import pytest
import synthetic
from face_home import home_at
from notebook_page import executed_page

import netlab
from netlab import study as studies
from netlab.analysis.measured import load_measured
from netlab.errors import BadInput
from netlab.files import paths
from netlab.files.paths import data_dir
from netlab.report import publishing
from netlab.results.frames import frame_of
from netlab.study.frozen import freeze
from netlab.study.published import Published
from netlab.study.schedule import visits

DOCUMENTS = {
    "10-openlab-2003": (
        ["Table 1: Original results", "<strong>774</strong>", "was not met", "Linux32 ↔ Linux64"],
        19, 13, "openlab-2003-table-6.csv",
    ),
    "11-preliminary-2003": (
        ["Set 2: improved kernel parameters", "716", "misprint", "left out of table 1"],
        7, 6, "preliminary-2003-kernel.tex",
    ),
    "12-slac-2003": (
        ["57.2", "3614.6", "2185.476", "sysctl -w net.core.rmem_max=67108864"],
        3, 6, "slac-2003-recovery.csv",
    ),
    "13-gigabit-hosts": (
        ["955", "3.89", "ndd -set /dev/tcp tcp_max_buf 4194304", "reg add", "lo: no bus"],
        1, 3, "gigabit-tuning.tex",
    ),
    "14-claims": (
        ["Claims that are contradicted (13)", "tot:614", "not checkable", "3.49 discs"],
        1, 8, "claims.csv",
    ),
}  # fmt: skip
"""Text in the outputs, number of figures, least number of tables, and a written file."""


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_notebook_of_a_document_shows_and_writes_what_it_promises(name, tmp_path):
    words, figures, tables, file = DOCUMENTS[name]
    page = executed_page(name, tmp_path, export_dir=tmp_path / "tables")
    assert [word for word in words if word not in page] == []
    assert page.count("<figure") == figures and page.count("<table") >= tables
    assert all(re.search(r'alt="[^"]{40,}"', image) for image in re.findall("<img [^>]*>", page))
    assert (tmp_path / "tables" / file).stat().st_size > 100
    assert {path.name for path in tmp_path.iterdir()} == {"out.ipynb", "tables"}


EXAMPLES = {
    "03-openlab-measured": "openlab-2003",
    "15-then-and-now": "openlab-2003",
    "16-agreement": "agreement",
    "17-slac-measured": "slac-2003",
    "18-compare": "openlab-2003",
    "19-factors": "sc-2003",
    "20-published-beside": "openlab-table-2",
    "21-fleet": "racks",
    "22-latency": "bufferbloat",
    "24-your-own": "openlab-2003",
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_without_results_a_notebook_shows_an_example_and_how_to_measure(
    name, tmp_path, monkeypatch
):
    home = home_at(tmp_path, monkeypatch)
    page = executed_page(name, tmp_path)
    ways = 1 if name == "21-fleet" else 2  # a fleet has its command alone
    *shown, rest = page.split("</pre>", ways)
    study, command = EXAMPLES[name].removesuffix("-quick"), shown[-1]
    assert f"Example that comes with netlab: {EXAMPLES[name]}" in shown[0]
    assert ways == 1 or f">netlab.Study(&#x27;{study}&#x27;, quick=True)" in shown[0]
    assert f">cd {home} &amp;&amp; " in command and study in command
    assert "<figure" in rest or "<svg" in rest


def test_a_notebook_of_ones_own_draws_fits_and_writes(tmp_path):
    page = executed_page("24-your-own", tmp_path, figures=tmp_path / "own", study="openlab-table-2")
    assert page.count("<figure") == 2 and "MTU 9000 B" in page and "exponent" in page
    names = {path.name for path in (tmp_path / "own").iterdir()}
    assert names == {"goodput.svg", "goodput.png", "fit.csv", "runs.dta"}
    fit = pd.read_csv(tmp_path / "own" / "fit.csv")
    assert fit["tuning"].tolist() == sorted(fit["tuning"], key=["none", "kernel", "full"].index)
    assert fit["exponent"].notna().all()


def test_a_notebook_of_ones_own_shows_flagged_runs_where_no_run_is_valid(tmp_path):
    study = synthetic.openlab()
    disturbed = synthetic.setting({"flags": "interference", "message": "foreign CPU load 50 %"})
    synthetic.store_of(tmp_path / "store", study, synthetic.runs_of(study, change=disturbed))
    freeze(study, tmp_path / "store")
    page = executed_page("24-your-own", tmp_path, drawn=False, results=tmp_path / "store")
    assert page.count("<figure") == 2 and "exponent" in page and "No two cells" in page


FOREIGN = {
    "03-openlab-measured": [
        *("as-found", "64 Streams", "No group of this study states a target."),
        "Broad strokes: within the only valid run of a cell, not over rounds.",
    ],
    "15-then-and-now": ["There is nothing to compare with 2003: no group of this study states"],
    "16-agreement": ["No cell of this study has valid runs of two generators"],
}


@pytest.mark.parametrize("name", FOREIGN)
def test_a_study_with_nothing_of_2003_says_so_and_does_not_fail(name, tmp_path):
    """One group without a table, one MTU, one tuning, one repeat, no bus, one generator."""
    synthetic.store_of(tmp_path / "store", synthetic.foreign(tmp_path))
    where = {"results": tmp_path / "store", "study": tmp_path / "two-racks.yml"}
    page = executed_page(name, tmp_path, drawn=None, **where)
    assert [words for words in FOREIGN[name] if words not in page] == []
    assert "<script>" not in page and "<b>left" not in page
    assert name == "03-openlab-measured" or "<figure" not in page


def test_missing_results_stop_a_notebook_with_a_clear_message(tmp_path):
    with pytest.raises(papermill.PapermillExecutionError, match="measure the study first"):
        executed_page("03-openlab-measured", tmp_path, results=tmp_path / "nowhere")


def test_a_comparison_shows_differences_effects_and_every_cell(stores, tmp_path):
    page = executed_page("18-compare", tmp_path, a=stores / "a", b=stores / "b")
    assert "geometric mean" in page and "Cell by cell" in page
    assert page.count("<figure") == 6


def test_a_report_against_other_results_executes_the_comparison_with_both(stores, tmp_path):
    measured = load_measured(stores / "b")

    def parameters(against):
        wanted = publishing._wanted(measured, tmp_path / "study.yml", against, ())
        return {source.stem: parameters for source, parameters in wanted.items()}

    sides = {"a": str(stores / "a"), "b": str(stores / "b")}
    assert parameters(str(stores / "a"))["18-compare"] == sides
    assert "18-compare" not in parameters("")


@pytest.fixture(scope="module")
def crossed(tmp_path_factory):
    """Results of the SC 2003 study, made up: goodput grows with the record and the burst."""
    directory = tmp_path_factory.mktemp("sc") / "r"
    study = studies.load(synthetic.openlab_file().with_name("sc-2003.yml"), rounds=2)
    rng, digest, rows = np.random.default_rng(3), study.digest(), []
    for block in visits(study):
        for run in block.runs:
            at = dict(run.levels)
            value = 100 * (at["record_length_B"] / 1024) ** 0.3 * rng.normal(1, 0.01)
            value *= 1.5 if at["read_burst_B"] == 4096 else 1
            row = synthetic.record(study, digest, block, run, rng, (value, "CPU"))
            rows.append(row | {"factors": run.factors})
    synthetic.store_of(directory, study, frame_of(rows))
    freeze(study, directory)
    return directory


def test_a_published_table_stands_beside_the_results(crossed, tmp_path):
    cells = [
        {"record_length_B": size, "mtu_B": mtu_B, "kernel": "up", "goodput_MBps": 0.3 * size**0.3}
        for size in (1024, 8192, 16384)
        for mtu_B in (8160, 9000)
    ]
    study = studies.load(synthetic.openlab_file().with_name("sc-2003.yml"), rounds=2)
    table = Published(title="Theirs", source="A paper", cells=tuple(cells))
    shutil.copytree(crossed, tmp_path / "r")
    freeze(study.model_copy(update={"published": table}), tmp_path / "r")
    page = executed_page("20-published-beside", tmp_path, results=tmp_path / "r", study="sc-2003")
    assert "Theirs: published and measured" in page and "1024 to 8192" in page
    assert "holds" in page


SIDES = {"study": "other", "sender": "left", "receiver": "right"}


def test_what_cannot_be_right_is_named_and_left_out(tmp_path):
    found = netlab.import_files("two-stacks", link_Mbps=200, results=tmp_path / "r", **SIDES)
    frame = found.frame.set_index("file")
    wrong = frame[frame["problem"] != ""]
    assert len(frame) == 29 and frame["runs"].sum() == 25
    for name, runs, words in (
        ("cubic-16-streams-5", 0, "the intervals end after 2 of 4.03 s"),
        ("cubic-4-streams-5", 0, "do not agree"),
        ("reno-1-streams-5", 1, "the link carries 24.1 MB/s of payload at most"),
        ("reno-4-streams-5", 0, "not JSON"),
    ):
        row = wrong.loc[f"{name}.json.gz"]
        assert row["runs"] == runs and words in row["problem"]
    assert set(wrong.index) - {"README.md"} == {n for n in frame.index if "-5." in n}
    assert found.results.cells["goodput_MBps"].max() < 24.1
    # without a rate of the link only contradictions within a file are seen
    without = netlab.import_files("two-stacks", results=tmp_path / "without", **SIDES)
    assert (without.frame["problem"] != "").sum() == 4
    assert without.results.cells["goodput_MBps"].max() > 24.1
    again = netlab.import_files("two-stacks", link_Mbps=200, results=tmp_path / "r", **SIDES)
    assert again.frame["runs"].sum() == 25 and str(again) == str(found)


def test_files_of_one_name_are_told_apart(tmp_path):
    for number, name in enumerate(("cubic-1-streams-1", "reno-1-streams-5")):
        place = tmp_path / "files" / f"try{number}" / "out.json.gz"
        place.parent.mkdir(parents=True)
        place.write_bytes((data_dir() / "examples/two-stacks" / f"{name}.json.gz").read_bytes())
    found = netlab.import_files(tmp_path / "files", link_Mbps=200, results=tmp_path / "r", **SIDES)
    assert found.frame["runs"].tolist() == [1, 1]
    assert [bool(text) for text in found.frame["problem"]] == [False, True]


def test_the_notebook_reads_doubts_and_compares(tmp_path):
    page = executed_page("23-published-runs", tmp_path, results=tmp_path / "r")
    for words in ("24 of 29 files can be right", "24.1 MB/s of payload", "cannot tell"):
        assert words in page
    assert page.count("<table") >= 4 and (tmp_path / "r" / "study.yml").is_file()


def test_the_notebook_puts_other_files_into_results_of_their_own(tmp_path, monkeypatch):
    """A reader who opens it with the example first, then with files that do not say their MTU."""
    home_at(tmp_path, monkeypatch)
    (tmp_path / "theirs").mkdir()
    for stack in ("cubic", "reno"):
        example = data_dir() / "examples" / "two-stacks" / f"{stack}-1-streams-1.json.gz"
        report = json.loads(gzip.decompress(example.read_bytes()))
        del report["start"]["tcp_mss_default"]
        (tmp_path / "theirs" / f"{stack}.json").write_text(json.dumps(report))
    executed_page("23-published-runs", tmp_path)
    papermill.execute_notebook(
        paths.notebook("23-published-runs.ipynb"),
        tmp_path / "out.ipynb",
        {"directory": "theirs", "mtu_B": 1500},
        progress_bar=False,
        cwd=tmp_path,
    )
    assert len(netlab.Results("theirs").runs) == 2 and len(netlab.Results("two-stacks").runs) > 20


@pytest.mark.parametrize(
    ("directory", "facts", "words"),
    [("nowhere", {}, "nowhere"), ("two-stacks", {"mtu": 1500}, "mtu")],
)
def test_a_wrong_call_is_refused(directory, facts, words, tmp_path):
    with pytest.raises(BadInput, match=words):
        netlab.import_files(directory, results=tmp_path / "r", **SIDES, **facts)
