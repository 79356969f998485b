"""The link of an interface that a driver has reset is waited for, up to a timeout."""

import threading
import time

import pytest
from local_host import LocalHost

from netlab.errors import HostError
from netlab.hosts import carrier


@pytest.fixture
def host(tmp_path, monkeypatch):
    """A host whose sysfs is a directory with the interface eth0, which has no carrier."""
    monkeypatch.setattr(carrier, "WAIT", carrier.WAIT.replace("/sys/class/net", str(tmp_path)))
    (tmp_path / "eth0").mkdir()
    (tmp_path / "eth0" / "carrier").write_text("0\n")
    return LocalHost(tmp_path / "home")


def test_a_link_that_comes_up_ends_the_wait(host, tmp_path):
    began = time.monotonic()
    timer = threading.Timer(0.5, (tmp_path / "eth0" / "carrier").write_text, ("1\n",))
    timer.start()
    carrier.wait_for_carrier(host, "eth0", timeout_s=90)
    timer.join()
    assert 0.5 <= time.monotonic() - began < 60


def test_a_link_that_stays_down_is_an_error_and_a_missing_interface_is_not_waited_for(host):
    with pytest.raises(HostError, match="eth0 has no link 1 s after") as caught:
        carrier.wait_for_carrier(host, "eth0", timeout_s=1)
    assert caught.value.code == "E-HOST-038"
    began = time.monotonic()
    carrier.wait_for_carrier(host, "eth1", timeout_s=90)
    assert time.monotonic() - began < 60
