"""Chart of a search: every race, every candidate and its outcome."""

import matplotlib.pyplot as plt
import pytest
from matplotlib.collections import LineCollection
from search.autotune.simulated import Simulated, tuned

from netlab.charts.chart import show
from netlab.errors import BadInput
from netlab.search.autotune.charts import search_alt, search_panels
from netlab.search.autotune.report import conclusion, table


def segments(collection) -> list:
    """Points of the lines of a collection; none of markers."""
    return collection.get_segments() if isinstance(collection, LineCollection) else []


@pytest.mark.parametrize("suffix", [".svg", ".png"])
@pytest.mark.parametrize("aim", ["goodput", "cpu"])
def test_the_chart_shows_every_race_and_who_was_dropped_when(tmp_path, suffix, aim):
    found = tuned(aim=aim)
    frame = table(found)
    drawn = search_panels(frame, conclusion(found))
    figure = drawn.figure
    titles = [ax.get_title(loc="left") for ax in figure.axes]
    assert len(titles) == len(found.outcome.stages)
    notes = [text.get_text() for ax in figure.axes for text in ax.child_axes[0].get_yticklabels()]
    assert len(notes) == len(frame)
    assert any(note.startswith("out after") for note in notes)
    for ax, (_, part) in zip(figure.axes, frame.groupby("stage"), strict=True):
        left, right = ax.get_xlim()  # an interval that fits is drawn whole
        reach = max(1.0, part["worse_percent"].abs().max())
        near = part[(part["high_percent"] < 2 * reach) & (part["low_percent"] > -2 * reach)]
        assert (near["low_percent"] >= left).all() and (near["high_percent"] <= right).all()
    path = show(drawn).save(tmp_path / f"search{suffix}")
    start = path.read_bytes()[:8]
    assert start.startswith(b"<svg " if suffix == ".svg" else b"\x89PNG")


def test_races_without_a_result_can_be_drawn():
    found = tuned(Simulated(spoil=lambda *_: "interference"))
    frame = table(found)
    plt.close(search_panels(frame).figure)
    assert "nothing chosen" in search_alt(frame)
    with pytest.raises(BadInput):
        search_panels(frame.iloc[:0])
    assert not plt.get_fignums()


def test_an_interval_beyond_the_axis_ends_in_an_arrow():
    frame = table(tuned())
    first = frame["stage"] == frame["stage"].iloc[0]
    wide = frame[first].reset_index(drop=True)
    row = wide.index[wide["low_percent"].notna()][0]
    wide.loc[row, ["worse_percent", "low_percent", "high_percent"]] = (3.0, -50_000.0, 90_000.0)
    figure = search_panels(wide).figure
    (ax,) = figure.axes
    left, right = ax.get_xlim()
    (low, high) = (
        [x for line in ax.lines if line.get_marker() == mark for x in line.get_xdata()]
        for mark in "<>"
    )
    assert low == [left] and high == [right]
    spans = [path[:, 0] for lines in ax.collections for path in segments(lines)]
    assert spans and all(left <= min(span) and max(span) <= right for span in spans)
    plt.close(figure)
