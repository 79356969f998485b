"""A benchmark is a study of its variants, and one of the best of them."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from netlab.errors import BadInput, NetlabError
from netlab.qualify.bench import (
    QUICK,
    VARIANTS,
    Matrix,
    Variant,
    choose,
    directory_of,
    find_tools,
    heats_study,
    rounds_study,
)
from netlab.results import store as results_store
from netlab.study.schedule import run_s, visits
from netlab.units import MIB

PEERS = ("iperf3", "iperf2", "nuttcp", "neper")
MATRIX = Matrix(rounds=3, seconds=1, heats=2, queues=2, seed=7)
ONE = replace(MATRIX, offloads=("on",), mtus_B=(1500,), streams=(4,))


def cells_of(study) -> set[tuple]:
    """Contender and mode, and the environment, of every run of the first round."""
    return {
        (*run.group.name.split(" ")[:2], visit.link, visit.mtu_B, run.streams)
        for visit in visits(study)
        for run in visit.runs
        if run.round == 1
    }


def test_every_contender_has_its_turn_in_every_cell_and_round():
    study = rounds_study(ONE, PEERS, best_first(ONE))
    runs = [run for visit in visits(study) for run in visit.runs]
    contenders = [run.group.name.split(" ")[0] for run in runs]
    assert sorted(contenders) == sorted([*VARIANTS] * 2 * 3)
    assert len({tuple(run.group.name for run in visit.runs) for visit in visits(study)}) == 3


def best_first(matrix: Matrix) -> dict:
    """The first variant of each contender, chosen in every cell."""
    return {
        ("best", offloads, mtu_B, streams, name): variants[0].label
        for offloads in matrix.offloads
        for mtu_B in matrix.mtus_B
        for streams in matrix.streams
        for name, variants in VARIANTS.items()
    }


def test_a_contender_runs_in_the_variant_that_each_cell_chose():
    chosen = best_first(MATRIX)
    chosen["best", "off", 9000, 20, "iperf3"] = "copy/copy 128 KiB"
    study = rounds_study(MATRIX, PEERS, chosen)
    cells = [
        ((visit.link, visit.mtu_B, run.streams), run.group)
        for visit in visits(study)
        for run in visit.runs
        if run.round == 1 and run.group.name.startswith("iperf3 best")
    ]
    assert len(cells) == 2 * 2 * 3
    assert {cell for cell, group in cells if group.record_length_B == 131072} == {
        ("bench+offloads=none", 9000, 20)
    }
    assert len(cells_of(study)) == 2 * 2 * 2 * (4 * len(VARIANTS) - 2)


def test_all_run_alike_with_one_record_length_and_every_byte_copied():
    study = rounds_study(replace(MATRIX, modes=("same",)), PEERS, {})
    assert heats_study(replace(MATRIX, modes=("same",)), PEERS) is None
    for visit in visits(study):
        for run in visit.runs:
            options = run.study(study)
            assert run.group.record_length_B == 131072
            assert (options.send, options.receive, options.congestion) == ("copy", "copy", "cubic")
            plain = run.group.name.startswith("plain")
            assert options.engine == ("plain" if plain else "auto")
    assert study.path("bench").link.queues == 2


def test_heats_make_every_variant_in_every_cell_and_take_little_time():
    study = heats_study(ONE, PEERS)
    runs = [run for visit in visits(study) for run in visit.runs]
    labels = sorted(run.group.name.split(" ", 2)[2] for run in runs)
    assert labels == sorted(v.label for some in VARIANTS.values() for v in some for _ in range(2))
    quick = heats_study(QUICK, ("iperf3", "iperf2", "nuttcp"))
    assert sum(run_s(quick, run) for visit in visits(quick) for run in visit.runs) < 45


def test_labels_tell_the_variants_of_a_contender_apart():
    for variants in VARIANTS.values():
        assert len({variant.label for variant in variants}) == len(variants) >= 2
    assert Variant(MIB, "splice", "discard").label == "splice/discard 1 MiB"
    assert Variant(1000, engine="plain").label == "plain copy/copy 1000 B"


def test_a_tool_is_left_out_of_cells_beyond_its_streams():
    names = {name for name, _, _, _, streams in cells_of(rounds_study(MATRIX, PEERS, {}))}
    beyond = {c[0] for c in cells_of(rounds_study(MATRIX, PEERS, {})) if c[-1] == 200}
    assert names - beyond == {"iperf3", "nuttcp"}
    alone = rounds_study(replace(ONE, streams=(200,)), ("iperf3",), {})
    assert {cell[0] for cell in cells_of(alone)} == {"gensink", "plain"}


# Heats choose the variant with the highest median; a failed one loses.

KEY = ("best", "on", 1500, 4)


def heats(rates: dict[str, list[float]], contender: str = "gensink") -> pd.DataFrame:
    cell = dict(zip(("mode", "offloads", "mtu_B", "streams"), KEY, strict=True))
    return pd.DataFrame(
        [
            {**cell, "contender": contender, "variant": label, "goodput_MBps": rate}
            for label, some in rates.items()
            for rate in some
        ]
    )


@pytest.mark.parametrize(
    ("copy", "splice", "best"),
    [
        # the median, not the highest heat
        ([9000.0, 1000.0, 1100.0], [2000.0, 2100.0, 1900.0], "splice/discard 1 MiB"),
        ([1000.0, 1100.0], [float("nan")] * 2, "copy/discard 1 MiB"),
        ([1000.0, 1100.0], [float("nan"), 1200.0], "splice/discard 1 MiB"),
        # of a contender whose heats all failed the first one
        ([float("nan")], [float("nan")], "copy/discard 1 MiB"),
    ],
)
def test_the_variant_with_the_highest_median_is_chosen(copy, splice, best):
    found = choose(heats({"splice/discard 1 MiB": splice, "copy/discard 1 MiB": copy}))
    assert found == {(*KEY, "gensink"): best}


def test_each_contender_and_cell_chooses_for_itself():
    first, last = "copy/copy 1 MiB", "copy/copy 128 KiB"
    frames = [
        heats({first: [2.0], last: [1.0]}, "nuttcp"),
        heats({first: [1.0], last: [2.0]}, "iperf2"),
        heats({first: [1.0], last: [2.0]}, "nuttcp").assign(streams=1),
    ]
    assert choose(pd.concat(frames)) == {
        (*KEY, "nuttcp"): first,
        (*KEY, "iperf2"): last,
        (*KEY[:3], 1, "nuttcp"): last,
    }


# The external tools are found on PATH or where the user says.


def program(directory: Path, name: str) -> Path:
    path = directory / name
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_tools_are_found_on_path_and_by_their_variables(tmp_path):
    (tmp_path / "bin").mkdir()
    program(tmp_path / "bin", "iperf3")
    newer = program(tmp_path, "my-nuttcp")
    environment = {"PATH": str(tmp_path / "bin"), "NETLAB_NUTTCP": str(newer)}
    assert find_tools(environment=environment) == ["iperf3", "nuttcp"]
    assert find_tools(("nuttcp",), environment) == ["nuttcp"]
    assert find_tools(("iperf3",), dict(os.environ)) == ["iperf3"]


@pytest.mark.parametrize(
    ("wanted", "more", "where"),
    [
        (("iperf9",), {}, "iperf9"),
        (("iperf2",), {}, "NETLAB_IPERF2"),
        ((), {"NETLAB_IPERF3": "/nowhere/iperf3"}, "NETLAB_IPERF3"),
    ],
)
def test_a_tool_that_is_asked_for_and_not_there_is_bad_input(tmp_path, wanted, more, where):
    with pytest.raises(BadInput, match=where):
        find_tools(wanted, {"PATH": str(tmp_path), **more})


def test_without_a_tool_there_is_nothing_to_compare_with(tmp_path):
    with pytest.raises(NetlabError, match="no tool"):
        find_tools(environment={"PATH": str(tmp_path)})


def test_only_a_benchmark_that_was_ended_early_goes_on(tmp_path):
    assert directory_of(tmp_path) is None
    (old := tmp_path / "2026-01-05T100000Z").mkdir()
    assert directory_of(tmp_path) == old
    (old / "bench-ratios.csv").touch()
    assert directory_of(tmp_path) is None
    (new := tmp_path / "2026-01-05T100001Z").mkdir()
    assert directory_of(tmp_path) == new


def test_a_benchmark_goes_on_in_a_directory_of_its_own_alone(tmp_path):
    """`--out` may have photographs, links and newer folders of other programs beside it."""
    photographs = tmp_path / "zz-photographs"
    photographs.mkdir()
    (photographs / "2026.jpg").write_bytes(b"")
    dated = tmp_path / "2099-01-01T000000Z"
    dated.mkdir()
    (dated / "2099.jpg").write_bytes(b"")
    assert directory_of(tmp_path) is None
    own = tmp_path / "2026-11-29T081500Z"
    (own / "heats").mkdir(parents=True)
    (tmp_path / "2098-01-01T000000Z").symlink_to(own)
    for at, held in enumerate(("runs/march.parquet", "campaigns/spring.md", "heats/oven.txt")):
        file = tmp_path / f"2097-01-01T00000{at}Z" / held
        file.parent.mkdir(parents=True)
        file.write_text("of a runner, a campaigner and a cook")
    campaign = results_store.CampaignLog("20970101T000000Z", "", "", "another", "", "0.1.0")
    results_store.write_log(tmp_path / "2096-01-01T000000Z", campaign)
    assert directory_of(tmp_path) == own
    results_store.write_log(own / "heats", replace(campaign, study="bench"))
    (own / "heats" / "runs").mkdir()
    assert directory_of(tmp_path) == own
    (own / "bench-ratios.csv").touch()
    assert directory_of(tmp_path) is None
