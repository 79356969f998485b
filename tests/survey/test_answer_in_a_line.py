"""The line of ``netlab measure`` from its answer."""

import pytest

from netlab.survey.short_study import _in_words

ANSWER = {
    **{"group": "left -> right", "goodput_MBps": 744.2, "low_MBps": 735.9, "high_MBps": 752.7},
    **{"link_MBps": None, "percent_of_link": None, "rtt_ms": 1234.5, "mtu_B": 1500.0},
    **{"packet_B": 1500.0, "because": "loss: 1 % of the segments", "disturbed": False},
    **{"valid_runs": 3, "runs": 3, "warnings": []},
}


@pytest.mark.parametrize(
    ("goodput", "low", "high", "text"),
    [
        (744.2, 735.9, 752.7, "744 ± 8 MB/s (5954 Mb/s)"),
        (3.5723, 3.5712, 3.5734, "3.572 ± 0.001 MB/s (28.6 Mb/s)"),
        (0.005792, 0.0057, 0.005884, "0.00579 ± 0.00009 MB/s (0.0463 Mb/s)"),
    ],
)
def test_goodput_of_any_path_reads_in_both_units(goodput, low, high, text):
    answer = {**ANSWER, "goodput_MBps": goodput, "low_MBps": low, "high_MBps": high}
    assert _in_words(answer) == (
        f"left → right: {text}, link rate unknown, RTT 1230 ms, limit loss: 1 % of the segments"
    )
