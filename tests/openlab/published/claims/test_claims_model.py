"""Comparison of a printed number with a recomputed one, and claims built from data."""

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlab.errors import BadInput
from netlab.openlab import published
from netlab.openlab.published import claims
from netlab.openlab.published.claims import notes_values, report_values
from netlab.openlab.published.claims.claim import CheckResult, PrintedValue, Verdict, claims_of
from netlab.openlab.published.claims.tables import claims_table, verdict_counts


def claim(text, **rule):
    """One claim with the printed text and rule given."""
    content = {"document": "a document", "claims": [{"claim": ["1", "it is", text], **rule}]}
    return claims_of(content, {"two": 2, "done": CheckResult("x", Verdict.ROUNDS, "y")})[0]


@pytest.mark.parametrize(
    "text, recomputed, tolerance, verdict",
    [
        ("8512Mb/s", 8512, 0, "holds"),
        ("about 73%", 72.744, 0, "rounds"),
        ("about 56%", 55.5, 0, "rounds"),
        ("56%", 55.49, 0, "contradicted"),
        ("2185.476 megabits/sec", 2185.475555, 0, "rounds"),
        ("2185.476 megabits/sec", 2185.4749, 0, "contradicted"),
        ("tot:614", 716, 0, "contradicted"),
        ("0", 0.0, 0, "holds"),
        ("700", 749, 70, "rounds"),
        ("700", 771, 70, "contradicted"),
    ],
)
def test_a_number_holds_rounds_or_is_contradicted(text, recomputed, tolerance, verdict):
    assert PrintedValue(text).against(recomputed, "why", tolerance=tolerance).verdict == verdict


def test_the_recomputed_value_is_shown_with_two_more_digits_and_text_has_no_number():
    assert PrintedValue("73%").against(72.7443609, "", unit="%").recomputed == "72.74 %"
    assert PrintedValue("59.991 s").against(59.991, "", unit="s").recomputed == "59.991 s"
    with pytest.raises(BadInput, match="contains no number"):
        PrintedValue("much higher").against(1, "")


@given(st.decimals(0, 10**6, places=3))
def test_a_number_rounds_to_its_own_print(value):
    exact = float(value)
    assert PrintedValue(f"{exact:.1f} MB/s").against(exact, "").verdict in ("holds", "rounds")


@pytest.mark.parametrize(
    ("text", "rule", "recomputed", "verdict", "why"),
    [
        ("4 MB/s", {"value": "two + two", "unit": "MB/s", "why": "twice {two}"}, "4 MB/s", "holds",
         "twice 2"),
        ("5", {"value": "two + two"}, "4", "contradicted", ""),
        ("5", {"value": "two + two", "tolerance": 1}, "4", "rounds", ""),
        ("16", {"let": {"four": "two + two", "square": "four * four"}, "value": "square"}, "16",
         "holds", ""),
        ("more than 1", {"holds": "two > claimed", "shows": "{two:.1f}", "why": "as counted"},
         "2.0", "holds", "as counted"),
        ("less", {"holds": "two < 1"}, "–", "contradicted", ""),
        ("3", {"check": "done"}, "x", "rounds", "y"),
        ("5", {"why": "no data"}, "–", "not checkable", "no data"),
        ("5", {"shows": "{claimed + two:g}"}, "7", "not checkable", ""),
    ],
)  # fmt: skip
def test_a_claim_is_checked_by_its_rule(text, rule, recomputed, verdict, why):
    assert claim(text, **rule).checked() == CheckResult(recomputed, verdict, why)


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
    for key, value in (("document", "another"), ("verdict", "true")):
        with pytest.raises(BadInput, match=key):
            claims_table(FOUND, **{key: value})


CONTRADICTED = {
    ("openlab-report", "4.1.2", "1500 B with kernel tuning drops after"),
    ("openlab-report", "4.2.1", "Curves for kernel tuning lie in between"),
    ("openlab-report", "4.2.2", "Charts for kernel tuning and no tuning are almost identical"),
    ("openlab-report", "4.2.3", "With all tuning the throughput is almost constant"),
    ("openlab-preliminary", "Set 2, MTU 16114, 4 streams", "Total of 4 streams of 179 MB/s"),
    (
        "openlab-preliminary",
        "Preliminary conclusions",
        "With MTU 1500 improved parameters degrade the rate",
    ),
    ("slac", "tcp memory comparison", "The left plot has bigger tcp memory values"),
    ("slac", "Top and rapid", "The equivalent of high quality DVD movies in a minute"),
    ("slac", "ping at Sunnyvale", "Round trip of the path to Geneva"),
    ("slac", "ping at Sunnyvale", "mdev of the replies"),
    ("slac", "ping at Geneva", "mdev of the replies"),
    ("solaris-linux", "ENV", "Data transferred by iperf"),
    ("solaris-linux", "Before Tuning", "The MTU iperf prints"),
}


