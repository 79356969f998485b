"""`netlab compare`: what differs between two results, cell by cell, and its exit code."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
import synthetic
from click.testing import CliRunner

from netlab import study as studies
from netlab.analysis.sides import comparison
from netlab.charts.comparisons import comparison_charts
from netlab.charts.looks import new_axes
from netlab.cli.results import compare_command
from netlab.face.compared import Comparison


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    """Two made-up results: B lacks a cell, has another kernel, and is slower with 64 streams."""
    base = tmp_path_factory.mktemp("compare")
    file = synthetic.foreign_file(base)
    file.write_text(
        file.read_text().replace("[1, 64]", "[1, 2, 64]").replace("rounds: 1", "rounds: 4")
    )
    study = studies.load(file)

    def changed(row):
        if row["streams"] == 64:
            row["goodput_MBps"] *= 0.7
        row["provenance"] = row["provenance"].replace("6.12.0", "7.0.0")
        return row["streams"] != 2

    for name, change in (("a", None), ("b", changed)):
        runs = synthetic.runs_of(study, noise=0.002, seed=ord(name), change=change)
        synthetic.store_of(base / name, study, runs)
        (base / name / "study.yml").write_text(file.read_text())
    return str(base / "a"), str(base / "b")


def ran(*argv):
    return CliRunner().invoke(compare_command, argv)


def test_the_text_has_conditions_then_the_effect_then_every_cell(places):
    done = ran(*places)
    assert done.exit_code == 0
    order = ["Compared: B against A", "linux64-a, kernel", "geometric mean", "Cell by cell", "only"]
    at = [done.stdout.index(text) for text in order]
    assert at == sorted(at)
    assert "1 slower, 0 faster, 1 the same within 5 %, 0 cannot tell" in done.stdout
    assert "1 cell is on one side only" in done.stdout and "not measured" in done.stdout


def test_csv_has_every_cell_and_the_differences_go_to_standard_error(places):
    done = ran(*places, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert [row["verdict"] for row in rows] == ["slower", "the same", "only in A"]
    assert float(rows[0]["ratio"]) == pytest.approx(0.7, abs=0.01)
    assert "kernel: A 6.12.0, B 7.0.0" in done.stderr


def test_json_has_everything(places):
    found = json.loads(ran(*places, "--format", "json").stdout)
    assert found["netlab_comparison"] == 1 and found["counts"]["slower"] == 1
    assert found["settings"]["method"] == "Bonferroni intervals, Holm tests of differences"
    assert {row["item"] for row in found["differences"]} >= {"linux64-a, kernel"}
    assert [row["side"] for row in found["only"]] == ["A"] and len(found["cells"]) == 2


@pytest.mark.parametrize(
    ("conditions", "code"),
    [
        ((), 0),
        (("slower > 5 %",), 3),
        (("slower > 40 %",), 0),
        (("faster",), 0),
        (("cannot tell",), 0),
        (("missing",), 3),
        (("faster", "not the same"), 3),
        (("ratio < 0.8",), 3),
    ],
)
def test_the_exit_code_says_in_every_format_whether_a_condition_is_met(places, conditions, code):
    argv = [word for condition in conditions for word in ("--fail-if", condition)]
    for form in ("text", "csv", "json"):
        done = ran(*places, *argv, "--format", form)
        assert done.exit_code == code
        assert not code or f"netlab: {conditions[-1]}: " in done.stderr


@pytest.mark.parametrize(
    ("argv", "code"),
    [
        (("--fail-if", "slow"), "E-ANALYSIS-031"),
        (("--same-within", "0"), "E-ANALYSIS-021"),
        (("--by", "streams=1,64"), "E-ANALYSIS-029"),
    ],
)
def test_a_mistake_is_bad_input_and_not_a_met_condition(places, argv, code):
    done = ran(*places, *argv)
    assert done.exit_code == 2 and code in done.stderr


def test_the_forest_plot_has_every_cell_and_takes_axes(places):
    found = comparison(places)
    ax = new_axes()
    assert Comparison(found).plot(ax=ax) is ax and len(ax.get_yticklabels()) == 2
    (chart,) = comparison_charts(found.compared).charts
    assert "64 streams: -30" in chart.alt and "slower" in chart.alt and "the same" in chart.alt


def test_two_campaigns_say_so_and_which_shift_repeats_of_a_rule_out(places, tmp_path):
    """A cell that is 30 % slower is decided, one within the shift of the repeats is not."""
    done = ran(*places)
    assert "Between campaigns, B against A" in done.stdout
    assert "slower between campaigns" in done.stdout
    assert "No shift from one to the other can be ruled out" in done.stdout
    a, b = places
    repeats = [again(a, tmp_path / str(factor), factor) for factor in (1.04, 0.97)]
    options = [word for place in repeats for word in ("--repeat", place)]
    done = ran(a, b, *options, "--format", "json")
    found = json.loads(done.stdout)
    assert found["settings"]["between_campaigns"] and found["settings"]["shift_campaigns"] == 3
    assert 10 < found["settings"]["shift_percent"] < 30
    assert "3 campaigns under the conditions of A" in ran(a, b, *options).stdout
    assert ran(a, b, "--repeat", repeats[0]).exit_code == 2
    assert ran(a, "--by", "streams=1,64", *options).exit_code == 2


def again(place, directory, factor):
    """The same study measured once more, with all goodputs shifted."""
    study = studies.load(place + "/study.yml")

    def shifted(row):
        row["goodput_MBps"] *= factor

    synthetic.store_of(directory, study, synthetic.runs_of(study, noise=0.002, change=shifted))
    (directory / "study.yml").write_text((Path(place) / "study.yml").read_text())
    return str(directory)
