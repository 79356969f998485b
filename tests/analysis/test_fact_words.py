"""Facts of a record are shown in words, with units and without names of the code."""

from __future__ import annotations

import pytest

from netlab.analysis import fact_words
from netlab.analysis.host_facts import FACTS
from netlab.analysis.other_differences import TOP


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("mac_address", "MAC address"),
        ("link, wanted, burst_B", "link as asked: burst, B"),
        ("link, rate_bps", "link: rate, bit/s"),
        ("link, wanted, card", "link as asked: as a network card"),
        ("found, net.ipv4.tcp_rmem", "setting found: net.ipv4.tcp_rmem"),
        ("generator, versions, left", "generator: versions, left"),
        ("of_tomorrow_MBps", "of tomorrow, MB/s"),
        ("user_namespace", "lab in a user namespace"),
    ],
)
def test_a_fact_has_words_and_a_unit_also_one_that_is_not_known(name, words):
    assert fact_words.fact(name) == words


def test_the_names_of_facts_that_have_words_already_stay():
    for words in FACTS.values():
        assert fact_words.fact(words) == words
    assert TOP["user_namespace"] == fact_words.fact("user_namespace")


def test_values_that_are_true_or_not_are_yes_or_no():
    assert fact_words.value("True; False") == "yes; no"
    assert fact_words.value("Falsehood 1") == "Falsehood 1"
