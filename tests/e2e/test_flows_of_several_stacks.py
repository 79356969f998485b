"""Unequal flows on a slow lab path: dealt as asked, and shared as is published of them."""

from e2e.conftest import run_on_lab
from studies import two_hosts

import netlab

FLOWS, QUEUES_B = 5, (6000, 20_000, 60_000)


def test_one_bbr_beside_four_cubic_takes_more_than_its_part_of_a_short_queue(
    tmp_path, machine_untouched
):
    """2.2 Mb/s are 0.43 Mb/s of payload a flow.

    BBR takes more than its part where the queue is a fraction of the bandwidth-delay product, and
    less of a deep one (Hock, Bless, Zitterbart, "Experimental evaluation of BBR congestion
    control", ICNP 2017).
    """
    emulator = {"with": "netlab", "rtt_ms": 40, "rate_Mbps": 2.2, "queue_B": QUEUES_B[0]}
    content = two_hosts(
        "mixed",
        {"emulator": emulator},
        factors={"queue_B": list(QUEUES_B)},
        **{"streams": [FLOWS], "congestion": "bbr+4*cubic"},
        timing={"rounds": 1, "seconds": 8, "warmup_s": 3, "drain_s": 60},
    )
    run_on_lab(tmp_path, content, timeout_s=200)
    results = netlab.Results(tmp_path / "r")
    runs = results.runs
    assert set(runs["congestion"]) == {"bbr+4*cubic"}
    assert set(runs["congestion_in_force"]) == {"bbr+cubic"}
    stacks = results.tables.shares().data
    assert len(stacks) == 2 * len(QUEUES_B), "all queues"
    bbr, cubic = (stacks[stacks["control"] == name] for name in ("bbr", "cubic"))
    assert bbr["flows"].eq(1).all() and cubic["flows"].eq(FLOWS - 1).all()
    equal_percent = 100 / FLOWS
    shallow, *_, deep = bbr["share_percent"]
    assert shallow > 1.2 * equal_percent and deep < shallow
    assert results.tables.jain_index().data["jain_index"].between(1 / FLOWS, 1).all()
    assert len(results.tables.stream_shares().data) == FLOWS * len(QUEUES_B)
    assert "BBR and 4 CUBIC" in repr(results.tables.jain_index().frame["stacks"].iloc[0])
    for table in (results.tables.shares(), results.tables.jain_index()):
        assert "nan" not in table.csv_text()
    assert len(results.charts.shares().charts) == 3


def test_an_unpaced_level_stands_beside_a_paced_one(tmp_path, machine_untouched):
    """A link of 80 Mb/s carries 9.6 MB/s of payload; a paced stream has 3 of them."""
    content = two_hosts(
        "paced",
        {"emulator": {"with": "netlab", "rate_Mbps": 80}},
        **{"factors": {"pacing_MBps": [0, 3]}, "congestion": "cubic"},
        timing={"rounds": 1, "seconds": 2, "warmup_s": 1, "drain_s": 30},
    )
    run_on_lab(tmp_path, content, timeout_s=120)
    results = netlab.Results(tmp_path / "r")
    runs = results.runs.sort_values("goodput_MBps")
    paced, free = runs.to_dict("records")
    assert paced["pacing_MBps"] == 3 and paced["goodput_MBps"] < 3.1
    assert free["pacing_MBps"] is None or free["pacing_MBps"] != free["pacing_MBps"]
    assert 1.3 * 3 < free["goodput_MBps"] < 9.8
