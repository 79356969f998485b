"""Tables of the claims."""

import pytest

from netlab.errors import BadInput
from netlab.published import claims
from netlab.published.claims.tables import claims_table, verdict_counts

FOUND = claims.check_all()


def test_counts_add_up():
    frame = verdict_counts(FOUND).frame
    assert list(frame.columns) == ["holds", "rounds", "contradicted", "not checkable", "all"]
    assert frame.loc["All documents", "all"] == len(FOUND)
    assert (frame.iloc[:, :4].sum(axis=1) == frame["all"]).all()


def test_a_table_may_be_of_one_document_or_verdict():
    assert len(claims_table(FOUND).frame) == len(FOUND)
    wrong = claims_table(FOUND, verdict="contradicted")
    assert set(wrong.frame["verdict"]) == {"contradicted"}
    assert wrong.caption == f"Claims that are contradicted ({len(wrong.frame)})"
    slac = claims_table(FOUND, document="slac")
    assert "document" not in slac.frame
    assert sum(len(claims_table(FOUND, document=d).frame) for d in claims.DOCUMENTS) == len(FOUND)


def test_another_document_or_verdict_is_refused():
    with pytest.raises(BadInput, match="document"):
        claims_table(FOUND, document="another")
    with pytest.raises(BadInput, match="verdict"):
        claims_table(FOUND, verdict="true")
