"""The theme of all figures."""

import matplotlib as mpl

from netlab.charts.theme import theme


def test_the_theme_is_set_inside_its_context_only():
    before = dict(mpl.rcParams)
    with theme():
        assert mpl.rcParams["svg.hashsalt"] == "netlab"
        inside = mpl.rcParams["axes.spines.top"]
    assert inside is False
    assert dict(mpl.rcParams) == before
