"""A benchmark is a study of its variants, and one of the best of them."""

from __future__ import annotations

from dataclasses import replace

from netlab.qualify.bench import QUICK, VARIANTS, Matrix, Variant, heats_study, rounds_study
from netlab.study.durations import run_s
from netlab.study.schedule import visits
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
