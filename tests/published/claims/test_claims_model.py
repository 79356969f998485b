"""Comparison of a printed number with a recomputed one, and claims built from data."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlab.errors import BadInput
from netlab.published.claims.model import CheckResult, PrintedValue, Verdict, claims_of


def claim(text, **rule):
    """One claim with the printed text and rule given."""
    content = {"document": "a document", "claims": [{"claim": ["1", "it is", text], **rule}]}
    return claims_of(content, {"two": 2, "done": CheckResult("x", Verdict.ROUNDS, "y")})[0]


@pytest.mark.parametrize(
    "text, recomputed, verdict",
    [
        ("8512Mb/s", 8512, "holds"),
        ("about 73%", 72.744, "rounds"),
        ("about 56%", 55.5, "rounds"),
        ("56%", 55.49, "contradicted"),
        ("2185.476 megabits/sec", 2185.475555, "rounds"),
        ("2185.476 megabits/sec", 2185.4749, "contradicted"),
        ("tot:614", 716, "contradicted"),
        ("0", 0.0, "holds"),
    ],
)
def test_a_number_holds_rounds_or_is_contradicted(text, recomputed, verdict):
    assert PrintedValue(text).against(recomputed, "why").verdict == verdict


def test_a_difference_within_the_tolerance_rounds():
    assert PrintedValue("700").against(749, "", tolerance=70).verdict is Verdict.ROUNDS
    assert PrintedValue("700").against(771, "", tolerance=70).verdict is Verdict.CONTRADICTED


def test_the_recomputed_value_is_shown_with_two_more_digits():
    assert PrintedValue("73%").against(72.7443609, "", unit="%").recomputed == "72.74 %"
    assert PrintedValue("59.991 s").against(59.991, "", unit="s").recomputed == "59.991 s"


@given(st.decimals(0, 10**6, places=3))
def test_a_number_rounds_to_its_own_print(value):
    exact = float(value)
    assert PrintedValue(f"{exact:.1f} MB/s").against(exact, "").verdict in ("holds", "rounds")


def test_text_without_a_number_cannot_be_compared():
    with pytest.raises(BadInput, match="contains no number"):
        PrintedValue("much higher").against(1, "")


def test_a_value_is_compared_with_the_printed_number():
    result = claim("4 MB/s", value="two + two", unit="MB/s", why="twice {two}").checked()
    assert result == CheckResult("4 MB/s", Verdict.HOLDS, "twice 2")
    assert claim("5", value="two + two").checked().verdict is Verdict.CONTRADICTED
    assert claim("5", value="two + two", tolerance=1).checked().verdict is Verdict.ROUNDS


def test_a_condition_holds_or_is_contradicted():
    more = claim("more than 1", holds="two > claimed", shows="{two:.1f}", why="as counted")
    assert more.checked() == CheckResult("2.0", Verdict.HOLDS, "as counted")
    assert claim("less", holds="two < 1").checked().verdict is Verdict.CONTRADICTED


def test_a_check_gives_its_own_result():
    assert claim("3", check="done").checked() == CheckResult("x", Verdict.ROUNDS, "y")


def test_a_claim_without_a_rule_is_not_checkable():
    assert claim("5", why="no data").checked() == CheckResult("–", Verdict.NOT_CHECKABLE, "no data")
    assert claim("5", shows="{claimed + two:g}").checked().recomputed == "7"


def test_names_may_be_given_to_parts_of_the_expressions():
    named = claim("16", let={"four": "two + two", "square": "four * four"}, value="square")
    assert named.checked().verdict is Verdict.HOLDS


def test_claims_keep_their_order_and_document():
    records = [{"claim": [place, "it is", "2"], "value": "two"} for place in ("b", "a")]
    claims = claims_of({"document": "a document", "claims": records}, {"two": 2})
    assert [(c.document, c.place) for c in claims] == [("a document", "b"), ("a document", "a")]


@pytest.mark.parametrize(
    "record, problem",
    [
        ({"value": "1"}, "claim 1 is not usable: 'claim'"),
        ({"claim": ["1", "it is"], "value": "1"}, "claim 1 is not usable: not enough values"),
        ({"claim": ["1", "it is", "1"], "vlaue": "1"}, "unexpected keyword argument 'vlaue'"),
        ({"claim": ["1", "it is", "1"], "value": "1", "holds": "1"}, "more than one rule"),
    ],
)
def test_an_unusable_claim_is_refused(record, problem):
    with pytest.raises(BadInput, match=problem):
        claims_of({"document": "a document", "claims": [record]}, {})
