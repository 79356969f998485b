"""Contenders have one variant in mode `same` and several in mode `best`."""

import os
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netlab.errors import BadInput
from netlab.generators.tools import TOOLS
from netlab.qualify.bench_contenders import (
    GENSINK,
    OWN,
    OWN_VARIANTS,
    PLAIN,
    QUICK,
    Installed,
    Matrix,
    OwnVariant,
    contenders,
    find_tools,
    schedule,
)
from netlab.units import MIB

ALL = contenders([Installed(tool, f"/usr/bin/{tool.program}", "1") for tool in TOOLS])


def test_netlabs_own_takes_part_beside_the_tools_that_there_are():
    assert [one.name for one in ALL] == [*OWN, *(tool.name for tool in TOOLS)]
    assert [one.name for one in contenders([])] == [GENSINK, PLAIN]


def test_plain_sends_and_receives_by_copying_in_a_loop_in_both_modes():
    plain = next(one for one in ALL if one.name == PLAIN)
    variants = (plain.same, *plain.best)
    assert {(one.engine, one.send, one.receive) for one in variants} == {("plain", "copy", "copy")}


@pytest.mark.parametrize("one", ALL, ids=lambda one: one.name)
def test_all_run_alike_where_they_are_to_and_choose_between_two_at_least_where_they_may(one):
    assert one.same.record_length_B == 131072
    best = one.best
    assert len({variant.record_length_B for variant in best}) >= 2
    # labels distinguish the heats
    assert len({variant.label for variant in best}) == len(best)


def test_only_at_its_best_does_gensink_spare_itself_copies():
    assert (ALL[0].same.send, ALL[0].same.receive) == ("copy", "copy")
    assert {one.send for one in OWN_VARIANTS} == {"copy", "splice"}
    assert {one.receive for one in OWN_VARIANTS} == {"discard"}


def test_a_label_identifies_a_variant_of_gensink():
    assert OwnVariant(MIB, send="splice").label == "splice/discard 1 MiB"
    assert OwnVariant(1000, engine="plain").label == "plain copy/discard 1000 B"


# The external tools are found on PATH or where the user says.


def program(directory: Path, name: str, says: str) -> Path:
    path = directory / name
    path.write_text(f"#!/bin/sh\necho '{says}'\n")
    path.chmod(0o755)
    return path


def test_tools_are_found_on_path_and_by_their_variables(tmp_path):
    (tmp_path / "bin").mkdir()
    program(tmp_path / "bin", "iperf3", "iperf 3.99")
    newer = program(tmp_path, "my-nuttcp", "nuttcp-9")
    environment = {"PATH": str(tmp_path / "bin"), "NETLAB_NUTTCP": str(newer)}
    found = {one.tool.name: one for one in find_tools(environment=environment)}
    assert set(found) == {"iperf3", "nuttcp"}
    assert found["iperf3"].version == "iperf 3.99"
    assert found["nuttcp"].program == str(newer)
    assert [one.tool.name for one in find_tools(("nuttcp",), environment)] == ["nuttcp"]


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


def test_the_installed_iperf3_says_its_version():
    (found,) = find_tools(("iperf3",), dict(os.environ))
    assert found.version.startswith("iperf 3")


# The order of a benchmark's transfers is shuffled, interleaved and reproducible.

MATRIX = Matrix(rounds=3, seconds=1, heats=2, seed=7)


def all_of(stages, kind):
    """The heats or the turns of all stages."""
    return [one for stage in stages for one in getattr(stage, kind)]


@st.composite
def matrices(draw):
    """Small benchmarks with arbitrary levels."""

    def some(values):
        return tuple(draw(st.lists(st.sampled_from(values), min_size=1, unique=True)))

    return Matrix(
        some(("on", "off")),
        some((1500, 9000)),
        some((1, 4, 200)),
        some(("same", "best")),
        rounds=draw(st.integers(1, 3)),
        heats=draw(st.integers(1, 4)),
        most_variants=draw(st.integers(1, 5)),
        seed=draw(st.integers(0, 2**32)),
    )


def test_the_matrix_is_the_one_that_is_asked_for():
    cells = Matrix().cells
    assert len(cells) == 2 * 2 * 4 * 2
    assert {cell.streams for cell in cells} == {1, 4, 20, 200}
    assert {cell.mtu_B for cell in cells} == {1500, 9000}
    assert len(QUICK.cells) < 6


