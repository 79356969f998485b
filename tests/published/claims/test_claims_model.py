"""How a printed number is held against a recomputed one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlab.errors import BadInput
from netlab.published.claims.model import Claim, Claims, Printed, Verdict, stands, uncheckable


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
    assert Printed(text).against(recomputed, "why").verdict == verdict


def test_an_allowance_turns_off_into_rounds():
    assert Printed("700").against(749, "", allowance=70).verdict is Verdict.ROUNDS
    assert Printed("700").against(771, "", allowance=70).verdict is Verdict.CONTRADICTED


def test_the_recomputed_value_is_shown_with_two_more_digits():
    assert Printed("73%").against(72.7443609, "", unit="%").recomputed == "72.74 %"
    assert Printed("59.991 s").against(59.991, "", unit="s").recomputed == "59.991 s"


@given(st.decimals(0, 10**6, places=3))
def test_a_number_rounds_to_its_own_print(value):
    exact = float(value)
    assert Printed(f"{exact:.1f} MB/s").against(exact, "").verdict in ("holds", "rounds")


def test_words_without_a_number_cannot_be_compared():
    with pytest.raises(BadInput, match="holds no number"):
        Printed("much higher").against(1, "")


def test_a_condition_holds_or_is_contradicted():
    assert stands(True, "", "").verdict is Verdict.HOLDS
    assert stands(False, "", "").verdict is Verdict.CONTRADICTED
    assert uncheckable("no data").verdict is Verdict.NOT_CHECKABLE


def test_claims_are_collected_in_order_with_their_document():
    claims = Claims("a document")
    claims("1", "first", "1")(lambda claimed: claimed.against(1, "one"))
    claims("2", "second", "2")(lambda claimed: claimed.against(3, "three"))
    assert [(c.document, c.place, str(c.check().verdict)) for c in claims] == [
        ("a document", "1", "holds"),
        ("a document", "2", "contradicted"),
    ]


def test_claims_from_data_are_made_when_listed():
    claims, made = Claims("a document"), []

    @claims.from_data
    def _():
        made.append(1)
        return [Claim("a document", "1", "one", Printed("1"), lambda claimed: uncheckable("no"))]

    assert made == []
    assert len(list(claims)) == len(made) == 1
