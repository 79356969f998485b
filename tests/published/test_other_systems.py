"""Published settings as commands of each system."""

import shlex

import pytest

from netlab.errors import BadInput
from netlab.published import other_systems
from netlab.published.other_systems import SystemSetting


def test_linux_takes_sysctl_w_with_the_value_quoted():
    lines = other_systems.commands(system="Linux", document="solaris-linux")
    assert lines == [
        "sysctl -w 'net.ipv4.tcp_rmem=40960 1048560 4194304'",
        "sysctl -w 'net.ipv4.tcp_wmem=40960 196608 4194304'",
        "sysctl -w net.core.rmem_max=4194304",
        "sysctl -w net.core.wmem_max=4194304",
    ]


def test_freebsd_takes_sysctl_without_w():
    assert other_systems.commands(system="FreeBSD")[0] == "sysctl kern.ipc.maxsockbuf=262144"
    assert len(other_systems.commands(system="FreeBSD")) == 5


def test_solaris_takes_ndd():
    assert other_systems.commands(system="Solaris") == [
        "ndd -set /dev/tcp tcp_xmit_hiwat 983040",
        "ndd -set /dev/tcp tcp_recv_hiwat 983040",
        "ndd -set /dev/tcp tcp_max_buf 4194304",
    ]


def test_windows_takes_reg_add_with_the_backslashes_put_back():
    assert other_systems.commands(system="Windows")[0] == (
        r'reg add "HKEY_LOCAL_MACHINE\SYSTEM\CurrentControlSet\Services\Tcpip\Parameters" '
        r'/v "TcpWindowSize" /t REG_DWORD /d 131400 /f'
    )


def test_the_sender_of_the_wide_area_tests_is_printed_too():
    lines = other_systems.commands("slac-2003-settings", host="sender")
    assert len(lines) == 15
    assert "sysctl -w 'vm.bdflush=100 1200 128 512 15 5000 500 1884 2'" in lines


@pytest.mark.parametrize("system", other_systems.SYSTEMS)
def test_every_system_has_settings(system):
    assert other_systems.settings(system=system)


@pytest.mark.parametrize(
    "where", [{"system": "Plan 9"}, {"document": "another"}, {"colour": "blue"}]
)
def test_an_unknown_name_is_refused_with_the_choices(where):
    with pytest.raises(BadInput, match="must be one of"):
        other_systems.settings(**where)


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
    text = other_systems.listing()
    heads = [line for line in text.splitlines() if line.startswith(("#", "rem"))]
    assert heads == [
        "# Linux (document solaris-linux)",
        "# Linux (document gigabit-nic)",
        "# FreeBSD (document gigabit-nic)",
        "# Solaris (document solaris-linux)",
        "rem Windows (document gigabit-nic)",
    ]
    assert len([line for line in text.splitlines() if line]) == len(heads) + 21
