"""Cleaning a host removes netlab's files only, and lists them."""

import os
from pathlib import Path

import pytest
from local_host import LocalHost

from netlab.errors import HostError
from netlab.hosts.agent import clean_host


@pytest.fixture
def host(tmp_path):
    with LocalHost(tmp_path / "my home") as host:
        yield host


@pytest.fixture
def cache(tmp_path):
    cache = tmp_path / "my home" / ".cache" / "netlab"
    cache.mkdir(parents=True)
    (cache / "gensink-1").write_bytes(b"x" * 5000)
    (cache.parent / "other").write_text("of another program")
    return cache


def test_a_host_without_files_says_so(host):
    assert clean_host(host).startswith("no files of netlab in ")


def test_the_cache_is_removed_and_its_files_are_counted(host, cache):
    assert clean_host(host) == f"removed {cache}: 1 files, 5 kB"
    assert not cache.exists() and (cache.parent / "other").exists()


def test_journals_stay_unless_asked_for(host, cache):
    inode = os.stat("/proc/self/ns/net").st_ino
    journal = Path(f"/run/netlab/tune-{inode}-0.journal")
    journal.parent.mkdir(mode=0o700, exist_ok=True)
    journal.write_text("set knob=mtu")
    with pytest.raises(HostError, match="netlab tune recover") as caught:
        clean_host(host)
    assert caught.value.code == "E-HOST-034" and cache.exists() and journal.exists()
    assert f"removed {journal}" in clean_host(host, journals=True)
    assert not cache.exists() and not journal.exists()


def test_a_link_in_place_of_the_cache_is_refused(host, cache, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    cache.rename(elsewhere)
    cache.symlink_to(elsewhere)
    with pytest.raises(HostError, match="is a link or belongs to another user") as caught:
        clean_host(host)
    assert caught.value.code == "E-HOST-032"
    assert (elsewhere / "gensink-1").exists()
