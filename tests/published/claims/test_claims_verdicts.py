"""Verdicts of all claims, recomputed from the published data."""

import pandas as pd
import pytest

from netlab import published
from netlab.published import claims
from netlab.published.claims import openlab, preliminary
from netlab.published.claims.model import PrintedValue, Verdict

FOUND = claims.check_all()

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


def _one(statement, document=None):
    chosen = FOUND["statement"] == statement
    if document:
        chosen &= FOUND["document"] == document
    assert chosen.any(), statement
    return FOUND[chosen].iloc[0]


def test_there_are_claims_of_all_five_documents():
    counts = FOUND["document"].value_counts()
    assert set(counts.index) == set(claims.DOCUMENTS)
    assert counts.min() >= 9
    assert len(FOUND) >= 40


def test_every_claim_has_a_place_a_value_a_verdict_and_a_reason():
    assert list(FOUND.columns) == [
        "document", "place", "statement", "claimed", "recomputed", "verdict", "why",
    ]  # fmt: skip
    assert not FOUND.isna().any(axis=None)
    assert (FOUND.map(str.strip) != "").all(axis=None)
    assert set(FOUND["verdict"]) == {str(verdict) for verdict in Verdict}
    assert not FOUND["why"].str.contains("\n").any()


def test_no_claim_is_listed_twice():
    assert not FOUND.duplicated(["document", "place", "statement", "claimed"]).any()


def test_exactly_these_claims_are_contradicted():
    wrong = FOUND[FOUND["verdict"] == "contradicted"]
    assert set(wrong[["document", "place", "statement"]].itertuples(index=False, name=None)) == (
        CONTRADICTED
    )


def test_the_misprint_in_the_notes_is_found():
    found = preliminary.misprints()
    assert len(found) == 1
    row = found.iloc[0]
    assert (row["tuning"], row["mtu_B"], row["streams"]) == ("kernel", 16114, 4)
    assert (row["stated_total_MBps"], row["streams_times_MBps"]) == (614, 716)


def test_every_stated_total_is_a_claim():
    totals = FOUND[FOUND["claimed"].str.startswith("tot:")]
    stated = published.load("openlab-2003-preliminary")["stated_total_MBps"].dropna()
    assert list(totals["claimed"]) == [f"tot:{total:g}" for total in stated]
    assert totals["verdict"].value_counts().to_dict() == {
        "rounds": 21, "holds": 5, "contradicted": 1,
    }  # fmt: skip


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
    result = preliminary.check_total(each, streams, PrintedValue(f"tot:{total}"))
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
    monkeypatch.setattr(openlab, "report", lambda: changed)
    again = claims.check_all()
    moved = again[again["verdict"] != FOUND["verdict"]]
    assert "Highest value of table 3" in set(moved["statement"])
    assert "The goal of 80% of PCI-X speed was not reached" in set(moved["statement"])
    pd.testing.assert_frame_equal(
        again[again["document"] == "slac"], FOUND[FOUND["document"] == "slac"]
    )
