"""A forced loss decreases the windows of a study by the laws of their stacks."""

from __future__ import annotations

from e2e.long_path_store import store

from netlab.analysis.measured import load_measured
from netlab.longpath.analysis import samples_of

__all__ = ["store"]


def test_reno_halves_and_scalable_keeps_seven_eighths(store):
    lp = samples_of(load_measured(store.directory, store.directory.parent / "far.yml"))
    found = lp.recoveries.set_index("stack")
    assert set(found.index) == {"Reno", "Scalable"}
    assert (found["loss_s"].between(1.1, 1.5)).all(), found["loss_s"].tolist()
    # further losses can only reduce the remaining share; growth between samples adds to it
    assert found.loc["Reno", "kept"] < 0.6
    assert found.loc["Scalable", "kept"] < 0.95
    assert found.loc["Reno", "law_kept"] == 0.5 and found.loc["Scalable", "law_kept"] == 0.875
