"""Tables of the documents have their printed layout."""

import shlex

import pandas as pd
import pytest

from netlab.errors import BadInput
from netlab.openlab import published
from netlab.openlab.published import gigabit_layout, host_settings, layout, wide_area_layout
from netlab.openlab.published.host_settings import SystemSetting


def test_rows_and_columns_are_in_the_printed_order():
    frame = layout.report_table(2).frame
    assert list(frame.index) == [
        ("No Tuning", "1500 B"), ("No Tuning", "9000 B"),
        ("+ Kernel Tuning", "1500 B"), ("+ Kernel Tuning", "9000 B"),
        ("+ Driver Tuning", "1500 B"), ("+ Driver Tuning", "9000 B"),
        ("+ Driver Tuning", "16114 B"),
    ]  # fmt: skip
    assert layout.report_table(1).frame.shape == (7, 3)
    assert list(frame.columns) == ["1 stream", "4 streams", "12 streams", "20 streams"]
    assert list(frame.loc[("+ Driver Tuning", "16114 B")]) == [744, 742, 733, 717]


def test_the_best_cell_is_bold_in_either_unit():
    pages = [layout.report_table(3, *unit)._repr_html_() for unit in ((), ("percent_of_bus",))]
    assert "<strong>774</strong>" in pages[0] and pages[0].count("<strong>") == 1
    assert "<strong>72.7</strong>" in pages[1]


def test_every_cell_has_its_per_cent_of_the_bus():
    tables = [layout.report_table(n, "percent_of_bus").frame for n in range(1, 7)]
    assert sum(frame.notna().sum().sum() for frame in tables) == 161


@pytest.mark.parametrize(
    ("call", "given", "key"),
    [
        *((layout.report_table, (number,), "number") for number in (0, 7, "two")),
        (layout.report_table, (1, "latency"), "value"),
        (layout.preliminary_set, ("extra",), "tuning"),
        (gigabit_layout.pcie_table, (5,), "lanes"),
    ],
)
def test_a_table_that_is_not_there_is_refused(call, given, key):
    with pytest.raises(BadInput, match=key):
        call(*given)


def test_the_best_cells_are_compared_with_the_goal():
    frame = layout.best_cells().frame
    assert list(frame["MB/s"]) == [755, 744, 774, 283, 444, 415]
    assert list(frame["Goal of 80 %"]) == ["missed", "missed", "–", "–", "–", "–"]


def test_the_verdict_on_the_goal_follows_the_data(monkeypatch):
    assert "was not met: the most is 755 MB/s (table 1), 71.0 %" in layout.goal_sentence()
    faster = published.load("openlab-2003")
    faster[["throughput_MBps", "percent_of_bus"]] *= 1.2
    monkeypatch.setattr(published, "load", lambda name: faster)
    assert "was met: the most is 906 MB/s" in layout.goal_sentence()
    assert list(layout.best_cells().frame["Goal of 80 %"][:3]) == ["met", "met", "–"]


def test_a_set_shows_total_and_streams():
    frame = layout.preliminary_set("kernel").frame
    assert frame.loc["16114 B", "4 streams"] == "614 (4 × 179)"
    assert frame.loc["1500 B", "1 stream"] == "203"
    slots = layout.slot_table().frame
    assert list(slots["Bandwidth, MB/s"]) == [532, 1064, 1064]
    assert list(slots["One stream, MB/s"]) == [470, 755, 940]


def test_table_1_is_the_notes_less_fifteen_cells():
    fates = {"the same in table 1": 21, "changed": 0, "left out of table 1": 15}
    assert layout.notes_against_report().frame.sum().to_dict() == fates


# Gigabit hosts before and after tuning, and their limits.


def test_before_and_after_have_their_ratio():
    frame = gigabit_layout.tuning_table().frame
    assert list(frame["Times"].round(2)) == [2.45, 3.89]
    assert frame.loc[0, "Sender window, KiB"] == "27.5 → 192"
    assert pd.isna(frame.loc[1, "Sender window, KiB"])


def test_no_tuned_host_is_above_its_link():
    limits = gigabit_layout.ceilings().set_index("name")["ceiling_Mbps"]
    after = gigabit_layout.tuning_table().frame["After, Mb/s"]
    assert after[0] < limits["TCP on the link, MTU 9000"]
    assert after[1] < limits["TCP on the link, MTU 1500"]
    assert limits["PCI 32 bit, 33 MHz, in practice"] == 640


