"""Several results are compared with one reference, as one family of statements."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pytest
import synthetic
from click.testing import CliRunner
from refusals import refused

import netlab
from netlab import study as studies
from netlab.analysis.compare import Asked, OtherRuns, bonferroni, compare_all, holm
from netlab.analysis.effects import FASTER, SLOWER
from netlab.charts import looks
from netlab.cli.results import compare_command
from netlab.errors import BadInput
from netlab.face.compared import Comparison, Comparisons

FACTORS = {"a": 1.0, "b": 1.3, "c": 0.8, "d": 1.005}


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    """Made-up results of one study: a reference, a faster, a slower and an equal one."""
    base = tmp_path_factory.mktemp("several")
    file = synthetic.foreign_file(base)
    text = file.read_text().replace("[1, 64]", "[1, 2, 64]").replace("rounds: 1", "rounds: 6")
    file.write_text(text)
    study = studies.load(file)
    for name, factor in FACTORS.items():

        def changed(row, factor=factor, name=name):
            row["goodput_MBps"] *= factor
            if name == "c":
                row["provenance"] = row["provenance"].replace("6.12.0", "7.0.0")
            return not (name == "d" and row["streams"] == 2)

        runs = synthetic.runs_of(study, noise=0.002, seed=ord(name), change=changed)
        synthetic.store_of(base / name, study, runs)
        (base / name / "study.yml").write_text(file.read_text())
    return {name: str(base / name) for name in FACTORS}


@pytest.fixture(scope="module")
def found(places):
    return netlab.compare(*places.values())


def test_each_is_compared_with_the_first_and_cell_by_cell_as_alone(found, places):
    assert isinstance(found, Comparisons) and len(found) == 3
    verdicts = found.frame.groupby("side")["verdict"].unique().map(list).to_dict()
    assert verdicts == {"B": ["faster"], "C": ["slower"], "D": ["the same", "only in A"]}
    for name, one in zip("bcd", (found[0], found[1], found[2]), strict=True):
        alone = netlab.compare(places["a"], places[name])
        assert isinstance(one, Comparison)
        keys = ["streams", "mtu_B"]
        both = one.frame.sort_values(keys), alone.frame.sort_values(keys)
        assert np.allclose(both[0]["ratio"], both[1]["ratio"])
        wide = both[0]["high"].to_numpy() - both[0]["low"].to_numpy()
        assert (wide > (both[1]["high"].to_numpy() - both[1]["low"].to_numpy())).all()


def test_the_verdict_stands_before_what_a_narrow_page_cuts(found, tmp_path):
    several = found.tables.cells().frame.columns.tolist()
    assert several[several.index("side") + 1] == "verdict"
    sides = found.tables.sides().frame.columns.tolist()
    assert sides[:4] == ["side", "results", "against A, %", "slower"]
    file = synthetic.foreign_file(tmp_path)
    more = "  - {name: right -> left, path: rack, sender: right}\nstreams:"
    file.write_text(file.read_text().replace("streams:", more).replace("rounds: 1", "rounds: 3"))
    study = studies.load(file)
    for name, most in (("a", 64), ("b", 1)):
        runs = synthetic.runs_of(study, change=lambda row, most=most: row["streams"] <= most)
        synthetic.store_of(tmp_path / name, study, runs)
        (tmp_path / name / "study.yml").write_text(file.read_text())
    two = netlab.compare(str(tmp_path / "a"), str(tmp_path / "b")).tables
    assert two.cells().frame.columns.tolist()[:2] == ["group", "verdict"]
    assert {"path", "sender"} <= set(two.cells().data.columns)
    assert "sender" not in two.only().frame and "sender" in two.only().data


def test_intervals_and_tests_are_those_of_one_family(found, places):
    family = sum(len(one.compared.frame) for one in found.every)
    assert family == 3 + 3 + 2
    assert {one.compared.cell_level for one in found.every} == {bonferroni(0.95, family)}
    alone = [netlab.compare(places["a"], places[name]).frame for name in "bcd"]
    # of a single comparison the smallest p-value was multiplied by its number of cells alone
    smallest = min(frame["p_holm"].min() / len(frame) for frame in alone)
    adjusted = [p for one in found.every for p in one.compared.frame["p_holm"]]
    assert min(adjusted) == pytest.approx(holm([smallest] + [1.0] * (family - 1))[0])


def test_of_equal_results_hardly_a_family_has_a_false_verdict(tmp_path):
    file = synthetic.foreign_file(tmp_path)
    study = studies.load(file, rounds=6)
    frame, rng, wrong = synthetic.runs_of(study), np.random.default_rng(7), 0

    def again():
        return frame.assign(goodput_MBps=1000 * np.exp(0.02 * rng.standard_normal(len(frame))))

    for _ in range(60):
        every = compare_all(again(), Asked(), [OtherRuns(again()) for _ in range(4)])
        wrong += any(one.frame["verdict"].isin((FASTER, SLOWER)).any() for one in every)
    assert wrong <= 8  # of 60 at 5 %: more has a probability below 0.3 %


def test_the_chart_has_every_cell_of_every_side_and_draws_on_given_axes(found):
    data = found.charts.charts[0].data.dropna(subset=["series"])
    assert set(data["series"]) == {"B: b", "C: c", "D: d"} and len(data) == 8
    ax = looks.new_axes()
    assert found.plot(ax=ax) is ax
    assert "C: c" in found.charts.charts[0].alt and "slower" in found.charts.charts[0].alt


def test_tables_and_the_answer_name_each_side_and_what_differs(found):
    text = repr(found)
    assert "One family of 8 cells of 3 comparisons" in text
    assert found.answer.text.count("geometric means") == 1
    for word in ("B (", "C (", "D ("):
        assert word in found.answer.text
    kernel = found.differences.frame.set_index("item").loc["linux64-a, kernel"]
    assert list(kernel[["A", "B", "C", "D"]]) == ["6.12.0", "as A", "7.0.0", "as A"]
    assert found.tables.only().frame["compared"].tolist() == ["D with A"]


def ran(*argv):
    return CliRunner().invoke(compare_command, argv)


def test_the_command_compares_several_in_each_format(places, found):
    done = ran(*places.values())
    assert done.exit_code == 0, done.output
    assert done.stdout.count("faster between campaigns") == 3
    assert "Compared: each against A" in done.stdout
    rows = list(csv.DictReader(io.StringIO(ran(*places.values(), "--format", "csv").stdout)))
    assert [row["side"] for row in rows].count("B") == 3 and len(rows) == len(found.frame)
    content = json.loads(ran(*places.values(), "--format", "json").stdout)
    assert list(content["comparisons"]) == ["B", "C", "D"] and content["family"] == 8


def test_a_condition_of_any_side_gives_its_exit_code(places):
    values = (places["a"], places["d"], places["c"])
    assert ran(*values, "--fail-if", "slower > 5 %").exit_code == 3
    assert ran(*values, "--fail-if", "faster").exit_code == 0


def test_the_same_results_twice_are_refused(places):
    for wrong in (("a", "b", "a"), ("a", "b", "b")):
        with pytest.raises(BadInput) as error:
            netlab.compare(*(places[name] for name in wrong))
        refused(error, "E-ANALYSIS-030")
    assert ran(places["a"], places["b"], places["c"], "--by", "streams=1,2").exit_code == 2
