"""Windows of the wide-area tests."""

import pytest

from netlab.published import windows


def test_the_path_needs_fifty_seven_megabytes():
    figures = windows.path_figures()
    assert figures["bdp_B"] == pytest.approx(2500e6 / 8 * 0.183022)
    assert figures["rtt_near_ms"] == 64.879


def test_each_configuration_has_window_needed_and_given():
    frame = windows.windows()
    assert len(frame) == len(windows.windows_each_table().frame) == 26
    assert frame["given_B"].isna().sum() == 3
    known = frame.dropna(subset="given_B")
    assert set(known["given_B"]) == {32 << 20, 40 << 20}
    assert (known["limit_Mbps"] < known["bottleneck_Mbps"]).all()
    assert (known["doubled_Mbps"] == known["bottleneck_Mbps"]).all()


def test_the_summary_counts_every_known_window():
    frame = windows.windows_table().frame
    assert frame["Configurations"].sum() == 23
    assert list(frame["Given, % of needed"].round()) == [73, 59]


def test_the_memory_settings_are_named_as_on_the_page():
    table = windows.configurations_table()
    assert set(table.frame["tcp memory"].dropna()) == {"A", "B"}
    assert table.frame.loc[0, "tcp memory"] == "A"
    assert "B: tcp_rmem 4096 87380 67108864 B" in table.note


def test_the_path_table_has_both_ends():
    frame = windows.path_table().frame
    assert len(frame) == 11
    assert frame.loc[("GVA", "ping, average 183.022"), "Largest, ms"] == 183.044


def test_recovery_is_slowest_for_reno_and_standard_frames():
    frame = windows.recovery().set_index(["mtu_B", "law"])["recovery_s"]
    assert frame.idxmax() == (1500, "Reno")
    assert frame[(1500, "Reno")] == pytest.approx(3614.6, abs=0.1)
    assert frame[(9000, "Scalable")] == pytest.approx(frame[(1500, "Scalable")])
    assert len(windows.recovery_table().frame) == 6


def test_the_transfer_is_recomputed():
    frame = windows.transfer_table().frame.set_index("Quantity")
    assert frame.loc["Goodput, Mb/s", "Recomputed"] == pytest.approx(2185.476, abs=0.001)
    assert frame.loc["Amount, GB", "Recomputed"] == 16.388608
