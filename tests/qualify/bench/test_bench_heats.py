"""Heats choose the variant with the highest median; a failed one loses."""

from __future__ import annotations

import pandas as pd
import pytest

from netlab.qualify.bench import choose

KEY = ("best", "on", 1500, 4)


def heats(rates: dict[str, list[float]], contender: str = "gensink") -> pd.DataFrame:
    cell = dict(zip(("mode", "offloads", "mtu_B", "streams"), KEY, strict=True))
    return pd.DataFrame(
        [
            {**cell, "contender": contender, "variant": label, "goodput_MBps": rate}
            for label, some in rates.items()
            for rate in some
        ]
    )


@pytest.mark.parametrize(
    ("copy", "splice", "best"),
    [
        # the median, not the highest heat
        ([9000.0, 1000.0, 1100.0], [2000.0, 2100.0, 1900.0], "splice/discard 1 MiB"),
        ([1000.0, 1100.0], [float("nan")] * 2, "copy/discard 1 MiB"),
        ([1000.0, 1100.0], [float("nan"), 1200.0], "splice/discard 1 MiB"),
        # of a contender whose heats all failed the first one
        ([float("nan")], [float("nan")], "copy/discard 1 MiB"),
    ],
)
def test_the_variant_with_the_highest_median_is_chosen(copy, splice, best):
    found = choose(heats({"splice/discard 1 MiB": splice, "copy/discard 1 MiB": copy}))
    assert found == {(*KEY, "gensink"): best}


def test_each_contender_and_cell_chooses_for_itself():
    first, last = "copy/copy 1 MiB", "copy/copy 128 KiB"
    frames = [
        heats({first: [2.0], last: [1.0]}, "nuttcp"),
        heats({first: [1.0], last: [2.0]}, "iperf2"),
        heats({first: [1.0], last: [2.0]}, "nuttcp").assign(streams=1),
    ]
    assert choose(pd.concat(frames)) == {
        (*KEY, "nuttcp"): first,
        (*KEY, "iperf2"): last,
        (*KEY[:3], 1, "nuttcp"): last,
    }
