"""Heats choose the variant with the highest median; a failed one loses, with its reason."""

import math

import pytest

from netlab.generators.tools import TOOLS
from netlab.qualify.bench.contenders import GENSINK, OWN_VARIANTS, contenders
from netlab.qualify.bench.heats import choose, standings
from netlab.qualify.bench.installed import Installed
from netlab.qualify.bench.rounds import Matrix, schedule

REFUSED = "refused: splice(2): Operation not permitted"
PEERS = [Installed(tool, f"/usr/bin/{tool.program}", "1") for tool in TOOLS]


@pytest.fixture
def stage():
    """One environment with a cell of each mode and every tool."""
    ((stage,), _) = schedule(Matrix(("on",), (1500,), (4,), heats=3), contenders(PEERS))
    return stage


def heats(stage, goodput_MBps) -> list[dict]:
    """Samples of all heats; `goodput_MBps` maps a heat to a number or to an error."""
    samples = []
    for heat in stage.heats:
        came = goodput_MBps(heat)
        failed = isinstance(came, str)
        what = {"goodput_MBps": None if failed else came, "error": came if failed else ""}
        samples.append({**heat.as_dict(), "variant": heat.variant.label, **what})
    return samples


def own_best(stage):
    return next(pair for pair in stage.variants if pair[1] == GENSINK and pair[0].mode == "best")


def test_the_variant_with_the_highest_median_runs_not_the_one_with_the_highest_heat(stage):
    pair = own_best(stage)
    first, steady, *_ = stage.variants[pair]
    rates = {
        first.label: {1: 9000.0, 2: 1000.0, 3: 1100.0},
        steady.label: {1: 2000.0, 2: 2100.0, 3: 1900.0},
    }
    samples = heats(stage, lambda heat: rates.get(heat.variant.label, {}).get(heat.heat, 500.0))
    assert choose(stage, samples)[pair] is steady
    standing = {
        one.variant: one
        for one in standings(stage, samples, choose(stage, samples))
        if one.contender == GENSINK
    }
    assert standing[first.label].goodput_MBps == 1100.0
    assert [label for label, one in standing.items() if one.chosen] == [steady.label]


def test_each_contender_chooses_for_itself_and_in_each_cell():
    ((stage,), _) = schedule(Matrix(("on",), (1500,), (1, 4), ("best",)), contenders(PEERS))

    def rate(heat):
        some = stage.variants[heat.cell, heat.contender]
        at = some.index(heat.variant)
        return float(at if heat.cell.streams == 4 else -at)

    chosen = choose(stage, heats(stage, rate))
    assert set(chosen) == set(stage.variants)
    for (cell, contender), variant in chosen.items():
        some = stage.variants[cell, contender]
        assert variant is (some[-1] if cell.streams == 4 else some[0])


def test_a_refused_variant_loses_and_its_reason_is_recorded(stage):
    samples = heats(stage, lambda heat: REFUSED if "splice" in heat.variant.label else 1000.0)
    assert choose(stage, samples)[own_best(stage)].send == "copy"
    refused = [
        one for one in standings(stage, samples, choose(stage, samples)) if "splice" in one.variant
    ]
    assert len(refused) == sum(one.send == "splice" for one in OWN_VARIANTS)
    for one in refused:
        assert (one.heats, one.failed, one.reason, one.chosen) == (3, 3, REFUSED, False)
        assert math.isnan(one.goodput_MBps)


def test_one_failed_heat_does_not_exclude_its_variant(stage):
    pair = own_best(stage)
    best = stage.variants[pair][-1]
    samples = heats(
        stage,
        lambda heat: (
            1000.0 if heat.variant is not best else "lost its result" if heat.heat == 2 else 1200.0
        ),
    )
    assert choose(stage, samples)[pair] is best
    (standing,) = (
        one
        for one in standings(stage, samples, choose(stage, samples))
        if one.chosen and one.contender == GENSINK
    )
    assert (standing.heats, standing.failed, standing.goodput_MBps) == (3, 1, 1200.0)


def test_of_a_contender_whose_heats_all_failed_the_first_variant_runs(stage):
    chosen = choose(stage, heats(stage, lambda _: "no server"))
    assert all(variant is stage.variants[pair][0] for pair, variant in chosen.items())


def test_a_contender_without_variants_has_no_standing(stage):
    samples = heats(stage, lambda _: 1.0)
    standing = standings(stage, samples, choose(stage, samples))
    assert {one.cell.mode for one in standing} == {"best"}
    assert len(standing) == sum(len(some) for some in stage.variants.values() if len(some) > 1)
    assert set(standing[0].as_dict()) >= {
        "mode",
        "mtu_B",
        "contender",
        "variant",
        "chosen",
        "reason",
    }
