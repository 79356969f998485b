"""Settings found are read in one exchange; those that a host lacks are left out."""

from __future__ import annotations

import subprocess

from netlab import core
from netlab.tuning.knobs import HostSetting
from netlab.tuning.requests import reading, settings_read

SETTINGS = (
    HostSetting(kind="mtu"),
    HostSetting(kind="txqueuelen"),
    HostSetting(kind="sysctl", name="net.ipv4.tcp_rmem"),
    HostSetting(kind="sysctl", name="net.ipv4.no_such_setting"),
    HostSetting(kind="ring", name="rx"),
    HostSetting(kind="defer", name="gro_flush_timeout"),
)


def printed(settings, interface: str) -> str:
    argv = reading(str(core.gensink_path()), settings, interface)
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout


def test_settings_are_read_and_missing_ones_are_left_out():
    found = settings_read(printed(SETTINGS, "lo"), SETTINGS, "lo").values
    assert set(found) == {"mtu", "txqueuelen", "net.ipv4.tcp_rmem", "defer gro_flush_timeout"}
    with open("/sys/class/net/lo/mtu") as file:
        assert found["mtu"] == file.read().strip()
    with open("/proc/sys/net/ipv4/tcp_rmem") as file:
        assert found["net.ipv4.tcp_rmem"] == " ".join(file.read().split())


def test_an_interface_name_never_reaches_the_shell_as_code(tmp_path):
    mark = tmp_path / "mark"
    printed(SETTINGS, f"x;touch${{IFS}}{mark}")
    assert not mark.exists()


def test_no_settings_are_an_empty_answer():
    assert settings_read(printed((), "lo"), (), "lo").values == {}
