"""Contenders have one variant in mode `same` and several in mode `best`."""

import pytest

from netlab.generators.tools import TOOLS
from netlab.qualify.bench.contenders import (
    GENSINK,
    OWN,
    OWN_VARIANTS,
    PLAIN,
    OwnVariant,
    contenders,
)
from netlab.qualify.bench.installed import Installed
from netlab.units import MIB

ALL = contenders([Installed(tool, f"/usr/bin/{tool.program}", "1") for tool in TOOLS])


def test_netlabs_own_takes_part_beside_the_tools_that_there_are():
    assert [one.name for one in ALL] == [*OWN, *(tool.name for tool in TOOLS)]
    assert [one.name for one in contenders([])] == [GENSINK, PLAIN]


def test_plain_sends_and_receives_by_copying_in_a_loop_in_both_modes():
    plain = next(one for one in ALL if one.name == PLAIN)
    variants = (*plain.variants("same"), *plain.variants("best"))
    assert {(one.engine, one.send, one.receive) for one in variants} == {("plain", "copy", "copy")}


@pytest.mark.parametrize("one", ALL, ids=lambda one: one.name)
def test_all_run_alike_where_they_are_to_and_choose_between_two_at_least_where_they_may(one):
    (same,) = one.variants("same")
    assert same.record_length_B == 131072
    best = one.variants("best")
    assert len({variant.record_length_B for variant in best}) >= 2
    # labels distinguish the heats
    assert len({variant.label for variant in best}) == len(best)


def test_only_at_its_best_does_gensink_spare_itself_copies():
    assert (ALL[0].same.send, ALL[0].same.receive) == ("copy", "copy")
    assert {one.send for one in OWN_VARIANTS} == {"copy", "splice"}
    assert {one.receive for one in OWN_VARIANTS} == {"discard"}


def test_a_label_identifies_a_variant_of_gensink():
    assert OwnVariant(MIB, "splice").label == "splice/discard 1 MiB"
    assert OwnVariant(1000, engine="plain").label == "plain copy/discard 1000 B"
