"""Full dumps of what netlab may change, to be compared byte by byte before and after."""

from __future__ import annotations

import os
import re
import subprocess

import apart

from netlab.lab import reaper

# These change by themselves: counters, clocks and random material, never settings.
LIVE_SYSCTLS = re.compile(
    r"^(fs\.(dentry-state|file-nr|inode-nr|inode-state|quota\.|aio-nr|epoll|mqueue)"
    r"|kernel\.(random\.|ns_last_pid|pty\.nr|tainted|sched_domain|perf_event_max_sample_rate"
    r"|arch|threads-max|keys\.)"
    r"|vm\.(stat|numa_stat)|net\.netfilter\.nf_conntrack_count|dev\.cdrom|debug\.)"
)
# A stack is registered for the whole machine: a worker also sees those of the other one's tests.
STACKS_OF_OTHERS = re.compile(r" nl_\w+") if apart.is_wanted() else re.compile(r"(?!)")


def _text(*argv: str) -> str:
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    return done.stdout


def dump(namespace: str | None = None) -> dict[str, str]:
    """Sysctls, links, addresses, qdiscs and device settings of the machine or of a namespace.

    Returns
    -------
    dict
        Name of each part -> its text, counters taken out.
    """
    prefix = ("ip", "netns", "exec", namespace) if namespace else ()
    sysctls = [
        STACKS_OF_OTHERS.sub("", line) if "congestion_control = " in line else line
        for line in _text(*prefix, "sysctl", "-a").splitlines()
        if not LIVE_SYSCTLS.match(line)
    ]
    parts = {
        "sysctl": "\n".join(sysctls),
        "link": _text(*prefix, "ip", "-d", "link"),
        "address": re.sub(r"valid_lft \S+|preferred_lft \S+", "", _text(*prefix, "ip", "address")),
        "route": _text(*prefix, "ip", "route", "show", "table", "all"),
        "qdisc": _text(*prefix, "tc", "qdisc", "show"),
    }
    names = _text(*prefix, "ls", "/sys/class/net").split()
    for name in names:
        for flag in ("-k", "-g", "-c"):
            parts[f"ethtool {flag} {name}"] = _text(*prefix, "ethtool", flag, name)
        for file in ("gro_flush_timeout", "napi_defer_hard_irqs", "tx_queue_len", "mtu"):
            path = f"/sys/class/net/{name}/{file}"
            parts[path] = _text(*prefix, "cat", path)
    return parts


def made() -> set[str]:
    """Names of the network namespaces and task groups that netlab has made on this machine."""
    namespaces = _text("ip", "netns", "list").split()
    groups = (
        f"{mount}/{name}"
        for mount, _ in reaper.cpu_hierarchies()
        for name in os.listdir(mount)
        if name.startswith(reaper.PREFIX)
    )
    return {name for name in namespaces if name.startswith(reaper.PREFIX)} | set(groups)


def difference(before: dict[str, str], after: dict[str, str]) -> dict[str, tuple[str, str]]:
    """Lines that differ, part by part; empty without a change."""
    found = {}
    for part in sorted(set(before) | set(after)):
        old = set(before.get(part, "").splitlines())
        new = set(after.get(part, "").splitlines())
        if old != new:
            found[part] = ("\n".join(sorted(old - new)), "\n".join(sorted(new - old)))
    return found