def test_ceilings_are_shown_in_both_units_and_pcie_generations_grow():
    frame = gigabit_layout.ceilings_table().frame
    assert (frame["Mb/s"] == 8 * frame["MB/s"]).all()
    frame = gigabit_layout.pcie_table(lanes=4, payload_B=128).frame
    assert len(frame) == 6 and frame["After the code, MB/s"].is_monotonic_increasing


# Published settings as commands of each system.


@pytest.mark.parametrize(
    ("where", "lines", "count"),
    [
        (
            {"system": "Linux", "document": "solaris-linux"},
            [
                "sysctl -w 'net.ipv4.tcp_rmem=40960 1048560 4194304'",
                "sysctl -w 'net.ipv4.tcp_wmem=40960 196608 4194304'",
                "sysctl -w net.core.rmem_max=4194304",
                "sysctl -w net.core.wmem_max=4194304",
            ],
            4,
        ),
        ({"system": "FreeBSD"}, ["sysctl kern.ipc.maxsockbuf=262144"], 5),
        (
            {"system": "Solaris"},
            [
                "ndd -set /dev/tcp tcp_xmit_hiwat 983040",
                "ndd -set /dev/tcp tcp_recv_hiwat 983040",
                "ndd -set /dev/tcp tcp_max_buf 4194304",
            ],
            3,
        ),
        (  # with the backslashes put back
            {"system": "Windows"},
            [
                r'reg add "HKEY_LOCAL_MACHINE\SYSTEM\CurrentControlSet\Services\Tcpip\Parameters" '
                r'/v "TcpWindowSize" /t REG_DWORD /d 131400 /f'
            ],
            4,
        ),
    ],
)
def test_settings_are_commands_of_their_system(where, lines, count):
    found = host_settings.commands(**where)
    assert found[: len(lines)] == lines and len(found) == count


def test_the_sender_of_the_wide_area_tests_is_printed_too():
    lines = host_settings.commands("slac-2003-settings", host="sender")
    assert len(lines) == 15
    assert "sysctl -w 'vm.bdflush=100 1200 128 512 15 5000 500 1884 2'" in lines


@pytest.mark.parametrize(
    "where", [{"system": "Plan 9"}, {"document": "another"}, {"colour": "blue"}]
)
def test_an_unknown_name_is_refused_with_the_choices(where):
    with pytest.raises(BadInput, match="must be one of"):
        host_settings.settings(**where)


@pytest.mark.parametrize("value", ["1; reboot", "$(reboot)", "a b", "'", "`x`"])
def test_no_value_breaks_out_of_its_word(value):
    line = SystemSetting("Linux", "sysctl", "", "net.core.rmem_max", value).command()
    assert shlex.split(line) == ["sysctl", "-w", f"net.core.rmem_max={value}"]


@pytest.mark.parametrize(
    "setting",
    [
        SystemSetting("Windows", "registry", r"HKLM\X", "A", "1 & del"),
        SystemSetting("Windows", "registry", r"HKLM\X", "A", str(2**32)),
        SystemSetting("Windows", "registry", 'HKLM\\X" /v "B', "A", "1"),
        SystemSetting("Windows", "registry", "HKLM\\%PATH%", "A", "1"),
        SystemSetting("Windows", "sysctl", "", "A", "1"),
        SystemSetting("Linux", "ndd", "/dev/tcp", "A", "1"),
    ],
)
def test_a_setting_that_a_system_lacks_is_refused(setting):
    with pytest.raises(BadInput):
        setting.command()


def test_a_listing_has_each_system_and_source_once():
    lines = [line for line in host_settings.listing().splitlines() if line]
    assert [line for line in lines if line.startswith(("#", "rem"))] == [
        *("# Linux (document solaris-linux)", "# Linux (document gigabit-nic)"),
        *("# FreeBSD (document gigabit-nic)", "# Solaris (document solaris-linux)"),
        "rem Windows (document gigabit-nic)",
    ]
    assert len(lines) == 5 + 21


# Windows of the wide-area tests.


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
