"""Chart of a search: every race, every candidate and its outcome."""

import matplotlib.pyplot as plt
import pytest
from autotune.simulated import Simulated, tuned

from netlab.autotune.report import conclusion, table
from netlab.charts.autotune import save_chart, search_alt, search_figure
from netlab.errors import BadInput


@pytest.mark.parametrize("suffix", [".svg", ".png"])
@pytest.mark.parametrize("aim", ["goodput", "cpu"])
def test_the_chart_shows_every_race_and_who_was_dropped_when(tmp_path, suffix, aim):
    found = tuned(aim=aim)
    frame = table(found)
    figure = search_figure(frame, conclusion(found))
    titles = [ax.get_title(loc="left") for ax in figure.axes]
    assert len(titles) == len(found.outcome.stages)
    notes = [text.get_text() for ax in figure.axes for text in ax.texts]
    assert len(notes) == len(frame)
    assert any(note.startswith("out after") for note in notes)
    path = save_chart(figure, tmp_path / f"search{suffix}", search_alt(frame))
    start = path.read_bytes()[:8]
    assert start.startswith(b"<svg " if suffix == ".svg" else b"\x89PNG")


def test_races_without_a_result_can_be_drawn():
    found = tuned(Simulated(spoil=lambda *_: "interference"))
    frame = table(found)
    plt.close(search_figure(frame))
    assert "nothing chosen" in search_alt(frame)
    with pytest.raises(BadInput):
        search_figure(frame.iloc[:0])
    assert not plt.get_fignums()
