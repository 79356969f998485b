"""An SSH connection before its host is reached."""

import getpass
import os
import pwd

import pytest

from netlab.errors import HostError
from netlab.hosts.ssh import SshHost


def test_a_login_without_an_account_is_no_traceback(monkeypatch):
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LOGNAME", "")  # undone after the test, with what netlab sets

    def missing(uid):
        raise KeyError(f"getpwuid(): uid not found: {uid}")

    monkeypatch.setattr(pwd, "getpwuid", missing)
    with pytest.raises(HostError):
        SshHost("here", "127.0.0.1", port=1, connect_timeout_s=1).open()
    assert getpass.getuser() == str(os.getuid())
