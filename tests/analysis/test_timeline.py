"""The samples of all streams of a run add up, sample by sample."""

from __future__ import annotations

import pytest
import synthetic

from netlab.analysis.cells import window_rates
from netlab.analysis.timeline import timelines


def test_the_window_of_a_timeline_is_what_cells_use(runs, openlab):
    some = runs[runs["direction"] == "<->"].head(3)
    samples = synthetic.intervals_of(some, openlab)
    lines = timelines(samples)
    for run_id, part in samples.groupby("run_id"):
        line = lines[lines["run_id"] == run_id]
        inside = line.loc[line["in_window"], "goodput_MBps"].to_numpy()
        assert inside == pytest.approx(window_rates(part))
        timing = openlab.timing
        samples_each = round(1000 * (timing.warmup_at() + timing.seconds) / timing.interval_ms)
        assert len(line) == samples_each and line["t_s"].is_monotonic_increasing


def test_a_sample_that_a_stream_lacks_is_left_out(runs, openlab):
    run = runs[(runs["streams"] == 4) & (runs["direction"] == "->")].head(1)
    samples = synthetic.intervals_of(run, openlab)
    last = samples[samples["stream"] == 3].index[-1]
    assert len(timelines(samples.drop(last))) == len(timelines(samples)) - 1


def test_no_samples_give_no_lines(runs, openlab):
    assert timelines(synthetic.intervals_of(runs.head(0), openlab).head(0)).empty
