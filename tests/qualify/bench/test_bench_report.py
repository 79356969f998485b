"""A benchmark's runs become ratios, verdicts, tables, text and a chart."""

import json
import math
import re

import numpy as np
import pytest
from synthetic import runs_of, store_of

from netlab.charts.chart import show
from netlab.errors import BadInput, NetlabError
from netlab.qualify.bench import Matrix, rounds_study
from netlab.qualify.bench_conclusions import Conclusions
from netlab.qualify.bench_ratios import samples_of
from netlab.qualify.charts import ratio_panels, ratios_alt

MATRIX = Matrix(("on",), (1500,), (1, 200), rounds=4, seconds=1, queues=2, most_variants=1)
RATES = {"gensink": 2000.0, "plain": 1600.0, "iperf3": 1500.0, "nuttcp": 1000.0, "iperf2": 999.0}
HOST = {"cpu_model": "a CPU", "cpus": 2, "kernel": "6.1"}
PROVENANCE = {"netlab": "1.0", "task_group": "shared", "hosts": {"sink": HOST}}


def rate_of(study, group, *_levels):
    return RATES[group.name.split(" ")[0]], "memory"


def changed(row: dict) -> None:
    """A run as of a lab; those of iperf2 with 200 streams fail in the first round."""
    row["provenance"] = json.dumps(PROVENANCE)
    row |= {"receiver_cpu_percent": 50.0, "steal_percent": 0.5, "foreign_cpu_percent": 2.0}
    row |= {"generator_version": f"{row['generator']} 1" if row["generator"] != "netlab" else None}
    if row["generator"] == "iperf2" and (row["streams"], row["round"]) == (200, 1):
        row |= {"flags": "failed", "message": "no server", "goodput_MBps": None}


@pytest.fixture(scope="module")
def study():
    return rounds_study(MATRIX, ("iperf3", "iperf2", "nuttcp"), {})


@pytest.fixture(scope="module")
def conclusions(study, tmp_path_factory) -> Conclusions:
    directory = tmp_path_factory.mktemp("bench")
    store_of(directory, study, runs_of(study, value=rate_of, change=changed, noise=0.001))
    return Conclusions.of(study, directory)


def test_the_text_names_machine_versions_load_failures_and_exclusions(conclusions):
    text = conclusions.to_text()
    for part in (
        *("a CPU", "6.1", "iperf3: iperf3 1", "netlab: 1.0", "a pair of queues for each CPU"),
        *("4 rounds of 1 s", "steal 0.5 %", "foreign load 2.0 %", "plain: netlab's own engine"),
        "2 of 64 transfers failed: iperf2 2 (no server).",
        "Left out: iperf3 with more than 128 streams. Left out: nuttcp with more",
        "2 faster, 0 slower, 0 the same within 5 %, 0 cannot tell",
        "an open ledger",
    ):
        assert part in text
    assert re.search(r"iperf2 +copy/copy 128 KiB +3 +1 ", text)


def test_a_sample_has_the_cell_the_contender_and_the_cost_of_a_run(conclusions):
    row = conclusions.samples.query("contender == 'plain' and mode == 'best'").iloc[0]
    assert (row["offloads"], row["mtu_B"], row["variant"]) == ("on", 1500, "plain copy/copy 1 MiB")
    # half of two cores
    assert row["cpu_s_per_GB"] == pytest.approx(1000 / row["goodput_MBps"])
    table = conclusions.tables()["bench-medians"].frame["failed"]
    assert table[("same", "on", 1500, 200, "iperf2")] == 1 and table.sum() == 2


@pytest.mark.parametrize(
    ("flags", "fails"),
    [("", False), ("interference", False), ("stalled", True), ("interference,implausible", True)],
)
def test_a_run_that_a_study_flags_for_anything_but_interference_failed(study, flags, fails):
    runs = runs_of(study, value=rate_of, change=changed).head(1).assign(flags=flags, message="why")
    sample = samples_of(runs).iloc[0]
    assert math.isnan(sample["goodput_MBps"]) == fails
    assert sample["error"] == ("why" if fails else "")


def test_a_benchmark_without_a_run_of_gensink_is_an_error(study, tmp_path):
    runs = runs_of(study, value=rate_of, change=changed)
    own = runs["group"].str.startswith("gensink")
    store_of(tmp_path, study, runs.assign(flags=np.where(own, "failed", ""), message="no sink"))
    with pytest.raises(NetlabError, match="all transfers of gensink failed: no sink"):
        Conclusions.of(study, tmp_path)


def test_the_tables_are_saved_and_show_themselves(conclusions, tmp_path):
    conclusions.save(tmp_path)
    assert {"bench-medians.csv", "bench-ratios.csv"} <= {file.name for file in tmp_path.iterdir()}
    assert "best peer" in conclusions.tables()["bench-ratios"]._repr_html_()


def test_the_chart_has_a_panel_a_mode_a_row_a_cell_and_words(conclusions):
    alt = ratios_alt(conclusions.ratios)
    figure = ratio_panels(conclusions.ratios).figure
    assert [ax.get_title(loc="left") for ax in figure.axes] == ["Same settings", "Each at its best"]
    assert len(figure.axes[0].get_yticklabels()) == 2
    for part, count in (("offloads on, iperf3: ×1.3", 2), ("offloads on, plain: ×1.2", 4)):
        assert show(figure, alt).alt.count(part) == count
    (legend,) = figure.legends
    names = [text.get_text() for text in legend.get_texts()]
    assert names == ["iperf2", "iperf3", "nuttcp", "plain"]


def test_a_marker_of_the_chart_is_hollow_only_where_the_verdict_is_cannot_tell(conclusions):
    def fills(verdict: str) -> set[str]:
        figure = ratio_panels(conclusions.ratios.assign(verdict=verdict)).figure
        return {line.get_markerfacecolor() for line in figure.axes[0].lines if line.get_marker()}

    assert "white" in fills("cannot tell")
    assert "white" not in fills("the same") | fills("faster") | fills("slower")


def test_a_chart_without_cells_is_refused(conclusions):
    with pytest.raises(BadInput, match="no cell"):
        ratio_panels(conclusions.ratios.assign(ratio=float("nan")))
