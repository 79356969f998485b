"""UDP beside the streams of a group: what a study takes and refuses, and its place in keys."""

from __future__ import annotations

import pytest
from study.flows_file import keys_of, written

from netlab.errors import BadInput
from netlab.study.durations import run_s
from netlab.study.file import load
from netlab.study.groups import CROSS_S
from netlab.study.schedule import rounds

PLAIN = {"streams": [1]}


def study(tmp_path, group: dict, **more):
    return load(written(tmp_path, [], group=group, **{**PLAIN, **more}))


def test_its_rate_and_size_are_options_of_a_group_and_factors(tmp_path):
    one = study(tmp_path, {"cross_udp_Mbps": 2, "cross_udp_B": 500})
    assert (one.groups[0].cross_udp_Mbps, one.groups[0].cross_udp_B) == (2.0, 500)
    varied = study(tmp_path, {}, factors={"cross_udp_Mbps": [0, 2], "cross_udp_B": [200, 1200]})
    runs = [run for visit in rounds(varied)[0] for run in visit.runs]
    rates = {(run.group.cross_udp_Mbps, run.group.cross_udp_B) for run in runs}
    assert rates == {(rate, size_B) for rate in (0, 2) for size_B in (200, 1200)}


def test_a_run_beside_datagrams_takes_a_second_more(tmp_path):
    with_udp, without = study(tmp_path, {"cross_udp_Mbps": 2}), study(tmp_path, {})
    times_s = [run_s(one, rounds(one)[0][0].runs[0]) for one in (with_udp, without)]
    assert times_s[0] - times_s[1] == pytest.approx(CROSS_S)


def test_only_a_rate_above_0_is_in_keys_and_digests(tmp_path):
    plain, none = study(tmp_path, {}), study(tmp_path, {"cross_udp_Mbps": 0})
    assert keys_of(plain) == keys_of(none) and plain.digest() == none.digest()
    some = [
        study(tmp_path, {"cross_udp_Mbps": 2}),
        study(tmp_path, {"cross_udp_Mbps": 3}),
        study(tmp_path, {"cross_udp_Mbps": 3, "cross_udp_B": 500}),
    ]
    assert len(set.union(*map(keys_of, [plain, *some]))) == 4
    assert len({one.digest() for one in [plain, *some]}) == 4


@pytest.mark.parametrize(
    ("group", "more", "reason"),
    [
        ({"cross_udp_Mbps": -1}, {}, "expected 0.0 or more"),
        ({"cross_udp_Mbps": 2, "cross_udp_B": 8}, {}, "cross_udp_B"),
        ({"cross_udp_B": 500}, {}, "there is none; give cross_udp_Mbps"),
        ({"cross_udp_Mbps": 2, "generator": "iperf3"}, {}, "iperf3 has none beside it"),
        ({"cross_udp_Mbps": 2, "records": 100}, {}, "leave out records"),
        ({"cross_udp_Mbps": 2, "force_loss_at_s": 2.0}, {}, "could be one of its datagrams"),
        (
            {"cross_udp_Mbps": 2, "cross_udp_B": 4000},
            {"tunings": [{"name": "plain", "mtus_B": [1500], "knobs": []}]},
            "a packet of 4028 B exceeds the MTU of 1500 B",
        ),
        ({"cross_udp_Mbps": 2}, {"factors": {"cross_udp_Mbps": [1, 2]}}, "is a factor too"),
    ],
)
def test_what_no_run_can_have_is_refused_with_the_reason(tmp_path, group, more, reason):
    with pytest.raises(BadInput, match="cross_udp") as refused:
        study(tmp_path, group, **more)
    assert reason in str(refused.value)


def test_a_receiver_with_one_port_has_none_for_the_datagrams(tmp_path):
    for port, refuses in ((5201, True), ("5201-5202", False)):
        ends = [{"host": "a"}, {"host": "b", "port": port}]
        paths = {"slow": {"ends": ends}}
        if refuses:
            with pytest.raises(BadInput, match="b needs a second port"):
                study(tmp_path, {"cross_udp_Mbps": 2}, paths=paths)
        else:
            study(tmp_path, {"cross_udp_Mbps": 2}, paths=paths)
