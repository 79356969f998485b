"""Published shares, indices, ratios and steps of two factors beside measured cells."""

from __future__ import annotations

import pytest
import synthetic
from refusals import refused
from uneven_flows import BBR_SHARE, measured, stranger

from netlab.errors import BadInput
from netlab.openlab import own_table, published_beside, sentences
from netlab.openlab import then_and_now as tn

SHARES = """\
published:
  title: Theirs
  source: A paper, figure 2
  quantity: share_bbr_percent
  fluctuation_percent: 10
  cells:
    - {queue_B: 9000, share_bbr_percent: 80}
    - {queue_B: 20000, share_bbr_percent: 50}
    - {queue_B: 60000, share_bbr_percent: 35}
"""


def beside(tmp_path, text: str, change=None):
    return measured(stranger(tmp_path, text), tmp_path, change)


def test_published_shares_stand_beside_the_measured_ones(tmp_path):
    m = beside(tmp_path, SHARES)
    pairs = published_beside.paired(m).set_index("queue_B")
    for queue_B, share in BBR_SHARE.items():
        assert pairs.loc[queue_B, "now"] == pytest.approx(100 * share, abs=4)
        assert pairs.loc[queue_B, "now_low"] < pairs.loc[queue_B, "now_high"] <= 100
    found = published_beside.steps_beside(m).set_index("step")
    assert found.loc["9000 to 20000", "verdict"] == tn.HOLDS
    assert found.loc["20000 to 60000", "verdict"] == tn.LARGER  # x0.4, published x0.7
    said = repr(sentences.published_beside(m))
    assert said.startswith("Share of bbr is at another level than published in 1 of 3 cells")
    assert "share of bbr" in own_table.picture(m).charts[0].alt.lower()
    assert "Share of bbr" in own_table.cells(m).note


@pytest.mark.parametrize("quantity", ["jain_index", "retransmits", "rtt_us"])
def test_an_index_retransmits_and_latency_stand_beside_published_ones(tmp_path, quantity):
    text = SHARES.replace("share_bbr_percent", quantity).replace(": 80}", ": 0.7}")
    values = {"retransmits": 300, "jain_index": 0.8}
    m = beside(tmp_path, text, synthetic.setting(values))
    pairs = published_beside.paired(m)
    assert len(pairs) == 3 and pairs["now"].gt(0).all()
    if quantity == "retransmits":
        assert pairs["now"].to_numpy() == pytest.approx(300)
    assert set(published_beside.steps_beside(m)["verdict"]) <= set(tn.BESIDE)


def test_no_value_has_a_ratio_to_zero_and_the_page_says_so(tmp_path):
    m = beside(tmp_path, SHARES.replace("share_bbr_percent", "retransmits"))  # all 0
    found = published_beside.steps_beside(m)
    assert set(found["verdict"]) == {"cannot tell"}
    assert "a measured value is 0" in repr(sentences.published_beside(m))
    assert "nan" not in repr(own_table.steps(m)) + repr(own_table.cells(m))


STEPS = """\
published:
  title: Theirs
  source: A paper, section 4
  quantity: share_bbr_percent
  fluctuation_percent: 10
  steps:
    - {before: {queue_B: 9000}, after: {queue_B: 60000}, ratio: 0.25}
    - {before: {queue_B: 9000, streams: 8}, after: {queue_B: 20000, streams: 8}, ratio: 2.0}
    - {before: {queue_B: 9000}, after: {queue_B: 70000}, at: {streams: 8}, ratio: 2.0}
"""


def test_ratios_without_cells_and_steps_of_two_factors_are_judged(tmp_path):
    m = beside(tmp_path, STEPS)
    one, two, absent = published_beside.steps_beside(m).to_dict("records")
    assert one["verdict"] == tn.HOLDS and one["now_ratio"] == pytest.approx(0.25, abs=0.05)
    assert two["factor"] == "queue_B, streams" and two["verdict"] == tn.DOES_NOT_HOLD
    assert absent["verdict"] == "cannot tell"
    assert absent["missing"] == "no measured cell has streams 8, queue_B 70000"
    assert "missing: no measured cell has streams 8, queue_B 70000." in repr(
        sentences.published_beside(m)
    )
    assert len(own_table.picture(m).charts) == 1 and "nan" not in repr(own_table.steps(m))


def test_below_three_rounds_there_is_no_verdict_and_the_page_says_what_is_missing(tmp_path):
    m = beside(tmp_path, SHARES, synthetic.only(round=[1, 2]))
    assert set(published_beside.steps_beside(m)["verdict"]) == {"cannot tell"}
    text = "2 of the 3 rounds that a verdict needs"
    assert text in repr(sentences.published_beside(m))
    assert text in repr(own_table.steps(m).frame.to_dict())


OUTER = "outer: {kernel: [old, new]}\n"


def of_kernel(*kernels):
    return lambda row: any(f'"kernel":"{name}"' in row["factors"] for name in kernels)


def test_a_cell_that_fits_one_measured_outer_level_is_not_ambiguous(tmp_path):
    one = beside(tmp_path, OUTER + SHARES, of_kernel("new"))
    assert len(one.cells) == 6 and len(published_beside.paired(one)) == 3
    both = beside(tmp_path, OUTER + SHARES)
    assert published_beside.paired(both).empty
    assert "queue_B 9000 fits 2 measured cells: name a level of kernel" in repr(
        own_table.cells(both)
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("quantity: share_bbr_percent", "quantity: colour"),
        ("ratio: 0.25", "ratio: 0"),
        ("after: {queue_B: 60000}", "after: {streams: 8}"),
        ("after: {queue_B: 60000}", "after: {queue_B: 9000}"),
    ],
)
def test_a_mistake_is_refused(tmp_path, old, new):
    assert old in STEPS
    with pytest.raises(BadInput, match="published"):
        stranger(tmp_path, STEPS.replace(old, new, 1))


def test_a_step_of_something_else_is_refused(tmp_path):
    with refused(BadInput, "E-STUDY-082", match="colour"):
        stranger(tmp_path, STEPS.replace("at: {streams: 8}", "at: {colour: 8}"))


def test_a_table_needs_cells_or_steps(tmp_path):
    text = "published: {title: Theirs, source: A paper}\n"
    with pytest.raises(BadInput, match="needs a file, cells or steps"):
        stranger(tmp_path, text)
