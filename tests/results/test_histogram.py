"""Histograms of round trips: exact in their digits, merged as if measured together."""

from __future__ import annotations

import base64
import contextlib
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlab.errors import BadInput
from netlab.results import histogram

RTTS_US = st.lists(st.integers(1, 1_000_000), min_size=1, max_size=200)


@given(parts=st.lists(RTTS_US, min_size=1, max_size=5))
def test_parts_merge_to_what_all_round_trips_give_at_once(parts):
    whole = np.concatenate([np.array(part, float) for part in parts])
    texts = [histogram.encode(np.array(part, float)) for part in parts]
    merged, at_once = histogram.merged(texts), histogram.merged([histogram.encode(whole)])
    assert merged.get_total_count() == whole.size
    for percent in (0, 50, 90, 99.9, 100):
        rtt_us = merged.get_value_at_percentile(percent)
        assert rtt_us == at_once.get_value_at_percentile(percent)
        rank = max(1, int(percent / 100 * whole.size + 0.5))
        assert rtt_us == pytest.approx(np.sort(whole)[rank - 1], rel=2e-3, abs=1)


def test_ten_million_round_trips_are_10_kB():
    rtts_us = 20_000 + np.random.default_rng(7).exponential(20_000, 10_000_000)
    text = histogram.encode(rtts_us)
    assert len(text) < 10_000 and histogram.merged([text]).get_total_count() == rtts_us.size


def test_no_round_trip_has_no_histogram():
    assert histogram.encode(np.empty(0)) is None
    assert histogram.merged([]).get_total_count() == 0


def test_longer_ones_than_a_histogram_has_count_as_its_largest():
    merged = histogram.merged([histogram.encode(np.array([0.2, 1e9]))])
    assert merged.get_total_count() == 2 and merged.get_min_value() == 1
    assert merged.get_max_value() == pytest.approx(histogram.LARGEST_US, rel=2e-3)


WHOLE = histogram.encode(np.arange(1.0, 300.0))


def packed(body: bytes) -> str:
    """A text whose compressed part holds other bytes."""
    head = base64.b64decode(WHOLE)[:4]
    pressed = zlib.compress(body)
    return base64.b64encode(head + len(pressed).to_bytes(4, "big") + pressed).decode()


@pytest.mark.parametrize(
    "text",
    [
        *("", "x", "no text of base64", WHOLE[:40], WHOLE[:-8] + "AAAAAAAA"),
        *(packed(b"short"), packed(bytes(100_000_000))),
    ],
)
def test_a_damaged_text_is_refused(text):
    with pytest.raises(BadInput, match="no histogram of round trips") as refused:
        histogram.merged([WHOLE, text])
    assert refused.value.code == "E-RESULTS-024"


@given(at=st.integers(0, 200), byte=st.integers(0, 255))
def test_any_changed_byte_is_a_histogram_or_refused(at, byte):
    body = bytearray(zlib.decompress(base64.b64decode(WHOLE)[8:]))
    body[at % len(body)] = byte
    with contextlib.suppress(BadInput):
        assert histogram.merged([packed(bytes(body))]).get_total_count() >= 0