def _one(statement):
    return FOUND[FOUND["statement"] == statement].iloc[0]


def test_the_claims_of_all_five_documents_are_complete_and_listed_once():
    counts = FOUND["document"].value_counts()
    assert set(counts.index) == set(claims.DOCUMENTS) and counts.min() >= 9
    said = ["document", "place", "statement", "claimed"]
    assert list(FOUND.columns) == [*said, "recomputed", "verdict", "why"]
    assert not FOUND.isna().any(axis=None) and not FOUND.duplicated(said).any()
    assert (FOUND.map(str.strip) != "").all(axis=None)
    assert set(FOUND["verdict"]) == {str(verdict) for verdict in Verdict}
    assert not FOUND["why"].str.contains("\n").any()


def test_exactly_these_claims_are_contradicted():
    wrong = FOUND[FOUND["verdict"] == "contradicted"]
    assert set(wrong[["document", "place", "statement"]].itertuples(index=False, name=None)) == (
        CONTRADICTED
    )


def test_the_misprint_in_the_notes_is_found():
    (row,) = notes_values.misprints().to_dict("records")
    assert (row["tuning"], row["mtu_B"], row["streams"]) == ("kernel", 16114, 4)
    assert (row["stated_total_MBps"], row["streams_times_MBps"]) == (614, 716)


def test_every_stated_total_is_a_claim():
    totals = FOUND[FOUND["claimed"].str.startswith("tot:")]
    stated = published.load("openlab-2003-preliminary")["stated_total_MBps"].dropna()
    assert list(totals["claimed"]) == [f"tot:{total:g}" for total in stated]
    counts = totals["verdict"].value_counts().to_dict()
    assert counts == {"rounds": 21, "holds": 5, "contradicted": 1}


@pytest.mark.parametrize(
    "each, streams, total, verdict",
    [
        (100, 4, 400, "holds"),
        (100, 4, 404, "rounds"),
        (100, 4, 396, "rounds"),
        (100, 4, 405, "contradicted"),
        (58, 12, 708, "rounds"),
        (58, 12, 709, "contradicted"),
    ],
)
def test_a_total_may_be_one_MBps_a_stream_off(each, streams, total, verdict):
    result = notes_values.check_total(each, streams, PrintedValue(f"tot:{total}"))
    assert result.verdict == verdict


@pytest.mark.parametrize(
    "statement, recomputed, verdict",
    [
        ("64 bit at 133 MHz, in bits", "8512 Mb/s", "holds"),
        ("The goal of 80% of PCI-X speed was not reached", "72.7 %", "holds"),
        ("The most is this much of the 800 MB/s", "55.5 %", "rounds"),
        ("Twice the half-speed slot's 470 MB/s is", "940 MB/s", "holds"),
        ("Throughput", "2185.47555 Mb/s", "rounds"),
        ("Total time", "59.991 s", "holds"),
        ("Data transferred in one minute", "16.39 GB", "holds"),
        ("The equivalent of high quality DVD movies in a minute", "3.49 discs", "contradicted"),
        ("Bandwidth of 900 MBytes in 7.9 s", "955.7 Mb/s", "rounds"),
        ("Improvement over the initial test", "3.89 times", "holds"),
        ("80MB/s works out to", "640 Mb/s", "holds"),
    ],
)
def test_well_known_claims_come_out(statement, recomputed, verdict):
    row = _one(statement)
    assert (row["recomputed"], row["verdict"]) == (recomputed, verdict)


def test_verdicts_follow_the_data(monkeypatch):
    """A changed table 3 changes its maximum, its per cent and the verdicts on them."""
    changed = published.load("openlab-2003")
    changed.loc[changed["table"] == 3, "throughput_MBps"] *= 1.2
    changed["percent_of_bus"] = 100 * changed["throughput_MBps"] / changed["bus_MBps"]
    monkeypatch.setattr(report_values, "report", lambda: changed)
    again = claims.check_all()
    moved = again[again["verdict"] != FOUND["verdict"]]
    assert "Highest value of table 3" in set(moved["statement"])
    assert "The goal of 80% of PCI-X speed was not reached" in set(moved["statement"])
    pd.testing.assert_frame_equal(
        again[again["document"] == "slac"], FOUND[FOUND["document"] == "slac"]
    )
