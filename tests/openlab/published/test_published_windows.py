"""Windows of the wide-area tests."""

import pytest

from netlab.openlab.published import wide_area_layout


def test_the_path_needs_fifty_seven_megabytes():
    figures = wide_area_layout.path_figures()
    assert figures["bdp_B"] == pytest.approx(2500e6 / 8 * 0.183022)
    assert figures["rtt_near_ms"] == 64.879
    table = wide_area_layout.configurations_table()
    assert set(table.frame["tcp memory"].dropna()) == {"A", "B"}
    assert table.frame.loc[0, "tcp memory"] == "A"
    assert "B: tcp_rmem 4096 87380 67108864 B" in table.note


def test_each_configuration_has_window_needed_and_given():
    frame = wide_area_layout.windows()
    assert len(frame) == len(wide_area_layout.windows_each_table().frame) == 26
    assert frame["given_B"].isna().sum() == 3
    known = frame.dropna(subset="given_B")
    assert set(known["given_B"]) == {32 << 20, 40 << 20}
    assert (known["limit_Mbps"] < known["bottleneck_Mbps"]).all()
    assert (known["doubled_Mbps"] == known["bottleneck_Mbps"]).all()
    frame = wide_area_layout.windows_table().frame
    assert frame["Configurations"].sum() == 23
    assert list(frame["Given, % of needed"].round()) == [73, 59]


def test_the_path_table_has_both_ends():
    frame = wide_area_layout.path_table().frame
    assert len(frame) == 11
    assert frame.loc[("GVA", "ping, average 183.022"), "Largest, ms"] == 183.044


def test_recovery_is_slowest_for_reno_and_standard_frames():
    frame = wide_area_layout.recovery_table().frame.set_index(["MTU, B", "Stack"])[
        "Recovery time, s"
    ]
    assert frame.idxmax() == (1500, "Reno")
    assert frame[(1500, "Reno")] == pytest.approx(3614.6, abs=0.1)
    assert frame[(9000, "Scalable")] == pytest.approx(frame[(1500, "Scalable")])
    assert len(frame) == 6


def test_the_transfer_is_recomputed():
    frame = wide_area_layout.transfer_table().frame.set_index("Quantity")
    assert frame.loc["Goodput, Mb/s", "Recomputed"] == pytest.approx(2185.476, abs=0.001)
    assert frame.loc["Amount, GB", "Recomputed"] == 16.388608
