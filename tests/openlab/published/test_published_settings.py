"""Published settings as commands of each system."""

import shlex

import pytest

from netlab.errors import BadInput
from netlab.openlab.published import host_settings
from netlab.openlab.published.host_settings import SystemSetting


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
