"""Causes of faults of a host's machine."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from e2e.faults.fault_site import Site, run, until
from e2e.faults.of_the_way import by_iperf3
from e2e.faults.under_way import Result, changed, under_way


@contextlib.contextmanager
def served(site: Site, prefix: str) -> Iterator[None]:
    """Host b's sshd, started otherwise."""
    site.serve("b", prefix)
    yield
    site.serve("b")


def cache_mounted(site: Site, options: str) -> Result:
    cache = site.state / "b" / "cache"
    cache.mkdir()
    with served(site, f"mount -t tmpfs -o {options} x {cache}; exec"):
        return site.finished(site.measure())


def cache_read_only(site: Site) -> Result:
    """As the home of a live image; the agent lies elsewhere."""
    place, config = site.state / "b" / "spare-cache", site.state / "b" / "sshd_config"
    place.mkdir()
    set_env = config.read_text().replace("SetEnv ", f"SetEnv XDG_RUNTIME_DIR={place} ")
    with changed(config, set_env):
        result = cache_mounted(site, "ro")
    assert [*place.glob("netlab-cache/gensink-*")]
    site.serve("b")
    return result


def run_mounted(site: Site, options: str) -> Result:
    """The directory of host b's locks and journals, for its sshd and what that starts alone."""
    mount = f"mkdir -p /run/netlab; mount -t tmpfs -o mode=700,{options} x /run/netlab; exec"
    with served(site, mount):
        return site.finished(site.measure())


def tool_mounted(site: Site, options: str) -> Result:
    """The temporary directory of host b, where a tool's output is until it ends."""
    place, config = site.state / "b" / "temporary", site.state / "b" / "sshd_config"
    place.mkdir()
    set_env = config.read_text().replace("SetEnv ", f"SetEnv TMPDIR={place} ")
    mount = f"mount -t tmpfs -o mode=1777,{options} x {place}; exec"
    with by_iperf3(site), changed(config, set_env), served(site, mount):
        return site.finished(site.measure())


def run_filled(site: Site) -> Result:
    """It fills up in a run: the journal cannot be written again, and goes in the end."""
    with served(
        site, "mkdir -p /run/netlab; mount -t tmpfs -o mode=700,size=1m x /run/netlab; exec"
    ):
        process = under_way(site)
        fill = "cat /dev/zero > /run/netlab/fill"
        inside = ("nsenter", "-t", site.servers["b"].pid, "-m", "sh", "-c", fill)
        run(*inside, check=False)
        return site.finished(process)


def clocks_differ(site: Site) -> Result:
    """Host b has been up for longer, by its own clock."""
    with served(site, "exec unshare --time --monotonic 9000000 --boottime 9000000 --kill-child"):
        return site.finished(site.measure())


def wrapped(site: Site, setting: str) -> Result:
    site.wrap("b", setting)
    try:
        return site.finished(site.measure())
    finally:
        site.wrap("b")


def sudo_expires(site: Site) -> Result:
    """The login of host b is not root, and its sudo asks for a password in the second visit."""
    tools, asks = site.state / "tools", site.state / "asks"
    tools.mkdir()
    refuse = "echo 'sudo: a password is required' >&2; exit 1"
    for name, text in {
        "id": "echo 1000",
        "sudo": f'[ -e {asks} ] && {{ {refuse}; }}; shift 2; exec "$@"',
    }.items():
        (tools / name).write_text(f"#!/bin/sh\n{text}\n")
        (tools / name).chmod(0o755)
    site.wrap("b", f"PATH={tools}:$PATH")
    words = ("--results", str(site.results), "--rounds", "2", "--seconds", "3")
    process = site.start("run", str(site.study), *words)
    until(site.sending, 60)
    asks.touch()
    result = site.finished(process)
    site.wrap("b")
    return result


def route_added(site: Site) -> Result:
    """Another program changes the host while its tuning holds, and no knob of netlab."""
    process = site.measure()
    until(site.sending, 60)
    site.ip("b", "route add 203.0.113.0/24 dev data0")
    result = site.finished(process)
    site.ip("b", "route del 203.0.113.0/24 dev data0")
    return result


LIE = """case $SSH_ORIGINAL_COMMAND in
*gensink*agent*)
  sh -c "$SSH_ORIGINAL_COMMAND" | sed -u 's/"total_bytes":[0-9]*/&000000000000000/'
  exit ;;
esac"""
"""The agent of a host reports more bytes than any column can have."""
