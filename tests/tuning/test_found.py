"""Settings that are read from files of a host: the command and its output."""

from __future__ import annotations

import subprocess

from netlab.tuning.found import parsed, reading
from netlab.tuning.profiles import HostSetting, load_profile

SETTINGS = (
    HostSetting(kind="mtu"),
    HostSetting(kind="txqueuelen"),
    HostSetting(kind="sysctl", name="net.ipv4.tcp_rmem"),
    HostSetting(kind="sysctl", name="net.ipv4.no_such_setting"),
    HostSetting(kind="ring", name="rx"),
    HostSetting(kind="defer", name="gro_flush_timeout"),
)


def test_settings_in_files_are_read_and_missing_ones_are_left_out():
    done = subprocess.run(reading(SETTINGS, "lo"), capture_output=True, text=True, check=True)
    found = parsed(done.stdout)
    assert done.stderr == ""
    assert set(found) == {"mtu", "txqueuelen", "net.ipv4.tcp_rmem", "defer gro_flush_timeout"}
    with open("/sys/class/net/lo/mtu") as file:
        assert found["mtu"] == file.read().strip()
    with open("/proc/sys/net/ipv4/tcp_rmem") as file:
        assert found["net.ipv4.tcp_rmem"] == " ".join(file.read().split())


def test_an_interface_name_never_reaches_the_shell_as_code(tmp_path):
    mark = tmp_path / "mark"
    command = reading(SETTINGS, f"x;touch${{IFS}}{mark}")
    subprocess.run(command, capture_output=True, check=True)
    assert not mark.exists()


def test_without_settings_the_command_prints_an_empty_answer():
    done = subprocess.run(reading((), "lo"), capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")


def test_as_found_records_without_setting():
    profile = load_profile("as-found")
    assert profile.items == ()
    labels = [setting.label for setting in profile.records]
    assert len(labels) == len(set(labels))
    assert {"mtu", "ring rx", "feature tso", "net.ipv4.tcp_rmem", "coalesce rx-usecs"} <= set(
        labels
    )