def test_the_same_seed_gives_the_same_order_and_another_seed_another():
    first, _ = schedule(MATRIX, ALL)
    assert schedule(MATRIX, ALL)[0] == first
    other, _ = schedule(replace(MATRIX, seed=8), ALL)
    for kind in ("turns", "heats"):
        mine, others = ([replace(one, order=0) for one in all_of(s, kind)] for s in (first, other))
        assert mine != others
        assert Counter(mine) == Counter(others)


@settings(max_examples=40, deadline=None)
@given(matrix=matrices(), taking_part=st.lists(st.sampled_from(ALL), min_size=1, unique=True))
def test_every_variant_has_its_heats_and_every_contender_its_turn_in_every_cell_and_round(
    matrix, taking_part
):
    stages, left_out = schedule(matrix, taking_part)
    assert schedule(matrix, taking_part) == (stages, left_out)
    cannot = {(out.cell, out.contender) for out in left_out}
    wanted = Counter(
        (number, cell, one.name, variant)
        for number in range(1, matrix.heats + 1)
        for cell in matrix.cells
        for one in taking_part
        if cell.mode == "best" and (cell, one.name) not in cannot
        if min(len(one.best), matrix.most_variants) > 1
        for variant in one.best[: matrix.most_variants]
    )
    heats = all_of(stages, "heats")
    assert Counter((h.number, h.cell, h.contender, h.variant) for h in heats) == wanted
    turns = Counter(
        (number, cell, one.name)
        for number in range(1, matrix.rounds + 1)
        for cell in matrix.cells
        for one in taking_part
        if (cell, one.name) not in cannot
    )
    assert Counter((t.number, t.cell, t.contender) for t in all_of(stages, "turns")) == turns
    environments = [stage.environment for stage in stages]
    assert len(environments) == len(set(environments))
    for stage in stages:
        for kind in (stage.heats, stage.turns):
            numbers = [one.number for one in kind]
            assert numbers == sorted(numbers)
            levels = {(one.cell.offloads, one.cell.mtu_B) for one in kind}
            assert levels <= {(stage.environment.offloads, stage.environment.mtu_B)}
    whole = [one.order for stage in stages for one in (*stage.heats, *stage.turns)]
    assert whole == list(range(len(whole)))


def test_heats_are_interleaved_and_not_always_in_one_order():
    matrix = Matrix(("on",), (1500,), (1,), ("best",), heats=20)
    heats = all_of(schedule(matrix, ALL)[0], "heats")
    orders = {
        tuple((heat.contender, heat.variant.label) for heat in heats if heat.number == number)
        for number in range(1, 21)
    }
    assert len(orders) > 15
    changes = sum(a.contender != b.contender for a, b in pairwise(heats))
    assert changes > len(heats) / 2


def test_heats_are_short_and_few_beside_the_rounds():
    usual = [one for one in ALL if one.name != "neper"]
    for matrix, most_s in ((Matrix(), 12 * 60), (QUICK, 5 * len(usual))):
        heats = all_of(schedule(matrix, usual)[0], "heats")
        # a transfer takes some 0.2 s beyond its own length
        assert len(heats) * (matrix.heat_s + 0.2) < most_s


def test_contenders_are_interleaved_and_not_always_in_one_order():
    matrix = Matrix(("on",), (1500,), (1,), ("same",), rounds=20)
    two = [one for one in ALL if one.name in (GENSINK, "iperf3")]
    turns = all_of(schedule(matrix, two)[0], "turns")
    firsts = {
        next(turn.contender for turn in turns if turn.number == number) for number in range(1, 21)
    }
    assert firsts == {GENSINK, "iperf3"}


def test_a_tool_is_left_out_of_cells_beyond_its_streams_with_the_reason():
    stages, left_out = schedule(MATRIX, ALL)
    limited = {"iperf3", "nuttcp"}
    assert {(out.contender, out.cell.streams) for out in left_out} == {(n, 200) for n in limited}
    assert all("128" in out.reason for out in left_out)
    assert not any(
        t.contender in limited and t.cell.streams == 200 for t in all_of(stages, "turns")
    )


@pytest.mark.parametrize(
    "wrong",
    [
        {"streams": (0,)},
        {"mtus_B": (575,)},
        {"rounds": 0},
        {"seconds": 0},
        {"heats": 0},
        {"queues": 0},
        {"queues": 257},
        {"modes": ()},
    ],
)
def test_a_level_that_cannot_be_is_refused_by_name(wrong):
    with pytest.raises(BadInput, match=next(iter(wrong))):
        replace(MATRIX, **wrong)
